package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/run/sandbox"
)

// What lies on a small file system of its own.
const (
	smallProject = "the project"
	smallTemp    = "TMPDIR"
)

// A liveFault begins, lasts for a time between two bounds, and is over when what begin returned was called.
type liveFault struct {
	name        string
	short       bool // it has a run in `make test`
	postgres    bool
	small       string        // what is on a small file system: needs root
	inodes      bool          // which has few files instead of few bytes
	groups      bool          // the team is in control groups of its own, and its runs are contained
	endures     bool          // a process of the team must not end because of it
	least, most time.Duration // how long it lasts
	begin       func(l *live) (back func())
}

const (
	brief    = time.Second
	overLong = 9 * time.Second // longer than a lease and its grace
)

var liveFaults = []liveFault{
	{name: "supervisor killed", short: true, begin: func(l *live) func() { l.kill(); return nothing }, most: brief},
	{name: "everything killed", begin: func(l *live) func() { killMarked(l.mark()); return nothing }, most: brief},
	{name: "agents killed", endures: true, begin: func(l *live) func() { return l.setMode("crash") }, least: brief, most: 3 * brief},
	{name: "agents hang", endures: true, begin: func(l *live) func() { return l.setMode("hang") }, least: brief, most: overLong},
	{name: "agents print garbage", short: true, endures: true, begin: func(l *live) func() { return l.setMode("garbage") }, least: brief, most: 2 * brief},
	{name: "agents print half an answer", endures: true, begin: func(l *live) func() { return l.setMode("half") }, least: brief, most: 3 * brief},

	{name: "PostgreSQL refuses", short: true, postgres: true, endures: true, least: 5 * brief, most: overLong,
		begin: func(l *live) func() { l.link.set(cut); return func() { l.link.set(through) } }},
	{name: "PostgreSQL hangs", short: true, postgres: true, endures: true, least: 5 * brief, most: overLong,
		begin: func(l *live) func() { l.link.set(silent); return func() { l.link.set(through) } }},
	{name: "PostgreSQL away for a moment", postgres: true, endures: true, most: 2 * brief,
		begin: func(l *live) func() { l.link.set(cut); return func() { l.link.set(through) } }},
	{name: "PostgreSQL answers late", postgres: true, endures: true, least: brief, most: overLong,
		begin: func(l *live) func() { l.link.set(slow); return func() { l.link.set(through) } }},
	{name: "PostgreSQL knows another password", postgres: true, endures: true, least: brief, most: overLong, begin: (*live).lockOut},
	{name: "PostgreSQL is restarted", postgres: true, endures: true, least: brief, most: overLong, begin: (*live).failOver},
	{name: "PostgreSQL is read-only", short: true, postgres: true, endures: true, least: 5 * brief, most: overLong, begin: (*live).readOnly},
	{name: "PostgreSQL away for four leases", postgres: true, endures: true, least: 24 * time.Second, most: 30 * time.Second,
		begin: func(l *live) func() { l.link.set(cut); return func() { l.link.set(through) } }},

	{name: "disk of the project full", short: true, small: smallProject, least: brief, most: 4 * brief, begin: (*live).fill},
	{name: "inodes of the project used up", small: smallProject, inodes: true, least: brief, most: 4 * brief, begin: (*live).fill},
	{name: "disk of TMPDIR full", small: smallTemp, least: brief, most: 4 * brief, begin: (*live).fill},
	{name: "inodes of TMPDIR used up", small: smallTemp, inodes: true, least: brief, most: 4 * brief, begin: (*live).fill},

	{name: "file system of the project read-only", small: smallProject, least: brief, most: 4 * brief, begin: (*live).turnReadOnly},
	{name: "file system of TMPDIR read-only", small: smallTemp, least: brief, most: 4 * brief, begin: (*live).turnReadOnly},
	{name: "control groups taken away", groups: true, least: brief, most: 3 * brief, begin: (*live).takeGroups},

	{name: "clock a day forwards", short: true, endures: true, most: 3 * brief, begin: func(l *live) func() { return l.setClock(24 * time.Hour) }},
	{name: "clock a day backwards", endures: true, most: 3 * brief, begin: func(l *live) func() { return l.setClock(-24 * time.Hour) }},
	{name: "clock a day forwards, then everything killed", most: 3 * brief, begin: func(l *live) func() {
		back := l.setClock(24 * time.Hour)
		return func() { killMarked(l.mark()); back() }
	}},

	{name: "checkout moved away", short: true, least: brief, most: 3 * brief, begin: (*live).moveAway},
	{name: "git folder moved away", least: brief, most: 3 * brief, begin: (*live).moveGitAway},
	{name: "locks of a killed git", short: true, endures: true, least: brief, most: 4 * brief, begin: (*live).lockGit},
	{name: "git gc, repack and maintenance beside", endures: true, least: 2 * brief, most: 5 * brief, begin: (*live).tidy},

	{name: "PATH without git for a restart", least: brief, most: 2 * brief, begin: func(l *live) func() { return l.restartWith("PATH=" + filepath.Join(l.dir, "bin")) }},
	{name: "HOME elsewhere for a restart", least: brief, most: 3 * brief, begin: func(l *live) func() {
		home := filepath.Join(l.dir, "tmp")
		return l.restartWith("HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=")
	}},
	{name: "no HOME for a restart", least: brief, most: 3 * brief, begin: func(l *live) func() {
		return l.restartWith("HOME=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=")
	}},
	{name: "program replaced by another build", short: true, endures: true, least: brief, most: 3 * brief, begin: func(l *live) func() { return l.replace(l.otherBuild) }},
	{name: "program replaced by one that knows no command", least: brief, most: 3 * brief, begin: func(l *live) func() { return l.replace(l.unableProgram) }},
	{name: "program removed", least: brief, most: 3 * brief, begin: func(l *live) func() { return l.replace(func(string) {}) }},
	{name: "a second team in a PID namespace of its own", least: 2 * brief, most: overLong, begin: (*live).secondTeam},
}

