package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
)

// logEntries is how much of the journal is shown.
const logEntries = 500

// content is the journal, the newest first.
func (x logPane) content(int) content {
	list, err, ok := of[[]dashboard.Happening](x.sight, want{kind: journal})
	if err != nil {
		return text(x.unread(err))
	}
	match := matcher(x.filters[journal])
	var shown []dashboard.Happening
	for _, h := range slices.Backward(list) {
		if match(h.Who, h.Action, spaced(h.Action), h.Task, h.Text) {
			shown = append(shown, h)
		}
	}
	empty := "nothing has happened yet"
	if !ok {
		empty = "reading …"
	}
	return content{n: len(shown), empty: empty,
		key: func(i int) string {
			h := shown[i]
			return fmt.Sprintf("%d %s %s|%s", h.Rev, h.At, h.Action, h.Task)
		},
		row: func(i, width int) line {
			h := shown[i]
			l := line{{clock(h.At) + " ", faint}, cell(faint, clean(h.Who), 15), gap(1)}
			if h.Task != "" {
				l = append(l, seg{clean(h.Task) + " ", bold})
			}
			l = append(l, seg{spaced(h.Action), actionPaint(h.Action)})
			if h.Text != "" {
				l = append(l, seg{": ", faint}, seg{flat(x.mask(h.Text)), normal})
			}
			return l
		}}
}

func actionPaint(action string) paint {
	for _, w := range []struct {
		part  string
		paint paint
	}{{"reject", warn}, {"fail", bad}, {"block", bad}, {"gave_up", bad}, {"alert", bad}, {"abort", bad}, {"merged", good}, {"approv", good}, {"submit", accent}, {"review", accent}, {"claim", info}} {
		if strings.Contains(action, w.part) {
			return w.paint
		}
	}
	return normal
}

// content is what a program says and does, as it says it.
func (x outputPane) content(width int) content {
	o, err, ok := of[outputs](x.sight, want{outputPage, x.name})
	switch {
	case !ok:
		return content{empty: "reading …"}
	case err != nil && len(o.events) == 0:
		return text(x.unread(err))
	case len(o.events) == 0:
		return content{empty: "nothing has been said yet"}
	}
	p := x.page(width)
	for _, e := range o.events {
		p.event(e)
	}
	return text(p.lines)
}

func (p *page) event(e activity.Event) {
	at := seg{e.At.UTC().Format("15:04:05") + " ", faint}
	under := func(c paint, text string) {
		for i, l := range paragraphs(p.mask(text), max(10, p.width-9)) {
			if i == 0 {
				p.add(at, seg{l, c})
			} else {
				p.add(gap(9), seg{l, c})
			}
		}
	}
	switch e.Kind {
	case activity.Run:
		p.add(at, seg{fmt.Sprintf("── %s on %s ", clean(e.Agent), cmp.Or(clean(e.Task), "the plan")), accent}, seg{clean(e.Program) + " " + clean(e.Model), faint})
	case activity.Tool:
		p.add(at, seg{clean(e.Tool) + " ", accent}, seg{flat(p.mask(e.Text)), normal})
	case activity.Result, activity.Usage:
		if e.Kind == activity.Result && e.Text != "" {
			p.add(gap(9), seg{"↳ " + flat(p.mask(e.Text)), faint})
		}
	case activity.Wait:
		under(warn, "waits for its provider: "+e.Text)
	case activity.Error:
		under(bad, e.Text)
	case activity.Note:
		under(accent, "your note: "+e.Text)
	case activity.End:
		p.add(at, seg{"── " + cmp.Or(flat(p.mask(e.Text)), "the end"), accent})
	case activity.Text:
		under(bold, e.Text)
	default:
		under(normal, e.Text)
	}
}

// waitRow is a row of what waits for the person.
type waitRow struct {
	key  string // of what can be acted on: kind|task|question
	line line
}

// rows are what only a person can move, with what one may do.
func (x waitPane) rows(width int) []waitRow {
	var rows []waitRow
	match := matcher(x.filters[waits])
	for _, w := range x.view.Waiting {
		if !match(w.Kind, w.Task, w.Text) {
			continue
		}
		rows = append(rows, matter(w.Kind+"|"+w.Task+"|", w.Task, w.Text, warn, width)...)
		for _, q := range w.Questions {
			for i, text := range wrapped(flat(q.Text), max(20, width-6)) {
				r := waitRow{line: line{gap(4), {text, bold}}}
				if i == 0 {
					r.key = "question|" + w.Task + "|" + q.ID
					r.line = line{gap(2), {"? ", accent}, {text, bold}}
				}
				rows = append(rows, r)
			}
		}
		rows = append(rows, waitRow{line: line{gap(2), {x.offer(w), accent}}}, waitRow{})
	}
	for _, g := range x.view.GaveUp {
		if match("gave up", g.Agent, g.Task, g.Why) {
			rows = append(rows, matter("gave_up|"+g.Task+"|", g.Agent, "gave up: "+g.Why, bad, width)...)
			rows = append(rows, waitRow{line: line{gap(2), {clean(g.Next), accent}}}, waitRow{})
		}
	}
	return append(rows, x.alertRows(width)...)
}

