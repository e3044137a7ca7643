// Package wall decides what each run may read, write and reach: it makes a sandbox.Spec of the project, its
// settings, the needs of the program and the toolchains of the person (specs/security.md). It holds what a run
// needs while it lasts: its private folders and its proxy.
package wall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/config"
	"liza/pkg/git"
	"liza/pkg/project"
	"liza/pkg/proxy"
	"liza/pkg/sandbox"
	"liza/pkg/toolchain"
)

// A Maker makes the walls of one project. It may be used by several goroutines.
type Maker struct {
	Project *project.Project
	Config  func() *config.Config
	Environ []string // of the person
	Home    string   // of the person
	Base    string   // where folders of sockets are made (broker.Base)
	Liza    string   // absolute path of liza
	Facts   func(ctx context.Context) sandbox.Facts
	Program func(name string) (agent.Needs, error) // what an agent program needs
}

// A Run is what is to be contained.
type Run struct {
	Name    string      // unlike that of every other run under way: the agent's id, the name of a worktree
	Program string      // name of the agent program; "": a command that runs what agents wrote
	Dir     string      // where it works
	Writes  bool        // it may write Dir; else Dir is the main checkout, to be read
	Folder  *git.Folder // its own git folder; nil: it has none
	Sockets string      // folder with the sockets of the run; "": it has no broker
	Read    []string    // what it may read besides: its prompt, logs of checks, a skill
	Write   []string    // folders that it may write besides; they are made

	Env        []string            // names of variables of the person that it gets
	Registries bool                // it may reach the registries of packages
	Terminal   bool                // a person works with it
	Refused    func(proxy.Refusal) // told once of each host that it could not reach; may be nil
}

// A Wall is that of one run.
type Wall struct {
	Level  sandbox.Level
	Reason string // why it is not closed, as a line for people; "" when it is, or when a person chose it
	Spec   sandbox.Spec
	Hosts  []string // that it may reach

	maker      *Maker
	needs      agent.Needs
	access     agent.Access
	set        []string // NAME=value of the toolchains, which count more than the person's
	allow      []string // names of variables
	registries []string // hosts of the package registries of the toolchains
	facts      sandbox.Facts
	close      []func() error
}

// Level is the level that runs of a program have ("": commands), and why it is not closed. The error says that
// nothing may be started, because the settings require more.
func (m *Maker) Level(ctx context.Context, program string) (sandbox.Level, string, error) {
	s := m.Config().SandboxOf(program)
	level := sandbox.Level(s.Level)
	if len(s.Wrap) > 0 && (level == "" || level == "auto") {
		level = sandbox.Wrapped
	}
	if level == sandbox.Open && s.Require == "" {
		return sandbox.Open, "", nil // nothing need be tried
	}
	return sandbox.Choose(level, sandbox.Level(s.Require), m.Facts(ctx))
}

// Open makes the wall of a run. Close it when the run is over.
func (m *Maker) Open(ctx context.Context, r Run) (*Wall, error) {
	level, reason, err := m.Level(ctx, r.Program)
	if err != nil {
		return nil, err
	}
	w := &Wall{Level: level, Reason: reason, maker: m}
	if level == sandbox.Open {
		return w, nil
	}
	w.Spec = sandbox.Spec{Level: level, Liza: m.Liza, Dir: r.Dir, Terminal: r.Terminal}
	s := m.Config().SandboxOf(r.Program)
	if level == sandbox.Wrapped {
		w.Spec.Wrap = s.Wrap
		return w, nil
	}
	w.facts = m.Facts(ctx)
	if r.Program != "" {
		if w.needs, err = m.Program(r.Program); err != nil {
			return nil, err
		}
	}
	if err := w.build(r, s); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot contain the run of %s: %w", r.Name, err), w.Close())
	}
	return w, nil
}

// build fills the Spec.
func (w *Wall) build(r Run, s config.Sandbox) error {
	if err := w.privateFolders(r.Name, s); err != nil {
		return err
	}
	w.repository(r)
	w.person()
	w.project(r, s)
	if err := w.toolchains(r, s); err != nil {
		return err
	}
	return w.network(r, s)
}

