package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/face/dashboard/tui"
	"liza/pkg/verb/sprint"
)

type topOptions struct {
	env  *Env
	view string
}

func newTop(env *Env) *urfave.Command {
	o := &topOptions{env: env}
	return &urfave.Command{
		Name: "top", Category: "look", Usage: "follow the board on the whole terminal, and act on it",
		Description: "Board, agents with what each does now, what waits for you, log, graph, alerts, costs and timeline, live; enter opens a task, d its diff,\n" +
			"o the output of its agent. Keys do what the commands do: answer, approve, reject, note, hold, pause, release and so on; the last line names what is possible,\n" +
			"? explains all keys. The mouse selects, opens and scrolls." +
			examples("liza top", "liza top --view kiso") + exitsText(0, 1, 2, 130),
		Flags:  []urfave.Flag{viewFlag(&o.view)},
		Action: env.do(o.run),
	}
}

func (o *topOptions) run(ctx context.Context, _ []string) error {
	if err := checkView(o.view); err != nil {
		return err
	}
	env := o.env
	if !env.Terminal || !env.StdinTerminal || env.JSON {
		return usagef("liza status", "liza top needs a terminal")
	}
	env.System.Watches = true
	d, err := env.System.Service(ctx)
	if err != nil {
		return err
	}
	source := sourceOf(d, o.view)
	if _, err := source.State(ctx); err != nil {
		return err
	}
	env.System.Lasting()
	err = tui.Run(ctx, tui.Options{Source: source, Verbs: sprint.VerbsOf(d), Now: env.System.Now, Mask: d.Board.Mask, In: env.System.Stdin, Out: env.direct.out, Environ: env.System.Environ,
		Explain: func(err error) tui.Problem {
			r := explainOffline(err)
			return tui.Problem{Message: r.message, Next: r.next}
		},
		Editor: func(dir string) *exec.Cmd {
			return env.outside(dir, cmp.Or(env.System.Get("VISUAL"), env.System.Get("EDITOR"), "vi")+" .")
		},
		Shell: func(dir string) *exec.Cmd { return env.outside(dir, cmp.Or(env.System.Get("SHELL"), "sh")) },
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
