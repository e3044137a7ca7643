package transition

import (
	"slices"

	"liza/pkg/blackboard"
)

// commented are findings and the open comments on a task.
func commented(s *blackboard.State, t *blackboard.Task, findings []*blackboard.Finding) []*blackboard.Finding {
	list := slices.Clone(findings)
	for _, n := range s.OpenComments(t) {
		list = append(list, n.Finding())
	}
	return list
}

// mayComment refuses a comment on work that is decided about.
func mayComment(t *blackboard.Task) error {
	switch a := t.MergeApproval; {
	case t.Status.Terminal():
		return refuse("G06", ExitRefused, "liza note TEXT", "task %s is %s: nobody works on it any more", t.ID, t.Status)
	case t.Status == blackboard.Approved && a != nil && a.Decision == blackboard.GateApproved:
		return refuse("G06", ExitRefused, "liza note TEXT", "the merge of %s was approved by %s", t.ID, a.By)
	case t.MergeIntent != nil:
		return refuse("G06", ExitRefused, "liza note TEXT", "%s is being merged", t.ID)
	}
	return nil
}

// seeComments is the reason of a person who has said what is wrong in comments.
const seeComments = "see the comments"
