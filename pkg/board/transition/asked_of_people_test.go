package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The planner is not woken for a block that Liza made itself while a person is being asked about it (issue 25, 6.5);
// the answer to the question ends the block.
func TestABlockOfLizaThatAPersonIsAskedAboutDoesNotWakeThePlanner(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*blackboard.Question){
		"a crash or a hang":    func(q *blackboard.Question) { q.Agent, q.Synthetic = blackboard.System, true },
		"the model refused":    func(q *blackboard.Question) { q.Kind = blackboard.QuestionPrompted },
		"a coder who asks":     func(*blackboard.Question) {},
		"a lost dependency":    func(q *blackboard.Question) { q.Agent = blackboard.System },
		"a coder without text": func(q *blackboard.Question) { q.Synthetic = true },
	} {
		b := newBoard(t, "planner-1", "coder-1")
		b.blocked("x")
		ask(b.Questions[0])
		coders := name != "a crash or a hang" && name != "the model refused"
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		if coders != (len(due) == 1) {
			t.Errorf("%s: the planner is woken for %v", name, due)
		}
		if coders != (len(AskedOfPeople(b.State)) == 0) {
			t.Errorf("%s: people are asked about %v", name, AskedOfPeople(b.State))
		}
		b.blocked("y") // another block wakes it, for that one alone
		due, _ = DueTriggers(b.State, TriggerFacts{}, b.now)
		if len(due) != 1 || !coders && (len(due[0].IDs) != 1 || due[0].IDs[0] != "y") {
			t.Errorf("%s: with another block the planner is woken for %v", name, due)
		}
	}
}

// A planner that has looked at a block and left it to the person who is asked is not woken for it again until an answer,
// an edit, another block or a note (issue 25, 6.5).
func TestABlockThatThePlannerHasLeftToAPersonWakesItWhenSomethingChanged(t *testing.T) {
	t.Parallel()
	a := supervisorOf("planner-1")
	b := newBoard(t, "planner-1", "coder-1")
	b.blocked("x")
	due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
	b.must(BeginPlanning(b.State, a, due, b.now))
	b.must(EndPlanning(b.State, a, due, true, false, b.now)) // it did something else
	LeaveToPeople(b.State, due, b.now)
	again, next := DueTriggers(b.State, TriggerFacts{}, b.now.Add(time.Hour))
	if len(again) != 0 || !next.IsZero() {
		t.Fatalf("the planner is woken for %v again, not before %v", again, next)
	}
	for name, change := range map[string]func(*board){
		"an answer":     func(c *board) { c.Questions[0].Status, c.Questions[0].Answer = blackboard.QuestionAnswered, "no" },
		"an edit":       func(c *board) { c.must(EditTask(c.State, "x", TaskEdit{Title: "smaller"}, person, c.now)) },
		"another block": func(c *board) { c.blocked("y") },
		"a note":        func(c *board) { c.must(AddNote(c.State, &blackboard.Note{Message: "look again"}, person, c.now)) },
	} {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		change(&c)
		if due, _ := DueTriggers(c.State, TriggerFacts{}, c.now.Add(time.Hour)); len(due) == 0 || due[0].Kind != TriggerBlockedTasks {
			t.Errorf("after %s the planner is woken for %v", name, due)
		}
	}
}

// After the `liza resume` of a checkpoint at which the planner had stopped the sprint it plans again (issue 25, 4.5).
func TestThePlannerPlansAgainAfterTheCheckpointAtWhichItWasStuck(t *testing.T) {
	t.Parallel()
	for cause, again := range map[string]bool{blackboard.CausePlanner: true, blackboard.CauseDeadline: false, "": false} {
		a := supervisorOf("planner-1")
		b := newBoard(t, "planner-1", "coder-1")
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		b.must(BeginPlanning(b.State, a, due, b.now))
		b.must(EndPlanning(b.State, a, due, false, true, b.now))
		b.must(CheckpointSprint(b.State, cause, "planner stuck: half time", "f", SystemActor(blackboard.ProcessFacts{}), b.now))
		want(t, cause+": the planner is stuck", PlannerIsStuck(b.State), again)
		b.must(ResumeSprint(b.State, "", "", person, b.now))
		due, _ = DueTriggers(b.State, TriggerFacts{}, b.now)
		want(t, cause+": it is woken again", len(due) == 1, again)
	}
}

// A limit is a person's to raise; a block that came back for the same reason after the planner let the task go on twice is, too.
func TestAPersonIsAskedAboutLimitsAndAboutWhatComesBack(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "coder-1")
	b.add("x")
	b.must(HaltTask(b.State, "x", system, Input{Halt: &blackboard.Halt{Kind: "cost", Value: 3, Limit: 2}}, b.now))
	if due, _ := DueTriggers(b.State, TriggerFacts{}, b.now); len(due) != 0 || len(AskedOfPeople(b.State)) != 1 {
		t.Errorf("after a limit the planner is woken for %v, people are asked about %v", due, AskedOfPeople(b.State))
	}
	b = newBoard(t, "planner-1", "coder-1")
	b.blocked("y")
	for n := 1; ; n++ {
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		if woken := len(due) == 1; woken != (n <= 2) || woken == (len(AskedOfPeople(b.State)) == 1) {
			t.Errorf("block %d: the planner is woken for %v, people are asked about %v", n, due, AskedOfPeople(b.State))
		}
		if n == 3 {
			break
		}
		reason, question := b.Task("y").BlockedReason, b.Task("y").BlockedQuestions
		b.must(Unblock(b.State, "y", supervisorOf("planner-1"), Input{Reason: "try again"}, b.now))
		b.after(time.Minute)
		b.must(Claim(b.State, "y", supervisorOf("coder-1"), claimed("y"), b.now))
		b.must(Block(b.State, "y", programOf("coder-1"), Input{Reason: reason, Questions: question}, b.now))
	}
	b.must(Unblock(b.State, "y", person, Input{Reason: "it is there now"}, b.now))
	b.must(Claim(b.State, "y", supervisorOf("coder-1"), claimed("y"), b.now))
	b.must(Block(b.State, "y", programOf("coder-1"), Input{Reason: "again", Questions: blackboard.List{"Which?"}}, b.now))
	if due, _ := DueTriggers(b.State, TriggerFacts{}, b.now); len(due) != 1 {
		t.Error("after a person let it go on, a block does not wake the planner")
	}
}

// A failed integration wakes the planner only when no coder takes it up.
func TestAFailedIntegrationIsLeftToCodersFirst(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.failed("x", 2)
	if due, next := DueTriggers(b.State, TriggerFacts{}, b.now); len(due) != 0 || !next.Equal(b.now.Add(2*time.Minute)) {
		t.Errorf("the planner is woken for %v, next at %v", due, next)
	}
	claimed := board{t: t, now: b.now, State: b.State.Clone()}
	claimed.must(Claim(claimed.State, "x", supervisorOf("coder-2"), kept("x"), claimed.now))
	for name, c := range map[string]struct {
		board board
		wakes int
	}{"nobody claims it": {*b, 1}, "a coder has claimed it": {claimed, 0}} {
		if due, _ := DueTriggers(c.board.State, TriggerFacts{}, b.now.Add(2*time.Minute)); len(due) != c.wakes {
			t.Errorf("%s: the planner is woken for %v", name, due)
		}
	}
}
