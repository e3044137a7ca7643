package project

import (
	"slices"

	"golang.org/x/sys/unix"
)

func fileSystem(path string) (FileSystem, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return FileSystem{}, err
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	network := slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "macfuse", "osxfuse"}, name)
	return FileSystem{Name: name, Network: network}, nil
}
