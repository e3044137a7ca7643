package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "write the golden screens")

func strip(screen string) string {
	lines := strings.Split(ansi.Strip(screen), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// screens are the places of the view with the keys that lead there.
var screens = []struct {
	name string
	keys []string
}{
	{"board", nil}, {"agents", []string{"2"}}, {"you", []string{"3"}}, {"log", []string{"4"}},
	{"task", []string{"4", "down", "enter"}}, {"diff", []string{"4", "down", "d"}}, {"output", []string{"2", "down", "enter"}}, {"help", []string{"?"}},
	{"filter", []string{"/", "n", "a", "m", "e"}}, {"answer", []string{"3", "down", "a", "b", "o", "t", "h"}}, {"confirm", []string{"2", "down", "R", "o", "l", "d", "enter"}},
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 20}, {80, 24}, {160, 50}, {220, 50}} {
		for _, s := range screens {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := types(begin(midSprint(), size[0], size[1]), s.keys...)
				checkSize(t, m.View().Content, size[0], size[1])
				got, file := plainScreen(m), filepath.Join("testdata", name+".txt")
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || got != string(want) {
					t.Errorf("%v; it shows\n%s\nwant\n%s", err, got, want)
				}
			})
		}
	}
}

// checkSize wants as many lines as the terminal has, each exactly as wide as it is.
func checkSize(t *testing.T, screen string, width, height int) {
	t.Helper()
	lines := strings.Split(screen, "\n")
	if len(lines) != height {
		t.Errorf("%d lines, want %d", len(lines), height)
	}
	for i, l := range lines {
		if n := ansi.StringWidthWc(l); n != width {
			t.Errorf("line %d has %d columns, want %d: %q", i, n, width, l)
		}
	}
}
