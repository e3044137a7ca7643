package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// controlFD is where a reaper finds its supervisor.
const controlFD = 3

// Reap is the whole of a process that a supervisor puts between itself and a program (Spec.Reaper):
// it starts the program with its own streams and environment, adopts every orphan below it,
// and when the supervisor says so, or TERM comes, ends all of them: TERM, grace, KILL, again
// until there is no child. Without a supervisor the program goes on until somebody stops it
// (specs/protocol.md#6.4), and when it has ended the rest is. It returns the exit code.
func Reap() int {
	// What keeps a wall dies with the thread that started it: this one, which ends last.
	runtime.LockOSThread()
	unix.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "supervisor")
	orders := json.NewDecoder(control)
	var o order
	if err := orders.Decode(&o); err != nil || len(o.Argv) == 0 {
		fmt.Fprintln(os.Stderr, "reap is started by supervisors only\nnext: liza help")
		return 2
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it marks have to do
	_ = os.WriteFile("/proc/self/comm", []byte(reaperName), 0)
	r := &reaping{order: o, control: control, held: true, changes: make(chan os.Signal, 1), stop: make(chan order, 2), lost: make(chan *os.File, 1)}
	signal.Notify(r.changes, syscall.SIGCHLD)
	asked := make(chan os.Signal, 1)

	var err error
	if o.Wrapper {
		signal.Ignore(askedToEnd...)
	}
	if r.program, err = r.start(); err == nil {
		r.began, _ = ProcessStart(r.program)
	}
	signal.Reset(askedToEnd...)
	signal.Notify(asked, syscall.SIGTERM)
	if err != nil {
		failed := note{Step: r.step}
		failed.Errno, _ = err.(syscall.Errno)
		r.say(failed)
		return 1
	}
	letGo()
	r.say(note{Pid: r.program})
	go r.heed(control, orders)
	if k := r.kept; k != nil {
		go k.streams[0].pass()
		go k.streams[1].pass()
		go r.hear(k.files[0])
	} else if o.Door {
		go r.hear(controlFD + 1 + o.Files)
	}
	go func() {
		<-asked
		r.stop <- order{Grace: r.order.Grace / 2} // who stops the run of a dead supervisor kills us after the whole
	}()
	return r.run()
}

// askedToEnd are the signals that a wrapper is started without an ear for: it would end at once, and all that is inside
// with it. The program inside hears them.
var askedToEnd = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}

// heed follows the orders of the supervisor that has the run, until it is gone.
func (r *reaping) heed(control *os.File, orders *json.Decoder) {
	for {
		var o order
		switch {
		case orders.Decode(&o) != nil:
			r.lost <- control
			return
		case o.End:
			if r.stop <- o; !o.Hold {
				return
			}
		case r.kept != nil && !r.kept.shut.Load():
			r.kept.hand(o.Input, o.Mark, o.More)
		}
	}
}

// start starts the program, in a process group of its own and in its control groups.
func (r *reaping) start() (pid int, err error) {
	o := r.order
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if o.Kept > 0 {
		theirs, err := r.keep()
		if err != nil {
			r.step = "cannot keep its streams"
			return 0, err
		}
		for i, fd := range theirs {
			attr.Files[i] = uintptr(fd)
			defer unix.Close(fd)
		}
	}
	if o.Terminal {
		attr.Sys = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	}
	if o.Wrapper {
		var pair [2]int
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return 0, err
		}
		defer unix.Close(pair[1])
		r.status = pair[0]
		door, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer unix.Close(door[1])
		r.door.fd = door[0]
		attr.Files = append(attr.Files, uintptr(pair[1]), uintptr(door[1]))
	}
	for i := range o.Files {
		unix.CloseOnExec(controlFD + 1 + i) // it is passed on by its new number
		attr.Files = append(attr.Files, uintptr(controlFD+1+i))
	}
	if o.Door {
		unix.CloseOnExec(controlFD + 1 + o.Files)
	}
	leave, failed, err := enterGroups(o.Groups, attr.Sys)
	if err != nil {
		r.step = "cannot enter the control group " + failed
		return 0, err
	}
	defer leave()
	if !o.Terminal {
		return syscall.ForkExec(o.Path, o.Argv, attr)
	}
	quietly(func() { pid, err = syscall.ForkExec(o.Path, o.Argv, attr) })
	return pid, err
}

// letGo drops the streams of the program: anyone who waits for their end must not wait for us.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = unix.Close(fd)
			continue
		}
		_ = unix.Dup3(null, fd, 0)
	}
	if err == nil {
		_ = unix.Close(null)
	}
}

func (r *reaping) run() int {
	if r.order.Terminal {
		go r.follow()
	}
	count, stop := r.counting()
	defer stop()
	var successors chan *successor
	if r.kept != nil {
		successors = r.kept.came
	}
	for {
		r.collectOrphans()
		if r.ended && !r.held && (r.late == nil || r.killed && r.last == nil) { // nobody adopts what was killed
			return r.end(r.order.Grace)
		}
		select {
		case <-r.changes:
		case <-count:
			if n := r.tooMany(); n > 0 {
				r.say(note{TooMany: n})
				return r.end(0)
			}
		case control := <-r.lost:
			if r.order.Tied {
				return r.end(r.order.Grace)
			}
			if _ = control.Close(); r.kept != nil {
				r.late = time.After(r.order.Wait)
			}
			r.held = false
		case s := <-successors:
			r.take(s)
		case <-r.late:
			return r.end(r.order.Grace)
		case o := <-r.stop:
			if code := r.end(o.Grace); !o.Hold || r.kept == nil {
				return code
			}
		}
	}
}

