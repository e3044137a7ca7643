package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/agent"
	"liza/pkg/agent/scripted"
	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/prose"
	"liza/pkg/supervisor"
	"liza/pkg/transition"
	"liza/pkg/verb"
	"liza/pkg/wall"
)

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
func (e *Env) readyFactory(ctx context.Context, cliName, model, scenario string) (*factory, error) {
	c, err := e.newFactory(ctx, cliName, model, scenario)
	if err != nil {
		return nil, err
	}
	c.warnHidden(ctx)
	return c, c.installed(cmp.Or(c.cli, c.service.Config().Agents.Default))
}

// newFactory is readyFactory without a look at the program: for what runs none.
func (e *Env) newFactory(ctx context.Context, cliName, model, scenario string) (*factory, error) {
	service, err := e.Service(ctx)
	if err != nil {
		return nil, err
	}
	service.Caller.As = ""
	e.hideTokens(ctx, service)
	liza, err := e.liza()
	if err != nil {
		return nil, err
	}
	if scenario != "" {
		if !filepath.IsAbs(scenario) {
			scenario = filepath.Join(e.Dir, scenario)
		}
		if _, err := scripted.Load(scenario); err != nil {
			return nil, usagef("liza help scripted-agent", "%v", err)
		}
		cliName = cmp.Or(cliName, "scripted")
	}
	c := &factory{env: e, service: service, liza: liza, cli: cliName, model: model, scenario: scenario}
	c.walls = e.newWalls(service, func(name string) (agent.Needs, error) {
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
		known := append(agent.Names(), slices.Collect(maps.Keys(c.service.Config().Agents.Custom))...)
		slices.Sort(known)
		if near := blackboard.Nearest(name, known); near != "" {
			return usagef("liza run --cli "+near, "%v; did you mean %s?", err, near)
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

// liza is the absolute path of the liza program: this one, or the one beside liza-agent.
func (e *Env) liza() (string, error) {
	path, err := e.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		beside := filepath.Join(filepath.Dir(real), "liza")
		if filepath.Base(real) == "liza-agent" {
			path = beside
		}
	}
	if beside := filepath.Join(filepath.Dir(path), "liza"); filepath.Base(path) != "liza" {
		if _, err := os.Stat(beside); err == nil {
			path = beside
		}
	}
	return filepath.Abs(path)
}

func (c *factory) adapter(name string) (agent.Adapter, error) {
	return agent.Lookup(name, agent.Options{Custom: programs(c.service.Config()), Root: c.service.Project.Root, Liza: c.liza, Scenario: c.scenario})
}

// supervisor makes one of a role; each has a service of its own, because each is a caller.
func (c *factory) supervisor(role blackboard.Role) *supervisor.Supervisor {
	service := *c.service
	service.Caller = verb.Caller{Person: c.service.Caller.Person}
	start, _ := agent.ProcessStart(os.Getpid())
	s := &supervisor.Supervisor{Service: &service, Role: role, CLI: c.cli, Model: c.model, Scenario: c.scenario, PID: os.Getpid(), PIDStart: start,
		Terminal: terminalName(), Walls: c.walls, Commands: c.commands, RunBase: c.env.brokerBase(), Adapter: c.adapter, Version: c.versions.Of, Liza: c.liza, Schema: exitcmd.SchemaFile, Environ: c.env.Environ, Print: c.screen.line,
		Jitter: func() float64 { return 2*rand.Float64() - 1 }}
	s.Start = func(ctx context.Context, a agent.Adapter, spec agent.Spec) agent.Result {
		defer c.runs.begin(s.ID, spec.TaskID)()
		return c.run(ctx, a, spec)
	}
	return s
}

// run runs an agent program below a reaper.
func (c *factory) run(ctx context.Context, a agent.Adapter, s agent.Spec) agent.Result {
	s.Reaper, s.Spawn = c.env.reaper()
	return agent.Run(ctx, a, s)
}

func terminalName() string {
	if name, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(name, "/dev/") && name != "/dev/null" {
		return name
	}
	return "unknown"
}

// screen prints the lines of supervisors, one at a time.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	log    *slog.Logger // steps go there when they are diagnostics in JSON
	colour bool
	held   bool
	later  []supervisor.Line // while somebody else has the terminal
	live   *live             // nil: there is no block below the lines
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

// interrupts turns signals into contexts: soft ends with the first one (no new work),
// hard with the second (what runs is stopped).
func (e *Env) interrupts(ctx context.Context, say func(string)) (soft, hard context.Context, done func()) {
	soft, stopSoft := context.WithCancel(ctx)
	hard, stopHard := context.WithCancel(ctx)
	if e.Signals == nil {
		return soft, hard, func() { stopSoft(); stopHard() }
	}
	signals, forget := e.Signals()
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

// ran is the result of `liza run` and `liza-agent`.
type ran struct {
	Goal   string         `json:"goal"`
	Status string         `json:"status"`
	Counts map[string]int `json:"tasks"`
	Time   string         `json:"time"`
	Built  verb.Built     `json:"built"`
	Open   []openTask     `json:"open"` // what is not done, and the command that moves it

	cost   string            // a line for people
	titles map[string]string // of tasks
}

// summary gives the state of the board at the end of a run.
func (c *factory) summary(ctx context.Context, began time.Time) ran {
	r := ran{Counts: map[string]int{}, Open: []openTask{}, Time: c.env.Now().Sub(began).Round(100 * time.Millisecond).String()}
	s, err := c.service.View(ctx)
	if err != nil || s.Goal == nil {
		return r
	}
	r.Goal, r.Status = s.Goal.ID, s.Goal.Status
	r.Built = c.service.Built(ctx, s)
	if v, err := c.env.source(c.service, "liza").View(ctx); err == nil {
		r.Open = openTasks(v)
	}
	if u := s.Usage; u != nil {
		r.cost = fmt.Sprintf("cost:  %s in %s", u.CostCents.Dollars(), prose.Count(u.AgentRuns, "run"))
		if u.UnknownCostRuns > 0 {
			r.cost += fmt.Sprintf(", %d of them of unknown cost", u.UnknownCostRuns)
		}
		r.cost += "\n"
	}
	r.titles = map[string]string{}
	for t := range s.Tasks() {
		r.titles[t.ID] = prose.OneLine(t.TitleText(), 60)
	}
	for t := range s.Tasks() {
		r.Counts[string(t.Status)]++
	}
	return r
}

func (r ran) String() string {
	var parts []string
	for _, st := range blackboard.Statuses {
		if n := r.Counts[string(st)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	return fmt.Sprintf("goal %s: %s after %s", r.Status, cmp.Or(strings.Join(parts, ", "), "no tasks"), r.Time)
}

// errTimeout is the cause with which --timeout ends a run.
var errTimeout = errors.New("the time given with --timeout is over")
