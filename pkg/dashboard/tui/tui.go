package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/activity"
	"liza/pkg/dashboard"
	"liza/pkg/history"
	"liza/pkg/sprint"
	"liza/pkg/verb"
	"liza/pkg/watch"
)

// Source is what the view reads. A source.Source is one.
type Source interface {
	View(ctx context.Context) (dashboard.View, error)
	Watch(ctx context.Context) <-chan struct{}
	At(ctx context.Context, rev int) (dashboard.View, error)
	Task(ctx context.Context, id string) (*dashboard.TaskPage, error)
	Diff(ctx context.Context, id string) (*dashboard.Diff, error)
	Graph(ctx context.Context) (dashboard.GraphView, error)
	Figures(ctx context.Context) (dashboard.Figures, error)
	Timeline(ctx context.Context) (dashboard.Timeline, error)
	Log(f history.Filter) ([]dashboard.Happening, error)
	Alerts() ([]watch.Alert, error)
	Doing(ctx context.Context) map[string]dashboard.Doing
	Output(name string, after int64) (events []activity.Event, next int64, err error)
}

// Verbs is what a person may do. A verb.Service is one.
type Verbs interface {
	Pause(ctx context.Context, reason string) (sprint.Sprint, error)
	Resume(ctx context.Context, decision, note string) (sprint.Sprint, error)
	Ack(ctx context.Context, note string, keep bool) (verb.Acknowledged, error)
	Abort(ctx context.Context, reason string, goal bool) (sprint.Sprint, error)
	AddTask(ctx context.Context, n verb.NewTask) (verb.Done, error)
	EditTask(ctx context.Context, e verb.TaskEdit) (verb.Done, error)
	StopAgent(ctx context.Context, in verb.AgentOrder) (verb.Ordered, error)
	RestartAgent(ctx context.Context, in verb.AgentOrder) (verb.Ordered, error)
	Hold(ctx context.Context, id, reason string) (verb.Done, error)
	Unhold(ctx context.Context, id string) (verb.Done, error)
	Note(ctx context.Context, in verb.NoteInput) (verb.Noted, error)
	Comment(ctx context.Context, in verb.Comment) (verb.Done, error)
	Answer(ctx context.Context, id, answer string) (verb.Answered, error)
	ApproveMerge(ctx context.Context, in verb.MergeDecision) (verb.Done, error)
	RejectMerge(ctx context.Context, in verb.MergeDecision) (verb.Done, error)
	Release(ctx context.Context, in verb.ReleaseInput) (verb.Done, error)
	Unblock(ctx context.Context, w verb.WayOut) (verb.Done, error)
	Abandon(ctx context.Context, w verb.WayOut) (verb.Done, error)
	Finalize(ctx context.Context, ids []string) (verb.Finalized, error)
	AcceptIntegration(ctx context.Context, reason string) (verb.Branch, error)
	RestoreIntegration(ctx context.Context, reason string) (verb.Branch, error)
}

// Problem is an error as people read it, with the command that helps.
type Problem struct{ Message, Next string }

// Options are what comes from outside.
type Options struct {
	Source  Source
	Verbs   Verbs
	Now     func() time.Time
	Mask    func(string) string // hides secrets; nil: none are known
	Explain func(error) Problem
	Editor  func(dir string) *exec.Cmd // opens a folder
	Shell   func(dir string) *exec.Cmd
	Folder  func(task string) string // where the worktree of a task is, "" when there is none

	In      io.Reader
	Out     io.Writer // the terminal
	Environ []string

	later func(time.Duration, func(time.Time) tea.Msg) tea.Cmd // tea.Tick, but in tests
}

// ErrInterrupted is what Run returns when the person ended it with Ctrl-C, or ctx is over.
var ErrInterrupted = errors.New("interrupted")

// Run shows the view until the person leaves it. The terminal is left as it was, also after a panic.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(New(ctx, o), tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())
	last, err := p.Run()
	switch m, _ := last.(Model); {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("this is a bug in liza top; the board is as it was; next: liza status")
	case ctx.Err() != nil || m.interrupted:
		return ErrInterrupted
	case err != nil:
		return fmt.Errorf("cannot show the board on this terminal: %w; next: liza status", err)
	}
	return nil
}
