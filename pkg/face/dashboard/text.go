package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/verb/integration"
)

// Text formats v for a terminal with width columns.
func Text(v View, width int, colour bool) string {
	p := &page{width: max(minWidth, width), colour: colour}
	p.wrong(v)
	p.top(v)
	p.tasks(v)
	p.hosts(v)
	p.agents(v)
	p.waiting(v)
	p.gaveUp(v)
	p.list("Requests", none, v.Requests)
	p.list("Warnings", yellow, v.Warnings)
	return p.b.String()
}

func (p *page) list(title string, colour colour, lines []string) {
	if len(lines) > 0 {
		p.title(title)
	}
	for _, l := range lines {
		p.wrap(2, colour, l)
	}
}

func (p *page) top(v View) {
	field := func(name, text, status string) {
		room := p.width - 8 - WidthOf(status) - 2
		left := Fit(plain(text), room)
		if status != "" {
			left = pad(left, room) + "  " + p.paint(goalColours[status], plain(status))
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
	if v.Branch != nil {
		field("Branch", branchText(*v.Branch), "")
	}
	counts := countTexts(v)
	label := pad("Tasks", 8)
	for i, l := range wrapItems(counts, p.width-8) {
		if i > 0 {
			label = strings.Repeat(" ", 8)
		}
		p.line(p.paint(bold, label) + l)
	}
}

// branchText says where the integration branch is.
func branchText(b integration.Standing) string {
	switch {
	case b.Tip == "":
		return b.Branch + " does not exist"
	case b.Moved:
		return fmt.Sprintf("%s is at %.9s, where Liza did not put it; merges wait", b.Branch, b.Tip)
	case b.Known == "":
		return fmt.Sprintf("%s is at %.9s; the board does not remember where Liza left it", b.Branch, b.Tip)
	}
	return fmt.Sprintf("%s is at %.9s, where Liza left it", b.Branch, b.Tip)
}

// countTexts are the counts, as texts.
func countTexts(v View) []string {
	var names []string
	n := map[string]int{}
	for _, c := range v.Counts { // for their order
		for _, t := range v.Tasks {
			if t.Status != c.Status {
				continue
			}
			name := string(t.Status)
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
		ra, rb := tasks[a].Status.Rank(), tasks[b].Status.Rank()
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
	heads := []head{{name: "TASK", most: p.idWidth()}, {name: "STATUS", most: 21}, {name: "WHO", most: 18}, {name: "IT", right: true}, {name: "AGE", right: true},
		{name: "COST", right: true}, {name: "TITLE", rest: true}}
	var cells [][]cell
	for _, t := range rows {
		status := string(t.Status)
		it := ""
		if t.Iteration > 0 {
			it = fmt.Sprint(t.Iteration)
		}
		cells = append(cells, []cell{{t.ID, none}, {status, toneColours[t.Status.Info().Tone]}, {t.Who, none}, {it, none}, {age(t.AgeSeconds), none}, {money(t.Cost), near(t)}, {t.Title, none}})
	}
	p.table(heads, cells)
	if hidden := len(v.Tasks) - len(rows); hidden > 0 {
		p.cut(0, faint, fmt.Sprintf("… and %d more; liza status --graph shows all", hidden))
	}
	p.notes(rows)
}

// notes lists below the table why tasks do not continue. Tasks that wait for a person have a section of their own.
func (p *page) notes(rows []Task) {
	first := true
	for _, t := range rows {
		if t.Note == "" || t.Status == blackboard.Blocked || t.Status == blackboard.Approved && !t.merges || t.Hold != "" || t.Status.Terminal() {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		if t.merges {
			p.cut(2, faint, strings.Replace(t.Note, "merge:", "merge of "+t.ID+":", 1))
			continue
		}
		p.cut(2, faint, t.ID+" "+t.Note)
	}
}

func (p *page) agents(v View) {
	if len(v.Agents) == 0 {
		return
	}
	p.line("")
	heads := []head{{name: "AGENT", most: 18}, {name: "STATUS", most: 12}, {name: "TASK", most: p.idWidth()}, {name: "LEASE", right: true}, {name: "CLI", most: 20},
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
		row := []cell{{a.ID, none}, {status, c}, {a.Task, none}, {lease, none}, {a.CLI + prose.After(", ", a.Sandbox), none}, {a.WaitsFor, faint}}
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

// wrong comes first: the rest is not reliable.
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
		p.wrap(2, red, strings.TrimSpace(g.Agent+prose.After(" on ", g.Task))+": "+g.Why)
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

// A field is one key of an entry of state.yaml with its value, in the order of the file.
type field struct {
	key   string
	value reflect.Value
}

// fieldsOf are the fields of an entry that are set, under the names that they have in
// state.yaml. Absent, null, empty and zero are the same (specs/protocol.md#0.2).
func fieldsOf(entry any) []field {
	v := reflect.ValueOf(entry)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	var list []field
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case !v.Type().Field(i).IsExported() || name == "-" || blank(v.Field(i)):
		case options == "inline" && v.Field(i).Kind() == reflect.Map:
			for _, k := range slices.Sorted(maps.Keys(v.Field(i).Interface().(map[string]any))) {
				list = append(list, field{k, v.Field(i).MapIndex(reflect.ValueOf(k))})
			}
		case name != "":
			list = append(list, field{name, v.Field(i)})
		}
	}
	return list
}

func blank(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return v.IsZero()
}

// Plain returns an entry of the state as maps and lists with the keys of state.yaml, for JSON.
func Plain(entry any) any { return plainValue(reflect.ValueOf(entry)) }

func plainValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plainValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range fieldsOf(v.Interface()) {
			out[f.key] = plainValue(f.value)
		}
		return out
	case reflect.Slice:
		out := make([]any, 0, v.Len())
		for i := range v.Len() {
			out = append(out, plainValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = plainValue(v.MapIndex(k))
		}
		return out
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}

// A cell is a text with its colour.
type cell struct {
	text  string
	paint colour
}

// A head is the heading of a column. One column may take the rest of the line.
type head struct {
	name  string
	right bool // aligned to the right
	rest  bool // takes the rest of the line, and is cut
	most  int  // greatest width; 0: no limit
}

const (
	minRest  = 8  // least columns of the rest
	goodRest = 24 // below that, columns move closer together
)

// table draws rows in aligned columns. A column that is empty in every row is left out.
func (p *page) table(heads []head, rows [][]cell) {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i := range row {
			row[i].text = plain(row[i].text)
			if row[i].text != "" {
				widths[i] = max(widths[i], WidthOf(row[i].text), WidthOf(heads[i].name))
			}
		}
	}
	used, shown, rest := 0, 0, -1
	for i, h := range heads {
		if h.most > 0 {
			widths[i] = min(widths[i], h.most)
		}
		switch {
		case h.rest:
			rest = i
		case widths[i] > 0:
			used += widths[i]
			shown++
		}
	}
	gap := 2
	if p.width-used-gap*shown < goodRest {
		gap = 1
	}
	if rest >= 0 {
		widths[rest] = min(widths[rest], max(minRest, p.width-used-gap*shown))
	}
	titles := make([]cell, len(heads))
	for i, h := range heads {
		titles[i] = cell{h.name, faint}
	}
	for _, row := range append([][]cell{titles}, rows...) {
		p.row(heads, widths, gap, row)
	}
}

func (p *page) row(heads []head, widths []int, gap int, row []cell) {
	var b strings.Builder
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		text := Fit(c.text, widths[i])
		space := strings.Repeat(" ", max(0, widths[i]-WidthOf(text)))
		if heads[i].right {
			b.WriteString(space + p.paint(c.paint, text))
		} else {
			b.WriteString(p.paint(c.paint, text) + space)
		}
	}
	p.line(strings.TrimRight(b.String(), " "))
}

// plain is a text of unknown origin on one line, its words one space apart.
func plain(text string) string { return prose.OneLine(text, 0) }

// block is plain for a text of several lines.
func block(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		out = append(out, indentOf(line)+plain(line))
	}
	return out
}

func indentOf(line string) string {
	n := 0
	for n < len(line) && line[n] == ' ' {
		n++
	}
	return strings.Repeat(" ", n)
}

// WidthOf returns how many columns a line takes on a terminal.
func WidthOf(line string) int {
	if isASCII(line) {
		return len(line)
	}
	return ansi.StringWidthWc(line)
}

// Fit cuts a line to n columns; one that was cut ends in "…".
func Fit(line string, n int) string {
	switch {
	case n <= 0:
		return ""
	case WidthOf(line) <= n:
		return line
	case isASCII(line):
		return strings.TrimRight(line[:n-1], " ") + "…"
	}
	return strings.TrimRight(ansi.TruncateWc(line, n-1, ""), " ") + "…"
}

// isASCII reports whether line has printable ASCII alone, whose width is its length.
func isASCII(line string) bool {
	for i := range len(line) {
		if line[i] < 0x20 || line[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Cut returns a text of unknown origin on one line of at most n columns.
func Cut(text string, n int) string { return Fit(prose.Line(text), n) }

// pad fills a text up to n columns.
func pad(text string, n int) string { return text + strings.Repeat(" ", max(0, n-WidthOf(text))) }
