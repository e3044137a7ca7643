// Package wall decides what each run may read, write and reach: it makes a sandbox.Spec of the project, its
// settings, the needs of the program and the toolchains of the person (specs/security.md). A Wall holds what a
// run needs while it lasts: its private folders and its proxy.
package wall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/toolchain"
	"liza/pkg/verb/checks"
)

// A Maker makes the walls of one project. It may be used by several goroutines.
type Maker struct {
	Project *project.Project
	Config  func() *config.Config
	Environ []string      // of the person
	Home    string        // of the person
	Base    string        // where folders of sockets are made (broker.Base)
	Liza    string        // absolute path of liza
	Spawn   func() string // absolute path of the program that enters walls, "" for liza itself; may be nil
	Facts   func(ctx context.Context) sandbox.Capabilities
	Tracked func(ctx context.Context) []string     // what git tracks at the top of the main checkout
	Merged  func(ctx context.Context) []string     // the files of the integration branch
	GitHome func(ctx context.Context) GitHome      // of a private home folder; may be nil
	Program func(name string) (agent.Needs, error) // what an agent program needs; nil: there are only commands

	Template func(ctx context.Context, service, commit string) (dir string, err error) // the data with which a service begins (Use.DataOf)
}

// Use is what is to be contained.
type Use struct {
	Name    string      // unlike that of every other run under way: the agent's id, "job+" and the name of a worktree
	Program string      // name of the agent program; "": a command that runs what agents wrote
	For     string      // the role and the task of its run, as ROLE+TASK: what the program keeps is theirs; "": nobody's in particular
	Dir     string      // where it works
	Write   bool        // it may change Dir; else Dir is the main checkout, to be read
	Git     *git.Folder // its own git folder; nil: it has none
	Sockets string      // folder with the sockets of the run; "": it has no broker
	Read    []string    // what it may read besides: its prompt, logs of checks, a skill
	Also    []string    // folders that it may write besides
	Env     []string    // names of variables that a command gets besides

	Services bool   // the services of the project run beside it
	Fills    string // the service whose data it makes, in the folder Data: names in its arguments are resolved; "": none
	Data     string
	DataOf   string                           // commit at which the data of services is made; "": the head of the integration branch
	Printed  func(service string, end []byte) // gets the end of what each service has printed; may be nil

	Codes    bool                // a coder's run: its processes may trace each other, as those of a command may
	Look     bool                // a command that builds nothing: it has no caches and no registries
	Terminal bool                // a person works with it
	Refused  func(proxy.Refusal) // told once of each host that it could not reach; may be nil
}

// A Wall is that of one run.
type Wall struct {
	Plan
	maker *Maker
	run   Run
	env   []string // names of variables that it gets
	facts sandbox.Capabilities
	close []func() error

	held     *os.File // lock of the private folder
	serving  serving
	listener net.Listener // of the proxy
	band     *os.File     // lock of its ports
	ports    int          // the first of its ports; 0: it has none
}

// Level is the level that runs of a program have ("": commands), and why it is not closed. The error says that
// nothing may be started, because the settings require more.
func (m *Maker) Level(ctx context.Context, program string) (sandbox.Level, string, error) {
	s := m.Config().SandboxOf(program)
	level := cmp.Or(sandbox.Level(s.Level), "auto")
	if level == "auto" && len(s.Wrap) > 0 {
		level = sandbox.Wrapped
	}
	if level == sandbox.Open && s.Require == "" {
		return sandbox.Open, "", nil // nothing need be tried
	}
	return sandbox.Choose(level, sandbox.Level(s.Require), m.Facts(ctx))
}

// Plan is what the wall of a run is made of. Nothing is changed.
func (m *Maker) Plan(ctx context.Context, u Use, argv []string) (Plan, error) {
	r, level, reason, err := m.run(ctx, u)
	if err != nil {
		return Plan{}, err
	}
	r.Argv = argv
	p := r.Compose(level, reason)
	p.Spec.Terminal = u.Terminal
	return p, nil
}

