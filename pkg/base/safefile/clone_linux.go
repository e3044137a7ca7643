package safefile

import (
	"os"

	"golang.org/x/sys/unix"
)

func clone(to, from int) error { return unix.IoctlFileClone(to, from) }

// SyncAround writes what is in memory of the file system of a folder to the disk.
func SyncAround(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
