package merge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

// A command of the check stands in for the neighbour: what is written differs from run to run, as a neighbour's does, or is
// written in the first run alone.
func TestACheckoutThatANeighbourWritesIntoDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup, check string
		merged, void bool
		warn         string
	}{
		"nobody writes":                          {check: "touch new; exit 0", merged: true},
		"a neighbour writes once":                {check: "test -e ../../.git/once && exit 0; touch ../../.git/once; echo worse >> one.md; exit 1", merged: true, warn: "once more in a fresh checkout"},
		"a neighbour hides a failure once":       {check: "grep -q two one.md && exit 1; test -e ../../.git/once && exit 1; touch ../../.git/once; echo two > one.md; exit 0", warn: "once more in a fresh checkout"},
		"a neighbour writes each time":           {check: "date +%N >> one.md; exit 0", void: true},
		"a neighbour writes and the check fails": {check: "date +%N >> one.md; exit 1", void: true},
		"the index is written to hide it":        {check: "date +%N >> one.md; git add one.md; git update-index --assume-unchanged one.md", void: true},
		"the check itself writes":                {check: "echo generated >> one.md; exit 0", merged: true, warn: "change tracked files: one.md"},
		"setup writes":                           {setup: "date +%N >> one.md", check: "true", merged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			approve(t, p, "task-1", "one.md")
			before := head(p)
			p.Config.Integration.Checks = []string{c.check}
			m := merger(p)
			if c.setup != "" {
				m.Setup = []string{c.setup}
			}
			var told []string
			m.Warn = func(text string) { told = append(told, text) }
			r, err := m.Task(context.Background(), "task-1")
			var failed *merge.FailedError
			rejected := errors.As(err, &failed)
			status := p.State().Task("task-1").Status
			switch {
			case c.merged && (err != nil || head(p) == before):
				t.Errorf("not merged: %+v, %v", r, err)
			case c.void && (err == nil || rejected || !strings.Contains(err.Error(), "cannot trust the checks of task-1") || status != blackboard.Approved || head(p) != before):
				t.Errorf("the result counts: %v, %s", err, status)
			case !c.merged && !c.void && !rejected:
				t.Errorf("not refused: %v", err)
			}
			if all := strings.Join(told, "\n"); c.warn == "" && len(told) > 1 || !strings.Contains(all, c.warn) {
				t.Errorf("told %q, want %q", all, c.warn)
			}
		})
	}
}
