package transition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// attemptsOf reads "crashed@1 rejected@1 review:approved@2" as finished runs; a run without @ has no rung.
func attemptsOf(text string) *blackboard.Task {
	t := &blackboard.Task{ID: "task-1"}
	for _, word := range strings.Fields(text) {
		a := &blackboard.Attempt{Kind: "coder"}
		if rest, ok := strings.CutPrefix(word, "review:"); ok {
			a.Kind, word = "code_reviewer", rest
		}
		var at string
		if a.Outcome, at, _ = strings.Cut(word, "@"); at != "" {
			fmt.Sscan(at, &a.Rung)
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

// Every outcome on every rung: what failed to complete takes the next rung, one at a time and as far as the list goes; anything
// else stays, rejections too unless a person says how many.
func TestARungFollowsEachFailureToComplete(t *testing.T) {
	t.Parallel()
	failures := []string{"crashed", "timeout", "stalled", "stopped", "context_full", "refused", "stuck", "invalid"}
	others := []string{"finished", "reask", "submitted", "approved", "rejected", "merged", "blocked", "retry", "killed", "lapsed", "released", "quota",
		"asked", "rate_limit", "overloaded", "network", "unusable", ""}
	for _, outcome := range slices.Concat(failures, others) {
		for rungs := 1; rungs <= 4; rungs++ {
			for on := 1; on <= rungs; on++ {
				for after := 0; after <= 2; after++ {
					for rejections := 0; rejections <= 3; rejections++ {
						task := attemptsOf(strings.Repeat(fmt.Sprintf("rejected@%d review:rejected@%d ", on, on), rejections) + fmt.Sprintf("%s@%d lapsed", outcome, on))
						n := rejections
						if outcome == "rejected" {
							n++
						}
						want := on
						if on < rungs && (slices.Contains(failures, outcome) || after > 0 && n >= after) {
							want++
						}
						got, why := transition.NextRung(task, "coder", rungs, after)
						if got != want || (why != "") != (want > on) {
							t.Errorf("%q on rung %d of %d, %d rejections of %d: rung %d %q, want %d", outcome, on, rungs, n, after, got, why, want)
						}
					}
				}
			}
		}
	}
}

func TestARungIsReadFromTheAttempts(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[string]int{
		"":                                    1,
		"crashed":                             1, // without a ladder, as today
		"crashed@1 crashed":                   2, // what was begun again says nothing
		"crashed@1 timeout@2":                 3,
		"crashed@1 timeout@2 crashed@3":       3,
		"crashed@1 lapsed released":           2, // its supervisor died
		"crashed@1 rejected@2 review:stuck@1": 2,
		"crashed@1 rejected@2 rejected@2":     2,
		"crashed@9":                           3, // a ladder that was shortened
		"rejected@2 crashed@2":                3, // the first runs have left the board
	} {
		if got, _ := transition.NextRung(attemptsOf(attempts), "coder", 3, 0); got != want {
			t.Errorf("after %q the next run is on rung %d, want %d", attempts, got, want)
		}
	}
	task := attemptsOf("crashed@1 submitted@2 review:approved@2")
	if got := fmt.Sprint(transition.Climbed(task, 0), transition.Climbed(task, 1), transition.Climbed(task, 2), transition.LastRung(task, "coder"), transition.LastRung(task, "planner")); got != "crashed2 0" {
		t.Errorf("the runs climbed after %s", got)
	}
}
