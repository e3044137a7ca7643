package tui

import (
	"cmp"
	"fmt"

	"liza/pkg/activity"
)

// outputContent is what a program says and does, as it says it.
func (m Model) outputContent(name string, width int) content {
	o, err, ok := of[outputs](m, want{outputPage, name})
	switch {
	case !ok:
		return content{empty: "reading …"}
	case err != nil && len(o.events) == 0:
		return text(m.unread(err))
	case len(o.events) == 0:
		return content{empty: "nothing has been said yet"}
	}
	p := m.page(width)
	for _, e := range o.events {
		p.event(e)
	}
	return text(p.lines)
}

func (p *page) event(e activity.Event) {
	at := seg{e.At.UTC().Format("15:04:05") + " ", faint}
	under := func(c paint, text string) {
		for i, l := range paragraphs(p.mask(text), max(10, p.width-9)) {
			if i == 0 {
				p.add(at, seg{l, c})
			} else {
				p.add(gap(9), seg{l, c})
			}
		}
	}
	switch e.Kind {
	case activity.Run:
		p.add(at, seg{fmt.Sprintf("── %s on %s ", clean(e.Agent), cmp.Or(clean(e.Task), "the plan")), accent}, seg{clean(e.Program) + " " + clean(e.Model), faint})
	case activity.Tool:
		p.add(at, seg{clean(e.Tool) + " ", accent}, seg{flat(p.mask(e.Text)), normal})
	case activity.Result, activity.Usage:
		if e.Kind == activity.Result && e.Text != "" {
			p.add(gap(9), seg{"↳ " + flat(p.mask(e.Text)), faint})
		}
	case activity.Wait:
		under(warn, "waits for its provider: "+e.Text)
	case activity.Error:
		under(bad, e.Text)
	case activity.Note:
		under(accent, "your note: "+e.Text)
	case activity.End:
		p.add(at, seg{"── " + cmp.Or(flat(p.mask(e.Text)), "the end"), accent})
	case activity.Text:
		under(bold, e.Text)
	default:
		under(normal, e.Text)
	}
}
