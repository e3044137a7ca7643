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

	"liza/pkg/base/prose"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
	"liza/pkg/verb/replay"
	"liza/pkg/verb/verb"
)

type replayOptions struct {
	env  *Env
	keep bool
}

func newReplay(env *Env) *urfave.Command {
	o := &replayOptions{env: env}
	return &urfave.Command{
		Name: "replay", Category: "plumbing", Hidden: true, ArgsUsage: "FILE", Usage: "apply recorded answers again and compare what comes of them",
		Description: "FILE is a jobHistory.json (also .gz) or one interaction. In a scratch project of its own every answer goes the way that it took when it was\n" +
			"recorded, and the status after it is compared. Exit 1 at the first difference. Needs no project, and touches none." +
			examples("liza replay .liza/history/task-3/jobHistory.json", "liza replay recorded.json --keep") + exitsText(0, 1, 2, 130),
		Flags:  []urfave.Flag{flag("keep", "keep the scratch project", &o.keep)},
		Action: env.do(o.run),
	}
}

// replayed is the result of `liza replay`.
type replayed struct {
	File string               `json:"file"`
	Dir  string               `json:"dir,omitempty"` // of the scratch project, when it is kept
	Same bool                 `json:"same"`
	Runs []replay.ReplayedRun `json:"interactions"`
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
	if out.Runs, err = replay.Replay(ctx, service, list); err != nil {
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
	env.System.Dir, env.System.Root, env.System.As, env.System.Ancestors = dir, dir, "", nil
	env.System.Environ = nil
	for _, v := range o.env.System.Environ {
		if !strings.HasPrefix(v, "LIZA_") && !strings.HasPrefix(v, "GIT_") {
			env.System.Environ = append(env.System.Environ, v)
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
		env.System.Environ = append(env.System.Environ, "XDG_STATE_HOME="+filepath.Join(dir, ".git", "liza-state")) // its key goes with it
	}
	if _, err := verb.Init(ctx, verb.InitInput{Goal: "Replay", Spec: "README.md", Dir: dir, Environ: env.System.Environ, Now: env.System.Now(), Person: env.System.Caller().Person, Keys: env.System.Keys()}); err != nil {
		return nil, err
	}
	return env.System.Service(ctx)
}

func (o *replayOptions) show(out replayed) error {
	var first *replay.ReplayedRun
	rows := [][]string{{"#", "KIND", "ACTION", "BEFORE", "RECORDED", "NOW", "RESULT", "WHY"}}
	for i, r := range out.Runs {
		if r.Result == replay.ReplayDiffers && first == nil {
			first, out.Same = &out.Runs[i], false
		}
		rows = append(rows, []string{strconv.Itoa(r.Sequence), dash(r.Kind), dash(r.Action), dash(r.Before), dash(r.Recorded), dash(r.Got), r.Result, prose.OneLine(r.Why, listWidth)})
	}
	text := prose.Columns(rows)
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

type poststepOptions struct {
	env        *Env
	as         string
	file, text *string
	empty      bool
}

// given is the value of an option that may be given with an empty text.
type given struct{ to **string }

func (g given) String() string { return "" }
func (g given) Set(s string) error {
	*g.to = &s
	return nil
}
func (g given) Get() any { return "" }

func newPoststep(env *Env) *urfave.Command {
	o := &poststepOptions{env: env}
	return &urfave.Command{
		Name: "poststep", Category: "plumbing", Hidden: true, ArgsUsage: "TASK", Usage: "apply an answer as if a run of an agent had given it",
		Description: "The task is claimed for the lowest free agent, the answer is read and applied exactly as at the end of a run, recorded as simulated, and the\n" +
			"agent leaves. Here --as names a role: planner, coder or code_reviewer; the planner's TASK is _planner. What would be asked for again counts\n" +
			"as the last answer. Answers of earlier runs: liza show TASK --run N." +
			examples("liza poststep task-3 --as coder --response-file answer.json", `liza poststep task-3 --as code_reviewer --response-string '{"action":"STUCK", …}'`) + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			text("as", "`ROLE` whose answer it is", &o.as),
			&urfave.GenericFlag{Name: "response-file", Usage: "`F`: file with the answer; - is stdin", Value: given{&o.file}},
			&urfave.GenericFlag{Name: "response-string", Usage: "`S`: the answer", Value: given{&o.text}},
			flag("empty-commit", "make an empty commit when the coder's worktree has no new one", &o.empty),
		},
		Action: env.do(o.run),
	}
}

func (o *poststepOptions) run(ctx context.Context, args []string) error {
	in, err := o.input(args[0])
	if err != nil {
		return err
	}
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return err
	}
	done, err := replay.Poststep(ctx, d, in)
	if err != nil {
		return err
	}
	if !o.env.JSON {
		o.env.Notices(done.Warnings)
	}
	return o.env.Print(done, "%s", poststepText(done))
}

func (o *poststepOptions) input(task string) (replay.PoststepInput, error) {
	in := replay.PoststepInput{Task: task, EmptyCommit: o.empty}
	kind, known := role.KindOf(o.as)
	switch {
	case o.as == "":
		return in, usagef("liza help poststep", "poststep needs --as ROLE: planner, coder or code_reviewer")
	case !known || kind != role.Planner && kind != role.Coder && kind != role.Reviewer:
		return in, usagef("liza help poststep", "--as '%s' must be planner, coder or code_reviewer: after poststep it names a role", o.as)
	case (o.file == nil) == (o.text == nil):
		return in, usagef("liza help poststep", "poststep needs exactly one of --response-file and --response-string")
	}
	in.Kind = kind
	if o.text != nil {
		in.Response = *o.text
		return in, nil
	}
	data, err := o.env.readText(*o.file)
	if err != nil {
		return in, transition.Refuse(transition.ExitFailure, "ls", "%w", err)
	}
	in.Response = string(data)
	return in, nil
}

func poststepText(p replay.Poststepped) string {
	var b strings.Builder
	line := func(key, format string, args ...any) { fmt.Fprintf(&b, "%-9s %s\n", key, fmt.Sprintf(format, args...)) }
	line("before", "%s", p.StatusBefore)
	line("event", "%s", p.Event)
	line("after", "%s", p.StatusAfter)
	if p.Released {
		line("released", "the claim of %s still held and was given back", p.Agent)
	}
	if p.Action != "" {
		line("answer", "%s: %s", p.Action, p.Summary)
	}
	if p.Problem != "" {
		line("problem", "%s", p.Problem)
	}
	if len(p.EvidenceFiles) > 0 {
		line("evidence", "%s", strings.Join(p.EvidenceFiles, ", "))
	}
	if p.Sequence > 0 {
		line("recorded", "as interaction %d of %s", p.Sequence, p.Task)
	}
	return b.String()
}
