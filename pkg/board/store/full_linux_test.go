package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// A real file system that is full. Only root may mount one; elsewhere the tests of
// safefile have to do. P-172.
func TestAFullDiskKeepsTheOldStateAndSaysSo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a file system")
	}
	p := newProject(t)
	if err := unix.Mount("tmpfs", p.dir, "tmpfs", 0, "size=400k"); errors.Is(err, unix.EPERM) {
		t.Skip("this root may not mount a file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(p.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{".liza", ".git"} {
		must(t, os.Mkdir(filepath.Join(p.dir, dir), 0o755))
	}
	f := p.create(40)
	must(t, f.Update(t.Context(), op, numberedNote))
	filler := filepath.Join(p.dir, "filler")
	fill(filler)

	old, log := p.read(p.path()), p.read(p.journal())
	for range 3 {
		err := f.Update(t.Context(), op, func(s *blackboard.State) error {
			s.Task("task-1").Description = strings.Repeat("too much ", 6000)
			s.Record(blackboard.Entry{Action: "note", Detail: strings.Repeat("x", 400)})
			return nil
		})
		var full *safefile.DiskFullError
		if !errors.As(err, &full) || !strings.Contains(err.Error(), "is full") {
			t.Fatalf("got %v", err)
		}
		if p.read(p.path()) != old {
			t.Fatal("the state was changed")
		}
	}
	if s, err := p.open().View(t.Context()); err != nil || s.Revision != 2 {
		t.Errorf("revision %d, %v", s.Revision, err)
	}
	if files, _ := filepath.Glob(filepath.Join(p.dir, ".liza", ".state*")); len(files) > 0 {
		t.Errorf("left behind: %q", files)
	}
	must(t, os.Remove(filler))
	must(t, f.Update(t.Context(), op, numberedNote))
	p.agree(t, 3)
	if got := p.read(p.journal()); !strings.HasPrefix(got, log) {
		t.Errorf("the journal is\n%s", got)
	}
}

// fill takes all the room that is left.
func fill(path string) {
	file, err := os.Create(path)
	for size := 1 << 16; err == nil && size > 0; {
		if _, e := file.Write(make([]byte, size)); e != nil {
			size /= 2
		}
	}
	fmt.Fprint(file)
	file.Close()
}
