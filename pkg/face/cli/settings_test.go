package cli

import (
	"os"
	"slices"
	"testing"

	"liza/pkg/board/history"
	"liza/pkg/verb/verb/verbtest"
)

// A program changes files as soon as it is started, and may have ended before the next look; the board need never have
// shown it then.
func TestWhatChangesDuringARunIsToldHoweverShortItWas(t *testing.T) {
	t.Parallel()
	e := event{verbtest.New(t), t}
	env := e.env()
	service, err := env.System.Service(t.Context())
	e.must(nil, err)
	c := &factory{env: env, service: service}
	g := &guarded{factory: c, stats: map[string]string{}, sums: map[string]string{}}
	edit := func(text string) {
		t.Helper()
		e.must(nil, os.WriteFile(c.service.Board.Project.Instructions(), []byte(text), 0o644))
	}
	told := func(want ...string) {
		t.Helper()
		g.look(t.Context())
		entries, err := history.Journal{Path: c.service.Board.Project.Journal()}.Read(history.Filter{Action: "settings_changed"})
		e.must(nil, err)
		var got []string
		for _, one := range entries {
			got = append(got, one.Detail)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	told()
	edit("By a person.")
	told()
	end := c.runs.begin("coder-1", "task-1")
	edit("By the agent.")
	end()
	first := "instructions.md changed while coder-1 on task-1 ran"
	told(first)
	edit("By a person again.")
	told(first)

	// The run ends after the files were read: what it changed in between is the next look's.
	end = c.runs.begin("coder-2", "")
	over := c.runs.ended()
	g.files()
	edit("By the agent, at its end.")
	end()
	if got := c.runs.during(over); got != "coder-2" {
		t.Errorf("the runs are %q", got)
	}
	told(first, "instructions.md changed while coder-2 ran")
	if got := c.runs.during(nil); got != "" {
		t.Errorf("the runs of the next look are %q", got)
	}
}
