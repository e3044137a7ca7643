package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
)

var parties = map[string]transition.Party{"planner": transition.ByPlanner | transition.SPlanner, "its supervisor": transition.SPlanner, "person": transition.ByHuman, "coder": transition.ByCoder | transition.SCoder}

// replanBoard is a board on which a reviewer wants another approach to one of the tasks of plan-1.
func replanBoard() *blackboard.State {
	in := func(t *blackboard.Task) { t.Plan = "plan-1" }
	s := boardOf(onBoard("parser", blackboard.Blocked, blockedForReplan("plan-1")), onBoard("printer", blackboard.Unclaimed, in), onBoard("sketch", blackboard.Draft, in),
		onBoard("asks", blackboard.Blocked, in), onBoard("busy", blackboard.Claimed, in), onBoard("done", blackboard.Merged, in), onBoard("other", blackboard.Unclaimed))
	s.Goal.PlanID = "plan-1"
	s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "running", Request: "Parse words", Tasks: blackboard.List{"parser", "printer", "sketch", "asks", "busy", "done"}}}
	return s
}

func replanPlan() *exitcmd.Plan {
	p := planOf(itemOf("lexer", func(x *exitcmd.PlanTask) { x.Detail = "Split input into tokens first" }))
	p.Reason = "tokens make comments of several lines possible"
	return p
}

// The answer to a replan takes the place of what nobody works on; work that is under way or over stays.
func TestAReplanReplacesWhatNobodyWorksOn(t *testing.T) {
	t.Parallel()
	s := replanBoard()
	out, err := apply(rules(), s, replanPlan())
	if err != nil || out.Plan != "plan-2" {
		t.Fatalf("applied %+v, %v", out, err)
	}
	for id, want := range map[string]blackboard.Status{"parser": blackboard.Superseded, "printer": blackboard.Superseded, "sketch": blackboard.Superseded, "asks": blackboard.Superseded,
		"busy": blackboard.Claimed, "done": blackboard.Merged, "other": blackboard.Unclaimed} {
		x := s.Task(id)
		if x.Status != want || want == blackboard.Superseded && strings.Join(x.SupersededBy, " ") != "lexer" {
			t.Errorf("%s is %s by %v; want %s, and by lexer, not by the message", id, x.Status, x.SupersededBy, want)
		}
	}
	old, now := s.Plans[0], s.Plans[1]
	if old.Status != "superseded" || old.Failure == nil || old.Failure.Task != "parser" || !strings.Contains(old.Failure.Reason, "comments of several lines") {
		t.Errorf("the old plan is %+v with failure %+v; want superseded because of parser", old, old.Failure)
	}
	if got := strings.Join(old.Tried, "; "); !strings.HasPrefix(got, "code Do parser: BLOCKED; code Do printer: UNCLAIMED; ") || !strings.HasSuffix(got, "code Do done: MERGED") {
		t.Errorf("tried: %s", got)
	}
	if now.Parent != "plan-1" || now.Root != "plan-1" || now.Request != "Parse words" {
		t.Errorf("the new plan is %+v; want plan-1 as parent and root, with its request", now)
	}
}

func TestAReplanByMessagesAloneNamesThem(t *testing.T) {
	t.Parallel()
	s := replanBoard()
	p := &exitcmd.Plan{Goal: "Give up", Reason: "nothing can be done", Tasks: []exitcmd.PlanTask{tellUser}}
	if _, err := apply(rules(), s, p); err != nil || strings.Join(s.Task("parser").SupersededBy, " ") != "tell" {
		t.Errorf("%v: parser is replaced by %v, want tell", err, s.Task("parser").SupersededBy)
	}
}

