package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard/tui"
	"liza/pkg/team/assembly"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/team/supervisor"
	"liza/pkg/team/watch"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type watchOptions struct {
	env          *Env
	once, notify bool
}

func newWatch(env *Env) *urfave.Command {
	o := &watchOptions{env: env}
	return &urfave.Command{
		Name: "watch", Category: "look", Usage: "tell what is wrong, each thing once",
		Description: "Shows every alert when it is raised and when it is cleared, until Ctrl-C, and writes them to .liza/alerts.log. `liza run` does so by itself.\n" +
			"At the sprint's deadline the sprint is stopped at a CHECKPOINT. With --once the open alerts are printed: exit code 0 when there is none,\n" +
			"1 when there are some." +
			examples("liza watch --notify", "liza watch --once --json") + exitsText(0, 1, 2, 130),
		Flags: []urfave.Flag{
			flag("once", "look once, print the open alerts, and end", &o.once),
			flag("notify", "deliver to the webhook as well", &o.notify),
		},
		Action: env.do(o.run),
	}
}

func (o *watchOptions) run(ctx context.Context, _ []string) error {
	if !o.once {
		o.env.System.Lasting()
	}
	if o.env.JSON && !o.once {
		return usagef("liza watch --once --json", "--json needs --once: exactly one object is printed")
	}
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	w := o.env.watcherOf(d)
	if o.notify {
		defer o.env.System.DeliverBeside(ctx, d)()
	}
	if o.once {
		return o.show(w.Pass(ctx))
	}
	w.Sinks = append(w.Sinks, &lines{out: o.env.System.Stdout, colour: o.env.terminal().colour()})
	w.Run(ctx, d.Board.Store.Watch(ctx))
	return &errDone{130}
}

// openAlerts is the result of `liza watch --once`.
type openAlerts struct {
	Alerts []watch.Alert `json:"alerts"`
}

// show prints what is open. That something could not be written down is a warning: what was
// seen counts.
func (o *watchOptions) show(open []watch.Alert, err error) error {
	if open == nil {
		if err != nil {
			return err
		}
		open = []watch.Alert{}
	} else if err != nil {
		o.env.System.Log().Warn(err.Error())
	}
	var b strings.Builder
	for _, a := range open {
		fmt.Fprintf(&b, "%s %-7s %s\n", blackboard.TimeOf(a.Since), a.Severity, a)
	}
	if len(open) == 0 {
		b.WriteString("no alert is open\n")
	}
	if err := o.env.Print(openAlerts{open}, "%s", b.String()); err != nil || len(open) == 0 {
		return err
	}
	return &errDone{1}
}

// lines shows alerts on a terminal, in the form of alerts.log.
type lines struct {
	out    io.Writer
	colour bool
}

// Tell prints one line.
func (l *lines) Tell(c watch.Change) {
	text := c.String()
	if colours := map[string]string{findings.Error: "31", findings.Warning: "33"}; l.colour && !c.Cleared && colours[c.Severity] != "" {
		text = "\x1b[" + colours[c.Severity] + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(l.out, text)
}

// Tell shows an alert among the steps of the supervisors. One that was open before the
// team began is known already, as is a red check that was shown before the start.
func (s *screen) Tell(c watch.Change) {
	if c.Old || c.Kind == blackboard.AlertBaselineRed && s.red[c.Subject] && !c.Cleared {
		return
	}
	l := supervisor.Line{Time: c.At, Agent: "watch", Text: c.Alert.String(), Warning: c.Severity != findings.Info}
	if c.Cleared {
		l.Text, l.Warning = fmt.Sprintf("%s %s: over after %s", c.Kind, c.Subject, c.After()), false
	}
	s.line(l)
}

// watchBeside watches while the team works. The function that it returns ends that, after
// a last look.
func (e *Env) watchBeside(ctx context.Context, c *factory) (end func()) {
	w := e.watcherOf(c.service)
	w.Sinks = append(w.Sinks, c.screen)
	e.System.Shows = true
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx, c.service.Board.Store.Watch(ctx))
	}()
	return func() {
		cancel()
		<-ended
		w.Deadline = nil // nobody works any more: the next team is stopped by its own watcher
		last, enough := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer enough()
		if _, err := w.Pass(last); err != nil {
			w.Problem(err)
		}
	}
}

// watcherOf watches the project of a service. An agent's process only looks: stopping the
// sprint at its deadline is for people's processes and for the team.
func (e *Env) watcherOf(d *verb.Service) *watch.Watcher {
	w := &watch.Watcher{Files: e.System.AlertFiles(d.Board.Project), Sinks: []watch.Sink{assembly.AlertMail(&e.System, d.Board.Project)}, Look: maintain.Observe(d, time.Now()).Facts,
		Problem: func(err error) { e.System.Log().Warn(err.Error()) }}
	if d.Board.Caller.AgentID == "" && d.Board.Caller.As == "" {
		w.Deadline = func(ctx context.Context) error {
			_, err := sprint.SystemCheckpoint(ctx, d, blackboard.CauseDeadline, "deadline")
			return err
		}
	}
	return w
}

type topOptions struct{ env *Env }

func newTop(env *Env) *urfave.Command {
	o := &topOptions{env: env}
	return &urfave.Command{
		Name: "top", Category: "look", Usage: "follow the board on the whole terminal, and act on it",
		Description: "Board, agents with what each does now, what waits for you with the alerts, and log, live; enter opens a task, d its diff,\n" +
			"o the output of its agent. Keys do what the commands do: answer, approve, reject, note, hold, pause, release and so on; the last line names what is possible,\n" +
			"? explains all keys. The mouse selects, opens and scrolls." +
			examples("liza top", "NO_COLOR=1 liza top") + exitsText(0, 1, 2, 130),
		Action: env.do(o.run),
	}
}

func (o *topOptions) run(ctx context.Context, _ []string) error {
	env := o.env
	if !env.Terminal || !env.StdinTerminal || env.JSON {
		return usagef("liza status", "liza top needs a terminal")
	}
	env.System.Watches = true
	d, err := env.System.Service(ctx)
	if err != nil {
		return err
	}
	source := sourceOf(d)
	if _, err := source.State(ctx); err != nil {
		return err
	}
	env.System.Lasting()
	servers := &openings{env: env, d: d, life: ctx}
	defer servers.close()
	err = tui.Run(ctx, tui.Options{Source: source, Verbs: sprint.VerbsOf(d), Now: env.System.Now, Mask: d.Board.Mask, In: env.System.Stdin, Out: env.direct.out, Environ: env.System.Environ,
		Explain: func(err error) tui.Problem {
			r := explainOffline(err)
			return tui.Problem{Message: r.message, Next: r.next}
		},
		Editor: func(dir string) *exec.Cmd {
			return env.outside(dir, cmp.Or(env.System.Get("VISUAL"), env.System.Get("EDITOR"), "vi")+" .")
		},
		Shell: func(dir string) *exec.Cmd { return env.outside(dir, cmp.Or(env.System.Get("SHELL"), "sh")) },
		Open:  servers.browse,
		Folder: func(task string) string {
			if dir := d.Board.Project.Worktree(task); task != "" && isFolder(dir) {
				return dir
			}
			return ""
		}})
	if errors.Is(err, tui.ErrInterrupted) {
		return &errDone{130}
	}
	return err
}

// outside is a program of the person's, in a folder. It goes through the shell, for editors are set with options.
func (e *Env) outside(dir, line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, e.System.Environ
	return cmd
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
