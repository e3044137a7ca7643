package dashboard

import (
	"time"

	"liza/pkg/blackboard"
)

// Facts is what a view shows besides the state.
type Facts struct {
	Now         time.Time
	Control     []Control               // the control files that are there, the one that wins first
	Process     blackboard.ProcessFacts // what is known about processes of this machine
	ReviewMode  blackboard.ReviewMode   // review.mode of the configuration
	HumanReview bool                    // plan.human_review of the configuration
	Vocabulary  string                  // one of Views; "": liza
	Tip         *string                 // where the integration branch is, "" when it does not exist; nil: not looked at
	Wrong       []string                // why the board is invalid, where the state is not that of the file
	Warnings    []string                // of the caller, for example about the configuration
	GaveUp      []GaveUp                // supervisors that ended by themselves, and have not come back
	Doing       map[string]Doing        // what the programs of agents do, by agent
	Offline     *Offline                // the state is a copy of the board
}

// Offline says that the database of the board cannot be reached: what is shown is the copy of this host, and nothing can be
// decided.
type Offline struct {
	Since   blackboard.Time `json:"since"`   // when the copy was the board last
	Seconds int             `json:"seconds"` // ago
	Why     string          `json:"why"`
}

// GaveUp is a supervisor that ended by itself: on which task, why, and what a person can do.
type GaveUp struct {
	Agent string          `json:"agent"`
	Task  string          `json:"task,omitempty"`
	Why   string          `json:"why"`
	At    blackboard.Time `json:"at"`
	Next  string          `json:"next"`
}

