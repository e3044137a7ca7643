package agent

import (
	"slices"
	"testing"
	"time"
)

func TestUnfinishedLinesThatAsk(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		kind    string
		options []string
	}{
		"Apply? [y/N]":                              {kind: "confirmation"},
		"Overwrite hello.txt (yes/no)? ":            {kind: "confirmation"},
		"\x1b[32m?\x1b[0m Do you want to continue?": {kind: "confirmation"},
		"drawn\rand again: Proceed? ":               {kind: "confirmation"},
		"Allow this tool to run `make`? ":           {kind: "permission"},
		"Which one? [red/green, blue] ":             {kind: "choice", options: []string{"red", "green", "blue"}},
		"Password for ada: ":                        {kind: "input"},
		"":                                          {},
		"What next?":                                {},
		"Building factory/network ...":              {},
		"compiling pkg/entry/note":                  {},
		`{"type":"text","text":"Proceed? [y/N]`:     {},
		"Token count: 17":                           {},
	} {
		got := asked(line)
		switch {
		case want.kind == "" && got != nil:
			t.Errorf("%q is taken for %+v", line, got)
		case want.kind != "" && (got == nil || got.Type != want.kind || !slices.Equal(got.Options, want.options)):
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
}

func TestAProgramThatWaitsForAnAnswerIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	var seconds float64
	for range 3 { // a machine that is busy elsewhere is given another chance
		mark := testMark(t)
		res := Run(t.Context(), script(`echo "Shall I look again?"; printf "Apply? [y/N] "; trap "" TERM; while :; do sleep 1; done`),
			Spec{Env: []string{mark}, Timeout: time.Minute, Stall: time.Minute})
		if res.Outcome != Asked || res.Question == nil || res.Question.Type != "confirmation" || res.Question.Text != "Apply? [y/N]" || len(res.Left) > 0 {
			t.Fatalf("got %+v, want the question", res)
		}
		wantNothingLeft(t, mark)
		if seconds = res.Seconds; seconds < askSilence.Seconds() {
			t.Fatalf("stopped after %.1f s; it may still have had something to say", seconds)
		} else if seconds <= 6 {
			return
		}
	}
	t.Errorf("stopped after %.1f s, want at most 6", seconds)
}

func TestAWholeLineIsNoQuestion(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script(`echo "Apply the change? [y/N]"; sleep 6; echo done`), Spec{Timeout: time.Minute, Stall: time.Minute})
	if res.Outcome != Finished || res.Question != nil {
		t.Errorf("got %+v, want finished", res)
	}
}
