package transition

import (
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about tasks and dependencies.

func TestP025ATaskWaitsForItsDependencies(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("a")
	b.add("b", "a")
	b.refused("G20", ExitRefused, "b waits for a (UNCLAIMED)", func() error { return Claim(b.State, "b", supervisorOf("coder-1"), claimed("b"), b.now) })
	b.refused("G20", ExitRefused, "b waits for a (UNCLAIMED)", func() error { return Reserve(b.State, "b", supervisorOf("coder-1"), claimed("b"), b.now) })

	t.Run("P-026 once the dependency is MERGED it can be claimed", func(t *testing.T) {
		b.claim("a", "coder-1")
		b.submit("a", 2)
		b.claimReview("a", "code-reviewer-1")
		b.approve("a")
		b.merge("a")
		b.claim("b", "coder-1")
		b.status("b", blackboard.Claimed)
	})
	t.Run("P-027 and is valid", func(*testing.T) { b.valid() })
	t.Run("an archived dependency counts as what it was", func(t *testing.T) {
		c := codeTask("c", "old")
		b.UseArchive(taskArchive{"old": blackboard.Merged})
		b.must(Create(b.State, c, false, person, Input{}, b.now))
		b.must(Claim(b.State, "c", supervisorOf("coder-2"), claimed("c"), b.now))
	})
}

func TestATaskAfterThePlanWaitsForTheRestOfIt(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.Plans = []*blackboard.Plan{{ID: "plan-1", Goal: "Greeting CLI", Status: "running", Tasks: blackboard.List{"a", "last"}}}
	b.add("a").Plan = "plan-1"
	last := b.create(plainTask("last", "msg"))
	last.Plan, last.AfterPlan = "plan-1", true
	facts := Input{Claim: &ClaimFacts{Base: integrationHead}}
	b.refused("G20", ExitRefused, "last waits for a (UNCLAIMED)", func() error { return Claim(b.State, "last", supervisorOf("coder-1"), facts, b.now) })
	_, err := Abandon(b.State, "a", person, Input{Reason: "not wanted"}, b.now)
	b.must(err)
	want(t, "the plan", Plan(b.State, "plan-1").Status, "running")
	b.must(Claim(b.State, "last", supervisorOf("coder-1"), facts, b.now))
	b.must(Submit(b.State, "last", supervisorOf("coder-1"), Input{}, b.now))
	b.status("last", blackboard.Merged)
	want(t, "the plan", Plan(b.State, "plan-1").Status, "done")
}

func TestP028ASupersededDependencyIsReplacedInPlace(t *testing.T) {
	t.Parallel()
	b := team(t)
	for _, id := range []string{"z", "b", "y", "c", "d"} {
		b.add(id)
	}
	a := b.add("a", "z", "b", "y")
	b.TakeEntries(0)
	b.must(Supersede(b.State, "b", person, Input{Reason: "too large", By: blackboard.List{"c", "d"}}, b.now))
	wantList(t, "depends_on of a", a.DependsOn, []string{"z", "c", "d", "y"})
	wantList(t, "journal of a", actions(b.State, "a"), []string{"retargeted"})
	wantList(t, "history of a", events(a), []string{"created", "finalized"})
	wantList(t, "supersedes of c", b.Task("c").Supersedes, []string{"b"})
	wantList(t, "superseded_by", b.Task("b").SupersededBy, []string{"c", "d"})
	last := b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1]
	want(t, "the event of the alignment history", last.Event, "rescope_b")
	b.valid()

	t.Run("without duplicates", func(t *testing.T) {
		b.must(Supersede(b.State, "d", person, Input{Reason: "covered by c", By: blackboard.List{"c"}}, b.now))
		wantList(t, "depends_on of a", a.DependsOn, []string{"z", "c", "y"})
	})
}

func TestP029AnAbandonedDependencyBlocksWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("b")
	a := b.add("a", "b")
	b.must(Create(b.State, codeTask("draft", "b"), true, person, Input{}, b.now))
	drafts, err := Abandon(b.State, "b", supervisorOf("planner-1"), Input{Reason: "not wanted"}, b.now)
	b.must(err)
	wantList(t, "the drafts that are named", drafts, []string{"draft"})
	b.status("a", blackboard.Blocked)
	want(t, "blocked_kind", a.BlockedKind, "dependency")
	wantList(t, "questions", a.BlockedQuestions, []string{"Is a still wanted without b?"})
	want(t, "the open question", b.Questions[0].Status, "open")
	b.valid()

	b.refused("G79", ExitRefused, "depends on b, which is ABANDONED", func() error {
		return Unblock(b.State, "a", person, Input{Reason: "still wanted"}, b.now)
	})
	b.must(Unblock(b.State, "a", person, Input{Reason: "still wanted", DependsOn: blackboard.List{}}, b.now))
	b.status("a", blackboard.Unclaimed)
	want(t, "the number of dependencies", len(a.DependsOn), 0)
	want(t, "the question", b.Questions[0].Status, "expired")
}

func TestP030ASupersedeThatWouldMakeACycleIsRefused(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("b")
	b.add("a", "b")
	b.add("c", "a")
	b.refused("G74", ExitInvalid, "would make a cycle: a → c → a", func() error {
		return Supersede(b.State, "b", person, Input{Reason: "split", By: blackboard.List{"c"}}, b.now)
	})
	b.add("d", "b")
	b.refused("G74", ExitInvalid, "would make a cycle: ", func() error {
		return Supersede(b.State, "b", person, Input{Reason: "split", By: blackboard.List{"d"}}, b.now)
	})
}

func TestP031TheHighestPriorityThenTheOldestIsClaimed(t *testing.T) {
	t.Parallel()
	b := team(t)
	for _, x := range []struct {
		id       string
		priority int
	}{{"second-class", 2}, {"first", 1}, {"next", 1}} {
		task := codeTask(x.id)
		task.Priority = &x.priority
		b.create(task)
	}
	task, why := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	if task == nil {
		t.Fatal(why)
	}
	want(t, "the task", task.ID, "first")
	b.claim("first", "coder-1")
	task, _ = NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	want(t, "the task after it", task.ID, "next")
}

func TestP032WaitingRaisesThePriority(t *testing.T) {
	t.Parallel()
	b := team(t)
	low, high := 3, 2
	old := codeTask("old")
	old.Priority = &low
	b.create(old)
	step := b.Duration("aging_step")
	b.after(step - time.Second)
	fresh := codeTask("fresh")
	fresh.Priority = &high
	b.create(fresh)
	for _, x := range []struct {
		after time.Duration
		want  string
	}{
		{0, "fresh"},         // 3 against 2
		{time.Second, "old"}, // both 2: the older one
		{step, "old"},        // 1 against 2
	} {
		b.after(x.after)
		task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
		want(t, "the task after "+x.after.String(), task.ID, x.want)
	}
	t.Run("but not above 1, and 0 stays 0", func(t *testing.T) {
		b.after(100 * step)
		none := 0
		urgent := codeTask("urgent")
		urgent.Priority = &none
		b.create(urgent)
		want(t, "the effective priority of old", effectivePriority(b.State, old, indexed(b.State, Input{}), b.now), 1)
		task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
		want(t, "the task", task.ID, "urgent")
	})
}

func TestP033ADraftCannotBeClaimedAndFinalizeListsEveryGap(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(Create(b.State, &blackboard.Task{ID: "d-1", Description: "Add a flag"}, true, person, Input{}, b.now))
	b.must(Create(b.State, &blackboard.Task{ID: "d-2", Description: "Add another", SpecRef: "specs/vision.md", Scope: "IN: all", DoneWhen: "add another!"}, true, person, Input{}, b.now))
	b.refused("G06", ExitRefused, "d-1 is DRAFT; claim needs UNCLAIMED", func() error {
		return Claim(b.State, "d-1", supervisorOf("coder-1"), claimed("d-1"), b.now)
	})
	r := b.refused("G12", ExitRefused, "d-1: missing: spec_ref", func() error { return Finalize(b.State, []string{"d-1", "d-2"}, person, Input{}, b.now) })
	for _, gap := range []string{"missing: done_when", "missing: scope", "d-2: done_when repeats"} {
		if !strings.Contains(r.Message, gap) {
			t.Errorf("the refusal %q does not name %q", r.Message, gap)
		}
	}
}

