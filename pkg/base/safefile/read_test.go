package safefile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Anyone who waited for a writer of the pipe would let the test run into its deadline.
func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, socket, folder := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket"), filepath.Join(dir, "folder")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o644), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	doors := map[string]func(path string) error{
		"Read":     func(path string) error { _, err := Read(path); return err },
		"Append":   func(path string) error { return Append(path, []byte("x")) },
		"Truncate": func(path string) error { return Truncate(path, 0) },
		"OpenLog":  func(path string) error { _, err := OpenLog(path, 0o644, 1<<20); return err },
	}
	for path, want := range map[string]string{pipe: "it is a named pipe, not a file", link: "it is a named pipe, not a file", socket: "it is a socket, not a file",
		folder: "it is a folder, not a file", "/dev/null": "it is a device, not a file"} {
		for name, open := range doors {
			if name == "OpenLog" && path == folder {
				continue // it is put away by its size, as a file would be
			}
			err := open(path)
			if not := (*NotFileError)(nil); !errors.As(err, &not) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want a sentence with %q", name, path, err, want)
			}
		}
	}
	if _, err := Read(folder); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder is not told as one: %v", err)
	}
	if _, held := CurrentHolder(pipe); held {
		t.Error("a pipe is held as a lock")
	}
}

func TestAFileIsReadWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 511, 512, 513, 1 << 20} {
		text := strings.Repeat("x", size)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if data, err := Read(path); err != nil || string(data) != text {
			t.Errorf("%d bytes: read %d, %v", size, len(data), err)
		}
	}
	if _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
