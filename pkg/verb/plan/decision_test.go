package plan

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/exitcmd"
)

// Each word of a decision is the verb of that name, with its reason and what takes the task's place.
func TestADecisionIsTheVerbOfItsName(t *testing.T) {
	t.Parallel()
	blocked := func(t *blackboard.Task) {
		t.BlockedKind, t.BlockedReason = blackboard.BlockedByQuestion, "the format of dates is not said"
		t.BlockedQuestions = blackboard.List{"Which format?", "Which zone?"}
	}
	for _, c := range []struct {
		name string
		old  *blackboard.Task
		x    exitcmd.Decision
		want blackboard.Status
		also func(*blackboard.State) bool
	}{
		{"unblock", onBoard("x", blackboard.Blocked, blocked), exitcmd.Decision{Do: exitcmd.DoUnblock, Reason: "the vision says ISO 8601", Answers: []string{"ISO 8601"}}, blackboard.Unclaimed, func(s *blackboard.State) bool {
			q := s.Questions
			return q[0].Status == blackboard.QuestionAnswered && q[0].Answer == "ISO 8601" && q[0].By == "planner-1" && q[0].AnsweredAt == blackboard.TimeOf(noon) &&
				q[1].Answer == "" && q[2].Status == blackboard.QuestionOpen
		}},
		{"abandon", onBoard("x", blackboard.Unclaimed), exitcmd.Decision{Do: exitcmd.DoAbandon, Reason: "the vision does not ask for it"}, blackboard.Abandoned, func(s *blackboard.State) bool {
			return strings.Contains(lastHistory(s.Task("x")).Reason, "the vision does not ask for it")
		}},
		{"supersede", onBoard("x", blackboard.Unclaimed), exitcmd.Decision{Do: exitcmd.DoSupersede, Reason: "split", By: []string{"new"}}, blackboard.Superseded, func(s *blackboard.State) bool {
			return strings.Join(s.Task("x").SupersededBy, " ") == "new" && strings.Join(s.Task("waits").DependsOn, " ") == "new"
		}},
		{"finalize", onBoard("x", blackboard.Draft), exitcmd.Decision{Do: exitcmd.DoFinalize}, blackboard.Unclaimed, func(*blackboard.State) bool { return true }},
	} {
		c.x.Task = "x"
		s := boardOf(c.old, onBoard("waits", blackboard.Unclaimed, func(t *blackboard.Task) { t.DependsOn = blackboard.List{"x"} }))
		s.Questions = []*blackboard.Question{{ID: "q-1", Task: "x", Text: "Which format?", Status: blackboard.QuestionOpen},
			{ID: "q-2", Task: "x", Text: "Which zone?", Status: blackboard.QuestionOpen}, {ID: "q-3", Task: "waits", Text: "Other?", Status: blackboard.QuestionOpen}}
		p := planOf(itemOf("new"))
		p.Decisions = []exitcmd.Decision{c.x}
		if _, err := apply(rules(), s, p); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.Task("x").Status; got != c.want || !c.also(s) {
			t.Errorf("%s: x is %s (want %s): %+v, questions %+v", c.name, got, c.want, s.Task("x"), s.Questions[0])
		}
	}
}

func lastHistory(t *blackboard.Task) *blackboard.HistoryEntry { return t.History[len(t.History)-1] }

// A task of the plan names what it replaces: that becomes SUPERSEDED by all that name it, and keeps the saved work.
func TestSupersedesPutsTheNewTasksInThePlaceOfTheOld(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"": "replaced by a new plan", "too large for one": "too large for one"} {
		s := boardOf(onBoard("big", blackboard.Unclaimed))
		replaces := func(x *exitcmd.PlanTask) { x.Supersedes = []string{"big"} }
		p := planOf(itemOf("", replaces), itemOf("b", replaces))
		p.Reason = reason
		if _, err := rules().Apply(s, planner, p, "h", map[string]Saved{"big": {Attic: "refs/liza/attic/big/1"}}, noon); err != nil {
			t.Fatal(err)
		}
		big := s.Task("big")
		if big.Status != blackboard.Superseded || strings.Join(big.SupersededBy, " ") != "task-1 b" || lastHistory(big).Reason != want {
			t.Errorf("reason %q: big is %s by %v because of %q; want SUPERSEDED by task-1 b because of %q", reason, big.Status, big.SupersededBy, lastHistory(big).Reason, want)
		}
	}
}

