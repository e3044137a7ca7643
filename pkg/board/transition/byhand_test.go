package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestANameOfAFileIsNotVague(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"file good exists and holds one line", "the folder done exists", "a script called better is there", "the file fast contains the word one"} {
		if why := blackboard.LintDoneWhen(text, "Write it", "Write it"); why != "" {
			t.Errorf("%q: %s", text, why)
		}
		if why := blackboard.DoubtDoneWhen(text); why != "" {
			t.Errorf("%q is doubted: %s", text, why)
		}
	}
	for _, text := range []string{"the file works for everybody", "file handling is good", "everything named in the plan works well"} {
		if why := blackboard.LintDoneWhen(text, "Write it", "Write it"); !strings.Contains(why, "vague") {
			t.Errorf("%q: %q", text, why)
		}
	}
}

func TestAReasonThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"stuck", "x", "I'm stuck", "It doesn't work.", "blocked!", "don't know what to do", "help please", "?"} {
		if why := blackboard.LintReason(text); !strings.Contains(why, "name what is in the way") {
			t.Errorf("%q: %q", text, why)
		}
	}
	for _, text := range []string{"API ambiguity", "compiler missing", "go.mod", "Welche Datenbank?", "数据库密码未知", "no credentials for the staging server", "E1234"} {
		if why := blackboard.LintReason(text); why != "" {
			t.Errorf("%q: %s", text, why)
		}
	}
}

func TestATaskWrittenByHandHasToPassTheGatesBeforeItIsClaimed(t *testing.T) {
	t.Parallel()
	s := validState()
	task := s.Task("unclaimed")
	task.ClaimSeq, task.DoneWhen = 0, "it works well"
	m := &move{task: task}
	if err := gatesStillPass.Check(m); err == nil || !strings.Contains(err.Error(), "done_when is vague") {
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
