package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// RunMark names one run of a registration's agent program in its environment (LIZA_RUN).
func RunMark(generation string, run int) string { return fmt.Sprintf("%s-%d", generation, run) }

// An orphan is what a registration may have left running (specs/protocol.md#6.4). A child without a
// pid is a run that its supervisor may have started and had no time to write down.
type orphan struct {
	agent, generation string
	child             blackboard.Child
}

// orphanOf is what the entry of an agent left on this machine, nil when it can be nothing.
func (d *Service) orphanOf(id string, e *blackboard.Agent) *orphan {
	if e == nil || d.Proc.StopOrphan == nil || e.Host != d.Proc.Host || e.BootID != d.Proc.BootID {
		return nil
	}
	o := &orphan{agent: id, generation: e.Generation}
	switch {
	case e.Child != nil:
		o.child = *e.Child
	case e.PID != 0 && d.ProcessGone(e.PID, e.PIDStart):
		o.child.RunID = RunMark(e.Generation, e.IterationsTotal+1)
	default:
		return nil
	}
	return o
}

// ProcessGone reports whether a process of this machine is known to have ended.
func (d *Service) ProcessGone(pid int, start int64) bool {
	if d.Proc.Running == nil {
		return false
	}
	running, known := d.Proc.Running(pid, start)
	return known && !running
}

// stop ends what is left of an orphan; nil means that nothing of it runs.
func (d *Service) stop(ctx context.Context, o orphan) error {
	d.Failpoint("orphan")
	err := d.Proc.StopOrphan(ctx, o.agent, o.child, d.killGrace(ctx))
	if err == nil {
		return nil
	}
	return &transition.Refusal{Guard: "G28", Exit: transition.ExitFailure, Next: "liza doctor", Message: fmt.Sprintf("cannot take over from %s: %v", o.agent, err)}
}

// forget takes an orphan that was stopped off the board.
func (o orphan) forget(s *blackboard.State) {
	if e := s.Agents[o.agent]; e != nil && e.Generation == o.generation && e.Child != nil && *e.Child == o.child {
		e.Child = nil
	}
}

// errLeftBehind keeps a change from being written before an orphan is stopped.
var errLeftBehind = errors.New("a program is still to be stopped")

// takeover stops orphans between tries of one change: nothing is given away before what its
// former holder left is stopped, and nobody stops a process while the state is locked.
type takeover struct {
	service *Service
	done    []orphan
	left    *orphan
}

// need reports whether the change has to wait until the orphan is stopped.
func (t *takeover) need(o *orphan) error {
	if o == nil || slices.Contains(t.done, *o) {
		return nil
	}
	t.left = o
	return errLeftBehind
}

// try carries out update until it leaves nothing behind. update calls need.
func (t *takeover) try(ctx context.Context, update func() error) error {
	for {
		t.left = nil
		err := update()
		if t.left == nil || !errors.Is(err, errLeftBehind) {
			return err
		}
		if err := t.service.stop(ctx, *t.left); err != nil {
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
		if err := t.need(t.service.orphanOf(id, &was)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Service) killGrace(ctx context.Context) time.Duration {
	s, err := d.View(ctx)
	if err != nil {
		return 10 * time.Second
	}
	return s.Duration("kill_grace")
}
