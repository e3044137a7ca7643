package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/history"
	"liza/pkg/project"
	"liza/pkg/safefile"
	"liza/pkg/store"
	"liza/pkg/upkeep"
)

// git looks at the git command and whether it accepts the repository.
func (x *doctor) git(ctx context.Context, p *project.Project) {
	version := git.Version(ctx)
	_, err := git.Open(ctx, p.Root)
	switch {
	case errors.Is(err, git.ErrVersion) && version == "":
		x.add("git", upkeep.SeverityError, "git", "install git 2.38 or newer", "", "the git command is not found; reading commands work without it, nothing else does")
	case errors.Is(err, git.ErrVersion):
		x.add("git", upkeep.SeverityError, "git", "git --version", "git "+version, "git 2.38 or newer is needed, for merges without a checkout")
	case err != nil:
		x.add("git", upkeep.SeverityError, "repository", "git status", "git "+version, "git refuses the repository: %v", err)
	default:
		x.add("git", upkeep.SeverityOK, "git", "", "", "version %s", version)
	}
}

// journal compares the log with the state, and looks for entries that were put aside.
func (x *doctor) journal(ctx context.Context, p *project.Project) {
	if x.state != nil {
		if file, ok := x.desk.Store.(*store.File); ok {
			in := &place{store: file}
			problems, err := in.journalProblems(ctx, x.state.Revision)
			if err != nil {
				x.add("journal", upkeep.SeverityError, "log.yaml", "ls -l .liza/log.yaml", "", "%v", err)
			}
			for _, v := range problems {
				severity, next := upkeep.SeverityError, "liza validate"
				switch {
				case v.Severity == blackboard.SeverityWarning:
					severity = upkeep.SeverityWarning
				case v.Rule == ruleJournal:
					next = nextSeal
				case v.Fixable:
					severity, next = upkeep.SeverityInfo, "liza validate --fix"
				}
				x.add("journal", severity, v.Subjects[0], next, fmt.Sprintf("line %d", v.Line), "%s", v.Message)
			}
			if err == nil && len(problems) == 0 {
				x.add("journal", upkeep.SeverityOK, "log.yaml", "", "", "agrees with revision %d", x.state.Revision)
			}
		}
	}
	aside, _ := filepath.Glob(filepath.Join(p.Liza, "log.ahead-*.yaml"))
	for _, path := range aside {
		x.add("journal", upkeep.SeverityWarning, filepath.Base(path), "liza restore --list", "", "an old state was put over a newer one; these entries of the newer one were kept aside")
	}
}

// lockWait is how long a lock may be held by one process before that is worth a word.
const lockWait = 5 * time.Second

// locks says who holds the locks now.
func (x *doctor) locks(_ context.Context, p *project.Project) {
	for _, path := range []string{p.Lock(), p.MergeLock(), p.GitLock(), p.AlertsLock()} {
		name := filepath.Base(path)
		holder, held := safefile.CurrentHolder(path)
		if !held {
			x.add("lock", upkeep.SeverityOK, name, "", "", "free")
			continue
		}
		severity, age := upkeep.SeverityInfo, x.env.Now().Sub(holder.Since).Round(time.Second)
		if path == p.Lock() && !holder.Since.IsZero() && age > lockWait {
			severity = upkeep.SeverityWarning
		}
		evidence := ""
		if !holder.Since.IsZero() {
			evidence = "for " + age.String()
		}
		x.add("lock", severity, name, "liza watch --once", evidence, "held by %s", holder)
	}
}

