package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

// taskRows are the rows of the board: tasks by status, below a heading.
type taskRows struct {
	tasks []dashboard.Task
	rows  []taskRow

	ids, who, cost, rounds int // widths of columns, 0 for one that is empty
}

type taskRow struct {
	head string // a heading, or
	task int    // index of a task
}

func rowsOf(tasks []dashboard.Task, filter string) taskRows {
	r := taskRows{tasks: tasks}
	index := make([][]int, len(blackboard.StatusTable)+1) // statuses that people invented come last
	match := matcher(filter)
	for i, t := range tasks {
		g := t.Status.Rank()
		if match(t.ID, t.Title, string(t.Status), t.Status.Info().Title, t.Who, t.Note) {
			index[g] = append(index[g], i)
			r.ids, r.who = max(r.ids, dashboard.WidthOf(clean(t.ID))), max(r.who, min(15, dashboard.WidthOf(clean(t.Who))))
			r.cost, r.rounds = max(r.cost, dashboard.WidthOf(money(t.Cost))), max(r.rounds, dashboard.WidthOf(rounds(t)))
		}
	}
	for _, list := range index {
		if len(list) == 0 {
			continue
		}
		status := tasks[list[0]].Status.Info()
		if status.Terminal { // what ended last is first
			slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(tasks[a].AgeSeconds, tasks[b].AgeSeconds) })
		}
		r.rows = append(r.rows, taskRow{head: fmt.Sprintf("%s %d", clean(status.Title), len(list)), task: -1})
		for _, i := range list {
			r.rows = append(r.rows, taskRow{task: i})
		}
	}
	return r
}

// matcher wants each word of a filter somewhere in one of the texts.
func matcher(filter string) func(texts ...string) bool {
	words := strings.Fields(strings.ToLower(filter))
	return func(texts ...string) bool {
		if len(words) == 0 {
			return true
		}
		all := strings.ToLower(strings.Join(texts, "\n"))
		for _, w := range words {
			if !strings.Contains(all, w) {
				return false
			}
		}
		return true
	}
}

// task is a row of the board by its id.
func (s sight) task(id string) *dashboard.Task {
	for i := range s.view.Tasks {
		if s.view.Tasks[i].ID == id {
			return &s.view.Tasks[i]
		}
	}
	return nil
}

func (x boardPane) content(int) content {
	r := x.rows
	empty := "no tasks yet: the planner makes them from the goal"
	if x.filters[board] != "" {
		empty = "no task matches the filter; esc clears it"
	}
	return content{n: len(r.rows), empty: empty,
		key: func(i int) string {
			if r.rows[i].task < 0 {
				return ""
			}
			return r.tasks[r.rows[i].task].ID
		},
		row: func(i, width int) line {
			if r.rows[i].task < 0 {
				return say(faint, r.rows[i].head)
			}
			return r.line(r.tasks[r.rows[i].task], width, x.since())
		}}
}

// line is a task on one line; what does not fit is left out, the title last.
func (r *taskRows) line(t dashboard.Task, width, since int) line {
	id, status := clean(t.ID), paintOf(t.Status)
	l := line{{glyph(t.Status) + " ", status}, cell(bold, id, min(r.ids, max(10, width/4))), gap(1)}
	add := func(s seg, wide int) {
		if wide > 0 {
			l = append(l, s, gap(1))
		}
	}
	if width >= 56 {
		add(cell(normal, clean(t.Who), r.who), r.who)
	}
	if width >= 76 {
		add(right(faint, rounds(t), r.rounds), r.rounds)
		add(right(costPaint(t), money(t.Cost), r.cost), r.cost)
	}
	age := t.AgeSeconds
	if !t.Status.Terminal() {
		age += since
	}
	l = append(l, right(faint, elapsed(age), 5), gap(1))
	title := flat(t.Title)
	if t.Note == "" || t.Status == blackboard.Merged {
		return append(l, seg{title, normal})
	}
	room := width - l.width()
	note := flat(t.Note)
	title = dashboard.Fit(title, max(room/3, room-dashboard.WidthOf(note)-3))
	return append(l, seg{title, normal}, seg{" · ", faint}, seg{note, status})
}

// rounds is how often a task was begun, where that says something.
func rounds(t dashboard.Task) string {
	if t.Iteration < 2 {
		return ""
	}
	return fmt.Sprintf("×%d", t.Iteration)
}

func costPaint(t dashboard.Task) paint {
	switch {
	case t.CostPercent >= 100:
		return bad
	case t.CostPercent >= 75:
		return warn
	}
	return faint
}

// glance is above the tasks: what waits for the person, and what each agent does.
func (s sight) glance(width, height int) []line {
	if height < 12 || s.filters[board] != "" {
		return nil
	}
	most := max(1, height/8)
	out := append(s.glanceWaits(most), s.glanceAgents(width, 2*most+1)...)
	if len(out) > 0 {
		out = append(out, say(faint, strings.Repeat("─", width)))
	}
	return out
}

func (s sight) glanceWaits(most int) []line {
	var out []line
	for _, w := range s.view.Waiting {
		l := line{{" ⚑ ", warn}}
		if w.Task != "" {
			l = append(l, seg{clean(w.Task) + " ", bold})
		}
		l = append(l, seg{flat(w.Text), warn})
		for _, q := range w.Questions {
			l = append(l, seg{" ? " + flat(q.Text), accent})
		}
		out = append(out, l)
	}
	for _, g := range s.view.GaveUp {
		out = append(out, line{{" ⚑ ", bad}, {clean(g.Agent), bold}, {" gave up: " + flat(g.Why), bad}})
	}
	if n := len(out) - most; n > 0 {
		out = append(out[:most:most], say(faint, fmt.Sprintf("   … and %d more for you: 3", n)))
	}
	return out
}

// glanceAgents has a line for each that is at work or gone, and one for those that wait.
func (s sight) glanceAgents(width, most int) []line {
	var out []line
	var idle []string
	for _, a := range s.view.Agents {
		switch {
		case a.Task == "" && a.Liveness == string(blackboard.Alive):
			idle = append(idle, clean(a.ID))
		case len(out) < most:
			out = append(out, append(line{{" ", normal}}, s.agentLine(a, width-1)...))
		}
	}
	if n := len(s.view.Agents) - len(idle) - len(out); n > 0 {
		out = append(out, say(faint, fmt.Sprintf("   … and %d more agents: 2", n)))
	}
	if len(idle) > 0 {
		out = append(out, say(faint, " · idle: "+strings.Join(idle, ", ")))
	}
	return out
}
