package tui

import (
	"strings"

	"liza/pkg/dashboard"
)

// waitRow is a row of what waits for the person.
type waitRow struct {
	key  string // of what can be acted on: kind|task|question
	line line
}

// waitRows are what only a person can move, with what one may do.
func (m Model) waitRows(width int) []waitRow {
	var rows []waitRow
	match := matcher(m.filters[waits])
	for _, w := range m.view.Waiting {
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
		if !m.travel.shown {
			rows = append(rows, waitRow{line: line{gap(2), {m.offer(w), accent}}})
		}
		rows = append(rows, waitRow{})
	}
	for _, g := range m.view.GaveUp {
		if match("gave up", g.Agent, g.Task, g.Why) {
			rows = append(rows, matter("gave_up|"+g.Task+"|", g.Agent, "gave up: "+g.Why, bad, width)...)
			rows = append(rows, waitRow{line: line{gap(2), {clean(g.Next), accent}}}, waitRow{})
		}
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
func (m Model) offer(w dashboard.Waiting) string {
	switch w.Kind {
	case "question":
		return "a answers it"
	case "blocked":
		if len(w.Questions) > 0 {
			return "a answers, U unblocks without an answer, D gives it up"
		}
		return clean(w.Next) + ", or U unblocks it, D gives it up"
	case "merge_approval":
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

func (m Model) waitContent(width int) content {
	rows := m.waitRows(width)
	empty := "nothing waits for you"
	if m.filters[waits] != "" {
		empty = "nothing matches the filter; esc clears it"
	}
	return content{n: len(rows), empty: empty,
		key: func(i int) string { return rows[i].key },
		row: func(i, _ int) line { return rows[i].line }}
}

// picked is what is under the cursor.
type picked struct{ task, agent, question, kind string }

func (m Model) picked() picked {
	at := place{kind: m.pane}
	if len(m.open) > 0 {
		at = m.focused()
	}
	key := m.scrolls[at].key
	switch at.kind {
	case board:
		p := picked{task: key}
		if t := m.task(key); t != nil {
			p.agent = t.Who
		}
		return p
	case agents:
		for _, a := range m.view.Agents {
			if a.ID == key {
				return picked{task: a.Task, agent: key}
			}
		}
		return picked{}
	case waits:
		parts := strings.SplitN(key+"||", "|", 4)
		return picked{kind: parts[0], task: parts[1], question: parts[2]}
	case timeline:
		parts := strings.SplitN(key+"||", "|", 4)
		return picked{task: parts[1], agent: parts[2]}
	case journal, graph, alerts:
		_, id, _ := strings.Cut(key, "|")
		return m.named(id)
	case outputPage:
		return m.named(at.name)
	}
	return m.named(at.name)
}

// named is the task or the agent of that name.
func (m Model) named(id string) picked {
	if t := m.task(id); t != nil {
		return picked{task: id, agent: t.Who}
	}
	for _, a := range m.view.Agents {
		if a.ID == id && id != "" {
			return picked{agent: id, task: a.Task}
		}
	}
	return picked{task: id}
}
