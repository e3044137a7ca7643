package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/code/seed"
	"liza/pkg/run/agent"
	"liza/pkg/team/findings"
)

// git looks at the git command and whether it accepts the repository.
func (x *Doctor) git(ctx context.Context, p *project.Project) {
	version := git.Version(ctx)
	_, err := git.Open(ctx, p.Root)
	switch {
	case errors.Is(err, git.ErrVersion) && version == "":
		x.Add("git", findings.Error, "git", "install git 2.38 or newer", "", "the git command is not found; reading commands work without it, nothing else does")
	case errors.Is(err, git.ErrVersion):
		x.Add("git", findings.Error, "git", "git --version", "git "+version, "git 2.38 or newer is needed, for merges without a checkout")
	case err != nil && (x.Project != nil || !errors.Is(err, git.ErrNoRepository)):
		x.Add("git", findings.Error, "repository", "git status", "git "+version, "git refuses the repository: %v", err)
	default:
		x.Add("git", findings.OK, "git", "", "", "version %s", version)
	}
}

// journal compares the log with the state, and looks for entries that were put aside.
func (x *Doctor) journal(ctx context.Context, p *project.Project) {
	if x.State != nil {
		if in := BoardOf(x.Service); in != nil {
			problems, err := in.journalProblems(ctx, x.State.Revision)
			if err != nil {
				x.Add("journal", findings.Error, "log.yaml", "ls -l .liza/log.yaml", "", "%v", err)
			}
			for _, v := range problems {
				severity, next := findings.Error, "liza validate"
				switch {
				case v.Severity == blackboard.SeverityWarning:
					severity = findings.Warning
				case v.Rule == RuleJournal:
					next = NextSeal
				case v.Fixable:
					severity, next = findings.Info, "liza validate --fix"
				}
				x.Add("journal", severity, v.Subjects[0], next, fmt.Sprintf("line %d", v.Line), "%s", v.Message)
			}
			if err == nil && len(problems) == 0 {
				x.Add("journal", findings.OK, "log.yaml", "", "", "agrees with revision %d", x.State.Revision)
			}
		}
	}
	aside, _ := filepath.Glob(filepath.Join(p.Liza, "log.ahead-*.yaml"))
	for _, path := range aside {
		x.Add("journal", findings.Warning, filepath.Base(path), "liza restore", "", "an old state was put over a newer one; these entries of the newer one were kept aside")
	}
}

// lockWait is how long a lock may be held by one process before that is worth a word.
const lockWait = 5 * time.Second

// locks says who holds the locks now.
func (x *Doctor) locks(_ context.Context, p *project.Project) {
	for _, path := range []string{p.Lock(), p.MergeLock(), p.GitLock(), p.AlertsLock()} {
		name := filepath.Base(path)
		holder, held := safefile.CurrentHolder(path)
		if !held {
			x.Add("lock", findings.OK, name, "", "", "free")
			continue
		}
		severity, age := findings.Info, x.Now().Sub(holder.Since).Round(time.Second)
		if path == p.Lock() && !holder.Since.IsZero() && age > lockWait {
			severity = findings.Warning
		}
		evidence := ""
		if !holder.Since.IsZero() {
			evidence = "for " + age.String()
		}
		x.Add("lock", severity, name, "liza watch --once", evidence, "held by %s", holder)
	}
}

// snapshots looks at the copies of former states.
func (x *Doctor) snapshots(ctx context.Context, _ *project.Project) {
	if x.Service == nil {
		return
	}
	list, err := Snapshots(ctx, x.Service, false)
	switch {
	case err != nil:
		x.Add("snapshots", findings.Warning, "snapshots", "liza restore", "", "%v", err)
	case len(list) == 0 && x.State != nil && x.State.Revision > 1:
		x.Add("snapshots", findings.Warning, "snapshots", "liza tell planner TEXT", "", "there is none; the next write makes one")
	case len(list) > 0:
		x.Add("snapshots", findings.OK, "snapshots", "", "", "%d, the newest is revision %d of %s", len(list), list[0].Revision, blackboard.TimeOf(list[0].At))
	}
}

// disk looks at free space and at the kind of the file systems.
func (x *Doctor) disk(_ context.Context, p *project.Project) {
	need := 0
	if x.Service != nil {
		need = x.Service.Board.Config().Policy.MinFreeMB
	}
	for _, at := range []struct{ name, path string }{{"project", p.Root}, {".liza", p.Liza}, {"git dir", p.GitDir}} {
		free, known := project.FreeMB(at.path)
		switch {
		case !known:
			x.Add("disk", findings.Info, at.name, "", "", "the free space is not known")
		case free < need:
			x.Add("disk", findings.Error, at.name, "df -h "+at.path, "", "%s", findings.DiskLow(free, need))
		case free < 2*need:
			x.Add("disk", findings.Warning, at.name, "df -h "+at.path, fmt.Sprintf("%d MB free", free), "nearly full: at %d MB nothing new is started (policy.min_free_mb)", need)
		case at.path == p.Root:
			x.Add("disk", findings.OK, at.name, "", "", "%d MB free, %d needed", free, need)
		}
		if system, known := project.FileSystemOf(at.path); known && system.Network {
			x.Add("file system", findings.Warning, at.name, "", system.Name,
				"a network file system: changes of other machines are seen by polling only, and its locks are only as good as its server's")
		}
	}
}

