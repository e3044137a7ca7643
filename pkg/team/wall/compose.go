package wall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/toolchain"
)

// A Run is what the wall of one run is made of. Compose is a pure function of it and of what is on the disk.
type Run struct {
	Project  *project.Project
	For      string         // the role and the task whose conversations it keeps (Use.For)
	Settings config.Sandbox // of the program (config.SandboxOf)
	Program  string         // name of the agent program; "" for a command of the project
	Needs    agent.Needs    // of the program
	Argv     []string       // of the program: what of it is a file is shown
	Liza     string
	Spawn    string // enters the wall; "": Liza
	Person   toolchain.Person

	Folder  string      // of its sockets
	Private string      // of its private home and temporary folders
	Dir     string      // where it works
	Write   bool        // whether it may change Dir; else that is the main checkout
	Tracked []string    // files and folders at the top of the main checkout that git tracks
	Git     *git.Folder // its git folder: mounted at closed, at other levels named by the worktree; nil: git can be read
	Read    []string    // what else is meant for it: its prompt
	Also    []string    // folders that it may write besides
	Merged  []string    // files of the integration branch, which say what the project is built with
	Home    GitHome     // git's configuration in the private home
	Look    bool        // a command that builds nothing
	Codes   bool        // a coder's run
	Job     bool        // a setup command, a check, a hook: no program's needs, and it may download packages
}

// A Plan is a sandbox.Wall with what has to be prepared before it is entered.
type Plan struct {
	sandbox.Wall
	Cache  string          // folder of the caches of builds; "": there is no tool that has one
	Make   []string        // folders that must be there
	Copy   []sandbox.Mount // files and folders that are copied into the private home
	Texts  []sandbox.Mount // texts that are written into files
	Trust  [][]string      // path of a JSON file in the private home, and the fields of it that lead to one that is set to true
	Link   []sandbox.Mount // folders that are linked there, where nothing can be mounted
	Proxy  proxy.Options   // without Refused
	kept   []string        // folders of the program that outlive the run
	caches []string        // folders in Cache, in which runs write
}

// Compose says what a run may read, write and reach at a level that has been chosen.
func (r Run) Compose(level sandbox.Level, reason string) Plan {
	p, home := r.Project, r.Person.Home
	inside := filepath.Join(r.Private, "home")
	w := Plan{Wall: sandbox.Wall{Reason: reason, Spec: sandbox.Spec{
		Level: level, Wrap: r.Settings.Wrap, Liza: r.Liza, Launcher: r.Spawn, Dir: r.Dir, Home: inside, Person: home, Tmp: r.tmp(level),
		Proxy: filepath.Join(r.Folder, proxySocket), Limits: limitsOf(r.Settings.Limits), Place: r.place(level),
		Traces: r.Codes || r.Job, // no test traces the program that judges it
	}}}
	s := &w.Spec
	s.Read = append(slices.Clone(r.Read), r.Folder)
	s.Write = slices.Clone(r.Also)
	r.repository(&w)

	needs := r.Needs
	needs.Env = append(slices.Clone(needs.Env), r.Settings.Allow.Env...)
	if level != sandbox.Closed { // there the person's own proxy is that of the run
		needs.Env = append(needs.Env, proxyVariables...)
	}
	online := (r.Job || r.Settings.Allow.Registries) && !r.Look
	// What an agent leaves in a cache must not get into a check; what setup has downloaded is there for agents.
	use := toolchain.Use{Files: r.Merged, Cache: filepath.Join(p.Cache(), "agents"), Filled: checksCache(p, r.Dir), Registries: online, Proxy: proxyOf(level), Checkout: p.Root}
	// What nobody has reviewed opens no registry for itself: packages, their names among them, are a way out.
	if (filepath.Base(use.Filled) == mergedCache || r.Settings.Allow.Registries) && !r.Look {
		use.Root = r.Dir
	}
	if r.Job {
		use.Cache, use.Filled = use.Filled, ""
	}
	cache := use.Cache
	if level == sandbox.Closed {
		use.Cache = cacheInside
	}
	tools := toolchain.In(r.Person, use)
	needs.Env = append(needs.Env, tools.Pass...)
	access := needs.In(home, inside, r.Person.Environ)
	s.Read = slices.Concat(s.Read, tools.Read, access.Read)
	s.Tools = slices.Concat(tools.Tools, r.shownOf(r.Argv))
	s.Write = append(s.Write, access.Write...)
	if len(tools.Caches) > 0 && !r.Look { // the folder around them: one mount
		if w.Cache = cache; level == sandbox.Closed {
			s.Over = append(s.Over, sandbox.Mount{Source: cache, Target: cacheInside})
		} else {
			s.Write = append(s.Write, cache)
		}
	}
	w.Make = slices.Concat(r.Also, []string{s.Home, s.Tmp})
	for _, folder := range tools.Caches {
		w.caches = append(w.caches, filepath.Join(cache, strings.TrimPrefix(folder, use.Cache)))
	}

	s.HomeRead = access.HomeRead
	for _, rel := range access.HomeLogin {
		if r.Person.Real(filepath.Join(home, rel)) != "" {
			s.HomeWrite = append(s.HomeWrite, rel)
		}
	}
	for _, rel := range access.HomeKeep {
		r.keep(&w, rel, filepath.Join(inside, rel))
	}
	for _, at := range access.Keep {
		if level == sandbox.Closed { // elsewhere nothing can be shown in the place of what is outside of the home folder
			r.keep(&w, at, at)
		} else {
			s.Hide = append(s.Hide, at)
		}
	}
	r.allow(&w, access.HomeCopy)
	s.Place = r.besides(s.Place, slices.Concat(s.Read, s.Write, s.Tools, []string{r.Liza, r.Spawn}))
	r.Home.into(&w, r.Git == nil && level == sandbox.Closed) // else the run has a configuration of the repository
	for _, rel := range access.HomeCopy {
		w.Trust = append(w.Trust, r.trust(s.Place, filepath.Join(inside, rel))...)
	}
	r.hide(s)
	r.throwAway(&w)

	w.Env = append(access.Env, tools.Env...)
	w.Hosts = slices.Concat(access.Hosts, r.Settings.Allow.Hosts, tools.Hosts)
	s.Local = proxy.Local(w.Hosts)
	quiet := access.Quiet
	if i := slices.Index(quiet, "registries"); i >= 0 {
		quiet = slices.Concat(quiet[:i], quiet[i+1:], toolchain.Registries())
	}
	w.Proxy = proxy.Options{Hosts: w.Hosts, Quiet: quiet, Registries: toolchain.Registries(), Upstream: upstream(r.Person.Environ)}
	return w
}