func nothing() {}

func (l *live) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// setMode is what programs of agents do meanwhile.
func (l *live) setMode(mode string) func() {
	l.check(os.WriteFile(l.mode(), []byte(mode), 0o644))
	return func() { l.check(os.Remove(l.mode())) }
}

// setClock steps the clock of all processes of Liza.
func (l *live) setClock(d time.Duration) func() {
	path := filepath.Join(l.dir, "clock")
	l.check(os.WriteFile(path+".new", []byte(d.String()), 0o644))
	l.check(os.Rename(path+".new", path))
	return func() { l.check(os.Remove(path)) }
}

// sql changes the server, past the link.
func (l *live) sql(statements ...string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, l.server.URL())
	l.check(err)
	defer conn.Close(ctx)
	for _, s := range statements {
		_, err := conn.Exec(ctx, s)
		l.check(err)
	}
}

const endOthers = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'liza' AND pid <> pg_backend_pid()"

// lockOut lets nobody in who comes over the link, and ends who is in.
func (l *live) lockOut() func() {
	hba := filepath.Join(l.server.Dir(), "data", "pg_hba.conf")
	l.check(os.WriteFile(hba, []byte("local all liza scram-sha-256\nlocal all all trust\n"), 0o644))
	l.sql("DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeper') THEN CREATE ROLE keeper SUPERUSER LOGIN; END IF; END $$", "SELECT pg_reload_conf()", endOthers)
	return func() {
		l.check(os.WriteFile(hba, []byte("local all all trust\n"), 0o644))
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, "postgres://keeper@/postgres?host="+l.server.Dir())
		l.check(err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "SELECT pg_reload_conf()")
		l.check(err)
	}
}

