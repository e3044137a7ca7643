package supervisor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/run/activity"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
)

// told keeps what one run does, for people who follow it. A nil one keeps nothing.
//
// What a planner says is held back until its answer has been read: only then is it known which
// secrets its plan has. Until then people see which tools it calls, and the files that it reads.
type told struct {
	run    *launcher
	brief  briefing
	dir    string // that the program works in
	to     *activity.Writer
	index  *activity.Writer // of the agent, when the run is kept with its task; nil: it is the agent's itself
	secret bool
	held   []activity.Event
	size   int             // of what is held
	piece  strings.Builder // of a text that comes in pieces
	said   string          // the last text
}

// maxHeld is how much of what a planner says is kept for the end of its run.
const maxHeld = 512 << 10

// openTold begins to keep a run. What cannot be kept is told, and stops nothing.
func (l *launcher) openTold(run activity.Event, b briefing, dir string, goesOn bool) *told {
	open := activity.Open
	if goesOn {
		open = activity.Continue
	}
	run.At, run.Agent = l.Service.Board.Now(), l.ID
	t := &told{run: l, brief: b, dir: dir, secret: l.Role == blackboard.RolePlanner}
	var err error
	if t.to, err = open(l.Service.Board.Project.Activity(cmp.Or(run.Task, l.ID)), run, l.Service.Board.Mask); err != nil {
		l.warn(run.Task, "%v", err)
		return nil
	}
	if run.Task != "" {
		if t.index, err = open(l.Service.Board.Project.Activity(l.ID), run, l.Service.Board.Mask); err != nil {
			l.warn(run.Task, "%v", err)
		}
	}
	return t
}

// event is how a run of a program begins.
func (r *run) event(task string) activity.Event {
	return activity.Event{Task: task, Role: string(r.brief.role.Role.Kind), Program: r.brief.program, Model: r.brief.model, Number: r.number, ID: r.mark}
}

// hear keeps one event of the program.
func (t *told) hear(e agent.Event) {
	if t == nil || e.Again {
		return
	}
	if e.Kind != agent.EventText || !e.More {
		t.flush()
	}
	switch e.Kind {
	case agent.EventText:
		t.piece.WriteString(e.Text)
		if !e.More || strings.HasSuffix(e.Text, "\n") || t.piece.Len() > activity.MaxText {
			t.flush()
		}
	case agent.EventTool:
		t.add(activity.Event{Kind: activity.Tool, Tool: cmp.Or(e.Text, "tool"), Text: t.given(e.Input)})
	case agent.EventResult:
		if !t.secret {
			t.add(activity.Event{Kind: activity.Result, Text: e.Text})
		}
	case agent.EventOutput:
		t.say(activity.Event{Kind: activity.Output, Text: e.Text})
	case agent.EventUsage:
		u := t.run.spending.settled(t.brief, e.Usage)
		kept := activity.Event{Kind: activity.Usage, In: u.TokensIn, Out: u.TokensOut}
		if u.CostKnown {
			kept.Cents = &u.CostCents
		}
		t.add(kept)
	case agent.EventLimit, agent.EventError:
		t.refused(e)
	case agent.EventFinal:
		if e.Failed {
			t.refused(e)
		} else if text := strings.TrimSpace(e.Text); text != "" && text != strings.TrimSpace(t.said) {
			t.say(activity.Event{Kind: activity.Text, Text: e.Text})
		}
	}
}

func (t *told) refused(e agent.Event) {
	kept := activity.Event{Kind: activity.Error, Text: cmp.Or(e.Text, e.Word, "it ended with a failure")}
	until := e.ResetAt
	if e.Retry {
		kept.Kind, kept.Text = activity.Wait, cmp.Or(e.Word, prose.FirstLine(e.Text), "it tries again")
		if e.RetryAfter > 0 {
			until = t.run.Service.Board.Now().Add(e.RetryAfter)
		}
	}
	if e.Status > 0 {
		kept.Text = fmt.Sprintf("%s (%d)", kept.Text, e.Status)
	}
	if !until.IsZero() {
		kept.Until = &until
	}
	t.add(kept)
}

// given is what people see of what a tool was given: of a planner's, files that are there.
func (t *told) given(input string) string {
	if !t.secret || input == "" {
		return input
	}
	if _, err := os.Lstat(filepath.Join(t.dir, input)); err != nil || !filepath.IsLocal(input) {
		return ""
	}
	return input
}

// flush keeps the text whose pieces have come.
func (t *told) flush() {
	if t.piece.Len() > 0 {
		t.said = t.piece.String()
		t.piece.Reset()
		t.say(activity.Event{Kind: activity.Text, Text: strings.TrimRight(t.said, "\n")})
	}
}

// say keeps words. The exit command at their end is for the supervisor: people read what it says.
func (t *told) say(e activity.Event) {
	e.Text = exitcmd.InWords(e.Text, string(t.brief.role.Role.Kind))
	if t.secret {
		e.At = t.run.Service.Board.Now()
		if t.size += len(e.Text) + 64; t.size < maxHeld {
			t.held = append(t.held, e)
		}
		e.Text = "" // that it says something is all that can be told
	}
	t.add(e)
}

func (t *told) add(e activity.Event) {
	if t == nil {
		return
	}
	e.At = t.run.Service.Board.Now()
	t.to.Add(e)
}

// end says how the run ended. What was held back is kept now, unless the answer could not be read.
func (t *told) end(outcome string, read error) {
	if t == nil {
		return
	}
	t.flush()
	if read == nil {
		for _, e := range t.held {
			t.to.Add(e)
		}
	}
	e := activity.Event{At: t.run.Service.Board.Now(), Kind: activity.End, Text: outcome}
	for _, w := range []*activity.Writer{t.to, t.index} {
		if w != nil {
			w.Add(e)
			_ = w.Close() // the run does not end for what is kept about it
		}
	}
}

// outcomeText is the outcome of a run in words.
func (r *run) outcomeText() string {
	if exit := r.answer.Exit; exit != nil && r.result.Outcome == agent.Finished {
		return strings.TrimSuffix(strings.ToLower(exit.Action)+": "+exit.Summary, ": ")
	}
	return strings.TrimSuffix(string(r.result.Outcome)+": "+prose.FirstLine(r.result.Error), ": ")
}
