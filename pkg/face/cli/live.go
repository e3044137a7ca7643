package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/team/supervisor"
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
	width, height := l.env.terminal().size()
	lines := liveLines(l.view, l.env.System.Now().Sub(l.began), max(20, width-1), max(3, height-2))
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
	width, _ := l.env.terminal().size()
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

// passes reports whether a line is shown above the block: what was claimed, handed in, rejected, merged or planned, and each
// warning. Lines of the other kinds lead to another line soon, or the block has them.
func (l *live) passes(line supervisor.Line) bool {
	return line.Warning || line.Kind == supervisor.Plain
}

// line is one line of a supervisor: without columns where they do not fit, and cut to the window unless somebody has to read all of it.
func (l *live) line(x supervisor.Line, task, text string) string {
	width, _ := l.env.terminal().size()
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

// screen prints the lines of supervisors, one at a time.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	log    *slog.Logger // steps go there when they are diagnostics in JSON
	colour bool
	held   bool
	later  []supervisor.Line // while somebody else has the terminal
	live   *live             // nil: there is no block below the lines
	away   func() bool       // whether the project folder is not there any more: then nothing is shown; nil: nobody looks
	red    map[string]bool   // checks that were shown as red before the team began
	calm   map[string]bool   // what each agent of a team says, once one has said it; nil: each is shown
}

// hold keeps the lines back while a program has the terminal, and shows them afterwards.
func (s *screen) hold(lent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = lent
	if lent {
		if s.live != nil {
			s.live.clear(s.out)
		}
		return
	}
	for _, l := range s.later {
		s.show(s.out, l)
	}
	s.later = nil
}

func (s *screen) line(l supervisor.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil && s.away() {
		return
	}
	if s.held {
		s.later = append(s.later, l)
		return
	}
	if s.live != nil && !s.live.passes(l) {
		return
	}
	if s.calm != nil && !l.Warning && (l.Kind == supervisor.Waits || l.Kind == supervisor.Completed) {
		if s.calm[l.Text] {
			return // another agent has said it
		}
		s.calm[l.Text] = true
	}
	if s.live == nil {
		s.show(s.out, l)
		return
	}
	var above strings.Builder
	s.show(&above, l)
	s.live.draw(s.out, above.String())
}

// say shows a line of liza itself.
func (s *screen) say(now time.Time, warning bool, format string, args ...any) {
	s.line(supervisor.Line{Time: now, Agent: "liza", Text: fmt.Sprintf(format, args...), Warning: warning})
}

func (s *screen) show(to io.Writer, l supervisor.Line) {
	if s.log != nil {
		level := slog.LevelInfo
		if l.Warning {
			level = slog.LevelWarn
		}
		s.log.Log(context.Background(), level, l.Text, "agent", l.Agent, "task", l.Task)
		return
	}
	task := l.Task
	if task == "" {
		task = "-"
	}
	text := prose.Line(l.Text)
	if l.Warning && s.colour {
		text = "\x1b[33m" + text + "\x1b[0m"
	} else if l.Warning {
		text = "! " + text
	}
	if s.live != nil {
		fmt.Fprintln(to, s.live.line(l, task, text))
		return
	}
	fmt.Fprintf(to, "%s  %-15s %-12s %s\n", l.Time.Local().Format("15:04:05"), l.Agent, task, text)
}

// above is stderr while there is a screen: what anything of this process writes there stands above the block.
type above struct {
	screen *screen
	to     io.Writer
}

func (a above) Write(text []byte) (int, error) {
	s := a.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil && !s.held {
		s.live.clear(s.out)
		defer s.live.draw(s.out, "")
	}
	return a.to.Write(text)
}

// newScreen writes steps where they do not mix with a JSON result.
func (e *Env) newScreen() *screen {
	if e.JSON && e.System.LogFormat == "json" {
		return &screen{log: e.System.Log()}
	}
	out := e.System.Stdout
	if e.JSON {
		out = e.System.Stderr
	}
	return &screen{out: out, colour: e.Terminal && e.System.Get("NO_COLOR") == "" && !e.JSON}
}

// Work of more than a second says that it goes on (specs/cli.md#1): on a terminal in one line that is drawn again each
// second, elsewhere in a line after the first second and then every ten.
const (
	progressEvery = time.Second
	progressLines = 10
)

// slow is a command that may take longer than a second; what says what it does.
func (e *Env) slow(what string, run func(ctx context.Context, args []string) error) func(ctx context.Context, args []string) error {
	return func(ctx context.Context, args []string) error {
		defer e.progress(what)()
		return run(ctx, args)
	}
}

// progress tells on stderr that work goes on, until done is called. What the work itself writes takes the line away first.
func (e *Env) progress(what string) (done func()) {
	if e.System.LogFormat == "json" || e.direct.errs == nil {
		return func() {}
	}
	f, isFile := e.direct.errs.(*os.File)
	p := &progress{what: what, to: e.direct.errs, live: isFile && isTerminal(f)}
	stdout, stderr := e.System.Stdout, e.System.Stderr
	e.System.Stdout, e.System.Stderr = after{p, stdout}, after{p, stderr}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				p.tick()
			}
		}
	}()
	return func() {
		close(ended)
		<-over
		p.clear()
		e.System.Stdout, e.System.Stderr = stdout, stderr
	}
}

type progress struct {
	what string
	to   io.Writer // stderr
	live bool      // it is a terminal

	mu      sync.Mutex
	seconds int
	drawn   bool
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seconds++
	text := fmt.Sprintf("%s … %ds", p.what, p.seconds)
	switch {
	case p.live:
		fmt.Fprintf(p.to, "\r\x1b[K%s", dashboard.Cut(text, 79))
		p.drawn = true
	case p.seconds%progressLines == 1:
		fmt.Fprintln(p.to, text)
	}
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeAway()
}

func (p *progress) takeAway() {
	if p.drawn {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.drawn = false
	}
}

// after writes where the line of a progress may be; both may be one stream, so never at the same time.
type after struct {
	p  *progress
	to io.Writer
}

func (a after) Write(text []byte) (int, error) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.p.takeAway()
	return a.to.Write(text)
}
