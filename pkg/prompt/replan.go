package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// The four blocks of a replan (specs/roles-and-knowledge.md#5.8).

// chain are the plans of the chain of the plan in force, oldest first.
func (in *Input) chain() []*blackboard.Plan {
	if in.State.Goal == nil {
		return nil
	}
	now := transition.Plan(in.State, in.State.Goal.PlanID)
	if now == nil {
		return nil
	}
	root := cmp.Or(now.Root, now.ID)
	var list []*blackboard.Plan
	for _, p := range in.State.Plans {
		if p != nil && cmp.Or(p.Root, p.ID) == root {
			list = append(list, p)
		}
	}
	return list
}

func (in *Input) inChain(t *blackboard.Task) bool {
	for _, p := range in.chain() {
		if t.Plan == p.ID || p.Tasks.Has(t.ID) {
			return true
		}
	}
	return false
}

func (in *Input) completed() string {
	var l lines
	for t := range in.State.Tasks() {
		if t.Status == blackboard.Merged && in.inChain(t) {
			l.add("- %s: %s%s", t.ID, oneLine(t.Description, 500), after(" → ", result(t, 500)))
		}
	}
	return l.String()
}

// result is what came out of a task: its output, else its last summary.
func result(t *blackboard.Task, n int) string {
	if t.Output != nil && t.Output.Text != "" {
		return oneLine(t.Output.Text, n)
	}
	text, _ := t.LastSummary()
	return oneLine(text, n)
}

func (in *Input) remaining() string {
	var l lines
	for t := range in.State.Tasks() {
		if t.Status.Terminal() || !in.inChain(t) || in.failed(t) {
			continue
		}
		work := ""
		switch t.Status {
		case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved:
			work = ", in work"
		}
		l.add("- %s (%s%s): %s", t.ID, t.Status, work, oneLine(t.Description, 300))
	}
	return l.String()
}

// failed reports whether the task is one that the replan is about.
func (in *Input) failed(t *blackboard.Task) bool {
	for _, trigger := range in.Triggers {
		if trigger.Kind != transition.TriggerReplan && trigger.Kind != transition.TriggerHypothesisExhausted {
			continue
		}
		for _, id := range trigger.IDs {
			if id == t.ID {
				return true
			}
		}
	}
	return false
}

func (in *Input) failure() string {
	var l lines
	for t := range in.State.Tasks() {
		if !in.failed(t) {
			continue
		}
		l.add("%s: %s", t.ID, oneLine(t.Description, 500))
		l.named("done when", oneLine(t.DoneWhen, 500))
		reason := t.BlockedReason
		if t.Review != nil && t.Review.Reason != "" {
			reason = t.Review.Reason
		}
		l.named("reason", oneLine(reason, 1000))
		l.named("result", result(t, 2000))
	}
	return l.String()
}

func (in *Input) replanHistory() string {
	var l lines
	for _, p := range in.chain() {
		if p.Failure == nil && len(p.Tried) == 0 {
			continue
		}
		why := ""
		if p.Failure != nil {
			why = fmt.Sprintf("; failed at %s: %s", cmp.Or(p.Failure.Task, "planning"), oneLine(p.Failure.Reason, 300))
		}
		l.add("- %s: %s%s", p.ID, oneLine(p.Goal, 200), why)
		if len(p.Tried) > 0 {
			l.add("  tried: %s", oneLine(strings.Join(p.Tried, "; "), 500))
		}
	}
	return l.String()
}
