package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

func repeat(text string, n int) string { return strings.Repeat(text, max(0, n)) }

func moves(by int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.moved(by), nil }
}

func pages(by int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.moved(by * max(1, m.box(m.focused()).rows()-1)), nil }
}

// moved goes by so many rows in what has the focus.
func (m Model) moved(by int) Model {
	p := m.focused()
	b := m.box(p)
	c := m.content(p, b.w)
	s := m.scrolls[p].move(c, by, b.rows())
	if p.kind == outputPage {
		m.follow = s.top >= c.n-b.rows()
	}
	return m.withScroll(p, s).settled()
}

func marks(direction int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) {
		p := m.focused()
		b := m.box(p)
		c := m.content(p, b.w)
		if c.key == nil { // it has not been read yet
			return m, nil
		}
		s := m.scrolls[p]
		to := m.nextMark(p.name, s.at, direction)
		s = s.to(c, to, b.rows())
		s.top = max(0, min(to-b.rows()/3, c.n-b.rows()))
		return m.withScroll(p, s), nil
	}
}

func turns(by int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.turnTo((m.pane + kind(by) + panes) % panes), nil }
}

// turnTo shows a pane; what was open is closed.
func (m Model) turnTo(k kind) Model {
	m.pane, m.open = k, nil
	return m.settled()
}

func (d acts) canOpen() bool { return d.target() != place{} && d.target() != d.focus }

// target is what enter opens: of an agent what it says, else the task.
func (d acts) target() place {
	p := d.under
	switch at := d.focus; {
	case at.kind == taskPage || at.kind == diffPage:
		return place{}
	case at.kind == agents && p.agent != "":
		return place{outputPage, p.agent}
	case p.task != "" && (d.task(p.task) != nil || at.kind == journal):
		return place{taskPage, p.task}
	case p.agent != "":
		return place{outputPage, p.agent}
	}
	return place{}
}

func enter(m Model) (Model, tea.Cmd) { return m.opened(m.acts().target()), nil }

// opened puts a page on top; one that is open already comes to the front.
func (m Model) opened(p place) Model {
	m.open = append(slices.DeleteFunc(slices.Clone(m.open), func(o place) bool { return o == p }), p)
	if p.kind == outputPage {
		m.follow = true
	}
	return m.settled()
}

func opens(k kind) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.opened(place{k, m.picked().task}), nil }
}

func openOutput(m Model) (Model, tea.Cmd) {
	return m.opened(place{outputPage, m.acts().speaker()}), nil
}

// speaker is whose output o shows: that of a task, for it has the runs of all who worked on it, else the agent's.
func (d acts) speaker() string {
	p := d.under
	if d.focus.kind == agents || p.task == "" {
		return p.agent
	}
	return p.task
}

func canGoBack(m Model) bool {
	return len(m.open) > 0 || m.filters[m.pane] != ""
}

func (m Model) back() (Model, tea.Cmd) {
	if n := len(m.open); n > 0 {
		m.open = slices.Clone(m.open[:n-1])
		return m.settled(), nil
	}
	return m.filtered(""), nil
}

func (d acts) hasTask() bool {
	p := d.under
	page := place{taskPage, p.task}
	return p.task != "" && d.task(p.task) != nil && d.focus != page && d.target() != page
}

func (d acts) hasChange() bool {
	t := d.task(d.under.task)
	return t != nil && t.Status != blackboard.Draft && (t.Iteration > 0 || t.Who != "") && d.focus.kind != diffPage
}

func (d acts) hasOutput() bool {
	return d.focus.kind != outputPage && d.speaker() != "" && (d.worked(d.under.task) || d.under.agent != "")
}

func (d acts) onDiff() bool { return d.focus.kind == diffPage }

func canFilter(m Model) bool { return len(m.open) == 0 }

func askFilter(m Model) (Model, tea.Cmd) {
	m.ask = &ask{filters: true, label: "/", input: newEditor(m.filters[m.pane])}
	return m, nil
}

func (m Model) filtered(text string) Model {
	m.filters[m.pane] = text
	if m.pane == board {
		m.tasks = rowsOf(m.view.Tasks, text)
	}
	return m.settled()
}

// click selects what is under the pointer; a second click opens it.
func (m Model) click(at tea.Mouse) (Model, tea.Cmd) {
	if at.Button != tea.MouseLeft || m.ask != nil {
		return m, nil
	}
	m.said = said{}
	if at.Y == headLines-1 {
		x := 0
		for _, t := range m.head().tabList() {
			if x += dashboard.WidthOf(t.text); at.X < x {
				return m.turnTo(t.kind), nil
			}
		}
		return m, nil
	}
	for _, b := range m.layout() {
		first := b.y
		if b.titled {
			first++
		}
		if at.X < b.x || at.X >= b.x+b.w || at.Y < first || at.Y >= b.y+b.h {
			continue
		}
		return m.clickRow(b, at.Y-first)
	}
	return m, nil
}

func (m Model) clickRow(b box, y int) (Model, tea.Cmd) {
	if !b.focus { // beside the list: it gets the focus
		if b.place.kind < panes {
			m.open = nil
		} else {
			return m.opened(b.place), nil
		}
	}
	c, s := m.content(b.place, b.w), m.scrolls[b.place]
	i := s.top + y
	if i >= c.n || !c.stops(i) {
		return m, nil
	}
	if s.at == i && s.key == c.key(i) && b.focus && m.acts().canOpen() {
		return enter(m)
	}
	return m.withScroll(b.place, s.to(c, i, b.rows())).settled(), nil
}

// wheel scrolls what is under the pointer.
func (m Model) wheel(at tea.Mouse) Model {
	by := map[tea.MouseButton]int{tea.MouseWheelUp: -3, tea.MouseWheelDown: 3}[at.Button]
	for _, b := range m.layout() {
		if by == 0 || at.X < b.x || at.X >= b.x+b.w {
			continue
		}
		c := m.content(b.place, b.w)
		s := m.scrolls[b.place].move(c, by, b.rows())
		if b.place.kind == outputPage {
			m.follow = s.top >= c.n-b.rows()
		}
		return m.withScroll(b.place, s).settled()
	}
	return m
}
