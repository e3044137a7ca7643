package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// Text draws the view for a terminal of that width.
func Text(v View, width int, colour bool) string {
	p := &page{width: max(minWidth, width), colour: colour}
	p.wrong(v)
	p.top(v)
	p.tasks(v)
	p.hosts(v)
	p.agents(v)
	p.waiting(v)
	p.gaveUp(v)
	if len(v.Requests) > 0 {
		p.title("Requests")
		for _, r := range v.Requests {
			p.wrap(2, none, r)
		}
	}
	if len(v.Warnings) > 0 {
		p.title("Warnings")
		for _, w := range v.Warnings {
			p.wrap(2, yellow, w)
		}
	}
	return p.b.String()
}

func (p *page) top(v View) {
	field := func(name, text, status string) {
		room := p.width - 8 - widthOf(status) - 2
		left := fit(plain(text), room)
		if status != "" {
			left = pad(left, room) + "  " + p.paint(statusColours[status], plain(status))
		}
		p.line(p.paint(bold, pad(name, 8)) + left)
	}
	goal, _, _ := strings.Cut(strings.TrimSpace(v.Goal.Description), "\n")
	field("Goal", cmp.Or(goal, "none"), v.Goal.Status)
	var parts []string
	if v.Sprint.AgeSeconds > 0 {
		parts = append(parts, age(v.Sprint.AgeSeconds))
	}
	if text := money(v.Cost); text != "" {
		parts = append(parts, "cost "+text)
	}
	if v.Cost.UnknownRuns > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d runs of unknown cost", v.Cost.UnknownRuns, v.Cost.Runs))
	}
	field("Sprint", strings.Join(append([]string{cmp.Or(v.Sprint.ID, "none")}, parts...), ", "), v.Sprint.Status)
	counts := countTexts(v)
	label := pad(capital(Word("task", v.View))+"s", 8)
	for i, l := range wrapItems(counts, p.width-8) {
		if i > 0 {
			label = strings.Repeat(" ", 8)
		}
		p.line(p.paint(bold, label) + l)
	}
	if v.Forecast != nil {
		field("Done", v.Forecast.String(), "")
	}
}

// countTexts are the counts in the vocabulary of the view.
func countTexts(v View) []string {
	var names []string
	n := map[string]int{}
	for _, c := range v.Counts { // for their order
		for _, t := range v.Tasks {
			if t.Status != c.Status {
				continue
			}
			name := cmp.Or(t.ViewStatus, string(t.Status))
			if n[name]++; n[name] == 1 {
				names = append(names, name)
			}
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", n[name], plain(name))
	}
	return names
}

// shown are the rows that fit one screen, in the order of the board.
func shown(tasks []Task) []Task {
	if len(tasks) <= maxRows {
		return tasks
	}
	index := make([]int, len(tasks))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		ra, rb := rank(tasks[a].Status), rank(tasks[b].Status)
		if ra == rb && tasks[a].Status.Terminal() {
			return tasks[a].AgeSeconds - tasks[b].AgeSeconds // what ended last
		}
		return ra - rb
	})
	index = index[:maxRows]
	slices.Sort(index)
	rows := make([]Task, 0, maxRows)
	for _, i := range index {
		rows = append(rows, tasks[i])
	}
	return rows
}

// idWidth is how wide the ids of tasks may get.
func (p *page) idWidth() int {
	if p.width < 100 {
		return 14
	}
	return 24
}

func (p *page) tasks(v View) {
	if len(v.Tasks) == 0 {
		return
	}
	p.line("")
	rows := shown(v.Tasks)
	heads := []head{{name: strings.ToUpper(Word("task", v.View)), most: p.idWidth()}, {name: "STATUS", most: 21}, {name: "WHO", most: 18}, {name: "IT", right: true}, {name: "AGE", right: true},
		{name: "COST", right: true}, {name: "TITLE", rest: true}}
	var cells [][]cell
	for _, t := range rows {
		status := cmp.Or(t.ViewStatus, string(t.Status))
		it := ""
		if t.Iteration > 0 {
			it = fmt.Sprint(t.Iteration)
		}
		cells = append(cells, []cell{{t.ID, none}, {status, statusColours[string(t.Status)]}, {t.Who, none}, {it, none}, {age(t.AgeSeconds), none}, {money(t.Cost), near(t)}, {t.Title, none}})
	}
	p.table(heads, cells)
	if hidden := len(v.Tasks) - len(rows); hidden > 0 {
		p.cut(0, faint, fmt.Sprintf("… and %d more; liza graph shows all", hidden))
	}
	p.notes(rows)
}

