package sandbox

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The offsets of the words of a system call in the input of a filter (struct seccomp_data).
const (
	atNumber = 0
	atArch   = 4
)

func atArg(n uint32) uint32 { return 16 + 8*n } // its lower half; both processors are little-endian

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

const x32Bit = 0x40000000 // in the numbers of a second table of amd64

// refused are the system calls that no program of a wall needs and that lead out of one: other processes, mounts,
// namespaces, keys, and whole parts of the kernel with a history of holes.
var refused = []uint32{
	unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, sysOpenTreeAttr, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// tracing is what debuggers and sanitizers do to processes of their own run.
var tracing = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP}

const sysOpenTreeAttr = 467

// filter returns the program that judges each system call. To a program a refusal looks like a missing right, or like a
// kernel without that call where programs have another way then. With traces the run may trace and schedule its own processes, beside
// which it must see no others.
func filter(traces bool) []bpf.Instruction {
	program := []bpf.Instruction{
		load(atArch), bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, no(unix.EPERM),
		load(atNumber), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: x32Bit, SkipTrue: 1}, no(unix.ENOSYS),
	}
	if !traces {
		program = slices.Concat(program, when(tracing, no(unix.EPERM)))
	}
	return slices.Concat(program,
		when(slices.Concat(refused, refusedHere), no(unix.EPERM)),
		when([]uint32{unix.SYS_CLONE3}, no(unix.ENOSYS)), // its flags lie in memory; every program knows clone
		when([]uint32{unix.SYS_CLONE}, load(atArg(0)), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags, SkipFalse: 1}, no(unix.EPERM), yes),
		when([]uint32{unix.SYS_IOCTL}, slices.Concat([]bpf.Instruction{load(atArg(1))}, when([]uint32{unix.TIOCSTI, tiocLinux}, no(unix.EPERM)), []bpf.Instruction{yes})...),
		when([]uint32{unix.SYS_PRLIMIT64}, load(atArg(0)), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, no(unix.EPERM), yes), // limits of others
		when([]uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}, sockets()...),
		files(), priorities(traces),
		[]bpf.Instruction{yes})
}

// A moded call makes or changes a file; its arguments have the mode and, with some, the flags that determine whether it
// counts.
type moded struct{ nr, mode, flags uint32 }

const always = ^uint32(0) // instead of flags

// files keeps a run from making files that start with another's rights, and from giving its files to others: a person of the machine,
// or a service, could start or take them.
func files() (list []bpf.Instruction) {
	const making, asAnother = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY, unix.S_ISUID | unix.S_ISGID
	list = when([]uint32{unix.SYS_OPENAT2}, no(unix.ENOSYS)) // its mode lies in memory
	for _, c := range append(modedHere, moded{unix.SYS_FCHMOD, 1, always}, moded{unix.SYS_FCHMODAT, 2, always}, moded{unix.SYS_FCHMODAT2, 2, always}, moded{unix.SYS_MKNODAT, 2, always}, moded{unix.SYS_OPENAT, 3, 2}) {
		part := []bpf.Instruction{load(atArg(c.mode)), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: asAnother, SkipFalse: 1}, no(unix.EPERM), yes}
		if c.flags != always {
			part = append([]bpf.Instruction{load(atArg(c.flags)), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: making, SkipTrue: 1}, yes}, part...)
		}
		list = append(list, when([]uint32{c.nr}, part...)...)
	}
	for _, c := range append(ownersHere, [2]uint32{unix.SYS_FCHOWN, 1}, [2]uint32{unix.SYS_FCHOWNAT, 2}) {
		part := []bpf.Instruction{}
		for i, own := range []int{os.Getuid(), os.Getgid()} {
			part = append(part, load(atArg(c[1]+uint32(i))), bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(own), SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: always, SkipTrue: 1}, no(unix.EPERM))
		}
		list = append(list, when([]uint32{c[0]}, append(part, yes)...)...)
	}
	return list
}

// priorities lets a run be nice itself, and change nothing of other processes. A thread names itself by its number, too, which only
// tells it from others of the machine where the run sees its own ones alone.
func priorities(own bool) (list []bpf.Instruction) {
	const users, usersOfDisk = 2, 3 // all processes of a user
	other := func(who uint32) []bpf.Instruction {
		if own {
			return []bpf.Instruction{yes}
		}
		return []bpf.Instruction{load(atArg(who)), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, no(unix.EPERM), yes}
	}
	for _, c := range [][2]uint32{{unix.SYS_SETPRIORITY, users}, {unix.SYS_IOPRIO_SET, usersOfDisk}} {
		part := []bpf.Instruction{load(atArg(0)), bpf.JumpIf{Cond: bpf.JumpEqual, Val: c[1], SkipFalse: 1}, no(unix.EPERM)}
		list = append(list, when(c[:1], append(part, other(1)...)...)...)
	}
	return append(list, when([]uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR}, other(0)...)...)
}

const tiocLinux = 0x541c // types into a console, as TIOCSTI does into a terminal

// sockets allows Unix sockets, TCP, UDP, and looking at the interfaces.
func sockets() []bpf.Instruction {
	netlink := slices.Concat([]bpf.Instruction{load(atArg(2))},
		when([]uint32{unix.NETLINK_ROUTE}, yes),
		[]bpf.Instruction{no(unix.EPROTONOSUPPORT)})
	internet := slices.Concat([]bpf.Instruction{load(atArg(1)), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}},
		when([]uint32{unix.SOCK_RAW, unix.SOCK_PACKET}, no(unix.EPERM)),
		[]bpf.Instruction{load(atArg(2))},
		when([]uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP}, yes),
		[]bpf.Instruction{no(unix.EPROTONOSUPPORT)}) // MPTCP goes around Landlock
	return slices.Concat([]bpf.Instruction{load(atArg(0))},
		when([]uint32{unix.AF_UNIX}, yes),
		when([]uint32{unix.AF_NETLINK}, netlink...),
		when([]uint32{unix.AF_INET, unix.AF_INET6}, internet...),
		[]bpf.Instruction{no(unix.EAFNOSUPPORT)})
}

// when returns a part for some values of the last loaded word; each of its branches ends in an answer.
func when(values []uint32, part ...bpf.Instruction) (list []bpf.Instruction) {
	for i, v := range values {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	list = append(list, bpf.Jump{Skip: uint32(len(part))})
	return append(list, part...)
}

func load(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

var yes bpf.Instruction = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

func no(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// filterCalls puts the filter on all threads of this process, and so on all that it starts.
func filterCalls(traces bool) error {
	raw, err := bpf.Assemble(filter(traces))
	if err != nil {
		return fmt.Errorf("cannot make the filter of system calls: %v", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot give up new rights: %v", err)
	}
	if err := seccomp(unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, &program); err != nil {
		return fmt.Errorf("cannot filter system calls: %v", err)
	}
	return nil
}

// seccomp is the system call. One that names a thread could not filter that.
func seccomp[T any](operation, flags uintptr, args *T) error {
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, operation, flags, uintptr(unsafe.Pointer(args)))
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has a filter of its own", thread)
	}
	return nil
}
