package safefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
)

func TestALogThatIsTooLargeIsPutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output", "task-1.log")
	l, err := safefile.OpenLog(path, 0o600, 200)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if n, err := fmt.Fprintf(l, "line %02d of the output\n", i); err != nil || n != 22 {
			t.Fatalf("line %d: %d bytes, %v", i, n, err)
		}
		for _, p := range []string{path, path + ".1"} {
			if info, err := os.Stat(p); err == nil && info.Size() > 200 {
				t.Fatalf("%s has %d bytes after line %d", p, info.Size(), i)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	old, _ := os.ReadFile(path + ".1")
	now, _ := os.ReadFile(path)
	if !strings.HasPrefix(string(now), "[… what came before is in task-1.log.1]\nline ") || !strings.HasSuffix(string(now), "line 99 of the output\n") {
		t.Errorf("the log is %q", now)
	}
	var last, first int
	lines := strings.Split(strings.TrimSpace(string(old)), "\n")
	_, _ = fmt.Sscanf(lines[len(lines)-1], "line %d", &last)
	_, _ = fmt.Sscanf(strings.Split(string(now), "\n")[1], "line %d", &first)
	if first != last+1 {
		t.Errorf("the old log ends with line %d, the new one begins with %d", last, first)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new log: %v, %v", info.Mode(), err)
	}

	// A log of another run that is too large already is put away when it is opened.
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = safefile.OpenLog(path, 0o600, 200); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the log was not put away: %v %v", info, err)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() != 300 {
		t.Errorf("the old log: %v %v", info, err)
	}
}
