package dashboard

import (
	"fmt"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
)

// reasonInLists is how many characters of a reason a list has; liza show has all of it.
const reasonInLists = 160

// board returns the points that wait for a person, and warnings, from the findings about the board.
func (b builder) board() (waits []Waiting, warnings []string) {
	f := findings.Observation{Now: b.f.Now, State: b.s, Process: b.f.Process, ReviewMode: b.f.ReviewMode, HumanReview: b.f.HumanReview, Tip: b.f.Tip, NoProgram: b.f.NoProgram}
	f.Triggers.HumanReview = b.f.HumanReview
	for _, c := range b.f.Control {
		f.Orders = append(f.Orders, project.Order{Control: project.Control(c.Name), Since: c.Since, Reason: c.Reason})
	}
	found, odd := findings.Board(f)
	waits = []Waiting{}
	for _, x := range found {
		w := Waiting{Kind: x.Wait(), Text: x.Text, Questions: x.Questions, Next: x.Next}
		if t := b.s.Task(x.Subject); t != nil {
			w.Task = t.ID
			if x.Kind == blackboard.AlertBlocked {
				w.Text = fmt.Sprintf("blocked (%s): %s", t.BlockedFor().Words(), prose.OneLine(t.BlockedReason, reasonInLists))
			}
		}
		waits = append(waits, w)
	}
	for _, x := range odd {
		warnings = append(warnings, x.String())
	}
	return waits, warnings
}

// gaveUp removes settled cases: the goal is reached, or the task is done.
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
