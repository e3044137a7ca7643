package tui

import (
	"cmp"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

func (x agentPane) content(int) content {
	match := matcher(x.filters[agents])
	var list []dashboard.Agent
	for _, a := range x.view.Agents {
		if match(a.ID, a.Role, a.Status, a.Task, a.CLI, a.Liveness) {
			list = append(list, a)
		}
	}
	empty := "no agent is at work: liza run, or liza-agent ROLE in a terminal"
	if x.filters[agents] != "" {
		empty = "no agent matches the filter; esc clears it"
	}
	// Three rows for each: what it does, the facts, and an empty one. Below them one for each host, where there are several.
	rows, hosts := 3*len(list), x.hosts()
	if len(list) == 0 && x.filters[agents] != "" {
		hosts = nil
	}
	return content{n: rows + len(hosts), empty: empty,
		key: func(i int) string {
			if i%3 != 0 || i >= rows {
				return ""
			}
			return list[i/3].ID
		},
		row: func(i, width int) line {
			if i >= rows {
				return hostLine(hosts[i-rows])
			}
			a := list[i/3]
			switch i % 3 {
			case 0:
				return x.agentLine(a, width)
			case 1:
				return append(line{gap(2)}, x.agentFacts(a, width)...)
			}
			return nil
		}}
}

// agentLine is what an agent does, on one line.
func (s sight) agentLine(a dashboard.Agent, width int) line {
	p, mark := livenessOf(a)
	l := line{{mark + " ", p}, cell(bold, clean(a.ID), 15), gap(1)}
	if s.hostColumn(width) {
		l = append(l, cell(faint, clean(a.Host), min(16, width/8)), gap(1))
	}
	if width >= 60 {
		l = append(l, cell(normal, clean(a.Task), min(20, max(8, width/6))), gap(1))
	}
	d, gone := a.Doing, a.Liveness == string(blackboard.Dead) || a.Liveness == string(blackboard.Expired)
	if d == nil || gone {
		what := cmp.Or(flat(a.WaitsFor), clean(a.Status))
		if a.WaitsFor != "" {
			what = "waits: " + what
		}
		if gone || a.Liveness == string(blackboard.Unknown) {
			what = clean(a.Liveness) + ": " + flat(a.Why)
		}
		return append(l, seg{what, faint})
	}
	tail := elapsed(d.Seconds + s.sinceDoing())
	if d.Cents != nil {
		tail += " " + d.Cents.Dollars()
	}
	room := width - l.width() - dashboard.WidthOf(tail) - 1
	return append(l, doingSegs(d, room)...).with(gap(1), seg{tail, faint})
}

// hosts are those of the board, none where there is only one.
func (s sight) hosts() []dashboard.Host {
	if len(s.view.Hosts) < 2 {
		return nil
	}
	return s.view.Hosts
}

// hostColumn reports whether agents have a column for their host.
func (s sight) hostColumn(width int) bool { return len(s.hosts()) > 0 && width >= 80 }

// hostLine is what a host says of itself.
func hostLine(h dashboard.Host) line {
	p, mark := good, "▪"
	if h.Silent {
		p, mark = bad, "✗"
	} else if h.ClockOff {
		p = warn
	}
	said := flat(h.Said())
	if h.Here {
		said += ", this host"
	}
	return line{{mark + " ", p}, cell(bold, clean(h.Name), 15), gap(1), {said, faint}}
}

func (l line) with(s ...seg) line { return append(l, s...) }

// doingSegs is what a run does, on exactly n columns.
func doingSegs(d *dashboard.Doing, n int) []seg {
	text, p := flat(d.Text), normal
	switch d.Kind {
	case "wait":
		text, p = "waits for its provider: "+text, warn
	case "error":
		p = bad
	case "":
		text, p = "has said nothing yet", faint
	}
	if d.Tool == "" {
		return []seg{cell(p, text, n)}
	}
	tool := clean(d.Tool) + " "
	return []seg{{dashboard.Fit(tool, n), accent}, cell(p, text, n-dashboard.WidthOf(tool))}
}

func livenessOf(a dashboard.Agent) (paint, string) {
	switch {
	case a.Liveness == string(blackboard.Dead) || a.Liveness == string(blackboard.Expired):
		return bad, "✗"
	case a.Liveness == string(blackboard.Unknown):
		return warn, "?"
	case a.Task != "":
		return good, "▸"
	}
	return faint, "·"
}

// agentFacts is the rest about an agent.
func (s sight) agentFacts(a dashboard.Agent, width int) line {
	l := line{{clean(a.Role), faint}}
	add := func(p paint, text string) {
		if text != "" {
			l = append(l, seg{" · ", faint}, seg{text, p})
		}
	}
	if len(s.hosts()) > 0 && !s.hostColumn(width) {
		add(faint, clean(a.Host))
	}
	add(faint, clean(a.CLI))
	add(faint, clean(a.Sandbox))
	if a.LeaseLeftSeconds > 0 {
		add(faint, "lease "+elapsed(max(0, a.LeaseLeftSeconds-s.since())))
	}
	if d := a.Doing; d != nil && d.TokensIn+d.TokensOut > 0 {
		add(faint, fmt.Sprintf("%s tokens in, %s out", count(d.TokensIn), count(d.TokensOut)))
	}
	if a.ContextPercent > 0 {
		add(faint, fmt.Sprintf("context %d %%", a.ContextPercent))
	}
	if a.WaitsFor != "" && a.Doing != nil {
		add(warn, "waits: "+flat(a.WaitsFor))
	}
	return l
}

// count is a number for people: 950, 12k, 1.4M.
func count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
