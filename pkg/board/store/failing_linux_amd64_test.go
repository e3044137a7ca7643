package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const canFail = true

// fileCalls are the system calls that fail in these tests, with the place of their path among the
// arguments; -1: the first argument is an open file.
var fileCalls = map[uint64]struct {
	name string
	path int
}{
	unix.SYS_OPENAT: {"open", 1}, unix.SYS_NEWFSTATAT: {"stat", 1}, unix.SYS_UNLINKAT: {"unlink", 1}, unix.SYS_MKDIRAT: {"mkdir", 1},
	unix.SYS_RENAMEAT: {"rename", 3}, unix.SYS_RENAMEAT2: {"rename", 3}, unix.SYS_LINKAT: {"link", 3},
	unix.SYS_READ: {"read", -1}, unix.SYS_PREAD64: {"read", -1}, unix.SYS_WRITE: {"write", -1}, unix.SYS_PWRITE64: {"write", -1},
	unix.SYS_FSYNC: {"flush", -1}, unix.SYS_FDATASYNC: {"flush", -1}, unix.SYS_FTRUNCATE: {"truncate", -1}, unix.SYS_FSTAT: {"stat", -1},
	unix.SYS_GETDENTS64: {"list", -1}, unix.SYS_FCHMOD: {"chmod", -1},
}

// failing runs a writer whose nth call about a file of the project fails, as on a broken disk, and
// prints that call, or all of them when n is 0.
func failing(dir string) error {
	nth, err := strconv.Atoi(os.Getenv(failMark))
	if err != nil {
		return err
	}
	count, fails := 0, map[int]bool{}
	return traced(dir, func(tid int) {
		if fails[tid] { // the call that was made none returns
			delete(fails, tid)
			var regs syscall.PtraceRegs
			if syscall.PtraceGetRegs(tid, &regs) == nil {
				failure := int64(unix.EIO)
				regs.Rax = uint64(-failure)
				_ = syscall.PtraceSetRegs(tid, &regs)
			}
			return
		}
		info, ok := entered(tid)
		call, known := fileCalls[info.Number]
		if !ok || !known {
			return
		}
		var path string
		if call.path < 0 {
			path = fileOf(tid, info.Args[0])
		} else {
			path = text(tid, uintptr(info.Args[call.path]))
		}
		if !strings.HasPrefix(path, dir+"/") {
			return
		}
		count++
		if nth != 0 && count != nth {
			return
		}
		fmt.Println("call", call.name, strings.TrimPrefix(path, dir+"/"))
		var regs syscall.PtraceRegs
		if nth != 0 && syscall.PtraceGetRegs(tid, &regs) == nil {
			regs.Orig_rax = ^uint64(0)
			fails[tid] = syscall.PtraceSetRegs(tid, &regs) == nil
		}
	})
}
