package safefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A DiskFullError says that a file system has no room for what was to be written. The
// file that was to be replaced or extended is as it was.
type DiskFullError struct {
	FileSystem string // folder where the full file system is mounted
	Need, Free int64  // bytes
	Err        error
}

func (e *DiskFullError) Error() string {
	return fmt.Sprintf("the file system of %s is full: %s needed, %s free", e.FileSystem, size(e.Need), size(e.Free))
}

// Unwrap gives the error of the operating system.
func (e *DiskFullError) Unwrap() error { return e.Err }

// explain turns "no space left on device" into a sentence with the figures.
func explain(err error, path string, need int) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	full := &DiskFullError{FileSystem: mountOf(filepath.Dir(path)), Need: int64(need), Err: err}
	var st syscall.Statfs_t
	if syscall.Statfs(filepath.Dir(path), &st) == nil {
		full.Free = int64(uint64(st.Bavail) * uint64(st.Bsize))
	}
	return full
}

// mountOf is the highest folder above dir, or dir itself, on the same file system.
func mountOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	device := func(path string) (uint64, bool) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return uint64(st.Dev), true
	}
	here, ok := device(dir)
	for ok && filepath.Dir(dir) != dir {
		above, known := device(filepath.Dir(dir))
		if !known || above != here {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
