package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/wall"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// planFor is what the wall of a run of a program would be made of now.
func (e *Environment) PlanFor(ctx context.Context, d *verb.Service, u wall.Use) (wall.Plan, error) {
	cfg := d.Board.Config()
	if u.Program == "" { // a check has no program's needs
		return e.Walls(d, nil).Plan(ctx, u, nil)
	}
	liza, err := e.Liza()
	if err != nil {
		return wall.Plan{}, err
	}
	a, err := agent.Lookup(u.Program, agent.Options{Custom: Programs(cfg), Root: d.Board.Project.Root, Liza: liza, Scenario: "scenario.yaml"})
	if err != nil {
		return wall.Plan{}, board.WrongUsage("liza sandbox explain "+cfg.Agents.Default, "%v", err)
	}
	command, err := a.Command(agent.Spec{PromptFile: "prompt"})
	if err != nil {
		return wall.Plan{}, err
	}
	return e.Walls(d, func(string) (agent.Needs, error) { return a.Info().Needs, nil }).Plan(ctx, u, command.Argv)
}

// missing is what the person's settings of a program name and its runs do not get.
func (e *Environment) Missing(ctx context.Context, d *verb.Service, program string) ([]wall.Missing, error) {
	return e.Walls(d, func(name string) (agent.Needs, error) {
		a, err := agent.Lookup(name, agent.Options{Custom: Programs(d.Board.Config()), Root: d.Board.Project.Root, Scenario: "scenario.yaml"})
		if err != nil {
			return agent.Needs{}, err
		}
		return a.Info().Needs, nil
	}).Missing(ctx, program)
}

// newWalls makes what contains runs and commands of the project.
func (e *Environment) Walls(d *verb.Service, program func(name string) (agent.Needs, error)) *wall.Maker {
	liza, _ := e.Liza() // without it nothing is started
	return &wall.Maker{Project: d.Board.Project, Config: d.Board.Config, Environ: e.Environ, Home: e.homeFolder(), Base: e.BrokerBase(), Liza: liza, Spawn: e.spawned, Facts: sandbox.Detect, Program: program,
		Tracked: func(ctx context.Context) []string { return trackedAtTop(ctx, d) }, Merged: func(ctx context.Context) []string { return merged(ctx, d) },
		Template: d.Checks.Template, GitHome: func(ctx context.Context) wall.GitHome { return gitHome(ctx, d) }}
}

// gitHome is git's configuration for private home folders.
func gitHome(ctx context.Context, d *verb.Service) (g wall.GitHome) {
	if d.Board.Repo != nil {
		g.Home, g.Project, _ = d.Board.Repo.HomeConfig(ctx, wall.GitProject) // a run without it commits under its own name
	}
	return g
}

// enclose contains the commands of the project that run what agents wrote: setup, checks, hooks, exec tasks and skills.
func (e *Environment) enclose(d *verb.Service) review.Enclose {
	walls := sync.OnceValue(func() *wall.Maker { return e.Walls(d, nil) })
	return func(ctx context.Context, c *review.Command) (done func(), err error) {
		r := wall.Use{Name: "job+" + cmp.Or(c.Name, filepath.Base(c.Dir)), Dir: c.Dir, Write: !c.ReadOnly, Git: c.Git, Read: c.Reads, Also: c.Writes, Look: c.Output != nil,
			Services: c.Services != "", Fills: c.Fills, Data: c.Data, DataOf: c.DataOf, Printed: func(service string, end []byte) { d.Board.KeepPrinted(c.Services, service, "a command", end) }}
		for _, pair := range c.Env { // of an exec task or a skill: exactly what it may see
			name, _, _ := strings.Cut(pair, "=")
			r.Env = append(r.Env, name)
		}
		var refused refusals
		r.Refused = func(x proxy.Refusal) {
			refused.add(review.Refused{What: fmt.Sprintf("could not reach %s: %s", x.Host, x.Why), Next: x.Next})
		}
		c.Refused = refused.all
		w, err := walls().Open(ctx, r)
		if err != nil {
			return nil, err
		}
		if c.ReadOnly && w.Spec.Level != sandbox.Closed && w.Spec.Level != sandbox.Partial {
			return nil, errors.Join(review.ErrUncontained, w.Close())
		}
		free, err := slot(ctx, d.Board, c) // after what the data of a service needs: that waits for slots of its own
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		c.Reaper, c.Spawn = e.Reaper()
		c.Project, c.Also = d.Board.Project.Root, w.Variables()
		if w.Starts() {
			c.Contain, c.Watch = w.Contain, w.WatchDisk
		}
		return func() {
			_ = w.Close() // what is left is removed with the next one
			free()
		}, nil
	}
}

// slot waits until the machine has room for a command of the project: worktree.setup, a check or a hook. Git's helper and the tasks of
// people take none.
func slot(ctx context.Context, b *board.Session, c *review.Command) (free func(), err error) {
	if c.Output != nil || c.Env != nil {
		return func() {}, nil
	}
	name, n := strings.TrimPrefix(strings.TrimPrefix(filepath.Base(c.Dir), ".review-"), ".check-"), cmp.Or(b.Config().Limits.Heavy, runtime.NumCPU())
	unlock, err := safefile.TakeSlot(ctx, b.Project.Slots(), n, safefile.Holder{PID: os.Getpid(), Host: b.Facts().Host, Agent: name, Op: "command"}, func(taken []safefile.Holder) {
		var by []string
		for _, h := range taken {
			by = append(by, h.Agent)
		}
		b.Progressf("%s: waits for a slot: %d of %d taken by %s", name, len(taken), n, strings.Join(by, ", "))
	})
	return func() { _ = unlock() }, err
}

// refusals are collected by one goroutine and read by another.
type refusals struct {
	mu   sync.Mutex
	list []review.Refused
}

func (r *refusals) add(one review.Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

func (r *refusals) all() []review.Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// trackedAtTop are the files and folders at the top of the main checkout that its commit has.
func trackedAtTop(ctx context.Context, d *verb.Service) (names []string) {
	if d.Board.Repo == nil {
		return nil
	}
	at, err := d.Board.Repo.Head(ctx)
	if err != nil {
		return nil // nothing is shown rather than all of it
	}
	files, err := d.Board.Repo.Files(ctx, at.Commit)
	if err != nil {
		return nil
	}
	for _, f := range files {
		name, _, _ := strings.Cut(f.Path, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// merged are the files of the integration branch; none while there is no branch that can be read.
func merged(ctx context.Context, d *verb.Service) (files []string) {
	if d.Board.Repo == nil {
		return nil
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil
	}
	tip, err := d.Integration.TipOf(ctx, s)
	if err != nil || tip == "" {
		return nil
	}
	list, _ := d.Board.Repo.Files(ctx, tip)
	for _, f := range list {
		files = append(files, f.Path)
	}
	return files
}

// brokerBase is where the folders of runs are made.
func (e *Environment) BrokerBase() string { return broker.Base(e.Get("XDG_RUNTIME_DIR")) }

// removeLeft removes what killed supervisors have left of their runs: the folders of their sockets, and private folders.
func (e *Environment) removeLeft(tmp string) {
	err := wall.RemoveLeft(tmp)
	for _, base := range slices.Compact([]string{e.BrokerBase(), broker.Base("")}) {
		err = errors.Join(err, broker.RemoveStale(base))
	}
	if err != nil {
		e.Log().Warn("cannot remove what killed runs have left: " + err.Error())
	}
}
