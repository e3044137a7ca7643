package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func TestTheNextSprintNeedsThatTheLastOneHasEnded(t *testing.T) {
	t.Parallel()
	next := func(b *board, planned ...string) func() error {
		return func() error { _, err := NextSprint(b.State, planned, person, b.now); return err }
	}
	b := team(t)
	b.add("a")
	b.refused("G06", ExitRefused, "sprint-1 is IN_PROGRESS", next(b))
	b.must(CheckpointSprint(b.State, "", "look", "", person, b.now))
	r := b.refused("G06", ExitRefused, "sprint-1 is CHECKPOINT", next(b))
	want(t, "next", r.Next, "liza resume")
	b.must(ResumeSprint(b.State, "", "", person, b.now))
	b.claim("a", "coder-1")
	b.must(AbortSprint(b.State, "enough", person, b.now))
	b.refused("G27", ExitRefused, "task a is held by coder-1", next(b))
	b.after(2 * time.Hour) // its lease is over
	b.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped}
	b.refused("G07", ExitRefused, "the circuit breaker is TRIGGERED", next(b))
	b.CircuitBreaker = nil
	b.refused("G05", ExitRefused, "no task 'z'", next(b, "z"))
	b.must(next(b)())
	want(t, "the sprint", b.Sprint.ID, "sprint-2")
	want(t, "claimed tasks that go on", metrics(b.State).TasksInProgress, 1)
	b.must(AbortGoal(b.State, "no money", person, b.now))
	b.refused("G06", ExitRefused, "the goal is ABORTED", next(b))
	b.Sprint = nil
	b.refused("G06", ExitInvalid, "no sprint", next(b))
}

func TestOpenTasksGoOnAndTheirDependenciesStay(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.done("base", 2)
	b.done("old", 3)
	b.add("one", "base")
	b.add("two")
	b.add("nice")
	b.Sprint.Scope.Planned = blackboard.List{"base", "old", "one", "two"}
	b.Sprint.Scope.Stretch = blackboard.List{"nice"}
	b.Planner = &blackboard.Planner{Triggers: map[string]*blackboard.TriggerRecord{"INITIAL_PLANNING": {Launches: 3, Suppressed: true}}}
	b.after(time.Minute)
	b.must(AbortSprint(b.State, "enough", person, b.now))
	archived, err := NextSprint(b.State, nil, person, b.now)
	b.must(err)
	wantList(t, "archived", archived, []string{"old"})
	wantList(t, "planned", b.Sprint.Scope.Planned, []string{"one", "two"})
	wantList(t, "stretch", b.Sprint.Scope.Stretch, []string{"nice"})
	if b.Task("base") == nil || b.Task("old") != nil || len(b.Planner.Triggers) != 0 {
		t.Errorf("tasks %v, triggers %v", b.TaskList(), b.Planner.Triggers)
	}
	in := b.InSprint()
	if in(b.Task("base")) || !in(b.Task("one")) {
		t.Error("what was merged in the sprint before belongs to this one, or what is open does not")
	}
	// A replacement of a task of the sprint belongs to it, also when that is in the archive.
	b.add("better")
	b.must(Supersede(b.State, "two", person, Input{Reason: "too large", By: blackboard.List{"better"}}, b.now))
	_, err = Abandon(b.State, "better", person, Input{Reason: "not wanted"}, b.now)
	b.must(err)
	wantList(t, "archived", Archive(b.State, time.Time{}, person, b.now), []string{"two", "better"})
	b.UseArchive(tasksOfSprint{"two": {Status: blackboard.Superseded}, "better": {Status: blackboard.Abandoned, Supersedes: blackboard.List{"two"}}, "old": {Status: blackboard.Merged}})
	want(t, "archived tasks of the sprint", len(b.ArchivedNow()), 2)
	want(t, "done", metrics(b.State).TasksDone, 2)

	b.must(AbortSprint(b.State, "enough", person, b.now))
	_, err = NextSprint(b.State, []string{"nice"}, person, b.now)
	b.must(err)
	wantList(t, "planned", b.Sprint.Scope.Planned, []string{"nice"})
	wantList(t, "stretch", b.Sprint.Scope.Stretch, []string{"one"})
	b.must(AbortSprint(b.State, "enough", person, b.now))
	b.refused("G06", ExitRefused, "task base is MERGED and cannot be planned", func() error {
		_, err := NextSprint(b.State, []string{"base"}, person, b.now)
		return err
	})
}

// tasksOfSprint is an archive for tests.
type tasksOfSprint map[string]blackboard.Archived

func (x tasksOfSprint) Archived() map[string]blackboard.Archived { return x }

func TestTimesAreThoseOfTheHistory(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.after(10 * time.Minute)
	b.claim("x", "coder-1")
	b.after(20 * time.Minute)
	b.submit("x", 2)
	b.after(5 * time.Minute)
	b.claimReview("x", "code-reviewer-1")
	b.after(3 * time.Minute)
	b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{Reason: "not now"}, b.now))
	b.after(2 * time.Minute)
	b.claimReview("x", "code-reviewer-1")
	b.after(4 * time.Minute)
	b.approve("x")
	b.after(time.Minute)
	b.merge("x")
	b.after(time.Hour)
	x := b.Task("x").Times(b.now)
	want(t, "work", x.Work, 20*60)
	want(t, "review", x.Review, 7*60)
	want(t, "lead", *x.Lead, 45*60)
	want(t, "wait", *x.Wait, (45-27)*60)
	want(t, "in words", b.Task("x").Spent(b.now), "UNCLAIMED 10m, CLAIMED 20m, READY_FOR_REVIEW 14m, APPROVED 1m")
	want(t, "the end", b.now.Sub(b.Task("x").Ended()), time.Hour)

	b.add("open")
	b.after(26 * time.Hour)
	if got := b.Task("open").Spent(b.now); got != "UNCLAIMED 1d 2h" {
		t.Errorf("an open task spent %s", got)
	}
	if y := b.Task("open").Times(b.now); y.Lead != nil || y.Wait != nil {
		t.Errorf("an open task has %+v", y)
	}
	d := b.Derive(b.SprintTasks(nil), []blackboard.Entry{{Action: "run_failed"}}, b.now)
	if *d.LeadTimeMedian != 45*60 || *d.LeadTimeP90 != 45*60 || d.RunFailedCount != 1 || d.WorkTime != 20*60 {
		t.Errorf("the figures are %+v", d)
	}
}
