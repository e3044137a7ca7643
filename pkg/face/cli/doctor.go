package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/code/git"
	"liza/pkg/run/broker"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/assembly"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/team/supervisor"
	"liza/pkg/team/wall"
	"liza/pkg/verb/verb"
)

type doctorOptions struct {
	env    *Env
	checks bool
	cli    string
}

func newDoctor(env *Env) *urfave.Command {
	o := &doctorOptions{env: env}
	return &urfave.Command{
		Name: "doctor", Category: "start", Usage: "look at everything that a team needs, and at what crashes left",
		Description: "git, the repository and who commits in it, the spec, the integration branch against its base, whether the checks are green where merges are checked, agent programs (also as a worktree has them) and\n" +
			"their versions, disk and file system, clock, locks, board and journal, snapshots, configuration;\n" +
			"the sandbox of agent programs: the level that this machine reaches, what it refuses when it is tried, and what your own settings of the\n" +
			"program name (keys, servers, hooks, MCP servers) that its runs do not get;\n" +
			"dead registrations, programs without a supervisor, stale claims, interrupted merges, worktrees without a task. Each with what the next\n" +
			"recovery does about it: every supervisor recovers by itself. Changes nothing. Exit code 1 when there is an error; warnings are allowed." +
			examples("liza doctor", "liza doctor --checks", "liza doctor --cli codex", "liza doctor --json") + exitsText(0, 1, 2),
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "checks", Usage: "run the checks of reviews and merges on the head of the integration branch to their end, where that has not been done; without it each is tried once, for 30 seconds in all", Destination: &o.checks},
			&urfave.StringFlag{Name: "cli", Usage: "agent program `NAME` to look at in the place of agents.default", DefaultText: "agents.default", Destination: &o.cli},
		},
		Action: env.do(env.slow("looking at the machine and the project", o.run)),
	}
}

// examined is the result of `liza doctor`.
type examined struct {
	Errors   int                `json:"errors"`
	Warnings int                `json:"warnings"`
	Findings []findings.Finding `json:"findings"`
}

func (o *doctorOptions) run(ctx context.Context, _ []string) error {
	if o.checks && o.env.inside != nil { // it runs commands
		return o.env.inside.forPeople("doctor --checks")
	}
	p, err := o.env.System.Find(ctx)
	x := &maintain.Doctor{Project: p, CLI: o.cli, Now: o.env.System.Now, Explain: sentence,
		Say: func(text string) { o.env.System.Log().Info(text) }, Try: o.env.inside == nil}
	if err != nil {
		return o.machine(ctx, x, err)
	}
	openConfig(o.env.System.Environ, x)
	openBoard(ctx, o.env.System, x)
	if x.Service != nil {
		x.Programs = assembly.Programs(x.Service.Board.Config())
	}
	if err := x.Examine(ctx, o.checks); err != nil {
		return err
	}
	if x.Service != nil {
		examineWall(ctx, &o.env.System, x)
	}
	return o.show(x.Found)
}

// machine looks at what a team needs of the machine where there is no project yet, and why.
func (o *doctorOptions) machine(ctx context.Context, x *maintain.Doctor, why error) error {
	r := explain(why)
	x.Add("project", findings.Error, "project", r.next, "", "%s", r.message)
	x.Config, _ = config.LoadTolerant(filepath.Join(o.env.System.Dir, ".liza"), o.env.System.Environ)
	if err := x.Machine(ctx, o.env.System.Dir); err != nil {
		return err
	}
	examineLevel(ctx, &wall.Maker{Config: func() *config.Config { return x.Config }, Facts: sandbox.Detect}, x)
	return o.show(x.Found)
}

