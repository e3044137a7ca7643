package cli

import (
	"context"
	"crypto/rand"
	"os"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/history"
	"liza/pkg/project"
	"liza/pkg/verb"
)

// Service opens the project for a command that may change it. Broken configuration refuses.
func (e *Env) Service(ctx context.Context) (*verb.Service, error) { return e.open(ctx, false) }

// Reader opens the project for a command that only reads: broken configuration is a
// warning, and git need not be there.
func (e *Env) Reader(ctx context.Context) (*verb.Service, error) { return e.open(ctx, true) }

// gitReader is Reader for a command that shows what git has.
func (e *Env) gitReader(ctx context.Context) (*verb.Service, error) {
	d, err := e.Reader(ctx)
	if err == nil && d.Repo == nil {
		_, err = git.Open(ctx, d.Project.Root) // says why
	}
	return d, err
}

func (e *Env) open(ctx context.Context, tolerant bool) (*verb.Service, error) {
	p, err := e.Find(ctx)
	if err != nil {
		return nil, err
	}
	return e.openAt(ctx, p, tolerant)
}

// lookPatience is how long a command that can show the copy tries to reach a database that does not answer.
const lookPatience = 300 * time.Millisecond

func (e *Env) openAt(ctx context.Context, p *project.Project, tolerant bool) (*verb.Service, error) {
	if e.inside != nil {
		return e.serviceOn(e.inside.service), nil
	}
	cfg, err := e.config(p, tolerant)
	if err != nil {
		return nil, err
	}
	p.Mask = e.secrets().Mask
	if err := e.secrets().AddFolder(p.Secrets()); err != nil {
		e.Log().Warn(err.Error())
	}
	taskArchive := &history.Archive{Dir: p.ArchiveDir()}
	patience := time.Duration(0)
	if tolerant || e.watches { // who looks is shown the copy soon
		patience = min(cfg.get().Protocol.LockTimeout, lookPatience)
	}
	s, err := e.store(p, cfg, taskArchive, patience)
	if err != nil {
		return nil, err
	}
	roomFor(p.State())
	read := make(chan *blackboard.State, 1)
	go func() { // while git starts; what is read stays with the store
		board, err := s.View(ctx)
		if err != nil && isShared(s) {
			board, _ = s.LastValid(ctx) // it has the name of this host as well
		}
		read <- board
	}()
	repo, err := git.Open(ctx, p.Root)
	board := <-read
	if err != nil && !tolerant {
		return nil, err
	}
	if repo != nil {
		repo.OnLockRemoved, repo.Mask = e.lockRemoved(p), e.secrets().Mask
		repo.MaxTaken = int64(cfg.get().Sandbox.Limits.DiskMB) << 20
		repo.RemoteTimeout = cfg.get().Git.RemoteTimeout
		repo.Sign = cfg.get().Git.Sign
		repo.Filters = cfg.get().Git.Filters // as they were at the start: an agent may change the file
	}
	if err := cfg.follow(board, tolerant); err != nil {
		return nil, err
	}
	if isShared(s) && board != nil {
		machine, _ := os.Hostname()
		if e.host, err = verb.HostName(board, p.GitDir, e.Get("LIZA_HOST"), machine); err != nil {
			return nil, err
		}
	}
	return e.serviceOn(&verb.Service{Project: p, Store: s, Repo: repo, Config: cfg.get, TaskArchive: taskArchive, Home: e.Get("HOME"), Secrets: e.secrets(), Held: e.held()}), nil
}

// serviceOn is the service of this command on a project that is open.
func (e *Env) serviceOn(open *verb.Service) *verb.Service {
	p := open.Project
	d := &verb.Service{Project: p, Store: open.Store, Repo: open.Repo, Config: open.Config, TaskArchive: open.TaskArchive, Home: open.Home, Secrets: open.Secrets, Held: open.Held,
		Caller: e.caller(), Run: func() string { return e.Get("LIZA_RUN") }, Proc: e.processes(p.Tmp()), Now: clock(open.Store, e.Now), Random: rand.Reader, NoSpecFiles: e.skipsSpecFiles(),
		Progress: func(text string) { e.Log().Info(text) }, Unsaved: e.unsaved, Notice: func(kind blackboard.AlertKind, subject, text string) { e.report(p, kind, subject, text) }}
	d.Version = version
	if open.Proc.Host != "" {
		d.Proc.Host = open.Proc.Host
	}
	d.Enclose = e.enclose(d)
	return d
}

func (e *Env) processes(tmp string) verb.Processes {
	host := e.host
	if host == "" {
		host, _ = os.Hostname()
	}
	return verb.Processes{Host: host, BootID: agent.BootID(), Load: load,
		Running: func(pid int, start int64) (bool, bool) { return agent.Alive(pid, start), true },
		Ancestors: func() []verb.Ancestor {
			if e.ancestors == nil {
				return nil
			}
			return e.ancestors()
		},
		StopOrphan: func(ctx context.Context, id string, c blackboard.Child, grace time.Duration) error {
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
