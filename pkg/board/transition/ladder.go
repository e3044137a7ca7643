package transition

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// incomplete are the outcomes of runs that failed to complete. A rejection is none of them, nor is an end that says nothing
// about the model: a quota, a provider out of reach, a person who stops the run.
var incomplete = blackboard.List{"crashed", "timeout", "stalled", "stopped", "context_full", "refused", "stuck", "invalid"}

// Incomplete reports whether that outcome of a run is a failure to complete, after which the next rung of a ladder is taken.
func Incomplete(outcome string) bool { return incomplete.Has(outcome) }

// NextRung returns the rung of the ladder of models for the next run of that kind on the task, from 1 to rungs, and why it is higher
// than that of the run before. It is read from the task's attempts and from nothing else, so no crash forgets it.
func NextRung(t *blackboard.Task, kind string, rungs, afterRejections int) (rung int, why string) {
	last, rejected := onLadder(t.Attempts, kind), 0
	if last == nil {
		return 1, ""
	}
	for _, a := range t.Attempts {
		if a.Kind == kind && a.Rung == last.Rung && a.Outcome == "rejected" && kind == string(blackboard.RoleCoder) {
			rejected++
		}
	}
	switch {
	case last.Rung >= rungs:
		return rungs, ""
	case Incomplete(last.Outcome):
		return last.Rung + 1, prose.FirstLine(last.Outcome + prose.After(": ", last.Summary))
	case afterRejections > 0 && rejected >= afterRejections:
		return last.Rung + 1, fmt.Sprintf("rejected %d times", rejected)
	}
	return last.Rung, ""
}

const (
	alike   = 3 // merged tasks of a kind, all above the bottom of the ladder, after which the next one begins there too
	trusted = 5 // tasks of a kind that began above the bottom in a row, after which one begins at the bottom again
)

// FirstRung returns the rung of the ladder of models for the first run of a coder on the task, from 1 to rungs, and why it is not
// the lowest: the newest merged tasks of its kind that began at the bottom all ended above it. Each sixth one tries the bottom again.
func FirstRung(s *blackboard.State, t *blackboard.Task, rungs int) (rung int, why string) {
	var began []int // the rungs on which those ended that began at the bottom, the newest last
	above := 0      // those that began above it since
	for other := range s.Tasks() {
		first, last := slices.IndexFunc(other.Attempts, onRung), LastRung(other, string(blackboard.RoleCoder))
		switch {
		case last == 0 || other == t || !sameKind(other, t):
		case other.Attempts[first].Rung > 1:
			above++
		case other.Status == blackboard.Merged:
			began, above = append(began, last), 0
		}
	}
	if len(began) < alike || above >= trusted {
		return 1, ""
	}
	if rung = min(rungs, slices.Min(began[len(began)-alike:])); rung > 1 {
		why = fmt.Sprintf("the last %d tasks of type %s%s ended on rung %d or above", alike, t.Type, prose.After(" in ", strings.Join(foldersOf(t), ", ")), rung)
	}
	return rung, why
}

// sameKind reports whether two tasks have the same type and a folder in common, or name no files.
func sameKind(a, b *blackboard.Task) bool {
	in := foldersOf(b)
	return a.Type == b.Type && (len(in)+len(a.Files) == 0 || slices.ContainsFunc(foldersOf(a), func(f string) bool { return slices.Contains(in, f) }))
}

// foldersOf returns the topmost folders of the files of a task.
func foldersOf(t *blackboard.Task) (list []string) {
	for _, f := range t.Files {
		top, _, below := strings.Cut(f, "/")
		if !below {
			top = "."
		}
		list = append(list, top)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// RungBefore returns the rung of the run of that kind before attempt i of the task, or 0.
func RungBefore(t *blackboard.Task, i int) int {
	if before := onLadder(t.Attempts[:i], t.Attempts[i].Kind); before != nil {
		return before.Rung
	}
	return 0
}

func onRung(a *blackboard.Attempt) bool { return a.Kind == string(blackboard.RoleCoder) && a.Rung > 0 }

// LastRung returns the rung of the task's newest run of that kind that has one, or 0.
func LastRung(t *blackboard.Task, kind string) int {
	if last := onLadder(t.Attempts, kind); last != nil {
		return last.Rung
	}
	return 0
}

// Climbed returns the outcome of the run for which attempt i of the task ran on a higher rung; "" when it did not.
func Climbed(t *blackboard.Task, i int) string {
	before := onLadder(t.Attempts[:i], t.Attempts[i].Kind)
	if before == nil || before.Rung >= t.Attempts[i].Rung {
		return ""
	}
	return before.Outcome
}

// onLadder returns the newest run of that kind that was on a ladder, or nil.
func onLadder(attempts []*blackboard.Attempt, kind string) *blackboard.Attempt {
	for i := len(attempts) - 1; i >= 0; i-- {
		if a := attempts[i]; a.Kind == kind && a.Rung > 0 {
			return a
		}
	}
	return nil
}
