package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/run/agent"
	"liza/pkg/team/findings"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
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
		return e.serviceOn(e.inside.service.Session), nil
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
		at, err := s.View(ctx)
		if err != nil && isShared(s) {
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
		repo.OnLockRemoved, repo.Mask = e.lockRemoved(p), e.secrets().Mask
		repo.MaxTaken = int64(cfg.get().Sandbox.Limits.DiskMB) << 20
		repo.RemoteTimeout = cfg.get().Git.RemoteTimeout
		repo.Sign = cfg.get().Git.Sign
		repo.Filters = cfg.get().Git.Filters // as they were at the start: an agent may change the file
	}
	if err := cfg.follow(at, tolerant); err != nil {
		return nil, err
	}
	if isShared(s) && at != nil {
		machine, _ := os.Hostname()
		if e.host, err = verb.HostName(at, p.GitDir, e.Get("LIZA_HOST"), machine); err != nil {
			return nil, err
		}
	}
	return e.serviceOn(&board.Session{Project: p, Store: s, Repo: repo, Config: cfg.get, TaskArchive: taskArchive, Home: e.Get("HOME"), Secrets: e.secrets(), Held: e.held()}), nil
}

// serviceOn is the service of this command on a project that is open.
func (e *Env) serviceOn(open *board.Session) *verb.Service {
	p := open.Project
	d := verb.New(&board.Session{Project: p, Store: open.Store, Repo: open.Repo, Config: open.Config, TaskArchive: open.TaskArchive, Home: open.Home, Secrets: open.Secrets, Held: open.Held,
		Caller: e.caller(), Run: func() string { return e.Get("LIZA_RUN") }, Proc: e.processes(p.Tmp()), Now: clock(open.Store, e.Now), Random: rand.Reader, NoSpecFiles: e.skipsSpecFiles(),
		Progress: func(text string) { e.Log().Info(text) }, Unsaved: e.unsaved, Notice: func(kind blackboard.AlertKind, subject, text string) { e.report(p, kind, subject, text) }})
	d.Version = version
	if open.Proc.Host != "" {
		d.Proc.Host = open.Proc.Host
	}
	d.Enclose = e.enclose(d)
	if d.Repo != nil && d.Repo.Contain == nil {
		d.Repo.Contain = d.Help
	}
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

// source reads the project for a view that goes on, in the words of a vocabulary.
func (e *Env) source(d *verb.Service, view string) *source.Source {
	return &source.Source{Service: d, Facts: func(s *blackboard.State) dashboard.Facts {
		f := e.viewFacts(d, s, view)
		f.GaveUp = e.gaveUp(d)
		return f
	}}
}

// recentEntries is how far back in the journal a status looks for supervisors that gave up.
const recentEntries = 1000

// gaveUp are the supervisors that ended by themselves lately and have not come back.
func (e *Env) gaveUp(d *verb.Service) []findings.GaveUp {
	entries, err := (history.Journal{Path: d.Project.Journal()}).Read(history.Filter{Last: recentEntries})
	if err != nil {
		return nil // liza validate says what is wrong with the journal
	}
	return findings.GaveUps(entries)
}

// viewFacts is what a view shows besides the state.
func (e *Env) viewFacts(d *verb.Service, s *blackboard.State, view string) dashboard.Facts {
	cfg := d.Config()
	f := dashboard.Facts{Now: d.Now(), Process: d.Facts(), ReviewMode: blackboard.ReviewMode(cfg.Review.Mode), HumanReview: cfg.Plan.HumanReview, Vocabulary: view, Checking: d.MergeChecks()}
	for _, o := range d.Orders(s) {
		f.Control = append(f.Control, dashboard.Control{Name: string(o.Control), Since: o.Since, Reason: o.Reason})
	}
	return f
}

// look reads the state for a command that only shows it. When the file cannot be read the
// last valid one is shown, and stale says what is wrong (specs/protocol.md#14, B01).
func (e *Env) look(ctx context.Context) (s *blackboard.State, stale error, err error) {
	_, s, stale, err = e.lookAt(ctx)
	return s, stale, err
}

func (e *Env) lookAt(ctx context.Context) (d *verb.Service, s *blackboard.State, stale error, err error) {
	d, err = e.Reader(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	s, stale, err = lastValid(ctx, d)
	return d, s, stale, err
}

// lastValid is the state, or the last valid one together with what is wrong with the file.
func lastValid(ctx context.Context, d *verb.Service) (s *blackboard.State, stale error, err error) {
	s, err = d.View(ctx)
	_, damaged := errors.AsType[*store.InvalidError](err)
	_, cutOff := errors.AsType[*postgres.UnreachableError](err)
	if !damaged && !cutOff {
		if err == nil {
			stale = store.Forged(ctx, d.Store)
		}
		return s, stale, err
	}
	kept, ok := d.Store.(store.Recoverer)
	if !ok {
		return nil, nil, err
	}
	last, lost := kept.LastValid(ctx)
	if lost != nil {
		return nil, nil, err
	}
	d.Prepare(last)
	if cutOff {
		err = fmt.Errorf("%w; %s", err, copyAge(d.Store))
	}
	return last, err, nil
}

// copyAge says how old the copy of a board in a database is.
func copyAge(s store.Store) string {
	text := "the copy of the board in .liza/state.yaml is shown"
	if c, ok := s.(interface{ Copied() (at, lost time.Time) }); ok {
		at, lost := c.Copied()
		text += ", of " + at.Local().Format("2006-01-02 15:04:05")
		if !lost.IsZero() {
			text += "; there is no connection since " + lost.Local().Format("15:04:05")
		}
	}
	return text
}

// showStale prints what a reading command found. When it comes from the last valid state,
// that is said, and the exit code is that of an invalid one.
func (e *Env) showStale(stale error, result any, body string) error {
	if stale == nil {
		return e.Print(result, "%s", body)
	}
	r := explain(stale)
	if e.JSON {
		return e.failWith(r, result)
	}
	fmt.Fprint(e.Stdout, body)
	if r.code != unreachable {
		r.message += "; the last valid state is shown"
	}
	e.tell(r)
	return &errDone{r.code}
}

// failWith prints an error together with what was found all the same.
func (e *Env) failWith(r report, result any) error {
	err := e.printJSON(map[string]any{"ok": false, "result": result,
		"error": map[string]any{"code": exitName(r.code), "message": r.message, "next": r.next}})
	if err != nil {
		return err
	}
	return &errDone{r.code}
}

// listWidth is how many characters of a text are in a list.
const listWidth = 200
