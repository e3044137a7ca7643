package blackboard

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The kinds of a MoveIntent.
const (
	MoveSync  = "sync"
	MoveAgain = "again"
)

// Tip returns the commit at which Liza left the integration branch, or "" if unknown: the board is older than this record.
func (s *State) Tip() string {
	if s.Integration == nil {
		return ""
	}
	return s.Integration.Tip
}

// ForeignTip reports whether tip, the present commit of the integration branch or "" if there is no branch, was not made by
// Liza. The target of an interrupted merge was.
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

// MovedText returns a line with tip, the present commit of the integration branch, and the commit at which Liza left it.
func MovedText(s *State, tip string) string {
	branch, known := s.IntegrationBranch(), ShortCommit(s.Tip())
	if tip == "" {
		return branch + " does not exist any more; Liza left it at " + known
	}
	return branch + " is at " + ShortCommit(tip) + ", which Liza did not make; Liza left it at " + known
}

// DecideTip returns the command for a person's decision about a branch that was moved to tip.
func DecideTip(tip string) string {
	if tip == "" {
		return "liza sync --restore"
	}
	return "liza sync --accept, or liza sync --restore"
}

// CheckQuestion returns the question of a kind (QuestionUnverified, QuestionUnable) about a command of a check, or nil if it was not
// asked, or is over.
func (s *State) CheckQuestion(kind, command string) *Question {
	for _, q := range s.Questions {
		if q.Kind == kind && q.Check == command && (q.Status == QuestionOpen || q.Status == QuestionAnswered) {
			return q
		}
	}
	return nil
}

// OfCheck reports whether the question is about a command of a check, so that a person alone answers it.
func (q *Question) OfCheck() bool { return q.Kind == QuestionUnverified || q.Kind == QuestionUnable }

// UnverifiedText returns how many merges of the tasks no check verified, or "" if none.
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

// A Gap is a field of a task that keeps the task from being claimed.
type Gap struct {
	Field string // done_when, spec_ref, …
	Wrong string // what is wrong with its value; "" if it has none
}

func (g Gap) String() string {
	switch {
	case g.Wrong == "":
		return "missing: " + g.Field
	case g.Field == "legacy_tests":
		return g.Wrong
	}
	return g.Field + " " + g.Wrong
}

// gaps is a list of gaps.
type gaps []Gap

func (g gaps) String() string {
	var texts []string
	for _, one := range g {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

// Gates applies the planner's self-validation gates to one task (specs/roles-and-knowledge.md#3.3, gate by gate, and 3.4 for
// done_when) and returns the gaps. It does not check whether the spec exists and whether the dependencies are
// sound.
func (t *Task) Gates() gaps {
	var bad gaps
	missing := func(name, value string) bool {
		if strings.TrimSpace(value) == "" {
			bad = append(bad, Gap{Field: name})
			return true
		}
		return false
	}
	missing("description", t.Description)
	missing("spec_ref", t.SpecRef)
	noCriterion := missing("done_when", t.DoneWhen)
	if !noCriterion && (t.ChangesFiles() || t.ReviewRequired) {
		if why := LintDoneWhen(t.DoneWhen, t.Description, t.TitleText()); why != "" {
			bad = append(bad, Gap{"done_when", why})
		}
	}
	if !t.ChangesFiles() {
		return bad
	}
	if !missing("scope", t.Scope) && sameText(t.Scope, t.Description) {
		bad = append(bad, Gap{"scope", "repeats the description; say what is in and what is out"})
	}
	if t.KindOf() == CodeTask && t.Type == "test" && strings.TrimSpace(t.LegacyTests) == "" {
		bad = append(bad, Gap{"legacy_tests", "tests belong to the task whose code they test; a task of its own needs legacy_tests, which says why"})
	}
	return bad
}

// vaguePhrases say little in a criterion: a warning names them.
var vaguePhrases = strings.Fields("properly correctly appropriately gracefully robust intuitive efficiently improved handled implemented")

// LintDoneWhen returns why a completion criterion says nothing, or "" if it may say something.
func LintDoneWhen(doneWhen, description, title string) string {
	if sameText(doneWhen, description) || sameText(doneWhen, title) {
		return "repeats the description: name an observable result"
	}
	return ""
}

// DoubtDoneWhen returns a warning about a criterion with a vague phrase, or "".
func DoubtDoneWhen(doneWhen string) string {
	for _, word := range strings.FieldsFunc(strings.ToLower(doneWhen), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains(vaguePhrases, word) {
			return "\"" + word + "\" says little; a reviewer will judge by the rest"
		}
	}
	return ""
}

// sameText compares two texts by their letters and digits.
func sameText(a, b string) bool { return plainText(a) == plainText(b) }

func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// HasTurn reports whether term is the term of the present turn.
func (i *Integration) HasTurn(term int) bool {
	return i != nil && i.Turn != nil && i.Turn.Term == term && i.Turn.Host != ""
}

// TurnOfAnother reports whether a host other than host merges now.
func (i *Integration) TurnOfAnother(host string, now time.Time) bool {
	if i == nil || i.Turn == nil || i.Turn.Host == "" || i.Turn.Host == host {
		return false
	}
	until, known := i.Turn.Until.At()
	return known && now.Before(until)
}
