// Package assembly puts a process together: it finds the project, opens its board (a file or a database) and its repository
// with the settings of the moment, says who calls, contains what agents wrote, and raises alerts and notifications. Faces
// ask an Environment for a service and know nothing of the parts.
package assembly

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/base/secret"
	"liza/pkg/code/project"
	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// An Environment is everything that a process gets from outside: streams, environment variables, clock and place. It opens the
// project, its board and its repository with them. Nothing below this package reads the environment or the clock.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	Dir            string // working folder
	Now            func() time.Time
	Executable     func() (string, error) // path of the running program
	Signals        func() (<-chan os.Signal, func())
	Strict         bool               // the store proves its promises at each write; for tests
	At             func(point string) // failpoints of tests; may be nil
	Version        string             // of the program

	Root      string // of the project, as it was named; LIZA_ROOT counts as well
	As        string // agent for which a person acts
	LogFormat string // of diagnostics: text or json

	Within    *Within                      // the command came out of a run, over its broker
	Ancestors func() []board.Ancestor      // processes above this one; nil: none are known
	Password  string                       // of the board's database, once it is taken out of the environment
	Shows     bool                         // the live view of this process shows alerts
	Watches   bool                         // a person looks at the board, and may decide something
	Away      *atomic.Pointer[func() bool] // reports that the project folder of a team is gone: then diagnostics say nothing
	Late      *sync.WaitGroup              // what is still being written when a command ends

	known   *secret.Set   // see Secrets
	spawn   func() string // absolute path of liza-spawn, "" without one
	home    func() string // of the user, by the system
	host    string        // name of this clone among the hosts of a board; "": the board is a file
	closing []func()      // what ends with a command
}

// A Within is the run out of which a command came.
type Within struct {
	Run     supervisor.InRun
	Service *verb.Service // of the supervisor, whose settings and filters were read before any agent could change them
}

// FromSystem returns the environment of a real process, without what only a terminal has.
func FromSystem(version string) Environment {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: time.Now, Executable: os.Executable, Version: version,
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return c, func() { signal.Stop(c) }
		},
		home: homeOfUser, Away: new(atomic.Pointer[func() bool])}
}

// FindProcesses looks for the programs and processes that belong to this one, when they are asked for. e must not move afterwards.
func (e *Environment) FindProcesses() {
	e.Ancestors, e.spawn = sync.OnceValue(e.Ancestry), e.spawner()
}

// ForRun returns the environment of a command that came out of a run, with the variables of that run.
func (e *Environment) ForRun(w *Within, call *broker.Call) Environment {
	in := Environment{Stdin: call.Stdin, Stdout: told{call.Stdout, w.Run.Place}, Stderr: told{call.Stderr, w.Run.Place}, Dir: w.Run.Place.Outside(call.Dir), Now: e.Now, Executable: e.Executable, Version: e.Version,
		Strict: e.Strict, spawn: e.spawn, home: e.home, Within: w, known: e.Secrets()}
	in.Environ = append(slices.Clone(e.Environ), "LIZA_AGENT_ID="+w.Run.Agent, "LIZA_AGENT_TOKEN="+w.Run.Token, "LIZA_RUN="+w.Run.Mark, "LIZA_TASK_ID="+w.Run.Task,
		"LIZA_ROOT="+w.Run.Root)
	return in
}

// told writes what a command out of a run says with the paths that the run has.
type told struct {
	io.Writer
	place sandbox.Place
}

func (t told) Write(text []byte) (int, error) {
	_, err := t.Writer.Write([]byte(t.place.Text(string(text))))
	return len(text), err
}

// CloseAfter ends with e what was opened with other.
func (e *Environment) CloseAfter(other *Environment) { e.closing = append(e.closing, other.closing...) }

// A command that ends in a moment need not clean up its memory again and again, and neither need a team, whose
// boards are garbage a moment later. What else goes on for long does (lasting). Who sets GOGC decides.
const rareCollection, usualCollection = 400, 100

func (e *Environment) CollectRarely() { e.collect(rareCollection) }
func (e *Environment) Lasting()       { e.collect(usualCollection) }