// A plan that decides about a replaced task itself is obeyed: what it dropped is not superseded as well.
func TestADecisionGoesBeforeTheReplan(t *testing.T) {
	t.Parallel()
	s, p := replanBoard(), replanPlan()
	p.Decisions = []exitcmd.Decision{{Task: "printer", Do: exitcmd.DoAbandon, Reason: "nobody prints"}}
	if _, err := apply(rules(), s, p); err != nil || s.Task("printer").Status != blackboard.Abandoned || s.Task("parser").Status != blackboard.Superseded {
		t.Errorf("%v: printer is %s, parser %s; want ABANDONED and SUPERSEDED", err, s.Task("printer").Status, s.Task("parser").Status)
	}
	lost := map[string]Saved{"parser": {Problem: "the disk is full"}}
	_, err := rules().Apply(replanBoard(), planner, replanPlan(), "h", lost, noon)
	wantProblem(t, "work that could not be saved", err, "parser cannot be replaced: ", "the disk is full")
}

// Only a planner answers a replan. A person's plan is one beside it.
func TestOnlyAPlannersPlanAnswersAReplan(t *testing.T) {
	t.Parallel()
	for who, answers := range map[string]bool{"planner": true, "its supervisor": true, "person": false, "coder": false} {
		if got := replanOf(replanBoard(), parties[who]) != nil; got != answers {
			t.Errorf("the plan of a %s answers a replan: %t, want %t", who, got, answers)
		}
	}
	r, s, p := rules(), replanBoard(), replanPlan()
	r.Human = true
	if _, err := r.Apply(s, person, p, "h", nil, noon); err != nil || s.Task("parser").Status != blackboard.Blocked || s.Plans[1].Parent != "" {
		t.Errorf("%v: parser is %s, the plan %+v; want BLOCKED as before, and no parent", err, s.Task("parser").Status, s.Plans[1])
	}
}

func TestAReplanSaysWhyItIsAnotherWay(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", " \n"} {
		p := replanPlan()
		p.Reason = reason
		_, err := apply(rules(), replanBoard(), p)
		wantProblem(t, fmt.Sprintf("the reason %q", reason), err, "reason: is required, because this plan replaces another one")
	}
	if _, err := apply(rules(), replanBoard(), &exitcmd.Plan{Decisions: []exitcmd.Decision{{Task: "other", Do: exitcmd.DoAbandon, Reason: "no"}}}); err != nil {
		t.Errorf("decisions alone replace no plan, and need no reason of it: %v", err)
	}
}

// A plan is circular when more than half of all its tasks and those of one plan of the chain are in both.
func TestAPlanThatWasTriedIsRefusedAsCircular(t *testing.T) {
	t.Parallel()
	like := func(ids ...string) *exitcmd.Plan {
		var items []exitcmd.PlanTask
		for _, id := range ids {
			items = append(items, itemOf("again-"+id, func(x *exitcmd.PlanTask) { x.Detail = describe[id] }))
		}
		p := planOf(items...)
		p.Tasks[len(p.Tasks)-1].Detail = describe["tell"]
		p.Reason = "once more"
		return p
	}
	for _, c := range []struct {
		now      []string
		circular bool
	}{
		{[]string{"parser", "printer"}, true},          // all three, with the message
		{[]string{"parser", "lexer"}, false},           // two of four: half is not more than half
		{[]string{"parser", "printer", "lexer"}, true}, // three of four
		{[]string{"lexer", "reader"}, false},           // the message alone
		{[]string{"parser"}, true},                     // two of three
	} {
		s := boardOf()
		for _, id := range []string{"parser", "printer", "tell"} {
			x := onBoard(id, blackboard.Unclaimed, func(t *blackboard.Task) { t.Plan, t.Description = "plan-1", describe[id] })
			if id == "parser" {
				x.Status = blackboard.Blocked
				blockedForReplan("plan-1")(x)
			}
			if id == "tell" {
				x.ID, x.Kind = "told", blackboard.MessageTask
			}
			s.AddTasks(x)
		}
		s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "running", Tasks: blackboard.List{"parser", "printer", "told"}}}
		_, err := apply(rules(), s, like(c.now...))
		var circular *CircularError
		var refused *transition.Refusal
		switch {
		case c.circular && (!errors.As(err, &circular) || !errors.As(err, &refused) || !strings.Contains(err.Error(), "tasks: they are those of plan-1 again, which failed; plan another way to the goal")):
			t.Errorf("%v after parser, printer, tell: %v, want it refused as circular", c.now, err)
		case !c.circular && err != nil:
			t.Errorf("%v after parser, printer, tell: %v, want it accepted", c.now, err)
		}
	}
}

