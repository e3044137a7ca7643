package verb_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// Who calls is decided by the outermost process of a run, whatever those below it say.
func TestTheOutermostProcessOfARunDecidesWhoCalls(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	supervisor := board.Ancestor{PID: 100, Start: 1}
	reaper := board.Ancestor{PID: 200, Start: 2, Root: p.Project.Root, Run: "g-00000001-1", Name: "coder-1"}
	forged := board.Ancestor{PID: 300, Start: 3, Root: p.Project.Root, Run: "g-00000002-1", Name: "code-reviewer-1"}
	messenger := board.Ancestor{PID: 300, Start: 3, Root: p.Project.Root, Run: "g-00000001-1"}
	elsewhere := board.Ancestor{PID: 300, Start: 3, Root: t.TempDir(), Run: "g-00000003-1", Name: "coder-7"}
	maker := elsewhere
	maker.Folders = []string{"", "relative", filepath.Dir(p.Project.Root)}
	bare, self := board.Ancestor{PID: 400, Start: 4}, board.Ancestor{PID: 500}

	_, err := p.Service("").Agents.Register(t.Context(), verb.RegisterInput{ID: "coder-1", PID: supervisor.PID, PIDStart: supervisor.Start})
	if err != nil {
		t.Fatal(err)
	}
	moved := reaper
	moved.Root, moved.Run = "/gone", p.State().Agents["coder-1"].Generation+"-1"
	for name, c := range map[string]struct {
		chain []board.Ancestor
		as    string
		want  string // part of the refusal; "" for a person who may
	}{
		"a person's shell":                       {chain: []board.Ancestor{self, bare}},
		"a detached process":                     {chain: []board.Ancestor{self, bare, reaper, supervisor}, want: "runs inside coder-1"},
		"one with a mark of another agent":       {chain: []board.Ancestor{self, forged, reaper, supervisor}, want: "runs inside coder-1"},
		"one that acts for another agent":        {chain: []board.Ancestor{self, bare, reaper, supervisor}, as: "planner-9", want: "planner-9 may not"},
		"one whose reaper is gone":               {chain: []board.Ancestor{self, forged}, want: "runs inside code-reviewer-1"},
		"one with a mark of its own alone":       {chain: []board.Ancestor{{PID: 500, Root: p.Project.Root, Run: "g-00000001-1", Name: "coder-1"}}, want: "runs inside coder-1"},
		"one of a project that was renamed":      {chain: []board.Ancestor{self, moved}, want: "runs inside coder-1"},
		"a messenger":                            {chain: []board.Ancestor{self, messenger, supervisor}, want: "a command that Liza started"},
		"a check":                                {chain: []board.Ancestor{self, bare, supervisor}, want: "a command that Liza started"},
		"the supervisor itself":                  {chain: []board.Ancestor{supervisor}},
		"the agent of another project":           {chain: []board.Ancestor{self, elsewhere}, want: "a command that Liza started"},
		"... in whose worktree this project is":  {chain: []board.Ancestor{self, maker}},
		"a process with the pid of an old child": {chain: []board.Ancestor{self, {PID: supervisor.PID, Start: 99}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := p.Service(c.as)
			d.Board.Proc.Ancestors = func() []board.Ancestor { return c.chain }
			err := d.Board.PersonOnly(t.Context(), "do that")
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a person is refused: %v", err)
			case c.want != "":
				var r *transition.Refusal
				if !errors.As(err, &r) || r.Exit != transition.ExitRefused || !strings.Contains(r.Message, c.want) {
					t.Errorf("%v, want a refusal with %q", err, c.want)
				}
			}
		})
	}
}