// alertRows are what is wrong: what the board itself says, and what the watcher raised. Each text names its command.
func (x waitPane) alertRows(width int) []waitRow {
	_, err, _ := of[[]watch.Alert](x.sight, want{kind: alerts})
	match := matcher(x.filters[waits])
	var rows []waitRow
	add := func(key, who, text string, p paint) {
		if match(who, text) {
			rows = append(append(rows, matter("alert|"+key, who, text, p, width)...), waitRow{})
		}
	}
	for _, w := range x.view.Wrong {
		add("||"+w, "the board is invalid", w+"; next: liza validate", bad)
	}
	for _, a := range x.openAlerts() {
		p := map[string]paint{findings.Error: bad, findings.Warning: warn}[a.Severity]
		since := elapsed(max(0, int(x.now.Sub(a.Since).Seconds())))
		add(a.Subject+"||"+string(a.Kind), spaced(string(a.Kind))+" "+a.Subject, "for "+since+": "+a.Message, p)
	}
	for _, w := range x.view.Warnings {
		add("||"+w, "warning", w, warn)
	}
	if err != nil {
		rows = append(rows, waitRow{line: say(bad, clean(x.explain(err).Message))})
	}
	if len(rows) > 0 {
		rows = append([]waitRow{{line: say(faint, "Alerts")}}, rows...)
	}
	return rows
}

func matter(key, who, text string, p paint, width int) []waitRow {
	who = clean(who)
	if who != "" {
		who += " "
	}
	var rows []waitRow
	for i, l := range wrapped(flat(who+text), max(20, width-2)) {
		if i > 0 {
			rows = append(rows, waitRow{line: line{gap(2), {l, normal}}})
		} else if rest, ok := strings.CutPrefix(l, who); ok {
			rows = append(rows, waitRow{key, line{{who, bold}, {rest, p}}})
		} else { // the name alone is longer
			rows = append(rows, waitRow{key, line{{l, bold}}})
		}
	}
	return rows
}

// offer says how one acts: with a key where there is one, else with the command.
func (s sight) offer(w dashboard.Waiting) string {
	switch w.Kind {
	case "question":
		return "a answers it"
	case "blocked":
		if len(w.Questions) > 0 {
			return "a answers, U unblocks without an answer, D gives it up"
		}
		return clean(w.Next) + ", or U unblocks it, D gives it up"
	case "merge_approval":
		if w.Picks() {
			return "d shows the change, w picks the attempt"
		}
		return "d shows the change, m approves the merge, x rejects it"
	case "hold":
		return "u lets it go on"
	case "control":
		return "r resumes"
	case "breaker":
		return "r acknowledges it and resumes"
	case "integration":
		return "i accepts the new tip, I restores the old one"
	}
	return clean(w.Next)
}

func (x waitPane) content(width int) content {
	rows := x.rows(width)
	empty := "nothing waits for you"
	if x.filters[waits] != "" {
		empty = "nothing matches the filter; esc clears it"
	}
	return content{n: len(rows), empty: empty,
		key: func(i int) string { return rows[i].key },
		row: func(i, _ int) line { return rows[i].line }}
}

// picked is what is under the cursor.
type picked struct{ task, agent, question, kind string }

// A pane is what one place shows, for a box of that width, and what is meant by a row with that key.
type pane interface {
	content(width int) content
	under(key string) picked
}

// The panes. What is drawn is in content; a page about one thing means that thing.
type (
	boardPane struct {
		sight
		rows taskRows
	}
	agentPane  struct{ sight }
	waitPane   struct{ sight }
	logPane    struct{ sight }
	taskPane   struct{ about }
	diffPane   struct{ about }
	outputPane struct{ about }
	helpPane   struct {
		about
		lines func(width int) []line
	}
	about struct {
		sight
		name string
	}
)

// paneOf is the pane of a place.
func (m Model) paneOf(p place) pane {
	one := about{m.sight, p.name}
	switch p.kind {
	case agents:
		return agentPane{m.sight}
	case waits:
		return waitPane{m.sight}
	case journal:
		return logPane{m.sight}
	case taskPage:
		return taskPane{one}
	case diffPage:
		return diffPane{one}
	case outputPage:
		return outputPane{one}
	case helpPage:
		return helpPane{one, m.helpLines}
	}
	return boardPane{m.sight, m.tasks}
}

func (x boardPane) under(key string) picked {
	p := picked{task: key}
	if t := x.task(key); t != nil {
		p.agent = t.Who
	}
	return p
}

func (x agentPane) under(key string) picked {
	for _, a := range x.view.Agents {
		if a.ID == key {
			return picked{task: a.Task, agent: key}
		}
	}
	return picked{}
}

func (x waitPane) under(key string) picked {
	parts := strings.SplitN(key+"||", "|", 4)
	if parts[0] == "alert" {
		return x.named(parts[1])
	}
	return picked{kind: parts[0], task: parts[1], question: parts[2]}
}

func (x logPane) under(key string) picked { return x.behind(key) }
func (x about) under(string) picked       { return x.named(x.name) }

// behind returns the task or agent that key names after a bar.
func (s sight) behind(key string) picked {
	_, id, _ := strings.Cut(key, "|")
	return s.named(id)
}

func (x helpPane) content(width int) content { return text(x.lines(width - 1)) }

// picked is what is under the cursor of what has the focus.
func (m Model) picked() picked {
	at := m.focused()
	return m.paneOf(at).under(m.scrolls[at].key)
}

// named is the task or the agent of that name.
func (s sight) named(id string) picked {
	if t := s.task(id); t != nil {
		return picked{task: id, agent: t.Who}
	}
	for _, a := range s.view.Agents {
		if a.ID == id && id != "" {
			return picked{agent: id, task: a.Task}
		}
	}
	return picked{task: id}
}
