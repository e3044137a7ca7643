package project

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// A FileSystem is what a path lies on.
type FileSystem struct {
	Name    string // "nfs"; "" when the system does not tell or the kind has no name here
	Network bool   // other machines may change its files, and nobody here is told (specs/protocol.md#14, B30)
}

// FileSystemOf is that of a path that is or will be there. known is false when the system does not tell.
func FileSystemOf(path string) (f FileSystem, known bool) {
	for {
		f, err := fileSystem(path)
		if err == nil {
			return f, true
		}
		if up := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && up != path {
			path = up
			continue
		}
		return FileSystem{}, false
	}
}