// failOver ends the server; afterwards there is another one on the same data.
func (l *live) failOver() func() {
	l.server.Stop([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[l.random.IntN(2)])
	return func() { l.check(l.server.Start()) }
}

func (l *live) readOnly() func() {
	l.sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()", endOthers)
	return func() {
		l.sql("SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()", endOthers)
	}
}

// mountSmall makes the small file system.
func (l *live) mountSmall() {
	l.Helper()
	l.small = filepath.Join(l.dir, "small")
	l.check(os.Mkdir(l.small, 0o777))
	size := "size=24m"
	if l.kind.inodes {
		size = "size=200m,nr_inodes=4000"
	}
	if err := syscall.Mount("tmpfs", l.small, "tmpfs", 0, size); err != nil {
		l.Skipf("NOT RUN: a file system of its own needs root: %v", err)
	}
	l.Cleanup(func() { _ = syscall.Unmount(l.small, syscall.MNT_DETACH) })
	if l.kind.small == smallProject {
		l.root = filepath.Join(l.small, "words")
	}
}

// fill leaves no room on the small file system.
func (l *live) fill() func() {
	dir := filepath.Join(l.small, "filler")
	l.check(os.Mkdir(dir, 0o755))
	if l.kind.inodes {
		for i := 0; os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644) == nil; i++ {
		}
	} else {
		f, err := os.Create(filepath.Join(dir, "file"))
		l.check(err)
		for _, size := range []int{1 << 20, 4096, 1} {
			for {
				if _, err := f.Write(make([]byte, size)); err != nil {
					break
				}
			}
		}
		_ = f.Close()
	}
	return func() { l.check(os.RemoveAll(dir)) }
}

