package verb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/breaker"
	"liza/pkg/notify"
	"liza/pkg/project"
	"liza/pkg/safefile"
	"liza/pkg/store"
	"liza/pkg/transition"
)

// watchedStore lets the circuit breaker look after every write that adds an anomaly, as a
// write of its own (specs/protocol.md#11.1). Everything that a Service writes goes through it.
type watchedStore struct {
	store.Store
	service *Service
}

func (w watchedStore) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	added := false
	err := w.service.telling(ctx, op, func(s *blackboard.State) error {
		before := len(s.Anomalies)
		err := change(s)
		added = len(s.Anomalies) > before
		return err
	})
	if err != nil || !added {
		return err
	}
	w.service.Failpoint("anomaly")
	if _, err := w.service.look(ctx, false); err != nil {
		// The change itself holds. Anyone who follows the control files looks again.
		w.service.Progressf("the circuit breaker could not look: %v", err)
	}
	return nil
}

// telling is an update that people are told of as its events ask for (specs/roles-and-knowledge.md#9.1).
func (d *Service) telling(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	var told []notify.Message
	ahead := op.Ahead
	op.Ahead = func(gone []store.Gone) error {
		d.raise(ctx, told)
		if ahead == nil {
			return nil
		}
		return ahead(gone)
	}
	return d.Store.Update(ctx, op, func(s *blackboard.State) error {
		seen := priorStateOf(s)
		told = nil
		err := change(s)
		if err == nil {
			told = seen.told(s)
		}
		return err
	})
}

// watched is the store that verbs write to.
func (d *Service) watched() store.Store { return watchedStore{d.Store, d} }

// Seen is what the circuit breaker saw.
type Seen struct {
	Status   string        `json:"status"` // OK or TRIGGERED
	Looked   int           `json:"anomalies"`
	Patterns []SeenPattern `json:"patterns"`
	Report   string        `json:"report,omitempty"` // file, when the breaker is TRIGGERED
}

// SeenPattern is one pattern that matches.
type SeenPattern struct {
	Pattern   string   `json:"pattern"`
	Severity  string   `json:"severity"`
	Rule      string   `json:"rule"`
	Anomalies []string `json:"anomalies"`
	Tasks     []string `json:"tasks"`
}

// Analyze lets the circuit breaker look now (specs/protocol.md#11).
func (d *Service) Analyze(ctx context.Context) (Seen, error) {
	id, err := d.Identify()
	if err != nil {
		return Seen{}, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return Seen{}, err
	}
	if err := d.OnlyPerson(s, id.Actor(s), "analyze"); err != nil {
		return Seen{}, err
	}
	return d.look(ctx, true)
}

// look is one check of the circuit breaker (specs/protocol.md#5.4, C01 to C03). When it trips, the
// checkpoint and the report follow the write.
func (d *Service) look(ctx context.Context, asked bool) (Seen, error) {
	var (
		v    breaker.Verdict
		rule string
		now  = d.Now()
		in   = transition.BreakerLook{Asked: asked, Report: d.Rel(d.Project.BreakerReport())}
		cb   blackboard.CircuitBreaker
	)
	err := d.telling(ctx, store.Op{Name: "breaker", Agent: blackboard.System}, func(s *blackboard.State) error {
		d.Prepare(s)
		v = breaker.Analyze(s)
		in.Found = v.Found()
		if s.Sprint != nil {
			in.Summary = d.Rel(d.CheckpointFile(len(s.Sprint.Checkpoints)+1, now))
		}
		rule = transition.CheckBreaker(s, in, d.Facts(), now)
		cb = *s.CircuitBreaker
		return nil
	})
	if err != nil {
		return Seen{}, err
	}
	out := seen(v, cb)
	if cb.Status == blackboard.BreakerTripped && (len(v.Matches) > 0 || rule == "C02") {
		s, err := d.View(ctx)
		if err != nil {
			return out, err
		}
		return out, d.stopForBreaker(ctx, s)
	}
	return out, nil
}

