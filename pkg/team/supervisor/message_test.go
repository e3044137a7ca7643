package supervisor

import (
	"errors"
	"slices"
	"testing"
	"time"

	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

func TestAnExitCommandIsNoMessage(t *testing.T) {
	t.Parallel()
	const exit = `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "written"`
	for final, want := range map[string]string{
		exit + `, "text": "Dear Ada"}`: "Dear Ada",
		"Dear Ada\n" + exit + "}":      "Dear Ada",
		exit + "}":                     "",
		"Dear Ada\n":                   "Dear Ada",
	} {
		r := &run{answer: exitcmd.Read(final, "messenger"), result: agent.Result{Outcome: agent.Finished, Final: final}}
		if got := messageOf(r); got != want {
			t.Errorf("%q: the message is %q, want %q", final, got, want)
		}
	}
}

func TestWhatKeepsMergesIsToldOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	var told []string
	m := &merging{member: &member{Service: verb.New(&board.Session{}, worktree.Local), Print: func(l Line) { told = append(told, l.Text) }}}
	m.Service.Board.Now = time.Now
	for _, text := range []string{"no space", "no space", "no git", "no git", "", "no git"} {
		if text == "" {
			m.tellUnmerged(nil)
		} else {
			m.tellUnmerged(errors.Join(errors.New(text)))
		}
	}
	if want := []string{"cannot merge: no space", "cannot merge: no git", "cannot merge: no git"}; !slices.Equal(told, want) {
		t.Errorf("it told %q, want %q", told, want)
	}
}