func TestP034FinalizeIsAllOrNone(t *testing.T) {
	t.Parallel()
	b := team(t)
	for _, id := range []string{"a", "b", "c"} {
		b.must(Create(b.State, codeTask(id), true, person, Input{}, b.now))
	}
	b.Task("b").Scope = ""
	b.refused("G12", ExitRefused, "b: missing: scope", func() error { return Finalize(b.State, []string{"a", "b", "c"}, person, Input{}, b.now) })
	b.refused("G05", ExitRefused, "no task 'cc'; did you mean 'c'?", func() error { return Finalize(b.State, []string{"a", "cc"}, person, Input{}, b.now) })
	b.refused("G09", ExitUsage, "finalize needs the id of a draft", func() error { return Finalize(b.State, nil, person, Input{}, b.now) })
	b.Task("b").Scope = "IN: the greeting"
	b.TakeEntries(0)
	b.must(Finalize(b.State, []string{"a", "b", "c", "a"}, supervisorOf("planner-1"), Input{}, b.now))
	for _, id := range []string{"a", "b", "c"} {
		wantList(t, "history of "+id, events(b.status(id, blackboard.Unclaimed)), []string{"created", "finalized"})
	}
	wantList(t, "journal", actions(b.State, ""), []string{"tasks_finalized", "tasks_finalized", "tasks_finalized"})
	if n := len(b.Goal.AlignmentHistory); n != 1 || b.Goal.AlignmentHistory[0].Event != "planning" {
		t.Errorf("%d entries in the alignment history, want one of planning", n)
	}
	t.Run("with plan.human_review by a person only", func(t *testing.T) {
		review := Input{HumanReview: true}
		b.must(Create(b.State, codeTask("planned"), false, supervisorOf("planner-1"), review, b.now))
		b.status("planned", blackboard.Draft)
		b.refused("G03", ExitRefused, "a planner may not finalize", func() error {
			return Finalize(b.State, []string{"planned"}, supervisorOf("planner-1"), review, b.now)
		})
		b.must(Finalize(b.State, []string{"planned"}, person, review, b.now))
	})
}

