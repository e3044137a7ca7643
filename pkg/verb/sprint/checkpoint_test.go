package sprint_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

// Anyone who follows the control files looks at any moment, also while a verb changes file and
// status: it never takes the middle of that for a person's touch or rm.
func TestWhoFollowsTheControlFilesNeverSeesHalfAVerb(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	stop := make(chan struct{})
	var followers sync.WaitGroup
	for range 2 {
		d := p.Service("")
		followers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := sprint.FollowControl(ctx, d); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	const rounds = 10
	d := p.Service("")
	for range rounds {
		if _, err := sprint.Checkpoint(ctx, d, "look"); err != nil {
			t.Fatal(err)
		}
		if _, err := sprint.Resume(ctx, d, "ADJUST_SPECS", "looked"); err != nil {
			t.Fatal(err)
		}
		if _, err := sprint.Abort(ctx, d, "stop", false); err != nil {
			t.Fatal(err)
		}
		if _, err := sprint.Resume(ctx, d, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	followers.Wait()
	s := p.State()
	if n := len(s.Sprint.Checkpoints); n != rounds {
		t.Errorf("%d checkpoints, want %d", n, rounds)
	}
	for _, c := range s.Sprint.Checkpoints {
		if c.By != "ada" || c.Decision != "ADJUST_SPECS" || c.DecidedBy != "ada" {
			t.Errorf("checkpoint %d is by %s, decided %s by %s", c.N, c.By, c.Decision, c.DecidedBy)
		}
	}
	p.Sound()
}

// P-137
func TestATouchedCheckpointFileStopsTheSprintOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	path := filepath.Join(p.Project.Liza, "CHECKPOINT")
	verbtest.Write(t, path, "")
	for range 3 {
		if err := sprint.FollowControl(ctx, p.Service("")); err != nil {
			t.Fatal(err)
		}
	}
	s := p.State()
	if s.Sprint.Status != blackboard.AtCheckpoint || len(s.Sprint.Checkpoints) != 1 || s.Sprint.Checkpoints[0].By != blackboard.Human {
		t.Fatalf("the sprint is %+v", s.Sprint)
	}
	if text := verbtest.Read(t, p.Project.SprintSummary()); !strings.HasPrefix(text, "# Checkpoint of sprint-1") {
		t.Errorf("the summary is\n%s", text)
	}
	if files, _ := filepath.Glob(filepath.Join(p.Project.Checkpoints(), "*.md")); len(files) != 1 {
		t.Errorf("summaries %v", files)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := sprint.FollowControl(ctx, p.Service("")); err != nil || p.State().Sprint.Status != blackboard.InProgress {
		t.Errorf("after rm the sprint is %s: %v", p.State().Sprint.Status, err)
	}
}

func TestTheSystemStopsTheSprintInItsOwnName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	out, err := sprint.SystemCheckpoint(ctx, p.Supervised("coder-1"), "", "limit sprint_cost_cents")
	if err != nil {
		t.Fatal(err)
	}
	if c := p.State().Sprint.Checkpoints[0]; c.By != blackboard.System || c.File != out.File || c.Message != "limit sprint_cost_cents" {
		t.Errorf("the checkpoint is %+v, the verb says %+v", c, out)
	}
	if o, set := p.Project.Controls().Order(project.Checkpoint); !set || o.Reason != "limit sprint_cost_cents" {
		t.Errorf("the file says %+v", o)
	}
	if text := verbtest.Read(t, filepath.Join(p.Dir, out.File)); !strings.Contains(text, "Cause: Liza itself") {
		t.Errorf("the summary is\n%s", text)
	}
	if _, err := sprint.SystemCheckpoint(ctx, p.Supervised("coder-2"), "", "again"); err == nil {
		t.Error("a second checkpoint at the same time")
	}
}

func TestASummaryThatAKilledProcessDidNotWriteIsMadeUpFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	d := p.Service("")
	out, err := sprint.Checkpoint(ctx, d, "half time")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.Dir, out.File)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := sprint.FollowControl(ctx, d); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("written although its writer may still be at it")
	}
	d.Board.Now = func() time.Time { return time.Now().Add(time.Minute) }
	if err := sprint.FollowControl(ctx, d); err != nil {
		t.Fatal(err)
	}
	if text := verbtest.Read(t, file); !strings.Contains(text, "Message: half time") {
		t.Errorf("the summary is\n%s", text)
	}
}

func TestTheEndOfASprintHasASummary(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.Abandoned("task-1")
	d := p.Service("")
	if c, err := sprint.Complete(ctx, d, transition.CompletionFacts{}); err != nil || c != transition.CompletionNothingMerged {
		t.Fatalf("%q, %v", c, err)
	}
	if text := verbtest.Read(t, p.Project.SprintSummary()); !strings.HasPrefix(text, "# End of sprint-1") || !strings.Contains(text, "none was merged") || strings.Contains(text, "## Decide") {
		t.Errorf("the summary is\n%s", text)
	}
	before := verbtest.Read(t, p.Project.State())
	if c, err := sprint.Complete(ctx, d, transition.CompletionFacts{}); err != nil || c != transition.CompletionOpen || verbtest.Read(t, p.Project.State()) != before {
		t.Errorf("again: %q, %v", c, err)
	}
}
