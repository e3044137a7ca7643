package sandbox

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestTheFilterJudgesSystemCallsByTheirArguments(t *testing.T) {
	t.Parallel()
	if auditArch == 0 {
		t.Skip("NOT RUN: no filter for this processor")
	}
	for _, traces := range []bool{false, true} {
		judges(t, traces)
	}
}

func judges(t *testing.T, traces bool) {
	vm, err := bpf.NewVM(filter(traces))
	if err != nil {
		t.Fatal(err)
	}
	own := unix.EPERM // what a run that traces may do to its processes
	if traces {
		own = 0
	}
	const allow unix.Errno = 0
	type args [6]uint64
	for name, tt := range map[string]struct {
		arch, nr uint32
		args     args
		want     unix.Errno
	}{
		"read":                      {auditArch, unix.SYS_READ, args{}, allow},
		"another processor":         {unix.AUDIT_ARCH_I386, unix.SYS_READ, args{}, unix.EPERM},
		"x32":                       {auditArch, x32Bit | unix.SYS_READ, args{}, unix.ENOSYS},
		"a thread":                  {auditArch, unix.SYS_CLONE, args{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		"a fork":                    {auditArch, unix.SYS_CLONE, args{uint64(unix.SIGCHLD)}, allow},
		"a namespace of users":      {auditArch, unix.SYS_CLONE, args{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, unix.EPERM},
		"a network of its own":      {auditArch, unix.SYS_CLONE, args{unix.CLONE_NEWNET}, unix.EPERM},
		"clone3":                    {auditArch, unix.SYS_CLONE3, args{}, unix.ENOSYS},
		"the size of a terminal":    {auditArch, unix.SYS_IOCTL, args{0, unix.TIOCGWINSZ}, allow},
		"typing into a terminal":    {auditArch, unix.SYS_IOCTL, args{0, unix.TIOCSTI}, unix.EPERM},
		"the same, its upper half":  {auditArch, unix.SYS_IOCTL, args{0, unix.TIOCSTI | 1<<40}, unix.EPERM},
		"typing into a console":     {auditArch, unix.SYS_IOCTL, args{0, tiocLinux}, unix.EPERM},
		"a limit of its own":        {auditArch, unix.SYS_PRLIMIT64, args{0}, allow},
		"a limit of another":        {auditArch, unix.SYS_PRLIMIT64, args{77}, unix.EPERM},
		"chmod":                     {auditArch, unix.SYS_FCHMODAT, args{0, 0, 0o755}, allow},
		"setuid":                    {auditArch, unix.SYS_FCHMODAT, args{0, 0, 0o4755}, unix.EPERM},
		"setgid":                    {auditArch, unix.SYS_FCHMOD, args{0, 0o2755}, unix.EPERM},
		"a sticky folder":           {auditArch, unix.SYS_FCHMOD, args{0, 0o1777}, allow},
		"a file made setuid":        {auditArch, unix.SYS_OPENAT, args{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, unix.EPERM},
		"one without a name":        {auditArch, unix.SYS_OPENAT, args{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4755}, unix.EPERM},
		"a file made":               {auditArch, unix.SYS_OPENAT, args{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o644}, allow},
		"a folder opened":           {auditArch, unix.SYS_OPENAT, args{0, 0, unix.O_DIRECTORY, 0o7777}, allow},
		"a file by openat2":         {auditArch, unix.SYS_OPENAT2, args{}, unix.ENOSYS},
		"its own file to itself":    {auditArch, unix.SYS_FCHOWN, args{0, uint64(os.Getuid()), uint64(os.Getgid())}, allow},
		"an owner that stays":       {auditArch, unix.SYS_FCHOWNAT, args{0, 0, uint64(always), uint64(always)}, allow},
		"its file to another":       {auditArch, unix.SYS_FCHOWNAT, args{0, 0, 12345, uint64(always)}, unix.EPERM},
		"its file to a group":       {auditArch, unix.SYS_FCHOWN, args{0, uint64(always), 12345}, unix.EPERM},
		"a priority of its own":     {auditArch, unix.SYS_SETPRIORITY, args{0, 0, 19}, allow},
		"a priority of another":     {auditArch, unix.SYS_SETPRIORITY, args{0, 77, 19}, own},
		"a priority of the person":  {auditArch, unix.SYS_SETPRIORITY, args{2, 0, 19}, unix.EPERM},
		"the disk of its own":       {auditArch, unix.SYS_IOPRIO_SET, args{1, 0, 0}, allow},
		"the disk of the person":    {auditArch, unix.SYS_IOPRIO_SET, args{3, 0, 0}, unix.EPERM},
		"processors of its own":     {auditArch, unix.SYS_SCHED_SETAFFINITY, args{0}, allow},
		"processors of another":     {auditArch, unix.SYS_SCHED_SETAFFINITY, args{77}, own},
		"a schedule of another":     {auditArch, unix.SYS_SCHED_SETATTR, args{77}, own},
		"a trace":                   {auditArch, unix.SYS_PTRACE, args{}, own},
		"memory of another":         {auditArch, unix.SYS_PROCESS_VM_WRITEV, args{77}, own},
		"a Unix socket":             {auditArch, unix.SYS_SOCKET, args{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, allow},
		"a pair of them":            {auditArch, unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, unix.SOCK_STREAM, 0}, allow},
		"TCP":                       {auditArch, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allow},
		"TCP by its name":           {auditArch, unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, allow},
		"UDP":                       {auditArch, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, allow},
		"MPTCP":                     {auditArch, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM, 262}, unix.EPROTONOSUPPORT},
		"ping":                      {auditArch, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, unix.EPROTONOSUPPORT},
		"raw":                       {auditArch, unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_RAW | unix.SOCK_NONBLOCK, 0}, unix.EPERM},
		"packets, the old way":      {auditArch, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_PACKET, 0}, unix.EPERM},
		"packets":                   {auditArch, unix.SYS_SOCKET, args{unix.AF_PACKET, unix.SOCK_DGRAM, 0}, unix.EAFNOSUPPORT},
		"virtual machines":          {auditArch, unix.SYS_SOCKET, args{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		"the kernel's cryptography": {auditArch, unix.SYS_SOCKET, args{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, unix.EAFNOSUPPORT},
		"a list of the interfaces":  {auditArch, unix.SYS_SOCKET, args{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		"another netlink":           {auditArch, unix.SYS_SOCKET, args{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, unix.EPROTONOSUPPORT},
	} {
		data := make([]byte, 64) // as the kernel has it, but for the order of bytes, which here is the machine's
		binary.BigEndian.PutUint32(data[atNumber:], tt.nr)
		binary.BigEndian.PutUint32(data[atArch:], tt.arch)
		for i, a := range tt.args {
			binary.BigEndian.PutUint32(data[atArg(uint32(i)):], uint32(a))
		}
		got, err := vm.Run(data)
		want := unix.SECCOMP_RET_ALLOW
		if tt.want != allow {
			want = unix.SECCOMP_RET_ERRNO | int(tt.want)
		}
		if err != nil || uint32(got) != uint32(want) {
			t.Errorf("%s, traces %t: got %#x, %v, want %#x", name, traces, uint32(got), err, want)
		}
	}
	for _, nr := range refused {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[atNumber:], nr)
		binary.BigEndian.PutUint32(data[atArch:], auditArch)
		if got, err := vm.Run(data); err != nil || got != unix.SECCOMP_RET_ERRNO|int(unix.EPERM) {
			t.Errorf("system call %d: got %#x, %v", nr, got, err)
		}
	}
}