// privateFolders makes the home folder of the run and that for its temporary files. What a killed supervisor left of
// an earlier run of that name is removed.
func (w *Wall) privateFolders(name string, s config.Sandbox) error {
	base := filepath.Join(w.maker.Project.Tmp(), "wall-"+name)
	if err := os.RemoveAll(base); err != nil {
		return err
	}
	w.close = append(w.close, func() error { return os.RemoveAll(base) })
	w.Spec.Home, w.Spec.Tmp, w.Spec.Person = filepath.Join(base, "home"), filepath.Join(base, "tmp"), w.maker.Home
	for _, dir := range []string{w.Spec.Home, w.Spec.Tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	w.access = w.needs.In(w.maker.Home, w.Spec.Home, w.maker.Environ)
	w.Spec.Limits = sandbox.Limits{Processes: s.Limits.Processes, Memory: int64(s.Limits.MemoryMB) << 20, Disk: int64(s.Limits.DiskMB) << 20, File: int64(s.Limits.FileMB) << 20}
	for _, text := range s.Allow.Copy {
		if rel, err := filepath.Rel(w.maker.Home, config.Path(text, w.maker.Home, w.maker.Project.Root)); err == nil && filepath.IsLocal(rel) {
			w.access.HomeCopy = append(w.access.HomeCopy, rel)
		}
	}
	for _, rel := range w.access.HomeCopy {
		if err := copyTree(filepath.Join(w.maker.Home, rel), filepath.Join(w.Spec.Home, rel)); err != nil {
			return err
		}
	}
	return w.keep()
}

// repository is what is shown of the project: the worktree, or the main checkout to be read. Of .liza and of other
// worktrees nothing is shown but what is named.
func (w *Wall) repository(r Run) {
	p, spec := w.maker.Project, &w.Spec
	if r.Writes {
		spec.Write = append(spec.Write, r.Dir)
		spec.Read = append(spec.Read, filepath.Join(r.Dir, ".git"))
	} else {
		spec.Read = append(spec.Read, r.Dir)
		spec.Hide = append(spec.Hide, p.Liza, p.Worktrees())
		if r.Folder == nil {
			spec.Hide = append(spec.Hide, filepath.Join(r.Dir, ".git"))
		}
	}
	if r.Folder != nil {
		spec.Read = append(spec.Read, r.Folder.Read...)
		if w.Level == sandbox.Closed {
			spec.Over = append(spec.Over, sandbox.Mount{Source: r.Folder.Git, Target: r.Folder.Target})
		} else {
			spec.Write = append(spec.Write, r.Folder.Git)
		}
	} else if r.Writes {
		spec.Read = append(spec.Read, gitToRead(p.GitDir, r.Dir, w.Level)...)
	}
	spec.Read = append(spec.Read, p.Instructions(), p.Skills())
	spec.Read = append(spec.Read, r.Read...)
	for _, dir := range r.Write {
		if os.MkdirAll(dir, 0o700) == nil {
			spec.Write = append(spec.Write, dir)
		}
	}
	if r.Sockets != "" {
		spec.Read = append(spec.Read, r.Sockets)
	}
}

// person is what is shown of the person's home folder: what the program needs.
func (w *Wall) person() {
	a, spec := w.access, &w.Spec
	spec.HomeRead = a.HomeRead
	for _, rel := range a.HomeWrite {
		if os.MkdirAll(filepath.Join(w.maker.Home, rel), 0o700) == nil {
			spec.HomeWrite = append(spec.HomeWrite, rel)
		}
	}
	for _, rel := range a.HomeLogin {
		if info, err := os.Stat(filepath.Join(w.maker.Home, rel)); err == nil && info.Mode().IsRegular() {
			spec.HomeWrite = append(spec.HomeWrite, rel)
		}
	}
	spec.Read = append(spec.Read, a.Read...)
	spec.Write = append(spec.Write, existing(a.Write)...)
}

// project is what the settings allow besides.
func (w *Wall) project(r Run, s config.Sandbox) {
	for _, text := range s.Allow.Read {
		w.Spec.Read = append(w.Spec.Read, config.Path(text, w.maker.Home, w.maker.Project.Root))
	}
	for _, text := range s.Allow.Write {
		w.Spec.Write = append(w.Spec.Write, config.Path(text, w.maker.Home, w.maker.Project.Root))
	}
	w.allow = slices.Concat(s.Allow.Env, r.Env)
}

func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, err := os.Stat(p); return err != nil })
}

// Contain puts a program behind the wall.
func (w *Wall) Contain(path string, argv, env []string) (agent.Contained, error) {
	spec := w.Spec
	spec.Read = slices.Concat(spec.Read, w.files(path, argv))
	c, err := spec.Command(w.facts, path, argv, w.environment(env))
	return agent.Contained(c), err
}

// Contained reports whether there is anything to contain with.
func (w *Wall) Contained() bool { return w != nil && w.Level != sandbox.Open }

// files are those that a program is made of: itself, what it is a link to, and the files of the project that its
// arguments name.
func (w *Wall) files(path string, argv []string) []string {
	var files []string
	for i, arg := range append([]string{path}, argv[min(1, len(argv)):]...) {
		if info, err := os.Stat(arg); !filepath.IsAbs(arg) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, arg)
		if i == 0 {
			files = append(files, toolchain.On(w.maker.Home, w.maker.Environ).Installed(arg)...)
		}
	}
	return files
}

// plainVariables are those that say nothing of a person but how to talk to them, and where programs are.
var plainVariables = []string{"PATH", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ", "USER", "LOGNAME", "SHELL", "NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS", "LINES"}

// environment is what of a program's environment it gets in the wall: what Liza has set for it, plain variables, and
// what its entry in the catalogue and the settings name.
func (w *Wall) environment(env []string) []string {
	theirs := map[string]bool{}
	for _, pair := range w.maker.Environ {
		theirs[pair] = true
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case !theirs[pair]:
			return false
		case w.needs.Passes(name):
			return true // as access says
		}
		return !slices.Contains(plainVariables, name) && !strings.HasPrefix(name, "LC_") && !slices.ContainsFunc(w.allow, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || open && strings.HasPrefix(name, prefix)
		})
	})
	// The system's configuration of git cannot be read at partial, and git stops at that.
	return slices.Concat(kept, w.access.Env, w.set, []string{"GIT_CONFIG_NOSYSTEM=1"})
}

// Close ends what belongs to the run alone.
func (w *Wall) Close() error {
	var errs []error
	for _, close := range slices.Backward(w.close) {
		errs = append(errs, close())
	}
	w.close = nil
	return errors.Join(errs...)
}
