package project

import "golang.org/x/sys/unix"

// kinds are the magic numbers of statfs(2) that matter here; all others are local disks.
var kinds = map[uint32]FileSystem{
	unix.NFS_SUPER_MAGIC:       {"nfs", true},
	unix.SMB_SUPER_MAGIC:       {"smb", true},
	unix.CIFS_SUPER_MAGIC:      {"cifs", true},
	unix.SMB2_SUPER_MAGIC:      {"smb2", true},
	unix.AFS_SUPER_MAGIC:       {"afs", true},
	unix.AFS_FS_MAGIC:          {"afs", true},
	unix.CODA_SUPER_MAGIC:      {"coda", true},
	unix.CEPH_SUPER_MAGIC:      {"ceph", true},
	unix.OCFS2_SUPER_MAGIC:     {"ocfs2", true},
	unix.V9FS_MAGIC:            {"9p", true},
	0x0bd00bd0:                 {"lustre", true},
	0x47504653:                 {"gpfs", true},
	unix.FUSE_SUPER_MAGIC:      {"fuse", true}, // sshfs and its like; what is local there is not harmed by the warning
	unix.TMPFS_MAGIC:           {Name: "tmpfs"},
	unix.EXT4_SUPER_MAGIC:      {Name: "ext4"},
	unix.XFS_SUPER_MAGIC:       {Name: "xfs"},
	unix.BTRFS_SUPER_MAGIC:     {Name: "btrfs"},
	unix.OVERLAYFS_SUPER_MAGIC: {Name: "overlay"},
}

func fileSystem(path string) (FileSystem, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return FileSystem{}, err
	}
	return kinds[uint32(st.Type)], nil
}
