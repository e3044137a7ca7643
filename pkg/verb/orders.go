package verb

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/transition"
)

// Control says why nothing new may start: "paused since T: reason", "" when open. ABORT
// wins over the others (specs/decisions.md#D15).
func (d *Service) Control() string {
	var s *blackboard.State
	if d.Shared() {
		s, _ = d.View(context.Background()) // without it the control files of this host count
	}
	return d.ControlOn(s)
}

// ControlOn is Control for who has just looked at the board.
func (d *Service) ControlOn(s *blackboard.State) string {
	if orders := d.Orders(s); len(orders) > 0 {
		return orders[0].String()
	}
	return ""
}

// Orders are what stops work here, the one that wins first: control files, and on a board that several hosts share its own
// orders, which hold on all of them. There control files stop their host, and the sprint does not follow them.
func (d *Service) Orders(s *blackboard.State) []project.Order {
	files := d.Project.Orders()
	if !d.Shared() || s == nil {
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
func (d *Service) SetControl(c project.Control, reason string) error {
	if d.Shared() {
		return nil
	}
	return d.Project.Set(c, reason, d.Now())
}

// maxNote is how many bytes a note may have. It goes into prompts, which have less room than
// that; what is longer belongs into a file of the repository.
const maxNote = 64 << 10

// OnlyPerson refuses agents: a control verb is for people.
func (d *Service) OnlyPerson(s *blackboard.State, a transition.Actor, what string) error {
	party, err := transition.Identify(s, a, d.Now())
	if err != nil {
		return err
	}
	if party&transition.ByHuman == 0 {
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", a.ID, what)}
	}
	return nil
}

// Rel is a path as people know it: relative to the project root.
func (d *Service) Rel(path string) string {
	if r, err := filepath.Rel(d.Project.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
