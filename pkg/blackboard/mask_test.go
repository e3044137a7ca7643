package blackboard

import (
	"reflect"
	"strings"
	"testing"
)

func TestWhatAChangeWritesIsMasked(t *testing.T) {
	t.Parallel()
	before := validState()
	before.Tasks[0].Description = "hunter2 of old"
	before.Index()
	s := before.Fork()
	mine := s.Task(s.Tasks[1].ID)
	mine.Description, mine.AcceptanceCriteria = "with hunter2", List{"a", "hunter2!"}
	mine.Args = Settings{"deep": map[string]any{"list": []any{"hunter2", 3}}}
	s.Tasks = append(s.Tasks, &Task{ID: "task-hunter2", Description: "new hunter2", Status: Draft})
	s.HumanNotes = append(s.HumanNotes, &Note{ID: "note-9", Message: "take hunter2"})
	s.Handoff = map[string]*Handoff{"x": {Summary: "hunter2"}}
	s.Config["integration_branch"] = "hunter2"
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[x]") }
	s.Mask(before, mask)
	added := s.Tasks[len(s.Tasks)-1]
	got := []any{mine.Description, []string(mine.AcceptanceCriteria), mine.Args["deep"], added.Description, added.ID, s.HumanNotes[len(s.HumanNotes)-1].Message, s.Handoff["x"].Summary,
		s.Tasks[0].Description, s.Config["integration_branch"]}
	want := []any{"with [x]", []string{"a", "[x]!"}, map[string]any{"list": []any{"[x]", 3}}, "new [x]", "task-hunter2", "take [x]", "[x]", "hunter2 of old", "hunter2"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	all := before.Fork()
	all.OwnHolding(mask)
	all.Mask(before, mask)
	if got := all.Tasks[0].Description; got != "[x] of old" || before.Tasks[0].Description != "hunter2 of old" || all.Tasks[1] != before.Tasks[1] {
		t.Errorf("of the whole state: %q; the state before: %q", got, before.Tasks[0].Description)
	}
}
