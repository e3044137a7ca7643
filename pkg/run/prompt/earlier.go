package prompt

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"liza/pkg/board/blackboard"
)

// earlier has the events before this run on the same task: notes, answers, handoff, attempts, and the rejection.
type earlier struct {
	kind  Kind
	state *blackboard.State
	task  *blackboard.Task // nil for a planner and a summarizer
	root  string           // absolute path of the project
	most  int              // most runs in the prompt
}

func earlierOf(in *Input) earlier {
	return earlier{in.Kind, in.State, in.Task, in.Root, count(in.PriorAttempts, 5)}
}

// before returns the text function of a section about earlier events.
func before(text func(earlier) string) func(*Input) string {
	return func(in *Input) string { return text(earlierOf(in)) }
}

func (e earlier) taskNotes() string {
	var l lines
	for _, n := range e.state.HumanNotes {
		if n.For == e.task.ID && !n.Liza() && !e.task.RejectedFor(n) {
			again := ""
			if n.Receipt != nil && (n.Receipt.Moved != "" || !n.Queued()) {
				again = " (an earlier run had it, or may have)"
			}
			l.add("- %s%s%s%s: %s", n.ID, after(" by ", n.By), commentPlace(n), again, strings.TrimSpace(n.Message))
		}
	}
	return l.String()
}

// commentPlace returns the place of a comment on a change, or "" for a note.
func commentPlace(n *blackboard.Note) string {
	if !n.IsComment() {
		return ""
	}
	place := n.File
	if n.Line > 0 {
		place += fmt.Sprintf(":%d", n.Line)
	}
	return fmt.Sprintf(" on %s of commit %.9s", cmp.Or(place, "the change"), n.Commit)
}

// answers returns the answered questions of the task, also those that an earlier run got: a fresh process does not know them.
func (e earlier) answers() string {
	var l lines
	for _, q := range e.state.Questions {
		if q.Task == e.task.ID && q.Answer != "" {
			l.add("- %s\n  answer%s: %s", oneLine(q.Text, 500), after(" by ", q.By), strings.TrimSpace(q.Answer))
		}
	}
	return l.String()
}

// handoffOf returns the handoff of an agent of the same kind, unless a submission or verdict came after it.
func (e earlier) handoffOf() *blackboard.Handoff {
	if e.task == nil {
		return e.plannerHandoff()
	}
	h := e.state.Handoff[e.task.ID]
	if h == nil {
		return nil
	}
	if role, _, ok := blackboard.ParseAgentID(h.Agent); ok && string(role) != string(e.kind) {
		return nil
	}
	for i := len(e.task.History) - 1; i >= 0; i-- {
		switch e.task.History[i].Event {
		case blackboard.HistoryHandoff:
			return h
		case blackboard.HistoryReadyForReview, blackboard.HistorySubmittedForReview, blackboard.HistoryRejected, blackboard.HistoryApproved, blackboard.HistoryUnblocked:
			return nil
		}
	}
	return h
}

// plannerHandoff returns the handoff of a planner that no run has continued.
func (e earlier) plannerHandoff() *blackboard.Handoff {
	if h := e.state.Handoff["_planner"]; h != nil && e.kind == Planner && h.ConsumedBy == "" {
		return h
	}
	return nil
}

func (e earlier) handoffLead() string {
	if e.handoffOf() == nil {
		return ""
	}
	return "An agent before you ran out of context. Go on where it stopped; check what it says against the worktree."
}

func (e earlier) handoff() string {
	h := e.handoffOf()
	if h == nil {
		return ""
	}
	var l lines
	l.named("Summary", h.Summary)
	l.named("Next action", h.NextAction)
	l.named("Approach", h.Approach)
	l.named("Blockers", h.Blockers)
	l.named("Files modified", strings.Join(h.FilesModified, ", "))
	for _, s := range h.NextSteps {
		l.add("- %s", s)
	}
	return l.String()
}

// priorAttempts describes earlier runs, newest first.
func (e earlier) priorAttempts() string {
	all := e.task.Attempts
	var l lines
	for i := len(all) - 1; i >= 0 && i >= len(all)-e.most; i-- {
		a := all[i]
		if a == nil {
			continue
		}
		l.add("%d. %s (%s): %s%s", a.Seq, cmp.Or(a.Agent, "somebody"), cmp.Or(a.Role, cmp.Or(a.Kind, "coder")), cmp.Or(a.Outcome, a.Action), after(": ", oneLine(a.Summary, 500)))
		if why := e.rejectedFor(a); why != "" {
			l.add("   rejected: %s", why)
		}
		if a.Attic != "" {
			l.add("   uncommitted work was saved: git show %s", a.Attic)
		}
	}
	return l.String()
}

