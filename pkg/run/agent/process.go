package agent

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Process is named by its pid together with its start time, because pids are used again.
type Process struct {
	Pid   int
	Start int64 // the kernel's own unit; compared for equality only. 0 = not known
	Pgid  int
}

// entry is one line of the process table.
type entry struct {
	Process
	parent int
	zombie bool // ended, but not yet waited for
}

// ProcessStart returns the start time of a process in the kernel's own unit, and whether there
// is such a process and its start time is known.
func ProcessStart(pid int) (int64, bool) {
	e, ok := lookup(pid)
	return e.Start, ok && e.Start != 0
}

// Alive reports whether the process still runs. Where a start time is not known, the pid alone
// decides: unknown is not dead.
func Alive(pid int, start int64) bool {
	e, ok := lookup(pid)
	return ok && !e.zombie && (start == 0 || e.Start == 0 || e.Start == start)
}

// Ancestors returns the parents of a process, the nearest first, without the process itself.
func Ancestors(pid int) []Process {
	var up []Process
	seen := map[int]bool{pid: true}
	lookup := look()
	e, ok := lookup(pid)
	for ok && e.parent > 0 && !seen[e.parent] {
		seen[e.parent] = true
		if e, ok = lookup(e.parent); ok {
			up = append(up, e.Process)
		}
	}
	return up
}

// Environ is the environment that a process was started with, as far as this machine shows it.
func Environ(pid int) []string {
	return strings.FieldsFunc(string(environOf(pid)), func(r rune) bool { return r == 0 })
}

// StopOrphan stops a program whose supervisor is gone (specs/protocol.md#6.4): the process itself if pid
// and start time still fit, its group, its descendants, and on Linux every process whose
// environment carries all the marks. TERM, after grace KILL, and it returns when none is left.
// Marks have to tell runs apart, also those of other projects: LIZA_ROOT, LIZA_AGENT_ID, run.
//
// A pid that was given to another program is never touched. The error names what could not be
// stopped; nil means that nothing of it runs.
func StopOrphan(ctx context.Context, p Process, marks map[string]string, grace time.Duration) error {
	f := newFamily(p, marks)
	members, err := f.members()
	if err != nil {
		return fmt.Errorf("cannot look for process %d: %v", p.Pid, err)
	}
	above := append(Ancestors(os.Getpid()), Process{Pid: os.Getpid()})
	for _, m := range members {
		if slices.ContainsFunc(above, func(a Process) bool { return a.Pid == m.Pid }) {
			return fmt.Errorf("cannot stop process %d from within itself", m.Pid)
		}
	}
	left, err := f.clear(ctx, grace)
	switch {
	case len(left) == 0 && err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("cannot stop process %d: %w", p.Pid, context.Cause(ctx))
	case err == nil:
		err = fmt.Errorf("it is still there after KILL")
	}
	if len(left) == 0 {
		left = []Process{p}
	}
	return fmt.Errorf("cannot stop process %s: %v", pids(left), err)
}

func pids(list []Process) string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprint(p.Pid))
	}
	return strings.Join(names, ", ")
}

// killWait is how long a process may take to vanish after KILL, e.g. out of a slow disk.
const killWait = 5 * time.Second

// A family is what one process started: its group, its descendants, and what carries its marks.
type family struct {
	leader Process
	marks  []string // NAME=value
	held   bool     // the leader is our child and not yet waited for (where that can be arranged): its pid and group are ours
	above  int      // pid of the reaper, 0 = none: all that descends from it belongs, itself does not

	known  map[int]int64 // pid → start of everything that once belonged
	others map[int]int64 // pid → start of what was looked at and carries no mark
}

func newFamily(leader Process, marks map[string]string) *family {
	f := &family{leader: leader, known: map[int]int64{}, others: map[int]int64{}}
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		f.marks = append(f.marks, name+"="+marks[name])
	}
	if leader.Pid > 0 && leader.Start != 0 {
		f.known[leader.Pid] = leader.Start
	}
	return f
}

