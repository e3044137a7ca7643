package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"liza/pkg/base/norace"
)

// tracerMark names the project for a process that runs a writer and prints what the writer
// asks the kernel for. It is a process of its own because it waits for every child.
const tracerMark = "STORE_TEST_TRACER"

// trace runs a writer of one change under ptrace(2) and prints, in their order, the writes,
// flushes and renames with the path that each is about.
func trace(dir string) error {
	return traced(dir, func(tid int) {
		if text := asked(tid); text != "" {
			fmt.Println(text)
		}
	})
}

// traced runs a writer and calls stop whenever one of its threads enters or leaves a system call.
func traced(dir string, stop func(tid int)) error {
	runtime.LockOSThread() // the kernel takes orders from the thread that started the writer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, tracerMark) }),
		writerMark+"="+dir, countMark+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if err := unix.PtraceSyscall(pid, 0); err != nil {
		return err
	}
	for {
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		deliver := 0
		switch {
		case status.Exited() && tid == pid:
			if status.ExitStatus() != 0 {
				return fmt.Errorf("the writer ended with exit code %d", status.ExitStatus())
			}
			return nil
		case !status.Stopped():
			continue
		case status.StopSignal() == unix.SIGTRAP|0x80:
			stop(tid)
		case status.StopSignal() != unix.SIGTRAP && status.StopSignal() != unix.SIGSTOP:
			deliver = int(status.StopSignal())
		}
		if err := unix.PtraceSyscall(tid, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
}

// systemCall is struct ptrace_syscall_info of linux/ptrace.h, at the entry of a call.
type systemCall struct {
	Op                 uint8
	_                  [3]uint8
	Arch               uint32
	Instruction, Stack uint64
	Number             uint64
	Args               [6]uint64
}

// entered returns the call that a thread has just entered, false when it is leaving one.
func entered(tid int) (systemCall, bool) {
	var info systemCall
	const entry = 1
	n, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info, errno == 0 && n != 0 && info.Op == entry
}

// fileOf is the path of an open file of a thread.
func fileOf(tid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, fd))
	return path
}

// asked says what a thread that has just entered a system call asks for, "" when it is leaving
// one or the call is of no interest here.
func asked(tid int) string {
	info, ok := entered(tid)
	if !ok {
		return ""
	}
	switch info.Number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV:
		return "write " + fileOf(tid, info.Args[0])
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return "flush " + fileOf(tid, info.Args[0])
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return "rename " + text(tid, uintptr(info.Args[3]))
	}
	return ""
}

// text reads a string out of the memory of a thread that is stopped.
func text(tid int, at uintptr) string {
	var all []byte
	for len(all) < 4096 {
		var word [8]byte
		if _, err := unix.PtracePeekData(tid, at+uintptr(len(all)), word[:]); err != nil {
			return ""
		}
		if end := bytes.IndexByte(word[:], 0); end >= 0 {
			return string(append(all, word[:end]...))
		}
		all = append(all, word[:]...)
	}
	return string(all)
}

// What a change needs to survive a power loss is on disk in this order: journal, new state,
// the name of the new state. Only then the writer hears that it is written.
func TestAChangeIsOnDiskBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	program, err := norace.Program()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), tracerMark+"="+p.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := func(match func(string) bool, before int) int {
		for i := before - 1; i >= 0; i-- {
			if match(lines[i]) {
				return i
			}
		}
		return -1
	}
	is := func(line string) func(string) bool { return func(l string) bool { return l == line } }
	temp := func(verb string) func(string) bool {
		return func(l string) bool { return strings.HasPrefix(l, verb+" ") && strings.Contains(l, "/.state.yaml.tmp-") }
	}
	renamed := last(is("rename "+p.path()), len(lines))
	told := last(is("written"), len(lines))
	folder := last(is("flush "+filepath.Dir(p.path())), len(lines))
	staged, stagedFlush := last(temp("write"), renamed), last(temp("flush"), renamed)
	journal, journalFlush := last(is("write "+p.journal()), renamed), last(is("flush "+p.journal()), renamed)
	switch {
	case renamed < 0 || told < 0 || staged < 0 || journal < 0:
		t.Fatalf("the trace misses the rename (%d), the end (%d), the state (%d) or the journal (%d):\n%s", renamed, told, staged, journal, out)
	case journalFlush < journal:
		t.Errorf("the journal is not flushed between its write and the rename of the state:\n%s", out)
	case stagedFlush < staged:
		t.Errorf("the new state is not flushed between its write and its rename:\n%s", out)
	case folder < renamed || folder > told:
		t.Errorf("the folder is not flushed between the rename and the writer's answer:\n%s", out)
	}
}