// snapshots looks at the copies of former states.
func (x *doctor) snapshots(context.Context, *project.Project) {
	if x.desk == nil {
		return
	}
	list, err := upkeep.Snapshots(x.desk, false)
	switch {
	case err != nil:
		x.add("snapshots", upkeep.SeverityWarning, "snapshots", "liza restore --list", "", "%v", err)
	case len(list) == 0 && x.state != nil && x.state.Revision > 1:
		x.add("snapshots", upkeep.SeverityWarning, "snapshots", "liza note TEXT", "", "there is none; the next write makes one")
	case len(list) > 0:
		x.add("snapshots", upkeep.SeverityOK, "snapshots", "", "", "%d, the newest is revision %d of %s", len(list), list[0].Revision, blackboard.TimeOf(list[0].At))
	}
}

// disk looks at free space and at the kind of the file systems.
func (x *doctor) disk(_ context.Context, p *project.Project) {
	need := 0
	if x.desk != nil {
		need = x.desk.Config().Policy.MinFreeMB
	}
	for _, at := range []struct{ name, path string }{{"project", p.Root}, {".liza", p.Liza}, {"git dir", p.GitDir}} {
		free, known := project.FreeMB(at.path)
		switch {
		case !known:
			x.add("disk", upkeep.SeverityInfo, at.name, "", "", "the free space is not known")
		case free < need:
			x.add("disk", upkeep.SeverityError, at.name, "df -h "+at.path, fmt.Sprintf("%d MB free", free), "%d MB are needed (policy.min_free_mb): no program and no worktree is started", need)
		case free < 2*need:
			x.add("disk", upkeep.SeverityWarning, at.name, "df -h "+at.path, fmt.Sprintf("%d MB free", free), "nearly full: at %d MB nothing new is started (policy.min_free_mb)", need)
		case at.path == p.Root:
			x.add("disk", upkeep.SeverityOK, at.name, "", "", "%d MB free, %d needed", free, need)
		}
		if system, known := project.FileSystemOf(at.path); known && system.Network {
			x.add("file system", upkeep.SeverityWarning, at.name, "", system.Name,
				"a network file system: changes of other machines are seen by polling only, and its locks are only as good as its server's")
		}
	}
}

// clock compares what the files say about now with the clock of this machine.
func (x *doctor) clock(_ context.Context, p *project.Project) {
	now, ahead := x.env.Now(), false
	say := func(subject, evidence string, at time.Time) {
		if by := at.Sub(now); by > 30*time.Second {
			ahead = true
			x.add("clock", upkeep.SeverityWarning, subject, "date", evidence, "it is %s ahead of this machine's clock: that jumped, or another machine's is wrong", by.Round(time.Second))
		}
	}
	if info, err := os.Stat(p.State()); err == nil {
		say("state.yaml", "last change", info.ModTime())
	}
	if last, err := (history.Journal{Path: p.Journal()}).Read(history.Filter{Last: 1}); err == nil && len(last) == 1 {
		if at, ok := last[0].Timestamp.At(); ok {
			say("log.yaml", "last entry", at)
		}
	}
	if !ahead {
		x.add("clock", upkeep.SeverityOK, "clock", "", "", "nothing comes from the future")
	}
}

// control tells of control files, which stop a team.
func (x *doctor) control(_ context.Context, p *project.Project) {
	for _, o := range p.Orders() {
		x.add("control", upkeep.SeverityInfo, string(o.Control), "liza resume", "", "%s", o)
	}
}

// programs looks for the agent programs that the configuration names, and asks them for
// their version. None is asked to do anything.
func (x *doctor) programs(ctx context.Context, _ *project.Project) {
	if x.desk == nil {
		return
	}
	cfg := x.desk.Config()
	options := agent.Options{Custom: programs(cfg), Root: x.desk.Project.Root}
	wanted := map[string]string{cfg.Agents.Default: upkeep.SeverityError}
	if !cfg.IsSet("agents.default") {
		wanted[cfg.Agents.Default] = upkeep.SeverityWarning // --cli may name another one
	}
	add := func(name string) {
		if _, known := wanted[name]; !known && name != "" {
			wanted[name] = upkeep.SeverityWarning
		}
	}
	for name := range cfg.Agents.Custom {
		add(name)
	}
	for _, name := range cfg.Agents.Fallback.All {
		add(name)
	}
	for _, names := range cfg.Agents.Fallback.ByRole {
		for _, name := range names {
			add(name)
		}
	}
	for _, model := range cfg.Models {
		if prefix, _, ok := strings.Cut(model, ":"); ok {
			if _, err := agent.Lookup(prefix, options); err == nil {
				add(prefix)
			}
		}
	}
	names := agent.Names()
	for name := range wanted {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "scripted" {
			x.program(ctx, name, options, wanted[name])
		}
	}
}