// members returns what belongs to the family and runs.
func (f *family) members() ([]Process, error) {
	table, err := processes()
	if err != nil {
		return nil, err
	}
	group := f.group(table)
	children := map[int][]entry{}
	var queue []entry
	for _, e := range table {
		children[e.parent] = append(children[e.parent], e)
		if e.Pid == f.above {
			continue
		}
		if f.is(e) || f.above > 0 && e.parent == f.above || group > 0 && e.Pgid == group || f.marked(e) {
			queue = append(queue, e)
		}
	}
	var living []Process
	seen := map[int]bool{}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		if seen[e.Pid] || e.Pid == f.above {
			continue
		}
		seen[e.Pid] = true
		f.known[e.Pid] = e.Start
		if !e.zombie {
			living = append(living, e.Process)
		}
		queue = append(queue, children[e.Pid]...)
	}
	return living, nil
}

// is reports whether e is a process that once belonged: same pid, same start.
func (f *family) is(e entry) bool {
	start, ok := f.known[e.Pid]
	return ok && start == e.Start
}

// group returns the process group while it is certain that it is still the family's: a number
// is not given to another group as long as one process of the old one is there.
func (f *family) group(table []entry) int {
	g := f.leader.Pgid
	if g <= 1 || g == syscall.Getpgrp() {
		return 0
	}
	if f.held {
		return g
	}
	for _, e := range table {
		if e.Pgid == g && f.is(e) {
			return g
		}
	}
	return 0
}

func (f *family) marked(e entry) bool {
	if len(f.marks) == 0 || e.zombie {
		return false
	}
	if start, ok := f.others[e.Pid]; ok && start == e.Start {
		return false
	}
	if carries(e, f.marks) {
		return true
	}
	f.others[e.Pid] = e.Start
	return false
}

// signal sends to all of them; of the errors the last one that matters is kept.
func (f *family) signal(sig syscall.Signal, members []Process) error {
	var failed error
	if f.held && f.leader.Pgid > 1 {
		if err := syscall.Kill(-f.leader.Pgid, sig); err != nil && err != syscall.ESRCH {
			failed = err
		}
	}
	for _, m := range members {
		if f.held && m.Pgid == f.leader.Pgid {
			continue
		}
		if err := signalOne(m, sig); err != nil {
			failed = err
		}
	}
	return failed
}

// signalOne signals the process that was seen, and no other that got its pid since: the handle
// is taken first, the start time checked through it afterwards.
func signalOne(p Process, sig syscall.Signal) error {
	handle, err := os.FindProcess(p.Pid)
	if err != nil {
		return nil
	}
	defer handle.Release()
	if start, ok := ProcessStart(p.Pid); !ok || start != p.Start {
		return nil
	}
	if err := handle.Signal(sig); err != nil && err != os.ErrProcessDone {
		return err
	}
	return nil
}

// clear ends everything: TERM, after grace KILL, until nothing is left or killWait is over. It
// returns what is left and why.
func (f *family) clear(ctx context.Context, grace time.Duration) ([]Process, error) {
	members, err := f.members()
	if err != nil || len(members) == 0 {
		return nil, err
	}
	if grace > 0 {
		err = f.signal(syscall.SIGTERM, members)
		members = f.wait(ctx, grace, members, nil)
	}
	if len(members) > 0 && ctx.Err() == nil {
		members = f.wait(ctx, killWait, members, func(members []Process) {
			err = f.signal(syscall.SIGKILL, members)
		})
	}
	if len(members) == 0 {
		err = nil
	}
	return members, err
}

// wait looks again and again until no member is left or the time is over, and returns those
// that are left; at first they are as given. each is called with them before every look.
func (f *family) wait(ctx context.Context, limit time.Duration, members []Process, each func([]Process)) []Process {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		// A look that fails says nothing: who took it for the end would give the task to another agent beside a living one.
		if now, err := f.members(); err == nil {
			members = now
		}
		if len(members) == 0 {
			return nil
		}
		if each != nil {
			each(members)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return members
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return members
		}
	}
}

// Marked lists the processes whose environment carries all the marks, and what descends from
// them. Elsewhere than on Linux nothing can be found.
func Marked(marks map[string]string) ([]Process, error) {
	return newFamily(Process{}, marks).members()
}
