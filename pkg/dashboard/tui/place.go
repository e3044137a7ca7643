package tui

import "slices"

// kind is what a place shows.
type kind uint8

const (
	board kind = iota
	agents
	waits
	journal
	graph
	alerts
	costs
	timeline
	panes // so many can be reached by their number; what follows is about one thing

	taskPage kind = iota
	diffPage
	outputPage
	helpPage
)

func (k kind) String() string {
	return [...]string{"Board", "Agents", "You", "Log", "Graph", "Alerts", "Costs", "Timeline", "", "Task", "Diff", "Output", "Keys"}[k]
}

// place is a pane, or a page about one thing that has been opened above it.
type place struct {
	kind kind
	name string // the task or agent that a page is about
}

// scroll is where somebody is in a place.
type scroll struct {
	at  int    // row under the cursor
	top int    // first row that is shown
	key string // of the row under the cursor, so that it is found again when the rows change
}

// content is what a place shows: n rows, drawn when they are visible.
type content struct {
	n     int
	row   func(i, width int) line
	key   func(i int) string // what a row is about; "": the cursor does not stop there. nil: a text that is scrolled
	empty string             // what to say when there are no rows
	marks bool               // a row shows by itself where the cursor is
}

func (c content) stops(i int) bool { return c.key != nil && c.key(i) != "" }

// next is the row nearest to i, in the direction first, that the cursor may be on; -1: none.
func (c content) next(i, direction int) int {
	if c.key == nil || c.n == 0 {
		return -1
	}
	i = max(0, min(i, c.n-1))
	for _, d := range []int{direction, -direction} {
		for j := i; j >= 0 && j < c.n; j += d {
			if c.stops(j) {
				return j
			}
		}
	}
	return -1
}

// move goes by so many rows in a window of height rows.
func (s scroll) move(c content, by, height int) scroll {
	if c.key == nil {
		s.top = max(0, min(s.top+by, c.n-height))
		return s
	}
	direction := 1
	if by < 0 {
		direction = -1
	}
	return s.to(c, c.next(s.at+by, direction), height)
}

// to puts the cursor on a row and shows it.
func (s scroll) to(c content, at, height int) scroll {
	if at < 0 {
		return scroll{}
	}
	s.at, s.key = at, c.key(at)
	first := at
	for first > 0 && at-first < 2 && !c.stops(first-1) { // its heading, too
		first--
	}
	if first < s.top {
		s.top = first
	}
	if at >= s.top+height {
		s.top = at - height + 1
	}
	s.top = max(0, min(s.top, c.n-height))
	return s
}

// settle finds the row again after the rows have changed.
func (s scroll) settle(c content, height int) scroll {
	if c.key == nil {
		s.top = max(0, min(s.top, c.n-height))
		return s
	}
	at := s.at
	if s.key != "" && (at >= c.n || c.key(at) != s.key) {
		for i := range c.n {
			if c.key(i) == s.key {
				at = i
				break
			}
		}
	}
	return s.to(c, c.next(at, 1), height)
}

// want is something that a place needs besides the board.
type want struct {
	kind kind
	name string
}

// got is what came of a want.
type got struct {
	rev   int // of the board when it was asked for
	seq   int // counts what has been read
	value any
	err   error
}

// wants are what the places on the screen need.
func (m Model) wants() []want {
	var list []want
	add := func(w want) {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	for _, b := range m.layout() {
		switch b.place.kind {
		case board, agents, waits:
		case journal, graph, alerts, costs, timeline:
			add(want{kind: b.place.kind})
		case taskPage, diffPage, outputPage:
			if b.place.name != "" {
				add(want(b.place))
			}
		}
	}
	add(want{kind: alerts}) // their number is always shown
	return list
}