// keptOf has a folder for each role and task of what a program keeps.
func keptOf(p *project.Project, program string) string {
	return filepath.Join(p.Cache(), "home", program)
}

// dropKept removes what a program has kept for tasks that have no worktree any more; of is the one that is needed now.
func dropKept(p *project.Project, program, of string) {
	all, _ := os.ReadDir(keptOf(p, program))
	for _, e := range all {
		_, task, found := strings.Cut(e.Name(), "+")
		if _, err := os.Lstat(p.Worktree(task)); found && e.Name() != of && os.IsNotExist(err) {
			_ = safefile.RemoveTree(filepath.Join(keptOf(p, program), e.Name())) // what is left is removed with the next one
		}
	}
}

// keep shows a folder that the project has for all runs of the program in one role on one task, in the place of the person's own: what another
// role or task has said and noted is not there.
func (r Run) keep(w *Plan, name, at string) {
	kept := filepath.Join(keptOf(r.Project, r.Program), cmp.Or(r.For, "any"), name)
	w.Make, w.kept = append(w.Make, kept), append(w.kept, kept)
	if shown := (sandbox.Mount{Source: kept, Target: at}); w.Spec.Level == sandbox.Closed {
		w.Spec.Over = append(w.Spec.Over, shown)
	} else {
		w.Spec.Write, w.Link = append(w.Spec.Write, kept), append(w.Link, shown)
	}
}

// trust names the fields of a copied file of settings by which the program trusts the worktree and its repository: the
// person trusts them by starting the run.
func (r Run) trust(place sandbox.Place, file string) (all [][]string) {
	if len(r.Needs.Trust) == 0 {
		return nil
	}
	for _, dir := range slices.Compact([]string{place.Inside(r.Dir), r.Project.Root}) {
		fields := []string{file}
		for _, field := range r.Needs.Trust {
			fields = append(fields, strings.ReplaceAll(field, agent.TrustedFolder, dir))
		}
		all = append(all, fields)
	}
	return all
}

// proxyVariables say how the person reaches the network.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}

// proxySocket is the name of the proxy's socket in the folder of a run.
const proxySocket = "proxy.sock"

