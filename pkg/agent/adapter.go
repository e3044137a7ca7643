package agent

import (
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

// Scripted is the name of the built-in agent that follows a scenario.
const Scripted = "scripted"

// restartCode is the exit code by which a project's own program, or a scripted one, asks to be
// started again (specs/decisions.md#D20).
const restartCode = 42

// schemaFile stands for the file with the exit command's JSON Schema.
const schemaFile = "{{.SchemaFile}}"
