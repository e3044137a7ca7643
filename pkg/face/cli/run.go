package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/agent/scripted"
	"liza/pkg/run/broker"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/assembly"
	"liza/pkg/team/supervisor"
	"liza/pkg/team/wall"
	"liza/pkg/verb/board"
	"liza/pkg/verb/landing"
	"liza/pkg/verb/verb"
)

type runOptions struct {
	env                         *Env
	cli, model, scenario, until string
	planners, coders, reviewers int
	timeout                     time.Duration
	plain, quiet                bool // quiet: without a look at the machine
	detach                      bool
}

func newRun(env *Env) *urfave.Command {
	o := &runOptions{env: env}
	return &urfave.Command{
		Name: "run", Category: "start",
		Usage: "run the whole team until the goal is complete",
		Description: "Starts planners, coders and reviewers in one process. They claim tasks, work in worktrees under .worktrees/, review, and merge approved\n" +
			"work into the integration branch. Your checkout is not touched. On a terminal a block at the bottom\n" +
			"says what each agent does and what waits for you. The first Ctrl-C lets running agents finish, the second stops them.\n" +
			"With --detach the team goes on without this terminal, and you are told how to look at it, stop it and come back." +
			examples("liza run --cli claude", "liza run --coders 3 --until sprint --timeout 2h", "liza run --detach") + exitsText(0, 1, 2, 3, 5, 7, 130),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "cli", Usage: "agent program", DefaultText: "agents.default", Destination: &o.cli},
			&urfave.StringFlag{Name: "model", Usage: "model of the agent program", Destination: &o.model},
			&urfave.IntFlag{Name: "planners", Value: 1, Usage: "number of planners", Destination: &o.planners},
			&urfave.IntFlag{Name: "coders", Value: 2, Usage: "number of coders", Destination: &o.coders},
			&urfave.IntFlag{Name: "reviewers", Value: 1, Usage: "number of reviewers", Destination: &o.reviewers},
			&urfave.StringFlag{Name: "until", Value: "goal", Usage: "goal, sprint or idle", Destination: &o.until},
			&urfave.DurationFlag{Name: "timeout", Usage: "end after this time; 0 means no limit", Destination: &o.timeout},
			&urfave.BoolFlag{Name: "plain", Usage: "plain lines without colour and without the live block", Destination: &o.plain},
			&urfave.StringFlag{Name: "scenario", Usage: "scenario of the scripted agent (sets --cli scripted)", Destination: &o.scenario},
			&urfave.BoolFlag{Name: "detach", Usage: "go on without this terminal", Destination: &o.detach},
		},
		Action: func(ctx context.Context, c *urfave.Command) error {
			if !o.detach {
				return o.run(ctx, c.IsSet)
			}
			args := []string{"--plain"}
			for _, name := range c.LocalFlagNames() {
				if name != "detach" && name != "plain" && c.IsSet(name) {
					args = append(args, fmt.Sprintf("--%s=%v", name, c.Value(name)))
				}
			}
			return env.detach(ctx, args)
		},
	}
}