// Control is a control file: PAUSE, CHECKPOINT or ABORT (specs/protocol.md#13.5).
type Control struct {
	Name   string    `json:"name"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// View is the board as a person sees it.
type View struct {
	At        blackboard.Time `json:"at"`
	Revision  int             `json:"revision"`
	View      string          `json:"view"`
	Offline   *Offline        `json:"offline,omitempty"` // nil: it is the board
	Goal      Goal            `json:"goal"`
	Sprint    Sprint          `json:"sprint"`
	Control   []Control       `json:"control"`
	Counts    []Count         `json:"counts"`
	Tasks     []Task          `json:"tasks"`
	Agents    []Agent         `json:"agents"`          // where there are several hosts: by host
	Hosts     []Host          `json:"hosts,omitempty"` // of a team on several; none: the board is a file of this host
	Waiting   []Waiting       `json:"waits_for_person"`
	GaveUp    []GaveUp        `json:"gave_up,omitempty"`
	Wrong     []string        `json:"wrong,omitempty"`    // what makes the board invalid
	Requests  []string        `json:"requests,omitempty"` // on the forge, one line each
	Warnings  []string        `json:"warnings"`
	Cost      Cost            `json:"cost"`
	Completed bool            `json:"completed"` // the goal is reached
	Forecast  *Forecast       `json:"forecast,omitempty"`
}

// Goal of the project.
type Goal struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Status      string `json:"status"`
	SpecRef     string `json:"spec_ref,omitempty"`
	Plan        string `json:"plan,omitempty"`
}

// Sprint that is under way.
type Sprint struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	Started    blackboard.Time `json:"started,omitempty"`
	Deadline   blackboard.Time `json:"deadline,omitempty"`
	Ended      blackboard.Time `json:"ended,omitempty"`
	AgeSeconds int             `json:"age_seconds,omitempty"`
}

// Count says how many tasks have a status.
type Count struct {
	Status blackboard.Status `json:"status"`
	N      int               `json:"n"`
}

// Cost is what runs cost. Runs whose cost nobody knows are counted, never taken as zero.
type Cost struct {
	Cents       blackboard.Amount `json:"cents"`
	Runs        int               `json:"runs"`
	UnknownRuns int               `json:"unknown_runs"`
}

// Task is one row. Status is always Liza's own; ViewStatus is that of another vocabulary.
type Task struct {
	ID            string            `json:"id"`
	Title         string            `json:"title"`
	Status        blackboard.Status `json:"status"`
	ViewStatus    string            `json:"view_status,omitempty"`
	Kind          string            `json:"kind"`
	Priority      int               `json:"priority"`
	Who           string            `json:"who,omitempty"`
	Iteration     int               `json:"iteration"`
	Rejections    int               `json:"rejections"`
	AgeSeconds    int               `json:"age_seconds"` // since the last entry of its history
	Cost          Cost              `json:"cost"`
	CostPercent   int               `json:"cost_percent,omitempty"` // of its limit
	WaitsFor      []string          `json:"waits_for,omitempty"`
	Hold          string            `json:"hold,omitempty"`
	BlockedKind   string            `json:"blocked_kind,omitempty"`
	BlockedReason string            `json:"blocked_reason,omitempty"`
	Note          string            `json:"note,omitempty"` // one line that says why it does not go on
}

// Agent is one row.
type Agent struct {
	ID               string `json:"id"`
	Role             string `json:"role"`
	ViewRole         string `json:"view_role,omitempty"`
	Status           string `json:"status"`
	Liveness         string `json:"liveness"`
	Why              string `json:"liveness_reason,omitempty"`
	Task             string `json:"task,omitempty"`
	LeaseLeftSeconds int    `json:"lease_left_seconds"`
	CLI              string `json:"cli,omitempty"`
	Sandbox          string `json:"sandbox,omitempty"` // of the run under way
	WaitsFor         string `json:"waits_for,omitempty"`
	Stopped          string `json:"stopped,omitempty"` // by whom, since when and why; it takes no work
	Host             string `json:"host,omitempty"`    // where it runs, if there are several
	ContextPercent   int    `json:"context_percent,omitempty"`
	// ProviderWait is what its program says that it waits for; WaitsFor says it, too.
	ProviderWait *blackboard.ProviderWait `json:"provider_wait,omitempty"`
	Doing        *Doing                   `json:"doing,omitempty"` // nil: no program of it runs
}

// Waiting is something that only a person can move, with the command that does it. Kind is
// control, integration, goal, breaker, question, blocked, merge_approval, hold or draft.
type Waiting struct {
	Kind      string     `json:"kind"`
	Task      string     `json:"task,omitempty"`
	Text      string     `json:"text"`
	Questions []Question `json:"questions,omitempty"`
	Next      string     `json:"next"`
}

// Question is an open question of an agent.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Next string `json:"next"`
}

// Host is a host of a team on several of them.
type Host struct {
	Name        string `json:"name"`
	Here        bool   `json:"here,omitempty"` // the view is of this one
	Agents      int    `json:"agents"`
	SeenSeconds int    `json:"seen_seconds"`        // since its last contact
	Silent      bool   `json:"silent,omitempty"`    // for longer than a lease and its grace: its claims are free
	ClockOffset int    `json:"clock_offset"`        // how far its clock is ahead of the board's, in seconds
	ClockOff    bool   `json:"clock_off,omitempty"` // further than lease_grace
	Version     string `json:"version,omitempty"`
	Load        string `json:"load,omitempty"` // processes that want to run, per processor
}

// Doing is what the running program of an agent does now.
type Doing struct {
	Kind      string             `json:"kind"` // as activity.Kind: text, tool, output, wait, error; "" before it has said anything
	Tool      string             `json:"tool,omitempty"`
	Text      string             `json:"text,omitempty"` // one line
	At        blackboard.Time    `json:"at,omitempty"`   // when it did that
	Started   blackboard.Time    `json:"started"`        // of the run
	Seconds   int                `json:"seconds"`        // of the run so far
	TokensIn  int                `json:"tokens_in,omitempty"`
	TokensOut int                `json:"tokens_out,omitempty"`
	Cents     *blackboard.Amount `json:"cents,omitempty"` // nil: not told (yet)
}