var describe = map[string]string{"parser": "Parse numbers with recursive descent", "printer": "Print results line by line", "lexer": "Split input into tokens first", "reader": "Read files as streams", "tell": "Report results upstream"}

// The fingerprint of a task is its kind and its first five significant words.
func TestWhatTellsTwoTasksApart(t *testing.T) {
	t.Parallel()
	code := func(text string) *blackboard.Task { return &blackboard.Task{Description: text} }
	for _, c := range []struct {
		name string
		a, b *blackboard.Task
		same bool
	}{
		{"the same words", code("Parse numbers"), code("Parse numbers"), true},
		{"other signs and case", code("Parse: NUMBERS!"), code("parse numbers"), true},
		{"filler", code("Parse all of the numbers that were given"), code("parse numbers given"), true},
		{"short words", code("Parse a big number"), code("parse the number"), true},
		{"a sixth word", code("alpha bravo charlie delta echo1 foxtrot"), code("alpha bravo charlie delta echo1 golf"), true},
		{"a fifth word", code("alpha bravo charlie delta echo1"), code("alpha bravo charlie delta echo2"), false},
		{"another order", code("parse numbers"), code("numbers parse"), false},
		{"another kind", code("parse numbers"), &blackboard.Task{Kind: blackboard.ExecTask, Description: "parse numbers"}, false},
		{"letters of other scripts", code("Zeichen größer ausgeben"), code("zeichen GRÖSSER ausgeben"), false},
		{"umlauts", code("Größe Überschrift"), code("größe überschrift"), true},
	} {
		a, b := fingerprints([]*blackboard.Task{c.a}), fingerprints([]*blackboard.Task{c.b})
		if got := alike(a, b); got != c.same {
			t.Errorf("%s: %v and %v are the same: %t, want %t", c.name, a, b, got, c.same)
		}
	}
	if alike(map[string]bool{}, map[string]bool{}) {
		t.Error("two plans without tasks are alike")
	}
}

func TestTwoReasonsAreTheSameWhenTheyShareHalfOfTheShorter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"parser loses comments", "parser loses comments", true},
		{"parser loses comments", "PARSER: loses comments!", true},
		{"parser loses comments always", "parser loses brackets always", true},   // 3 of 4
		{"parser loses comments always", "parser loses brackets forever", true},  // 2 of 4: half
		{"parser loses comments always", "parser finds brackets forever", false}, // 1 of 4
		{"parser loses comments", "parser loses comments of several lines when nested deeply", true},
		{"parser fails", "parser fails", false}, // two words say too little
		{"", "", false},
		{"parser loses comments", "", false},
	} {
		if sameReason(c.a, c.b) != c.same || sameReason(c.b, c.a) != c.same {
			t.Errorf("%q and %q are the same reason: %t, want %t both ways", c.a, c.b, sameReason(c.a, c.b), c.same)
		}
	}
}

