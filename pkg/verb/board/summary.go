package board

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// summary is what the file of a checkpoint tells (specs/protocol.md#13.6).
type summary struct {
	s       *blackboard.State
	tasks   []*blackboard.Task // of the sprint, archived ones included
	message string
	alerts  []string
	now     time.Time
	b       *strings.Builder
}

func (x summary) text() string {
	x.b = &strings.Builder{}
	x.top()
	x.counts()
	x.table()
	x.list("Blocked", x.blocked())
	x.list("Rejections that count", x.rejections())
	x.list("Anomalies", x.anomalies())
	x.list("Discoveries not converted", x.discoveries())
	x.list("Costs", x.costs())
	x.list("Alerts", x.alerts)
	x.list("Spec changes", x.specChanges())
	x.list("Decisions so far", x.decisions())
	if x.s.Sprint.Status == blackboard.AtCheckpoint {
		x.list("Decide", x.choices())
	}
	return x.b.String()
}

func (x summary) line(format string, args ...any) { fmt.Fprintf(x.b, format+"\n", args...) }

// list is a part with a line for each item; without any it is left out.
func (x summary) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	x.line("\n## %s\n", title)
	for _, item := range items {
		x.line("- %s", prose.OneLine(item, 0))
	}
}

func (x summary) top() {
	sp := x.s.Sprint
	what := "Checkpoint"
	if sp.Status == blackboard.Completed {
		what = "End"
	}
	x.line("# %s of %s, %s\n", what, sp.ID, blackboard.TimeOf(x.now))
	if x.s.Goal != nil {
		x.line("Goal: %s (%s)\n", prose.FirstLine(x.s.Goal.Description), x.s.Goal.Status)
	}
	if x.message != "" {
		x.line("Message: %s\n", prose.OneLine(x.message, 0))
	}
	if cause := x.cause(); cause != "" {
		x.line("Cause: %s\n", cause)
	}
	if tl := sp.Timeline; tl != nil {
		x.line("Started %s%s%s\n", tl.Started, after(", deadline ", string(tl.Deadline)), after(", ended ", string(tl.Ended)))
	}
}

// cause says who or what stopped the sprint.
func (x summary) cause() string {
	n := len(x.s.Sprint.Checkpoints)
	if x.s.Sprint.Status != blackboard.AtCheckpoint || n == 0 || x.s.Sprint.Checkpoints[n-1] == nil {
		return ""
	}
	c := x.s.Sprint.Checkpoints[n-1]
	if cb := x.s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped && cb.CurrentTrigger != nil {
		return fmt.Sprintf("the circuit breaker, pattern %s (%s): see %s", cb.CurrentTrigger.Pattern, cb.CurrentTrigger.Severity, cb.CurrentTrigger.ReportFile)
	}
	if c.By == blackboard.System {
		return "Liza itself, for the reason in the message"
	}
	return "a person (" + c.By + ")"
}

func after(label, text string) string {
	if text == "" || text == "null" {
		return ""
	}
	return label + text
}

func (x summary) counts() {
	n := map[blackboard.Status]int{}
	for _, t := range x.tasks {
		n[t.Status]++
	}
	x.line("| status | tasks |\n|---|---|")
	for _, st := range blackboard.Statuses {
		if n[st] > 0 {
			x.line("| %s | %d |", st, n[st])
		}
	}
	x.line("| all | %d |", len(x.tasks))
}

func (x summary) table() {
	if len(x.tasks) == 0 {
		return
	}
	x.line("\n## Tasks\n\n| task | title | status | who | iteration | rejections | cost | time in each status |\n|---|---|---|---|---|---|---|---|")
	for _, t := range x.tasks {
		x.line("| %s | %s | %s | %s | %d | %d | %s | %s |", cell(t.ID), cell(t.TitleText()), t.Status, cell(t.AssignedTo), t.Iteration, t.ReviewCyclesTotal, cost(t.Usage), t.Spent(x.now))
	}
}

// cell is a text for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(prose.OneLine(text, 0), "|", "\\|") }

// cost of runs; those that nobody knows are counted, never taken as zero.
func cost(u *blackboard.Usage) string {
	switch {
	case u == nil || u.AgentRuns == 0:
		return "no runs"
	case u.UnknownCostRuns == u.AgentRuns:
		return "unknown"
	case u.UnknownCostRuns > 0:
		return fmt.Sprintf("%s cents and %s of unknown cost", u.CostCents, prose.Count(u.UnknownCostRuns, "run"))
	}
	return fmt.Sprintf("%s cents", u.CostCents)
}

func (x summary) blocked() (list []string) {
	for _, t := range x.tasks {
		if t.Status == blackboard.Blocked {
			line := fmt.Sprintf("%s (%s): %s", t.ID, cmp.Or(t.BlockedKind, blackboard.BlockedByQuestion), t.BlockedReason)
			for _, q := range t.BlockedQuestions {
				line += " — " + q
			}
			list = append(list, line)
		}
	}
	return list
}

