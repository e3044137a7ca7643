package blackboard

import "fmt"

// MoveKinds are the kinds of MoveIntent.
const (
	MoveSync  = "sync"
	MoveAgain = "again"
)

// Tip is where Liza left the integration branch, "" when that is not known: the board is older
// than this record.
func (s *State) Tip() string {
	if s.Integration == nil {
		return ""
	}
	return s.Integration.Tip
}

// ForeignTip reports whether the integration branch is where Liza did not put it; tip is ""
// when the branch does not exist. A tip that is the intent of an interrupted merge is Liza's.
func (s *State) ForeignTip(tip string) bool {
	known := s.Tip()
	if known == "" || tip == known {
		return false
	}
	if i := s.Integration.Intent; i != nil && i.Commit == tip && i.Old == known {
		return false
	}
	for t := range s.Tasks() {
		if i := t.MergeIntent; i != nil && t.Status == Approved && i.Commit == tip && i.Old == known {
			return false
		}
	}
	return true
}

// MovedText says in one line where the branch is instead of where Liza left it.
func MovedText(s *State, tip string) string {
	branch, known := s.IntegrationBranch(), ShortCommit(s.Tip())
	if tip == "" {
		return branch + " does not exist any more; Liza left it at " + known
	}
	return branch + " is at " + ShortCommit(tip) + ", which Liza did not make; Liza left it at " + known
}

// DecideTip is the command for a branch that was moved.
func DecideTip(tip string) string {
	if tip == "" {
		return "liza integration restore"
	}
	return "liza integration accept, or liza integration restore"
}

// UnverifiedQuestion returns the question whether work may be merged that a command has not verified, or nil: it was not asked,
// or the command has passed since.
func (s *State) UnverifiedQuestion(command string) *Question {
	for _, q := range s.Questions {
		if q != nil && q.Kind == QuestionUnverified && q.Check == command && (q.Status == QuestionOpen || q.Status == QuestionAnswered) {
			return q
		}
	}
	return nil
}

// UnverifiedText says how many of the merges of tasks were not verified by the checks, "" for none.
func UnverifiedText(tasks []*Task) string {
	merged, bare := 0, 0
	for _, t := range tasks {
		if t.Status == Merged && t.ChangesFiles() {
			merged++
			if len(t.Unverified) > 0 {
				bare++
			}
		}
	}
	if bare == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d merges not verified", bare, merged)
}
