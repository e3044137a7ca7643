package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/prose"
)

// Markdown returns the report for a forge. Texts of agents and people are escaped: they can neither break a table nor pass for a
// heading or a link.
func (r Report) Markdown() string {
	m := &markdown{}
	m.line("# %s\n", escape(r.Title()))
	m.line("**%s**\n", escape(r.Headline))
	m.line("Report of %s, %s\n", escape(cmp.Or(r.Sprint.ID, "the sprint")), escape(r.Period()))
	if more := r.More(); more != "" {
		m.line("> %s\n", escape(more))
	}
	if len(r.LookAt) > 0 {
		m.line("## Look at this first\n")
		for _, h := range r.LookAt {
			m.line("- %s%s", escape(h.Text), prose.After("<br>", code(h.Next)))
		}
		m.line("")
	}
	delivered, open := r.Delivered(), r.Open()
	m.table("Delivered", []string{"task", "", "commit", "how"}, len(delivered), func(i int) []string {
		t := delivered[i]
		return []string{code(t.ID), escape(t.Title), link(t.Short(), t.Link), escape(t.Facts())}
	})
	m.table("Open", []string{"task", "", "is", "why"}, len(open), func(i int) []string {
		t := open[i]
		return []string{code(t.ID), escape(t.Title), t.State(), escape(t.Why())}
	})
	m.moments(r.Timeline.Marks)
	if r.graph != nil && len(r.Graph.Edges) > 0 && len(r.Graph.Nodes) <= maxDrawn {
		m.line("## What waited for what\n\n```mermaid\n%s```\n", r.graph.mermaid())
	}
	m.costs(r.Figures)
	m.table("Figures", []string{"", ""}, len(r.Figures.Quality), func(i int) []string {
		return []string{r.Figures.Quality[i].Name, r.Figures.Quality[i].Text}
	})
	for _, t := range r.Tables() {
		m.table(t.Title, t.Heads, len(t.Rows), func(i int) []string {
			var cells []string
			for _, c := range t.Rows[i] {
				cells = append(cells, escape(c))
			}
			return cells
		})
	}
	m.line("Written by Liza at %s.", escape(r.Written()))
	return m.b.String()
}

// maxDrawn is the most tasks in a readable drawing of a forge, maxMoments the most moments in the report.
const maxDrawn, maxMoments = 60, 40

// moments writes the events with their times, without those that nearly every task has.
func (m *markdown) moments(marks []Mark) {
	told := slices.DeleteFunc(slices.Clone(marks), func(x Mark) bool { return x.Kind == "submitted" || x.Kind == "approved" })
	left := max(0, len(told)-maxMoments)
	told = told[left:]
	m.table("When", []string{"", "", ""}, len(told), func(i int) []string {
		return []string{clock(told[i].At), strings.TrimSpace(code(told[i].Task) + " " + strings.Replace(told[i].Kind, "rejected", "sent back", 1)), escape(told[i].Text)}
	})
	if left > 0 {
		m.line("%d earlier moments are left out.\n", left)
	}
}

func (m *markdown) costs(f Figures) {
	m.table("Costs", []string{"task", "cost", "runs", "time"}, len(f.ByTask), func(i int) []string {
		s := f.ByTask[i]
		return []string{escape(s.Name), money(s.Cost), fmt.Sprint(s.Cost.Runs), long(s.Seconds)}
	})
}

// code is an id or a command, whatever is in it.
func code(text string) string {
	if text = strings.ReplaceAll(plain(text), "`", "'"); text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// link leads to the page of a commit, where there is one.
func link(commit, page string) string {
	if page == "" || commit == "" {
		return code(commit)
	}
	return "[" + code(commit) + "](" + page + ")"
}

type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

// table writes a part with n rows, whose cells are escaped; without any it is left out.
func (m *markdown) table(title string, heads []string, n int, row func(int) []string) {
	if n == 0 {
		return
	}
	m.line("## %s\n", title)
	m.line("| %s |\n|%s", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for i := range n {
		m.line("| %s |", strings.Join(row(i), " | "))
	}
	m.line("")
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "*", `\*`, "#", `\#`, "!", `\!`, "~", `\~`)

// escape makes one line of plain words of a text.
func escape(text string) string {
	return markup.Replace(strings.Join(strings.Fields(plain(text)), " "))
}
