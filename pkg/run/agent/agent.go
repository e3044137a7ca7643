package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"liza/pkg/base/prose"
)

// Spec describes one run of an agent program.
type Spec struct {
	Dir        string // working folder
	At         string // the path that it has for the program; "": Dir
	Prompt     string // the exact bytes handed over
	PromptFile string // the file that holds them, for programs that read a file
	SchemaFile string // the file with the exit command's JSON Schema, for programs whose arguments name it

	// The JSON Schema of this run's answer, for programs that enforce one; "" for none.
	Schema           string
	StrictSchemaFile string   // the file with its strict form
	Budget           float64  // US dollars that the run may cost, for programs that end themselves there; 0 = no limit
	Env              []string // NAME=value, added last: the LIZA_* variables of this run (specs/cli.md#5)
	Unset            []string // names of inherited variables to leave out; a trailing * stands for any ending

	NoTools  bool   // it only writes a text
	Model    string // "" = the program's own default
	Role     string
	TaskID   string
	Worktree string
	Liza     string // absolute path of liza, whose MCP server the program is told of, if it can be; "" = of none
	Session  string // conversation to resume, for programs that can

	Timeout   time.Duration // of the whole run; 0 = none
	Stall     time.Duration // without output and without Activity; 0 = none
	KillGrace time.Duration // from TERM to KILL; 0 = DefaultKillGrace

	// Reaper are the arguments, the name first, with which a program becomes a reaper
	// (Reap), below which the run takes place. Without one, and elsewhere than on Linux, what
	// detaches itself and empties its environment cannot be found.
	Reaper []string
	Spawn  string // the absolute path of that program; "": this very one, also when its file has been replaced meanwhile

	// Contain, when set, puts the program behind a wall: it gets what would be started and returns what is
	// started in its place.
	// Below a Reaper it ends with it.
	Contain func(path string, argv, env []string) (Contained, error)

	// Keep lets the run outlive this process, below a Reaper and without a Terminal; nil: it ends with it.
	Keep *Keep
	// Door is, without Keep, a Unix socket that listens: Dial finds the reaper there.
	Door *os.File
	// Adopted is a run under way, which is followed instead of a start.
	Adopted *Adopted

	tied     bool   // all of it ends with this process
	mode     string // of the session, in a protocol that has them
	prompted bool   // the program gets the prompt on its stdin
	run      string

	// Terminal is that of a person who works with the program; nil: nobody does. Then there is
	// neither a Timeout nor a Stall, and no Output and no Event.
	Terminal *Terminal

	// Output gets stdout and stderr in whole lines as they come; nil = nowhere. It is never
	// written to by two goroutines at a time. An error ends the copying, not the run.
	Output io.Writer

	// Activity tells when something else that counts as life was last seen, e.g. a change of
	// the worktree. It is asked only when the output has been silent for Stall. May be nil.
	Activity func() time.Time

	// Event is called for each thing that the program tells, in order, one at a time. Usage
	// in it is the run's so far, so a budget can be watched. May be nil.
	Event func(Event)

	// Spoken is called once, when the prompt is on its way to a program that takes texts while it works (Info.Dialogue): say
	// hands one over without waiting for the program. ErrSilent says that it takes none any more. May be nil.
	Spoken func(say func(Text) error)
	Idle   func() // called when a program that takes texts has ended its turn, before it gets the end of its input; may be nil
	Said   []Text // texts that were given to a run that is Adopted, and may not have been heard

	// Started is called once, right after the spawn and before the prompt is handed over. An
	// error stops the program: Outcome Killed. May be nil.
	Started func(Process) error
}

// DefaultKillGrace is the time from TERM to KILL when a Spec names none.
const DefaultKillGrace = 10 * time.Second

// Outcome says in a word how a run ended.
type Outcome string

const (
	Finished    Outcome = "finished"     // ended by itself and reports no failure
	Reask       Outcome = "reask"        // ended by itself without a usable answer: cut off, or none at all
	Stopped     Outcome = "stopped"      // the program's own limit of turns or money ended it
	Crashed     Outcome = "crashed"      // ended with a failure of its own, or without its end event
	TimedOut    Outcome = "timeout"      // stopped at Spec.Timeout
	Stalled     Outcome = "stalled"      // stopped after Spec.Stall without a sign of life
	Asked       Outcome = "asked"        // stopped because it waited for somebody to answer: Result.Question
	Refused     Outcome = "refused"      // the model refuses what it was asked for: Result.Question has its words
	Killed      Outcome = "killed"       // stopped because the context ended or Started refused
	RateLimited Outcome = "rate_limit"   // the provider asks for patience: seconds to minutes
	Overloaded  Outcome = "overloaded"   // the provider fails or is at capacity
	Network     Outcome = "network"      // the provider could not be reached
	QuotaWindow Outcome = "quota"        // a plan's limit is used up until a reset time
	Unusable    Outcome = "unusable"     // no login, no credit, no such model, bad configuration: a person is needed
	ContextFull Outcome = "context_full" // the conversation no longer fits into the model's context
)

