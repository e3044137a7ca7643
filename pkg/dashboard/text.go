package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// colour is an ANSI colour; "" is none.
type colour string

const (
	none   colour = ""
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	blue   colour = "34"
	cyan   colour = "36"
	bold   colour = "1"
)

var statusColours = map[string]colour{
	"CLAIMED": blue, "READY_FOR_REVIEW": cyan, "REJECTED": yellow, "APPROVED": green, "MERGED": green, "BLOCKED": red,
	"INTEGRATION_FAILED": red, "ABANDONED": faint, "SUPERSEDED": faint, "DRAFT": faint,
	blackboard.AtCheckpoint: yellow, blackboard.Aborted: red, blackboard.Completed: green,
}

// page collects lines of at most width columns.
type page struct {
	b      strings.Builder
	width  int
	colour bool
}

func (p *page) line(text string) { p.b.WriteString(text + "\n") }

func (p *page) paint(c colour, text string) string {
	if !p.colour || c == none || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// title opens a part of the page.
func (p *page) title(text string) {
	if p.b.Len() > 0 {
		p.line("")
	}
	p.line(p.paint(bold, text))
}

// cut writes a line that is cut at the edge of the page.
func (p *page) cut(indent int, c colour, text string) {
	p.line(strings.Repeat(" ", indent) + p.paint(c, fit(plain(text), max(minWidth/2, p.width-indent))))
}

// wrap writes a text over as many lines as it takes.
func (p *page) wrap(indent int, c colour, text string) {
	for _, l := range wrapText(plain(text), max(minWidth/2, p.width-indent)) {
		p.line(strings.Repeat(" ", indent) + p.paint(c, l))
	}
}

func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case widthOf(line)+1+widthOf(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for widthOf(line) > width { // a word that is longer than a line
			head := strings.TrimSuffix(fit(line, width+1), "…")
			if head == "" {
				break
			}
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	return append(lines, line)
}

// wrapItems writes a list over as many lines as it takes; no item is broken.
func wrapItems(items []string, width int) []string {
	if len(items) == 0 {
		return []string{"none yet"}
	}
	lines := []string{items[0]}
	for _, item := range items[1:] {
		last := &lines[len(lines)-1]
		*last += ","
		if widthOf(*last)+1+widthOf(item)+1 <= width {
			*last += " " + item
		} else {
			lines = append(lines, item)
		}
	}
	return lines
}

// Widths that a page may have, and how many rows of tasks fit one screen.
const (
	minWidth = 40
	maxRows  = 20
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

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// rank orders statuses by how much a person wants to see them when not all fit.
func rank(s blackboard.Status) int {
	order := []blackboard.Status{blackboard.Blocked, blackboard.IntegrationFailed, blackboard.Claimed, blackboard.ReadyForReview, blackboard.Rejected,
		blackboard.Approved, blackboard.Unclaimed, blackboard.Draft}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return len(order)
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

// age is a duration for people: 45s, 12m, 3h, 2d.
func age(seconds int) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// near is the colour of a task's cost by how much of its limit is used (specs/roles-and-knowledge.md#8.2).
func near(t Task) colour {
	switch {
	case t.CostPercent >= 100:
		return red
	case t.CostPercent >= 75:
		return yellow
	case t.CostPercent > 0:
		return green
	}
	return none
}

// money is a cost for people: "$1.23", "≥ $1.23 ?" when some runs are of unknown cost, and
// "?" when all are. Where nothing ran there is none.
func money(c Cost) string {
	switch {
	case c.Runs == 0 && c.Cents == 0:
		return ""
	case c.UnknownRuns > 0 && c.Cents == 0:
		return "?"
	case c.UnknownRuns > 0:
		return "≥ " + c.Cents.Dollars() + " ?"
	}
	return c.Cents.Dollars()
}
