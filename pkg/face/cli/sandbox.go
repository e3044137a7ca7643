package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/toolchain"
	"liza/pkg/team/assembly"
	"liza/pkg/team/wall"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/verb"
)

type sandboxOptions struct {
	env           *Env
	program, task string
	here          bool
}

func newSandbox(env *Env) *urfave.Command {
	o := &sandboxOptions{env: env}
	return &urfave.Command{
		Name: "sandbox", Category: "start", Usage: "what agent programs may read, write and reach",
		Commands: []*urfave.Command{
			{
				Name: "explain", ArgsUsage: "[PROGRAM]", Usage: "list what a run of an agent program may read, write and reach",
				Description: "The level that this machine reaches and why, the files and folders, hosts and variables that a coder's run gets, and the settings that add to them.\n" +
					"PROGRAM is one of `agents`, by default agents.default. Changes nothing." +
					examples("liza sandbox explain", "liza sandbox explain codex --json") + exitsText(0, 1, 2, 4),
				Action: env.onReader(o.explain),
			},
			{
				Name: "exec", ArgsUsage: "COMMAND…", Usage: "run a command, or a shell, in the same sandbox as an agent program",
				Description: "With --here it runs where and how merges are checked: in a throw-away worktree of the integration branch (with --task of that task's work, merged with it), after worktree.setup,\n" +
					"with the sandbox and the caches of checks. Without, COMMAND sees, writes and reaches what a run would: to look around, or to find out why a build fails there. Git is read-only, and there is no board.\n" +
					"Hosts that are refused are told on stderr. The exit code is that of COMMAND." +
					examples("liza sandbox exec -- bash", "liza sandbox exec --here -- make test", "liza sandbox exec --task task-3 -- go test ./...", "LIZA_SANDBOX=partial liza sandbox exec -- sh -c 'ls ~'") + exitsText(0, 1, 2, 4),
				Flags: []urfave.Flag{
					flag("here", "in a throw-away worktree, where and how merges are checked", &o.here),
					text("program", "`NAME` of the agent program whose needs are met; by default agents.default", &o.program),
					text("task", "`ID` of the task in whose worktree it runs; by default the project folder, read-only", &o.task),
				},
				Action: env.onReader(o.exec),
			},
		},
	}
}

// shownWall is the result of `liza sandbox explain`. Of variables it has the names only.
type shownWall struct {
	Program    string         `json:"program"`
	Level      sandbox.Level  `json:"level"`
	Reason     string         `json:"reason,omitempty"`
	Unverified bool           `json:"unverified"` // what the program needs is a guess
	Write      []string       `json:"write"`
	Read       []string       `json:"read"`
	Copies     []string       `json:"copies"`
	Keeps      []string       `json:"keeps"`
	Hosts      []string       `json:"hosts"`
	Quiet      []string       `json:"quiet"`
	Variables  []string       `json:"variables"`
	Limits     sandbox.Limits `json:"limits"`
	Missing    []wall.Missing `json:"missing"`
}

func (o *sandboxOptions) explain(ctx context.Context, d *verb.Service, args []string) error {
	d, err := o.withGit(ctx, d)
	if err != nil {
		return err
	}
	name := d.Board.Config().Agents.Default
	if len(args) > 0 {
		name = args[0]
	}
	w, err := o.env.System.PlanFor(ctx, d, wall.Use{Name: "RUN", Program: name, Dir: d.Board.Repo.WorktreePath("TASK"), Write: true, Codes: true, Sockets: filepath.Join(o.env.System.BrokerBase(), "RUN")})
	if err != nil {
		return err
	}
	a, err := agent.Lookup(name, agent.Options{Custom: assembly.Programs(d.Board.Config()), Root: d.Board.Project.Root, Scenario: "scenario.yaml"})
	if err != nil {
		return err
	}
	v := explainWall(name, w, d.Board.Project.Root, len(a.Info().Needs.Hosts) > 0 && !a.Info().Needs.Measured)
	missing, err := o.env.System.Missing(ctx, d, name)
	if err != nil {
		return err
	}
	v.Missing = append([]wall.Missing{}, missing...)
	return o.env.Print(v, "%s", v.text())
}

// withGit is the project with its repository, which a reader may lack.
func (o *sandboxOptions) withGit(ctx context.Context, d *verb.Service) (*verb.Service, error) {
	if d.Board.Repo != nil {
		return d, nil
	}
	return o.env.System.Service(ctx)
}

