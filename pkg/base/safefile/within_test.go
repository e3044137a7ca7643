package safefile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatARunCanExchangeIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private, folder := filepath.Join(dir, "private"), filepath.Join(dir, "of", "a-run")
	for _, f := range []string{private, filepath.Join(folder, "in")} {
		if err := os.MkdirAll(f, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(private, "key"), "a key")
	write(t, filepath.Join(folder, "log"), "a log")
	write(t, filepath.Join(folder, "in", "log"), "another log")
	for _, name := range []string{"log", "in/log"} {
		if data, err := ReadWithin(folder, name, 100); err != nil || len(data) == 0 {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := ReadWithin(folder, "log", 3); !errors.Is(err, errTooLarge) {
		t.Errorf("a file that is too large: %v", err)
	}
	exchange := map[string]func() error{
		"link":              func() error { return os.Symlink(filepath.Join(private, "key"), filepath.Join(folder, "link")) },
		"near":              func() error { return os.Symlink("log", filepath.Join(folder, "near")) },
		"out/key":           func() error { return os.Symlink(private, filepath.Join(folder, "out")) },
		"inner/log":         func() error { return os.Symlink("in", filepath.Join(folder, "inner")) },
		"name":              func() error { return os.Link(filepath.Join(private, "key"), filepath.Join(folder, "name")) },
		"pipe":              func() error { return syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600) },
		"folder":            func() error { return os.Mkdir(filepath.Join(folder, "folder"), 0o700) },
		"../../private/key": func() error { return nil },
	}
	for name, make := range exchange {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if data, err := ReadWithin(folder, name, 100); err == nil {
			t.Errorf("%s was read: %q", name, data)
		}
	}
	moved := filepath.Join(dir, "moved")
	if err := errors.Join(os.Rename(folder, moved), os.Symlink(private, folder)); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadWithin(folder, "key", 100); err == nil {
		t.Errorf("a folder that is a link was read: %q", data)
	}
}
