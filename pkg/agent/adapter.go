package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
	Provider    string // whose models it uses; "" = it depends on the model
	Status      string // measured, documented, unverified; "" = the project's own
	Checked     string // the version that was measured
	Output      string // its reader
	Resumes     bool   // Spec.Session is of use
	Schema      bool   // Spec.SchemaFile is of use
	Interactive bool   // it can be opened in a terminal with the prompt ready
	Overridden  bool   // the project has changed keys of the built-in entry
	Needs       Needs  // where it is contained
}

// Command is how to start a program.
type Command struct {
	Argv  []string
	Env   []string // NAME=value, added to the inherited environment
	Unset []string // as Spec.Unset
	Stdin bool     // the prompt goes to stdin; otherwise stdin is empty

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

// Options is what Lookup needs to know about this program.
type Options struct {
	Custom   map[string]Entry // agents: of the project: its own programs, and changes of built-in ones
	Root     string           // of the project: relative paths of its entries begin there
	Liza     string           // absolute path of the running liza, for the scripted agent
	Scenario string           // scenario file of the scripted agent
}

// Scripted is the name of the built-in agent that follows a scenario.
const Scripted = "scripted"

// Lookup returns the adapter of that name: the catalogue's entry with the project's changes,
// or the project's own.
func Lookup(name string, o Options) (Adapter, error) {
	own, isOwn := o.Custom[name]
	own = own.at(o.Root)
	base, isBuiltin := builtin().Programs[name]
	switch {
	case isBuiltin:
		return newProgram(name, own.over(base), isOwn)
	case isOwn:
		return newProgram(name, own.over(Entry{Prompt: promptStdin, Output: formatText, RestartCode: restartCode}), false)
	case name == Scripted:
		return newScripted(o)
	}
	known := Names()
	for n := range o.Custom {
		known = append(known, n)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("cannot find the agent program %q; known are %s", name, strings.Join(slices.Compact(known), ", "))
}

func newScripted(o Options) (Adapter, error) {
	if o.Scenario == "" {
		return nil, fmt.Errorf("cannot use the scripted agent without a scenario file")
	}
	// The child works elsewhere, so a relative path would name another file there.
	scenario, err := filepath.Abs(o.Scenario)
	if err != nil {
		return nil, fmt.Errorf("cannot find the scenario file %s: %v", o.Scenario, err)
	}
	return scripted{liza: o.Liza, scenario: scenario}, nil
}

func newProgram(name string, e Entry, overridden bool) (Adapter, error) {
	problems := e.problems()
	if !programName().MatchString(name) {
		problems = append(problems, fmt.Errorf("its name has other characters than letters, digits, dots and dashes"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.%v", name, name, problems[0])
	}
	rules, err := newRules(e.ExitCodes, e.Signatures, builtin().common)
	if err != nil {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.%v", name, name, err)
	}
	return &entryProgram{name: name, entry: e, rules: rules, root: os.Geteuid() == 0, overridden: overridden}, nil
}
