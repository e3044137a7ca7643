//go:build linux || darwin

package project

import "syscall"

// statfs gives the bytes that this user may still write on the file system of path.
func statfs(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
