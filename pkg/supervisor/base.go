package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/broker"
	"liza/pkg/verb"
	"liza/pkg/wall"
)

// Supervisor drives one registered agent. Make it with its exported fields and call Run
// once; it is not for concurrent use.
type Supervisor struct {
	Service  *verb.Service // of this agent alone; Run fills in its Caller
	Role     blackboard.Role
	ID       string // "" takes the lowest free number
	CLI      string // --cli; "" as configured
	Model    string // --model; "" as configured
	Scenario string // of the scripted agent
	Task     string // the one task that it may work on; "" any
	Once     bool   // end after one unit of work
	OneRun   bool   // and after one run of the program: the claim is given back (step)
	Team     bool   // part of `liza run`: it does not end for idleness
	Terminal string
	PID      int
	PIDStart int64

	// Interactive is the terminal in which a person works with the program; nil: nobody does.
	Interactive *agent.Terminal
	// Start runs an agent program; agent.Run but in tests.
	Start func(context.Context, agent.Adapter, agent.Spec) agent.Result
	// Adapter finds an agent program by name.
	Adapter func(name string) (agent.Adapter, error)
	// Version is that of an agent program, "" when it does not tell; nil: nobody is asked.
	Version func(context.Context, agent.Adapter) string
	// Liza is the absolute path of the running liza (specs/decisions.md#D26).
	Liza string
	// Schema is what `liza help schema` prints, for programs that enforce one.
	Schema func() ([]byte, error)
	// Commands carries out what comes out of a run over its broker; nil: nothing does.
	Commands func(InRun) broker.Handler
	Walls    *wall.Maker // of runs and commands; nil: nothing is contained
	// RunBase is where the folders of runs are made (broker.Base).
	RunBase string
	// Environ is the environment that agent programs inherit from.
	Environ []string
	// Print shows one line per step. Heartbeats and the work call it side by side.
	Print func(Line)
	// Slots bounds how many programs run at a time; nil: no bound.
	Slots *Slots
	// Running counts what the programs of this process use while they run; nil: this one's only.
	Running *Running
	// Jitter gives numbers from -1 to 1, by which waits differ; nil: they do not.
	Jitter func() float64

	role   string // of a preview: in the place of the role that would be used
	worked bool
	shut   bool // the person closed the program before the work was handed in

	refused     verb.Refused // summaries
	historyTold bool         // people know that the history cannot be written
	lease       leaseKeeper
	recovered   time.Time
	moved       bool                                     // somebody moved the integration branch
	mergeTold   string                                   // why nothing was merged, as it was said
	movedTold   string                                   // and that was said
	unverified  map[string]postponed                     // merges that wait for a person, by task
	failed      struct{ quotas, reviews, claims streak } // each makes the next wait of its kind longer
	panics      []time.Time
	outage      time.Time // since when the machine keeps it from working; zero: it does not
	idleSince   time.Time
	remote      remotePause
	wasCutOff   bool      // the board could not be reached
	waitSince   time.Time // since when the board says what it waits for
}

// Line is one line of what a supervisor shows.
type Line struct {
	Time    time.Time
	Agent   string
	Task    string
	Text    string
	Warning bool
}

// Errors that end a supervisor; cli turns them into exit codes.
var (
	// ErrAborted: ABORT, or the second Ctrl-C (exit 130).
	ErrAborted = errors.New("aborted")
	// ErrIdle: nothing to do for as long as a role waits (exit 7).
	ErrIdle = errors.New("nothing to do")
	// ErrGaveUp: the supervisor cannot go on (exit 1).
	ErrGaveUp = errors.New("gave up")
	// errComplete: the role is complete; exit 0.
	errComplete = errors.New("complete")
)

// waiting says why a supervisor is idle and when to look again without an event.
type waiting struct {
	why   string
	until time.Time // zero: the poll interval

	paused bool              // there is work, but its agent program is paused until then
	board  *blackboard.State // that was looked at; nil: none could be
}

func short(commit string) string { return commit[:min(9, len(commit))] }

func (s *Supervisor) say(task, format string, args ...any) {
	if s.Print != nil {
		s.Print(Line{Time: s.Service.Now(), Agent: s.ID, Task: task, Text: fmt.Sprintf(format, args...)})
	}
}

func (s *Supervisor) warn(task, format string, args ...any) {
	if s.Print != nil {
		s.Print(Line{Time: s.Service.Now(), Agent: s.ID, Task: task, Text: fmt.Sprintf(format, args...), Warning: true})
	}
}

// remotePause is what is left of the trouble with a remote.
type remotePause struct {
	until  time.Time
	failed streak
	told   string
}

// InRun is a run of an agent program as the commands are told that come out of it. The token stays in the
// memory of the supervisor: nothing in the run has it.
type InRun struct {
	Agent, Token string
	Mark         string // LIZA_RUN
	Task         string // "" for a planner
	Root         string // of the project
}
