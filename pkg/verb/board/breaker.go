package board

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/notify"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/breaker"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

// A Breaker is the circuit breaker of the sprint.
type Breaker struct{ board *Session }

// Breaker returns the circuit breaker of the sprint.
func (b *Session) Breaker() Breaker { return Breaker{b} }

// watchedStore lets the circuit breaker look after every write that adds an anomaly, as a
// write of its own (specs/protocol.md#11.1). Everything that a Service writes goes through it.
type watchedStore struct {
	store.Store
	service *Session
}

func (w watchedStore) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	added := false
	err := w.service.Breaker().telling(ctx, op, func(s *blackboard.State) error {
		before := len(s.Anomalies)
		err := change(s)
		added = len(s.Anomalies) > before
		return err
	})
	if err != nil || !added {
		return err
	}
	w.service.Failpoint("anomaly")
	if err := w.service.Breaker().look(ctx); err != nil {
		// The change itself holds. Anyone who follows the control files looks again.
		w.service.Progressf("the circuit breaker could not look: %v", err)
	}
	return nil
}

// telling is an update that people are told of as its events ask for (specs/roles-and-knowledge.md#9.1).
func (k Breaker) telling(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	var told []notify.Message
	ahead := op.Ahead
	op.Ahead = func(gone []store.Gone) error {
		raise(ctx, k.board, told)
		if ahead == nil {
			return nil
		}
		return ahead(gone)
	}
	return k.board.Store.Update(ctx, op, func(s *blackboard.State) error {
		seen := priorStateOf(s)
		told = nil
		err := change(s)
		if err == nil {
			told = seen.told(s)
		}
		return err
	})
}

// Watched is the store that verbs write to.
func (k Breaker) Watched() store.Store { return watchedStore{k.board.Store, k.board} }

// look is one check of the circuit breaker (specs/protocol.md#5.4, C01 to C03). When it trips, the
// checkpoint and the report follow the write.
func (k Breaker) look(ctx context.Context) error {
	var (
		v    breaker.Verdict
		rule string
		now  = k.board.Now()
		in   = transition.BreakerLook{Report: k.board.Rel(k.board.Project.BreakerReport())}
		cb   blackboard.CircuitBreaker
	)
	err := k.telling(ctx, store.Op{Name: "breaker", Agent: blackboard.System}, func(s *blackboard.State) error {
		k.board.Prepare(s)
		v = breaker.Analyze(s)
		in.Found = v.Found()
		if s.Sprint != nil {
			in.Summary = k.board.Rel(k.board.CheckpointFile(len(s.Sprint.Checkpoints)+1, now))
		}
		rule = transition.CheckBreaker(s, in, k.board.Facts(), now)
		cb = *s.CircuitBreaker
		return nil
	})
	if err != nil {
		return err
	}
	if cb.Status == blackboard.BreakerTripped && (len(v.Matches) > 0 || rule == "C02") {
		s, err := k.board.View(ctx)
		if err != nil {
			return err
		}
		return k.stopForBreaker(ctx, s)
	}
	return nil
}

// stopForBreaker makes what belongs to a triggered breaker outside the state: report and
// summary, and last the file CHECKPOINT (specs/protocol.md#11.5). Where that is, all is done.
func (k Breaker) stopForBreaker(ctx context.Context, s *blackboard.State) error {
	cb := s.CircuitBreaker
	if cb == nil || cb.Status != blackboard.BreakerTripped || cb.CurrentTrigger == nil {
		return nil // somebody was faster
	}
	problems := []error{k.writeReport(s)}
	if s.Sprint == nil || s.Sprint.Status != blackboard.AtCheckpoint {
		return errors.Join(problems...)
	}
	message := transition.BreakerMessage(cb.CurrentTrigger.Pattern)
	if n := len(s.Sprint.Checkpoints); n > 0 && s.Sprint.Checkpoints[n-1] != nil {
		file := filepath.Join(k.board.Project.Root, s.Sprint.Checkpoints[n-1].File)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, k.board.WriteSummary(ctx, file, s.Sprint.Checkpoints[n-1].Message))
		}
	}
	if _, set := k.board.Project.Controls().Order(project.Checkpoint); !set {
		problems = append(problems, k.board.SetControl(project.Checkpoint, message))
	}
	return errors.Join(problems...)
}

// writeReport writes circuit_breaker_report.md, and a copy that later reports do not replace.
func (k Breaker) writeReport(s *blackboard.State) error {
	text := []byte(k.board.Mask(breaker.Report(s, breaker.Analyze(s), k.board.Now())))
	if err := safefile.MakeFolder(k.board.Project.Checkpoints(), 0o755); err != nil {
		return fmt.Errorf("cannot write the report of the circuit breaker: %v", err)
	}
	at := strings.NewReplacer("-", "", ":", "").Replace(string(s.CircuitBreaker.CurrentTrigger.Timestamp))
	for _, path := range []string{k.board.Project.BreakerReport(), filepath.Join(k.board.Project.Checkpoints(), "breaker-"+filepath.Base(at)+".md")} {
		if err := safefile.Replace(path, text, 0o644); err != nil {
			return fmt.Errorf("cannot write the report of the circuit breaker: %w", err)
		}
	}
	return nil
}

// FollowBreaker makes up for a writer that ended before it could look at its anomaly, or
// before the checkpoint's file was there (specs/protocol.md#5.3, specs/protocol.md#11.1). It reports whether it did.
func (k Breaker) FollowBreaker(ctx context.Context, s *blackboard.State) (bool, error) {
	if transition.BreakerBehind(s, k.board.Now()) {
		return true, k.look(ctx)
	}
	cb := s.CircuitBreaker
	if cb == nil || cb.Status != blackboard.BreakerTripped || cb.CurrentTrigger == nil || s.Sprint.Status != blackboard.AtCheckpoint {
		return false, nil
	}
	if _, set := k.board.Project.Controls().Order(project.Checkpoint); set || k.board.Shared() {
		return false, nil
	}
	return true, k.stopForBreaker(ctx, s)
}

// CheckpointFile is where the summary of the n-th checkpoint goes.
func (b *Session) CheckpointFile(n int, now time.Time) string {
	return filepath.Join(b.Project.Checkpoints(), fmt.Sprintf("%03d-%s.md", n, now.UTC().Format("20060102T150405Z")))
}

// NoteAnomaly records an anomaly that Liza itself saw.
func (b *Session) NoteAnomaly(ctx context.Context, task string, kind blackboard.AnomalyKind, what string) error {
	return b.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, task, blackboard.System, kind, blackboard.Settings{"what": what}, b.Now())
		return nil
	})
}

// Warn writes a warning; that it could not be written stops nothing.
func (b *Session) Warn(ctx context.Context, task string, action blackboard.Action, detail string) {
	err := b.Update(ctx, "warning", func(s *blackboard.State, a transition.Actor) error {
		s.Record(Warning(a, task, action, detail, b.Now()))
		return nil
	})
	if err != nil {
		b.Progressf("cannot record %s: %v", action, err)
	}
}

// Warning is the entry of the journal for a warning.
func Warning(a transition.Actor, task string, action blackboard.Action, detail string, now time.Time) blackboard.Entry {
	return blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: action, Task: task, Detail: detail, Extra: map[string]any{"level": "warning"}}
}
