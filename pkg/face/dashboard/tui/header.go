package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

// A head is the first lines of the screen.
type head struct {
	sight
	kind   kind // of the pane below what is open
	width  int
	acting int  // acts under way
	asks   bool // the filter is being typed
}

func (m Model) head() head {
	return head{m.sight, m.pane, m.width, m.acting, m.ask != nil && m.ask.filters}
}

// lines are what is always there: goal, how far it is, what it cost, what stops it, and the panes.
func (h head) lines() []line {
	if !h.read {
		return []line{say(bold, " liza"), say(faint, " reading the board …"), h.tabs()}
	}
	v := h.view
	status := cmp.Or(v.Sprint.Status, v.Goal.Status)
	room := h.width - dashboard.WidthOf(clean(status)) - 3
	goal := line{{" ", normal}, cell(bold, cmp.Or(oneLine(v.Goal.Description), "no goal yet"), room-1), gap(1), {clean(status), statusOfSprint(status)}}
	return []line{goal, h.progress(), h.tabs()}
}

func statusOfSprint(status string) paint {
	switch status {
	case blackboard.Completed:
		return good
	case blackboard.Aborted:
		return bad
	case blackboard.AtCheckpoint:
		return warn
	}
	return info
}

// progress is the second line: what is done of what, money, time, and what waits for the person.
func (h head) progress() line {
	v := h.view
	if o := v.Offline; o != nil {
		text := fmt.Sprintf(" NO CONNECTION: the board as of %s, %s ago; nothing can be decided until it is back ", clock(o.Since), elapsed(o.Seconds+h.since()))
		return line{{" ", normal}, {dashboard.Fit(text, h.width-1), inverse}}
	}
	if len(v.Control) > 0 {
		c := v.Control[0]
		what := map[string]string{"PAUSE": "PAUSED", "CHECKPOINT": "AT A CHECKPOINT", "ABORT": "ABORTED"}[c.Name]
		text := " " + cmp.Or(what, c.Name)
		if c.Reason != "" {
			text += ": " + oneLine(c.Reason)
		}
		return line{{" ", normal}, {dashboard.Fit(text, h.width/2) + " ", inverse}, {"  ", normal}, {h.doneOf(), normal}, {"  ", normal}, {money(v.Cost), normal}}
	}
	n, open := h.counted()
	l := line{{" ", normal}}
	if total := n + open; total > 0 {
		wide := min(20, max(0, h.width-60))
		full := wide * n / total
		l = append(l, seg{strings.Repeat("━", full), good}, seg{strings.Repeat("━", wide-full), faint}, gap(min(1, wide)))
	}
	l = append(l, seg{h.doneOf(), bold})
	add := func(p paint, text string) {
		if text != "" {
			l = append(l, seg{" · ", faint}, seg{text, p})
		}
	}
	if k := h.running(); k > 0 {
		add(info, fmt.Sprintf("%d at work", k))
	}
	add(normal, money(v.Cost))
	if v.Sprint.AgeSeconds > 0 {
		since := 0
		if v.Sprint.Ended.None() {
			since = h.since()
		}
		add(normal, elapsed(v.Sprint.AgeSeconds+since))
	}
	if k := len(v.Waiting) + len(v.GaveUp); k > 0 {
		add(warn, fmt.Sprintf("%d for you", k))
	}
	if len(v.Wrong) > 0 {
		add(bad, "the board is invalid")
	}
	if h.acting > 0 {
		add(accent, "…")
	}
	return l
}

// counted gives how many tasks are merged and how many are open.
func (s sight) counted() (merged, open int) {
	for _, c := range s.view.Counts {
		switch {
		case c.Status == blackboard.Merged:
			merged += c.N
		case !c.Status.Terminal():
			open += c.N
		}
	}
	return merged, open
}

func (s sight) doneOf() string {
	n, open := s.counted()
	return fmt.Sprintf("%d/%d merged", n, n+open)
}

func (s sight) running() int {
	n := 0
	for _, a := range s.view.Agents {
		if a.Task != "" && a.Liveness == string(blackboard.Alive) {
			n++
		}
	}
	return n
}

// since is how many seconds have passed since the view was made.
func (s sight) since() int {
	return max(0, int(s.now.Sub(s.at)/time.Second))
}

// sinceDoing is how many seconds have passed since it was read what agents do.
func (s sight) sinceDoing() int {
	return max(0, int(s.now.Sub(s.doneAt)/time.Second))
}

// tabs names the panes with their numbers.
func (h head) tabs() line {
	var l line
	for _, t := range h.tabList() {
		p := faint
		if t.kind == h.kind {
			p = inverse
		}
		l = append(l, seg{t.text, p})
	}
	return append(l, seg{h.filterShown(), warn})
}

// filterShown is the filter of the pane, unless it is being typed.
func (h head) filterShown() string {
	if text := h.filters[h.kind]; text != "" && !h.asks {
		return dashboard.Fit(" /"+clean(text), max(8, h.width/4))
	}
	return ""
}

type tab struct {
	kind kind
	text string
}

func (h head) tabList() []tab {
	counts := map[kind]int{waits: len(h.view.Waiting) + len(h.view.GaveUp) + len(h.openAlerts())}
	var list []tab
	for space, named := " ", panes; ; {
		list = list[:0]
		wide := 0
		for k := range panes {
			text := fmt.Sprintf(" %d", k+1)
			if k < named || k == h.kind {
				text += " " + k.String()
			}
			if n := counts[k]; n > 0 {
				text += fmt.Sprintf("(%d)", n)
			}
			list = append(list, tab{k, text + space})
			wide += dashboard.WidthOf(text + space)
		}
		switch {
		case wide+dashboard.WidthOf(h.filterShown()) <= h.width || named == 0:
			return list
		case space != "":
			space = ""
		default: // the last ones lose their names, all keep their numbers
			named--
		}
	}
}

// elapsed is a duration for people: 45s, 12m, 3h05, 2d.
func elapsed(seconds int) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh%02d", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// money is a cost for people; runs whose cost nobody knows make it a lower bound.
func money(c dashboard.Cost) string {
	switch {
	case c.Runs == 0 && c.Cents == 0:
		return ""
	case c.UnknownRuns > 0 && c.Cents == 0:
		return "cost ?"
	case c.UnknownRuns > 0:
		return "≥ " + c.Cents.Dollars()
	}
	return c.Cents.Dollars()
}

// clock is the time of day of a moment on the board.
func clock(t blackboard.Time) string {
	at, ok := t.At()
	if !ok {
		return ""
	}
	return at.UTC().Format("15:04:05")
}

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
	if m.width < twoWide || beside == (place{}) {
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
func (s sight) worked(task string) bool {
	t := s.task(task)
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
	for _, l := range m.head().lines() {
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
		under := c.key != nil && i == s.at && c.stops(i) && (b.focus || len(all) > 1)
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
	case m.problem != nil:
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