func (m *Maker) run(ctx context.Context, u Use) (r Run, level sandbox.Level, reason string, err error) {
	if level, reason, err = m.Level(ctx, u.Program); err != nil {
		return r, level, reason, err
	}
	r = Run{Project: m.Project, Settings: m.Config().SandboxOf(u.Program), Program: u.Program, For: u.For, Needs: agent.CommonNeeds(), Liza: m.Liza, Person: toolchain.On(m.Home, m.Environ),
		Folder: u.Sockets, Private: privateOf(m.Project, u.Name), Dir: u.Dir, Write: u.Write, Git: u.Git, Also: u.Also, Job: u.Program == "" && !u.Look, Look: u.Look, Codes: u.Codes,
		Read: slices.Concat(u.Read, []string{m.Project.Instructions(), m.Project.Skills()})}
	if !u.Write && safefile.Within(r.Person.Real(m.Home), u.Dir) && m.Tracked != nil {
		r.Tracked = m.Tracked(ctx)
	}
	if (r.Job || r.Settings.Allow.Registries) && !r.Look && m.Merged != nil {
		r.Merged = m.Merged(ctx)
	}
	if m.Spawn != nil {
		r.Spawn = m.Spawn()
	}
	if m.GitHome != nil && !r.Look {
		r.Home = m.GitHome(ctx)
	}
	if u.Program != "" {
		r.Needs, err = m.Program(u.Program)
	}
	return r, level, reason, err
}

