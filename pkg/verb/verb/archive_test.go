package verb_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

func TestAKillWhileArchivingLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.Abandoned("task-1", "task-2")
	file := p.Project.Archive("sprint-1")
	killed := errors.New("killed")
	func() {
		d := p.Service("")
		d.Board.At = func(point string) {
			if point == "archived" {
				panic(killed)
			}
		}
		defer func() {
			if r := recover(); r != killed {
				t.Fatalf("not killed: %v", r)
			}
		}()
		_, err := sprint.Archive(ctx, d, 0)
		t.Log(err)
	}()
	if s := p.State(); s.Task("task-1") == nil || !strings.Contains(verbtest.Read(t, file), "id: task-1") {
		t.Fatal("the tasks are not in both")
	}
	p.Sound()

	// The board is believed, and the figures count nothing twice.
	d := p.Service("")
	p.Abandoned("task-3")
	if m := p.State().Sprint.Metrics; m.TasksDone != 3 || *m.TaskOutcomeApprovalRatePercent != 0 {
		t.Errorf("the figures are %+v", m)
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if tasks, err := d.Board.Histories().SprintTasks(s); err != nil || len(tasks) != 3 {
		t.Errorf("the sprint has %d tasks, %v", len(tasks), err)
	}
	done, err := sprint.Archive(ctx, d, 0)
	if err != nil || strings.Join(done.Tasks, " ") != "task-1 task-2 task-3" || done.File != ".liza/archive/sprint-1.yaml" {
		t.Fatalf("%+v, %v", done, err)
	}
	text := verbtest.Read(t, file)
	for _, id := range done.Tasks {
		if n := strings.Count(text, "- id: "+id+"\n"); n != 1 {
			t.Errorf("%s is %d times in the archive", id, n)
		}
	}
	if n := p.State().TaskCount(); n != 0 {
		t.Errorf("%d tasks are left on the board", n)
	}
	p.Sound()
}

func TestAnArchiveThatCannotBeWrittenKeepsTheTasksOnTheBoard(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Abandoned("task-1")
	if err := os.WriteFile(p.Project.ArchiveDir(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := verbtest.Read(t, p.Project.State())
	if _, err := sprint.Archive(context.Background(), p.Service(""), 0); err == nil {
		t.Error("it was written into a file that is no folder")
	}
	if verbtest.Read(t, p.Project.State()) != before {
		t.Error("the board was changed")
	}
}

func TestWhatAnAgentIsBusyWithIsNotArchived(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.Approved("task-1")
	if _, err := p.Service("").Merges.Merge(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	err := p.Service("").Board.Update(ctx, "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Agents["coder-9"].CurrentTask = "task-1" // its run has not been booked yet
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var r *transition.Refusal
	if _, err := sprint.Archive(ctx, p.Service(""), 0); !errors.As(err, &r) || r.Exit != transition.ExitNothing {
		t.Errorf("got %v, want nothing to do", err)
	}
	if _, err := sprint.Archive(ctx, p.Service(""), 7*24*time.Hour); err == nil || !strings.Contains(err.Error(), "more than 7d ago") {
		t.Errorf("got %v", err)
	}
}

func TestTheNextSprintKeepsWhatTheOneBeforeWas(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.Abandoned("task-1")
	d := p.Service("")
	err := d.Board.Update(ctx, "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Usage = &blackboard.Usage{CostCents: 12, AgentRuns: 2, Day: &blackboard.UsageDay{Date: "2026-01-19", CostCents: 5}}
		s.Facts = []*blackboard.Fact{{ID: "fact-1", Content: "the tests need no network", Status: "active", Source: "human"}}
		s.Sprint.Retrospective = map[string]any{"good": "quick", "bad": []any{"loud"}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sprint.Checkpoint(ctx, d, "half time"); err != nil {
		t.Fatal(err)
	}
	if _, err := sprint.Resume(ctx, d, "CONTINUE", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := sprint.Abort(ctx, d, "enough", false); err != nil {
		t.Fatal(err)
	}
	out, err := sprint.Next(ctx, d, nil)
	if err != nil || out.Sprint != "sprint-2" || out.Before != "sprint-1" || len(out.Archived) != 1 || out.Planned == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	s := p.State()
	if s.Usage.CostCents != 0 || s.Usage.AgentRuns != 0 || s.Usage.Day == nil || s.Usage.Day.CostCents != 5 || len(s.Facts) != 1 {
		t.Errorf("usage %+v, facts %v", s.Usage, s.Facts)
	}
	if sp := s.Sprint; sp.Status != blackboard.InProgress || sp.Retrospective != nil || len(sp.Checkpoints) != 0 || !sp.Timeline.Ended.None() || sp.GoalRef != s.Goal.ID {
		t.Errorf("the sprint is %+v", sp)
	}
	if c := d.Board.Control(); c != "" {
		t.Errorf("still %s", c)
	}
	if err := sprint.FollowControl(ctx, d); err != nil || p.State().Sprint.Status != blackboard.InProgress {
		t.Errorf("the abort of the sprint before reaches the next one: %v", err)
	}
	text := verbtest.Read(t, p.Project.Archive("sprint-1"))
	for _, want := range []string{"good: quick", "half time", "cost_cents: 12", "tasks_done: 1", "status: ABORTED", "id: task-1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the archive lacks %q:\n%s", want, text)
		}
	}
	p.Sound()

	// A sprint without a task that ended is kept as well.
	if _, err := sprint.Abort(ctx, d, "enough", false); err != nil {
		t.Fatal(err)
	}
	if out, err = sprint.Next(ctx, d, nil); err != nil || out.Sprint != "sprint-3" || len(out.Archived) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if text := verbtest.Read(t, p.Project.Archive("sprint-2")); !strings.HasSuffix(text, "tasks: []\n") {
		t.Errorf("the archive is\n%s", text)
	}
	p.Sound()
}