func (o *runOptions) run(ctx context.Context, given func(string) bool) error {
	if o.until != "goal" && o.until != "sprint" && o.until != "idle" {
		return usagef("liza help run", "--until '%s' must be goal, sprint or idle", o.until)
	}
	if o.planners < 0 || o.coders < 0 || o.reviewers < 0 || o.planners+o.coders+o.reviewers == 0 {
		return usagef("liza help run", "the team is empty: give at least one planner, coder or reviewer")
	}
	c, err := readyFactory(ctx, o.env, o.cli, o.model, o.scenario)
	if err != nil {
		return err
	}
	c.service.Board.Held.Memory = true
	o.env.System.RememberProject(c.service.Board.Project.Root)
	s, err := c.service.Board.View(ctx)
	if err != nil {
		return err
	}
	over := s.Goal != nil && s.Goal.Status == blackboard.Completed
	if cfg := c.service.Board.Config().Land; over && (cfg.Forge == "none" || !cfg.Auto || landing.AllLanded(s)) {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: `liza goal "TEXT", or liza add TEXT`, Message: "nothing to do: the goal is COMPLETED"}
	}
	if s.Goal == nil || s.Goal.Status != blackboard.InProgress && !over {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza add TEXT, or liza tell planner TEXT", Message: fmt.Sprintf("nothing to do: the goal is %s", goalStatus(s))}
	}
	c.screen = o.env.newScreen()
	c.screen.colour = c.screen.colour && !o.plain
	c.screen.calm = map[string]bool{}
	o.env.System.Stderr = above{c.screen, o.env.System.Stderr}
	if err := c.sayLevel(ctx); err != nil {
		return err
	}
	if !o.quiet {
		c.preflight(ctx, s, o.reviewers)
	}
	if err := c.greet(ctx, s); err != nil {
		return err
	}
	landing, err := c.landing(ctx)
	if err != nil {
		return err
	}
	began := o.env.System.Now()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	ctx, forget := c.whileThere(ctx)
	defer forget()
	soft, hard, done := o.env.interrupts(ctx, func(text string) {
		c.screen.line(supervisor.Line{Time: o.env.System.Now(), Agent: "liza", Text: text, Warning: true})
	})
	unwatch := o.env.watchBeside(ctx, c)
	delivered := o.env.System.DeliverBeside(ctx, c.service)
	exported := o.env.exportBeside(c.service.Board.Project, c.liza)
	guarded := c.guardSettings(ctx)
	quiet := func() {}
	if !o.plain && o.env.terminal().canLive() {
		quiet = c.goLive(hard)
	}
	returned := c.returnBeside(soft)
	err = o.withLanding(ctx, soft, hard, c, landing, over, given)
	returned()
	quiet()
	guarded()
	done()
	unwatch()
	delivered()
	exported()
	if err := c.gone(ctx, nil); err != nil {
		return err
	}
	return o.finish(context.WithoutCancel(ctx), ctx, c, began, err)
}