// Work that could not be saved is not dropped: the whole plan is refused, with the decision that would drop it.
func TestADecisionThatWouldLoseWorkIsRefused(t *testing.T) {
	t.Parallel()
	s := boardOf(onBoard("x", blackboard.Unclaimed))
	p := &exitcmd.Plan{Decisions: []exitcmd.Decision{{Task: "x", Do: exitcmd.DoAbandon, Reason: "not wanted"}}}
	_, err := rules().Apply(s, planner, p, "h", map[string]Saved{"x": {Problem: "the disk is full"}}, noon)
	wantProblem(t, "work that cannot be saved", err, "decisions[0] (abandon x): ", "the disk is full")
}

func TestADiscoveryBecomesATaskOfThePlanOrIsPutOff(t *testing.T) {
	t.Parallel()
	s := boardOf(onBoard("old", blackboard.Unclaimed))
	s.Discovered = []*blackboard.Discovery{{ID: "disc-1", Description: "A leak"}, {ID: "disc-2", Description: "A typo"}}
	p := planOf(itemOf("leak"))
	p.Decisions = []exitcmd.Decision{{Discovery: "disc-1", Do: exitcmd.DoConvert, By: []string{"leak"}}, {Discovery: "disc-2", Do: exitcmd.DoDefer, Reason: "nobody reads it"}}
	if _, err := apply(rules(), s, p); err != nil {
		t.Fatal(err)
	}
	if d := s.Discovered; d[0].ConvertedToTask != "leak" || d[1].ConvertedToTask != "" || d[1].Deferred == nil || d[1].Deferred.Reason != "nobody reads it" {
		t.Errorf("the discoveries are %+v and %+v; want leak and put off", d[0], d[1])
	}
	// The same decision again changes nothing and is not a problem: an answer may come twice.
	again := &exitcmd.Plan{Decisions: p.Decisions}
	if _, err := rules().Apply(s, planner, again, "sha256:2", nil, noon); err != nil {
		t.Errorf("the same decisions again: %v, want nothing", err)
	}
	if got := strings.Join(Decided(&exitcmd.Plan{Decisions: append(p.Decisions, exitcmd.Decision{Task: "old", Do: exitcmd.DoAbandon})}), " "); got != "disc-1 disc-2 old" {
		t.Errorf("decided about %s", got)
	}
}

// Dropped is whose work is saved before the plan is applied: each task that loses its worktree, once, and no other.
func TestThePlanSaysWhoseWorkItDrops(t *testing.T) {
	t.Parallel()
	s := boardOf(onBoard("blocked", blackboard.Blocked, blockedForReplan("plan-1")), onBoard("sibling", blackboard.Unclaimed, func(t *blackboard.Task) { t.Plan = "plan-1" }),
		onBoard("busy", blackboard.Claimed, func(t *blackboard.Task) { t.Plan = "plan-1" }), onBoard("other", blackboard.Unclaimed))
	s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "running"}}
	p := planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.Supersedes = []string{"old", "other"} }))
	p.Decisions = []exitcmd.Decision{{Task: "b", Do: exitcmd.DoAbandon}, {Task: "c", Do: exitcmd.DoFinalize}, {Discovery: "disc-1", Do: exitcmd.DoDefer}, {Task: "other", Do: exitcmd.DoSupersede}}
	for party, want := range map[string]string{"planner": "b blocked old other sibling", "person": "b old other"} {
		if got := strings.Join(Dropped(p, s, parties[party]), " "); got != want {
			t.Errorf("a %s's plan drops %s, want %s", party, got, want)
		}
	}
}
