package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// A Found is something that Walk has come to.
type Found struct {
	Path string // from the folder that is walked
	Info fs.FileInfo
	Root *os.Root // a folder around it, which nothing leads out of
	Name string   // in Root
}

// longestName is how long names in one root become before a root is made below: the kernel takes 4096 bytes at once.
const longestName = 2000

// Walk calls each for all that is in a folder, whatever a program that nobody trusts has made of it: names that are not text, folders in
// one another whose paths are too long to be opened at once, or that it has closed to others. No link is followed; what vanishes meanwhile,
// or cannot be read, is left out. An error of each ends it.
func Walk(dir string, each func(Found) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return walk(root, ".", ".", each)
}

func walk(root *os.Root, name, at string, each func(Found) error) error {
	if len(name) > longestName {
		if below, err := root.OpenRoot(name); err == nil {
			defer below.Close()
			root, name = below, "."
		}
	}
	for _, e := range entriesOf(root, name) {
		info, err := e.Info()
		if err != nil {
			continue
		}
		found := Found{Path: path.Join(at, e.Name()), Info: info, Root: root, Name: path.Join(name, e.Name())}
		if err := each(found); err != nil {
			return err
		}
		if info.IsDir() {
			if err := walk(root, found.Name, found.Path, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesOf lists a folder. One that is closed to us is open for that moment.
func entriesOf(root *os.Root, name string) []fs.DirEntry {
	dir, err := root.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		info, lost := root.Lstat(name)
		if lost != nil || !info.IsDir() || root.Chmod(name, info.Mode().Perm()|0o500) != nil {
			return nil
		}
		defer root.Chmod(name, info.Mode())
		dir, err = root.Open(name)
	}
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	return entries
}
