package agent

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Keep lets a run outlive the process that started it (Spec.Keep): the reaper keeps what the program prints, the end of its
// stdin and these files, until another process adopts the run. It ends the run when nobody has come within Wait. A run that has ended
// by itself is kept until Result.Recorded is called: who is killed before that leaves it to the next one.
type Keep struct {
	Socket *os.File   // a Unix socket that listens: Adopt finds the reaper there
	Files  []*os.File // that the successor gets again, in this order
	Facts  []byte     // likewise
	Wait   time.Duration
}

// CanKeep reports whether runs can be kept on this system.
const CanKeep = canReap

// Adopted is a run under way that this process has taken over. Run goes on with it (Spec.Adopted).
type Adopted struct {
	Facts []byte
	Files []*os.File
	Began time.Time

	// Retell has everything that the program printed told again, which otherwise begins where the supervisor before was.
	Retell bool

	control *os.File
	notes   *json.Decoder
	first   note
	streams [2]*os.File
}

// Errors of Adopt.
var (
	ErrNotKept  = errors.New("nothing keeps the run")                  // no reaper answers: it has ended, or keeps nothing
	ErrHeld     = errors.New("another process supervises the run")     // which may be one that hangs
	ErrRefused  = errors.New("nothing listens on the port")            // of Dial
	ErrSettling = errors.New("another process has just taken the run") // the board does not say so yet, perhaps
)

// Process is the program of the run.
func (a *Adopted) Process() Process {
	return Process{Pid: a.first.Pid, Start: a.first.Start, Pgid: a.first.Pid}
}

// Over reports whether all of the run has ended, and only its end is to be recorded.
func (a *Adopted) Over() bool { return a.first.Over }

// End ends the run, and waits for that.
func (a *Adopted) End(grace time.Duration) {
	closeAll(a.streams[:]...)
	r := a.reaper()
	go r.listen(a.notes, a.first.Exited)
	r.end(grace)
	r.wait()
	closeAll(a.Files...)
}

// Release gives the run back: its reaper waits for another process.
func (a *Adopted) Release() {
	closeAll(a.streams[:]...)
	closeAll(a.Files...)
	a.control.Close()
}

func (a *Adopted) reaper() *reaper {
	start, _ := ProcessStart(a.first.Reaper)
	return &reaper{process: Process{Pid: a.first.Reaper, Start: start}, control: a.control, exited: make(chan struct{}), stopped: make(chan struct{}, 1), gone: make(chan struct{}),
		leave: func() { leaveNoGroups(a.first.Groups) }}
}

// follow makes the run that of a child. repeats is set while what the child prints was read before.
func (a *Adopted) follow(r Reader, s Spec, repeats *atomic.Bool) *child {
	below := a.reaper()
	c := &child{reaper: below, began: a.Began, exited: below.exited, stopped: below.stopped, reap: sync.OnceFunc(below.wait)}
	c.family = newFamily(a.Process(), map[string]string{runVariable: a.first.Run})
	c.family.above = a.first.Reaper
	if c.given = a.first.Given; !c.given || a.first.Open {
		c.prompt = &input{reaper: below}
	}
	c.out = &output{reader: r, began: c.began, to: s.Output, from: a.streams, event: s.Event, repeats: repeats, behind: a.first.Behind}
	if !a.Retell {
		c.out.again = a.first.Again
	}
	c.out.start()
	go below.listen(a.notes, a.first.Exited)
	return c
}

// An input is the program's stdin when its reaper has the end of that. It hands over all that was written when it is closed, or at
// once.
type input struct {
	reaper *reaper
	live   bool // at once
	text   []byte
	given  sync.Once
}

func (i *input) Write(p []byte) (int, error) {
	if i.live {
		return len(p), i.reaper.order(order{Input: p, More: true})
	}
	i.text = append(i.text, p...)
	return len(p), nil
}

func (i *input) Close() (err error) {
	i.given.Do(func() { err = i.reaper.order(order{Input: i.text}) })
	return err
}

// writeTo hands lines to the program, by its reaper with its mark.
func (m inputLine) writeTo(to io.Writer) error {
	if in, ok := to.(*input); ok && in.live {
		return in.reaper.order(order{Input: m.line, More: true, Mark: m.mark})
	}
	_, err := to.Write(m.line)
	return err
}