// explainWall is what people are told of a wall. Paths are written as people write them.
func explainWall(program string, w wall.Plan, root string, unverified bool) shownWall {
	s := w.Spec
	name := func(path string) string {
		switch {
		case path == s.Dir:
			return "the worktree of its task"
		case strings.HasPrefix(path, s.Home+"/"):
			return "~" + strings.TrimPrefix(path, s.Home)
		case strings.HasPrefix(path, root+"/") && !(strings.HasPrefix(path, s.Person+"/") && strings.HasPrefix(s.Person, root)):
			return strings.TrimPrefix(path, root+"/")
		case strings.HasPrefix(path, s.Person+"/"):
			return "~" + strings.TrimPrefix(path, s.Person)
		}
		return path
	}
	var v shownWall
	add := func(list *[]string, paths ...string) {
		for _, path := range paths {
			if filepath.Dir(s.Proxy) != path && filepath.Dir(s.Home) != path && !slices.Contains(*list, name(path)) { // the folder of the run is known
				*list = append(*list, name(path))
			}
		}
	}
	inHome := func(rels []string) (paths []string) {
		for _, rel := range rels {
			paths = append(paths, filepath.Join(s.Person, rel))
		}
		return paths
	}
	v = shownWall{Program: program, Level: s.Level, Reason: w.Reason, Unverified: unverified, Limits: s.Limits, Write: []string{}, Read: []string{}, Copies: []string{}, Keeps: []string{}, Variables: []string{},
		Hosts: list(w.Hosts), Quiet: list(w.Proxy.Quiet)}
	add(&v.Write, s.Write...)
	add(&v.Write, inHome(s.HomeWrite)...)
	add(&v.Read, inHome(s.HomeRead)...)
	add(&v.Read, s.Read...)
	add(&v.Read, s.Tools...)
	for _, c := range w.Copy {
		add(&v.Copies, c.Source)
	}
	for _, o := range slices.Concat(s.Over, w.Link) {
		add(&v.Keeps, o.Target)
	}
	for _, pair := range w.Env {
		variable, _, _ := strings.Cut(pair, "=")
		v.Variables = append(v.Variables, variable)
	}
	slices.Sort(v.Variables)
	v.Variables = slices.Compact(v.Variables)
	return v
}

// levelSays is what a level means, in one sentence.
var levelSays = map[sandbox.Level]string{
	sandbox.Closed:  "files, processes and network are contained; what is not listed here is not there",
	sandbox.Partial: "files and system calls are contained; the network and other processes are not: hosts below are a wish only",
	sandbox.Wrapped: "the command of sandbox.wrap is put before the program; what it lets through is its own matter",
	sandbox.Open:    "nothing is contained: the program may do what you may do; below is what it would get",
}

func (v shownWall) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s runs at level %s: %s.\n", v.Program, v.Level, levelSays[v.Level])
	if v.Reason != "" {
		fmt.Fprintf(&b, "%s.\n", strings.TrimSuffix(v.Reason, "."))
	}
	if v.Unverified {
		fmt.Fprintf(&b, "What %s needs has not been measured: it gets copies of its settings, and some of it may be missing. `liza sandbox exec` shows what it sees.\n", v.Program)
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
			for _, line := range lines {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	section("It may write", append(slices.Clone(v.Write), "a home folder, and a folder for temporary files, that are removed when it ends"))
	section("It may read, besides the system's own programs and libraries", v.Read)
	section("It has copies of", v.Copies)
	section("The project keeps for all its runs", v.Keeps)
	section("It may reach", v.Hosts)
	if len(v.Quiet) > 0 {
		fmt.Fprintf(&b, "  (%s are refused without a word, because the program does without them)\n", prose.OneLine(strings.Join(v.Quiet, ", "), listWidth))
	}
	section("It gets these variables, when you have them", []string{strings.Join(v.Variables, " ")})
	section("Its limits", v.limits())
	var missing []string
	for _, m := range v.Missing {
		missing = append(missing, m.What+nextText(m.Next))
	}
	section("Your settings of "+v.Program+" name what it does not get", missing)
	fmt.Fprintf(&b, "\nTo allow more, for all programs or for this one (list each in .liza/config.yaml):\n"+
		"  sandbox.allow.read, write, copy, hosts, env          e.g. sandbox: {allow: {hosts: [api.example.com]}}\n"+
		"  agents.%s.sandbox.allow.read, write, …     see `liza config containment`\n", v.Program)
	return b.String()
}

func (v shownWall) limits() (lines []string) {
	const mb = 1 << 20
	for _, l := range []struct {
		n    int64
		unit string
	}{{int64(v.Limits.Processes), "processes"}, {v.Limits.Memory / mb, "MB of memory"}, {v.Limits.Disk / mb, "MB in each private folder"}, {v.Limits.File / mb, "MB in one file"}} {
		if l.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", l.n, l.unit))
		}
	}
	return lines
}

