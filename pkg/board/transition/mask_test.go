package transition

import (
	"reflect"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestWhatAChangeWritesIsMasked(t *testing.T) {
	t.Parallel()
	before := validState()
	before.TaskAt(0).Description = "hunter2 of old"
	s := before.Fork()
	mine := s.Task(s.TaskAt(1).ID)
	mine.Description, mine.AcceptanceCriteria = "with hunter2", blackboard.List{"a", "hunter2!"}
	mine.Args = blackboard.Settings{"deep": map[string]any{"list": []any{"hunter2", 3}}}
	s.AddTasks(&blackboard.Task{ID: "task-hunter2", Description: "new hunter2", Status: blackboard.Draft})
	s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-9", Message: "take hunter2"})
	s.Handoff = map[string]*blackboard.Handoff{"x": {Summary: "hunter2"}}
	s.Config["integration_branch"] = "hunter2"
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[x]") }
	s.Mask(before, mask)
	added := s.TaskAt(s.TaskCount() - 1)
	got := []any{mine.Description, []string(mine.AcceptanceCriteria), mine.Args["deep"], added.Description, added.ID, s.HumanNotes[len(s.HumanNotes)-1].Message, s.Handoff["x"].Summary,
		s.TaskAt(0).Description, s.Config["integration_branch"]}
	want := []any{"with [x]", []string{"a", "[x]!"}, map[string]any{"list": []any{"[x]", 3}}, "new [x]", "task-hunter2", "take [x]", "[x]", "hunter2 of old", "hunter2"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	all := before.Fork()
	all.OwnHolding(mask)
	all.Mask(before, mask)
	if got := all.TaskAt(0).Description; got != "[x] of old" || before.TaskAt(0).Description != "hunter2 of old" || all.TaskAt(1) != before.TaskAt(1) {
		t.Errorf("of the whole state: %q; the state before: %q", got, before.TaskAt(0).Description)
	}
}
