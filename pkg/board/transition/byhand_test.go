package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestAVagueWordIsOnlyDoubted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"errors are handled, gracefully": "handled", "Robust": "Robust", "robustness is measured": "", "prints 42": ""} {
		why := blackboard.DoubtDoneWhen(text)
		if (why == "") != (want == "") || !strings.Contains(why, strings.ToLower(want)) {
			t.Errorf("%q: %q, want %q", text, why, want)
		}
	}
}

func TestATaskWrittenByHandHasToPassTheGatesBeforeItIsClaimed(t *testing.T) {
	t.Parallel()
	s := validState()
	task := s.Task("unclaimed")
	task.ClaimSeq, task.DoneWhen = 0, task.Description
	m := &move{task: task}
	if err := gatesStillPass.Check(m); err == nil || !strings.Contains(err.Error(), "done_when repeats") {
		t.Errorf("the claim: %v", err)
	}
	task.DoneWhen, task.Scope = "prints 42", ""
	if err := gatesStillPass.Check(m); err == nil || !strings.Contains(err.Error(), "missing: scope") {
		t.Errorf("the claim without a scope: %v", err)
	}
	task.ClaimSeq = 1
	if err := gatesStillPass.Check(m); err != nil {
		t.Errorf("a task that was claimed before: %v", err)
	}
	task.ClaimSeq, task.Scope = 0, "IN: a.go"
	if err := gatesStillPass.Check(m); err != nil {
		t.Errorf("a task that passes: %v", err)
	}
}
