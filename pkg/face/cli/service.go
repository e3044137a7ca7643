package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/run/agent"
	"liza/pkg/team/findings"
	"liza/pkg/verb/verb"
)

// sourceOf reads the project for a view that goes on.
func sourceOf(d *verb.Service) *source.Source {
	return &source.Source{Service: d, Facts: func(s *blackboard.State) dashboard.Input {
		f := viewFacts(d, s)
		f.GaveUp = gaveUp(d)
		return f
	}}
}

// recentEntries is how far back in the journal a status looks for supervisors that gave up.
const recentEntries = 1000

// gaveUp are the supervisors that ended by themselves lately and have not come back.
func gaveUp(d *verb.Service) []findings.GaveUp {
	entries, err := (history.Journal{Path: d.Board.Project.Journal()}).Read(history.Filter{Last: recentEntries})
	if err != nil {
		return nil // liza validate says what is wrong with the journal
	}
	return findings.GaveUps(entries)
}

// hasProgram reports whether an agent program is installed, or the project has one of its own.
func hasProgram(cfg *config.Config) bool {
	return len(cfg.Agents.Custom) > 0 || slices.ContainsFunc(agent.Names(), func(name string) bool {
		a, err := agent.Lookup(name, agent.Options{})
		if err != nil || name == agent.Scripted {
			return false
		}
		_, err = exec.LookPath(a.Info().Binary)
		return err == nil
	})
}

// viewFacts is what a view shows besides the state.
func viewFacts(d *verb.Service, s *blackboard.State) dashboard.Input {
	cfg := d.Board.Config()
	f := dashboard.Input{Now: d.Board.Now(), Process: d.Board.Facts(), ReviewMode: blackboard.ReviewMode(cfg.Review.Mode), HumanReview: cfg.Plan.HumanReview, Checking: d.Merges.MergeChecks(), NoProgram: !hasProgram(cfg)}
	for _, o := range d.Board.Orders(s) {
		f.Control = append(f.Control, dashboard.Control{Name: string(o.Control), Since: o.Since, Reason: o.Reason})
	}
	return f
}

// look reads the state for a command that only shows it. When the file cannot be read the
// last valid one is shown, and stale says what is wrong (specs/protocol.md#14, B01).
func (e *Env) look(ctx context.Context) (s *blackboard.State, stale error, err error) {
	_, s, stale, err = e.lookAt(ctx)
	return s, stale, err
}

func (e *Env) lookAt(ctx context.Context) (d *verb.Service, s *blackboard.State, stale error, err error) {
	d, err = e.System.Reader(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	s, stale, err = lastValid(ctx, d)
	return d, s, stale, err
}

// lastValid is the state, or the last valid one together with what is wrong with the file.
func lastValid(ctx context.Context, d *verb.Service) (s *blackboard.State, stale error, err error) {
	s, err = d.Board.View(ctx)
	_, damaged := errors.AsType[*store.InvalidError](err)
	_, cutOff := errors.AsType[*postgres.UnreachableError](err)
	if !damaged && !cutOff {
		if err == nil {
			stale = store.Forged(ctx, d.Board.Store)
		}
		return s, stale, err
	}
	kept, ok := d.Board.Store.(store.Recoverer)
	if !ok {
		return nil, nil, err
	}
	last, lost := kept.LastValid(ctx)
	if lost != nil {
		return nil, nil, err
	}
	d.Board.Prepare(last)
	if cutOff {
		err = fmt.Errorf("%w; %s", err, copyAge(d.Board.Store))
	}
	return last, err, nil
}

// copyAge says how old the copy of a board in a database is.
func copyAge(s store.Store) string {
	text := "the copy of the board in .liza/state.yaml is shown"
	if c, ok := s.(interface{ Copied() (at, lost time.Time) }); ok {
		at, lost := c.Copied()
		text += ", of " + at.Local().Format("2006-01-02 15:04:05")
		if !lost.IsZero() {
			text += "; there is no connection since " + lost.Local().Format("15:04:05")
		}
	}
	return text
}

// showStale prints what a reading command found. When it comes from the last valid state,
// that is said, and the exit code is that of an invalid one.
func (e *Env) showStale(stale error, result any, body string) error {
	if stale == nil {
		return e.Print(result, "%s", body)
	}
	r := explain(stale)
	if e.JSON {
		return e.failWith(r, result)
	}
	fmt.Fprint(e.System.Stdout, body)
	if r.code != unreachable {
		r.message += "; the last valid state is shown"
	}
	e.tell(r)
	return &errDone{r.code}
}

// failWith prints an error together with what was found all the same.
func (e *Env) failWith(r report, result any) error {
	err := e.printJSON(map[string]any{"ok": false, "result": result,
		"error": map[string]any{"code": exitName(r.code), "message": r.message, "next": r.next}})
	if err != nil {
		return err
	}
	return &errDone{r.code}
}

// listWidth is how many characters of a text are in a list.
const listWidth = 200
