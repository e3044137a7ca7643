package verb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// gap is an anomaly; two of them are a pattern.
func gap(task string) verb.AnomalyInput {
	return verb.AnomalyInput{Type: "spec_ambiguity", Task: task, Details: map[string]string{"question": "which?", "spec_ref": "specs/vision.md#names"}}
}

func report(t *testing.T, d *verb.Service, in verb.AnomalyInput) verb.Recorded {
	t.Helper()
	out, err := d.Anomaly(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantTripped(t *testing.T, p *verbtest.Place, pattern string) {
	t.Helper()
	s := p.State()
	cb := s.CircuitBreaker
	if cb.Status != blackboard.BreakerTripped || cb.CurrentTrigger == nil || cb.CurrentTrigger.Pattern != pattern || s.Sprint.Status != blackboard.AtCheckpoint {
		t.Fatalf("the breaker is %+v and the sprint %s, want TRIGGERED by %s and CHECKPOINT", cb, s.Sprint.Status, pattern)
	}
	wantStopped(t, p, pattern)
}

// wantStopped wants the files of a triggered breaker.
func wantStopped(t *testing.T, p *verbtest.Place, pattern string) {
	t.Helper()
	if o, set := p.Project.Controls().Order(project.Checkpoint); !set || o.Reason != "breaker: "+pattern {
		t.Errorf("the file CHECKPOINT says %+v", o)
	}
	for _, path := range []string{p.Project.BreakerReport(), filepath.Join(p.Dir, p.State().Sprint.Checkpoints[0].File)} {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), pattern) {
			t.Errorf("%s does not tell of %s: %v", path, pattern, err)
		}
	}
}

func TestAPatternStopsTheSprintUntilAPersonHasLooked(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	ctx := context.Background()
	coder, person := p.Supervised("coder-1"), p.Service("")
	if out := report(t, coder, gap("task-1")); out.ID != "anom-1" || out.Breaker != "" {
		t.Errorf("the first is %+v", out)
	}
	out := report(t, coder, gap("task-1"))
	if out.Breaker != blackboard.BreakerTripped || len(out.Notices) != 1 || !strings.Contains(out.Notices[0], "spec_gap_cluster") {
		t.Errorf("the second is %+v, want a notice", out)
	}
	wantTripped(t, p, "spec_gap_cluster")
	before := p.State().Revision
	if err := sprint.FollowControl(ctx, coder); err != nil || p.State().Revision != before {
		t.Errorf("who follows the control files changes something: %v", err)
	}
	if _, err := sprint.Resume(ctx, coder, "", ""); err == nil {
		t.Error("an agent acknowledges")
	}
	done, err := sprint.Resume(ctx, person, "", "names are written down")
	if err != nil || done.Acknowledged != "anom-2" || done.Sprint != blackboard.InProgress {
		t.Errorf("acknowledged %+v, %v", done, err)
	}
	if c := person.Board.Control(); c != "" {
		t.Errorf("still %s", c)
	}
	report(t, coder, gap("task-1"))
	if n := len(p.State().Sprint.Checkpoints); n != 2 {
		t.Errorf("%d checkpoints, want a second one", n)
	}
	p.Sound()
}

