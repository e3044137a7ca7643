package agent

import (
	"io"
	"os"
	"time"
)

// Spec describes one run of an agent program.
type Spec struct {
	Dir        string   // working folder
	Prompt     string   // the exact bytes handed over
	PromptFile string   // the file that holds them, for programs that read a file
	SchemaFile string   // the file with the exit command's JSON Schema, for programs that enforce one
	Env        []string // NAME=value, added last: the LIZA_* variables of this run (specs/cli.md#5)
	Unset      []string // names of inherited variables to leave out; a trailing * stands for any ending

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

	tied bool // all of it ends with this process

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