func (o *sandboxOptions) exec(ctx context.Context, d *verb.Service, args []string) (err error) {
	if d, err = o.withGit(ctx, d); err != nil {
		return err
	}
	use := wall.Use{Name: fmt.Sprintf("person-%d", os.Getpid()), Program: cmp.Or(o.program, d.Board.Config().Agents.Default), Dir: d.Board.Project.Root, Write: o.here || o.task != "", Codes: o.here || o.task != ""}
	switch {
	case o.here && o.program != "":
		return usagef("liza help sandbox exec", "checks have no program's needs: give --here or --program")
	case o.here:
		p, err := o.openPlace(ctx, d)
		if p != nil {
			defer func() { err = errors.Join(err, p.Close(ctx)) }()
		}
		if err != nil {
			return err
		}
		use.Program, use.Dir = "", p.Dir
	case o.task != "":
		if use.Dir = d.Board.Repo.WorktreePath(o.task); !isDir(use.Dir) {
			return usagef("liza show "+o.task, "the task %s has no worktree", o.task)
		}
	}
	run, err := broker.MakeFolder(o.env.System.BrokerBase(), d.Board.Project.Root, use.Name)
	if err != nil {
		return err
	}
	// A person's command has no board: nobody answers. The socket stays open, so that the folder is not taken for one that was left.
	defer func() { err = errors.Join(err, run.Listener.Close(), run.Remove()) }()

	use.Sockets = run.Path
	w, err := o.env.System.PlanFor(ctx, d, use)
	if err != nil {
		return err
	}
	_, remove, err := w.Prepare()
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return err
	}
	l, err := run.Listen(filepath.Base(w.Spec.Proxy))
	if err != nil {
		return err
	}
	w.Proxy.Refused = func(r proxy.Refusal) {
		if !r.Quiet {
			o.env.System.Log().Warn(r.Error(), "next", r.Next)
		}
	}
	p, err := proxy.Serve(l, w.Proxy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return o.env.inWall(ctx, w, args)
}

// openPlace is where checks run, with a word about a setup that failed there.
func (o *sandboxOptions) openPlace(ctx context.Context, d *verb.Service) (*checks.Place, error) {
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	p, err := d.Checks.OpenPlace(ctx, s, o.task)
	if err == nil && p.Setup != "" {
		o.env.System.Log().Warn(fmt.Sprintf("worktree.setup fails here: %q", p.Setup), "next", "less "+d.Board.Rel(p.Log()))
	}
	if err == nil {
		var lacks []string
		if _, lacks, err = p.Lacks(ctx); len(lacks) > 0 {
			o.env.System.Log().Info("your checkout has, and this worktree has not: " + prose.OneLine(strings.Join(lacks, ", "), 4*listWidth))
		}
	}
	return p, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inWall runs a person's command in a wall, with the streams of this one.
func (e *Env) inWall(ctx context.Context, w wall.Plan, args []string) error {
	s := w.Spec
	s.Terminal = e.StdinTerminal
	s.Limits.Processes, s.Limits.Memory = 0, 0 // they need a reaper, and a person can end what is too much
	on := toolchain.On(s.Person, w.Env)
	path := args[0]
	if !strings.Contains(path, "/") {
		path = on.Which(path)
	}
	if path == "" {
		return usagef("liza sandbox exec -- sh", "%s is not found on PATH", args[0])
	}
	if at := filepath.Join(s.Dir, path); !filepath.IsAbs(path) { // of the place in which it runs
		if _, err := os.Stat(at); err == nil {
			path = at
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	s.Tools = slices.Concat(s.Tools, on.Installed(path))
	if s.Level == sandbox.Open {
		w.Env = e.System.Environ
	}
	c, err := s.Command(sandbox.Detect(ctx), path, args, w.Env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the wall dies with the thread that has started it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(c.Path)
	cmd.Args, cmd.Env, cmd.Dir = c.Argv, c.Env, s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.System.Stdin, e.direct.out, e.direct.errs
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return &errDone{max(1, ended.ExitCode())}
	}
	return err
}
