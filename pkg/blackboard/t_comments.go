package blackboard

import (
	"slices"
)

// commented are findings and the open comments on a task.
func (s *State) commented(t *Task, findings []*Finding) []*Finding {
	list := slices.Clone(findings)
	for _, n := range s.OpenComments(t) {
		list = append(list, n.Finding())
	}
	return list
}

// mayComment refuses a comment on work that is decided about.
func (t *Task) mayComment() error {
	switch a := t.MergeApproval; {
	case t.Status.Terminal():
		return refuse("G06", ExitRefused, "liza note TEXT", "task %s is %s: nobody works on it any more", t.ID, t.Status)
	case t.Status == Approved && a != nil && a.Decision == "approved":
		return refuse("G06", ExitRefused, "liza note TEXT", "the merge of %s was approved by %s", t.ID, a.By)
	case t.MergeIntent != nil:
		return refuse("G06", ExitRefused, "liza note TEXT", "%s is being merged", t.ID)
	}
	return nil
}