// Open makes the wall of a run. Close it when the run is over.
func (m *Maker) Open(ctx context.Context, u Use) (*Wall, error) {
	w := &Wall{maker: m, env: u.Env}
	err := w.open(ctx, u)
	if bad, is := errors.AsType[*checks.TemplateError](err); is { // says all; the sandbox is not the cause
		return nil, errors.Join(bad, w.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot contain the run of %s: %w", u.Name, err), w.Close())
	}
	return w, nil
}

func (w *Wall) open(ctx context.Context, u Use) (err error) {
	var level sandbox.Level
	var reason string
	if w.run, level, reason, err = w.maker.run(ctx, u); err != nil {
		return err
	}
	if level != sandbox.Closed {
		if w.ports, w.band = takePorts(); w.band != nil {
			w.close = append(w.close, w.band.Close)
		}
	}
	w.Spec = sandbox.Spec{Level: level, Wrap: w.run.Settings.Wrap}
	serves := w.maker.serves(u)
	if !isContained(level) && !serves {
		return nil
	}
	folder := &broker.Folder{Path: u.Sockets}
	if u.Sockets == "" {
		if folder, err = broker.MakeFolder(w.maker.Base, w.maker.Project.Root, "wall "+u.Name); err != nil {
			return err
		}
		w.close = append(w.close, func() error { return errors.Join(folder.Listener.Close(), folder.Remove()) })
		w.run.Folder = folder.Path
	}
	remove := func() error { return nil }
	if isContained(level) {
		w.facts, w.Plan = w.maker.Facts(ctx), w.run.Compose(level, reason)
		if w.Spec.Terminal = u.Terminal; level == sandbox.Closed {
			w.ports = ownPorts(w.Spec.Local)
		}
		switch {
		case w.Cache == "":
		case w.run.Job:
			beginCache(w.maker.Project, w.Cache)
		default:
			asMerged(w.maker.Project, w.Cache)
		}
		if u.Program != "" {
			dropKept(w.maker.Project, u.Program, u.For)
		}
		w.held, remove, err = w.Prepare()
	} else if err = os.MkdirAll(filepath.Dir(w.run.Private), 0o700); err == nil {
		w.held, remove, err = makePrivate(w.run.Private)
	}
	if remove != nil {
		w.close = append(w.close, remove)
	}
	if err == nil && serves {
		err = w.openServices(ctx, u)
	}
	if err != nil || level != sandbox.Closed { // elsewhere programs have the network of the machine
		return err
	}
	listener, err := folder.Listen(proxySocket)
	if err != nil {
		return err
	}
	return w.serve(listener, u)
}

// Kept are the files that a run needs which outlives this process: the lock of its private folder, and the socket of its
// proxy or the lock of its ports. copies are those that this process closes when they are passed on.
func (w *Wall) Kept() (files, copies []*os.File, err error) {
	if w == nil {
		return nil, nil, nil
	}
	if w.held != nil {
		files = append(files, w.held)
	}
	if w.listener == nil {
		if w.band != nil {
			files = append(files, w.band)
		}
		return files, nil, nil
	}
	socket, err := broker.FileOf(w.listener)
	return append(files, socket), []*os.File{socket}, err
}

// Adopt makes the wall of a run that another process has begun; files are those that it kept.
func (m *Maker) Adopt(ctx context.Context, u Use, files []*os.File) (*Wall, error) {
	w := &Wall{maker: m, env: u.Env}
	var level sandbox.Level
	var reason string
	var err error
	if w.run, level, reason, err = m.run(ctx, u); err != nil {
		return w, err
	}
	w.Spec = sandbox.Spec{Level: level, Wrap: w.run.Settings.Wrap}
	if isContained(level) && len(files) > 0 {
		w.Plan = w.run.Compose(level, reason)
	}
	if len(files) > 0 && isFolder(files[0]) {
		w.held, files = files[0], files[1:]
		w.close = append(w.close, func() error { return errors.Join(safefile.RemoveTree(w.run.Private), w.held.Close()) })
		w.keepServices(u)
	}
	switch {
	case len(files) == 0:
	case level == sandbox.Closed:
		listener, err := net.FileListener(files[0])
		if err == nil {
			err = w.serve(listener, u)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot adopt the sandbox of %s: %w", u.Name, err), w.Close())
		}
	default:
		w.band = files[0]
		w.close = append(w.close, w.band.Close)
	}
	return w, nil
}

func isFolder(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

// serve opens the proxy.
func (w *Wall) serve(listener net.Listener, u Use) error {
	if u.Refused != nil {
		w.Proxy.Refused = func(refused proxy.Refusal) {
			if !refused.Quiet {
				u.Refused(refused)
			}
		}
	}
	server, err := proxy.Serve(listener, w.Proxy)
	if err == nil {
		w.listener, w.close = listener, append(w.close, server.Close)
	}
	return err
}

// Servers of a run listen on ports that no other run has. At closed each run has a loopback device of its own. Elsewhere the
// bands of ports lie below those that systems give to outgoing connections; a band is taken by a UDP port, its lock, which no two processes
// of a machine can have, of whatever user, and which ends with the last process that has it.
const (
	portsOfRun = 20
	firstPort  = 21000
	firstLock  = 27100
	mostBands  = 256
)

// Ports are the first and the last of the ports of a run, as "21000-21019"; "" when it has none.
func (w *Wall) Ports() string {
	if w == nil || w.ports == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", w.ports, w.ports+portsOfRun-1)
}

// Variables tell a run its ports.
func (w *Wall) Variables() []string {
	if w.Ports() == "" {
		return nil
	}
	return []string{"LIZA_PORT=" + strconv.Itoa(w.ports), "LIZA_PORTS=" + w.Ports()}
}

// ownPorts are the first ports of a run that has a loopback device of its own; local ones are taken there.
func ownPorts(local []int) int {
	first := firstPort
	for slices.ContainsFunc(local, func(port int) bool { return port >= first && port < first+portsOfRun }) {
		first += portsOfRun
	}
	return first
}

// takePorts takes a band of the machine's ports on which nothing listens; 0 when there is none.
func takePorts() (first int, lock *os.File) {
	for band := range mostBands {
		held, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstLock + band})
		if err != nil {
			continue
		}
		lock, err = held.File()
		_ = held.Close()
		if first = firstPort + band*portsOfRun; err == nil && free(first) {
			return first, lock
		}
		_ = lock.Close() // of nil, too
	}
	return 0, nil
}

// free reports whether nothing listens on the ports of a band.
func free(first int) bool {
	for port := first; port < first+portsOfRun; port++ {
		for _, host := range []string{"127.0.0.1", "::1"} {
			listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if errors.Is(err, syscall.EADDRINUSE) {
				return false
			}
			if err == nil {
				_ = listener.Close()
			}
		}
	}
	return true
}

// Contained reports whether there is anything to contain with.
func (w *Wall) Contained() bool { return w != nil && w.Spec.Level != sandbox.Open }

// Starts reports whether what starts a program is made by Contain: it is contained, or has services beside it.
func (w *Wall) Starts() bool { return w != nil && (w.Contained() || w.serving.order.Run != "") }

