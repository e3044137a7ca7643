package agent

import (
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Source is what the reaper is made of (sandbox.Build).
//
//go:embed reap*.go procinfo_linux.go
var Source embed.FS

// ReapCommand is the argument that makes a program of ours a reaper.
const ReapCommand = "reap"

// IsReaper reports whether a command line is the reaper's.
func IsReaper(args []string) bool { return len(args) == 1 && args[0] == ReapCommand }

// A reaper is a process of ours between a supervisor and one agent program (Reap). What the
// program starts can never get out from under it: whatever detaches itself and empties its
// environment becomes a child of the reaper, and of that of no other run.
//
// Both talk over a socket, one JSON value after the other: the supervisor gives orders, the
// reaper sends notes. A supervisor that is gone has closed it, which is an order to end.
type order struct {
	Path     string `json:",omitempty"` // the first order: what to start
	Argv     []string
	Terminal bool          // in the foreground of the terminal that is stdin
	Grace    time.Duration // from TERM to KILL
	Tied     bool          // all of it ends with the supervisor

	Wrapper   bool // as in Contained
	Groups    []string
	Processes int
	Files     int // how many more files are passed on

	Kept  int    // how many files behind them are kept, a socket for successors first; 0: the run is not kept for any
	Stdin bool   // the program gets what comes as Input
	Run   string // runVariable, and Facts: for a successor
	Facts []byte
	Wait  time.Duration // for it

	Adopt bool   // the first order of a successor: it wants the run
	Door  bool   // behind them is a socket on which only connections to ports inside are asked for
	Port  *int   // the only order of another process: a connection to this port inside, or with 0 the ports there
	Input []byte // what the program gets on its stdin: all of it in the second order, unless
	More  bool   // more of it may come, until an order comes without this
	Mark  string // with Input: what it is, as in inputLine
	End   bool   // end what runs, with Grace; the last order, unless
	Hold  bool   // the run is kept until another End: its end is not on the board yet
}

// note is one of: Pid or Errno, Stopped any number of times, Exited, Over.
type note struct {
	Pid   int           // the program was started
	Start int64         // when; to a successor
	Errno syscall.Errno // or could not be
	Step  string        // what failed then, when that was not the program's own start

	Stopped bool // the program was stopped by its terminal
	Exited  bool // the program has ended; what it started may still run

	TooMany int // so many processes ran that all are ended

	Over   bool // nothing runs any more but Left
	Status *syscall.WaitStatus
	Left   []Process

	Reaper   int    // the first note to a successor: our pid, Pid, and what follows
	Run      string // this and the next two as in the order
	Groups   []string
	Facts    []byte
	Began    time.Time
	Given    bool     // the program has its Input
	Open     bool     // and takes more
	Sent     []string // the marks of what it was given, without answers
	Replied  int      // and how many answers
	Behind   [2]int64 // how much of the streams there is, which come from the beginning
	Again    [2]int64 // and how much of that was read before
	Held     bool     // another supervisor has the run
	Settling bool     // not for long
}

// replyMark is the mark of answers to a program, which are counted.
const replyMark = "reply"

// reaperName is the name of its process.
const reaperName = "liza-reap"

// reaper is a supervisor's side of it.
type reaper struct {
	cmd     *exec.Cmd // nil: another process has started it
	process Process
	orders  sync.Mutex
	control *os.File
	exited  chan struct{} // closed when the program or the reaper has ended
	stopped chan struct{}
	gone    chan struct{} // closed when nothing more will be heard
	tooMany int           // how many processes there were when they were too many; once exited is closed
	over    note          // the last one, once gone is closed
	leave   func()        // removes the control groups that a killed reaper has left
	hold    bool          // it keeps the run after its end
}

// answerWait is how much longer than it is given a reaper may take for its last word.
const answerWait = 2 * time.Second

// listen takes the notes after the first, which said whether the program has ended.
func (r *reaper) listen(notes *json.Decoder, ended bool) {
	defer close(r.gone)
	exited := sync.OnceFunc(func() { close(r.exited) })
	defer exited()
	if ended {
		exited()
	}
	for {
		var n note
		if notes.Decode(&n) != nil {
			return
		}
		switch {
		case n.Stopped:
			tell(r.stopped)
		case n.TooMany > 0:
			r.tooMany = n.TooMany
			exited()
		case n.Exited:
			exited()
		case n.Over:
			r.over = n
			return
		}
	}
}

// tell says something that need be heard only once.
func tell(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// order gives the reaper an order. The last one waits for nothing that a run may hold up: who writes another is disturbed.
func (r *reaper) order(o order) error {
	if o.End {
		_ = r.control.SetWriteDeadline(time.Now().Add(answerWait))
	}
	r.orders.Lock()
	defer r.orders.Unlock()
	return json.NewEncoder(r.control).Encode(o)
}

// end has everything ended and waits for that. It returns how much time to leave to what is
// found afterwards: none when the reaper does not answer.
func (r *reaper) end(grace time.Duration) time.Duration {
	_ = r.order(order{End: true, Grace: grace, Hold: r.hold}) // it may have ended
	limit := time.NewTimer(grace + sweepGrace + killWait + answerWait)
	defer limit.Stop()
	select {
	case <-r.gone:
		return min(grace, sweepGrace)
	case <-limit.C:
		return 0
	}
}

// wait takes the reaper out of the process table. One that has not said its last word is killed.
func (r *reaper) wait() {
	select {
	case <-r.gone:
		if r.hold {
			_ = r.order(order{End: true})
		}
	default:
		_ = signalOne(r.process, syscall.SIGKILL)
	}
	r.control.Close()
	if r.cmd != nil {
		_ = r.cmd.Wait()
	}
	<-r.gone
	r.leave()
}

// holding reports whether it keeps the run, all of which has ended.
func (r *reaper) holding() bool {
	select {
	case <-r.gone:
		return r.hold && r.over.Over
	default:
		return false
	}
}

// status is how the program ended. When the reaper was killed nobody knows: it counts as
// killed in the same way.
func (r *reaper) status() (syscall.WaitStatus, bool) {
	if r.over.Status != nil {
		return *r.over.Status, true
	}
	return statusOf(r.cmd)
}

func statusOf(x *exec.Cmd) (syscall.WaitStatus, bool) {
	if x == nil || x.ProcessState == nil {
		return 0, false
	}
	status, ok := x.ProcessState.Sys().(syscall.WaitStatus)
	return status, ok
}

// add adds what the reaper could not end to what is known to be left.
func (r *reaper) add(left []Process) []Process {
	for _, p := range r.over.Left {
		if !slices.Contains(left, p) && Alive(p.Pid, p.Start) {
			left = append(left, p)
		}
	}
	return left
}

// sweepGrace is the time from TERM to KILL for what a program leaves behind.
const sweepGrace = time.Second

// Contained is a program behind a wall.
type Contained struct {
	Path string   // of what is started
	Argv []string // its name first
	Env  []string // all of it

	// Wrapper says that what is started is not the program but what keeps it: asked to end, it would end
	// at once and take the program with it. It is started with those signals ignored, so that TERM ends what is
	// inside. How the program ended it tells on its file descriptor 3, if it can.
	Wrapper bool

	// Groups are control groups that exist. The program starts in them, and they are removed after its end.
	Groups []string

	// Processes is the most that may run below the reaper, which ends them all when there are more; 0: any number.
	Processes int
}
