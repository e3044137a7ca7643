package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// RemoveTree removes a folder whatever a program that nobody trusts has made of what is in it: folders that it has closed to
// others, or so many in one another that they cannot all be open at one time. No link is followed.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return os.RemoveAll(dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(flatten(root), root.Close(), os.RemoveAll(dir))
}

// flatten moves all folders up to the top, and removes what is in them.
func flatten(root *os.Root) error {
	folders, err := emptied(root, ".")
	for n := 0; err == nil && len(folders) > 0; {
		from := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		if err = root.Chmod(from, 0o700); err != nil { // without it what is in it can be neither listed nor moved
			return err
		}
		at := from
		for ; filepath.Dir(at) != "."; n++ { // until a name is free
			if name := fmt.Sprintf("removed-%d", n); root.Rename(from, name) == nil {
				at = name
			} else if _, err := root.Lstat(name); err != nil {
				return fmt.Errorf("cannot remove %s", filepath.Join(root.Name(), from))
			}
		}
		var inner []string
		if inner, err = emptied(root, at); len(inner) == 0 && err == nil {
			err = root.Remove(at)
		}
		folders = append(folders, inner...)
	}
	return err
}

// emptied removes all but folders from a folder, and returns those.
func emptied(root *os.Root, dir string) (folders []string, err error) {
	opened, err := root.Open(dir) // not as of an fs.FS, whose names are text
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	entries, err := opened.ReadDir(-1)
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); e.IsDir() {
			folders = append(folders, name)
		} else {
			err = errors.Join(err, root.Remove(name))
		}
	}
	return folders, err
}

// MakeFolder makes a folder and the folders around it that are missing, but none whose name begins with a dot: such a
// folder is made by its owner alone, and a process that works on what was moved or removed does not begin it again.
func MakeFolder(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	} else if err == nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if strings.HasPrefix(filepath.Base(path), ".") {
		return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrNotExist}
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MakeFolder(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