// Transient reports whether the same run may succeed a little later without any change.
func (o Outcome) Transient() bool {
	return o == RateLimited || o == Overloaded || o == Network
}

// Result says how a run ended. Outcome is the word to act on; a crashed run may still have a
// final message, and anyone who acts looks for an exit command in it first (specs/protocol.md#13.3.1).
type Result struct {
	Outcome  Outcome
	ExitCode int    // -1 when it was killed by a signal or never started
	Signal   string // name of the signal that killed it, e.g. SIGKILL

	Final   string   // the program's final message, else the end of its stdout; at most MaxFinal bytes
	Tail    []string // the last lines of stdout and stderr together
	Error   string   // one line for people; empty when finished
	Usage   Usage
	Session string // conversation that can be resumed; empty when there is none

	NoSession bool // the conversation that was to be resumed is not known to the program
	Tools     int  // calls of tools that were seen
	Unknown   int  // lines that the reader does not know; they do no harm

	// Signature says by what the outcome was recognised, e.g. "status 429", and Evidence is the
	// line that showed it, shortened; EvidenceLine is its number in stdout, 0 = elsewhere.
	Signature    string
	Evidence     string
	EvidenceLine int

	Question *Question // what it asked on its terminal, or the words of a refusal: Outcome is Asked or Refused

	RetryAfter time.Duration // as told by the provider; 0 = not told
	ResetAt    time.Time     // end of a quota window; zero = not told

	Restart bool // the program asked to be started again (specs/decisions.md#D20); Outcome is then Crashed

	Seconds     float64
	Left        []Process // what could not be stopped; almost always empty
	OutputError error     // the first error of Spec.Output, which misses what came after

	Recorded func() `json:"-"` // ends the keeping of a run whose end is recorded now; nil: it is over (Spec.Keep)
}

const (
	// MaxFinal is the longest Result.Final, in bytes; of a longer message the end is kept.
	MaxFinal = 1 << 20
	// MaxLine is the longest line that a Reader gets; longer ones go to Output only.
	MaxLine = 8 << 20

	tailLines    = 20
	tailLineSize = 4 << 10
	stderrSize   = 64 << 10
)

// Terminal is a person's terminal, which a program gets for as long as it runs (specs/cli.md#5, -i).
// The program's group is in the foreground: it reads the keys, Ctrl-C is its own, and Ctrl-Z
// halts both of us, as a shell expects of a job. In the background this process goes on, so
// that anyone who keeps a lease can.
type Terminal struct {
	In, Out, Err *os.File

	// Lent is called when the program gets the terminal and when it is back. May be nil.
	Lent func(lent bool)
}

// An Adapter knows one agent program: how to start it and how to read what it prints.
type Adapter interface {
	// Info says what is known of the program.
	Info() Info
	// Command says how to start the program for a run.
	Command(Spec) (Command, error)
	// Interactive says how to open the program in a person's terminal, with the prompt ready.
	Interactive(Spec) (Command, error)
	// Reader returns a fresh reader for one run.
	Reader(Spec) Reader
}

// Info is what is known of a program.
type Info struct {
	Name        string
	Binary      string
	About       string
	Provider    string   // whose models it uses; "" = it depends on the model
	Status      string   // measured, documented, unverified; "" = the project's own
	Checked     string   // the version that was measured
	Output      string   // its reader
	Resumes     bool     // Spec.Session is of use
	Schema      bool     // Spec.SchemaFile is of use
	Enforces    bool     // Spec.Schema and Spec.StrictSchemaFile are
	AnswerTool  string   // takes the last answer in the form of the schema; "": it is printed
	Dialogue    bool     // Spec.Spoken is of use
	Interrupts  bool     // a text that is said while it works ends its turn
	Interactive bool     // it can be opened in a terminal with the prompt ready
	Overridden  bool     // the project has changed keys of the built-in entry
	Accounts    []string // NAME@ACCOUNT is the program with the settings of one
	Needs       Needs    // where it is contained
}

