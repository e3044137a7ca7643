package verb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// writeSummary writes the file of a checkpoint: what people need in order to decide
// (protocol 13.6). A copy of the newest is .liza/sprint_summary.md.
func (d *Desk) writeSummary(ctx context.Context, file, message string) error {
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	text := summaryText(s, message, d.Now())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write the summary: %v", err)
	}
	for _, path := range []string{file, d.Project.SprintSummary()} {
		if err := safefile.Replace(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the summary: %w", err)
		}
	}
	return nil
}

func summaryText(s *blackboard.State, message string, now timeT) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Checkpoint of %s, %s\n", s.Sprint.ID, blackboard.TimeOf(now))
	p("Goal: %s (%s)\n", firstLine(s.Goal.Description), s.Goal.Status)
	if message != "" {
		p("Cause: %s\n", message)
	}
	n := map[blackboard.Status]int{}
	for _, t := range s.Tasks {
		n[t.Status]++
	}
	for _, st := range blackboard.Statuses {
		if n[st] > 0 {
			p("- %s: %d", st, n[st])
		}
	}
	p("\n## Tasks\n\n| task | status | who | iteration | rejections | cost |\n|---|---|---|---|---|---|")
	for _, t := range s.Tasks {
		cost := "unknown"
		if t.Usage != nil && t.Usage.UnknownCostRuns < t.Usage.AgentRuns {
			cost = fmt.Sprintf("%d cents", t.Usage.CostCents)
		}
		p("| %s %s | %s | %s | %d | %d | %s |", t.ID, strings.ReplaceAll(t.TitleText(), "|", "/"), t.Status, t.AssignedTo, t.Iteration, t.ReviewCyclesTotal, cost)
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			p("\n## %s\n", title)
			for _, l := range lines {
				p("- %s", l)
			}
		}
	}
	var blocked, rejected, anomalies, found []string
	for _, t := range s.Tasks {
		if t.Status == blackboard.Blocked {
			blocked = append(blocked, fmt.Sprintf("%s (%s): %s — %s", t.ID, t.BlockedKind, t.BlockedReason, strings.Join(t.BlockedQuestions, " / ")))
		}
		if t.RejectionReason != nil {
			rejected = append(rejected, t.ID+": "+firstLine(t.RejectionReason.Summary))
		}
	}
	for _, a := range s.Anomalies {
		anomalies = append(anomalies, fmt.Sprintf("%s %s (%s) by %s", a.ID, a.Type, a.Task, a.Reporter))
	}
	for _, x := range s.Discovered {
		if x.ConvertedToTask == "" {
			found = append(found, fmt.Sprintf("%s (%s, %s): %s", x.ID, x.Severity, x.Urgency, x.Description))
		}
	}
	section("Blocked", blocked)
	section("Rejections that stand", rejected)
	section("Anomalies", anomalies)
	section("Discoveries not converted", found)
	section("Decide", []string{
		"`liza resume` goes on (CONTINUE)",
		"`liza resume --decision REPLAN --note TEXT` wakes the planner",
		"`liza resume --decision ADJUST_SPECS|ADJUST_CONTRACTS|PIVOT --note TEXT`",
		"`liza resume --decision STOP --note TEXT` gives the goal up",
	})
	return b.String()
}

// learn stores what a reviewer learned about the project; the same again changes nothing.
func learn(s *blackboard.State, a blackboard.Actor, in VerdictInput, now timeT) {
	for _, text := range in.Learn {
		text = strings.TrimSpace(text)
		if len(text) < 15 || len(text) > 500 || knows(s, text) {
			continue
		}
		f := &blackboard.Fact{ID: fmt.Sprintf("fact-%d", len(s.Facts)+1), Content: text, Status: "active", Source: "reviewer", Task: in.Task,
			By: a.ID, Category: "project", Created: blackboard.TimeOf(now)}
		s.Facts = append(s.Facts, f)
		s.Record(blackboard.Entry{Timestamp: f.Created, Agent: a.ID, Action: "fact_learned", Task: in.Task, Detail: f.ID + ": " + firstLine(text)})
	}
}

func knows(s *blackboard.State, text string) bool {
	for _, f := range s.Facts {
		if strings.EqualFold(f.Content, text) {
			return true
		}
	}
	return false
}
