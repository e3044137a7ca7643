package transition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestEachTextTakesTheFirstRungThatThereIs(t *testing.T) {
	t.Parallel()
	over, idle, plain := Reach{Over: true, Running: true, Speaks: true}, Reach{Speaks: true, Resumes: true}, Reach{Running: true}
	speaks, resumes := Reach{Running: true, Speaks: true, Resumes: true}, Reach{Running: true, Resumes: true}
	for _, c := range []struct {
		reach            Reach
		now, next, after string
	}{
		{over, "proposal", "proposal", "proposal"},
		{idle, "prompt", "prompt", "prompt"},
		{plain, "command", "command", "prompt"},
		{resumes, "resume", "command", "prompt"},
		{speaks, "turn", "turn", "prompt"},
	} {
		if got := []string{Rung("now", c.reach), Rung("next", c.reach), Rung("after", c.reach)}; !slices.Equal(got, []string{c.now, c.next, c.after}) {
			t.Errorf("%+v: got %v, want %s, %s, %s", c.reach, got, c.now, c.next, c.after)
		}
	}
}

// talking is a board whose coder-1 works on x with run r1.
func talking(t *testing.T) *board {
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 2, Run: 2, RunID: "r1", Task: "x", TokenHash: "sha256:run-coder-1"}, b.now))
	return b
}

// where are the receipts of all texts.
func where(b *board) string {
	var list []string
	for _, n := range b.HumanNotes {
		if n.Receipt != nil {
			list = append(list, fmt.Sprintf("%s %s", n.ID, n.Receipt))
		}
	}
	return strings.Join(list, "; ")
}

func wantWhere(t *testing.T, b *board, want string) {
	t.Helper()
	if got := where(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (b *board) tell(when, text string) {
	b.t.Helper()
	b.must(TellText(b.State, &blackboard.Note{Message: text, For: "x", When: when}, person, b.now))
}

func TestATextIsGivenToOneRunOnce(t *testing.T) {
	t.Parallel()
	b := talking(t)
	b.tell("next", "use argparse")
	b.tell("after", "and then the docs")
	wantWhere(t, b, "note-1 queued; note-2 queued")
	if taken := TakeTexts(b.State, "coder-1", b.now); len(taken) != 1 || taken[0].ID != "note-1" {
		t.Fatalf("took %v", taken)
	}
	wantWhere(t, b, "note-1 delivered in the running turn; note-2 queued")
	if again, notes := TakeTexts(b.State, "coder-1", b.now), TakeNotes(b.State, "coder-1", b.now); len(again)+len(notes) != 0 {
		t.Errorf("it was given again: %v, %v", again, notes)
	}
	SeeTexts(b.State, "coder-1", "r0", []string{"note-1"}, nil, b.now) // of another run
	wantWhere(t, b, "note-1 delivered in the running turn; note-2 queued")
	SeeTexts(b.State, "coder-1", "r1", []string{"note-1"}, nil, b.now)
	wantWhere(t, b, "note-1 seen in the running turn; note-2 queued")
	b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Finished: true}, b.now))
	b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 3, Run: 3, RunID: "r2", Task: "x"}, b.now))
	PromptHad(b.State, "coder-1", []string{"note-1", "note-2"}, false, b.now)
	wantWhere(t, b, "note-1 seen in the running turn; note-2 delivered with a prompt")
	b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Finished: true}, b.now))
	wantWhere(t, b, "note-1 seen in the running turn; note-2 seen with a prompt")
}

func TestATextThatARunDidNotRepeatIsInTheNextPrompt(t *testing.T) {
	t.Parallel()
	b := talking(t)
	b.tell("now", "stop")
	TakeTexts(b.State, "coder-1", b.now)
	b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x"}, b.now))
	wantWhere(t, b, "note-1 queued (the run ended before it had it)")
	b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 3, Run: 3, RunID: "r2", Task: "x"}, b.now))
	if taken := TakeTexts(b.State, "coder-1", b.now); taken != nil {
		t.Errorf("it is new to a second run: %v", taken)
	}
	PromptHad(b.State, "coder-1", []string{"note-1"}, true, b.now)
	wantWhere(t, b, "note-1 delivered in the resumed conversation (the run ended before it had it)")
}