// told is how the program in a wrapper ended, if that has been told.
func (r *reaping) told() (syscall.WaitStatus, bool) {
	if r.status == 0 {
		return 0, false
	}
	text := make([]byte, 16)
	n, err := unix.Read(r.status, text)
	if err != nil {
		return 0, false
	}
	status, err := strconv.Atoi(string(text[:n]))
	return syscall.WaitStatus(status), err == nil
}

// follow says when the program was stopped by its terminal.
func (r *reaping) follow() {
	for {
		stopped, ok := waitChange(r.program)
		if !ok || !stopped {
			return
		}
		r.say(note{Stopped: true})
	}
}

// collectOrphans waits for the orphans that have ended, and notices when the program has.
func (r *reaping) collectOrphans() {
	for _, pid := range r.children() {
		if pid != r.program {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			continue
		}
		var what unix.Siginfo // the process table shows one whose first thread has ended as a zombie too
		err := unix.Waitid(unix.P_PID, pid, &what, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil && what.Signo != 0 && !r.ended {
			r.ended, r.killed = true, what.Code != cldExited
			r.say(note{Exited: true})
		}
	}
}

// cldExited is the code of a child that has ended by itself.
const cldExited = 1

// children are the pids of the program, until the end, and of the orphans. They stay what they
// are because nobody but us waits for them.
func (r *reaping) children() []int {
	var pids []int
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		list, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		for _, word := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(word)
			pids = append(pids, pid)
		}
	}
	if _, err := os.Stat("/proc/thread-self/children"); err == nil || len(pids) > 0 {
		return pids
	}
	table, _ := processes() // a kernel without lists of children
	for _, e := range table {
		if e.parent == os.Getpid() {
			pids = append(pids, e.Pid)
		}
	}
	return pids
}

// alone reports whether nothing runs any more.
func (r *reaping) alone() bool {
	r.collectOrphans()
	for _, pid := range r.children() {
		if pid != r.program || !r.ended {
			return false
		}
	}
	return true
}

// end ends everything, tells how the program ended, and returns our exit code. What escapes
// one look at the process table, because it forks all the time, is met again in the next.
func (r *reaping) end(grace time.Duration) int {
	if r.last != nil { // to a successor, or the end of a hold
		r.say(*r.last)
		return r.last.code()
	}
	f := newFamily(Process{Pid: r.program, Pgid: r.program}, nil)
	f.above, f.held = os.Getpid(), true
	if r.collectOrphans(); !r.ended {
		r.ask(f)
		r.await(grace, 20*time.Millisecond, func() bool { r.collectOrphans(); return r.ended })
		if !r.ended {
			grace = 0
		}
	}
	if grace = min(grace, sweepGrace); grace > 0 && !r.alone() {
		r.ask(f)
		r.await(grace, 20*time.Millisecond, r.alone)
	}
	r.await(killWait, time.Millisecond, func() bool {
		if r.alone() {
			return true
		}
		_ = syscall.Kill(-r.program, syscall.SIGKILL)
		for _, pid := range r.children() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return false
	})
	r.last = &note{Over: true}
	last := r.last
	if !r.alone() {
		last.Left, _ = f.members()
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(r.program, &status, syscall.WNOHANG, nil); err == nil && pid == r.program {
		last.Status = &status
	}
	if told, ok := r.told(); ok && last.Status != nil {
		status, last.Status = told, &told
	}
	leaveNoGroups(r.order.Groups)
	if r.kept != nil {
		r.kept.drain()
	}
	r.say(*last)
	return last.code()
}

// code is the exit code after the last note.
func (n note) code() int {
	switch {
	case n.Status == nil:
		return 0
	case n.Status.Signaled():
		return 128 + int(n.Status.Signal())
	}
	return n.Status.ExitStatus()
}

// ask sends TERM to all that runs, and wakes up what a terminal has stopped.
func (r *reaping) ask(f *family) {
	members, _ := f.members()
	_ = f.signal(syscall.SIGTERM, members)
	if r.order.Terminal {
		_ = f.signal(syscall.SIGCONT, members)
	}
}

// await asks again and again until it is done or the time is over.
func (r *reaping) await(limit, pause time.Duration, done func() bool) {
	over := time.NewTimer(limit)
	defer over.Stop()
	look := time.NewTicker(pause)
	defer look.Stop()
	for !done() {
		select {
		case <-r.changes:
		case <-look.C:
		case <-over.C:
			return
		}
	}
}

func (r *reaping) say(n note) {
	data, _ := json.Marshal(n)
	_, _ = r.control.Write(append(data, '\n')) // to nobody, if the supervisor is gone
}
