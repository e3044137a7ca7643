package agent

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lookup reads one process from /proc.
func lookup(pid int) (entry, bool) {
	if pid <= 0 {
		return entry{}, false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	// The second field is the name in brackets and may hold anything, also brackets and blanks.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return entry{}, false
	}
	fields := strings.Fields(string(stat[i+1:])) // from field 3 on: state, ppid, pgrp, …
	if len(fields) < 20 {
		return entry{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	pgid, _ := strconv.Atoi(fields[2])
	start, err := strconv.ParseInt(fields[19], 10, 64) // field 22
	if err != nil {
		return entry{}, false
	}
	ended := fields[0] == "Z" || fields[0] == "X"
	return entry{Process{Pid: pid, Start: start, Pgid: pgid}, parent, ended}, true
}

// threadsOf is the number of threads of a process, 1 for one that is gone.
func threadsOf(pid int) int {
	threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return max(len(threads), 1)
}

// processes reads the process table.
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
		if e, ok := lookup(pid); ok {
			table = append(table, e)
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