// notes say below the table why tasks do not go on, but for what waits for a person: that
// has a part of its own.
func (p *page) notes(rows []Task) {
	first := true
	for _, t := range rows {
		if t.Note == "" || t.Status == blackboard.Blocked || t.Status == blackboard.Approved || t.Hold != "" || t.Status.Terminal() {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		p.cut(2, faint, t.ID+" "+t.Note)
	}
}

func (p *page) agents(v View) {
	if len(v.Agents) == 0 {
		return
	}
	p.line("")
	heads := []head{{name: "AGENT", most: 18}, {name: "ROLE", most: 12}, {name: "STATUS", most: 12}, {name: strings.ToUpper(Word("task", v.View)), most: p.idWidth()}, {name: "LEASE", right: true}, {name: "CLI", most: 20},
		{name: "WAITS FOR", rest: true}}
	if len(v.Hosts) > 0 {
		heads = slices.Insert(heads, 1, head{name: "HOST", most: 20})
	}
	var cells [][]cell
	for _, a := range v.Agents {
		status, c, lease := a.Status, none, age(a.LeaseLeftSeconds)
		switch a.Liveness {
		case string(blackboard.Dead), string(blackboard.Expired):
			status, c = strings.ToUpper(a.Liveness), red
			lease = ""
		case string(blackboard.Unknown):
			status, c = a.Status+"?", yellow
		}
		row := []cell{{a.ID, none}, {a.ViewRole, none}, {status, c}, {a.Task, none}, {lease, none}, {a.CLI + after(", ", a.Sandbox), none}, {a.WaitsFor, faint}}
		if len(v.Hosts) > 0 {
			row = slices.Insert(row, 1, cell{a.Host, none})
		}
		cells = append(cells, row)
	}
	p.table(heads, cells)
	p.doings(v.Agents)
}

// hosts are said before their agents.
func (p *page) hosts(v View) {
	if len(v.Hosts) == 0 {
		return
	}
	p.title("Hosts")
	for _, h := range v.Hosts {
		c, name := none, h.Name
		if h.Here {
			name += " (this one)"
		}
		if h.Silent || h.ClockOff {
			c = yellow
		}
		p.cut(2, c, name+": "+h.Said())
	}
}

// wrong is first: what follows is not to be relied on.
func (p *page) wrong(v View) {
	if len(v.Wrong) == 0 {
		return
	}
	p.line(p.paint(red, "The board is invalid; liza validate names the lines"))
	for _, w := range v.Wrong {
		p.wrap(2, red, w)
	}
	p.line("")
}

func (p *page) gaveUp(v View) {
	if len(v.GaveUp) == 0 {
		return
	}
	p.title("Gave up")
	for _, g := range v.GaveUp {
		p.wrap(2, red, strings.TrimSpace(g.Agent+after(" on ", g.Task))+": "+g.Why)
		p.line("    " + p.paint(cyan, plain(g.Next)))
	}
}

func (p *page) waiting(v View) {
	if len(v.Waiting) == 0 {
		return
	}
	p.title("Waits for a person")
	for i, w := range v.Waiting {
		if i == maxRows {
			p.cut(2, faint, fmt.Sprintf("… and %d more; liza status --json lists all", len(v.Waiting)-i))
			return
		}
		p.wrap(2, red, strings.TrimSpace(w.Task+" "+w.Text))
		for _, q := range w.Questions {
			p.wrap(4, none, strings.TrimSpace(q.ID+" "+q.Text))
		}
		p.line("    " + p.paint(cyan, plain(w.Next)))
	}
}