// services looks for the programs of the project's services.
func (x *Doctor) services(ctx context.Context, _ *project.Project) {
	if x.Service == nil || x.State == nil || x.Service.Board.Repo == nil {
		return
	}
	tip, err := x.Service.Integration.TipOf(ctx, x.State)
	if err != nil || tip == "" {
		return // another finding says so
	}
	all := x.Service.Board.Config().Services
	for _, name := range slices.Sorted(maps.Keys(all)) {
		program, next := "", ""
		for _, argv := range [][]string{all[name].Init, all[name].Command, all[name].Ready} {
			if next == "" && len(argv) > 0 {
				program, next = argv[0], x.missing(ctx, tip, argv[0])
			}
		}
		switch {
		case next == "":
			x.Add("services", findings.OK, name, "", "", "its programs are there")
		case next == nextSync:
			x.Add("services", findings.Error, name, next, fmt.Sprintf("%.9s", tip), "its program %s is not on the integration branch, so no claim succeeds", program)
		default:
			x.Add("services", findings.Error, name, next, "", "its program %s is not on this machine, so no claim succeeds", program)
		}
	}
}

const nextSync = "commit it, then: liza sync"

// missing says what helps where the program of a service is not there: in the integration branch if its name has a slash, else on PATH.
func (x *Doctor) missing(ctx context.Context, tip, program string) (next string) {
	if filepath.IsAbs(program) || !strings.Contains(program, "/") {
		if _, err := exec.LookPath(program); err != nil {
			return "install " + filepath.Base(program) + ", or change services in .liza/config.yaml"
		}
		return ""
	}
	if _, err := x.Service.Board.Repo.ReadFile(ctx, tip, filepath.ToSlash(filepath.Clean(program))); errors.Is(err, git.ErrNotFound) {
		return nextSync
	}
	return ""
}

// seeds says how new worktrees get what setup makes, and what that costs.
func (x *Doctor) seeds(_ context.Context, p *project.Project) {
	if x.Service == nil || len(x.Service.Board.Config().Worktree.Setup) == 0 {
		return
	}
	if x.Service.Board.Config().Worktree.Seed.MaxGB == 0 {
		x.Add("seeds", findings.Info, "worktrees", "", "worktree.seed.max_gb is 0", "worktree.setup runs in each new worktree")
		return
	}
	if !x.Service.Checks.KeyNamed() && !seed.Installs(x.Service.Board.Config().Worktree.Setup) {
		x.Add("seeds", findings.Info, "worktrees", "", "setup does more than to install what lock files pin", "worktree.setup runs in each new worktree; name the files that decide what it makes in worktree.seed.key, and it runs once")
		return
	}
	list, _ := x.Service.Checks.Seeds().List()
	size := "none is made yet"
	if len(list) > 0 && list[0].None != "" {
		size = "the last time " + list[0].None
	} else if len(list) > 0 {
		size = fmt.Sprintf("the last one has %s, %s", prose.Count(int(list[0].Files), "file"), safefile.Size(list[0].Bytes))
	}
	if safefile.Reflinks(p.Liza) {
		x.Add("seeds", findings.OK, "worktrees", "", size, "new worktrees get what setup makes by reflink: its blocks take no space until they are written")
		return
	}
	x.Add("seeds", findings.OK, "worktrees", "", size, "new worktrees get what setup makes by copy: each takes its size; on btrfs or XFS they would share it")
}

