package dashboard

import (
	"cmp"
	"fmt"
	"strings"
)

// ReportFormats are the formats of a report.
var ReportFormats = []string{"md", "html", "json"}

// Markdown is the report as a page of Markdown. What agents and people wrote can neither
// break a table nor pass for a heading or a link.
func (r Report) Markdown() string {
	m := &markdown{}
	m.line("# Report of %s, %s\n", escape(cmp.Or(r.Sprint.ID, "the sprint")), r.At)
	m.line("Goal: %s (%s)\n", escape(r.Goal.Description), r.Goal.Status)
	m.line("Sprint: %s\n", escape(r.Sprint.words()))
	m.table("What came of it", []string{"status", "tasks"}, len(r.Counts), func(i int) []string {
		return []string{string(r.Counts[i].Status), fmt.Sprint(r.Counts[i].N)}
	})
	m.table("What to look at", []string{"what", "command"}, len(r.LookAt), func(i int) []string {
		return []string{r.LookAt[i].Text, r.LookAt[i].Next}
	})
	m.table("Tasks", []string{"task", "title", "status", "who", "iterations", "rejections", "lead", "work", "review", "wait", "cost", "outcome"}, len(r.Tasks), func(i int) []string {
		t := r.Tasks[i]
		return []string{t.ID, t.Title, t.statusText(), t.Who, fmt.Sprint(t.Iteration), fmt.Sprint(t.Rejections),
			t.Lead(), t.Work(), t.Review(), t.Wait(), money(t.Cost), t.Outcome}
	})
	m.table("Figures", []string{"figure", "value"}, len(r.Metrics), func(i int) []string { return []string{r.Metrics[i].Label(), r.Metrics[i].Text()} })
	m.table("Rejections", []string{"task", "time", "by", "reason"}, len(r.Rejections), func(i int) []string {
		x := r.Rejections[i]
		return []string{x.Task, string(x.At), x.By, x.Reason}
	})
	m.table("Annotations of the reviews", []string{"task", "place", "severity", "check", "finding"}, len(r.Annotations), func(i int) []string {
		x := r.Annotations[i]
		return []string{x.Task, x.Place(), x.Severity, x.Check, x.Message + after("; fix: ", x.Fix)}
	})
	m.table("Anomalies", []string{"anomaly", "type", "task", "reporter", "details"}, len(r.Anomalies), func(i int) []string {
		x := r.Anomalies[i]
		return []string{x.ID, x.Type, x.Task, x.Reporter, x.Details}
	})
	m.table("Discoveries that no task came of", []string{"discovery", "severity", "urgency", "what", "deferred"}, len(r.Discoveries), func(i int) []string {
		x := r.Discoveries[i]
		return []string{x.ID, x.Severity, x.Urgency, x.Description, x.Deferred}
	})
	m.table("Checkpoints", []string{"n", "time", "by", "message", "decision"}, len(r.Checkpoints), func(i int) []string {
		x := r.Checkpoints[i]
		return []string{fmt.Sprint(x.N), string(x.At), x.By, x.Message, strings.TrimSpace(x.Decision + " " + x.DecidedBy)}
	})
	return m.b.String()
}

// words tells how the sprint stands.
func (s Sprint) words() string {
	text := s.Status + ", started " + string(s.Started)
	if !s.Deadline.None() {
		text += ", deadline " + string(s.Deadline)
	}
	if !s.Ended.None() {
		text += ", ended " + string(s.Ended)
	}
	return text + ", " + age(s.AgeSeconds)
}

func (t ReportTask) statusText() string {
	if t.Archived {
		return string(t.Status) + " (archived)"
	}
	return string(t.Status)
}

// Lead, Work, Review and Wait are the times of the task for people.
func (t ReportTask) Lead() string { return ageOf(t.LeadSeconds) }

// Work is the time that coders had the task.
func (t ReportTask) Work() string { return age(t.WorkSeconds) }

// Review is the time that reviewers had it.
func (t ReportTask) Review() string { return age(t.ReviewSeconds) }

// Wait is the rest of the time until it was merged.
func (t ReportTask) Wait() string { return ageOf(t.WaitSeconds) }

// Money is what the task cost.
func (t ReportTask) Money() string { return money(t.Cost) }

func ageOf(seconds *int) string {
	if seconds == nil {
		return ""
	}
	return age(*seconds)
}

type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

// table writes a part with n rows; without any it is left out.
func (m *markdown) table(title string, heads []string, n int, row func(int) []string) {
	if n == 0 {
		return
	}
	m.line("## %s\n", title)
	m.line("| %s |\n|%s", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for i := range n {
		cells := row(i)
		for k := range cells {
			cells[k] = escape(cells[k])
		}
		m.line("| %s |", strings.Join(cells, " | "))
	}
	m.line("")
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "*", `\*`, "#", `\#`, "!", `\!`, "~", `\~`)

// escape makes one line of plain words of a text.
func escape(text string) string {
	return markup.Replace(strings.Join(strings.Fields(plain(text)), " "))
}
