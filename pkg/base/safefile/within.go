package safefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// OpenWithin opens a file below a folder that a run may write. The run can put a link, a pipe, or another name of a file that it may not read in
// the place of each thing there, at any moment. So nothing on the way is a link, the file is a regular one with one name, and nothing is waited
// for. name is relative.
func OpenWithin(folder, name string) (*os.File, error) {
	before, err := os.Lstat(folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if opened, err := root.Stat("."); err != nil || !os.SameFile(before, opened) {
		return nil, errors.Join(err, &fs.PathError{Op: "open", Path: folder, Err: &NotFileError{Mode: fs.ModeSymlink}})
	}
	return OpenIn(root, filepath.ToSlash(name))
}

// OpenIn is OpenWithin for a folder that is open. A file that is exchanged while it is opened is one of the same folder, or none.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	fail := func(mode fs.FileMode) error {
		return &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), name), Err: &NotFileError{Mode: mode}}
	}
	for dir := path.Dir(path.Clean(name)); dir != "." && dir != "/"; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fail(info.Mode())
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fail(info.Mode())
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fail(opened.Mode())
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && stat.Nlink != 1 {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: errManyNames}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errManyNames = errors.New("it has more than one name")

// ReadWithin reads a file as OpenWithin opens it. A file of more than most bytes is an error.
func ReadWithin(folder, name string, most int64) ([]byte, error) {
	f, err := OpenWithin(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: errTooLarge}
	}
	return data, err
}

var errTooLarge = errors.New("it is too large")
