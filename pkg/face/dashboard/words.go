package dashboard

import (
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/team/findings"
)

// Views are the vocabularies of status and show (specs/roles-and-knowledge.md#11). Liza's own status is the truth; the others
// are for reading only.
var Views = []string{"liza", "logist", "coven", "kiso"}

// ViewStatus returns the status of t in a vocabulary. It assumes that a review claim is live; Build looks at the lease.
func ViewStatus(t *blackboard.Task, view string) string {
	return viewStatus(t, view, t.ReviewingBy != "")
}

func viewStatus(t *blackboard.Task, view string, liveReview bool) string {
	info, held := t.Status.Info(), t.Hold != nil && !t.Status.Terminal()
	switch view {
	case "logist":
		return history.JobState(t, liveReview)
	case "coven":
		if held {
			return "paused"
		}
		if findings.AwaitsMerge(t) {
			return "pending_merge"
		}
		return info.Coven
	case "kiso":
		if held {
			return "pending"
		}
		if t.Status == blackboard.Blocked && t.BlockedKind == blackboard.BlockedForReplan {
			return "replan"
		}
		return info.Kiso
	}
	return string(t.Status)
}

// column is the vocabulary's place in the tables, -1 for Liza's own and unknown ones.
func column(view string) int {
	for i, v := range Views[1:] {
		if v == view {
			return i
		}
	}
	return -1
}

// words are the other names, in the order logist, coven, kiso.
var words = map[string][3]string{
	"task":          {"job", "task", "task"},
	"coder":         {"Worker", "agent", "worker"},
	"code_reviewer": {"Supervisor", "review agent", "reviewer"},
	"planner":       {"Planner", "planner", "planner"},
	"human":         {"Steward", "developer", "user"},
	"messenger":     {"-", "-", "worker"},
	"summarizer":    {"-", "-", "summarizer"},
	"done_when":     {"acceptance", "acceptance criteria", "expect"},
	"description":   {"objective", "description", "detail"},
	"ok":            {"COMPLETED", "PASS", "ok"},
	"needs_fix":     {"RETRY", "FAIL", "needs_fix"},
}

// Word translates a name of Liza to a vocabulary; a name without translation stays.
func Word(name, view string) string {
	if col := column(view); col >= 0 {
		if w, ok := words[name]; ok {
			return w[col]
		}
	}
	return name
}

// InWords formats a task with the names of a vocabulary; status is the task's status in it.
func InWords(t *blackboard.Task, view, status string) string {
	rows := [][2]string{{Word("task", view), t.ID}, {"status", status}, {Word("description", view), t.Description}, {Word("done_when", view), t.DoneWhen}}
	who := func(role, id string) {
		if id != "" {
			rows = append(rows, [2]string{Word(role, view), id})
		}
	}
	coder := t.AssignedTo
	if name := t.RoleName(); name != "" && view == "coven" && coder != "" {
		coder += " (" + name + ")"
	}
	who("coder", coder)
	reviewer, verdict := t.ReviewingBy, ""
	if r := t.WholeReview(); r != nil {
		if verdict = Word(r.Status, view); reviewer == "" {
			reviewer = r.By
		}
	}
	who("code_reviewer", reviewer)
	if verdict != "" {
		rows = append(rows, [2]string{"verdict", verdict})
	}
	p, widest := &page{width: 100}, 0
	for _, r := range rows {
		widest = max(widest, len(r[0]))
	}
	p.title("In the words of " + view)
	for _, r := range rows {
		line, _, _ := strings.Cut(strings.TrimSpace(r[1]), "\n")
		p.line(strings.TrimRight("  "+pad(r[0], widest)+"  "+plain(line), " "))
	}
	return p.b.String()
}

// viewRole is the role of an agent in a vocabulary; that of Coven names a coder by its role.
func (b builder) viewRole(a *blackboard.Agent) string {
	word := Word(string(a.Role), b.f.Vocabulary)
	if t := b.s.Task(a.CurrentTask); b.f.Vocabulary == "coven" && a.Role == blackboard.RoleCoder && t != nil && t.ResolvedRole != nil {
		word += " (" + t.ResolvedRole.Name + ")"
	}
	return word
}

// day and clock format a time of the board for people, in UTC; other texts stay as they are.
func day(t blackboard.Time) string { return formatted(t, "2 January 2006, 15:04 UTC") }

func clock(t blackboard.Time) string { return formatted(t, "2 Jan 15:04") }

func formatted(t blackboard.Time, layout string) string {
	at, ok := t.At()
	if !ok {
		return string(t)
	}
	return at.UTC().Format(layout)
}

// period is from when to when, without saying the day twice.
func period(from, to blackboard.Time) string {
	a, ok := from.At()
	b, ok2 := to.At()
	switch {
	case !ok && !ok2:
		return ""
	case !ok || !ok2 || a.Equal(b):
		return day(from)
	case a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour)):
		return a.UTC().Format("2 January 2006, 15:04") + " to " + b.UTC().Format("15:04 UTC")
	}
	return a.UTC().Format("2 January 2006, 15:04") + " to " + day(to)
}
