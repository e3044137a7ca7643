package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/face/dashboard"
)

// key is a line of the table of keys.
type key struct {
	names []string // as the library calls them; the first is shown
	shown string   // in its place
	name  string   // in one or two words, for the foot; "" is not there
	help  string
	can   func(Model) bool // nil: always
	do    func(Model) (Model, tea.Cmd)
	group string
}

func (m Model) possible(k key) bool {
	if k.group == "Act" && m.focused().kind == helpPage {
		return false
	}
	return k.can == nil || k.can(m)
}

// table lists all keys in the order in which the foot and the help name them.
func table() []key {
	var all []key
	for _, g := range []struct {
		name string
		keys []key
	}{{"Look", lookKeys()}, {"Act", actKeys()}, {"Move", moveKeys()}, {lastGroup, lastKeys()}} {
		for _, k := range g.keys {
			k.group = g.name
			all = append(all, k)
		}
	}
	return all
}

// lastGroup is always in the foot.
const lastGroup = "Else"

func lookKeys() []key {
	return []key{
		{names: []string{"esc", "backspace", "alt+esc"}, shown: "esc", name: "back", help: "go back; clear the filter", can: canGoBack, do: Model.back},
		{names: []string{"enter"}, name: "open", help: "open what is under the cursor", can: may(acts.canOpen), do: enter},
		{names: []string{"d"}, name: "diff", help: "the change of the task, with what was found at its lines", can: may(acts.hasChange), do: opens(diffPage)},
		{names: []string{"o"}, name: "output", help: "what the agent says and does, live", can: may(acts.hasOutput), do: openOutput},
		{names: []string{"t"}, name: "task", help: "all about the task: spec, criteria, attempts, findings, history", can: may(acts.hasTask), do: opens(taskPage)},
	}
}

func lastKeys() []key {
	return []key{
		{names: []string{"?"}, name: "keys", help: "this list", do: toggleHelp},
		{names: []string{"q"}, name: "quit", help: "leave", do: quit},
		{names: []string{"ctrl+c"}, help: "leave with exit code 130", do: func(m Model) (Model, tea.Cmd) { m.interrupted = true; return m, tea.Quit }},
		{names: []string{"ctrl+z"}, help: "back to the shell; fg returns", do: func(m Model) (Model, tea.Cmd) { return m, tea.Suspend }},
	}
}

func moveKeys() []key {
	return []key{
		{names: []string{"up", "k"}, shown: "↑ k", help: "one up", do: moves(-1)},
		{names: []string{"down", "j"}, shown: "↓ j", help: "one down", do: moves(1)},
		{names: []string{"pgup", "b", "ctrl+b"}, shown: "PgUp b", help: "one page up", do: pages(-1)},
		{names: []string{"pgdown", "space", "ctrl+f"}, shown: "PgDn space", help: "one page down", do: pages(1)},
		{names: []string{"home", "g"}, shown: "Home g", help: "to the beginning", do: moves(-1 << 30)},
		{names: []string{"end", "G"}, shown: "End G", help: "to the end; output is followed from there", do: moves(1 << 30)},
		{names: []string{"/"}, name: "filter", help: "show only what has these words", can: canFilter, do: askFilter},
		{names: []string{"tab"}, name: "next pane", help: "the next pane", do: turns(1)},
		{names: []string{"shift+tab"}, help: "the pane before", do: turns(-1)},
		{names: []string{"1", "2", "3", "4"}, shown: "1–4", help: "the pane with that number"},
		{names: []string{"]"}, name: "next mark", help: "the next file or finding of a diff", can: may(acts.onDiff), do: marks(1)},
		{names: []string{"["}, help: "the file or finding before", can: may(acts.onDiff), do: marks(-1)},
	}
}

// press does what a key stands for.
func (m Model) press(k tea.KeyPressMsg) (Model, tea.Cmd) {
	name := k.String()
	if m.ask != nil {
		return m.answerAsk(k)
	}
	m.said = said{}
	for _, e := range table() {
		if !slices.Contains(e.names, name) || !m.possible(e) {
			continue
		}
		if e.do == nil {
			return m.turnTo(kind(name[0] - '1')), nil
		}
		return e.do(m)
	}
	return m, nil
}

// foot names the keys that are of use now, as many as there is room for. The last ones are always there.
func (m Model) foot() line {
	if m.ask != nil {
		return m.ask.foot(m.width)
	}
	var list, last []seg
	for _, e := range table() {
		if e.name == "" || !m.possible(e) {
			continue
		}
		s := []seg{{" " + e.label(), accent}, {" " + e.name + " ", faint}}
		if e.group == lastGroup {
			last = append(last, s...)
		} else {
			list = append(list, s...)
		}
	}
	room := m.width - line(last).width()
	for len(list) > 0 && line(list).width() > room {
		list = list[:len(list)-2]
	}
	return append(list, last...)
}

func (k key) label() string {
	if k.shown != "" {
		return k.shown
	}
	return k.names[0]
}

// helpLines explains all keys; those that are of no use for what was under the cursor are faint.
func (m Model) helpLines(width int) []line {
	below := m
	below.open = slices.DeleteFunc(slices.Clone(m.open), func(p place) bool { return p.kind == helpPage })
	var all []line
	group := ""
	for _, e := range table() {
		if e.group != group {
			if group = e.group; len(all) > 0 {
				all = append(all, nil)
			}
			all = append(all, say(bold, group))
		}
		p := accent
		if !below.possible(e) {
			p = faint
		}
		all = append(all, line{cell(p, e.label(), 11), {e.help, normal}})
	}
	if width < 150 {
		return all
	}
	return columns(all, width, (len(all)+1)/2)
}

func toggleHelp(m Model) (Model, tea.Cmd) {
	if m.focused().kind == helpPage {
		return m.back()
	}
	return m.opened(place{kind: helpPage}), nil
}

func quit(m Model) (Model, tea.Cmd) {
	if m.focused().kind == helpPage {
		return m.back()
	}
	return m, tea.Quit
}

// columns puts lines side by side when they do not fit below each other.
func columns(all []line, width, height int) []line {
	n := (len(all) + height - 1) / height
	if n <= 1 {
		return all
	}
	wide, rows := width/n, (len(all)+n-1)/n
	out := make([]line, rows)
	for i, l := range all {
		at := i % rows
		out[at] = append(out[at], l.cut(wide-1)...)
		out[at] = append(out[at], gap(1))
	}
	return out
}

// cut is the line on exactly n columns.
func (l line) cut(n int) line {
	var out line
	for _, s := range l {
		w := min(dashboard.WidthOf(s.text), n)
		out = append(out, cell(s.paint, s.text, w))
		n -= w
	}
	return append(out, gap(n))
}

// kind is what a place shows.
type kind uint8

const (
	board kind = iota
	agents
	waits
	journal
	panes // so many can be reached by their number; what follows is about one thing

	taskPage kind = iota
	diffPage
	outputPage
	helpPage
	alerts // no place: what the list of what waits needs besides the board
)

func (k kind) String() string {
	return [...]string{"Board", "Agents", "You", "Log", "", "Task", "Diff", "Output", "Keys"}[k]
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
		case journal:
			add(want{kind: journal})
		case taskPage, diffPage, outputPage:
			if b.place.name != "" {
				add(want(b.place))
			}
		}
	}
	add(want{kind: alerts}) // their number is always shown
	return list
}
