package assembly

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/toolchain"
	"liza/pkg/team/findings"
	"liza/pkg/team/supervisor"
	"liza/pkg/team/wall"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

// Service opens the project for a command that may change it. Broken configuration refuses.
func (e *Environment) Service(ctx context.Context) (*verb.Service, error) { return e.open(ctx, false) }

// Reader opens the project for a command that only reads: broken configuration is a
// warning, and git need not be there.
func (e *Environment) Reader(ctx context.Context) (*verb.Service, error) { return e.open(ctx, true) }

// gitReader is Reader for a command that shows what git has.
func (e *Environment) GitReader(ctx context.Context) (*verb.Service, error) {
	d, err := e.Reader(ctx)
	if err == nil && d.Board.Repo == nil {
		_, err = git.Open(ctx, d.Board.Project.Root) // says why
	}
	return d, err
}

func (e *Environment) open(ctx context.Context, tolerant bool) (*verb.Service, error) {
	p, err := e.Find(ctx)
	if err != nil {
		return nil, err
	}
	return e.OpenAt(ctx, p, tolerant)
}

// lookPatience is how long a command that can show the copy tries to reach a database that does not answer.
const lookPatience = 300 * time.Millisecond

func (e *Environment) OpenAt(ctx context.Context, p *project.Project, tolerant bool) (*verb.Service, error) {
	if e.Within != nil {
		return e.ServiceOn(e.Within.Service.Board), nil
	}
	cfg, err := e.Config(p, tolerant)
	if err != nil {
		return nil, err
	}
	p.Mask = e.Secrets().Mask
	if err := e.Secrets().AddFolder(p.Secrets()); err != nil {
		e.Log().Warn(err.Error())
	}
	taskArchive := &history.Archive{Dir: p.ArchiveDir()}
	patience := time.Duration(0)
	if tolerant || e.Watches { // who looks is shown the copy soon
		patience = min(cfg.Get().LockTimeout(), lookPatience)
	}
	s, err := e.Store(p, cfg, taskArchive, patience)
	if err != nil {
		return nil, err
	}
	read := make(chan *blackboard.State, 1)
	go func() { // while git starts; what is read stays with the store
		at, err := s.View(ctx)
		if err != nil && IsShared(s) {
			at, _ = s.LastValid(ctx) // it has the name of this host as well
		}
		read <- at
	}()
	repo, err := git.Open(ctx, p.Root)
	at := <-read
	if err != nil && !tolerant {
		return nil, err
	}
	if repo != nil {
		repo.OnLockRemoved, repo.Mask = e.lockRemoved(p), e.Secrets().Mask
		repo.MaxTaken = int64(cfg.Get().Sandbox.Limits.DiskMB) << 20
		repo.RemoteTimeout = cfg.Get().Git.RemoteTimeout
		repo.Sign = cfg.Get().Git.Sign
		repo.Filters = cfg.Get().Git.Filters // as they were at the start: an agent may change the file
		if dir := cfg.Get().Worktree.Dir; dir != "" && !tolerant && e.Within == nil {
			if err := repo.PlaceWorktrees(ctx, config.Path(dir, e.Get("HOME"), p.Root)); err != nil {
				return nil, board.WrongUsage("liza config worktree.dir FOLDER", "%v", err)
			}
		}
	}
	if err := cfg.follow(at, tolerant); err != nil {
		return nil, err
	}
	if IsShared(s) && at != nil {
		machine, _ := os.Hostname()
		if e.host, err = board.HostName(at, p.GitDir, e.Get("LIZA_HOST"), machine); err != nil {
			return nil, err
		}
	}
	return e.ServiceOn(&board.Session{Project: p, Store: s, Repo: repo, Config: cfg.Get, TaskArchive: taskArchive, Home: e.Get("HOME"), Secrets: e.Secrets(), Held: e.held()}), nil
}