// A chain of plans stops at its depth, and when a reason comes again; a planner is started for everything else.
func TestWhenAReplanIsNotTried(t *testing.T) {
	t.Parallel()
	const old, fresh = "the parser loses comments always", "the printer needs a terminal width"
	for _, c := range []struct {
		name   string
		kind   transition.TriggerKind
		reason string
		status string
		depth  int
		want   string
	}{
		{"below the depth", transition.TriggerReplan, fresh, "running", 3, ""},
		{"one below the depth", transition.TriggerReplan, fresh, "running", 2, ""},
		{"at the depth", transition.TriggerReplan, fresh, "running", 1, "stuck after 1 replans: " + fresh},
		{"above the depth", transition.TriggerReplan, fresh, "running", 0, "stuck after 1 replans: " + fresh},
		{"a reason again", transition.TriggerReplan, "comments: the parser loses all", "running", 3, "stuck after 1 replans: the reason is that of plan-1 again: comments: the parser loses all"},
		{"only the first line of a reason", transition.TriggerReplan, fresh + "\nand more", "running", 1, "stuck after 1 replans: " + fresh},
		{"a chain that was stopped", transition.TriggerReplan, old, "failed", 1, ""},
		{"another trigger", transition.TriggerHumanNote, old, "running", 1, ""},
	} {
		s := boardOf(onBoard("x", blackboard.Blocked, blockedForReplan("plan-2"), func(t *blackboard.Task) { t.BlockedReason = c.reason }))
		s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "superseded", Failure: &blackboard.PlanFailure{Task: "w", Reason: old}},
			{ID: "plan-2", Status: c.status, Parent: "plan-1", Root: "plan-1", Failure: &blackboard.PlanFailure{Reason: fresh}}}
		if got := ReplanStop(s, transition.Trigger{Kind: c.kind, IDs: []string{"gone", "x"}}, c.depth); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// What the reviewer said goes before what the task was blocked with.
	s := boardOf(onBoard("x", blackboard.Blocked, blockedForReplan("plan-1"), func(t *blackboard.Task) { t.Review = &blackboard.Review{Reason: "use a grammar"} }))
	s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "running"}}
	if got := ReplanStop(s, transition.Trigger{Kind: transition.TriggerReplan, IDs: []string{"x"}}, 0); got != "stuck after 0 replans: use a grammar" {
		t.Errorf("with a review: %q, want its reason", got)
	}
}

func TestAStoppedChainIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	s := replanBoard()
	s.Plans[0].Status = "failed"
	if _, err := apply(rules(), s, replanPlan()); err != nil {
		t.Fatal(err)
	}
	if p := s.Plans[1]; p.Parent != "" || p.Root != "" || s.Plans[0].Status != "failed" {
		t.Errorf("the new plan is %+v, the old one %s; want a new chain beside a failed one", p, s.Plans[0].Status)
	}
}

// The record says what the user asked for: the goal at first, then what he wrote since, else what the plan before was for.
func TestThePlanRecordsWhatTheUserSaid(t *testing.T) {
	t.Parallel()
	note := func(words ...string) (list []*blackboard.Note) {
		for i, w := range words {
			list = append(list, &blackboard.Note{ID: fmt.Sprint("note-", i+1), Message: w, By: "ada"})
		}
		return list
	}
	for _, c := range []struct {
		name   string
		planID string
		notes  []*blackboard.Note
		want   string
	}{
		{"the first plan", "", nil, "Measure"},
		{"the first plan, with a note", "", note("in metres"), "Measure\nin metres"},
		{"later, with notes", "plan-1", note("in metres", "and feet"), "in metres\nand feet"},
		{"later, without", "plan-1", nil, "what was asked before"},
		{"a plan that left the board", "plan-9", nil, ""},
		{"too long", "plan-1", note(strings.Repeat("é", 1200)), strings.Repeat("é", 1000)},
		{"too long, cut inside a letter", "plan-1", note("a" + strings.Repeat("é", 1200)), "a" + strings.Repeat("é", 999)},
	} {
		s := boardOf()
		s.Goal.PlanID, s.HumanNotes = c.planID, c.notes
		s.Plans = []*blackboard.Plan{{ID: "plan-1", Status: "done", Request: "what was asked before"}}
		if _, err := apply(rules(), s, planOf(itemOf("a"))); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.Plans[1].Request; got != c.want {
			t.Errorf("%s: the request is %q, want %q", c.name, got, c.want)
		}
		for _, n := range c.notes {
			if n.Plan != "plan-2" || n.Outcome != "planned" {
				t.Errorf("%s: the note is %+v, want it answered by plan-2", c.name, n)
			}
		}
	}
	r, s := rules(), boardOf()
	r.Human, s.HumanNotes = true, note("in metres")
	if _, err := r.Apply(s, person, planOf(itemOf("a")), "h", nil, noon); err != nil || s.HumanNotes[0].Plan != "" {
		t.Errorf("%v: a person's plan answers the note %+v, which the planner has yet to see", err, s.HumanNotes[0])
	}
}
