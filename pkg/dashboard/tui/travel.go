package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/dashboard"
)

// travel is the look at an earlier board. It shows board, agents and what waited for the person; what else
// is opened is of now, and ends the look.
type travel struct {
	asked   int // the revision that was asked for last; 0: none, the board of now is shown
	reading bool
	shown   bool           // the view is of an earlier board
	present dashboard.View // while that is so: the newest
}

// manyRevisions is how far { and } go.
const manyRevisions = 25

// pastMsg is an earlier board, for the revision that was asked for.
type pastMsg struct {
	asked   int
	view    dashboard.View
	problem *Problem
}

// newest is the board as it is.
func (m Model) newest() *dashboard.View {
	if m.travel.shown {
		return &m.travel.present
	}
	return &m.view
}

// ofThePast reports whether a place can show an earlier board.
func (k kind) ofThePast() bool { return k == board || k == agents || k == waits || k == helpPage }

func (m Model) canTravel() bool { return m.read && m.focused().kind.ofThePast() }

func (m Model) canReturn() bool { return m.travel.shown && m.focused().kind.ofThePast() }

// revisions goes by so many: back from the one that is shown, for not every one is kept, forward from the one that was
// asked for, because what is kept is the one before it.
func revisions(by int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) {
		from := m.travel.asked
		if from == 0 || by < 0 && !m.travel.reading {
			from = m.view.Revision
		}
		return m.travelTo(from + by)
	}
}

// travelTo asks for the board as it was at a revision.
func (m Model) travelTo(rev int) (Model, tea.Cmd) {
	if !m.focused().kind.ofThePast() {
		m = m.turnTo(board)
	}
	if rev >= m.newest().Revision {
		return m.backToNow()
	}
	m.travel.asked = max(1, rev)
	if m.travel.reading { // a key that is held down must not read every board on its way
		return m, nil
	}
	m.travel.reading = true
	return m, m.readPast(m.travel.asked)
}

func (m Model) readPast(rev int) tea.Cmd {
	return func() tea.Msg {
		v, err := m.o.Source.At(m.ctx, rev)
		msg := pastMsg{asked: rev, view: v}
		if err != nil {
			p := m.o.Explain(err)
			msg.problem = &p
		}
		return msg
	}
}

// arrived takes an earlier board.
func (m Model) arrived(msg pastMsg) (Model, tea.Cmd) {
	m.travel.reading = false
	switch {
	case m.travel.asked == 0: // the person is back already
		return m, nil
	case m.travel.asked != msg.asked:
		m.travel.reading = true
		return m, m.readPast(m.travel.asked)
	case msg.problem != nil:
		m.said = said{text: msg.problem.Message, next: msg.problem.Next, failed: true}
		if m.travel.asked = 0; m.travel.shown {
			m.travel.asked = m.view.Revision
		}
		return m, nil
	}
	if !m.travel.shown {
		m.travel.present, m.travel.shown = m.view, true
	}
	return m.showing(msg.view), nil
}

// showing has another board on the screen.
func (m Model) showing(v dashboard.View) Model {
	m.view = v
	m.tasks = rowsOf(v.Tasks, m.filters[board])
	return m.settled()
}

// backToNow ends the look at an earlier board.
func (m Model) backToNow() (Model, tea.Cmd) {
	shown := m.travel.shown
	m = m.leftPast()
	if shown {
		m.said = said{text: "this is the board as it is now"}
	}
	return m.settled(), m.readBoard
}

func (m Model) leftPast() Model {
	was := m.travel
	m.travel = travel{reading: was.reading} // what is still being read is not shown
	if was.shown {
		m.view, m.tasks = was.present, rowsOf(was.present.Tasks, m.filters[board])
	}
	return m
}

// toPresentFor ends the look for a place that shows how things are now.
func (m Model) toPresentFor(k kind) Model {
	if m.travel.asked == 0 || k.ofThePast() {
		return m
	}
	if m.travel.shown {
		m.said = said{text: "this is as it is now; T goes back to an earlier board"}
	}
	return m.leftPast()
}

// toggleTravel goes back to now, or to the board of an entry of the log, or asks which one is meant.
func (m Model) toggleTravel() (Model, tea.Cmd) {
	if m.travel.asked > 0 {
		return m.backToNow()
	}
	if p := m.focused(); p.kind == journal {
		text, _, _ := strings.Cut(m.scrolls[p].key, " ")
		if rev, _ := strconv.Atoi(text); rev > 0 {
			return m.travelTo(rev)
		}
	}
	about := fmt.Sprintf("Now it has revision %d. In the log, T shows the board as it was after the entry under the cursor.", m.view.Revision)
	return m.asked(ask{head: "The board as it was", about: []string{about}, label: "revision:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		rev, err := strconv.Atoi(text)
		if err != nil || rev < 1 {
			m.said = said{text: "'" + text + "' is not a revision, such as 12", failed: true}
			return m, nil
		}
		return m.travelTo(rev)
	}})
}

// pastLine is the second line while an earlier board is shown.
func (m Model) pastLine() line {
	v := m.view
	at, _ := v.At.At()
	layout := "15:04:05"
	if at.UTC().Format("2006-01-02") != m.now.UTC().Format("2006-01-02") {
		layout = "2006-01-02 15:04:05"
	}
	which := fmt.Sprintf(" revision %d of %d", v.Revision, m.travel.present.Revision)
	if v.Revision != m.travel.asked && !m.travel.reading {
		which += fmt.Sprintf(" (%d is not kept)", m.travel.asked)
	}
	return line{{" ", normal}, {" AS IT WAS " + at.UTC().Format(layout) + " ", inverse}, {which + " · T: now · read only", warn}, {" · " + m.doneOf() + " · " + money(v.Cost), normal}}
}
