package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Orphans stops what registrations have left running.
type Orphans struct{ board *Session }

// Orphans returns what registrations of this machine have left running.
func (b *Session) Orphans() Orphans { return Orphans{b} }

// RunMark names one run of a registration's agent program in its environment (LIZA_RUN).
func RunMark(generation string, run int) string { return fmt.Sprintf("%s-%d", generation, run) }

// An Orphan is what a registration may have left running (specs/protocol.md#6.4). A child without a
// pid is a run that its supervisor may have started and had no time to write down.
type Orphan struct {
	Agent, Generation string
	Child             blackboard.Child
}

// OrphanOf is what the entry of an agent left on this machine, nil when it can be nothing.
func (x Orphans) OrphanOf(id string, e *blackboard.Agent) *Orphan {
	if e == nil || x.board.Proc.StopOrphan == nil || e.Host != x.board.Proc.Host || e.BootID != x.board.Proc.BootID {
		return nil
	}
	o := &Orphan{Agent: id, Generation: e.Generation}
	switch {
	case e.Child != nil:
		o.Child = *e.Child
	case e.PID != 0 && x.ProcessGone(e.PID, e.PIDStart):
		o.Child.RunID = RunMark(e.Generation, e.IterationsTotal+1)
	default:
		return nil
	}
	return o
}

// ProcessGone reports whether a process of this machine is known to have ended.
func (x Orphans) ProcessGone(pid int, start int64) bool {
	if x.board.Proc.Running == nil {
		return false
	}
	running, known := x.board.Proc.Running(pid, start)
	return known && !running
}

// Stop ends what is left of an orphan; nil means that nothing of it runs.
func (x Orphans) Stop(ctx context.Context, o Orphan) error {
	x.board.Failpoint("orphan")
	err := x.board.Proc.StopOrphan(ctx, o.Agent, o.Child, x.killGrace(ctx))
	if err == nil {
		return nil
	}
	return &transition.Refusal{Guard: "G28", Exit: transition.ExitFailure, Next: "liza doctor", Message: fmt.Sprintf("cannot take over from %s: %v", o.Agent, err)}
}

// Forget takes an orphan that was stopped off the board.
func (o Orphan) Forget(s *blackboard.State) {
	if o.In(s) {
		s.Agents[o.Agent].Child = nil
	}
}

// In reports whether the board still has the orphan.
func (o Orphan) In(s *blackboard.State) bool {
	e := s.Agents[o.Agent]
	return e != nil && e.Generation == o.Generation && e.Child != nil && *e.Child == o.Child
}

// A runEnd is the end of a run on its way to the board, which gets it in one write with what the answer does. In a file of its
// own it outlives its supervisor meanwhile: the work of the run is handed in, and what it cost is counted.
type runEnd struct {
	Run    string // correlation id
	Result transition.RunResult
}

// KeepEnd keeps the end of a run until the board has it.
func (x Orphans) KeepEnd(agent, run string, r transition.RunResult) error {
	text, err := json.Marshal(runEnd{run, r})
	if err == nil {
		err = safefile.MakeFolder(filepath.Dir(x.board.Project.RunEnd(agent)), 0o755)
	}
	if err == nil { // not flushed: a kill leaves it, and after a loss of power the run is done again
		err = os.WriteFile(x.board.Project.RunEnd(agent), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the end of a run: %w", err)
	}
	return nil
}

// Settle ends a run whose supervisor died as its file says. The caller has stopped what is left of it, under the same lock.
func (b *Session) Settle(s *blackboard.State, o Orphan) {
	var end runEnd
	if text, err := safefile.Read(b.Project.RunEnd(o.Agent)); err == nil && json.Unmarshal(text, &end) == nil && end.Run == o.Child.RunID && end.Result.Task == o.Child.Task {
		transition.EndRunOf(s, o.Agent, end.Result, b.Now())
	}
}

// errLeftBehind keeps a change from being written before an orphan is stopped.
var errLeftBehind = errors.New("a program is still to be stopped")

// takeover stops orphans between tries of one change: nothing is given away before what its
// former holder left is stopped, and nobody stops a process while the state is locked.
type takeover struct {
	service *Session
	done    []Orphan
	left    *Orphan
}

// NewTakeover returns the takeover of one change.
func (x Orphans) NewTakeover() *takeover { return &takeover{service: x.board} }

// Need reports whether the change has to wait until the orphan is stopped.
func (t *takeover) Need(o *Orphan) error {
	if o == nil || slices.Contains(t.done, *o) {
		return nil
	}
	t.left = o
	return errLeftBehind
}

// Try carries out update until it leaves nothing behind. update calls need.
func (t *takeover) Try(ctx context.Context, update func() error) error {
	for {
		t.left = nil
		err := update()
		if t.left == nil || !errors.Is(err, errLeftBehind) {
			return err
		}
		if err := t.service.Orphans().Stop(ctx, *t.left); err != nil {
			return err
		}
		t.done = append(t.done, *t.left)
	}
}

// registrations are the entries before a change.
func registrations(s *blackboard.State) map[string]blackboard.Agent {
	before := make(map[string]blackboard.Agent, len(s.Agents))
	for id, e := range s.Agents {
		before[id] = *e
	}
	return before
}

// replaced looks for registrations that a change removed or replaced: the programs that they
// left are known nowhere else.
func (t *takeover) replaced(before map[string]blackboard.Agent, s *blackboard.State) error {
	for id, was := range before {
		if e := s.Agents[id]; e != nil && e.Generation == was.Generation {
			continue
		}
		o := t.service.Orphans().OrphanOf(id, &was)
		if err := t.Need(o); err != nil {
			return err
		}
		if o != nil && was.Child != nil {
			t.service.Settle(s, *o)
		}
	}
	return nil
}

func (x Orphans) killGrace(ctx context.Context) time.Duration {
	s, err := x.board.View(ctx)
	if err != nil {
		return 10 * time.Second
	}
	return s.Duration("kill_grace")
}

// FormerBoot reports whether an entry is of a former boot of this machine.
func (x Orphans) FormerBoot(e *blackboard.Agent) bool {
	return e.Host == x.board.Proc.Host && e.BootID != "" && x.board.Proc.BootID != "" && e.BootID != x.board.Proc.BootID
}
