package agent

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of every descendant whose own parents end. Without it a
// process that has emptied its environment and detached itself cannot be found.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// adopted are the orphans that this run left to us: our children in sessions that are not ours,
// without the mark of another run. While another run goes on, whose an orphan without any
// mark is cannot be told: it is ended with the last of them.
func (f *family) adopted(table []entry) map[int]bool {
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if !f.held || err != nil {
		return nil
	}
	found := map[int]bool{}
	for _, e := range table {
		if e.parent != self || e.zombie || e.Pid == f.leader.Pid || f.marked(e) {
			continue
		}
		environ, err := os.ReadFile(procFile(e.Pid, "environ"))
		switch {
		case err != nil:
		case bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+runVariable+"=")):
			return nil // of another run
		case e.session != session && e.Start >= f.leader.Start && !newborn(e.Pid):
			found[e.Pid] = true
		}
	}
	return found
}

// newborn tells whether a child of ours has not become another program yet.
func newborn(pid int) bool {
	theirs, err := os.ReadFile(procFile(pid, "cmdline"))
	if err != nil {
		return true // it is gone
	}
	ours, err := os.ReadFile("/proc/self/cmdline")
	return err != nil || bytes.Equal(theirs, ours)
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// bury waits for the orphans that have ended, which nobody else will do. What this process has
// started itself, and others wait for, leads its session or is in ours.
func (f *family) bury() {
	table, err := processes()
	session, failed := unix.Getsid(0)
	if err != nil || failed != nil {
		return
	}
	for _, e := range table {
		if e.parent != os.Getpid() || !e.zombie || e.Pid == f.leader.Pid {
			continue
		}
		if f.is(e) || e.session != session && e.session != e.Pid {
			_, _ = unix.Wait4(e.Pid, nil, unix.WNOHANG, nil)
		}
	}
}
