package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/history"
	"liza/pkg/prose"
	"liza/pkg/simulate"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

type replayOptions struct {
	env  *Env
	keep bool
}

func newReplay(env *Env) *urfave.Command {
	o := &replayOptions{env: env}
	return &urfave.Command{
		Name: "replay", Category: "people", ArgsUsage: "FILE", Usage: "apply recorded answers again and compare what comes of them",
		Description: "FILE is a jobHistory.json (also .gz) or one interaction. In a scratch project of its own every answer goes the way that it took when it was\n" +
			"recorded, and the status after it is compared. Exit 1 at the first difference. Needs no project, and touches none." +
			examples("liza replay .liza/history/task-3/jobHistory.json", "liza replay recorded.json --keep") + exitsText(0, 1, 2, 130),
		Flags:  []urfave.Flag{flag("keep", "keep the scratch project", &o.keep)},
		Action: env.do(o.run),
	}
}

// replayed is the result of `liza replay`.
type replayed struct {
	File string                 `json:"file"`
	Dir  string                 `json:"dir,omitempty"` // of the scratch project, when it is kept
	Same bool                   `json:"same"`
	Runs []simulate.ReplayedRun `json:"interactions"`
}

func (o *replayOptions) run(ctx context.Context, args []string) error {
	list, err := o.read(args[0])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "liza-replay-")
	if err != nil {
		return fmt.Errorf("cannot make the scratch project: %v", err)
	}
	out := replayed{File: args[0], Same: true}
	if o.keep {
		out.Dir = dir
	} else {
		defer os.RemoveAll(dir)
	}
	service, err := o.scratch(ctx, dir)
	if err != nil {
		return err
	}
	if out.Runs, err = simulate.Replay(ctx, service, list); err != nil {
		return err
	}
	return o.show(out)
}

func (o *replayOptions) read(name string) ([]history.Interaction, error) {
	path := o.env.path(name)
	list, err := history.ReadInteractions(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("liza help replay", "%s does not exist", name)
	case err != nil:
		return nil, &transition.Refusal{Exit: transition.ExitFailure, Next: "liza help replay", Message: fmt.Sprintf("cannot replay %s: %v", name, errText(err))}
	case len(list) == 0:
		return nil, usagef("liza help replay", "%s has no interaction", name)
	}
	return list, nil
}

// scratch makes a project that nobody else knows. Nothing of the machine's configuration of
// git, and of the project that this process may belong to, gets in.
func (o *replayOptions) scratch(ctx context.Context, dir string) (*verb.Service, error) {
	env := *o.env
	env.Dir, env.Root, env.As, env.ancestors = dir, dir, "", nil
	env.Environ = nil
	for _, v := range o.env.Environ {
		if !strings.HasPrefix(v, "LIZA_") && !strings.HasPrefix(v, "GIT_") {
			env.Environ = append(env.Environ, v)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Replay\n"), 0o644); err != nil {
		return nil, fmt.Errorf("cannot make the scratch project: %v", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=Liza replay", "-c", "user.email=replay@localhost", "commit", "--quiet", "--no-gpg-sign", "--no-verify", "--message", "Start"},
	} {
		if out, err := runGit(ctx, dir, args...); err != nil {
			return nil, fmt.Errorf("cannot make the scratch project: git %s: %v: %s", args[0], err, out)
		}
	}
	if !o.keep {
		env.Environ = append(env.Environ, "XDG_STATE_HOME="+filepath.Join(dir, ".git", "liza-state")) // its key goes with it
	}
	if _, err := verb.Init(ctx, verb.InitInput{Goal: "Replay", Spec: "README.md", Dir: dir, Environ: env.Environ, Now: env.Now(), Person: env.caller().Person, Keys: env.keys()}); err != nil {
		return nil, err
	}
	return env.Service(ctx)
}

func (o *replayOptions) show(out replayed) error {
	var first *simulate.ReplayedRun
	rows := [][]string{{"#", "KIND", "ACTION", "BEFORE", "RECORDED", "NOW", "RESULT", "WHY"}}
	for i, r := range out.Runs {
		if r.Result == simulate.ReplayDiffers && first == nil {
			first, out.Same = &out.Runs[i], false
		}
		rows = append(rows, []string{strconv.Itoa(r.Sequence), dash(r.Kind), dash(r.Action), dash(r.Before), dash(r.Recorded), dash(r.Got), r.Result, prose.OneLine(r.Why, listWidth)})
	}
	text := columns(rows)
	if out.Dir != "" {
		text += "the scratch project is " + out.Dir + "\n"
	}
	if first == nil {
		return o.env.Print(out, "%s", text)
	}
	failure := &transition.Refusal{Exit: transition.ExitFailure, Next: "liza replay " + out.File + " --keep",
		Message: fmt.Sprintf("interaction %d led to %s, and to %s when it was recorded", first.Sequence, first.Got, first.Recorded)}
	if o.env.JSON {
		return o.env.failWith(explain(failure), out)
	}
	return errors.Join(o.env.Print(out, "%s", text), failure)
}

func dash(text string) string { return cmp.Or(text, "-") }
