package transition

import (
	"testing"

	"liza/pkg/board/blackboard"
)

func TestAnAttemptSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	task := &blackboard.Task{ID: "x", ClaimSeq: 2, Attempts: []*blackboard.Attempt{
		{Seq: 1, ClaimSeq: 1, Kind: "coder", Outcome: "rejected"},
		{Seq: 2, ClaimSeq: 2, Kind: "coder", Outcome: "timeout"},
		{Seq: 3, ClaimSeq: 2, Kind: "coder", Outcome: finishedRun},
		{Seq: 4, ClaimSeq: 2, Kind: "code_reviewer", Outcome: finishedRun},
	}}
	for _, c := range []struct {
		event           blackboard.HistoryEvent
		coder, reviewer string
	}{
		{"review_claimed", finishedRun, finishedRun},
		{"approved", "approved", "approved"},
		{"merged", "merged", "approved"},
	} {
		judgeAttempt(task, c.event)
		if got := task.Attempts[2].Outcome; got != c.coder {
			t.Errorf("after %s the coder's run is %s, want %s", c.event, got, c.coder)
		}
		if got := task.Attempts[3].Outcome; got != c.reviewer {
			t.Errorf("after %s the reviewer's run is %s, want %s", c.event, got, c.reviewer)
		}
	}
	if task.Attempts[0].Outcome != "rejected" || task.Attempts[1].Outcome != "timeout" {
		t.Errorf("earlier runs changed: %s, %s", task.Attempts[0].Outcome, task.Attempts[1].Outcome)
	}
}

func TestARunWhoseVerbsCameFirstIsKnownAtItsEnd(t *testing.T) {
	t.Parallel()
	task := &blackboard.Task{History: []*blackboard.HistoryEntry{{Event: "rejected"}, {Event: "claimed"}, {Event: "checkpoint"}}}
	if got := outcomeSoFar(task); got != finishedRun {
		t.Errorf("before any verb: %s", got)
	}
	task.History = append(task.History, &blackboard.HistoryEntry{Event: "ready_for_review"}, &blackboard.HistoryEntry{Event: "review_claimed"})
	if got := outcomeSoFar(task); got != "submitted" {
		t.Errorf("after submit: %s", got)
	}
}