// A writer may end at any point after its anomaly is on the board: who comes next makes up
// for the look, the report and the checkpoint.
func TestWhatAKilledWriterLeftOutIsMadeUpFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	stopped := errors.New("killed")
	killed := func(t *testing.T, d *verb.Service, act func()) {
		t.Helper()
		d.Board.At = func(point string) {
			if point == "anomaly" {
				panic(stopped)
			}
		}
		defer func() {
			if r := recover(); r != stopped {
				t.Fatalf("the writer was not killed: %v", r)
			}
		}()
		act()
	}
	t.Run("before the look", func(t *testing.T) {
		t.Parallel()
		p := verbtest.New(t)
		p.AddTask("task-1")
		for range 2 {
			d := p.Service("")
			killed(t, d, func() { _, _ = d.Anomaly(ctx, gap("task-1")) })
		}
		if cb := p.State().CircuitBreaker; cb.Status != blackboard.BreakerOK || !cb.LastCheck.None() {
			t.Fatalf("somebody looked: %+v", cb)
		}
		if err := sprint.FollowControl(ctx, p.Service("")); err != nil {
			t.Fatal(err)
		}
		wantTripped(t, p, "spec_gap_cluster")
	})
	t.Run("before the files", func(t *testing.T) {
		t.Parallel()
		p := verbtest.New(t)
		p.AddTask("task-1")
		d := p.Service("")
		report(t, d, gap("task-1"))
		report(t, d, gap("task-1"))
		for _, path := range []string{p.Project.BreakerReport(), filepath.Join(p.Dir, p.State().Sprint.Checkpoints[0].File)} {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Project.Controls().Clear(project.Checkpoint); err != nil {
			t.Fatal(err)
		}
		before := p.State().Revision
		if err := sprint.FollowControl(ctx, d); err != nil {
			t.Fatal(err)
		}
		wantTripped(t, p, "spec_gap_cluster")
		if now := p.State().Revision; now != before {
			t.Errorf("revision %d, want %d: only files were missing", now, before)
		}
	})
}

// Whatever package records an anomaly, the breaker looks.
func TestTheBreakerLooksAfterEveryWayToRecordAnAnomaly(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	looked := func(what string) {
		t.Helper()
		s := p.State()
		if s.CircuitBreaker.LastCheck.None() || transition.BreakerBehind(s, p.Service("").Board.Now()) {
			t.Errorf("after %s nobody looked: %+v", what, s.CircuitBreaker)
		}
		// The next one begins as if nobody had ever looked.
		err := p.Store.Update(ctx, store.Op{Name: "forget"}, func(s *blackboard.State) error {
			s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerOK}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p.Approved("task-1")
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "late.md"), "one more word\n")
	if _, err := p.Service("").Merges.Merge(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	if list := p.State().Anomalies; len(list) != 1 || list[0].Type != "late_work" {
		t.Fatalf("anomalies %+v, want late_work", list)
	}
	looked("a merge")

	p.AddTask("task-2")
	for n := range 2 {
		coder := p.Service(fmt.Sprintf("coder-%d", n+1))
		if _, err := coder.Claim(ctx, "task-2"); err != nil {
			t.Fatal(err)
		}
		if _, err := coder.Block(ctx, verb.BlockInput{Task: "task-2", Reason: "nothing works", Questions: []string{"What else?"}, Attempted: []string{"this"}}); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := p.Service("").Unblock(ctx, verb.WayOut{Task: "task-2", Reason: "again"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list := p.State().Anomalies; list[len(list)-1].Type != "hypothesis_exhaustion" {
		t.Fatalf("anomalies end with %+v, want hypothesis_exhaustion", list[len(list)-1])
	}
	looked("an event of the table")
}

// P-148: exit command and verb contradict each other: neither counts, anomaly exit_mismatch, and the agent is asked.
func TestP148TheVerbAgainstTheExitCommandIsAskedAbout(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.AddTask("task-1")
	coder := p.Supervised("coder-1")
	if _, err := coder.Claim(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	mark := outcome.MarkOf(coder, p.State(), "coder-1", "task-1")
	p.Commit("task-1")
	out, err := outcome.Apply(ctx, coder, outcome.Run{Kind: "coder", Task: "task-1", Before: mark, Said: []*blackboard.Said{{Verb: "submit", Word: "COMPLETED", Input: `{"task":"task-1"}`}},
		Answer: exitcmd.Read(`{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"I give up.","blocked_questions":["Why?"]}`, "coder")})
	s := p.State()
	if err != nil || out.Effect != outcome.Reask || s.Task("task-1").Status != blackboard.Claimed {
		t.Errorf("the outcome is %+v, %v; task-1 is %s", out, err, s.Task("task-1").Status)
	}
	if len(s.Anomalies) != 1 || s.Anomalies[0].Type != "exit_mismatch" || s.Anomalies[0].Reporter != blackboard.System || s.Anomalies[0].Task != "task-1" {
		t.Errorf("anomalies %+v, want one exit_mismatch by system", s.Anomalies)
	}
}