// rejectedFor is the reason of the rejection of that attempt's commit.
func (e earlier) rejectedFor(a *blackboard.Attempt) string {
	for _, h := range e.task.History {
		if h.Event == blackboard.HistoryRejected && h.Commit != "" && h.Commit == a.Commit {
			return oneLine(h.Reason, 500)
		}
	}
	return ""
}

func (e earlier) rejectionLead() string {
	t := e.task
	switch {
	case t.RejectionReason == nil:
		return ""
	case e.kind == Reviewer:
		return fmt.Sprintf("Review number %d. Say of each numbered point in `prior` whether it is RESOLVED, PARTIAL or STILL PRESENT, with evidence; write the last as STILL_PRESENT.", t.ReviewCyclesTotal+1)
	}
	return fmt.Sprintf("The work on this task was rejected %s. Address every numbered point as it is written, then submit again with a new commit.", times(t.ReviewCyclesTotal))
}

func times(n int) string {
	if n <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// rejection is the reason with its points, numbered as the next verdict has to name them:
// the fixes that were asked for, else the findings, else the reason itself.
func (e earlier) rejection() string {
	r := e.task.RejectionReason
	if r == nil {
		return ""
	}
	var l lines
	switch fixes := e.task.Fixes; {
	case len(fixes) > 0:
		l.named("Reason", r.Summary)
		told := map[*blackboard.Finding]bool{}
		for _, f := range fixes {
			l.add("%d. %s", f.N, fixText(f, r.Findings, told))
		}
		for _, f := range r.Findings {
			if !told[f] {
				l.add("- also: %s", findingText(f))
			}
		}
	case len(r.Findings) > 0:
		l.named("Reason", r.Summary)
		for i, f := range r.Findings {
			l.add("%d. %s", i+1, findingText(f))
		}
	default:
		l.add("1. %s", r.Summary)
	}
	for _, c := range r.Checks {
		if c != nil {
			l.add("- check %s", checkText(e.root, c))
		}
	}
	for _, p := range r.Prior {
		if p != nil {
			l.add("- point %d of the rejection before was %s", p.N, strings.ReplaceAll(string(p.State), "_", " "))
		}
	}
	l.named("Anomalies recorded by the reviewer", strings.Join(r.Anomalies, ", "))
	return l.String()
}

// fixText is one corrective step; the finding that it was made from gives the place.
func fixText(f *blackboard.Fix, findings []*blackboard.Finding, told map[*blackboard.Finding]bool) string {
	for _, x := range findings {
		if x.Message == f.Detail && !told[x] {
			told[x] = true
			return findingText(x) + fixResult(f)
		}
	}
	text := f.Detail
	if f.Kind != "" && f.Kind != blackboard.CodeTask {
		text = string(f.Kind) + ": " + text
	}
	return text + after("; expected: ", f.Expect) + fixResult(f)
}

func fixResult(f *blackboard.Fix) string {
	if f.Output == "" && f.ExitCode == 0 {
		return ""
	}
	return fmt.Sprintf("; ran with exit code %d%s", f.ExitCode, after(": ", oneLine(f.Output, 500)))
}

func findingText(f *blackboard.Finding) string {
	if f == nil {
		return ""
	}
	place := f.File
	if f.File != "" && f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return strings.TrimSpace(fmt.Sprintf("[%s] %s%s%s%s%s", cmp.Or(f.Severity, "warning"), place, after(" ", f.Check), after(": ", f.Message),
		after("; fix: ", f.Fix), after("; spec: ", f.SpecRef))) + output(f.Output)
}

// output returns the last output of a check as a block below its finding.
func output(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// checkText is a check with its result and its logs, which lie below root.
func checkText(root string, c *blackboard.Check) string {
	text := fmt.Sprintf("%s: %s", c.Name, c.Status)
	if c.Severity != "" {
		text += " (" + c.Severity + ")"
	}
	if c.ExitCode != 0 {
		text += fmt.Sprintf(", exit code %d", c.ExitCode)
	}
	return text + after(": ", oneLine(c.Message, 500)) + logs(root, c)
}

// logs names the files that a check wrote, by the paths that exist wherever the agent is.
func logs(root string, c *blackboard.Check) string {
	text := ""
	if c.Log != "" {
		text = "; log: " + filepath.Join(root, c.Log)
	}
	if c.Baseline != "" {
		text += "; fails on the base too: " + filepath.Join(root, c.Baseline)
	}
	return text
}