func (x summary) rejections() (list []string) {
	for _, t := range x.tasks {
		if t.RejectionReason != nil {
			list = append(list, fmt.Sprintf("%s, rejected %s: %s", t.ID, prose.Count(t.ReviewCyclesTotal, "time"), prose.FirstLine(t.RejectionReason.Summary)))
		}
	}
	return list
}

func (x summary) anomalies() (list []string) {
	for _, a := range x.s.Anomalies {
		if x.inSprint(a.Timestamp) {
			list = append(list, fmt.Sprintf("%s %s%s by %s, %s", a.ID, a.Type, after(" of ", a.Task), cmp.Or(a.Reporter, "somebody"), a.Timestamp))
		}
	}
	return list
}

// inSprint reports whether something happened since the sprint started; a time that cannot
// be read counts.
func (x summary) inSprint(t blackboard.Time) bool {
	at, ok := t.At()
	if !ok || x.s.Sprint.Timeline == nil {
		return true
	}
	started, ok := x.s.Sprint.Timeline.Started.At()
	return !ok || !at.Before(started)
}

func (x summary) discoveries() (list []string) {
	for _, d := range x.s.Discovered {
		if d.ConvertedToTask == "" {
			line := fmt.Sprintf("%s (%s, %s): %s", d.ID, cmp.Or(d.Severity, "low"), cmp.Or(d.Urgency, "deferred"), d.Description)
			if d.Deferred != nil {
				line += ", deferred: " + d.Deferred.Reason
			}
			list = append(list, line)
		}
	}
	return list
}

func (x summary) costs() []string {
	u := x.s.Usage
	if u == nil || u.AgentRuns == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("sprint: %s in %s, %d s", cost(u), prose.Count(u.AgentRuns, "run"), u.Seconds),
		fmt.Sprintf("tokens: %d in, %d out, %d cached", u.TokensIn, u.TokensOut, u.TokensCached),
	}
}

func (x summary) specChanges() (list []string) {
	for _, c := range x.s.SpecChanges {
		if x.inSprint(c.Timestamp) {
			list = append(list, fmt.Sprintf("%s: %s (%s, %s)", c.Spec, c.Change, cmp.Or(c.TriggeredBy, "somebody"), c.Timestamp))
		}
	}
	return list
}

func (x summary) decisions() (list []string) {
	for _, c := range x.s.Sprint.Checkpoints {
		if c != nil && c.Decision != "" {
			list = append(list, fmt.Sprintf("checkpoint %d (%s): %s by %s, %s", c.N, prose.OneLine(c.Message, 0), c.Decision, c.DecidedBy, c.DecidedAt))
		}
	}
	return list
}

func (x summary) choices() []string {
	if cb := x.s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
		return []string{"`liza resume --note TEXT` acknowledges what the circuit breaker found and goes on", "`liza resume --decision D` does so with one of the decisions of `liza help resume`"}
	}
	return []string{
		"`liza resume` goes on as it is (CONTINUE)",
		"`liza resume --decision ADJUST_SPECS --note TEXT`: the specs were changed",
		"`liza resume --decision ADJUST_CONTRACTS --note TEXT`: what tasks must do was changed",
		"`liza resume --decision REPLAN --note TEXT` wakes the planner with the note",
		"`liza resume --decision PIVOT --note TEXT` does so as well, with another direction",
		"`liza resume --decision STOP --note TEXT` gives the goal up",
	}
}

// openAlerts are the alerts that are raised now, as the watcher left them.
func openAlerts(path string) []string {
	data, err := safefile.Read(path)
	if err != nil {
		return nil
	}
	var file struct {
		Open []struct{ Kind, Subject, Severity, Message string }
	}
	if json.Unmarshal(data, &file) != nil {
		return nil // a cache; the watcher makes it again
	}
	var list []string
	for _, a := range file.Open {
		list = append(list, fmt.Sprintf("%s %s %s: %s", a.Severity, a.Kind, a.Subject, a.Message))
	}
	return list
}

// WriteSummary writes the file of a checkpoint: what people need in order to decide
// (specs/protocol.md#13.6). A copy of the newest is .liza/sprint_summary.md.
func (b *Session) WriteSummary(ctx context.Context, file, message string) error {
	s, err := b.View(ctx)
	if err != nil {
		return err
	}
	tasks, err := b.Histories().SprintTasks(s)
	if err != nil {
		b.Progressf("the summary lacks archived tasks: %v", err)
	}
	text := b.Mask(summary{s: s, tasks: tasks, message: message, alerts: openAlerts(b.Project.OpenAlerts()), now: b.Now()}.text())
	if err := safefile.MakeFolder(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write the summary: %v", err)
	}
	for _, path := range []string{file, b.Project.SprintSummary()} {
		if err := safefile.Replace(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the summary: %w", err)
		}
	}
	return nil
}

// Mark remembers what the board said of an agent's work when its run began.
type Mark struct {
	Agent    string
	ClaimSeq int
	History  int // length of the task's history
	Writes   int // history entries, plans and tasks by this agent, all over the board
}