// repository is what is shown of the project: the worktree, or the main checkout to be read, and what git needs.
func (r Run) repository(w *Plan) {
	s := &w.Spec
	if r.Write {
		s.Write = append(s.Write, r.Dir)
		if s.Level == sandbox.Closed { // elsewhere a run can make a link of it, and what that leads to could be read
			s.Read = append(s.Read, filepath.Join(r.Dir, ".git"))
			r.links(w)
		}
	} else if safefile.Within(r.Person.Real(r.Person.Home), r.Dir) { // the project is the home folder, or around it: only what git tracks is the project's
		s.Hide = append(s.Hide, r.Dir)
		for _, name := range r.Tracked {
			s.Read = append(s.Read, filepath.Join(r.Dir, name))
		}
	} else {
		s.Read = append(s.Read, r.Dir)
	}
	switch {
	case r.Git == nil && r.Write:
		s.Read = append(s.Read, gitToRead(r.Project.GitDir, r.Dir, s.Level)...)
	case r.Git == nil:
		s.Hide = append(s.Hide, filepath.Join(r.Dir, ".git"))
	case s.Level == sandbox.Closed:
		s.Read = append(s.Read, r.Git.Read...)
		s.Over = append(s.Over, sandbox.Mount{Source: r.Git.Git, Target: r.Git.Target})
	default:
		s.Read, s.Write = append(s.Read, r.Git.Read...), append(s.Write, r.Git.Git)
	}
}

// hide takes the board, other worktrees and what Liza keeps beside git out of folders that are shown.
func (r Run) hide(s *sandbox.Spec) {
	root := r.Project.Root
	if !r.moves(s.Place) && !slices.ContainsFunc(slices.Concat(s.Read, s.Write), func(top string) bool { return safefile.Within(root, top) }) && s.Sees(root) { // in a folder of the machine
		s.Hide = append(s.Hide, root)
	}
	for _, path := range []string{r.Project.Liza, r.Project.Worktrees(), filepath.Join(r.Project.GitDir, "liza")} {
		if r.moves(s.Place) && safefile.Within(path, r.Project.Root) && !safefile.Within(path, r.Project.GitDir) {
			continue // there is something else inside
		}
		if slices.ContainsFunc(slices.Concat(s.Read, s.Write, s.Tools), func(top string) bool { return top != path && strings.HasPrefix(path, top+"/") }) {
			s.Hide = append(s.Hide, path)
		}
	}
}

// allow adds what the settings allow. What is in the home folder is shown at its own path as well as in the
// private home: settings of programs name both.
func (r Run) allow(w *Plan, copies []string) {
	s, home := &w.Spec, r.Person.Home
	inHome := func(at string) (string, bool) {
		rel, err := filepath.Rel(home, at)
		return rel, err == nil && filepath.IsLocal(rel) && rel != "."
	}
	for _, text := range r.Settings.Allow.Read {
		at := config.Path(text, home, r.Project.Root)
		s.Read = append(s.Read, at)
		if rel, ok := inHome(at); ok {
			s.HomeRead = append(s.HomeRead, rel)
		}
	}
	for _, text := range r.Settings.Allow.Write {
		at := config.Path(text, home, r.Project.Root)
		s.Write = append(s.Write, at)
		if rel, ok := inHome(at); ok {
			s.HomeWrite = append(s.HomeWrite, rel)
		}
	}
	for _, text := range r.Settings.Allow.Copy {
		if rel, ok := inHome(config.Path(text, home, r.Project.Root)); ok {
			copies = append(copies, rel)
		}
	}
	for _, rel := range copies {
		if from := filepath.Join(home, rel); r.Person.Real(from) != "" {
			w.Copy = append(w.Copy, sandbox.Mount{Source: from, Target: filepath.Join(s.Home, rel)})
		}
	}
}