// A text that comes between the making of a prompt and the start of its program is not in it, and is not taken for told.
func TestATextThatThePromptDoesNotHaveIsNotSeen(t *testing.T) {
	t.Parallel()
	b := talking(t)
	b.tell("next", "late")
	PromptHad(b.State, "coder-1", nil, false, b.now)
	wantWhere(t, b, "note-1 queued")
	if taken := TakeNotes(b.State, "coder-1", b.now); len(taken) != 1 {
		t.Errorf("took %v", taken)
	}
	wantWhere(t, b, "note-1 delivered with a command of liza")
}

func TestATextForATaskThatIsOverIsAProposal(t *testing.T) {
	t.Parallel()
	b := talking(t)
	b.tell("after", "and the docs")
	b.must(Release(b.State, "x", supervisorOf("coder-1"), Input{Reason: "r"}, b.now))
	_, err := Abandon(b.State, "x", person, Input{Reason: "not needed"}, b.now)
	b.must(err)
	b.tell("next", "too late")
	wantWhere(t, b, "note-1 delivered as a proposal (the task is ABANDONED; see disc-1); note-2 delivered as a proposal (the task is ABANDONED; see disc-2)")
	if d := b.Discovered; len(d) != 2 || d[0].Description != "and the docs" || d[0].During != "x" {
		t.Errorf("got %+v", d)
	}
}

func TestWhoMayTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Actor
		to   string
		want string
	}{
		{supervisorOf("coder-1"), "x", "coder may not tell an agent"},
		{Actor{ID: "coder-1", TokenHash: "sha256:run-coder-1"}, "x", "coder may not tell an agent"},
		{supervisorOf("code-reviewer-1"), "x", "may not tell an agent"},
		{supervisorOf("planner-1"), "x", ""},
		{supervisorOf("planner-1"), "", "a planner tells the agents of tasks"},
		{person, "nowhere", "no task 'nowhere'"},
	} {
		b := talking(t)
		err := TellText(b.State, &blackboard.Note{Message: "m", For: c.to}, c.a, b.now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s to %q: %v, want %q", c.a.ID, c.to, err, c.want)
		}
		if err != nil && len(b.HumanNotes) > 0 {
			t.Errorf("%s left a text", c.a.ID)
		}
		if err == nil && b.HumanNotes[0].Author() != "the agent planner-1" {
			t.Errorf("it reads as the word of %s", b.HumanNotes[0].Author())
		}
	}
}

// What Liza says to a run is said once, to that run only, and goes with it.
func TestLizaTellsARunWhatComesNear(t *testing.T) {
	t.Parallel()
	b := talking(t)
	b.WarnPercent = 80
	b.Task("x").Limits = blackboard.Settings{"cost_cents": 100, "time_minutes": 10}
	for _, c := range []struct {
		spent Spent
		want  string
	}{
		{Spent{Cents: 79}, ""},
		{Spent{Cents: 100}, ""}, // it is reached: the run is stopped
		{Spent{Cents: 85, Seconds: 60}, "15 cents left: commit what you have"},
		{Spent{Cents: 85, Seconds: 8 * 60}, "15 cents and 2 minutes left: commit what you have"},
	} {
		if got := NearLimit(b.State, b.Task("x"), c.spent); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.spent, got, c.want)
		}
	}
	for range 2 {
		TellRun(b.State, "coder-1", "limit", "15 cents left", b.now)
	}
	if taken := TakeTexts(b.State, "coder-1", b.now); len(taken) != 1 || taken[0].Author() != "Liza" {
		t.Errorf("took %v", taken)
	}
	b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x"}, b.now))
	if len(b.HumanNotes) != 0 {
		t.Errorf("left: %v", b.HumanNotes)
	}
}
