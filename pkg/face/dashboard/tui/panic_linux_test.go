package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/face/dashboard"
)

// panics is a source with a bug that shows after a second, when the screen is drawn.
type panics struct{ *fake }

func (panics) Doing(context.Context) map[string]dashboard.Doing { panic("a bug") }

const inChild = "LIZA_TEST_PANIC"

// It happens in a process of its own: when a program ends that way, its library closes the terminal
// while it may still be reading.
func TestAPanicLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	if os.Getenv(inChild) != "" {
		f := midSprint()
		err := Run(context.Background(), Options{Source: panics{f}, Verbs: f, Now: func() time.Time { return noon }, Folder: func(string) string { return "" }, In: os.Stdin, Out: os.Stdout})
		fmt.Fprintln(os.Stderr, "it ended with:", err)
		return
	}
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	mode := func() unix.Termios {
		m, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	seen := make(chan string, 1)
	go func() {
		var all strings.Builder
		buffer := make([]byte, 4096)
		for {
			n, err := person.Read(buffer)
			all.Write(buffer[:n])
			if err != nil {
				seen <- all.String()
				return
			}
		}
	}()
	before := mode()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAPanicLeavesAUsableTerminal$")
	cmd.Env = append(os.Environ(), inChild+"=1")
	said := &strings.Builder{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, said
	_ = cmd.Run()
	if !strings.Contains(said.String(), "it ended with: this is a bug in liza top") {
		t.Errorf("it said %s", said)
	}
	if after := mode(); after != before {
		t.Errorf("the mode of the terminal is %+v, was %+v", after, before)
	}
	line.Close()
	text := <-seen
	for _, off := range []string{"\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h", "\x1b[?1002l", "\x1b[?2004l"} {
		if !strings.Contains(text, off) {
			t.Errorf("%q was not sent", off)
		}
	}
}
