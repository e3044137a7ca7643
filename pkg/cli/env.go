package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/git"
	"liza/pkg/history"
	"liza/pkg/notify"
	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/secret"
	"liza/pkg/verb"
)

// Env is everything that comes from outside: streams, environment, clock, place. Each
// command gets it; nothing below this package reads the environment or the clock.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	Dir            string // working folder
	Now            func() time.Time
	Executable     func() (string, error) // path of the running program
	Terminal       bool                   // stdout is a terminal
	StdinTerminal  bool
	Signals        func() (<-chan os.Signal, func())
	Strict         bool               // the store proves its promises at each write; for tests
	At             func(point string) // failpoints of tests; may be nil

	// Set by the global options.
	JSON      bool
	Root      string // -C or LIZA_ROOT
	As        string
	LogFormat string

	forgeTokens map[string]string // by kind of forge, once asked for
	password    string            // of the board's database, once it is taken out of the environment

	direct struct{ out, errs io.Writer } // streams that are not masked, for programs of their own
	known  *secret.Set                   // see secrets

	inside    *insideRun // the command came out of a run, over its broker
	ancestors func() []verb.Ancestor
	spawn     func() string   // absolute path of liza-spawn, "" without one
	home      func() string   // of the user, by the system
	shows     bool            // the live view of this process shows alerts
	watches   bool            // a person looks at the board, and may decide something
	host      string          // name of this clone among the hosts of a board; "": the board is a file
	late      *sync.WaitGroup // what is still being written when a command ends
	closing   []func()        // what ends with a command
}

// Std is the environment of a real process.
func Std() *Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	e := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: time.Now,
		Executable: os.Executable, Terminal: isTerminal(os.Stdout), StdinTerminal: isTerminal(os.Stdin),
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return c, func() { signal.Stop(c) }
		},
		home: homeOfUser,
	}
	e.ancestors, e.spawn = sync.OnceValue(e.ancestry), e.spawner()
	return e
}

// A command that ends in a moment need not clean up its memory again and again, and neither need a team, whose
// boards are garbage a moment later. What else goes on for long does (lasting). Who sets GOGC decides.
const rareCollection, usualCollection = 400, 100

func (e *Env) collectRarely() { e.collect(rareCollection) }
func (e *Env) lasting()       { e.collect(usualCollection) }

func (e *Env) collect(percent int) {
	if e.Get("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}

// Get is the value of an environment variable.
func (e *Env) Get(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Find is the project that the command is about.
func (e *Env) Find(ctx context.Context) (*project.Project, error) {
	if e.inside != nil {
		return project.Find(ctx, "", e.inside.run.Root)
	}
	return project.Find(ctx, e.Dir, e.root())
}

// root is the project that was named, "" for none.
func (e *Env) root() string {
	root := cmp.Or(e.Root, e.Get("LIZA_ROOT"))
	if root != "" && !filepath.IsAbs(root) {
		root = filepath.Join(e.Dir, root)
	}
	return root
}

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
		Caller: e.caller(), Run: func() string { return e.Get("LIZA_RUN") }, Proc: e.processes(p.Tmp()), Now: clock(open.Store, e.Now), Random: rand.Reader, NoSpecFiles: e.Get("SKIP_SPEC_FILE_CHECK") == "true",
		Progress: func(text string) { e.Log().Info(text) }, Unsaved: e.unsaved, Notice: func(kind, subject, text string) { e.report(p, kind, subject, text) }}
	d.Version = version
	if open.Proc.Host != "" {
		d.Proc.Host = open.Proc.Host
	}
	d.Enclose = e.enclose(d)
	return d
}

// settings is the configuration now: read again when its file changed.
type settings struct {
	mu      sync.Mutex
	env     *Env
	environ []string // whose variables count
	project *project.Project
	current *config.Config
	stamp   stamp
}

// stamp is size and time of the files of the configuration; it is looked at more than a thousand times for each merged task.
type stamp [2]struct{ size, changed int64 }

func (e *Env) config(p *project.Project, tolerant bool) (*settings, error) {
	s := &settings{env: e, environ: e.Environ, project: p}
	warnings, err := s.load(tolerant)
	e.warnings(warnings)
	return s, err
}

func (s *settings) load(tolerant bool) (warnings []config.Warning, err error) {
	s.stamp = s.look()
	if tolerant {
		s.current, warnings = config.LoadTolerant(s.project.Liza, s.environ)
		return warnings, nil
	}
	s.current, warnings, err = config.Load(s.project.Liza, s.environ)
	return warnings, err
}

// follow takes the settings of an agent's supervisor in the place of those that the agent's own
// shell gives: an agent cannot switch off what it is held to.
func (s *settings) follow(board *blackboard.State, tolerant bool) error {
	if board == nil {
		return nil
	}
	e := board.Agents[s.env.Get("LIZA_AGENT_ID")]
	if e == nil || e.PID == 0 { // a registration by hand has no supervisor
		return nil
	}
	if maps.Equal(config.Handed(s.env.Environ), e.Settings) {
		return nil
	}
	s.environ = config.Under(s.env.Environ, e.Settings)
	_, err := s.load(tolerant)
	return err
}

func (e *Env) warnings(list []config.Warning) {
	for _, w := range list {
		e.Log().Warn(w.String())
	}
}

func (s *settings) look() (now stamp) {
	for i, name := range []string{"config.yaml", "config.json"} {
		if info, err := os.Stat(filepath.Join(s.project.Liza, name)); err == nil {
			now[i].size, now[i].changed = info.Size(), info.ModTime().UnixNano()
		}
	}
	return now
}

// get is the configuration; a changed file acts on the next decision, a broken one not at all.
func (s *settings) get() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.look(); now != s.stamp {
		s.stamp = now
		if cfg, _, err := config.Load(s.project.Liza, s.environ); err != nil {
			text := "the configuration is broken; the last good one stays: " + err.Error()
			s.env.Log().Warn(text)
			s.env.mail(s.project, notify.New("config_invalid", fmt.Sprint(now), text+"; next: liza config validate"))
		} else {
			s.current = cfg
		}
	}
	return s.current
}

