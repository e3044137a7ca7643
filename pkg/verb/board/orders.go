package board

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

// Control says why nothing new may start: "paused since T: reason", "" when open. ABORT
// wins over the others (specs/decisions.md#D15).
func (b *Session) Control() string {
	var s *blackboard.State
	if b.Shared() {
		s, _ = b.View(context.Background()) // without it the control files of this host count
	}
	return b.ControlOn(s)
}

// MergeControl is Control for merges, which go on while the sprint waits for its planner only.
func (b *Session) MergeControl() string {
	orders := b.Orders(nil)
	s, err := b.View(context.Background())
	if err == nil {
		orders = b.Orders(s)
	}
	switch {
	case len(orders) == 0, err == nil && len(orders) == 1 && orders[0].Control == project.Checkpoint && transition.PlannerIsStuck(s):
		return ""
	}
	return orders[0].String()
}

// ControlOn is Control for who has just looked at the board.
func (b *Session) ControlOn(s *blackboard.State) string {
	if orders := b.Orders(s); len(orders) > 0 {
		return orders[0].String()
	}
	return ""
}

// Orders are what stops work here, the one that wins first: control files, and on a board that several hosts share its own
// orders, which hold on all of them. There control files stop their host, and the sprint does not follow them.
func (b *Session) Orders(s *blackboard.State) []project.Order {
	files := b.Project.Controls().Orders()
	if !b.Shared() || s == nil {
		return files
	}
	var all []project.Order
	for _, o := range transition.Orders(s) {
		since, _ := o.Since.At()
		all = append(all, project.Order{Control: project.Control(o.Name), Since: since, Modified: since, Reason: o.Reason})
	}
	for _, f := range files {
		if !slices.ContainsFunc(all, func(o project.Order) bool { return o.Control == f.Control }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(x, y project.Order) int { return cmp.Compare(x.Control.Rank(), y.Control.Rank()) })
	return all
}

// SetControl makes a control file, where the board is a file of this host.
func (b *Session) SetControl(c project.Control, reason string) error {
	if b.Shared() {
		return nil
	}
	return b.Project.Controls().Set(c, reason, b.Now())
}

// OnlyPerson refuses agents: a control verb is for people.
func (b *Session) OnlyPerson(s *blackboard.State, a transition.Actor, what string) error {
	party, err := transition.Identify(s, a, b.Now())
	if err != nil {
		return err
	}
	if party&transition.ByHuman == 0 {
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", a.ID, what)}
	}
	return nil
}

// Rel is a path as people know it: relative to the project root.
func (b *Session) Rel(path string) string {
	if r, err := filepath.Rel(b.Project.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
