package agent

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lookup reads one process from /proc. Of one that is there and cannot be read, for want of file descriptors for instance,
// the pid alone is known.
func lookup(pid int) (entry, bool) {
	if pid <= 0 {
		return entry{}, false
	}
	e, err := readEntry(pid)
	if err == nil {
		return e, true
	}
	if gone(err) || syscall.Kill(pid, 0) == syscall.ESRCH {
		return entry{}, false
	}
	return entry{Process: Process{Pid: pid}}, true
}

// gone reports whether an error of a file in /proc says that there is no such process.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

func readEntry(pid int) (entry, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, err
	}
	// The second field is the name in brackets and may hold anything, also brackets and blanks.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3 on: state, ppid, pgrp, …
	if len(fields) < 20 {
		return entry{}, errors.New("a line of the process table that is not known")
	}
	parent, _ := strconv.Atoi(fields[1])
	pgid, _ := strconv.Atoi(fields[2])
	start, err := strconv.ParseInt(fields[19], 10, 64) // field 22
	ended := fields[0] == "Z" || fields[0] == "X"
	return entry{Process{Pid: pid, Start: start, Pgid: pgid}, parent, ended}, err
}

// threadsOf is the number of threads of a process, 1 for one that is gone.
func threadsOf(pid int) int {
	threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return max(len(threads), 1)
}

// processes reads the process table, all of it or none: a process that is left out would count as one that has ended. What
// other people hide of theirs (hidepid) is left out; it is nothing of a run.
func processes() ([]entry, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]entry, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch e, err := readEntry(pid); {
		case err == nil:
			table = append(table, e)
		case !gone(err) && !errors.Is(err, fs.ErrPermission):
			return nil, err
		}
	}
	return table, nil
}

const kthreadd = 2 // parent of the kernel's threads, which have no environment

// carries reports whether the environment of a process has all the marks.
func carries(e entry, marks []string) bool {
	if e.Pid == kthreadd || e.parent == kthreadd {
		return false
	}
	data := environOf(e.Pid)
	if len(data) == 0 {
		return false
	}
	data = append([]byte{0}, data...)
	if data[len(data)-1] != 0 {
		data = append(data, 0)
	}
	for _, m := range marks {
		if !bytes.Contains(data, []byte("\x00"+m+"\x00")) {
			return false
		}
	}
	return true
}

// environOf is the environment that a process was started with, its entries ended by zero bytes;
// empty when it cannot be read.
func environOf(pid int) []byte {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return data
}

// look is how Ancestors reads one process after the other.
func look() func(pid int) (entry, bool) { return lookup }

// BootID tells one boot of this machine from another; empty when it cannot be told.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// waitExit returns true when the child has ended; it is not reaped, so that its pid and its
// group still are its own. False: this cannot be told here.
func waitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
