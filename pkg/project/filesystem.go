package project

import (
	"errors"
	"io/fs"
	"path/filepath"
)

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