func TestCreateRefusesWhatCannotBeATask(t *testing.T) {
	t.Parallel()
	negative := -1
	for _, x := range []struct {
		name, guard, text string
		exit              Exit
		change            func(*blackboard.Task)
		in                Input
	}{
		{"P-020 without done_when", "G12", "missing: done_when", ExitUsage, func(x *blackboard.Task) { x.DoneWhen = "" }, Input{}},
		{"P-021 an id that exists", "G11", "task there exists (UNCLAIMED)", ExitRefused, func(x *blackboard.Task) { x.ID = "there" }, Input{}},
		{"P-021 but for case", "G11", "task there exists (UNCLAIMED)", ExitRefused, func(x *blackboard.Task) { x.ID = "There" }, Input{}},
		{"P-021 an id of the archive", "G11", "exists in the archive (MERGED)", ExitRefused, func(x *blackboard.Task) { x.ID = "Archived" }, Input{}},
		{"P-022 a path", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "../x" }, Input{}},
		{"P-022 a blank", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "a b" }, Input{}},
		{"P-022 a shell character", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "a;rm" }, Input{}},
		{"P-022 a lock", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "x.lock" }, Input{}},
		{"P-022 two dots", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "a..b" }, Input{}},
		{"P-022 nothing", "G10", "is not allowed", ExitUsage, func(x *blackboard.Task) { x.ID = "" }, Input{}},
		{"P-023 an unknown dependency", "G14", "depends_on of new: no task 'nowhere'", ExitInvalid, func(x *blackboard.Task) { x.DependsOn = blackboard.List{"nowhere"} }, Input{}},
		{"P-024 itself as dependency", "G14", "dependency cycle: new → new", ExitInvalid, func(x *blackboard.Task) { x.DependsOn = blackboard.List{"new"} }, Input{}},
		{"P-035 a missing spec file", "G13", "the spec file specs/vision.md of new does not exist", ExitInvalid, func(*blackboard.Task) {}, Input{SpecExists: func(string) bool { return false }}},
		{"an abandoned dependency", "G15", "task dropped is ABANDONED", ExitInvalid, func(x *blackboard.Task) { x.DependsOn = blackboard.List{"dropped"} }, Input{}},
		{"a superseded dependency", "G15", "task split is SUPERSEDED by there; depend on those", ExitInvalid, func(x *blackboard.Task) { x.DependsOn = blackboard.List{"split"} }, Input{}},
		{"a negative priority", "G16", "priority must be an integer of 0 or more", ExitUsage, func(x *blackboard.Task) { x.Priority = &negative }, Input{}},
		{"an unknown kind", "G16", "kind 'magic' is unknown", ExitUsage, func(x *blackboard.Task) { x.Kind, x.Writes = "magic", true }, Input{}},
		{"a role that cannot be used", "G16", "role 'x' is unusable", ExitUsage, func(*blackboard.Task) {}, Input{RoleProblem: "role 'x' is unusable"}},
		{"tests of their own", "G12", "needs legacy_tests", ExitUsage, func(x *blackboard.Task) { x.Type = "test" }, Input{}},
		{"a scope that is the description", "G12", "scope repeats the description", ExitUsage, func(x *blackboard.Task) { x.Scope = x.Description }, Input{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			for _, id := range []string{"there", "dropped", "split"} {
				b.add(id)
			}
			_, err := Abandon(b.State, "dropped", person, Input{Reason: "not wanted"}, b.now)
			b.must(err)
			b.must(Supersede(b.State, "split", person, Input{Reason: "too large", By: blackboard.List{"there"}}, b.now))
			b.UseArchive(taskArchive{"archived": blackboard.Merged})
			task := codeTask("new")
			x.change(task)
			b.refused(x.guard, x.exit, x.text, func() error { return Create(b.State, task, false, personAs("planner-2"), x.in, b.now) })
		})
	}
	t.Run("P-024 cycles of two and three by a hand-made draft", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		for _, id := range []string{"a", "b", "c"} {
			b.must(Create(b.State, codeTask(id), true, person, Input{}, b.now))
		}
		b.Task("a").DependsOn, b.Task("b").DependsOn = blackboard.List{"b"}, blackboard.List{"a"}
		b.refused("G14", ExitInvalid, "dependency cycle: a → b → a", func() error { return Finalize(b.State, []string{"a"}, person, Input{}, b.now) })
		b.Task("b").DependsOn, b.Task("c").DependsOn = blackboard.List{"c"}, blackboard.List{"a"}
		b.refused("G14", ExitInvalid, "dependency cycle: c → a → b → c", func() error { return Finalize(b.State, []string{"c"}, person, Input{}, b.now) })
	})
	t.Run("P-035 unless nobody looks for it", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.must(Create(b.State, codeTask("new"), false, person, Input{SpecExists: nil}, b.now))
	})
}

func TestNewTasksEnterTheScopeOfTheSprint(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.Sprint.Scope = &blackboard.SprintScope{Stretch: blackboard.List{"nice"}}
	b.add("a")
	b.add("nice")
	instead := codeTask("instead")
	instead.Supersedes = blackboard.List{"a"}
	b.create(instead)
	wantList(t, "planned", b.Sprint.Scope.Planned, []string{"a"})
	wantList(t, "stretch", b.Sprint.Scope.Stretch, []string{"nice"})
}