func (o *doctorOptions) show(found []findings.Finding) error {
	v := examined{Findings: found}
	var b strings.Builder
	for _, f := range found {
		switch f.Severity {
		case findings.Error:
			v.Errors++
		case findings.Warning:
			v.Warnings++
		}
		fmt.Fprintf(&b, "%-8s%-13s %s: %s", f.Severity, f.Check, f.Subject, strings.Join(strings.Fields(f.Text), " "))
		if f.Evidence != "" {
			fmt.Fprintf(&b, " (%s)", prose.OneLine(f.Evidence, listWidth))
		}
		b.WriteString(nextText(f.Next) + "\n")
	}
	total := fmt.Sprintf("%s, %s", prose.Count(v.Errors, "error"), prose.Count(v.Warnings, "warning"))
	fmt.Fprintf(&b, "%s\n", total)
	if v.Errors == 0 {
		return o.env.Print(v, "%s", b.String())
	}
	next := found[slices.IndexFunc(found, func(f findings.Finding) bool { return f.Severity == findings.Error })].Next
	if o.env.JSON {
		return o.env.failWith(report{code: 1, message: "the project is not well: " + total, next: cmp.Or(next, "liza status")}, v)
	}
	fmt.Fprint(o.env.System.Stdout, b.String())
	return &errDone{1}
}

// openConfig says what is wrong with the configuration. A file that cannot be used stops every
// command that writes; a reader takes the defaults.
func openConfig(environ []string, x *maintain.Doctor) {
	cfg, warnings, err := config.Load(x.Project.Liza, environ)
	if err != nil {
		for _, e := range configErrors(err) {
			r := explain(e)
			x.Add("config", findings.Error, "configuration", r.next, "", "%s; nothing can be changed until that is put right", r.message)
		}
	}
	for _, w := range warnings {
		x.Add("config", findings.Warning, "configuration", "edit .liza/config.yaml", "", "%s", w)
	}
	var named []configProblem
	if err == nil {
		named = programsOf(cfg)
	}
	for _, p := range named {
		x.Add("config", p.severity, p.key, "edit .liza/config.yaml", "", "%s", p.text)
	}
	if err == nil && len(warnings)+len(named) == 0 {
		x.Add("config", findings.OK, "configuration", "", "", "valid")
	}
}

// openBoard opens the project as far as that goes, and finds the last valid state.
func openBoard(ctx context.Context, quiet assembly.Environment, x *maintain.Doctor) {
	quiet.Stderr = nowhere{} // warnings are findings here
	d, err := quiet.OpenAt(ctx, x.Project, true)
	if err != nil {
		r := explain(err)
		x.Add("state", findings.Error, "state.yaml", r.next, "", "%s", r.message)
		return
	}
	x.Service = d
	if x.State, err = d.Board.View(ctx); err == nil {
		examineShared(ctx, x)
		for _, h := range d.Board.Config().Hidden(x.Project.Liza, boardSettings(x.State)) {
			x.Add("config", findings.Warning, h.Key, h.Next, "", "%s", h.Message)
		}
		return
	}
	r := explain(err)
	if _, away := errors.AsType[*postgres.UnreachableError](err); away {
		if at, err := assembly.AddressOf(d); err == nil {
			r.next = "psql '" + at.URL + "' -c 'SELECT 1'"
		}
	}
	x.Add("state", findings.Error, "state.yaml", r.next, "", "%s; nothing is written until it is put right", r.message)
	if kept, ok := d.Board.Store.(store.Recoverer); ok {
		if last, lost := kept.LastValid(ctx); lost == nil {
			x.State = last
			x.Add("state", findings.Info, "state.yaml", "liza restore", "", "what follows is about the last valid state, revision %d", last.Revision)
		}
	}
}

// examineShared looks whether a host of a board in a database works by the same settings, roles and instructions as those that
// joined with it.
func examineShared(ctx context.Context, x *maintain.Doctor) {
	board, ok := x.Service.Board.Store.(store.Shared)
	if !ok {
		return
	}
	var names []string
	news, err := board.Since(ctx, math.MaxInt64, 0)
	if err == nil {
		names, err = differing(x.Project.Liza, news.Files)
	}
	switch {
	case err != nil:
		r := explain(err)
		x.Add("store", findings.Error, "board", r.next, "", "%s", r.message)
	case len(names) > 0:
		x.Add("store", findings.Warning, "board", "", "", "this host works by other texts than the board has: %s", strings.Join(names, ", "))
	default:
		x.Add("store", findings.OK, "board", "", "", "settings, roles and instructions are those of the board")
	}
}