func (e *Environment) collect(percent int) {
	if e.Get("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Get is the value of an environment variable.
func (e *Environment) Get(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Find is the project that the command is about.
func (e *Environment) Find(ctx context.Context) (*project.Project, error) {
	if e.Within != nil {
		return project.Find(ctx, "", e.Within.Run.Root)
	}
	return project.Find(ctx, e.Dir, e.Named())
}

// root is the project that was named, "" for none.
func (e *Environment) Named() string {
	root := cmp.Or(e.Root, e.Get("LIZA_ROOT"))
	if root != "" && !filepath.IsAbs(root) {
		root = filepath.Join(e.Dir, root)
	}
	return root
}

// keys is the person's folder for keys, outside of all repositories; "" when nobody says
// where that is.
func (e *Environment) Keys() string {
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

// projects is the folder in which each project of this person has a file with its path: no lock, so it keeps nobody waiting.
func (e *Environment) projects() string {
	if dir := e.Keys(); dir != "" {
		return filepath.Join(dir, "projects")
	}
	return ""
}

// RememberProject lists a project as one of this person. Where that cannot be written the project is not listed.
func (e *Environment) RememberProject(root string) {
	dir := e.projects()
	name := sha256.Sum256([]byte(root))
	file := filepath.Join(dir, hex.EncodeToString(name[:8]))
	if dir == "" || e.Within != nil {
		return
	}
	if at, err := safefile.Read(file); err == nil && string(at) == root {
		return
	}
	if safefile.MakeFolder(dir, 0o700) == nil {
		_ = safefile.Replace(file, []byte(root), 0o600)
	}
}

// maxProjects is how many projects are listed.
const maxProjects = 200

// Projects are the folders of this person's projects, sorted. Those that are gone are forgotten.
func (e *Environment) Projects() (roots []string) {
	dir := e.projects()
	entries, _ := os.ReadDir(dir) // without it there are none
	for _, entry := range entries[:min(len(entries), maxProjects)] {
		file := filepath.Join(dir, entry.Name())
		root, err := safefile.Read(file)
		if err != nil || !filepath.IsAbs(string(root)) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(string(root), ".liza")); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(file)
			continue
		}
		roots = append(roots, string(root))
	}
	slices.Sort(roots)
	return roots
}

// In returns the environment of the same person in another project.
func (e *Environment) In(root string) *Environment {
	at := *e
	at.Root, at.As, at.Within, at.host, at.closing, at.Watches = root, "", nil, "", nil, true
	return &at
}

// zone is the name of the person's time zone, "" when the machine does not tell it.
func (e *Environment) zone() string {
	if name := strings.TrimPrefix(e.Get("TZ"), ":"); name != "" {
		return name
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(link, "zoneinfo/")
		return name
	}
	if _, err := os.Lstat("/etc/localtime"); err != nil {
		return "UTC" // as for every program
	}
	name, _ := safefile.Read("/etc/timezone")
	return strings.TrimSpace(string(name))
}

// skipsSpecFiles reports whether SKIP_SPEC_FILE_CHECK says that spec files are not looked for.
func (e *Environment) SkipsSpecFiles() bool {
	on, _ := strconv.ParseBool(e.Get("SKIP_SPEC_FILE_CHECK"))
	return on
}

func (e *Environment) Caller() board.Caller {
	c := board.Caller{AgentID: e.Get("LIZA_AGENT_ID"), Token: e.Get("LIZA_AGENT_TOKEN"), As: e.As, Person: e.Get("USER")}
	if e.Within != nil {
		c.Inside = e.Within.Run.Agent
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
func (e *Environment) Secrets() *secret.Set {
	if e.known == nil { // serve asks first, before there are several who could
		e.known = new(secret.Set)
		e.known.AddEnviron(e.Environ)
	}
	return e.known
}

// held are the secrets that skills may get from the environment.
func (e *Environment) held() *board.HeldSecrets {
	h := new(board.HeldSecrets)
	for _, pair := range e.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if own, ok := strings.CutPrefix(name, "LIZA_SECRET_"); ok {
			h.Hold(strings.ToLower(own), value)
		}
	}
	return h
}

// homeFolder is the person's.
func (e *Environment) homeFolder() string {
	if home := e.Get("HOME"); filepath.IsAbs(home) || e.home == nil {
		return filepath.Clean(home)
	}
	return e.home()
}

// homeOfUser is the home folder that the system knows, for when HOME is not set.
func homeOfUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// ancestry are this process and those that it descends from now.
func (e *Environment) Ancestry() []board.Ancestor {
	up := []board.Ancestor{ancestorOf(agent.Process{Pid: os.Getpid()}, e.Environ)}
	for _, p := range agent.Ancestors(os.Getpid()) {
		up = append(up, ancestorOf(p, agent.Environ(p.Pid)))
	}
	return up
}

func ancestorOf(p agent.Process, environ []string) board.Ancestor {
	own := Environment{Environ: environ}
	a := board.Ancestor{PID: p.Pid, Start: p.Start, Root: own.Get("LIZA_ROOT"), Run: own.Get("LIZA_RUN"), Name: own.Get("LIZA_AGENT_ID"),
		Folders: []string{own.Get("LIZA_WORKTREE"), own.Get("PWD"), cmp.Or(own.Get("TMPDIR"), "/tmp")}}
	if job := own.Get(review.JobVariable); job != "" && a.Run == "" {
		a.Root, a.Run, a.Name = job, "job", ""
	}
	return a
}

// Log is for diagnostics on stderr.
func (e *Environment) Log() *slog.Logger {
	if e.Away != nil {
		if away := e.Away.Load(); away != nil && (*away)() {
			return slog.New(slog.DiscardHandler)
		}
	}
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
