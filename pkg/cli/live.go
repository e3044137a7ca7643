package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/dashboard/source"
	"liza/pkg/supervisor"
)

// live is the block below the lines of a team: what each agent does, how far the work is, and what waits for the person.
// It is drawn again in its place.
type live struct {
	src           *source.Source
	env           *Env
	began         time.Time
	view          dashboard.View // as it was looked at last
	drawn         []string       // lines that are on the terminal now
	width, height int            // of the window that they were drawn for
}

// liveEvery is how often the block is looked at: elapsed times go on even when nothing happens.
const liveEvery = 500 * time.Millisecond

// draw puts lines above the block, and the block as it is now below what is on the terminal, in one write: a terminal
// that shows each write would flicker. A line of the block never reaches the last column, where terminals differ.
func (l *live) draw(to io.Writer, above string) {
	width, height := l.env.size()
	lines := liveLines(l.view, l.env.Now().Sub(l.began), max(20, width-1), max(3, height-2))
	if above == "" && width == l.width && height == l.height && slices.Equal(lines, l.drawn) {
		return
	}
	var frame strings.Builder
	l.clear(&frame)
	frame.WriteString(above)
	for _, line := range lines {
		frame.WriteString(line + "\n")
	}
	_, _ = io.WriteString(to, frame.String())
	l.drawn, l.width, l.height = lines, width, height
}

// clear takes the block from the terminal. A window that has become narrower since shows a line as several.
func (l *live) clear(to io.Writer) {
	width, _ := l.env.size()
	if n := rowsOf(l.drawn, width); n > 0 {
		fmt.Fprintf(to, "\x1b[%dA\r\x1b[J", n)
	}
	l.drawn = nil
}

// rowsOf is how many rows lines take in a window; one each when its size is not known.
func rowsOf(lines []string, window int) int {
	if window <= 0 {
		return len(lines)
	}
	rows := 0
	for _, line := range lines {
		rows += max(1, (dashboard.WidthOf(line)+window-1)/window)
	}
	return rows
}

// routine begins the lines of steps that the block shows already, or that lead to another line soon.
var routine = []string{"ready, runs ", "waits: ", "reviews ", "checks: nothing found", "goal completed"}

// passes reports whether a line is shown above the block: what was claimed, handed in, rejected, merged or planned, and each warning.
func (l *live) passes(line supervisor.Line) bool {
	return line.Warning || !slices.ContainsFunc(routine, func(begin string) bool { return strings.HasPrefix(line.Text, begin) })
}

// line is one line of a supervisor: without columns where they do not fit, and cut to the window unless somebody has to read all of it.
func (l *live) line(x supervisor.Line, task, text string) string {
	width, _ := l.env.size()
	line := fmt.Sprintf("%s  %-15s %-12s %s", x.Time.Local().Format("15:04"), x.Agent, task, text)
	if width < 80 || x.Warning && dashboard.WidthOf(line) > width {
		line = strings.Join(slices.DeleteFunc([]string{x.Agent, task, text}, func(part string) bool { return part == "-" }), "  ")
	}
	if x.Warning {
		return line
	}
	return dashboard.Cut(line, max(20, width-1))
}

// liveLines are the lines of the block, at most that many of that width: what waits for the person stays, and agents are left out.
func liveLines(v dashboard.View, elapsed time.Duration, width, most int) []string {
	below := append([]string{progressLine(v, elapsed)}, waitingLines(v.Waiting)...)
	agents := agentLines(v.Agents)
	if room := max(1, most-len(below)); len(agents) > room {
		agents = append(agents[:room-1], fmt.Sprintf("  and %d more agents: liza status", len(agents)-room+1))
	}
	lines := append(agents, below...)
	lines = lines[:min(len(lines), most)]
	for i, line := range lines {
		lines[i] = dashboard.Cut(line, width)
	}
	return lines
}

// agentLines is a line for each agent that works, and one for those that wait.
func agentLines(agents []dashboard.Agent) (lines []string) {
	id, task := 0, 0
	var idle []string
	for _, a := range agents {
		if a.Doing == nil && a.Task == "" {
			idle = append(idle, a.ID)
			continue
		}
		id, task = max(id, len(a.ID)), max(task, len(a.Task))
	}
	for _, a := range agents {
		line := fmt.Sprintf("  %-*s  %-*s", id, a.ID, task, a.Task)
		switch {
		case a.Doing != nil:
			line += fmt.Sprintf("  %-4s  %s", a.Doing.Figures(), a.Doing)
		case a.Task == "":
			continue
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if len(idle) > 0 {
		lines = append(lines, "  waiting: "+strings.Join(idle, ", "))
	}
	return lines
}

// progressLine is how far the work is, what it cost and how long it takes so far.
func progressLine(v dashboard.View, elapsed time.Duration) string {
	merged, all := 0, 0
	for _, t := range v.Tasks {
		if t.Status == blackboard.Merged {
			merged++
		}
		if t.Status != blackboard.Abandoned && t.Status != blackboard.Superseded {
			all++
		}
	}
	line := fmt.Sprintf("  merged %d of %d", merged, all)
	if v.Cost.Cents > 0 {
		line += ", " + v.Cost.Cents.Dollars()
	}
	return line + ", " + elapsed.Round(time.Second).String()
}

// waitingLines are what waits for the person, with the command for each.
func waitingLines(waiting []dashboard.Waiting) (lines []string) {
	const most = 3
	for i, w := range waiting {
		if i == most {
			return append(lines, fmt.Sprintf("  and %d more wait for you: liza status", len(waiting)-i))
		}
		lines = append(lines, strings.TrimSpace("? "+w.Next+"  "+w.Task)+"  "+w.Text)
	}
	return lines
}
