package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWalkSeesWhateverAProgramHasMade(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	odd := filepath.Join(dir, "no\xfftext")
	if err := errors.Join(os.MkdirAll(odd, 0o755), os.WriteFile(odd+"/file", []byte("x"), 0o644), os.WriteFile(outside+"/far", nil, 0o644), os.Symlink(outside, dir+"/link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 { // 8000 bytes
		name := strings.Repeat("d", 200)
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = below
	}
	defer root.Close()
	if err := root.WriteFile("deep", []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	var names []string
	err = Walk(dir, func(f Found) error {
		if info, err := f.Root.Lstat(f.Name); err != nil || info.Size() != f.Info.Size() || filepath.Base(f.Path) != f.Info.Name() {
			t.Errorf("%q is %q in its root: %v", f.Path, f.Name, err)
		}
		if !f.Info.IsDir() {
			names = append(names, fmt.Sprint(f.Info.Name(), " ", strings.Count(f.Path, "/")))
		}
		return nil
	})
	slices.Sort(names)
	if want := []string{"deep 40", "file 1", "link 0"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("found %q, %v, want %q", names, err, want)
	}
	if err := Walk(dir, func(Found) error { return fs.ErrInvalid }); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestWalkSeesWhatIsInClosedFolders(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("NOT RUN: no folder is closed to root")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := errors.Join(os.Mkdir(closed, 0o755), os.WriteFile(closed+"/file", nil, 0o644), os.Chmod(closed, 0o300)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := Walk(filepath.Dir(closed), func(Found) error { seen++; return nil })
	if info, lost := os.Stat(closed); err != nil || seen != 2 || lost != nil || info.Mode().Perm() != 0o300 {
		t.Errorf("saw %d, %v, and it is %v now", seen, err, info)
	}
}