// detach starts a team in a session of its own, waits until it works or has ended, and says how to look at it, stop it and come back.
func (e *Env) detach(ctx context.Context, args []string) error {
	d, err := e.System.Service(ctx)
	if err != nil {
		return err
	}
	liza, err := e.System.Liza()
	if err != nil {
		return err
	}
	path := d.Board.Project.OutputAgent("team")
	if err := safefile.MakeFolder(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_ = os.Rename(path, path+".1") // of the team before, if there was one
	log, err := safefile.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the log of the team: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(liza, append([]string{"-C", d.Board.Project.Root, "run"}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = e.System.Dir, e.System.Environ, &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the team: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for changes := d.Board.Store.Watch(ctx); ; {
		s, err := d.Board.View(ctx)
		if err == nil && slices.ContainsFunc(slices.Collect(maps.Values(s.Agents)), func(a *blackboard.Agent) bool { return a != nil && a.PID == cmd.Process.Pid }) {
			break
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return &errDone{130}
		case <-ended: // its reason is the last that it says
			if text, err := safefile.Read(path); err == nil {
				_, _ = e.System.Stderr.Write(text)
			}
			return &errDone{cmd.ProcessState.ExitCode()}
		}
	}
	pid := cmd.Process.Pid
	return e.Print(map[string]any{"pid": pid, "log": path}, "the team works without this terminal, as process %d\nlook:  liza top, liza status, tail -f %s\nstop:  liza stop --all, or kill -INT %d to let running programs finish\ntake over a coder's work here:  liza attach AGENT\n", pid, path, pid)
}

func goalStatus(s *blackboard.State) string {
	if s.Goal == nil {
		return "missing"
	}
	return s.Goal.Status
}

func (o *runOptions) team(c *factory, given func(string) bool) *supervisor.Team {
	team := &supervisor.Team{Service: c.service, Until: o.until}
	for role, n := range map[blackboard.Role]int{blackboard.RolePlanner: o.planners, blackboard.RoleCoder: o.coders, blackboard.RoleReviewer: o.reviewers} {
		for range n {
			m := c.supervisor(role)
			m.Team = true
			team.Members = append(team.Members, m)
		}
	}
	asked := given("planners") || given("coders") || given("reviewers")
	slots := &supervisor.Slots{Limit: func() int {
		cfg := c.service.Board.Config()
		if !cfg.IsSet("orchestration.max_concurrent_agents") && asked {
			return max(cfg.Orchestration.MaxConcurrentAgents, len(team.Members))
		}
		return cfg.Orchestration.MaxConcurrentAgents
	}}
	for _, m := range team.Members {
		m.Slots = slots
	}
	return team
}

// finish turns the end of the team into exit code and last line.
func (o *runOptions) finish(ctx, limited context.Context, c *factory, began time.Time, err error) error {
	r := c.summary(ctx, began)
	done := r.Status == blackboard.Completed
	switch {
	case errors.Is(context.Cause(limited), errTimeout):
		err = fmt.Errorf("the goal is not complete: %w", errTimeout)
	case errors.Is(err, supervisor.ErrIdle) && o.until == "idle":
		err = nil
		done = true
	case err == nil && r.Status == blackboard.Completed && r.Unverified != "":
		err = &transition.Refusal{Exit: transition.ExitFailure, Next: "liza check", Message: "the goal is COMPLETED, " + r.Unverified + ": their checks were red before and after, or could not run"}
	case err == nil && !done, errors.Is(err, supervisor.ErrAborted) && c.service.Board.Control() == "":
		err = &transition.Refusal{Exit: 130, Next: "liza run", Message: "stopped before the goal was complete"}
	}
	text := r.String() + "\n" + builtText(r.Built, r.titles) + r.cost + openText(r.Open)
	if err != nil {
		if !o.env.JSON {
			fmt.Fprint(o.env.System.Stdout, text)
		}
		return err
	}
	if r.Status == blackboard.Completed {
		text += "next: liza goal \"TEXT\", for what comes after\n"
	}
	return o.env.Print(r, "%s", text)
}

// withLanding runs a team, and again while the forge makes work for it. A goal that is over was interrupted while it landed.
func (o *runOptions) withLanding(ctx, soft, hard context.Context, c *factory, l *teamLanding, over bool, given func(string) bool) error {
	if l == nil {
		return o.team(c, given).Run(soft, hard)
	}
	for ; ; over = false {
		if !over {
			l.begin(ctx)
			stop := l.beside(soft)
			err := o.team(c, given).Run(soft, hard)
			stop()
			if err != nil || soft.Err() != nil {
				return err
			}
		}
		s, err := c.service.Board.View(ctx)
		if err != nil || s.Goal == nil || s.Goal.Status != blackboard.Completed {
			return err
		}
		if again, err := l.finish(soft); err != nil || !again {
			return err
		}
	}
}

// errTimeout is the cause with which --timeout ends a run.
var errTimeout = errors.New("the time given with --timeout is over")

// factory makes the supervisors of one process.
type factory struct {
	env      *Env
	service  *verb.Service
	liza     string
	cli      string
	model    string
	scenario string
	screen   *screen
	versions agent.Versions
	walls    *wall.Maker
	runs     runs
}

// readyFactory checks what the supervisors will need: the program that they run, and the scenario
// of the scripted agent, which would otherwise show itself only as a crash.
func readyFactory(ctx context.Context, e *Env, cliName, model, scenario string) (*factory, error) {
	c, err := newFactory(ctx, e, cliName, model, scenario)
	if err != nil {
		return nil, err
	}
	if err := c.service.Merges.CanApprove(); err != nil { // before anybody is paid for work that could not be merged
		return nil, err
	}
	c.warnHidden(ctx)
	return c, c.installed(cmp.Or(c.cli, c.service.Board.Config().Agents.Default))
}

// newFactory is readyFactory without a look at the program: for what runs none.
func newFactory(ctx context.Context, e *Env, cliName, model, scenario string) (*factory, error) {
	service, err := e.System.Service(ctx)
	if err != nil {
		return nil, err
	}
	service.Board.Caller.As = ""
	service.Board.Store = store.Grouped(service.Board.Store)
	e.forges().hide(ctx, service)
	liza, err := e.System.Liza()
	if err != nil {
		return nil, err
	}
	if scenario != "" {
		if !filepath.IsAbs(scenario) {
			scenario = filepath.Join(e.System.Dir, scenario)
		}
		if _, err := scripted.Load(scenario); err != nil {
			return nil, usagef("liza help scripted-agent", "%v", err)
		}
		cliName = cmp.Or(cliName, "scripted")
	}
	c := &factory{env: e, service: service, liza: liza, cli: cliName, model: model, scenario: scenario, versions: agent.Versions{Ask: service.Board.Ask}}
	c.walls = e.System.Walls(service, func(name string) (agent.Needs, error) {
		a, err := c.adapter(name)
		if err != nil {
			return agent.Needs{}, err
		}
		return a.Info().Needs, nil
	})
	return c, nil
}

// installed checks that the agent program is known and can be started at all (A02).
func (c *factory) installed(name string) error {
	adapter, err := c.adapter(name)
	if err != nil {
		known := append(agent.Names(), slices.Collect(maps.Keys(c.service.Board.Config().Agents.Custom))...)
		slices.Sort(known)
		if near := blackboard.Nearest(name, known); near != "" && near != name {
			return usagef("liza run --cli "+near, "%v; did you mean %s?", err, near)
		}
		if name == agent.Scripted {
			return usagef("liza help scripted-agent", "%v; --scenario names one", err)
		}
		return usagef("liza help run", "%v", err)
	}
	cmd, err := adapter.Command(agent.Spec{PromptFile: "prompt"})
	if err != nil || len(cmd.Argv) == 0 {
		return usagef("liza help run", "the agent program %s cannot be started: %v", name, err)
	}
	if _, err := exec.LookPath(cmd.Argv[0]); err != nil {
		return &transition.Refusal{Exit: transition.ExitFailure, Next: "liza run --cli NAME, with a program that is installed",
			Message: fmt.Sprintf("the agent program %s is not installed: %s is not found on PATH", name, cmd.Argv[0])}
	}
	return nil
}

func (c *factory) adapter(name string) (agent.Adapter, error) {
	return agent.Lookup(name, agent.Options{Custom: assembly.Programs(c.service.Board.Config()), Root: c.service.Board.Project.Root, Liza: c.liza, Scenario: c.scenario})
}

// supervisor makes one of a role; each has a service of its own, because each is a caller.
func (c *factory) supervisor(role blackboard.Role) *supervisor.Supervisor {
	service := c.service.With(func(s *board.Session) { s.Caller = board.Caller{Person: s.Caller.Person} })
	start, _ := agent.ProcessStart(os.Getpid())
	s := &supervisor.Supervisor{Service: service, Role: role, CLI: c.cli, Model: c.model, Scenario: c.scenario, PID: os.Getpid(), PIDStart: start,
		Terminal: terminalName(), Walls: c.walls, Commands: c.commands, RunBase: c.env.System.BrokerBase(), Adapter: c.adapter, Version: c.versions.Of, Liza: c.liza, Schema: exitcmd.SchemaFile, Environ: c.env.System.Environ, Print: c.screen.line,
		Jitter: func() float64 { return 2*rand.Float64() - 1 }}
	s.Start = func(ctx context.Context, a agent.Adapter, spec agent.Spec) agent.Result {
		defer c.runs.begin(s.ID, spec.TaskID)()
		return c.run(ctx, a, spec)
	}
	return s
}

// run runs an agent program below a reaper.
func (c *factory) run(ctx context.Context, a agent.Adapter, s agent.Spec) agent.Result {
	s.Reaper, s.Spawn = c.env.System.Reaper()
	return agent.Run(ctx, a, s)
}

func terminalName() string {
	if name, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(name, "/dev/") && name != "/dev/null" {
		return name
	}
	return "unknown"
}

// interrupts turns signals into contexts: soft ends with the first one (no new work),
// hard with the second (what runs is stopped).
func (e *Env) interrupts(ctx context.Context, say func(string)) (soft, hard context.Context, done func()) {
	soft, stopSoft := context.WithCancel(ctx)
	hard, stopHard := context.WithCancel(ctx)
	if e.System.Signals == nil {
		return soft, hard, func() { stopSoft(); stopHard() }
	}
	signals, forget := e.System.Signals()
	ended := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-ended:
				return
			}
			if n == 0 {
				say("no new work is begun; running agents may finish. Interrupt again to stop them now.")
				stopSoft()
				continue
			}
			say("stopping the agents; their claims are released.")
			stopHard()
			return
		}
	}()
	return soft, hard, func() { close(ended); forget(); stopSoft(); stopHard() }
}