// serviceOn is the service of this command on a project that is open.
func (e *Environment) ServiceOn(open *board.Session) *verb.Service {
	p, worktrees := open.Project, worktree.Local
	if IsShared(open.Store) {
		worktrees = worktree.Hosts
	}
	d := verb.New(&board.Session{Project: p, Store: open.Store, Repo: open.Repo, Config: open.Config, TaskArchive: open.TaskArchive, Home: open.Home, Secrets: open.Secrets, Held: open.Held,
		Caller: e.Caller(), Run: func() string { return e.Get("LIZA_RUN") }, Proc: e.Processes(p.Tmp(), p.Root), Now: clock(open.Store, e.Now), Random: rand.Reader, NoSpecFiles: e.SkipsSpecFiles(),
		Progress: func(text string) { e.Log().Info(text) }, Unsaved: e.Unsaved, Notice: func(kind blackboard.AlertKind, subject, text string) { e.Report(p, kind, subject, text) }}, worktrees)
	d.Board.Version, d.Board.Zone, d.Board.At = e.Version, e.zone(), e.At
	if open.Proc.Host != "" {
		d.Board.Proc.Host = open.Proc.Host
	}
	d.Board.Proc.ClockJumped = clockJumps(e.Now, func() time.Duration { return 2 * open.Config().Heartbeat() })
	d.Board.Enclose = e.enclose(d)
	d.Board.BeginCache = func(dir string) bool { return wall.BeginCache(p, dir) }
	d.Board.Path, d.Board.ProjectSetting = e.Get("PATH"), agent.IsProjectSetting
	tools := sync.OnceValue(func() string { return toolchain.On(e.homeFolder(), e.Environ).Platform() })
	d.Board.Platform = func() string { // what setup makes names the paths that it has, which differ by level
		level, _, _ := e.Walls(d, nil).Level(context.Background(), "")
		return tools() + " " + string(level)
	}
	if d.Board.Repo != nil && d.Board.Repo.Contain == nil {
		d.Board.Repo.Contain = d.Board.Help
	}
	return d
}

func (e *Environment) Processes(tmp, root string) board.Processes {
	host := e.host
	if host == "" {
		host, _ = os.Hostname()
	}
	return board.Processes{Host: host, BootID: agent.BootID(), Load: load,
		Running: func(pid int, start int64) (bool, bool) { return agent.Alive(pid, start), true },
		Kept: func(run string) bool {
			return agent.CanKeep && run != "" && broker.Answered(supervisor.SocketOf(e.BrokerBase(), root, run))
		},
		Ancestors: func() []board.Ancestor {
			if e.Ancestors == nil {
				return nil
			}
			return e.Ancestors()
		},
		StopOrphan: func(ctx context.Context, id string, c blackboard.Child, grace time.Duration) error {
			if run, err := agent.Adopt(supervisor.SocketOf(e.BrokerBase(), root, c.RunID)); err == nil { // nobody else gets it now
				run.End(grace)
			} else if errors.Is(err, agent.ErrSettling) {
				return err
			}
			p := agent.Process{Pid: c.PID, Start: c.PIDStart, Pgid: c.PGID}
			if err := agent.StopOrphan(ctx, p, map[string]string{"LIZA_AGENT_ID": id, "LIZA_RUN": c.RunID}, grace); err != nil {
				return err
			}
			e.removeLeft(tmp)
			return nil
		},
		FreeMB: func(path string) int {
			mb, known := project.FreeMB(path)
			if known && mb == 0 {
				return 1 // full; 0 would mean "unknown"
			}
			return mb
		}}
}

// clockJumps reports whether the clock of this machine jumped less than hold ago, as this process has seen it (specs/protocol.md#6.3).
func clockJumps(now func() time.Time, hold func() time.Duration) func() bool {
	var mu sync.Mutex
	var clock findings.Clock
	began := time.Now()
	clock.Look(now(), 0, 0)
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return clock.Look(now(), time.Since(began), hold()) != 0
	}
}

// Programs are the entries that the settings of a project add to the catalogue, or change.
func Programs(cfg *config.Config) map[string]agent.Entry {
	all := map[string]agent.Entry{}
	for name, a := range cfg.Agents.Custom {
		e := agent.Entry{Command: a.Command, Prompt: a.Prompt, Output: a.Output, Answer: a.Answer, Model: a.Model, Resume: a.Resume,
			Interactive: a.Interactive, Reopen: a.Reopen, Env: a.Env, Accounts: a.Accounts}
		if slices.Contains(agent.Dialogues(), a.Prompt) { // over stdin, which stays open
			e.Prompt, e.Dialogue = "stdin", a.Prompt
		}
		all[name] = e
	}
	return all
}
