package dashboard

import (
	"cmp"
	"fmt"
	"slices"
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
	for _, t := range r.Tables() {
		m.table(t.Title, t.Heads, len(t.Rows), func(i int) []string { return t.Rows[i] })
	}
	return m.b.String()
}

// Table is a part of the report that has a row of words for each entry.
type Table struct {
	Title string
	Heads []string
	Rows  [][]string
}

// Tables are the parts that are the same in every format; those without a row are left out.
func (r Report) Tables() []Table {
	rejections := Table{Title: "Rejections", Heads: []string{"task", "time", "by", "reason"}}
	for _, x := range r.Rejections {
		rejections.add(x.Task, string(x.At), x.By, x.Reason)
	}
	annotations := Table{Title: "Annotations of the reviews", Heads: []string{"task", "place", "severity", "check", "finding"}}
	for _, x := range r.Annotations {
		annotations.add(x.Task, x.Place(), x.Severity, x.Check, x.Message+after("; fix: ", x.Fix))
	}
	anomalies := Table{Title: "Anomalies", Heads: []string{"anomaly", "type", "task", "reporter", "details"}}
	for _, x := range r.Anomalies {
		anomalies.add(x.ID, x.Type, x.Task, x.Reporter, x.Details)
	}
	discoveries := Table{Title: "Discoveries that no task came of", Heads: []string{"discovery", "severity", "urgency", "what", "deferred"}}
	for _, x := range r.Discoveries {
		discoveries.add(x.ID, x.Severity, x.Urgency, x.Description, x.Deferred)
	}
	checkpoints := Table{Title: "Checkpoints", Heads: []string{"n", "time", "by", "message", "decision"}}
	for _, x := range r.Checkpoints {
		checkpoints.add(fmt.Sprint(x.N), string(x.At), x.By, x.Message, strings.TrimSpace(x.Decision+" "+x.DecidedBy))
	}
	return slices.DeleteFunc([]Table{rejections, annotations, anomalies, discoveries, checkpoints}, func(t Table) bool { return len(t.Rows) == 0 })
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// words gives the state of the sprint.
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