// Command is how to start a program.
type Command struct {
	Argv  []string
	Env   []string // NAME=value, added to the inherited environment
	Unset []string // as Spec.Unset
	Stdin bool     // the prompt goes to stdin; otherwise stdin is empty

	dialogue dialogue // how it is spoken to while it works; nil: it is not

	// RestartCode is the exit code by which the program asks to be started again; 0 = none.
	RestartCode int
	// EndGrace is how long the program may live on after its end event; 0 = for ever.
	EndGrace time.Duration
}

// A Reader follows the output of one run. Each format translates its program's lines into
// events, once; nobody else searches output for words.
type Reader interface {
	// Line takes one line of stdout without its newline; the bytes are valid during the call
	// only. It reports whether the program has, as far as is known now, said its last word.
	Line(line []byte) (ended bool)
	// End is called once, after the last line. It fills in what the output tells; ExitCode,
	// Signal, Tail, Seconds and what follows are Run's.
	End(Exit) Result
}

// Exit is what a Reader is told about the end of a process.
type Exit struct {
	Code    int    // -1 when killed by a signal
	Signal  string // e.g. SIGKILL
	Unknown bool   // neither is known: the output was recorded
	Stdout  []byte // the last MaxFinal bytes
	Stderr  []byte // the last 64 KiB
	After   []byte // what of Stderr came after the last line of stdout; nil: not known
	At      time.Time
}

// killed reports whether a signal ended the process, also where a shell or the program itself says that with its exit code.
func (e Exit) killed() bool { return e.Signal != "" || e.Code > 128 }

// Scripted is the name of the built-in agent that follows a scenario.
const Scripted = "scripted"

// restartCode is the exit code by which a project's own program, or a scripted one, asks to be
// started again (specs/decisions.md#D20).
const restartCode = 42

// schemaFile stands for the file with the exit command's JSON Schema.
const schemaFile = "{{.SchemaFile}}"

// What stands for Spec.Schema, Spec.StrictSchemaFile, Spec.Budget and the name of a tool that is off.
const (
	answerSchema     = "{{.Schema}}"
	strictSchemaFile = "{{.StrictSchemaFile}}"
	budget           = "{{.Budget}}"
	tool             = "{{.Tool}}"
)

// Run starts the program, watches it, and returns when it and everything that it started has
// ended. The end of ctx stops it: Outcome Killed. Run never returns an error: what could not
// be done is an outcome too.
func Run(ctx context.Context, a Adapter, s Spec) Result {
	if ctx.Err() != nil {
		return notStarted(Killed, fmt.Errorf("stopped: %v", context.Cause(ctx)))
	}
	if s.KillGrace == 0 {
		s.KillGrace = DefaultKillGrace
	}
	if s.Terminal != nil {
		return runInteractive(ctx, a, s)
	}
	cmd, err := a.Command(s)
	if err != nil {
		return notStarted(Unusable, err)
	}
	s.prompted = cmd.Stdin
	var repeats atomic.Bool
	if hear := s.Event; hear != nil && s.Adopted != nil {
		s.Event = func(e Event) {
			e.Again = repeats.Load()
			hear(e)
		}
	}
	reader := a.Reader(s)
	var talk *speaker
	if cmd.dialogue != nil {
		talk = speaking(reader, cmd.dialogue, s)
		reader = talk
	}
	var c *child
	var res Result
	if s.Adopted != nil {
		c = s.Adopted.follow(reader, s, &repeats)
	} else {
		c, res = start(reader, cmd, s)
	}
	if c == nil {
		return res
	}
	if c.talk = talk; talk != nil {
		if in, ok := c.prompt.(*input); ok {
			in.live = true
		}
	}
	cause, why := c.begin(s)
	if cause == "" {
		c.out.caught.Wait() // how an adopted run ends is not asked before what it has said is known
		cause, why = c.watch(ctx, cmd, s)
	}
	if cause == Asked {
		s.KillGrace = min(s.KillGrace, askGrace)
	}
	if c.reaper != nil {
		c.reaper.hold = cause == "" && (s.Keep != nil || s.Adopted != nil)
	}
	left := c.end(s.KillGrace)
	res = c.result(cmd, cause, why, left)
	if c.reaper != nil && c.reaper.holding() {
		res.Recorded = c.reap
	}
	return res
}

// EventKind says what an Event tells.
type EventKind string

