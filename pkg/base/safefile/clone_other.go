//go:build !linux

package safefile

import (
	"os"
	"syscall"
)

func clone(_, _ int) error { return syscall.ENOTSUP }

// SyncAround writes what is in memory of the file system of a folder to the disk.
func SyncAround(*os.File) error {
	syscall.Sync()
	return nil
}
