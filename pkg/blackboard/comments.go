package blackboard

import (
	"slices"
	"strings"
)

// A comment is a note of a person about a change: a task's, at a commit of it, as a rule at a line. It is open until the coder
// submits another commit; work with open comments is merged by a person's decision only, and they are among the
// findings of the rejection that sends it back.

// commentCheck comes before the name of who commented, in the place of a check.
const commentCheck = "comment of "

// IsComment reports whether the note is about a change.
func (n *Note) IsComment() bool { return n.Commit != "" }

// Finding is a comment as coders and views get it.
func (n *Note) Finding() *Finding {
	return &Finding{Severity: "error", Check: commentCheck + n.By, File: n.File, Line: n.Line, Message: n.Message}
}

// Commenter is who commented, for a finding that was made from a comment.
func (f *Finding) Commenter() (name string, ok bool) { return strings.CutPrefix(f.Check, commentCheck) }

// OpenComments are the comments on a task that no submission came after.
func (s *State) OpenComments(t *Task) []*Note {
	var list []*Note
	submitted := t.TimeOfLast(HistoryReadyForReview, HistorySubmittedForReview)
	last, _ := submitted.At()
	for _, n := range s.HumanNotes {
		if n == nil || n.For != t.ID || !n.IsComment() {
			continue
		}
		at, ok := n.Timestamp.At()
		if n.Commit == t.ReviewCommit || ok && at.After(last) {
			list = append(list, n)
		}
	}
	return list
}

// RejectedFor reports whether the last rejection of the task tells a comment.
func (t *Task) RejectedFor(n *Note) bool {
	return t.RejectionReason != nil && n.IsComment() && slices.ContainsFunc(t.RejectionReason.Findings, func(f *Finding) bool {
		return f != nil && *f == *n.Finding()
	})
}