// program looks for one agent program. severity is that of its absence, "" for one that the
// configuration does not name: that is only told when it is there.
func (x *doctor) program(ctx context.Context, name string, options agent.Options, severity string) {
	a, err := agent.Lookup(name, options)
	if err != nil {
		x.add("agent", cmp.Or(severity, upkeep.SeverityInfo), name, "liza help run", "", "%v", err)
		return
	}
	if severity == "" {
		if path, err := exec.LookPath(a.Info().Binary); err == nil {
			x.add("agent", upkeep.SeverityInfo, name, "", path, "installed as well; liza run --cli %s would use it", name)
		}
		return
	}
	if _, err := exec.LookPath(a.Info().Binary); err == nil {
		x.env.Log().Info("looking at " + name) // it may take seconds
	}
	found, err := agent.Probe(ctx, a)
	switch {
	case found.Path == "":
		x.add("agent", severity, name, "liza run --cli NAME, with a program that is installed", a.Info().Binary, "the program is not found on PATH")
	case err != nil:
		x.add("agent", upkeep.SeverityWarning, name, a.Info().Binary+" --version", found.Path, "%v", err)
	case len(found.Missing) > 0:
		x.add("agent", upkeep.SeverityWarning, name, "liza explain FILE, with an output of it", strings.TrimSpace(found.Path+" "+found.Version),
			"its help does not name %s, which Liza relies on: it may be too old or too new", strings.Join(found.Missing, ", "))
	default:
		x.add("agent", upkeep.SeverityOK, name, "", found.Path, "%s", cmp.Or(found.Version, "installed; it does not tell its version"))
	}
}

// processes looks for programs of this project that run without a supervisor and that the
// board does not know: their supervisor was killed before it could write them down, or they
// have no entry of their own.
func (x *doctor) processes(_ context.Context, p *project.Project) {
	if x.state == nil {
		return
	}
	supervisors := map[int]int64{}
	known := map[int]bool{}
	for _, e := range x.state.Agents {
		supervisors[e.PID] = e.PIDStart
		if e.Child != nil {
			known[e.Child.PID] = true
		}
	}
	for _, role := range []string{"planner", "coder", "code_reviewer", "messenger", "summarizer"} {
		found, err := agent.Marked(map[string]string{"LIZA_ROOT": p.Root, "LIZA_ROLE": role})
		if err != nil {
			x.add("process", upkeep.SeverityInfo, "processes", "", "", "cannot be looked at: %v", err)
			return
		}
		for _, one := range found {
			if known[one.Pid] || one.Pid == os.Getpid() || one.Pid != one.Pgid || supervised(one, supervisors, known) {
				continue
			}
			x.add("process", upkeep.SeverityWarning, fmt.Sprint("pid ", one.Pid), "liza run", "LIZA_ROLE="+role,
				"a program of a %s of this project runs without a supervisor, and the board does not know it; it is stopped when its work is taken over", role)
		}
	}
}

// supervised tells whether a process descends from a supervisor, or from a program that
// the board knows.
func supervised(p agent.Process, supervisors map[int]int64, known map[int]bool) bool {
	return slices.ContainsFunc(agent.Ancestors(p.Pid), func(a agent.Process) bool {
		start, ok := supervisors[a.Pid]
		return known[a.Pid] || ok && start == a.Start
	})
}
