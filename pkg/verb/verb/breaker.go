package verb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// AnomalyInput is the report of an anomaly (specs/cli.md#3).
type AnomalyInput struct {
	Type    blackboard.AnomalyKind `json:"type" help:"what kind, such as retry_loop or spec_ambiguity; a type of your own begins with x-"`
	Task    string                 `json:"task" word:"ID" help:"task that it is about"`
	Details map[string]string      `json:"details,omitempty" option:"detail" help:"what happened, by name; each type needs its own"`
}

// Recorded is the result of an anomaly. Breaker is set when it tripped the circuit breaker,
// or when that waits for a person already.
type Recorded struct {
	ID      string                 `json:"id"`
	Type    blackboard.AnomalyKind `json:"type"`
	Task    string                 `json:"task"`
	Breaker string                 `json:"breaker,omitempty"`
	Notices []string               `json:"warnings,omitempty"`
}

// Anomaly records something that went differently than it should (specs/protocol.md#13.9). The
// circuit breaker looks at it before Anomaly returns.
func (d *Service) Anomaly(ctx context.Context, in AnomalyInput) (Recorded, error) {
	out := Recorded{Type: in.Type, Task: in.Task}
	details, err := d.details(in)
	if err != nil {
		return out, err
	}
	err = d.Update(ctx, "anomaly", func(s *blackboard.State, a transition.Actor) error {
		x, err := transition.ReportAnomaly(s, in.Task, in.Type, maps.Clone(details), a, d.Now())
		if err == nil {
			out.ID = x.ID
		}
		return err
	})
	if err != nil {
		return out, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return out, nil // it is recorded; what it caused can be seen later
	}
	if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
		out.Breaker = cb.Status
		if cb.CurrentTrigger != nil {
			out.Notices = append(out.Notices, fmt.Sprintf("the circuit breaker is TRIGGERED: %s; a person has to look at %s",
				strings.Join(cb.CurrentTrigger.Patterns, ", "), cb.CurrentTrigger.ReportFile))
		}
	}
	return out, nil
}

// detailKinds are the details that are not plain texts.
var detailKinds = map[string]func(string) (any, bool){
	"count": wholeNumber, "cycles": wholeNumber,
	"debt_created": yesOrNo,
	"failed_by":    names,
}

// details gives the details of a known type their kinds; those of an x- type stay texts.
func (d *Service) details(in AnomalyInput) (blackboard.Settings, error) {
	kind, _ := blackboard.AnomalyTypeOf(in.Type)
	out := blackboard.Settings{}
	for _, key := range slices.Sorted(maps.Keys(in.Details)) {
		value := in.Details[key]
		if err := d.Clean(Text{"--detail " + key, &value}); err != nil {
			return nil, err
		}
		out[key] = value
		if read := detailKinds[key]; read != nil && slices.Contains(kind.Details, key) && strings.TrimSpace(value) != "" {
			x, ok := read(strings.TrimSpace(value))
			if !ok {
				what := map[bool]string{true: "true or false", false: "a whole number of 0 or more"}[key == "debt_created"]
				return nil, WrongUsage("liza help anomaly", "--detail %s=%s must be %s", key, value, what)
			}
			out[key] = x
		}
	}
	return out, nil
}

func wholeNumber(text string) (any, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func yesOrNo(text string) (any, bool) {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	return nil, false
}

func names(text string) (any, bool) {
	var list []string
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list, true
}

// NoteAnomaly records an anomaly that Liza itself saw.
func (d *Service) NoteAnomaly(ctx context.Context, task string, kind blackboard.AnomalyKind, what string) error {
	return d.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, task, blackboard.System, kind, blackboard.Settings{"what": what}, d.Now())
		return nil
	})
}

// Warn writes a warning; that it could not be written stops nothing.
func (d *Service) Warn(ctx context.Context, task string, action blackboard.Action, detail string) {
	err := d.Update(ctx, "warning", func(s *blackboard.State, a transition.Actor) error {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: action, Task: task, Detail: detail, Extra: map[string]any{"level": "warning"}})
		return nil
	})
	if err != nil {
		d.Progressf("cannot record %s: %v", action, err)
	}
}

// Acknowledged is the result of an acknowledgement.
type Acknowledged struct {
	Watermark string `json:"watermark,omitempty"` // the newest anomaly
	Sprint    string `json:"sprint,omitempty"`
}

// Ack acknowledges what tripped the circuit breaker and lets work go on; with keep the
// checkpoint stays (specs/protocol.md#5.4, C04).
func (d *Service) Ack(ctx context.Context, note string, keep bool) (Acknowledged, error) {
	var out Acknowledged
	if err := d.Clean(Text{"--note", &note}); err != nil {
		return out, err
	}
	release := false
	err := d.UpdateAhead(ctx, "ack", func([]store.Gone) error {
		if !release {
			return nil
		}
		return d.Project.Clear(project.Checkpoint)
	}, func(s *blackboard.State, a transition.Actor) error {
		release = !keep && s.Sprint != nil && s.Sprint.Status == blackboard.AtCheckpoint
		if err := transition.AcknowledgeBreaker(s, note, keep, a, d.Now()); err != nil {
			return err
		}
		out.Watermark = s.CircuitBreaker.Watermark
		if s.Sprint != nil {
			out.Sprint = s.Sprint.Status
		}
		return nil
	})
	return out, err
}