// nowhere takes what nobody wants to read.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// preflight says at the start of a team what is wrong; nothing of it keeps the team from its work.
func (c *factory) preflight(ctx context.Context, s *blackboard.State, reviewers int) {
	x := &maintain.Doctor{Project: c.service.Board.Project, Service: c.service, State: s, Programs: assembly.Programs(c.service.Board.Config()), Reviewers: reviewers, CLI: c.cli, Now: c.env.System.Now, Explain: sentence, Try: true}
	found := x.Preflight(ctx)
	x.Found = nil
	examineSettings(ctx, &c.env.System, x)
	c.screen.red = map[string]bool{}
	for _, f := range append(found, x.Found...) {
		if f.Check == "checks" {
			c.screen.red[f.Subject] = true
		}
		c.screen.line(supervisor.Line{Time: c.env.System.Now(), Agent: "preflight", Warning: true, Text: fmt.Sprintf("%s: %s%s", f.Check, prose.OneLine(f.Text, listWidth), nextText(f.Next))})
	}
}

// sentence is what is said about an error, and the command that helps.
func sentence(err error) (message, next string) {
	r := explain(err)
	return r.message, r.next
}

// examineWall says which level of sandbox this machine reaches, and proves it by trying what must be refused.
func examineWall(ctx context.Context, system *assembly.Environment, x *maintain.Doctor) {
	if x.Service.Board.Repo == nil { // a wall is made around the worktrees, which nobody can list
		return
	}
	level, ok := examineLevel(ctx, system.Walls(x.Service, nil), x)
	if !ok {
		return
	}
	examineSettings(ctx, system, x)
	if level != sandbox.Closed && level != sandbox.Partial {
		return
	}
	tried, err := tryWall(ctx, system, x.Service, level)
	if err != nil {
		x.Add("sandbox", findings.Error, "proof", "LIZA_SANDBOX=partial liza doctor", "", "the wall of level %s cannot be tried: %v", level, err)
		return
	}
	sayAttempts(x, level, tried)
}

// examineLevel says which level of sandbox this machine reaches. It reports whether that is enough.
func examineLevel(ctx context.Context, maker *wall.Maker, x *maintain.Doctor) (sandbox.Level, bool) {
	level, reason, err := maker.Level(ctx, "")
	if bad, ok := errors.AsType[*sandbox.Unavailable](err); ok {
		x.Add("sandbox", findings.Error, "level", bad.Next, "", "level %s is required, and %s is the strongest here: %s; no program is started", bad.Want, bad.Have, bad.Why)
		return level, false
	}
	if err != nil {
		x.Add("sandbox", findings.Error, "level", "liza config", "", "%v", err)
		return level, false
	}
	sayLevel(x, maker.Config(), level, reason)
	return level, true
}

// examineSettings tells what the person's own settings of the program name and its runs do not get.
func examineSettings(ctx context.Context, system *assembly.Environment, x *maintain.Doctor) {
	program := cmp.Or(x.CLI, x.Service.Board.Config().Agents.Default)
	missing, err := system.Missing(ctx, x.Service, program)
	if err != nil {
		return // the level or the program is told of anyway
	}
	for _, m := range missing {
		x.Add("sandbox", findings.Warning, program, m.Next, "", "%s", m.What)
	}
}

