package cli

import (
	"context"
	"fmt"
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
	src   *source.Source
	env   *Env
	began time.Time
	block []string // as it was looked at last
	drawn []int    // widths of its lines that are on the terminal now
}

// liveEvery is how often the block is looked at: elapsed times go on even when nothing happens.
const liveEvery = 500 * time.Millisecond

// canLive reports whether a block can be drawn in its place.
func (e *Env) canLive() bool {
	width, _ := e.size()
	return e.Terminal && !e.JSON && width > 0 && e.Get("CI") == "" && e.Get("TERM") != "dumb" && e.Get("TERM") != ""
}

// goLive draws the block of a team until done is called, which takes it away.
func (c *factory) goLive(ctx context.Context) (done func()) {
	s := c.screen
	l := &live{src: c.env.source(c.service, "liza"), env: c.env, began: c.env.Now()}
	s.mu.Lock()
	s.live = l
	s.mu.Unlock()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(liveEvery)
		defer every.Stop()
		for {
			if v, err := l.src.View(ctx); err == nil {
				s.mu.Lock()
				l.block = liveLines(v, c.env.Now().Sub(l.began))
				if !s.held {
					l.clear(s)
					l.draw(s)
				}
				s.mu.Unlock()
			}
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
		}
	}()
	return func() {
		stop()
		<-ended
		s.mu.Lock()
		defer s.mu.Unlock()
		l.clear(s)
		s.live = nil
	}
}

// clear takes the block from the terminal. A window that has become narrower since shows a line as several.
func (l *live) clear(s *screen) {
	width, _ := l.env.size()
	if n := rowsOf(l.drawn, width); n > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\r\x1b[J", n)
	}
	l.drawn = nil
}

// rowsOf is how many rows lines of these widths take in a window; one each when its size is not known.
func rowsOf(widths []int, window int) int {
	if window <= 0 {
		return len(widths)
	}
	rows := 0
	for _, w := range widths {
		rows += max(1, (w+window-1)/window)
	}
	return rows
}

// draw puts the block below what is on the terminal. A line never reaches the last column, where terminals differ.
func (l *live) draw(s *screen) {
	width, height := l.env.size()
	for _, line := range l.block[:min(len(l.block), max(1, height-2))] {
		line = dashboard.Fit(line, max(20, width-1))
		fmt.Fprintf(s.out, "%s\n", line)
		l.drawn = append(l.drawn, dashboard.WidthOf(line))
	}
}

// routine begins the lines of steps that the block shows already, or that lead to another line soon.
var routine = []string{"ready, runs ", "waits: ", "reviews ", "checks: nothing found", "goal completed"}

// passes reports whether a line is shown above the block: what was claimed, handed in, rejected, merged or planned, and each warning.
func (l *live) passes(line supervisor.Line) bool {
	return line.Warning || !slices.ContainsFunc(routine, func(begin string) bool { return strings.HasPrefix(line.Text, begin) })
}

// line is one line of a supervisor: in a narrow window without columns, and cut to it unless somebody has to read all of it.
func (l *live) line(x supervisor.Line, task, text string) string {
	width, _ := l.env.size()
	line := fmt.Sprintf("%s  %-15s %-12s %s", x.Time.Local().Format("15:04"), x.Agent, task, text)
	if width < 80 {
		line = fmt.Sprintf("%s %s %s", x.Agent, task, text)
	}
	if x.Warning {
		return line
	}
	return dashboard.Fit(line, max(20, width-1))
}

// liveLines are the lines of the block.
func liveLines(v dashboard.View, elapsed time.Duration) []string {
	var lines []string
	for _, a := range v.Agents {
		task := a.Task
		if task != "" {
			task = "  " + task
		}
		switch {
		case a.Doing != nil:
			lines = append(lines, fmt.Sprintf("  %s%s  %s  %s", a.ID, task, a.Doing.Figures(), a.Doing))
		case a.Task != "":
			lines = append(lines, fmt.Sprintf("  %s%s", a.ID, task))
		default:
			lines = append(lines, fmt.Sprintf("  %s  waits", a.ID))
		}
	}
	merged, all := 0, 0
	for _, t := range v.Tasks {
		if t.Status == blackboard.Merged {
			merged++
		}
		if t.Status != blackboard.Abandoned && t.Status != blackboard.Superseded {
			all++
		}
	}
	progress := fmt.Sprintf("  merged %d of %d", merged, all)
	if v.Cost.Cents > 0 {
		progress += ", " + v.Cost.Cents.Dollars()
	}
	lines = append(lines, progress+", "+elapsed.Round(time.Second).String())
	for i, w := range v.Waiting {
		if i == 3 {
			lines = append(lines, fmt.Sprintf("  and %d more wait for you: liza status", len(v.Waiting)-i))
			break
		}
		lines = append(lines, strings.TrimSpace("? "+w.Next+"  "+w.Task+" "+w.Text))
	}
	return lines
}
