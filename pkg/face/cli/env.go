package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/secret"
	"liza/pkg/code/project"
	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
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

	tree   func(*Env) *urfave.Command    // all commands of liza: what comes out of a run goes through them as well
	direct struct{ out, errs io.Writer } // streams that are not masked, for programs of their own
	known  *secret.Set                   // see secrets

	inside    *insideRun // the command came out of a run, over its broker
	ancestors func() []verb.Ancestor
	spawn     func() string                // absolute path of liza-spawn, "" without one
	home      func() string                // of the user, by the system
	shows     bool                         // the live view of this process shows alerts
	watches   bool                         // a person looks at the board, and may decide something
	host      string                       // name of this clone among the hosts of a board; "": the board is a file
	away      *atomic.Pointer[func() bool] // whether the project folder of a team is not there any more: then diagnostics say nothing
	late      *sync.WaitGroup              // what is still being written when a command ends
	closing   []func()                     // what ends with a command
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

// skipsSpecFiles reports whether SKIP_SPEC_FILE_CHECK says that spec files are not looked for.
func (e *Env) skipsSpecFiles() bool {
	on, _ := strconv.ParseBool(e.Get("SKIP_SPEC_FILE_CHECK"))
	return on
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

// Log is for diagnostics on stderr.
func (e *Env) Log() *slog.Logger {
	if e.away != nil {
		if away := e.away.Load(); away != nil && (*away)() {
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

// insideRun is the run out of which a command came over its broker.
type insideRun struct {
	run     supervisor.InRun
	call    *broker.Call
	service *verb.Service // of the supervisor, whose settings and filters were read before any agent could change them
}

// version is stamped by the linker (-X liza/pkg/face/cli.version=…).
var version = "dev"

// homeFolder is the person's.
func (e *Env) homeFolder() string {
	if home := e.Get("HOME"); filepath.IsAbs(home) || e.home == nil {
		return filepath.Clean(home)
	}
	return e.home()
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
		home: homeOfUser, away: new(atomic.Pointer[func() bool]),
	}
	e.ancestors, e.spawn = sync.OnceValue(e.ancestry), e.spawner()
	return e
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
func (e *Env) ancestry() []verb.Ancestor {
	up := []verb.Ancestor{ancestorOf(agent.Process{Pid: os.Getpid()}, e.Environ)}
	for _, p := range agent.Ancestors(os.Getpid()) {
		up = append(up, ancestorOf(p, agent.Environ(p.Pid)))
	}
	return up
}

func ancestorOf(p agent.Process, environ []string) verb.Ancestor {
	own := Env{Environ: environ}
	a := verb.Ancestor{PID: p.Pid, Start: p.Start, Root: own.Get("LIZA_ROOT"), Run: own.Get("LIZA_RUN"), Name: own.Get("LIZA_AGENT_ID"),
		Folders: []string{own.Get("LIZA_WORKTREE"), own.Get("PWD"), cmp.Or(own.Get("TMPDIR"), "/tmp")}}
	if job := own.Get(review.JobVariable); job != "" && a.Run == "" {
		a.Root, a.Run, a.Name = job, "job", ""
	}
	return a
}