const (
	EventSession EventKind = "session" // Session: the conversation that can be resumed
	EventText    EventKind = "text"    // Text: what the model said
	EventTool    EventKind = "tool"    // Text: the name of the tool that is called; Input: what it was given
	EventResult  EventKind = "result"  // Text: what a tool answered, shortened
	EventOutput  EventKind = "output"  // Text: a line of a program that prints text
	EventUsage   EventKind = "usage"   // Usage: what the run has consumed so far
	EventLimit   EventKind = "limit"   // a plan's limit is used up; ResetAt when it is told
	EventError   EventKind = "error"   // the provider or the program refused; Retry when it tries again by itself
	EventTurn    EventKind = "turn"    // the work goes on
	EventHeard   EventKind = "heard"   // Text: the id of a Text that the model has from now on
	EventFinal   EventKind = "final"   // the last word; Failed when the program calls it a failure
	EventOther   EventKind = "other"   // a line of JSON that the reader does not know
)

// Event is one thing that an agent program tells while it runs. The readers of all programs
// make the same events, so nobody else has to know a program's format.
type Event struct {
	Kind  EventKind
	Again bool   // it was told to the process from which the run was adopted
	Line  int    // of stdout, from 1
	Text  string // the words, at most MaxFinal bytes
	More  bool   // text: goes on where the text before ended

	Input string // of a tool, in one line; paths below the working folder are relative to it

	Session string
	Usage   Usage

	Failed     bool
	Retry      bool
	Word       string // the program's own word for what is wrong, e.g. rate_limit
	Status     int    // of the provider's HTTP answer
	RetryAfter time.Duration
	ResetAt    time.Time
}

// Usage is what a run consumed, as far as the program tells. Unknown is never shown as zero (specs/decisions.md#D25).
type Usage struct {
	CostKnown    bool
	CostCents    float64 // to four decimals
	TokensKnown  bool
	TokensIn     int // all of them, those read from a cache or written to it included
	TokensOut    int
	TokensCached int // the part of TokensIn that was read from a cache

	// WholeSession: these are the figures of the resumed conversation from its beginning, not
	// of this run. What was recorded for its earlier runs has to be taken off.
	WholeSession bool
}

// scripted is the adapter of the built-in scripted agent (specs/cli.md#6): the running liza, as a real
// child process.
type scripted struct {
	liza     string
	scenario string
}

func (s scripted) Info() Info {
	return Info{Name: Scripted, Binary: s.liza, About: "the built-in scripted agent", Output: formatScripted, Needs: Needs{Measured: true}.and(builtin().Common.Sandbox)}
}

func (s scripted) Interactive(Spec) (Command, error) {
	return Command{}, errors.New("cannot open the scripted agent in a terminal: it reads its scenario only")
}

func (s scripted) Command(Spec) (Command, error) {
	return Command{
		Argv:        []string{s.liza, "scripted-agent", "--scenario", s.scenario},
		Stdin:       true,
		RestartCode: restartCode,
	}, nil
}

func (s scripted) Reader(spec Spec) Reader {
	return &scriptedReader{lineTeller: lineTeller{listen: spec.Event}}
}

// Versions remembers what programs said when they were asked for their version, for as long as
// their files are what they were.
type Versions struct {
	Ask Ask // nil: nothing contains the programs

	mu    sync.Mutex
	known map[string]string // by file, size and time
}

// versionTimeout is how long a run waits for the version of its program, once a process.
const versionTimeout = 15 * time.Second

// versionNumber is what is taken of the line that a program prints.
var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+[\w.+-]*`) })

// Of is the version of a program, "" when it does not tell.
func (v *Versions) Of(ctx context.Context, a Adapter) string {
	p, ok := a.(*entryProgram)
	if !ok || len(p.entry.Version) == 0 {
		return ""
	}
	path, err := exec.LookPath(p.entry.Version[0])
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	key := fmt.Sprint(p.name, " ", path, " ", info.Size(), " ", info.ModTime().UnixNano())
	v.mu.Lock() // also while it is asked: who wants the same waits for it
	defer v.mu.Unlock()
	if version, ok := v.known[key]; ok {
		return version
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	said, _ := p.ask(ctx, v.Ask, p.entry.Version)
	version := versionNumber().FindString(versionLine(said))
	if v.known == nil {
		v.known = map[string]string{}
	}
	v.known[key] = version
	return version
}

// versionLine is the first line with a number of a version that does not warn of what runs the program, such as node; "" without one.
func versionLine(said string) string {
	for line := range strings.Lines(prose.Plain(said)) {
		if versionNumber().MatchString(line) && !runnerWarning().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// runnerWarning is a line of node, npm, python and the like about themselves.
var runnerWarning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bwarn(?:ing)?\b|warning:|^\s*\((?:node|use)\b`) })

