package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// wrong lists the statuses that Liza does not know: with one of them, nothing else that is shown
// can be relied on. The rest is what `liza validate` is for.
func (b builder) wrong() []string {
	var list []string
	add := func(what, status string, known []string) {
		text := fmt.Sprintf("%s has the unknown status '%s'", what, status)
		if near := blackboard.Nearest(status, known); near != "" {
			text += "; nearest: " + near
		}
		list = append(list, text)
	}
	var statuses []string
	for _, s := range blackboard.Statuses {
		statuses = append(statuses, string(s))
	}
	for t := range b.s.Tasks() {
		if !t.Status.Known() {
			add("task "+t.ID, string(t.Status), statuses)
		}
	}
	goals := []string{blackboard.InProgress, blackboard.Completed, blackboard.Aborted}
	if g := b.s.Goal; g != nil && g.Status != "" && !slices.Contains(goals, g.Status) {
		add("the goal", g.Status, goals)
	}
	sprints := append(goals, blackboard.AtCheckpoint)
	if sp := b.s.Sprint; sp != nil && sp.Status != "" && !slices.Contains(sprints, sp.Status) {
		add("the sprint", sp.Status, sprints)
	}
	return list
}

// gaveUp leaves out what is settled: the goal is reached, or the task is done.
func (b builder) gaveUp() []GaveUp {
	list := []GaveUp{}
	if b.s.Goal == nil || b.s.Goal.Status != blackboard.InProgress {
		return list
	}
	for _, g := range b.f.GaveUp {
		if t := b.s.Task(g.Task); t == nil && g.Task != "" || t != nil && t.Status.Terminal() {
			continue
		}
		list = append(list, g)
	}
	return list
}

// crashes tells of tasks whose last run ended by a crash. A blocked one says so itself.
func (b builder) crashes() []string {
	var list []string
	for t := range b.s.Tasks() {
		if t.Status.Terminal() || t.Status == blackboard.Blocked || len(t.Attempts) == 0 {
			continue
		}
		n := 0
		for _, a := range slices.Backward(t.Attempts) {
			if a == nil || a.Outcome != crashed {
				break
			}
			n++
		}
		if n == 0 {
			continue
		}
		last := t.Attempts[len(t.Attempts)-1]
		times := "the last run"
		if n > 1 {
			times = fmt.Sprintf("the last %d runs", n)
		}
		list = append(list, fmt.Sprintf("%s: %s crashed (%s): %s; liza show %s", t.ID, times, cmp.Or(last.Agent, "an agent"), cmp.Or(strings.TrimSpace(last.Summary), "without a word"), t.ID))
	}
	return list
}

// crashed is the outcome of an attempt whose program ended by itself without an answer.
const crashed = "crashed"