// turnReadOnly is what a file system does after an error of its disk, until a person has mended it: a read-only mount lies over it. What is
// open for writing stays so.
func (l *live) turnReadOnly() func() {
	readOnly := filepath.Join(l.dir, "read-only")
	l.check(os.MkdirAll(readOnly, 0o755))
	unmount := func(path string) { _ = syscall.Unmount(path, syscall.MNT_DETACH) }
	l.check(syscall.Mount(l.small, readOnly, "", syscall.MS_BIND, ""))
	defer unmount(readOnly)
	l.check(syscall.Mount("", readOnly, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	l.check(syscall.Mount(readOnly, l.small, "", syscall.MS_BIND, ""))
	over := sync.OnceFunc(func() { unmount(l.small) })
	l.Cleanup(over)
	return over
}

// makeGroups makes control groups for the processes of the team.
func (l *live) makeGroups() {
	l.Helper()
	have := sandbox.Detect(l.Context())
	if have.Strongest() != sandbox.Closed || have.Cgroups.Pids == "" {
		l.Skipf("NOT RUN: this machine reaches %s, and makes control groups in %q", have.Strongest(), have.Cgroups.Pids)
	}
	for _, parent := range []string{have.Cgroups.Pids, have.Cgroups.Memory} {
		if dir := filepath.Join(parent, filepath.Base(l.dir)); parent != "" && !slices.Contains(l.groups, dir) {
			l.check(os.Mkdir(dir, 0o755))
			l.groups = append(l.groups, dir)
		}
	}
	l.Cleanup(l.removeGroups)
}

// removeGroups moves what is in the groups up, and removes them.
func (l *live) removeGroups() {
	l.Helper()
	for _, group := range l.groups {
		for end := time.Now().Add(livenessQuiet); ; <-time.After(time.Millisecond) {
			below, _ := filepath.Glob(group + "/*/cgroup.procs")
			for _, file := range append(below, filepath.Join(group, "cgroup.procs")) {
				text, _ := os.ReadFile(file)
				for _, pid := range strings.Fields(string(text)) {
					_ = os.WriteFile(filepath.Join(filepath.Dir(group), "cgroup.procs"), []byte(pid), 0) // or it has ended
				}
				_ = os.Remove(filepath.Dir(file))
			}
			if _, err := os.Stat(group); err != nil {
				break
			}
			if time.Now().After(end) {
				l.Fatalf("the control group %s cannot be removed", group)
			}
		}
	}
}

// takeGroups takes the groups of the team away, with those of its runs. Later there are such again.
func (l *live) takeGroups() func() {
	l.removeGroups()
	return func() {
		for _, group := range l.groups {
			l.check(os.Mkdir(group, 0o755))
		}
	}
}

// moveAway takes the project from its place. Nothing may be made there meanwhile.
func (l *live) moveAway() func() {
	return l.move(l.root, filepath.Join(l.dir, "elsewhere"))
}

func (l *live) moveGitAway() func() {
	return l.move(filepath.Join(l.root, ".git"), filepath.Join(l.dir, "elsewhere"))
}

func (l *live) move(from, to string) func() {
	l.check(os.Rename(from, to))
	return func() {
		if made, err := os.ReadDir(from); err == nil {
			l.Fatalf("%s was moved, and is there again with %v%s", from, made, l.report())
		}
		l.check(os.Rename(to, from))
	}
}

// lockGit leaves the locks that a killed git leaves, until a person removes them.
func (l *live) lockGit() func() {
	git := filepath.Join(l.root, ".git")
	locks := []string{"index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "refs/heads/integration.lock"}
	indexes, _ := filepath.Glob(filepath.Join(git, "worktrees", "*", "index"))
	for _, path := range indexes {
		locks = append(locks, path[len(git)+1:]+".lock")
	}
	var made []string
	for _, name := range locks {
		path := filepath.Join(git, name)
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			_ = f.Close()
			made = append(made, path)
		}
	}
	return func() {
		for _, path := range made {
			_ = os.Remove(path) // or its worktree is gone
		}
	}
}

// tidy has git tidy up beside the team, again and again.
func (l *live) tidy() func() {
	ctx, cancel := context.WithCancel(l.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			for _, args := range [][]string{{"gc", "--quiet"}, {"repack", "-adq"}, {"maintenance", "run", "--quiet"}, {"pack-refs", "--all"}, {"worktree", "prune"}} {
				_ = l.command(ctx, append([]string{"git"}, args...)...).Run()
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// restartWith kills the team, and has it started with other variables.
func (l *live) restartWith(variables ...string) func() {
	l.kill()
	return l.other(variables...)
}

// other is a process of the team that the test ends; what it says when it ends by itself has to name a command.
func (l *live) other(variables ...string) func() {
	ctx, cancel := context.WithCancel(l.Context())
	ended := make(chan struct{})
	cmd := l.command(ctx, "liza", "run", "--plain", "--planners", "0", "--coders", "2", "--reviewers", "1")
	cmd.Env = append(cmd.Env, variables...)
	go func() {
		defer close(ended)
		out, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() > 0 && !nextCommand.Match(out) {
			l.Errorf("it ended with exit code %d, and names no next command:\n%s", exit.ExitCode(), out)
		}
	}()
	return func() { cancel(); <-ended }
}

// replace puts another file where the program is, or none.
func (l *live) replace(by func(path string)) func() {
	kept := filepath.Join(l.dir, "kept", "liza") // the test's program goes by its name
	l.check(os.MkdirAll(filepath.Dir(kept), 0o755))
	l.check(os.Rename(l.program(), kept))
	by(l.program())
	return func() { l.check(os.Rename(kept, l.program())) }
}

// otherBuild is a program that does the same, as another file.
func (l *live) otherBuild(path string) {
	data, err := os.ReadFile(lizaProgram(l.T))
	l.check(err)
	l.check(os.WriteFile(path+".new", append(data, 0), 0o755))
	l.check(os.Rename(path+".new", path))
}

// unableProgram is one that does not know what it is asked to do.
func (l *live) unableProgram(path string) {
	l.check(os.WriteFile(path, []byte("#!/bin/sh\necho 'error: unknown command' >&2\necho 'next: liza help' >&2\nexit 2\n"), 0o755))
}

// secondTeam is a process of Liza that sees no process of the first one, and cannot be seen by its number.
func (l *live) secondTeam() func() {
	if os.Getuid() != 0 {
		l.Skip("NOT RUN: a namespace of its own needs root")
	}
	cmd := l.command(context.Background(), "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", l.program(), "run", "--plain", "--planners", "0", "--coders", "2", "--reviewers", "1")
	out, err := os.Create(filepath.Join(l.dir, "second.log"))
	l.check(err)
	cmd.Stdout, cmd.Stderr = out, out
	l.check(cmd.Start())
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
	}
}