// Probed is what an installed program says about itself.
type Probed struct {
	Path    string   // "" when it is not installed
	Version string   // the line with its version
	Missing []string // words that its help should have, and has not
}

// probeTimeout is how long a program may take to print its version or its help.
const probeTimeout = 20 * time.Second

// Probe asks an installed program for its version and looks whether its help still names what
// the entry relies on. Versions move: this is for people who ask why a program does not work.
// With ask nil nothing contains the program.
func Probe(ctx context.Context, a Adapter, ask Ask) (Probed, error) {
	p, ok := a.(*entryProgram)
	if !ok {
		return Probed{}, nil
	}
	path, err := exec.LookPath(p.entry.Command[0])
	if err != nil {
		return Probed{}, nil
	}
	found := Probed{Path: path}
	if len(p.entry.Version) > 0 {
		said, err := p.ask(ctx, ask, p.entry.Version)
		if err != nil {
			return found, err
		}
		found.Version = versionLine(said)
	}
	if len(p.entry.Help) == 0 || len(p.entry.Needs) == 0 {
		return found, nil
	}
	help, err := p.ask(ctx, ask, p.entry.Help)
	if err != nil {
		return found, err
	}
	for _, word := range p.entry.Needs {
		if !strings.Contains(help, word) {
			found.Missing = append(found.Missing, word)
		}
	}
	return found, nil
}

// An Ask runs argv in the folder dir with exactly the environment env, writes what it prints to out, and returns its exit
// code. err says that it was not started or had to be stopped.
type Ask func(ctx context.Context, dir string, argv, env []string, out io.Writer) (exit int, err error)

// ask runs a program that prints something and ends. It has an empty home folder, because some programs leave files there
// when they are asked for their version; one that fails with that, such as the shim of a version manager, has the person's.
func (p *entryProgram) ask(ctx context.Context, ask Ask, argv []string) (string, error) {
	dir, err := os.MkdirTemp("", "liza-ask-")
	if err != nil {
		return "", fmt.Errorf("cannot ask %s: %v", p.name, err)
	}
	defer os.RemoveAll(dir)
	if ask == nil {
		ask = askOpenly
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot ask %s: %v", p.name, err)
	}
	argv = append([]string{path}, argv[1:]...)
	cmd := p.start(argv, Spec{}, "")
	said, exit, err := p.answer(ctx, ask, dir, argv, Command{Env: append(slices.Clone(cmd.Env), "HOME="+dir), Unset: slices.AppendSeq(slices.Clone(cmd.Unset), maps.Keys(p.needs().Folders))})
	if exit != 0 {
		said, _, err = p.answer(ctx, ask, dir, argv, cmd)
	}
	return said, err
}

// answer returns what the program prints and its exit code. It is an error when it prints nothing and fails.
func (p *entryProgram) answer(ctx context.Context, ask Ask, dir string, argv []string, cmd Command) (text string, exit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var said limited
	exit, err = ask(ctx, dir, argv, environment(os.Environ(), cmd, Spec{}, "probe"), &said)
	if err == nil && exit != 0 && len(said.text) == 0 {
		err = fmt.Errorf("exit status %d", exit)
	}
	shown := strings.Join(argv, " ")
	switch {
	case ctx.Err() != nil:
		return "", 0, fmt.Errorf("cannot ask %s: `%s` has not ended after %s", p.name, shown, probeTimeout)
	case err != nil:
		return "", exit, fmt.Errorf("cannot ask %s: `%s` failed: %v", p.name, shown, err)
	}
	return string(said.text), exit, nil
}

// askOpenly is an Ask where nothing contains the program.
func askOpenly(ctx context.Context, dir string, argv, env []string, out io.Writer) (exit int, err error) {
	x := exec.CommandContext(ctx, argv[0], argv[1:]...)
	x.Dir, x.Env, x.Stdout, x.Stderr = dir, env, out, out
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	x.Cancel = func() error { return syscall.Kill(-x.Process.Pid, syscall.SIGKILL) }
	x.WaitDelay = time.Second
	err = x.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode(), nil
	}
	return 0, err
}

// limited keeps the beginning of what is written to it.
type limited struct{ text []byte }

func (l *limited) Write(data []byte) (int, error) {
	l.text = append(l.text, data[:min(len(data), stderrSize-len(l.text))]...)
	return len(data), nil
}
