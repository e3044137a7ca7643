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
	case costs:
		return text(m.costLines(width))
	case taskPage:
		return text(m.taskLines(p.name, width-1))
	case diffPage:
		return m.diffContent(p.name)
	case outputPage:
		return m.outputContent(p.name, width-1)
	case helpPage:
		return text(m.helpLines(width - 1))
	}
	return content{}
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