// Shut reports whether the run can change nothing of the repository but what is its own: nobody has allowed more, and the system holds
// it to that.
func (w *Wall) Shut() bool {
	if w == nil || w.Spec.Level != sandbox.Closed {
		return false
	}
	p := w.run.Project
	own := append([]string{p.Liza, filepath.Join(p.GitDir, "liza"), p.Worktrees()}, w.run.Also...)
	return !slices.ContainsFunc(w.Spec.Write, func(at string) bool {
		if slices.ContainsFunc(own, func(top string) bool { return safefile.Within(at, top) }) {
			return false
		}
		return slices.ContainsFunc([]string{p.Root, p.GitDir}, func(top string) bool { return safefile.Within(at, top) || safefile.Within(top, at) })
	})
}

// Contain puts a program behind the wall.
func (w *Wall) Contain(path string, argv, env []string) (agent.Contained, error) {
	spec := w.Spec
	if isContained(spec.Level) {
		commands := [][]string{append([]string{path}, argv[min(1, len(argv)):]...)}
		for _, s := range w.serving.order.Servers {
			commands = append(commands, s.Command, s.Ready)
		}
		for _, command := range commands {
			spec.Tools = slices.Concat(spec.Tools, w.run.shownOf(command))
		}
		spec.Place = w.run.besides(spec.Place, spec.Tools)
		env = w.environment(env)
	}
	path, argv, env, err := w.attended(path, argv, env)
	if err != nil {
		return agent.Contained{}, err
	}
	c, err := spec.Command(w.facts, path, argv, env)
	return agent.Contained(c), err
}

// environment is what a program gets in the wall: of the person's variables those that the plan names, and what Liza has
// set for this run. Of two of one name the later one counts.
func (w *Wall) environment(env []string) []string {
	theirs := map[string]bool{}
	for _, pair := range w.maker.Environ {
		theirs[pair] = true
	}
	values, order := map[string]string{}, []string{}
	set := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = pair
	}
	for _, pair := range w.Env {
		set(pair)
	}
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		own := strings.HasPrefix(name, "LIZA_") || name == "PWD" // nothing of these is inherited
		if own || !theirs[pair] || slices.Contains(w.env, name) {
			set(pair)
		}
	}
	set("GIT_CONFIG_NOSYSTEM=1") // the system's configuration cannot be read at partial, and git stops at that
	var all []string
	for _, name := range order {
		if !strings.HasPrefix(name, gitSetting) {
			all = append(all, values[name])
		}
	}
	return append(all, gitSettings(values)...)
}

// gitSetting begins the names of variables by which git gets settings: a count, and a key and a value for each number.
const gitSetting = "GIT_CONFIG_"

// gitSettings numbers those that are left from 0: the person's own, tokens among them, are not for the run, and with one of the
// numbers missing git does nothing at all.
func gitSettings(values map[string]string) (all []string) {
	var pairs []string
	for name, pair := range values {
		number, isKey := strings.CutPrefix(name, gitSetting+"KEY_")
		if _, isNumber := strconv.Atoi(number); isKey && isNumber == nil {
			if value, ok := values[gitSetting+"VALUE_"+number]; ok {
				_, key, _ := strings.Cut(pair, "=")
				_, value, _ = strings.Cut(value, "=")
				pairs = append(pairs, fmt.Sprintf("%09s\x00%s\x00%s", number, key, value))
			}
		} else if !isKey && !strings.HasPrefix(name, gitSetting+"VALUE_") && name != gitSetting+"COUNT" && strings.HasPrefix(name, gitSetting) {
			all = append(all, pair)
		}
	}
	slices.Sort(all)
	slices.Sort(pairs)
	for i, pair := range pairs {
		parts := strings.SplitN(pair, "\x00", 3)
		all = append(all, fmt.Sprintf("%sKEY_%d=%s", gitSetting, i, parts[1]), fmt.Sprintf("%sVALUE_%d=%s", gitSetting, i, parts[2]))
	}
	if len(pairs) > 0 {
		all = append(all, fmt.Sprintf("%sCOUNT=%d", gitSetting, len(pairs)))
	}
	return all
}

