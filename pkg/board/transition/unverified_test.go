package transition

import (
	"testing"

	"liza/pkg/board/blackboard"
)

// Whether work is merged that a check has not verified is asked once for a check, answered by a person alone, with one of two
// words, may be thought over, and is over when the check has passed. The planner is not woken for it.
func TestAPersonDecidesAboutWhatNoCheckVerifies(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1")
	q := AskAboutCheck(b.State, blackboard.QuestionUnverified, "make test", "Merge unchecked?", b.now)
	if again := AskAboutCheck(b.State, blackboard.QuestionUnverified, "make test", "Merge unchecked?", b.now); again != q {
		t.Fatalf("the same check is asked about as %s and %s", q.ID, again.ID)
	}
	answer := func(text string, a Actor) error {
		_, _, err := AnswerQuestion(b.State, q.ID, text, a, b.now)
		return err
	}
	b.refused("G09", ExitUsage, "", func() error { return answer("perhaps", person) })
	b.refused("G03", ExitRefused, "", func() error { return answer(blackboard.AnswerGoOn, supervisorOf("planner-1")) })
	for _, text := range []string{blackboard.AnswerStop, "Go on"} {
		if err := answer(text, person); err != nil {
			t.Fatalf("the answer %q is refused: %v", text, err)
		}
	}
	if q.Answer != blackboard.AnswerGoOn || q.Status != blackboard.QuestionAnswered {
		t.Errorf("the answer is %q and the question %s, want %q and answered", q.Answer, q.Status, blackboard.AnswerGoOn)
	}
	if ids := unseenNotes(b.State); len(ids) > 0 {
		t.Errorf("the planner is woken for %v", ids)
	}
	SettleCheck(b.State, blackboard.QuestionUnverified, "make test")
	if next := b.State.CheckQuestion(blackboard.QuestionUnverified, "make test"); next != nil {
		t.Errorf("after the check has passed %s is %s", next.ID, next.Status)
	}
}
