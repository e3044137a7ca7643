package storetest

import (
	"fmt"
	"slices"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// place is where a task may be after the entries that were read: a status, and what the step that led there writes besides.
type place struct {
	status blackboard.Status
	rest   string // actions, each with a space behind it
}

// Trace reports why a journal, the oldest entry first, cannot come from steps of the transition table: the entries of each
// task have to be those of some path through it. A task whose beginning is not in the journal may begin anywhere, and so may all
// tasks after a person edited the board.
func Trace(entries []blackboard.Entry) error {
	at := map[string]map[place]bool{}
	for _, e := range entries {
		switch {
		case e.Action == blackboard.ActionEditedByHand, e.Action == blackboard.ActionRestored:
			clear(at)
			continue
		case e.Task == "" || !logged(e.Action):
			continue
		}
		now := at[e.Task]
		if now == nil {
			now = anywhere()
		}
		next := map[place]bool{}
		for p := range now {
			for _, to := range p.after(e.Action) {
				next[to] = true
			}
		}
		if len(next) == 0 {
			return fmt.Errorf("revision %d: %s by %s cannot be the next step of %s, which may be %v", e.Rev, e.Action, e.Agent, e.Task, now)
		}
		at[e.Task] = next
	}
	return nil
}

// logged reports whether steps of the table write an action.
func logged(action blackboard.Action) bool {
	return slices.ContainsFunc(transition.Rules, func(r transition.Rule) bool { return slices.Contains(r.Log, action) })
}

func anywhere() map[place]bool {
	all := map[place]bool{{}: true} // it does not exist yet
	for _, r := range transition.Rules {
		for _, s := range slices.Concat(r.From, []blackboard.Status{r.To}) {
			all[place{status: s}] = true
		}
	}
	return all
}

// after are the places to which an entry with an action may lead.
func (p place) after(action blackboard.Action) (to []place) {
	word := string(action) + " "
	if p.rest != "" {
		if len(p.rest) >= len(word) && p.rest[:len(word)] == word {
			to = append(to, place{p.status, p.rest[len(word):]})
		}
		return to
	}
	for _, r := range transition.Rules {
		fits := slices.Contains(r.From, p.status) || r.From == nil && p.status == ""
		if !fits || len(r.Log) == 0 || r.Log[0] != action {
			continue
		}
		next := place{status: p.status}
		if r.To != "" {
			next.status = r.To
		}
		for _, more := range r.Log[1:] {
			next.rest += string(more) + " "
		}
		to = append(to, next)
	}
	return to
}
