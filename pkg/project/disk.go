package project

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// FreeMB is the free space of the file system that path is or will be on, in MiB
// (specs/decisions.md#D25). known is false when the system does not tell; a full disk is 0 and known.
func FreeMB(path string) (mb int, known bool) {
	for {
		free, err := statfs(path)
		if err == nil {
			return int(free >> 20), true
		}
		if up := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && up != path {
			path = up
			continue
		}
		return 0, false
	}
}
