package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"liza/pkg/prose"
	"liza/pkg/supervisor"
)

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
	if s.calm != nil && !l.Warning && (strings.HasPrefix(l.Text, "waits: ") || l.Text == "goal completed") {
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

// newScreen writes steps where they do not mix with a JSON result.
func (e *Env) newScreen() *screen {
	if e.JSON && e.LogFormat == "json" {
		return &screen{log: e.Log()}
	}
	out := e.Stdout
	if e.JSON {
		out = e.Stderr
	}
	return &screen{out: out, colour: e.Terminal && e.Get("NO_COLOR") == "" && !e.JSON}
}