// clock compares what the files say about now with the clock of this machine.
func (x *Doctor) clock(_ context.Context, p *project.Project) {
	now, ahead := x.Now(), false
	say := func(subject, evidence string, at time.Time) {
		if by := at.Sub(now); by > 30*time.Second {
			ahead = true
			x.Add("clock", findings.Warning, subject, "date", evidence, "it is %s ahead of this machine's clock: that jumped, or another machine's is wrong", by.Round(time.Second))
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
		x.Add("clock", findings.OK, "clock", "", "", "nothing comes from the future")
	}
}

// control tells of control files, which stop a team.
func (x *Doctor) control(_ context.Context, p *project.Project) {
	for _, o := range p.Controls().Orders() {
		x.Add("control", findings.Info, string(o.Control), "liza resume", "", "%s", o)
	}
}

// programs looks for the agent programs that the configuration names, and asks them for
// their version. None is asked to do anything.
func (x *Doctor) programs(ctx context.Context, _ *project.Project) {
	cfg, options := x.Config, agent.Options{Custom: x.Programs}
	if x.Service != nil {
		cfg, options.Root = x.Service.Board.Config(), x.Service.Board.Project.Root
	}
	if cfg == nil {
		return
	}
	wanted := map[string]string{cmp.Or(x.CLI, cfg.Agents.Default): findings.Error}
	if x.CLI == "" && !cfg.IsSet("agents.default") {
		wanted[cfg.Agents.Default] = findings.Warning // --cli may name another one
	}
	add := func(name string) {
		if _, known := wanted[name]; !known && name != "" {
			wanted[name] = findings.Warning
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
		for _, name := range append(model.Ladder, model.Name) {
			if prefix, _, ok := strings.Cut(name, ":"); ok {
				if _, err := agent.Lookup(prefix, options); err == nil {
					add(prefix)
				}
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
func (x *Doctor) program(ctx context.Context, name string, options agent.Options, severity string) {
	a, err := agent.Lookup(name, options)
	if err != nil {
		x.Add("agent", cmp.Or(severity, findings.Info), name, "liza help run", "", "%v", err)
		return
	}
	if severity == "" {
		if path, err := exec.LookPath(a.Info().Binary); err == nil {
			x.Add("agent", findings.Info, name, "", path, "installed as well; liza run --cli %s would use it", name)
		}
		return
	}
	if _, err := exec.LookPath(a.Info().Binary); err == nil {
		x.Say("looking at " + name) // it may take seconds
	}
	var ask agent.Ask
	if x.Service != nil {
		ask = x.Service.Board.Ask
	}
	found, err := agent.Probe(ctx, a, ask)
	switch {
	case found.Path == "":
		x.Add("agent", severity, name, "liza run --cli NAME, with a program that is installed", a.Info().Binary, "the program is not found on PATH")
	case err != nil:
		x.Add("agent", findings.Warning, name, a.Info().Binary+" --version", found.Path, "%v", err)
	case len(found.Missing) > 0:
		x.Add("agent", findings.Warning, name, "liza output TASK, after a run with it", strings.TrimSpace(found.Path+" "+found.Version),
			"its help does not name %s, which Liza relies on: it may be too old or too new", strings.Join(found.Missing, ", "))
	default:
		x.Add("agent", findings.OK, name, "", found.Path, "%s", cmp.Or(found.Version, "installed; it does not tell its version"))
	}
}

// processes looks for programs of this project that run without a supervisor and that the
// board does not know: their supervisor was killed before it could write them down, or they
// have no entry of their own.
func (x *Doctor) processes(_ context.Context, p *project.Project) {
	if x.State == nil {
		return
	}
	supervisors := map[int]int64{}
	known := map[int]bool{}
	for _, e := range x.State.Agents {
		supervisors[e.PID] = e.PIDStart
		if e.Child != nil {
			known[e.Child.PID] = true
		}
	}
	for _, role := range []string{"planner", "coder", "code_reviewer", "messenger", "summarizer"} {
		found, err := agent.Marked(map[string]string{"LIZA_ROOT": p.Root, "LIZA_ROLE": role})
		if err != nil {
			x.Add("process", findings.Info, "processes", "", "", "cannot be looked at: %v", err)
			return
		}
		for _, one := range found {
			if known[one.Pid] || one.Pid == os.Getpid() || one.Pid != one.Pgid || supervised(one, supervisors, known) {
				continue
			}
			x.Add("process", findings.Warning, fmt.Sprint("pid ", one.Pid), "liza run", "LIZA_ROLE="+role,
				"a program of a %s of this project runs without a supervisor, and the board does not know it; it is stopped when its work is taken over", role)
		}
	}
}

// supervised reports whether a process descends from a supervisor, or from a program that
// the board knows.
func supervised(p agent.Process, supervisors map[int]int64, known map[int]bool) bool {
	return slices.ContainsFunc(agent.Ancestors(p.Pid), func(a agent.Process) bool {
		start, ok := supervisors[a.Pid]
		return known[a.Pid] || ok && start == a.Start
	})
}

// refusedCommits names the way out of tasks whose runs have committed what cannot be taken over, for example an object
// under a name that is not its own. What was handed in since then is another commit.
func (x *Doctor) refusedCommits(_ context.Context, p *project.Project) {
	if x.State == nil {
		return
	}
	refused, err := (history.Journal{Path: p.Journal()}).Read(history.Filter{Action: blackboard.ActionCommitsRefused, Last: 100})
	if err != nil {
		return // told with the journal
	}
	last := map[string]blackboard.Entry{}
	for _, e := range refused {
		last[e.Task] = e
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		t, e := x.State.Task(id), last[id]
		if t == nil || t.Status.Terminal() || t.ReviewCommit != "" {
			continue
		}
		next := "liza abandon " + id + " --reason TEXT"
		if t.Status == blackboard.Claimed {
			next = "liza retry " + id + " --force --reason TEXT"
		}
		x.Add("git", findings.Warning, id, next, string(e.Timestamp), "%s; its files are in the worktree, and the branch is where it was", e.Detail)
	}
}