// shownOf is what a command line names: its program, and its arguments that are files.
func (r Run) shownOf(argv []string) (shown []string) {
	for i, a := range argv {
		if i == 0 && !strings.Contains(a, "/") {
			a = r.Person.Which(a)
		}
		if filepath.IsAbs(a) && (i == 0 || isFile(r.Person.Real(a))) {
			shown = append(shown, r.Person.Installed(a)...)
		}
	}
	return shown
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func proxyOf(level sandbox.Level) string {
	if level == sandbox.Closed {
		return sandbox.ForwardAddress
	}
	return ""
}

func limitsOf(l config.SandboxLimits) sandbox.Limits {
	const mb = 1 << 20
	return sandbox.Limits{Processes: l.Processes, Memory: int64(l.MemoryMB) * mb, Disk: int64(l.DiskMB) * mb, File: int64(l.FileMB) * mb}
}

// maxCopy bounds what a run gets copies of.
const maxCopy = 64 << 20

// Prepare makes the folders and the copies. held is the lock of the private folder, whose use remove ends; it is never nil.
func (w Plan) Prepare() (held *os.File, remove func() error, err error) {
	if held, remove, err = makePrivate(filepath.Dir(w.Spec.Home)); err == nil {
		err = w.fill()
	} else {
		remove = func() error { return nil }
	}
	if err != nil {
		err = fmt.Errorf("cannot prepare a sandbox: %w", err)
	}
	return held, remove, err
}

func (w Plan) fill() error {
	for _, folder := range w.Make {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if w.Spec.Place.Inside(w.Spec.Tmp) != w.Spec.Tmp { // it is /tmp, in which all may write
		if err := os.Chmod(w.Spec.Tmp, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	if err := w.makeCaches(); err != nil {
		return err
	}
	for _, t := range w.Texts {
		if err := os.WriteFile(t.Target, []byte(t.Source), 0o600); err != nil {
			return err
		}
	}
	for _, c := range w.Copy {
		if err := copyInto(c.Source, c.Target); err != nil {
			return fmt.Errorf("cannot copy %s: %w", c.Source, err)
		}
	}
	for _, t := range w.Trust {
		if err := setTrue(t[0], t[1:]); err != nil {
			return err
		}
	}
	for _, l := range w.Link {
		err := os.MkdirAll(filepath.Dir(l.Target), 0o700)
		if err == nil {
			err = os.Symlink(l.Source, l.Target)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// makeCaches makes the folders of caches. What a run has put in the place of one is removed, and a link is not followed.
func (w Plan) makeCaches() error {
	if w.Cache == "" {
		return nil
	}
	err := safefile.MakeFolder(filepath.Dir(w.Cache), 0o700)
	if err == nil {
		err = os.Mkdir(w.Cache, 0o700) // that of merged work has a name with a dot
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(w.Cache)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, folder := range w.caches {
		name, err := filepath.Rel(w.Cache, folder)
		if err != nil {
			return err
		}
		if info, err := root.Lstat(name); err == nil && !info.IsDir() {
			_ = root.Remove(name) // another run may do the same
		}
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// copyInto copies a file or a folder; of what it has in it only folders and files.
func copyInto(from, to string) error {
	left := int64(maxCopy)
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		info, err := os.Stat(path) // a link is what it leads to
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(at, 0o700)
		case !info.Mode().IsRegular():
			return nil
		}
		if left -= info.Size(); left < 0 {
			return fmt.Errorf("it has more than %d MB", maxCopy>>20)
		}
		data, err := safefile.Read(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(at), 0o700)
		}
		if err == nil {
			err = os.WriteFile(at, data, info.Mode().Perm()&0o700)
		}
		return err
	})
}

// setTrue sets a field of the JSON object in a file, which is made where it is missing. A file that is no such object stays
// as it is: the program says what is wrong with it.
func setTrue(file string, fields []string) error {
	data, err := safefile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	set, err := withTrue(data, fields)
	if err != nil {
		return nil
	}
	return os.WriteFile(file, set, 0o600)
}

// withTrue returns object with the value true at fields, one in the other. All other fields keep their values.
func withTrue(object json.RawMessage, fields []string) (json.RawMessage, error) {
	if len(fields) == 0 {
		return json.RawMessage("true"), nil
	}
	var all map[string]json.RawMessage
	if len(object) > 0 {
		if err := json.Unmarshal(object, &all); err != nil {
			return nil, err
		}
	}
	inner, err := withTrue(all[fields[0]], fields[1:])
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	all[fields[0]] = inner
	return json.Marshal(all)
}

// upstream is how the person reaches the network, when that is by a proxy.
func upstream(environ []string) func(*url.URL) (*url.URL, error) {
	value := func(names ...string) (found string) {
		for _, pair := range environ {
			if name, v, _ := strings.Cut(pair, "="); v != "" && slices.Contains(names, name) {
				found = v
			}
		}
		return found
	}
	c := httpproxy.Config{HTTPProxy: value("HTTP_PROXY", "http_proxy"), HTTPSProxy: value("HTTPS_PROXY", "https_proxy"), NoProxy: value("NO_PROXY", "no_proxy")}
	if c.HTTPProxy == "" && c.HTTPSProxy == "" {
		return nil
	}
	return c.ProxyFunc()
}
