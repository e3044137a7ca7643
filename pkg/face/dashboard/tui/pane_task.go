package tui

import (
	"cmp"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

// page collects the lines of a text.
type page struct {
	width int
	lines []line
	mask  func(string) string
}

func (p *page) add(l ...seg) { p.lines = append(p.lines, l) }

// head begins a part.
func (p *page) head(text string) {
	if len(p.lines) > 0 {
		p.add()
	}
	p.add(seg{text, accent})
}

// body is a text of any length.
func (p *page) body(c paint, indent int, text string) {
	for _, l := range paragraphs(p.mask(text), max(10, p.width-indent)) {
		p.add(gap(indent), seg{l, c})
	}
}

// part is a heading with a text, when there is one.
func (p *page) part(head, text string) {
	if strings.TrimSpace(text) != "" {
		p.head(head)
		p.body(normal, 1, text)
	}
}

func (s sight) page(width int) *page { return &page{width: width, mask: s.mask} }

// content is all about a task: what waits first, then what was said about it, then what it is.
func (x taskPane) content(width int) content {
	t, err, ok := of[*dashboard.TaskPage](x.sight, want{taskPage, x.name})
	switch {
	case !ok:
		return text(nil)
	case err != nil:
		return text(x.unread(err))
	case t == nil:
		return text([]line{say(faint, clean(x.name)+" is not a task of this board")})
	}
	p := x.page(width)
	p.facts(t)
	for _, w := range t.Waits {
		p.head("Waits for you")
		p.body(warn, 1, w.Text)
		p.add(gap(1), seg{x.offer(w), accent})
	}
	for _, q := range t.Questions {
		p.body(bold, 1, "? "+q.Text)
	}
	p.part("Rejected because", t.Rejection)
	p.findings(t.Findings)
	p.part("What it is", t.Description)
	p.part("Done when", t.DoneWhen)
	p.items("Criteria", t.Criteria)
	p.part("Scope", t.Scope)
	p.items("Plan of the coder", t.Intent)
	p.links("Waits for", t.DependsOn)
	p.links("Is waited for by", t.Dependents)
	p.items("Attempts at this work", dashboard.TriesText(t.Task.Tries))
	p.items("Told", t.Told)
	p.items("Checks", t.Checks)
	p.attempts(t.Attempts)
	p.history(t.History)
	p.part("Spec "+t.SpecRef, t.Spec)
	return text(p.lines)
}

// facts are those of the first lines.
func (p *page) facts(t *dashboard.TaskPage) {
	r := t.Task
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(clean(r.Who))
	if r.Iteration > 0 {
		add(fmt.Sprintf("attempt %d", r.Iteration))
	}
	if r.Rejections > 0 {
		add(fmt.Sprintf("rejected %d ×", r.Rejections))
	}
	add(money(r.Cost))
	if t.Archived {
		add("archived")
	}
	add(short(cmp.Or(t.MergeCommit, t.Commit)))
	if len(parts) > 0 {
		p.add(gap(1), seg{strings.Join(parts, " · "), faint})
	}
	if r.Note != "" {
		p.body(paintOf(r.Status), 1, r.Note)
	}
}

func (p *page) items(head string, list []string) {
	for i, text := range list {
		if i == 0 {
			p.head(head)
		}
		p.body(normal, 1, "- "+text)
	}
}

func (p *page) links(head string, list []dashboard.Link) {
	for i, l := range list {
		if i == 0 {
			p.head(head)
		}
		p.add(gap(1), seg{glyph(l.Status) + " " + clean(l.ID) + " ", paintOf(l.Status)}, seg{flat(l.Title), normal})
	}
}

func (p *page) findings(list []dashboard.Remark) {
	for i, f := range list {
		if i == 0 {
			p.head("Said about it")
		}
		p.add(gap(1), seg{cmp.Or(clean(f.Severity), "note") + " ", severity(f)}, seg{clean(placeOf(f)) + " ", bold}, seg{clean(f.By), faint})
		p.body(normal, 3, f.Text)
		if f.Fix != "" {
			p.body(good, 3, "fix: "+f.Fix)
		}
	}
}

func severity(f dashboard.Remark) paint {
	switch {
	case f.Person:
		return accent
	case f.Severity == "error":
		return bad
	case f.Severity == "warning":
		return warn
	}
	return faint
}

func placeOf(f dashboard.Remark) string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return f.Path
}

func (p *page) attempts(list []dashboard.Attempt) {
	for i := len(list) - 1; i >= 0; i-- {
		a := list[i]
		if i == len(list)-1 {
			p.head("Attempts, the newest first")
		}
		tail := elapsed(a.Seconds)
		if a.CostCents != nil {
			tail += " " + a.CostCents.Dollars()
		}
		p.add(gap(1), seg{fmt.Sprintf("#%d ", a.Seq), faint}, seg{clean(a.Agent) + " " + clean(a.Kind) + " ", bold}, seg{clean(a.Outcome), outcome(a.Outcome)},
			seg{" " + tail + " " + clean(a.CLI) + prose.After(", ", clean(a.Rung)), faint})
		p.body(normal, 4, a.Summary)
	}
}

func outcome(o string) paint {
	switch strings.ToUpper(o) {
	case "COMPLETED", "FINISHED", "OK", "APPROVED", "APPROVE":
		return good
	case "":
		return info
	}
	return warn
}

func (p *page) history(list []dashboard.Happening) {
	for i := len(list) - 1; i >= 0; i-- {
		if i == len(list)-1 {
			p.head("History, the newest first")
		}
		h := list[i]
		p.add(gap(1), seg{clock(h.At) + " ", faint}, seg{spaced(h.Action) + " ", bold}, seg{clean(h.Who), faint})
		p.body(normal, 10, h.Text)
	}
}

func spaced(action string) string { return clean(strings.ReplaceAll(action, "_", " ")) }

func short(commit string) string { return clean(blackboard.ShortCommit(commit)) }
