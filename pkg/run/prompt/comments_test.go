package prompt

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// A comment on a change says where it is, and is told once: by the rejection that it is part of, or else among the notes.
func TestACommentIsToldOnceWithItsPlace(t *testing.T) {
	t.Parallel()
	in := &Input{State: &blackboard.State{}, Task: &blackboard.Task{ID: "task-3"}}
	in.State.HumanNotes = []*blackboard.Note{{ID: "note-1", For: "task-3", By: "ada", File: "hello.go", Line: 3, Commit: "0123456789abcdef", Message: "why?"},
		{ID: "note-2", For: "task-3", By: "ada", Commit: "0123456789abcdef", Message: "too much"}, {ID: "note-3", For: "task-3", By: "ada", Message: "a note"}}
	want := "- note-1 by ada on hello.go:3 of commit 012345678: why?\n- note-2 by ada on the change of commit 012345678: too much\n- note-3 by ada: a note"
	if got := earlierOf(in).taskNotes(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	in.Task.RejectionReason = &blackboard.Rejection{Summary: "see the comments", Findings: []*blackboard.Finding{in.State.HumanNotes[0].Finding()}}
	if got := earlierOf(in).taskNotes(); strings.Contains(got, "why?") || !strings.Contains(got, "too much") {
		t.Errorf("with its rejection: %s", got)
	}
	if got := earlierOf(in).rejection(); !strings.Contains(got, "1. [error] hello.go:3 comment of ada: why?") {
		t.Errorf("the rejection: %s", got)
	}
}
