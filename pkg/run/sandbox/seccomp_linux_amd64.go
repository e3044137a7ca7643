package sandbox

import "golang.org/x/sys/unix"

const auditArch uint32 = unix.AUDIT_ARCH_X86_64

// refusedHere are calls that only this processor has.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS__SYSCTL, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_MODIFY_LDT}

// Calls that make or change files under numbers that only this processor has.
var (
	modedHere  = []moded{{unix.SYS_CHMOD, 1, always}, {unix.SYS_CREAT, 1, always}, {unix.SYS_MKNOD, 1, always}, {unix.SYS_OPEN, 2, 1}}
	ownersHere = [][2]uint32{{unix.SYS_CHOWN, 1}, {unix.SYS_LCHOWN, 1}}
)
