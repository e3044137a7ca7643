package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// enterGroups has the next program that this thread starts begin in control groups. Those of version 1 are entered by
// the thread itself, which leaves them again; no other thread of ours must be in them, because one that their
// limit keeps from being made would end us. failed is the group that could not be entered.
func enterGroups(groups []string, attr *syscall.SysProcAttr) (leave func(), failed string, err error) {
	var undo []func()
	leave = func() {
		for _, f := range undo {
			f()
		}
	}
	for _, dir := range groups {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				leave()
				return nil, dir, err
			}
			undo = append(undo, func() { _ = unix.Close(fd) })
			attr.UseCgroupFD, attr.CgroupFD = true, fd
			continue
		}
		if err := enterThread(dir); err != nil {
			leave()
			return nil, dir, err
		}
		undo = append(undo, func() { _ = enterThread(filepath.Dir(dir)) })
	}
	return leave, "", nil
}

// enterThread puts this thread into a control group of version 1.
func enterThread(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "tasks"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("0"))
	return err
}

// leaveNoGroups removes the control groups of a run that is over.
func leaveNoGroups(groups []string) {
	for _, dir := range groups {
		for range 100 { // the kernel takes a moment to see that a group is empty
			if err := unix.Rmdir(dir); err != unix.EBUSY {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// countEvery is how often the processes of a run are counted that no control group and no limit counts.
const countEvery = 20 * time.Millisecond

// counting says when to look.
func (r *reaping) counting() (look <-chan time.Time, stop func()) {
	if r.order.Processes == 0 {
		return nil, func() {}
	}
	r.before = machineTasks()
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads { // what counts must not wait its turn among what is counted; only root may, and only root is counted
		tid, _ := strconv.Atoi(t.Name())
		_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20)
	}
	ticker := time.NewTicker(countEvery)
	return ticker.C, ticker.Stop
}

// tooMany is the number of processes and threads of the run when that is more than it may have, else 0. They are counted only when
// the whole machine has so many more than before, which is one system call.
func (r *reaping) tooMany() int {
	now := machineTasks()
	r.before = min(r.before, now)
	if now-r.before < r.order.Processes {
		return 0
	}
	f := newFamily(Process{Pid: r.program, Pgid: r.program}, nil)
	f.above, f.held = os.Getpid(), true
	members, err := f.members()
	if err != nil {
		return 0
	}
	n := 0
	for _, m := range members {
		n += threadsOf(m.Pid)
	}
	if n <= r.order.Processes {
		return 0
	}
	return n
}

// machineTasks is the number of processes and threads of this machine.
func machineTasks() int {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	return int(info.Procs)
}

// reaping is a reaper whose program was started.
type reaping struct {
	order   order
	step    string // of the start, which failed
	program int    // not waited for until the end, so that its pid and its group stay its own
	status  int    // the pipe on which a wrapper tells how the program ended; 0: there is none
	door    door   // to the ports inside a wrapper
	before  int    // processes and threads of the machine, the lowest number that was seen
	ended   bool   // the program has
	killed  bool   // by a signal
	control *os.File
	changes chan os.Signal   // SIGCHLD
	stop    chan order       // to end, with its grace
	began   int64            // the start time of the program
	last    *note            // says how all of it ended; nil: it has not
	lost    chan *os.File    // the connection of a supervisor that is gone
	held    bool             // a supervisor has the run
	late    <-chan time.Time // when nobody has come for it; nil: nobody is waited for
	kept    *keeping         // for who comes; nil: nothing is
}
