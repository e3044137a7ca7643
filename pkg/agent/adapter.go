package agent

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Adapter knows one agent program: how to start it and how to read what it prints.
type Adapter interface {
	// Command says how to start the program for a run.
	Command(Spec) (Command, error)
	// Reader returns a fresh reader for one run.
	Reader() Reader
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

// A Reader follows the output of one run. Each adapter translates its program's events here,
// once; nobody else searches output for words.
type Reader interface {
	// Line takes one line of stdout without its newline; the bytes are valid during the call
	// only. It tells whether the program has, as far as is known now, said its last word.
	Line(line []byte) (ended bool)
	// End is called once, after the last line. It fills in Outcome, Final, Error, Usage,
	// Session, RetryAfter and ResetAt; the other fields are Run's.
	End(Exit) Result
}

// Exit is what a Reader is told about the end of a process.
type Exit struct {
	Code   int    // -1 when killed by a signal
	Signal string // e.g. SIGKILL
	Stdout []byte // the last MaxFinal bytes
	Stderr []byte // the last 64 KiB
	At     time.Time
}

// Custom is an agent program that the project defines (cli 6).
type Custom struct {
	Command []string          // argv; {{.PromptFile}}, {{.Model}}, {{.Worktree}}, {{.Role}}, {{.TaskID}} are replaced
	Prompt  string            // stdin (default), file, argv
	Output  string            // text (default) or the name of another built-in reader
	Env     map[string]string //
}

// Options is what Lookup needs to know about this program.
type Options struct {
	Custom   map[string]Custom // the project's own programs; they win over built-in ones
	Liza     string            // absolute path of the running liza, for the scripted agent
	Scenario string            // scenario file of the scripted agent
}

// Names of the built-in adapters.
const (
	nameClaude   = "claude"
	nameScripted = "scripted"
)

// Lookup returns the adapter of that name.
func Lookup(name string, o Options) (Adapter, error) {
	if c, ok := o.Custom[name]; ok {
		return newCommand(name, c)
	}
	switch name {
	case nameClaude:
		return newClaude(), nil
	case nameScripted:
		return newScripted(o)
	}
	known := slices.Sorted(maps.Keys(o.Custom))
	for _, n := range []string{nameClaude, nameScripted} {
		if !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	return nil, fmt.Errorf("cannot find the agent program %q; known are %s", name, strings.Join(known, ", "))
}

// Names of the built-in readers.
const (
	readText   = "text"
	readClaude = "claude-stream-json"
)

// NewReader returns a built-in reader by name; "" is text.
func NewReader(name string) (Reader, error) {
	switch name {
	case "", readText:
		return &textReader{}, nil
	case readClaude:
		return &claudeReader{}, nil
	}
	return nil, fmt.Errorf("cannot read output of the form %q; known are %s, %s", name, readClaude, readText)
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