// sayLevel is the first line of every start: how strongly agents are contained. An error is that the settings require more
// than this machine can do.
func (c *factory) sayLevel(ctx context.Context) error {
	level, reason, err := c.walls.Level(ctx, cmp.Or(c.cli, c.service.Board.Config().Agents.Default))
	if weak, ok := errors.AsType[*sandbox.Unavailable](err); ok {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: weak.Next, Message: weak.Sentence()}
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("agents run contained: %s", level)
	switch {
	case reason != "":
		text = reason
	case level == sandbox.Open:
		text = "agents run uncontained (sandbox.level is open): they can read, write and reach whatever you can"
	}
	c.screen.say(c.env.System.Now(), reason != "" || level == sandbox.Open, "%s", text)
	return nil
}

// goneLook is how often a team looks whether its project folder is there.
const goneLook = 200 * time.Millisecond

// whileThere is a context that ends when the project folder was moved or removed. From then on nothing else is said:
// whatever fails, fails because of it. Nothing is written at the old place, because no writer makes .liza again.
func (c *factory) whileThere(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	p := c.service.Board.Project
	away := func() bool {
		_, err := os.Lstat(p.GitDir)
		if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		end(&transition.Refusal{Exit: transition.ExitFailure, Next: "cd PROJECT && liza run",
			Message: p.Root + " is not there any more, so the team ended; its work is in the folder, wherever that is now"})
		return true
	}
	c.screen.mu.Lock()
	c.screen.away = away
	c.screen.mu.Unlock()
	if c.env.System.Away == nil {
		c.env.System.Away = new(atomic.Pointer[func() bool])
	}
	c.env.System.Away.Store(&away)
	go func() {
		tick := time.NewTicker(goneLook)
		defer tick.Stop()
		for !away() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// gone is why whileThere ended its context, else err.
func (c *factory) gone(ctx context.Context, err error) error {
	c.env.System.Away.Store(nil) // the end is told
	if moved, ok := errors.AsType[*transition.Refusal](context.Cause(ctx)); ok {
		return moved
	}
	return err
}

// goLive draws the block of a team until done is called, which takes it away.
func (c *factory) goLive(ctx context.Context) (done func()) {
	s := c.screen
	l := &live{src: sourceOf(c.service), env: c.env, began: c.env.System.Now()}
	s.mu.Lock()
	s.live = l
	s.mu.Unlock()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(liveEvery)
		defer every.Stop()
		for {
			if v, err := l.src.View(ctx); err == nil {
				s.mu.Lock()
				l.view = v
				if !s.held {
					l.draw(s.out, "")
				}
				s.mu.Unlock()
			}
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
		}
	}()
	return func() {
		stop()
		<-ended
		s.mu.Lock()
		defer s.mu.Unlock()
		l.clear(s.out)
		s.live = nil
	}
}

// commands is what carries out the commands of a run: the same tree of commands, with the settings and
// the environment of the supervisor, as the agent of the run and as nobody else.
func (c *factory) commands(run supervisor.InRun) broker.Handler {
	return func(ctx context.Context, call *broker.Call) int {
		return c.inside(run, call).serveLiza(ctx, call.Args)
	}
}

// inside is the environment of a command that came out of a run.
func (c *factory) inside(run supervisor.InRun, call *broker.Call) *Env {
	within := &assembly.Within{Run: run, Service: c.service}
	return &Env{System: c.env.System.ForRun(within, call), Terminal: call.Terminal, inside: &insideRun{within, call}, tree: c.env.tree}
}

// warnHidden tells who starts a run which settings of config.yaml have no effect.
func (c *factory) warnHidden(ctx context.Context) {
	s, err := c.service.Board.View(ctx)
	if err != nil {
		return // who needs the board says so
	}
	for _, h := range c.service.Board.Config().Hidden(c.service.Board.Project.Liza, s.Config) {
		c.env.System.Log().Warn(h.Message + "; next: " + h.Next)
	}
}

// runs are those of the agent programs of this process that are under way, and those that ended since they were forgotten.
// The board would not do: it shows a run after its beginning, and no longer after its end. Its zero value is ready for use,
// by several goroutines.
type runs struct {
	mu  sync.Mutex
	all map[*run]bool // true: ended
}

// run is one of an agent program, as people are told of it.
type run struct{ agent, task string }

func (r *run) String() string {
	if r.task == "" {
		return r.agent
	}
	return r.agent + " on " + r.task
}

// begin notes a run until the function that it returns is called, and on until it is forgotten.
func (r *runs) begin(agent, task string) (end func()) {
	one := &run{agent, task}
	r.set(one, false)
	return func() { r.set(one, true) }
}

func (r *runs) set(one *run, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*run]bool{}
	}
	r.all[one] = ended
}

// ended are the runs that have ended.
func (r *runs) ended() (all []*run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one, over := range r.all {
		if over {
			all = append(all, one)
		}
	}
	return all
}

// during names all runs, and forgets those given.
func (r *runs) during(forget []*run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.all))
	for one := range r.all {
		names = append(names, one.String())
	}
	for _, one := range forget {
		delete(r.all, one)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