// keys is the person's folder for keys, outside of all repositories; "" when nobody says
// where that is.
func (e *Env) keys() string {
	if state := e.Get("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "liza")
	}
	home := e.Get("HOME")
	if !filepath.IsAbs(home) && e.home != nil {
		home = e.home()
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "liza")
}

// homeOfUser is the home folder that the system knows, for when HOME is not set.
func homeOfUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

func (e *Env) caller() verb.Caller {
	c := verb.Caller{AgentID: e.Get("LIZA_AGENT_ID"), Token: e.Get("LIZA_AGENT_TOKEN"), As: e.As, Person: e.Get("USER")}
	if e.inside != nil {
		c.Inside = e.inside.run.Agent
	}
	if c.Person == "" {
		if u, err := user.Current(); err == nil {
			c.Person = u.Username
		}
	}
	return c
}

// secrets are those of the environment, and of .liza/secrets once a project is open. There
// is one set for all that this process writes.
func (e *Env) secrets() *secret.Set {
	if e.known == nil { // serve asks first, before there are several who could
		e.known = new(secret.Set)
		e.known.AddEnviron(e.Environ)
	}
	return e.known
}

// held are the secrets that skills may get from the environment.
func (e *Env) held() *verb.HeldSecrets {
	h := new(verb.HeldSecrets)
	for _, pair := range e.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if own, ok := strings.CutPrefix(name, "LIZA_SECRET_"); ok {
			h.Hold(strings.ToLower(own), value)
		}
	}
	return h
}

// mask lets no secret get to the terminal. The function that it returns writes what is held
// back because it might have been the beginning of one.
func (e *Env) mask() (flush func()) {
	e.direct.out, e.direct.errs = e.Stdout, e.Stderr
	out, errs := e.secrets().Writer(e.Stdout), e.secrets().Writer(e.Stderr)
	e.Stdout, e.Stderr = out, errs
	return func() {
		_ = out.Close() // there is nobody left to tell
		_ = errs.Close()
		e.Stdout, e.Stderr = e.direct.out, e.direct.errs
	}
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

// Log is for diagnostics on stderr.
func (e *Env) Log() *slog.Logger {
	if e.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(e.Stderr, nil))
	}
	return slog.New(&plainHandler{out: e.Stderr})
}

// plainHandler writes level and text of a message for people, and the command that helps.
type plainHandler struct {
	slog.Handler
	out io.Writer
}

func (h *plainHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *plainHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *plainHandler) WithGroup(string) slog.Handler            { return h }
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	level := ""
	if r.Level >= slog.LevelWarn {
		level = strings.ToLower(r.Level.String()) + ": "
	}
	text := level + r.Message + "\n"
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "next" {
			text += "next: " + a.Value.String() + "\n"
		}
		return true
	})
	var shown strings.Builder // names and texts of agents are in it
	for line := range strings.Lines(text) {
		shown.WriteString(prose.Line(strings.TrimSuffix(line, "\n")) + "\n")
	}
	_, err := io.WriteString(h.out, shown.String())
	return err
}

// Print shows the result of a command: one JSON object with --json, else the text.
func (e *Env) Print(result any, format string, args ...any) error {
	if e.JSON {
		return e.printJSON(map[string]any{"ok": true, "result": result})
	}
	_, err := fmt.Fprintf(e.Stdout, format, args...)
	return err
}

func (e *Env) printJSON(v any) error {
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Notices shows warnings that belong to a result, on stderr.
func (e *Env) Notices(list []string) {
	for _, n := range list {
		e.Log().Warn(n)
	}
}

// errDone ends a command whose exit code is not 0 although its output is complete.
type errDone struct{ code int }

func (e *errDone) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is a mistake on the command line.
type usageError struct{ message, next string }

func (e *usageError) Error() string { return e.message }

func usagef(next, format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), next: next}
}

// printRaw prints JSON as it is, or with --json inside the usual object.
func (e *Env) printRaw(key string, v any) error {
	if e.JSON {
		return e.printJSON(map[string]any{"ok": true, "result": map[string]any{key: v}})
	}
	return writeJSON(e.Stdout, v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
