package tui

import (
	"strings"
)

// Sizes of the screen: what is above and below the panes, and from which width on there is room for more of them.
const (
	headLines  = 3
	footLines  = 1
	twoWide    = 110
	threeWide  = 190
	minColumns = 20
	minLines   = 6
)

// box is where a place is on the screen.
type box struct {
	place      place
	x, y, w, h int
	titled     bool // its first line is a title
	focus      bool // keys are for it
}

// rows is how many rows of its content a box shows.
func (b box) rows() int {
	if b.titled {
		return max(1, b.h-1)
	}
	return max(1, b.h)
}

// focused is the place that keys are for.
func (m Model) focused() place {
	if len(m.open) > 0 {
		return m.open[len(m.open)-1]
	}
	return place{kind: m.pane}
}

// layout gives the places that are on the screen: one, or beside a list what it is about.
func (m Model) layout() []box {
	h, base := max(1, m.height-headLines-footLines), place{kind: m.pane}
	whole := box{place: m.focused(), y: headLines, w: m.width, h: h, titled: len(m.open) > 0, focus: true}
	beside, third := m.beside()
	if m.width < twoWide || beside == (place{}) || m.lanes && m.pane == board && len(m.open) == 0 {
		return m.withTop([]box{whole})
	}
	left := m.width * 2 / 5
	if m.width >= threeWide && third != (place{}) {
		left = m.width * 3 / 10
	}
	opened := len(m.open) > 0
	boxes := []box{{place: base, y: headLines, w: left, h: h, focus: !opened},
		{place: beside, x: left + 1, y: headLines, w: m.width - left - 1, h: h, titled: true, focus: opened}}
	if m.width >= threeWide && third != (place{}) {
		middle := (m.width - left) / 2
		boxes[1].w = middle
		boxes = append(boxes, box{place: third, x: left + middle + 2, y: headLines, w: m.width - left - middle - 2, h: h, titled: true})
	}
	return m.withTop(boxes)
}

// withTop makes room for what is above the list of tasks.
func (m Model) withTop(boxes []box) []box {
	for i, b := range boxes {
		if b.place.kind == board {
			n := len(m.glance(b.w, b.h))
			boxes[i].y, boxes[i].h = b.y+n, b.h-n
		}
	}
	return boxes
}

// beside is what belongs next to the list: what was opened, or a look at what is under the cursor. third is
// what its agent says, where there is room for that, too.
func (m Model) beside() (second, third place) {
	p := m.picked()
	switch {
	case len(m.open) > 0:
		second = m.focused()
	case m.travel.shown: // pages are of now
	case m.pane == board || m.pane == waits:
		if p.task != "" {
			second = place{taskPage, p.task}
		}
	case m.pane == agents && p.agent != "":
		second = place{outputPage, p.agent}
	}
	if second.kind == taskPage && m.worked(second.name) {
		third = place{outputPage, second.name}
	}
	return second, third
}

// worked reports whether somebody has begun with a task.
func (m Model) worked(task string) bool {
	t := m.task(task)
	return t != nil && (t.Who != "" || t.Iteration > 0)
}

// box is where a place is, or the zero value.
func (m Model) box(p place) box {
	for _, b := range m.layout() {
		if b.place == p {
			return b
		}
	}
	return box{}
}

// screen is the whole screen as lines.
func (m Model) screen() []string {
	out := make([]string, 0, m.height)
	for _, l := range m.header() {
		out = append(out, m.theme.draw(l, m.width, false))
	}
	body := make([]string, max(1, m.height-headLines-footLines))
	boxes := m.layout()
	for i, b := range boxes {
		rows := m.drawBox(b, boxes)
		for y := range body {
			if i > 0 {
				body[y] += m.theme.draw(say(faint, "│"), 1, false)
			}
			if y < len(rows) {
				body[y] += rows[y]
			} else {
				body[y] += strings.Repeat(" ", b.w)
			}
		}
	}
	m.cover(body)
	return append(append(out, body...), m.theme.draw(m.foot(), m.width, false))
}

// drawBox draws a place with what is above it.
func (m Model) drawBox(b box, all []box) []string {
	var out []string
	if b.place.kind == board {
		for _, l := range m.glance(b.w, m.height-headLines-footLines) {
			out = append(out, m.theme.draw(l, b.w, false))
		}
	}
	if b.titled {
		out = append(out, m.theme.draw(m.title(b), b.w, false))
	}
	c, s := m.content(b.place, b.w), m.scrolls[b.place]
	if c.n == 0 {
		return append(out, m.theme.draw(say(faint, " "+c.empty), b.w, false))
	}
	for i := s.top; i < min(c.n, s.top+b.rows()); i++ {
		under := c.key != nil && !c.marks && i == s.at && c.stops(i) && (b.focus || len(all) > 1)
		mark := seg{" ", normal}
		if under {
			mark = seg{"›", faint}
			if b.focus {
				mark = seg{"▌", accent}
			}
		}
		out = append(out, m.theme.draw(append(line{mark}, c.row(i, b.w-1)...), b.w, under && b.focus))
	}
	return out
}

// cover puts what is asked, said or explained over the lower lines of the body.
func (m Model) cover(body []string) {
	var over []line
	switch {
	case m.ask != nil:
		over = m.ask.lines(m.width, len(body))
	case m.said.text != "":
		over = m.said.lines(m.width, len(body))
	case m.problem != nil && !m.travel.shown:
		over = said{text: m.problem.Message + "; the last valid board is shown", next: m.problem.Next, failed: true}.lines(m.width, len(body))
	}
	from := max(0, len(body)-len(over))
	for i, l := range over[:min(len(over), len(body))] {
		body[from+i] = m.theme.draw(l, m.width, false)
	}
}

func (s said) lines(width, most int) []line {
	p := good
	if s.failed {
		p = bad
	}
	var out []line
	for _, text := range paragraphs(s.text, width-2) {
		out = append(out, line{{" ", normal}, {text, p}})
	}
	if s.next != "" {
		for _, text := range paragraphs("next: "+s.next, width-2) {
			out = append(out, line{{" ", normal}, {text, accent}})
		}
	}
	return append([]line{say(faint, repeat("─", width))}, out[:min(len(out), max(1, most-2))]...)
}
