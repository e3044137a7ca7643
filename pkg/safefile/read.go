package safefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A NotFileError says that something other than a file is where a file is read or
// extended: a named pipe, on which the program would wait for ever, a device, a socket or a
// folder. Like the errors of the operating system it is in a *fs.PathError.
type NotFileError struct{ Mode fs.FileMode }

func (e *NotFileError) Error() string {
	return fmt.Sprintf("it is %s, not a file", kind(e.Mode))
}

// Is also holds for the error that reading a folder gives.
func (e *NotFileError) Is(target error) bool { return target == syscall.EISDIR && e.Mode.IsDir() }

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of another kind"
}

func notFile(path string, info fs.FileInfo) error {
	return &fs.PathError{Op: "open", Path: path, Err: &NotFileError{Mode: info.Mode()}}
}

// Read is os.ReadFile for a path at which agents can put something other than a file: that is
// a *NotFileError at once.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() < 1<<30 {
		b.Grow(int(info.Size()) + bytes.MinRead) // so that the end is seen without growing
	}
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// Open is os.Open for files alone, with the same promise as Read.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for files alone. It opens without waiting and looks at what it got,
// so that nothing can be put in the place of a file in between. For files themselves
// O_NONBLOCK has no meaning.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EOPNOTSUPP) {
		// sockets, pipes that nobody reads, devices that are not there, folders to write to
		if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
			return nil, notFile(path, info)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notFile(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