// WatchDisk looks until ctx ends at what the run writes, and calls over when that is more than sandbox.limits.disk_mb.
func (w *Wall) WatchDisk(ctx context.Context, over func(error)) {
	if w == nil || w.Spec.Limits.Disk <= 0 {
		return
	}
	folders := append([]string{w.run.Private}, w.run.Also...)
	if !safefile.Within(w.Spec.Tmp, w.run.Private) {
		folders = append(folders, w.Spec.Tmp)
	}
	if w.run.Write {
		folders = append(folders, w.run.Dir)
	}
	if w.run.Git != nil {
		folders = append(folders, w.run.Git.Git)
	}
	if w.Cache != "" {
		folders = append(folders, w.Cache)
	}
	folders = append(folders, w.kept...)
	watchDisk(ctx, w.Spec.Limits.Disk, folders, func(folder string, grown int64) {
		over(fmt.Errorf("%s has grown by %d MB in this run, and %d are allowed; next: liza config sandbox.limits.disk_mb N", folder, grown>>20, w.Spec.Limits.Disk>>20))
	})
}

// Close ends what belongs to the run alone.
func (w *Wall) Close() error {
	var errs []error
	for _, end := range slices.Backward(w.close) {
		errs = append(errs, end())
	}
	w.close = nil
	return errors.Join(errs...)
}

// mostOfLink is more than the bytes of a worktree's file .git.
const mostOfLink = 4096 + 100

// gitToRead is what git needs of a repository to look at the worktree dir: history and branches, not the
// configuration, which may have addresses with passwords, and nothing of Liza's.
func gitToRead(common, dir string, level sandbox.Level) []string {
	var paths []string
	if level == sandbox.Partial { // there it cannot be hidden as if it were not there, and git stops at what it may not read
		paths = append(paths, filepath.Join(common, "config"))
	}
	for _, name := range []string{"HEAD", "refs", "packed-refs", "objects", "info", "shallow"} {
		paths = append(paths, filepath.Join(common, name))
	}
	if admin := linkedTo(common, dir); admin != "" {
		paths = append(paths, admin)
	}
	return paths
}

// A disk is looked at every diskPause, or less often: so that looking takes a twentieth of the time at most.
const (
	diskPause = 5 * time.Second
	diskShare = 20
)

// watchDisk looks at folders until ctx ends. When one of them has grown by more than limit bytes since the beginning, it calls over, once,
// and returns. What the memory file systems of a wall hold is bounded by themselves.
func watchDisk(ctx context.Context, limit int64, folders []string, over func(folder string, grown int64)) {
	if limit <= 0 {
		return
	}
	first := map[string]int64{}
	for {
		began := time.Now()
		for _, folder := range folders {
			size := safefile.SizeOf(ctx, folder)
			before, ok := first[folder]
			if !ok {
				first[folder] = size
			} else if grown := size - before; grown > limit && ctx.Err() == nil {
				over(folder, grown)
				return
			}
		}
		select {
		case <-time.After(max(diskPause, diskShare*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

const (
	privatePrefix = "wall-"     // of the folder that a run has for itself
	privateGuard  = "wall.lock" // held while such folders are made and removed
)

// makePrivate makes the folder that a run has for itself, and holds it until remove is called. Those that killed processes
// have left are removed.
func makePrivate(dir string) (held *os.File, remove func() error, err error) {
	tmp := filepath.Dir(dir)
	if err := safefile.MakeFolder(tmp, 0o755); err != nil {
		return nil, nil, err
	}
	err = guarded(tmp, func() error {
		left := sweep(tmp) // another run does not keep this one from starting
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s cannot be had: %w", dir, cmp.Or(left, errInUse))
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		held, err = hold(dir)
		remove = func() error { return errors.Join(safefile.RemoveTree(dir), held.Close()) }
		return err
	})
	return held, remove, err
}

// RemoveLeft removes the private folders of runs whose process is gone.
func RemoveLeft(tmp string) error {
	if _, err := os.Stat(tmp); err != nil {
		return nil // there has never been one
	}
	return guarded(tmp, func() error { return sweep(tmp) })
}

func guarded(tmp string, do func() error) error {
	guard := flock.New(filepath.Join(tmp, privateGuard))
	if err := guard.Lock(); err != nil {
		return err
	}
	defer guard.Close()
	return do()
}

func sweep(tmp string) (err error) {
	left, _ := filepath.Glob(filepath.Join(tmp, privatePrefix+"*"))
	for _, dir := range left {
		held, busy := hold(dir)
		if busy == nil {
			err = errors.Join(err, safefile.RemoveTree(dir), held.Close())
		}
	}
	return err
}

// hold locks a folder. The lock is beside what the run may change.
func hold(dir string) (*os.File, error) { return safefile.Hold(dir, os.O_RDONLY) }

var errInUse = errors.New("it is in use by another run")