func sayLevel(x *maintain.Doctor, cfg *config.Config, level sandbox.Level, reason string) {
	switch {
	case level == sandbox.Open && reason == "":
		x.Add("sandbox", findings.Info, "level", "", cfg.Origin("sandbox.level").String(), "open: agent programs are not contained, because sandbox.level says so")
	case level == sandbox.Wrapped:
		x.Add("sandbox", findings.Info, "level", "", cfg.Origin("sandbox.wrap").String(), "wrap: `%s` is put before each program; what it refuses is not tried", strings.Join(cfg.Sandbox.Wrap, " "))
	case reason != "":
		x.Add("sandbox", findings.Warning, "level", "", "", "%s", reason)
	default:
		x.Add("sandbox", findings.OK, "level", "", "", "%s can be had here", level)
	}
}

// sayAttempts compares what was refused with what the level promises.
func sayAttempts(x *maintain.Doctor, level sandbox.Level, tried []sandbox.Attempt) {
	var refused, open []string
	broken := false
	for _, a := range tried {
		switch {
		case a.Refused && level.Covers(a.Act):
			refused = append(refused, a.Act)
		case a.Refused:
		case a.Act == sandbox.ActOpen && !level.Covers(a.Act):
			x.Add("sandbox", findings.Warning, "database", "liza config sandbox.require closed, or a password for this role in pg_hba.conf", a.Target,
				"an agent program at level %s can %s, and read and write the board there", level, a.Act)
		case level.Covers(a.Act):
			broken = true
			x.Add("sandbox", findings.Error, "proof", "LIZA_SANDBOX=open liza run, if you accept that", a.Target, "an agent program could %s, which level %s promises to refuse", a.Act, level)
		default:
			open = append(open, a.Act)
		}
	}
	text := "tried and refused: " + strings.Join(slices.Compact(refused), ", ")
	if len(open) > 0 {
		text += "; not contained at this level: " + strings.Join(open, ", ")
	}
	if !broken {
		x.Add("sandbox", findings.OK, "proof", "", "", "%s", text)
	}
}

// tryWall makes a wall like that of a run, without a program, around a folder of its own, and tries it.
func tryWall(ctx context.Context, system *assembly.Environment, d *verb.Service, level sandbox.Level) ([]sandbox.Attempt, error) {
	name := fmt.Sprintf("doctor-%d", os.Getpid())
	run, err := broker.MakeFolder(system.BrokerBase(), d.Board.Project.Root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(run.Listener.Close(), run.Remove()) }()
	dir := filepath.Join(run.Path, "work")
	w, err := system.Walls(d, nil).Plan(ctx, wall.Use{Name: name, Dir: dir, Write: true, Sockets: run.Path}, nil)
	if err != nil {
		return nil, err
	}
	w.Spec.Over, w.Copy = nil, nil
	w.Spec.Write, w.Make = []string{dir}, []string{dir, w.Spec.Home, w.Spec.Tmp} // nothing of the person's is made for this
	_, remove, err := w.Prepare()
	defer func() { _ = remove() }()
	if err != nil {
		return nil, err
	}
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer outside.Close()
	t := sandbox.Targets{Board: d.Board.Project.State(), Private: d.Board.Project.Journal(), Folders: []string{d.Board.Project.Root}, Address: outside.Addr().String(), Pid: os.Getpid()}
	all, _ := d.Board.Repo.Worktrees(ctx)
	if i := slices.IndexFunc(all, func(w git.Worktree) bool { return !w.Main && !w.Prunable }); i >= 0 {
		t.Folders = append(t.Folders, all[i].Path)
	}
	if at := d.Board.Config().Store.URL; at != "" {
		if t.Database, err = postgres.Bare(at); err != nil {
			t.Database = "" // told with the board
		}
	}
	if level == sandbox.Closed {
		t.Host = "example.com:443" // refused by its name; nobody looks it up
		l, err := run.Listen(filepath.Base(w.Spec.Proxy))
		if err != nil {
			return nil, err
		}
		p, err := proxy.Serve(l, proxy.Options{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = p.Close() }()
	}
	return sandbox.Prove(ctx, w.Spec, sandbox.Detect(ctx), t)
}
