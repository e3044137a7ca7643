//go:build !linux

package agent

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookup asks ps for one process. When ps cannot tell, a process that can be signalled exists,
// with an unknown start time.
func lookup(pid int) (entry, bool) {
	if pid <= 0 {
		return entry{}, false
	}
	table, err := ps("-p", strconv.Itoa(pid))
	if err == nil && len(table) == 1 {
		return table[0], true
	}
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return entry{}, false
	}
	return entry{Process: Process{Pid: pid}}, true
}

// processes reads the process table.
func processes() ([]entry, error) { return ps("-ax") }

// ps runs ps(1), whose start time has a resolution of a second.
func ps(which ...string) ([]entry, error) {
	cmd := exec.Command("ps", append(which, "-o", "pid=,ppid=,pgid=,stat=,lstart=")...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot read the process table: %v", err)
	}
	var table []entry
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 9 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		pgid, _ := strconv.Atoi(f[2])
		start, err := time.ParseInLocation("Mon Jan 2 15:04:05 2006", strings.Join(f[4:9], " "), time.Local)
		if err != nil || pid == cmd.Process.Pid {
			continue
		}
		table = append(table, entry{Process{Pid: pid, Start: start.Unix(), Pgid: pgid}, parent, strings.HasPrefix(f[3], "Z")})
	}
	return table, nil
}

// carries is not known here: programs do not show their environment.
func carries(entry, []string) bool { return false }

// environOf is the environment that a process of the same user was started with, its entries
// ended by zero bytes. macOS shows it behind the arguments, and for the programs that it protects
// itself not at all; elsewhere it is not known.
func environOf(pid int) []byte {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return nil
	}
	count := int(binary.NativeEndian.Uint32(data))
	_, rest, _ := bytes.Cut(data[4:], []byte{0}) // the path of the program
	rest = bytes.TrimLeft(rest, "\x00")
	for range count {
		_, rest, _ = bytes.Cut(rest, []byte{0})
	}
	return rest
}

// look is how Ancestors reads one process after the other: from one reading of the table,
// because each costs a process.
func look() func(pid int) (entry, bool) {
	table, err := processes()
	if err != nil {
		return lookup
	}
	known := make(map[int]entry, len(table))
	for _, e := range table {
		known[e.Pid] = e
	}
	return func(pid int) (entry, bool) {
		e, ok := known[pid]
		return e, ok
	}
}

// BootID tells one boot of this machine from another; empty when it cannot be told.
func BootID() string {
	out, err := exec.Command("sysctl", "-n", "kern.bootsessionuuid").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// waitExit returns true when the child has ended without reaping it. False: this cannot be told
// here.
func waitExit(int) bool { return false }

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETAW

// waitChange is not known here: a program that is stopped has to be continued by hand.
func waitChange(int) (stopped, ok bool) { return false, false }
