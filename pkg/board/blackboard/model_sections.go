package blackboard

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Agent is one registration (specs/protocol.md#2.4).
type Agent struct {
	Role            Role              `yaml:"role"`                       // planner, coder or code_reviewer | register
	Status          string            `yaml:"status"`                     // STARTING, IDLE, WORKING, REVIEWING, PLANNING, WAITING or HANDOFF | supervisor
	CurrentTask     string            `yaml:"current_task,omitempty"`     // what it works on | claim, claim_review; cleared when the work ends | it works on nothing
	Task            string            `yaml:"task,omitempty"`             // another spelling of current_task, read only | Liza v1 | always in new files
	LeaseExpires    Time              `yaml:"lease_expires,omitempty"`    // end of the registration's lease | register, heartbeat
	Heartbeat       Time              `yaml:"heartbeat,omitempty"`        // the last one | register, heartbeat
	Terminal        string            `yaml:"terminal,omitempty"`         // terminal of the supervisor, or unknown | register
	Generation      string            `yaml:"generation,omitempty"`       // opaque, new at each registration | register
	TokenHash       string            `yaml:"token_hash,omitempty"`       // sha256:… of the registration's token; the token is in no file | register
	Host            string            `yaml:"host,omitempty"`             // name of the machine; process facts count only there | register
	BootID          string            `yaml:"boot_id,omitempty"`          // of the machine's start; process facts count only for the same one | register
	PID             int               `yaml:"pid,omitempty"`              // of the supervisor | register | registered by hand: the lease alone decides
	PIDStart        int64             `yaml:"pid_start,omitempty"`        // start of that process in the kernel's unit, compared for equality | register | registered by hand
	Child           *Child            `yaml:"child,omitempty"`            // the running agent program | start and end of a run | nothing runs
	CLI             string            `yaml:"cli,omitempty"`              // name of the agent program | supervisor | before it is ready
	Model           string            `yaml:"model,omitempty"`            // of that program | supervisor | the program's own default
	IterationsTotal int               `yaml:"iterations_total,omitempty"` // runs of this registration | end of a run (+1)
	ContextPercent  int               `yaml:"context_percent,omitempty"`  // how full the program says its context is, in percent | supervisor
	Crashes         []Time            `yaml:"crashes,omitempty"`          // times of crashes within crash_window | end of a run | it did not crash
	ReservedCents   Amount            `yaml:"reserved_cents,omitempty"`   // what the run under way may cost, in cents | start and end of a run | nothing is reserved
	WaitingFor      string            `yaml:"waiting_for,omitempty"`      // one line for people | supervisor | it does not wait
	Started         Time              `yaml:"started,omitempty"`          // when it registered | register
	ProviderWait    *ProviderWait     `yaml:"provider_wait,omitempty"`    // what the running program says that it waits for | supervisor | it does not wait
	Said            []*Said           `yaml:"said,omitempty"`             // what verbs of the running program have said; the end of the run applies it | submit, verdict, block, plan apply; end of a run: none | they have said nothing
	Settings        map[string]string `yaml:"settings,omitempty"`         // settings of the supervisor's environment, by key; its agent's verbs follow them | register | none is set
}

// Said is what a verb of a run has said. It counts when the run has ended by itself, with an answer of its program that agrees.
// Written by: submit, verdict, block and plan apply inside a run.
type Said struct {
	Verb  string `yaml:"verb"`            // submit, verdict, block or plan
	Word  string `yaml:"word"`            // what the exit command of the run has to say, too: COMPLETED, STUCK, ok, needs_fix, replan or stuck
	Input string `yaml:"input,omitempty"` // what the verb was given, as JSON
}

// ProviderWait is a wait of an agent program for its provider, with the reason that it gives.
// Written by: supervisor.
type ProviderWait struct {
	Reason string `yaml:"reason" json:"reason"` // as the program gives it
	Until  Time   `yaml:"until" json:"until"`   // when it goes on
}

// Child is the agent program that a registration is running.
// Written by: start of a run.
type Child struct {
	PID       int    `yaml:"pid"`                  // of the program
	PIDStart  int64  `yaml:"pid_start"`            // start of that process in the kernel's unit
	PGID      int    `yaml:"pgid,omitempty"`       // its process group
	Run       int    `yaml:"run"`                  // number of the run of this registration
	RunID     string `yaml:"run_id,omitempty"`     // mark in the environment of the child's whole tree
	TokenHash string `yaml:"token_hash,omitempty"` // sha256:… of the run's token
	Started   Time   `yaml:"started,omitempty"`    // when
	Task      string `yaml:"task,omitempty"`       // what it works on |  | a planner's run
	Sandbox   string `yaml:"sandbox,omitempty"`    // how it is contained: closed, partial, wrap or open
	Ports     string `yaml:"ports,omitempty"`      // those that its servers listen on: the first and the last one | start of a run | none could be had
	CLI       string `yaml:"cli,omitempty"`        // name of the program
	Speaks    bool   `yaml:"speaks,omitempty"`     // it takes texts while it works
	Resumes   bool   `yaml:"resumes,omitempty"`    // it can go on in its conversation after an interruption
}

// Agent statuses (specs/protocol.md#5.1).
const (
	AgentStarting  = "STARTING"
	AgentIdle      = "IDLE"
	AgentWorking   = "WORKING"
	AgentReviewing = "REVIEWING"
	AgentPlanning  = "PLANNING"
	AgentWaiting   = "WAITING"
	AgentHandoff   = "HANDOFF"
)

// Goal, sprint and circuit breaker statuses (specs/protocol.md#5.2 to specs/protocol.md#5.4).
const (
	InProgress     = "IN_PROGRESS"
	Completed      = "COMPLETED"
	Aborted        = "ABORTED"
	AtCheckpoint   = "CHECKPOINT"
	BreakerOK      = "OK"
	BreakerTripped = "TRIGGERED"
)

// Discovery is something found on the way that is not part of the task.
// Written by: discover.
type Discovery struct {
	ID              string    `yaml:"id"`                          // disc-<n>
	By              string    `yaml:"by,omitempty"`                // who found it
	During          string    `yaml:"during,omitempty"`            // task in which it was found
	Description     string    `yaml:"description"`                 // what was found
	Severity        string    `yaml:"severity,omitempty"`          // critical, high, medium or low |  | read as low
	Urgency         string    `yaml:"urgency,omitempty"`           // deferred or immediate |  | read as deferred
	Recommendation  string    `yaml:"recommendation,omitempty"`    // what to do about it
	Created         Time      `yaml:"created,omitempty"`           // when
	ConvertedToTask string    `yaml:"converted_to_task,omitempty"` // task that was made of it | convert | not converted
	Deferred        *Deferred `yaml:"deferred,omitempty"`          // who put it off | defer | not put off
}

// Deferred says who put a discovery off, and why.
// Written by: defer.
type Deferred struct {
	By     string `yaml:"by"`     // who
	At     Time   `yaml:"at"`     // when
	Reason string `yaml:"reason"` // why
}

// Handoff is what an agent leaves for its successor (specs/protocol.md#13.7).
// Written by: handoff, supervisor.
type Handoff struct {
	Agent         string `yaml:"agent"`                    // who hands off
	Timestamp     Time   `yaml:"timestamp"`                // when
	ContextUsed   string `yaml:"context_used,omitempty"`   // as the agent says it, for example 91%
	Summary       string `yaml:"summary"`                  // what is done
	NextAction    string `yaml:"next_action"`              // what comes next
	Approach      string `yaml:"approach,omitempty"`       // how it is done
	Blockers      string `yaml:"blockers,omitempty"`       // what is in the way
	FilesModified List   `yaml:"files_modified,omitempty"` // paths in the worktree
	NextSteps     List   `yaml:"next_steps,omitempty"`     // in their order
	ConsumedBy    string `yaml:"consumed_by,omitempty"`    // agent whose prompt had it | supervisor | not read yet
	ConsumedAt    Time   `yaml:"consumed_at,omitempty"`    // when | supervisor | not read yet
}

// Note is a human note (specs/protocol.md#2.5).
// Written by: note, comment.
type Note struct {
	ID         string `yaml:"id"`                    // note-<n>, or the --id that was given
	Timestamp  Time   `yaml:"timestamp"`             // when
	Message    string `yaml:"message"`               // the text
	For        string `yaml:"for,omitempty"`         // task that it is for |  | it is for the planner
	File       string `yaml:"file,omitempty"`        // path that a comment is about | comment | the whole change, or not a comment
	Line       int    `yaml:"line,omitempty"`        // of that file, from 1 | comment | the whole file, or not a comment
	Commit     string `yaml:"commit,omitempty"`      // of the task, that a comment is about | comment | not a comment
	By         string `yaml:"by,omitempty"`          // name of the person
	CallerRole string `yaml:"caller_role,omitempty"` // admin or user
	Plan       string `yaml:"plan,omitempty"`        // plan that answered it | plan apply | not answered
	Outcome    string `yaml:"outcome,omitempty"`     // planned or failed | plan apply, supervisor | not answered
	SeenBy     List   `yaml:"seen_by,omitempty"`     // agents whose run got it | supervisor | nobody has seen it

	When    string   `yaml:"when,omitempty"`    // now, next or after: when a text is to reach a run | tell | it is a note
	Receipt *Receipt `yaml:"receipt,omitempty"` // where a text is | tell, supervisor | it is a note
	Run     string   `yaml:"run,omitempty"`     // mark of the run that Liza itself tells something, and that the text ends with | supervisor | a person wrote it
}

// Receipt says where a text is that is told to an agent (specs/protocol.md#13.13).
// Written by: tell, supervisor.
type Receipt struct {
	State string `yaml:"state"`           // queued, delivered or seen
	How   string `yaml:"how,omitempty"`   // turn, resume, command, prompt or proposal |  | it is queued
	Run   string `yaml:"run,omitempty"`   // mark of the run that got it |  | no run has it
	At    Time   `yaml:"at"`              // since when
	Moved string `yaml:"moved,omitempty"` // why it takes another way than at first |  | it takes its first way
}

// Anomaly is something that went differently than it should (specs/protocol.md#13.9).
// Written by: anomaly, supervisors.
type Anomaly struct {
	ID        string      `yaml:"id"`                  // anom-<n>
	Timestamp Time        `yaml:"timestamp"`           // when
	Task      string      `yaml:"task,omitempty"`      // which task
	Reporter  string      `yaml:"reporter,omitempty"`  // agent id, human or system
	TaskID    string      `yaml:"task_id,omitempty"`   // another spelling of task, read only | Liza v1 | always in new files
	LoggedBy  string      `yaml:"logged_by,omitempty"` // another spelling of reporter, read only | Liza v1 | always in new files
	Type      AnomalyKind `yaml:"type"`                // see specs/protocol.md#13.9
	Details   Settings    `yaml:"details,omitempty"`   // what its type needs, by key
}

// SpecChange records that a spec file changed.
// Written by: spec-change.
type SpecChange struct {
	Timestamp   Time   `yaml:"timestamp"`              // when
	Spec        string `yaml:"spec"`                   // path and perhaps #anchor
	Change      string `yaml:"change"`                 // what changed
	TriggeredBy string `yaml:"triggered_by,omitempty"` // name of the person, or the task
	Hash        string `yaml:"hash,omitempty"`         // sha256:… of the file then
}

// Plan is one decomposition of a request into tasks.
// Written by: plan apply.
type Plan struct {
	ID            string       `yaml:"id"`                       // plan-<n>
	Parent        string       `yaml:"parent,omitempty"`         // plan that it replaces |  | not a replan
	Root          string       `yaml:"root,omitempty"`           // first plan of the chain
	Goal          string       `yaml:"goal"`                     // what it is to reach
	Request       string       `yaml:"request,omitempty"`        // the user's words
	Caller        *Caller      `yaml:"caller,omitempty"`         // the person behind the request
	By            string       `yaml:"by,omitempty"`             // agent id or human
	Status        string       `yaml:"status"`                   // running, done, failed or superseded | plan apply, end of its last task, replan
	Created       Time         `yaml:"created"`                  // when
	Order         string       `yaml:"order,omitempty"`          // sequential or graph
	Hash          string       `yaml:"hash,omitempty"`           // sha256 of its text, so that the same plan is not applied twice
	Tasks         List         `yaml:"tasks,omitempty"`          // ids of its tasks
	ParseAttempts int          `yaml:"parse_attempts,omitempty"` // answers of the planner until it was understood
	Failure       *PlanFailure `yaml:"failure,omitempty"`        // which task made it fail | verdict replan, supervisor | it has not failed
	Tried         List         `yaml:"tried,omitempty"`          // one line for each task, for the next plan | replan | not replaced
}

// Caller is the person behind a request; Role is admin or user.
// Written by: plan apply, note.
type Caller struct {
	Name string `yaml:"name"` // of the person
	Role string `yaml:"role"` // admin or user
}

// PlanFailure says which task made a plan fail, and why.
// Written by: verdict replan, supervisor.
type PlanFailure struct {
	Task   string `yaml:"task,omitempty"` // its id |  | the plan itself could not be used
	Reason string `yaml:"reason"`         // why
}

// Fact is one lasting statement about the project.
// Written by: verdicts, facts, summarizer.
type Fact struct {
	ID       string `yaml:"id"`                  // fact-<n>
	Content  string `yaml:"content"`             // one statement, 15 to 500 characters
	Status   string `yaml:"status,omitempty"`    // active or pending |  | read as active
	Source   string `yaml:"source,omitempty"`    // reviewer, human or summarizer
	Task     string `yaml:"task,omitempty"`      // task in which it was learned
	By       string `yaml:"by,omitempty"`        // who
	Category string `yaml:"category,omitempty"`  // project, user, tool or general |  | read as project
	Created  Time   `yaml:"created,omitempty"`   // when
	LastUsed Time   `yaml:"last_used,omitempty"` // when a prompt had it last | claim | never used
	Uses     int    `yaml:"uses,omitempty"`      // prompts that had it | claim (+1)
	From     List   `yaml:"from,omitempty"`      // facts that it was made from | summarizer | not made from others
}

// Question is an agent's question to people.
// Written by: block, supervisors.
type Question struct {
	ID         string         `yaml:"id"`                    // q-<n>
	Task       string         `yaml:"task,omitempty"`        // which task |  | the planner's own
	Agent      string         `yaml:"agent,omitempty"`       // who asks
	Kind       string         `yaml:"kind,omitempty"`        // blocked, prompted, unverified or unable
	Type       string         `yaml:"type,omitempty"`        // input, confirmation, permission or choice
	Text       string         `yaml:"text"`                  // the question
	Options    List           `yaml:"options,omitempty"`     // of a choice
	Check      string         `yaml:"check,omitempty"`       // command that is red without the work too, or cannot run, of kind unverified or unable | merge | another kind
	Synthetic  bool           `yaml:"synthetic,omitempty"`   // made up by the supervisor, because the agent gave none
	Status     QuestionStatus `yaml:"status"`                // open, answered, delivered or expired | answer, supervisor
	Answer     string         `yaml:"answer,omitempty"`      // what a person said | answer | not answered
	By         string         `yaml:"by,omitempty"`          // name of the person | answer | not answered
	Asked      Time           `yaml:"asked,omitempty"`       // when
	AnsweredAt Time           `yaml:"answered_at,omitempty"` // when | answer | not answered
}

// Stop keeps an agent from work until a person restarts it.
// Written by: stop, restart.
type Stop struct {
	By      string `yaml:"by"`                // name of the person
	At      Time   `yaml:"at"`                // when
	Reason  string `yaml:"reason,omitempty"`  // why |  | the person gave none
	Restart bool   `yaml:"restart,omitempty"` // its supervisor removes the entry when the run has ended, and goes on | restart
	Attach  bool   `yaml:"attach,omitempty"`  // the run ends, and registration and claim are left to the process in a person's terminal | attach
}

// String says who stopped the agent, since when and why.
func (s *Stop) String() string {
	text := "stopped by " + cmp.Or(s.By, Human) + " since " + string(s.At)
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// Program says until when an agent program is not started (specs/protocol.md#13.3).
// Written by: supervisors.
type Program struct {
	PausedUntil Time   `yaml:"paused_until"`     // it is not started before
	Reason      string `yaml:"reason,omitempty"` // as the provider gives it
	At          Time   `yaml:"at,omitempty"`     // when this was learned
}

// Planner holds what is remembered about wake triggers (specs/protocol.md#13.1).
// Written by: supervisors of planners.
type Planner struct {
	Triggers map[string]*TriggerRecord `yaml:"triggers,omitempty"` // by kind of trigger
	LastRun  *PlannerRun               `yaml:"last_run,omitempty"` // the latest run
}

// TriggerRecord is what happened to the latest fingerprint of one trigger kind.
// Written by: launch and end of a planner's run.
type TriggerRecord struct {
	Fingerprint string `yaml:"fingerprint"`          // sha256:… of what made it true
	Launches    int    `yaml:"launches"`             // for this fingerprint
	Last        Time   `yaml:"last,omitempty"`       // when it was launched last
	Next        Time   `yaml:"next,omitempty"`       // not before
	Outcome     string `yaml:"outcome,omitempty"`    // changed, no_op or left (to the person who is asked) |  | the run is not over
	Suppressed  bool   `yaml:"suppressed,omitempty"` // not launched again until something changes
}

// PlannerRun is the latest planner run. Result is changed or no_op.
// Written by: launch and end of a planner's run.
type PlannerRun struct {
	Agent    string `yaml:"agent"`              // agent id
	At       Time   `yaml:"at"`                 // when it began
	Triggers List   `yaml:"triggers,omitempty"` // kinds that launched it
	Result   string `yaml:"result,omitempty"`   // changed or no_op |  | the run is not over
}

// Sprint is one bounded stretch of work on the goal (specs/protocol.md#2.8).
// Written by: init, resume, goal.
type Sprint struct {
	ID            string        `yaml:"id"`                      // sprint-<n>
	GoalRef       string        `yaml:"goal_ref"`                // id of the goal
	Scope         *SprintScope  `yaml:"scope,omitempty"`         // the tasks of the sprint
	Timeline      *Timeline     `yaml:"timeline,omitempty"`      // its times
	Status        string        `yaml:"status"`                  // IN_PROGRESS, CHECKPOINT, COMPLETED or ABORTED | control files, supervisors, breaker
	Paused        *Pause        `yaml:"paused,omitempty"`        // nothing new starts on any host | pause, resume | it is not paused, or the board is a file
	Checkpoints   []*Checkpoint `yaml:"checkpoints,omitempty"`   // stops for people, oldest first | checkpoint, resume | there was none
	Metrics       *Metrics      `yaml:"metrics,omitempty"`       // figures of the sprint | every transition that changes one
	Retrospective any           `yaml:"retrospective,omitempty"` // whatever people write | people | nobody wrote one
}

// SprintScope lists the tasks that were planned, and those that would be nice.
// Written by: create.
type SprintScope struct {
	Planned List `yaml:"planned,omitempty"` // ids of planned tasks
	Stretch List `yaml:"stretch,omitempty"` // ids of tasks that would be nice
}

// Timeline of a sprint.
// Written by: init, resume.
type Timeline struct {
	Started      Time `yaml:"started"`                 // when it began
	Deadline     Time `yaml:"deadline,omitempty"`      // when it stops at a checkpoint | people | no deadline
	CheckpointAt Time `yaml:"checkpoint_at,omitempty"` // the last checkpoint | checkpoint | there was none
	Ended        Time `yaml:"ended,omitempty"`         // when it ended | completion, abort | under way
}

// Checkpoint is one stop for people (specs/protocol.md#13.6).
// Written by: checkpoint, breaker, deadline, limits.
type Checkpoint struct {
	N         int    `yaml:"n"`                    // number, from 1
	At        Time   `yaml:"at"`                   // when
	By        string `yaml:"by"`                   // who stopped the sprint
	Cause     string `yaml:"cause,omitempty"`      // deadline: of the sprint; planner: it cannot go on |  | any other
	Message   string `yaml:"message,omitempty"`    // why
	File      string `yaml:"file,omitempty"`       // the summary for people
	Until     string `yaml:"until,omitempty"`      // answered: it ends with the answers to the questions that were open |  | a person ends it
	Decision  string `yaml:"decision,omitempty"`   // CONTINUE, ADJUST_SPECS, ADJUST_CONTRACTS, REPLAN, PIVOT or STOP | resume | not decided
	DecidedBy string `yaml:"decided_by,omitempty"` // name of the person | resume | not decided
	DecidedAt Time   `yaml:"decided_at,omitempty"` // when | resume | not decided
}

// The causes of a checkpoint that code asks for.
const (
	CauseDeadline = "deadline"
	CausePlanner  = "planner"
)

// UntilAnswered is the Until of a checkpoint that ends when the questions that were open at its start are answered.
const UntilAnswered = "answered"

// Metrics are the stored figures of specs/protocol.md#12; nil rates are undefined (0 of 0).
// Written by: every transition that changes a figure.
type Metrics struct {
	TasksDone                        int  `yaml:"tasks_done"`                                     // MERGED, ABANDONED and SUPERSEDED tasks
	TasksInProgress                  int  `yaml:"tasks_in_progress"`                              // CLAIMED, READY_FOR_REVIEW, REJECTED and APPROVED tasks
	TasksBlocked                     int  `yaml:"tasks_blocked"`                                  // BLOCKED and INTEGRATION_FAILED tasks
	IterationsTotal                  int  `yaml:"iterations_total"`                               // claims, RETRYs and timed-out runs
	ReviewCyclesTotal                int  `yaml:"review_cycles_total"`                            // rejections of all tasks
	ReviewVerdictApprovals           int  `yaml:"review_verdict_approvals"`                       // approvals by reviewers
	ReviewVerdictRejections          int  `yaml:"review_verdict_rejections"`                      // rejections
	ReviewVerdictCount               int  `yaml:"review_verdict_count"`                           // approvals and rejections
	ReviewVerdictApprovalRatePercent *int `yaml:"review_verdict_approval_rate_percent,omitempty"` // approvals per verdict, in percent, rounded down |  | no verdict yet
	TaskSubmittedForReviewCount      int  `yaml:"task_submitted_for_review_count"`                // submissions
	TaskOutcomeApprovalRatePercent   *int `yaml:"task_outcome_approval_rate_percent,omitempty"`   // MERGED tasks per terminal task, in percent, rounded down |  | no task is terminal
}

// CircuitBreaker is the state of specs/decisions.md#D17.
// Written by: checks of anomalies, ack.
type CircuitBreaker struct {
	LastCheck      Time             `yaml:"last_check,omitempty"`      // when it was checked last |  | never
	Status         string           `yaml:"status"`                    // OK or TRIGGERED
	CurrentTrigger *BreakerTrigger  `yaml:"current_trigger,omitempty"` // what tripped it |  | OK
	Watermark      string           `yaml:"watermark,omitempty"`       // anomalies up to this id are acknowledged | ack | none was acknowledged
	History        []*BreakerRecord `yaml:"history,omitempty"`         // checks that were asked for, and what tripped it
}

// BreakerTrigger is what tripped the circuit breaker.
// Written by: a check that matches.
type BreakerTrigger struct {
	Timestamp  Time   `yaml:"timestamp"`             // when
	Pattern    string `yaml:"pattern"`               // the worst one
	Severity   string `yaml:"severity"`              // of that pattern
	ReportFile string `yaml:"report_file,omitempty"` // the report for people
	Patterns   List   `yaml:"patterns,omitempty"`    // all that match, worst first
}

// BreakerRecord is one entry of the circuit breaker's history.
// Written by: checks, ack.
type BreakerRecord struct {
	Timestamp  Time   `yaml:"timestamp"`             // when
	Pattern    string `yaml:"pattern,omitempty"`     // the worst one |  | no pattern matched
	Severity   string `yaml:"severity,omitempty"`    // of that pattern |  | no pattern matched
	Result     string `yaml:"result,omitempty"`      // OK or TRIGGERED
	Resolution string `yaml:"resolution,omitempty"`  // what the person said | ack | not acknowledged
	ResolvedAt Time   `yaml:"resolved_at,omitempty"` // when | ack | not acknowledged
	ResolvedBy string `yaml:"resolved_by,omitempty"` // name of the person | ack | not acknowledged
}

// Entry is one line of the journal, log.yaml (specs/protocol.md#3.1), without revision
// and with its optional keys in Extra.
// Written by: every transition.
type Entry struct {
	Timestamp Time           `yaml:"timestamp"` // when
	Rev       int            `yaml:"rev"`       // revision of the write
	Agent     string         `yaml:"agent"`     // agent id, human or system
	Action    Action         `yaml:"action"`    // what happened
	Task      string         `yaml:"task"`      // which task; null: none
	Detail    string         `yaml:"detail"`    // one line, at most 500 characters
	Extra     map[string]any `yaml:",inline"`   // further keys of the action, and prev last
}

// Pause lets nothing new start, on all hosts of a board that several share. Where the board is a file, the file PAUSE does.
// Written by: pause.
type Pause struct {
	Since  Time   `yaml:"since"`            // when it began
	By     string `yaml:"by"`               // name of the person
	Reason string `yaml:"reason,omitempty"` // why | pause | no reason was given
}

// Archived is the part of an archived task that rules need: its status still counts (specs/protocol.md#3.3).
type Archived struct {
	Status     Status
	Sprint     string // sprint of the archive
	Supersedes List
	AfterPlan  bool
}

// Archive returns the archived tasks by id. It may read files, so it is only asked about ids that are not on the board. The
// map must not be changed.
type Archive interface{ Archived() map[string]Archived }

// settings are the keys of the config section with their built-in defaults
// (specs/protocol.md#2.8). The type of the default is the type of the key. Durations are
// integers in seconds.
var settings = map[string]any{
	"max_coder_iterations":     10,
	"max_review_cycles":        5,
	"lease_duration":           1800,
	"integration_branch":       "integration",
	"base_ref":                 "", // the branch of HEAD at init
	"escalation_webhook":       "",
	"run_timeout":              1800,
	"poll_interval":            30,
	"check_timeout":            300,
	"stall_timeout":            600,
	"max_parse_retries":        3,
	"task_crashes":             2,
	"cost_cents":               1000,
	"time_minutes":             60,
	"tokens":                   0,
	"sprint_cost_cents":        0,
	"sprint_time_minutes":      0,
	"sprint_tokens":            0,
	"day_cost_cents":           0,
	"pre_execution_checkpoint": "warn",
	"overlap":                  "tell",
	"tests_required":           true,
}

// BuiltIn returns the built-in default of a setting, or nil for an unknown key.
func BuiltIn(key string) any { return settings[key] }

// SettingKeys returns the known keys of the config section, sorted.
func SettingKeys() []string { return slices.Sorted(maps.Keys(settings)) }

// Int returns an integer setting: the value of state.yaml's config section, else of Defaults, else the built-in one. It skips
// negative values and values of another type, which rule V47 reports; an unknown key is 0.
func (s *State) Int(key string) int {
	n, _ := look(s, key, IntegerOf)
	return n
}

// Duration returns an integer setting in seconds as a duration.
func (s *State) Duration(key string) time.Duration {
	return time.Duration(s.Int(key)) * time.Second
}

// Text returns a text setting, looked up as by Int.
func (s *State) Text(key string) string {
	text, _ := look(s, key, func(value any) (string, bool) {
		text, ok := value.(string)
		return text, ok && text != ""
	})
	return text
}

// Bool returns a boolean setting, looked up as by Int.
func (s *State) Bool(key string) bool {
	is, _ := look(s, key, func(value any) (bool, bool) {
		is, ok := value.(bool)
		return is, ok
	})
	return is
}

// look finds the first value of key that read accepts. A constant is in the overrides alone, where tests put it.
func look[T any](s *State, key string, read func(any) (T, bool)) (T, bool) {
	if n, is := fixed[key]; is {
		if value, ok := read(s.Overrides[key]); ok {
			return value, true
		}
		return read(n)
	}
	for _, level := range []Settings{s.Overrides, s.Config, s.Defaults} {
		if value, ok := read(level[key]); ok {
			return value, true
		}
	}
	return read(settings[key])
}

// IntegerOf converts a number from a YAML or JSON decoder; ok is false for another type, a fraction, and a negative number.
func IntegerOf(value any) (n int, ok bool) {
	switch x := value.(type) {
	case int:
		return x, x >= 0
	case int64:
		return int(x), x >= 0
	case uint64:
		return int(x), x <= math.MaxInt
	case float64:
		return int(x), x == math.Trunc(x) && x >= 0 && x < math.MaxInt32
	}
	return 0, false
}
