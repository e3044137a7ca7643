package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
)

// header is what is always there: goal, how far it is, what it cost, what stops it, and the panes.
func (m Model) header() []line {
	if !m.read {
		return []line{say(bold, " liza"), say(faint, " reading the board …"), m.tabs()}
	}
	v := m.view
	status := cmp.Or(v.Sprint.Status, v.Goal.Status)
	room := m.width - widthOf(clean(status)) - 3
	goal := line{{" ", normal}, cell(bold, cmp.Or(oneLine(v.Goal.Description), "no goal yet"), room-1), gap(1), {clean(status), statusOfSprint(status)}}
	return []line{goal, m.progress(), m.tabs()}
}

func statusOfSprint(status string) paint {
	switch status {
	case blackboard.Completed:
		return good
	case blackboard.Aborted:
		return bad
	case blackboard.AtCheckpoint:
		return warn
	}
	return info
}

// progress is the second line: what is done of what, money, time, and what waits for the person.
func (m Model) progress() line {
	v := m.view
	if m.travel.shown {
		return m.pastLine()
	}
	if o := v.Offline; o != nil {
		text := fmt.Sprintf(" NO CONNECTION: the board as of %s, %s ago; nothing can be decided until it is back ", clock(o.Since), elapsed(o.Seconds+m.since()))
		return line{{" ", normal}, {fit(text, m.width-1), inverse}}
	}
	if len(v.Control) > 0 {
		c := v.Control[0]
		what := map[string]string{"PAUSE": "PAUSED", "CHECKPOINT": "AT A CHECKPOINT", "ABORT": "ABORTED"}[c.Name]
		text := " " + cmp.Or(what, c.Name)
		if c.Reason != "" {
			text += ": " + oneLine(c.Reason)
		}
		return line{{" ", normal}, {fit(text, m.width/2) + " ", inverse}, {"  ", normal}, {m.doneOf(), normal}, {"  ", normal}, {money(v.Cost), normal}}
	}
	n, open := m.counted()
	l := line{{" ", normal}}
	if total := n + open; total > 0 {
		wide := min(20, max(0, m.width-60))
		full := wide * n / total
		l = append(l, seg{strings.Repeat("━", full), good}, seg{strings.Repeat("━", wide-full), faint}, gap(min(1, wide)))
	}
	l = append(l, seg{m.doneOf(), bold})
	add := func(p paint, text string) {
		if text != "" {
			l = append(l, seg{" · ", faint}, seg{text, p})
		}
	}
	if k := m.running(); k > 0 {
		add(info, fmt.Sprintf("%d at work", k))
	}
	add(normal, money(v.Cost))
	if v.Sprint.AgeSeconds > 0 {
		since := 0
		if v.Sprint.Ended.None() {
			since = m.since()
		}
		add(normal, elapsed(v.Sprint.AgeSeconds+since))
	}
	if f := v.Forecast; f != nil && f.Seconds > 0 {
		add(normal, "done in "+elapsed(max(0, f.Seconds-m.since())))
	} else if f != nil {
		add(faint, "end unknown")
	}
	if k := len(v.Waiting) + len(v.GaveUp); k > 0 {
		add(warn, fmt.Sprintf("%d for you", k))
	}
	if len(v.Wrong) > 0 {
		add(bad, "the board is invalid")
	}
	if m.acting > 0 {
		add(accent, "…")
	}
	return l
}

// counted gives how many tasks are merged and how many are open.
func (m Model) counted() (merged, open int) {
	for _, c := range m.view.Counts {
		switch {
		case c.Status == blackboard.Merged:
			merged += c.N
		case !c.Status.Terminal():
			open += c.N
		}
	}
	return merged, open
}

func (m Model) doneOf() string {
	n, open := m.counted()
	return fmt.Sprintf("%d/%d merged", n, n+open)
}

func (m Model) running() int {
	n := 0
	for _, a := range m.view.Agents {
		if a.Task != "" && a.Liveness == string(blackboard.Alive) {
			n++
		}
	}
	return n
}

// since is how many seconds have passed since the view was made.
func (m Model) since() int {
	if m.travel.shown {
		return 0
	}
	return max(0, int(m.now.Sub(m.at)/time.Second))
}

// sinceDoing is how many seconds have passed since it was read what agents do.
func (m Model) sinceDoing() int {
	if m.travel.shown {
		return 0
	}
	return max(0, int(m.now.Sub(m.doneAt)/time.Second))
}

// tabs names the panes with their numbers.
func (m Model) tabs() line {
	var l line
	for _, t := range m.tabList() {
		p := faint
		if t.kind == m.pane {
			p = inverse
		}
		l = append(l, seg{t.text, p})
	}
	return append(l, seg{m.filterShown(), warn})
}

// filterShown is the filter of the pane, unless it is being typed.
func (m Model) filterShown() string {
	if text := m.filters[m.pane]; text != "" && (m.ask == nil || !m.ask.filters) {
		return fit(" /"+clean(text), max(8, m.width/4))
	}
	return ""
}

type tab struct {
	kind kind
	text string
}

func (m Model) tabList() []tab {
	counts := map[kind]int{waits: len(m.view.Waiting) + len(m.view.GaveUp), alerts: len(m.openAlerts())}
	var list []tab
	for space, named := " ", panes; ; {
		list = list[:0]
		wide := 0
		for k := range panes {
			text := fmt.Sprintf(" %d", k+1)
			if k < named || k == m.pane {
				text += " " + k.String()
			}
			if n := counts[k]; n > 0 {
				text += fmt.Sprintf("(%d)", n)
			}
			list = append(list, tab{k, text + space})
			wide += widthOf(text + space)
		}
		switch {
		case wide+widthOf(m.filterShown()) <= m.width || named == 0:
			return list
		case space != "":
			space = ""
		default: // the last ones lose their names, all keep their numbers
			named--
		}
	}
}

// elapsed is a duration for people: 45s, 12m, 3h05, 2d.
func elapsed(seconds int) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh%02d", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// money is a cost for people; runs whose cost nobody knows make it a lower bound.
func money(c dashboard.Cost) string {
	switch {
	case c.Runs == 0 && c.Cents == 0:
		return ""
	case c.UnknownRuns > 0 && c.Cents == 0:
		return "cost ?"
	case c.UnknownRuns > 0:
		return "≥ " + c.Cents.Dollars()
	}
	return c.Cents.Dollars()
}

// clock is the time of day of a moment on the board.
func clock(t blackboard.Time) string {
	at, ok := t.At()
	if !ok {
		return ""
	}
	return at.UTC().Format("15:04:05")
}
