package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
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
	if k.group == "Act" && (m.focused().kind == helpPage || m.travel.asked > 0) {
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
		{names: []string{"esc", "backspace", "alt+esc"}, shown: "esc", name: "back", help: "go back; clear the filter", can: Model.canGoBack, do: Model.back},
		{names: []string{"enter"}, name: "open", help: "open what is under the cursor", can: Model.canOpen, do: Model.enter},
		{names: []string{"d"}, name: "diff", help: "the change of the task, with what was found at its lines", can: Model.hasChange, do: opens(diffPage)},
		{names: []string{"o"}, name: "output", help: "what the agent says and does, live", can: Model.hasOutput, do: Model.openOutput},
		{names: []string{"t"}, name: "task", help: "all about the task: spec, criteria, attempts, findings, history", can: Model.hasTask, do: opens(taskPage)},
	}
}

func lastKeys() []key {
	return []key{
		{names: []string{"?"}, name: "keys", help: "this list", do: Model.toggleHelp},
		{names: []string{"q"}, name: "quit", help: "leave", do: Model.quit},
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
		{names: []string{"left"}, shown: "←", help: "the lane to the left", can: Model.inLanes, do: lanes(-1)},
		{names: []string{"right"}, shown: "→", help: "the lane to the right", can: Model.inLanes, do: lanes(1)},
		{names: []string{"/"}, name: "filter", help: "show only what has these words", can: Model.canFilter, do: Model.askFilter},
		{names: []string{"tab"}, name: "next pane", help: "the next pane", do: turns(1)},
		{names: []string{"shift+tab"}, help: "the pane before", do: turns(-1)},
		{names: []string{"1", "2", "3", "4", "5", "6", "7", "8"}, shown: "1–8", help: "the pane with that number"},
		{names: []string{"v"}, name: "lanes", help: "the board in lanes, or as a list", can: Model.onBoard, do: Model.toggleLanes},
		{names: []string{"T"}, name: "time travel", help: "the board as it was: after the entry of the log, or at a revision; then back to now", can: func(m Model) bool { return m.read }, do: Model.toggleTravel},
		{names: []string{"<"}, help: "the board one revision earlier", can: Model.canTravel, do: revisions(-1)},
		{names: []string{">"}, help: "one revision later", can: Model.canReturn, do: revisions(1)},
		{names: []string{"{"}, help: "25 revisions earlier", can: Model.canTravel, do: revisions(-manyRevisions)},
		{names: []string{"}"}, help: "25 revisions later", can: Model.canReturn, do: revisions(manyRevisions)},
		{names: []string{"]"}, name: "next mark", help: "the next file or finding of a diff", can: Model.onDiff, do: marks(1)},
		{names: []string{"["}, help: "the file or finding before", can: Model.onDiff, do: marks(-1)},
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

func (m Model) toggleHelp() (Model, tea.Cmd) {
	if m.focused().kind == helpPage {
		return m.back()
	}
	return m.opened(place{kind: helpPage}), nil
}

func (m Model) quit() (Model, tea.Cmd) {
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
		w := min(widthOf(s.text), n)
		out = append(out, cell(s.paint, s.text, w))
		n -= w
	}
	return append(out, gap(n))
}
