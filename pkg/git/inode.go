package git

import (
	"io/fs"
	"syscall"
)

// inode tells two files with the same size and time apart.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino) //nolint:unconvert // another type on other systems
	}
	return 0
}
