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

// A task begins where the newest three of its kind ended that began at the bottom; each sixth one tries the bottom again. Its kind is
// its type, and a folder that its files have in common.
func TestATaskBeginsWhereOthersOfItsKindEnded(t *testing.T) {
	t.Parallel()
	merged := func(attempts string, files ...string) *blackboard.Task {
		x := attemptsOf(attempts)
		x.Type, x.Status, x.Files = "docs", blackboard.Merged, files
		return x
	}
	change := func(x *blackboard.Task, do func(*blackboard.Task)) *blackboard.Task { do(x); return x }
	up := "crashed@1 merged@2"
	three := []*blackboard.Task{merged(up), merged(up), merged(up)}
	five := []*blackboard.Task{merged("merged@2"), merged("merged@2"), merged("merged@2"), merged("merged@2"), merged("merged@2")}
	for name, c := range map[string]struct {
		others []*blackboard.Task
		files  []string
		want   int
	}{
		"nothing is known":         {nil, nil, 1},
		"two are too few":          {three[:2], nil, 1},
		"three on rung 2":          {three, nil, 2},
		"the lowest of them":       {[]*blackboard.Task{merged("crashed@1 crashed@2 merged@3"), merged("crashed@1 crashed@2 merged@3"), merged(up)}, nil, 2},
		"on rung 3":                {[]*blackboard.Task{merged(up), merged("stuck@1 stuck@2 merged@3"), merged("stuck@1 stuck@2 merged@3"), merged("stuck@1 stuck@2 merged@3")}, nil, 3},
		"one did it at the bottom": {append(slices.Clone(three), merged("merged@1")), nil, 1},
		"long ago":                 {append([]*blackboard.Task{merged("merged@1")}, three...), nil, 2},
		"five began there":         {append(slices.Clone(three), five...), nil, 1},
		"four did":                 {append(slices.Clone(three), five[1:]...), nil, 2},
		"the trial failed":         {append(append(slices.Clone(three), five...), merged(up)), nil, 2},
		"the trial did well":       {append(append(slices.Clone(three), five...), merged("merged@1")), nil, 1},
		"others are not merged":    {append(slices.Clone(three[:2]), change(merged(up), func(x *blackboard.Task) { x.Status = blackboard.Blocked })), nil, 1},
		"another type":             {append(slices.Clone(three[:2]), change(merged(up), func(x *blackboard.Task) { x.Type = "bug" })), nil, 1},
		"no ladder there":          {append(slices.Clone(three[:2]), merged("crashed merged")), nil, 1},
		"reviews do not count":     {append(slices.Clone(three), merged("merged@1 review:approved@2")), nil, 1},
		"files elsewhere":          {three, []string{"web/a.ts"}, 1},
		"the same folder":          {[]*blackboard.Task{merged(up, "web/b.ts"), merged(up, "api/x", "web/**"), merged(up, "web/c/d.ts")}, []string{"web/a.ts"}, 2},
		"another folder":           {[]*blackboard.Task{merged(up, "web/b.ts"), merged(up, "web/**"), merged(up, "api/x")}, []string{"web/a.ts"}, 1},
		"at the top":               {[]*blackboard.Task{merged(up, "a.md"), merged(up, "b.md"), merged(up, "c.md")}, []string{"d.md"}, 2},
	} {
		task := &blackboard.Task{ID: "new", Type: "docs", Files: c.files}
		s := &blackboard.State{}
		for i, x := range append(slices.Clone(c.others), task) {
			if x != task {
				x.ID = fmt.Sprintf("other-%d", i)
			}
			s.AddTasks(x)
		}
		if got, why := transition.FirstRung(s, task, 3); got != c.want || (why != "") != (c.want > 1) {
			t.Errorf("%s: begins on rung %d %q, want %d", name, got, why, c.want)
		}
		if got, _ := transition.FirstRung(s, task, 2); got > 2 {
			t.Errorf("%s: rung %d of 2", name, got)
		}
	}
}