func seen(v breaker.Verdict, cb blackboard.CircuitBreaker) Seen {
	out := Seen{Status: cb.Status, Looked: v.Looked, Patterns: []SeenPattern{}}
	if cb.Status == blackboard.BreakerTripped && cb.CurrentTrigger != nil {
		out.Report = cb.CurrentTrigger.ReportFile
	}
	for _, m := range v.Matches {
		p := SeenPattern{Pattern: m.Pattern.Name, Severity: m.Pattern.Severity, Rule: m.Pattern.Rule, Anomalies: []string{}, Tasks: append([]string{}, m.Tasks()...)}
		for _, g := range m.Groups {
			for _, a := range g.Anomalies {
				p.Anomalies = append(p.Anomalies, a.ID)
			}
		}
		out.Patterns = append(out.Patterns, p)
	}
	return out
}

// stopForBreaker makes what belongs to a triggered breaker outside the state: report and
// summary, and last the file CHECKPOINT (specs/protocol.md#11.5). Where that is, all is done.
func (d *Service) stopForBreaker(ctx context.Context, s *blackboard.State) error {
	cb := s.CircuitBreaker
	if cb == nil || cb.Status != blackboard.BreakerTripped || cb.CurrentTrigger == nil {
		return nil // somebody was faster
	}
	problems := []error{d.writeReport(s)}
	if s.Sprint == nil || s.Sprint.Status != blackboard.AtCheckpoint {
		return errors.Join(problems...)
	}
	message := transition.BreakerMessage(cb.CurrentTrigger.Pattern)
	if n := len(s.Sprint.Checkpoints); n > 0 && s.Sprint.Checkpoints[n-1] != nil {
		file := filepath.Join(d.Project.Root, s.Sprint.Checkpoints[n-1].File)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, d.WriteSummary(ctx, file, s.Sprint.Checkpoints[n-1].Message))
		}
	}
	if _, set := d.Project.Order(project.Checkpoint); !set {
		problems = append(problems, d.SetControl(project.Checkpoint, message))
	}
	return errors.Join(problems...)
}

// writeReport writes circuit_breaker_report.md, and a copy that later reports do not replace.
func (d *Service) writeReport(s *blackboard.State) error {
	text := []byte(d.Mask(breaker.Report(s, breaker.Analyze(s), d.Now())))
	if err := safefile.MakeFolder(d.Project.Checkpoints(), 0o755); err != nil {
		return fmt.Errorf("cannot write the report of the circuit breaker: %v", err)
	}
	at := strings.NewReplacer("-", "", ":", "").Replace(string(s.CircuitBreaker.CurrentTrigger.Timestamp))
	for _, path := range []string{d.Project.BreakerReport(), filepath.Join(d.Project.Checkpoints(), "breaker-"+filepath.Base(at)+".md")} {
		if err := safefile.Replace(path, text, 0o644); err != nil {
			return fmt.Errorf("cannot write the report of the circuit breaker: %w", err)
		}
	}
	return nil
}

// FollowBreaker makes up for a writer that ended before it could look at its anomaly, or
// before the checkpoint's file was there (specs/protocol.md#5.3, specs/protocol.md#11.1). It reports whether it did.
func (d *Service) FollowBreaker(ctx context.Context, s *blackboard.State) (bool, error) {
	if transition.BreakerBehind(s, d.Now()) {
		_, err := d.look(ctx, false)
		return true, err
	}
	cb := s.CircuitBreaker
	if cb == nil || cb.Status != blackboard.BreakerTripped || cb.CurrentTrigger == nil || s.Sprint.Status != blackboard.AtCheckpoint {
		return false, nil
	}
	if _, set := d.Project.Order(project.Checkpoint); set || d.Shared() {
		return false, nil
	}
	return true, d.stopForBreaker(ctx, s)
}

// CheckpointFile is where the summary of the n-th checkpoint goes.
func (d *Service) CheckpointFile(n int, now time.Time) string {
	return filepath.Join(d.Project.Checkpoints(), fmt.Sprintf("%03d-%s.md", n, now.UTC().Format("20060102T150405Z")))
}
