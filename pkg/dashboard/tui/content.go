package tui

import "cmp"

// content is what a place shows, for a box of that width.
func (m Model) content(p place, width int) content {
	switch p.kind {
	case board:
		return m.boardContent()
	case agents:
		return m.agentContent()
	case waits:
		return m.waitContent(width)
	case journal:
		return m.logContent()
	case graph:
		return m.graphContent()
	case alerts:
		return m.alertContent(width)
	case costs, timeline, taskPage, outputPage:
		return m.laidOut(p, width-1)
	case diffPage:
		return m.diffContent(p.name)
	case helpPage:
		return text(m.helpLines(width - 1))
	}
	return content{}
}

// laid is a text that has been laid out.
type laid struct {
	width, seq int
	filter     string
	content    content
}

// laidOut lays a text out again only when it has been read again, or the width is another one: a key that
// scrolls must not cost what a long text does.
func (m Model) laidOut(p place, width int) content {
	seq, filter := m.got[want(p)].seq, m.filters[m.pane]
	if l, ok := m.laid[p]; ok && seq > 0 && l.width == width && l.seq == seq && l.filter == filter {
		return l.content
	}
	var c content
	switch p.kind {
	case costs:
		c = text(m.costLines(width))
	case timeline:
		c = m.timelineContent()
	case taskPage:
		c = text(m.taskLines(p.name, width))
	case outputPage:
		c = m.outputContent(p.name, width)
	}
	if len(m.laid) > 20 { // pages that were looked at long ago
		clear(m.laid)
	}
	m.laid[p] = laid{width, seq, filter, c}
	return c
}

// text is a content that is scrolled.
func text(lines []line) content {
	return content{n: len(lines), row: func(i, _ int) line { return lines[i] }, empty: "reading …"}
}

// title is the line above what has been opened.
func (m Model) title(b box) line {
	p := accent
	if !b.focus {
		p = faint
	}
	l := line{{" ", normal}}
	if len(m.open) > 0 && b.focus && m.width < twoWide {
		l = append(l, seg{"‹ ", p})
	}
	if b.place.kind == helpPage {
		return append(l, seg{"Keys", bold}, seg{"   the faint ones are of no use for what was under the cursor", faint})
	}
	name := clean(b.place.name)
	l = append(l, seg{b.place.kind.String() + " ", p}, seg{name, bold})
	if t := m.task(b.place.name); t != nil {
		l = append(l, gap(1), seg{cmp.Or(clean(t.ViewStatus), string(t.Status)), paintOf(t.Status)}, gap(1), seg{flat(t.Title), faint})
	} else if picked := m.named(b.place.name); picked.agent != "" && picked.task != "" {
		l = append(l, seg{" on ", faint}, seg{clean(picked.task), normal})
	}
	return l
}

// unread is what to show instead of what could not be read; nil when it was.
func (m Model) unread(err error) []line {
	if err == nil {
		return nil
	}
	p := m.o.Explain(err)
	out := []line{say(bad, clean(p.Message))}
	if p.Next != "" {
		out = append(out, say(accent, "next: "+clean(p.Next)))
	}
	return out
}
