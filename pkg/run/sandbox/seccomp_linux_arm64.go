package sandbox

import "golang.org/x/sys/unix"

const auditArch uint32 = unix.AUDIT_ARCH_AARCH64

// refusedHere are calls that only this processor has, or has under a number of its own.
var refusedHere = []uint32{unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE}

var (
	modedHere  []moded
	ownersHere [][2]uint32
)
