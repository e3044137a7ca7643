package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestTheGates(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		change func(*blackboard.Task)
		want   []string // beginnings
	}{
		{"a good task", func(*blackboard.Task) {}, nil},
		{"nothing at all", func(x *blackboard.Task) { *x = blackboard.Task{ID: "x"} }, []string{"missing: description", "missing: spec_ref", "missing: done_when", "missing: scope"}},
		{"blank texts", func(x *blackboard.Task) { x.Scope, x.DoneWhen = " \n", "\t" }, []string{"missing: done_when", "missing: scope"}},
		{"a message", func(x *blackboard.Task) { x.Kind, x.Scope, x.DoneWhen = "msg", "", "message delivered" }, nil},
		{"a message without what readers of Liza v1 need", func(x *blackboard.Task) { *x = blackboard.Task{Kind: "msg", Description: "hi"} }, []string{"missing: spec_ref", "missing: done_when"}},
		{"a command that writes", func(x *blackboard.Task) { x.Kind, x.Writes, x.DoneWhen = "exec", true, x.Description }, []string{"done_when repeats"}},
		{"a vague criterion", func(x *blackboard.Task) { x.DoneWhen = "works correctly" }, nil},
		{"the same scope in other words", func(x *blackboard.Task) { x.Scope = strings.ToUpper(x.Description) + "!" }, []string{"scope repeats"}},
		{"tests_included: type test", func(x *blackboard.Task) { x.Type = "test" }, []string{"tests belong"}},
		{"tests_included: with a reason", func(x *blackboard.Task) { x.Type, x.LegacyTests = "test", "the code has none yet" }, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			task := codeTask("x")
			x.change(task)
			got := task.Gates()
			if len(got) != len(x.want) {
				t.Fatalf("%q, want %q", got, x.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].String(), x.want[i]) {
					t.Errorf("%q, want %q", got[i], x.want[i])
				}
			}
		})
	}
}
