package blackboard

// State is the whole blackboard (protocol 2.1). The yaml tags name the keys of
// state.yaml; keys that have no field here are kept by the store, not by this
// package. A State is not safe for concurrent use.
type State struct {
	Version        Raw                 `yaml:"version"`
	Revision       int                 `yaml:"revision"`
	Goal           *Goal               `yaml:"goal"`
	Tasks          []*Task             `yaml:"tasks"`
	Agents         map[string]*Agent   `yaml:"agents"`
	Discovered     []*Discovery        `yaml:"discovered,omitempty"`
	Handoff        map[string]*Handoff `yaml:"handoff,omitempty"`
	HumanNotes     []*Note             `yaml:"human_notes,omitempty"`
	Anomalies      []*Anomaly          `yaml:"anomalies,omitempty"`
	SpecChanges    []*SpecChange       `yaml:"spec_changes,omitempty"`
	Plans          []*Plan             `yaml:"plans,omitempty"`
	Facts          []*Fact             `yaml:"facts,omitempty"`
	Questions      []*Question         `yaml:"questions,omitempty"`
	Secrets        []string            `yaml:"secrets,omitempty"`
	Usage          *Usage              `yaml:"usage,omitempty"`
	Programs       map[string]*Program `yaml:"programs,omitempty"`
	Planner        *Planner            `yaml:"planner,omitempty"`
	Integration    *Integration        `yaml:"integration,omitempty"`
	Sprint         *Sprint             `yaml:"sprint"`
	CircuitBreaker *CircuitBreaker     `yaml:"circuit_breaker,omitempty"`
	Config         Settings            `yaml:"config"`

	// Defaults are the values of config.yaml for the keys of protocol 2.8; a key
	// of Config wins over them, and they win over the built-in ones.
	Defaults Settings `yaml:"-"`
	// Overrides are the values that environment variables set; they win over Config.
	Overrides Settings `yaml:"-"`
	// WarnPercent is the part of a limit at which a warning is recorded; 0: never.
	WarnPercent int `yaml:"-"`

	entries []Entry
	owned   map[*Task]bool // of a fork: the tasks that it does not share; nil: all
	index   map[string]int // places of tasks, perhaps outdated; see Index
	archive Archive
	leaving map[string]Status // tasks that the change takes off the board for the archive
}

// Raw is a scalar that is kept exactly as it is written in the file.
type Raw string

// Time is a point in time as it is written in the file (protocol 0.1); At reads
// it. A malformed one is kept, and rule V39 reports it.
type Time string

// Status of a task (protocol 4).
type Status string

// The eleven statuses; MERGED, ABANDONED and SUPERSEDED are terminal.
const (
	Draft             Status = "DRAFT"
	Unclaimed         Status = "UNCLAIMED"
	Claimed           Status = "CLAIMED"
	ReadyForReview    Status = "READY_FOR_REVIEW"
	Rejected          Status = "REJECTED"
	Approved          Status = "APPROVED"
	Merged            Status = "MERGED"
	Blocked           Status = "BLOCKED"
	Abandoned         Status = "ABANDONED"
	Superseded        Status = "SUPERSEDED"
	IntegrationFailed Status = "INTEGRATION_FAILED"
)

// Statuses lists all statuses of a task in the order of a task's life.
var Statuses = []Status{Draft, Unclaimed, Claimed, ReadyForReview, Rejected, Approved,
	IntegrationFailed, Blocked, Merged, Abandoned, Superseded}

// Goal is what the person wants (protocol 2.2).
type Goal struct {
	ID                string       `yaml:"id"`
	Description       string       `yaml:"description"`
	SpecRef           string       `yaml:"spec_ref"`
	Created           Time         `yaml:"created"`
	Status            string       `yaml:"status"`
	AlignmentHistory  []*Alignment `yaml:"alignment_history,omitempty"`
	Summary           string       `yaml:"summary,omitempty"`
	SummarizedThrough Time         `yaml:"summarized_through,omitempty"`
	// SummarizedOfSecond is how many entries of that very second are in the summary; 0: all.
	SummarizedOfSecond int    `yaml:"summarized_of_second,omitempty"`
	PlanID             string `yaml:"plan_id,omitempty"`
	CompletedAt        Time   `yaml:"completed_at,omitempty"`
}

// Alignment is one entry of the goal's drift trajectory (protocol 2.2).
type Alignment struct {
	Timestamp Time   `yaml:"timestamp"`
	Event     string `yaml:"event"`
	Summary   string `yaml:"summary"`
	Current   string `yaml:"current,omitempty"`
	Change    string `yaml:"change,omitempty"`
	Remaining string `yaml:"remaining,omitempty"`
	Risk      string `yaml:"risk,omitempty"`
}

// Task is one piece of work (protocol 2.3).
type Task struct {
	ID                 string        `yaml:"id"`
	Title              string        `yaml:"title,omitempty"`
	Description        string        `yaml:"description"`
	Status             Status        `yaml:"status"`
	Priority           *int          `yaml:"priority,omitempty"`
	Created            Time          `yaml:"created,omitempty"`
	Kind               string        `yaml:"kind,omitempty"`
	Type               string        `yaml:"type,omitempty"`
	Role               string        `yaml:"role,omitempty"`
	ResolvedRole       *ResolvedRole `yaml:"resolved_role,omitempty"`
	SpecRef            string        `yaml:"spec_ref,omitempty"`
	DoneWhen           string        `yaml:"done_when,omitempty"`
	Scope              string        `yaml:"scope,omitempty"`
	Files              List          `yaml:"files,omitempty"`
	LegacyTests        string        `yaml:"legacy_tests,omitempty"`
	AcceptanceCriteria List          `yaml:"acceptance_criteria,omitempty"`
	DependsOn          List          `yaml:"depends_on,omitempty"`
	Plan               string        `yaml:"plan,omitempty"`
	AfterPlan          bool          `yaml:"after_plan,omitempty"`

	AssignedTo      string    `yaml:"assigned_to,omitempty"`
	ClaimGeneration string    `yaml:"claim_generation,omitempty"`
	ClaimSeq        int       `yaml:"claim_seq,omitempty"`
	Claiming        *Claiming `yaml:"claiming,omitempty"`
	Worktree        string    `yaml:"worktree,omitempty"`
	BaseCommit      string    `yaml:"base_commit,omitempty"`
	RestartFrom     string    `yaml:"restart_from,omitempty"`
	Epoch           int       `yaml:"epoch,omitempty"`
	FixOnto         string    `yaml:"fix_onto,omitempty"`
	Iteration       int       `yaml:"iteration,omitempty"`
	MaxIterations   int       `yaml:"max_iterations,omitempty"`
	Limits          Settings  `yaml:"limits,omitempty"`

	ReviewCyclesCurrent int `yaml:"review_cycles_current,omitempty"`
	ReviewCyclesTotal   int `yaml:"review_cycles_total,omitempty"`
	MaxReviewCycles     int `yaml:"max_review_cycles,omitempty"`
	ReviewFailures      int `yaml:"review_failures,omitempty"`

	LeaseExpires        Time   `yaml:"lease_expires,omitempty"`
	ReviewCommit        string `yaml:"review_commit,omitempty"`
	ReviewingBy         string `yaml:"reviewing_by,omitempty"`
	ReviewingGeneration string `yaml:"reviewing_generation,omitempty"`
	ReviewLeaseExpires  Time   `yaml:"review_lease_expires,omitempty"`
	ApprovedBy          string `yaml:"approved_by,omitempty"`
	ApprovedCommit      string `yaml:"approved_commit,omitempty"`

	RejectionReason *Rejection     `yaml:"rejection_reason,omitempty"`
	Fixes           []*Fix         `yaml:"fixes,omitempty"`
	Review          *Review        `yaml:"review,omitempty"`
	NoTests         *NoTests       `yaml:"no_tests,omitempty"`
	SpecHash        string         `yaml:"spec_hash,omitempty"`
	ReviewSpecHash  string         `yaml:"review_spec_hash,omitempty"`
	MergeApproval   *MergeApproval `yaml:"merge_approval,omitempty"`
	MergeIntent     *MergeIntent   `yaml:"merge_intent,omitempty"`
	MergeCommit     string         `yaml:"merge_commit,omitempty"`
	Seal            *Seal          `yaml:"seal,omitempty"`

	BlockedReason    string `yaml:"blocked_reason,omitempty"`
	BlockedKind      string `yaml:"blocked_kind,omitempty"`
	BlockedQuestions List   `yaml:"blocked_questions,omitempty"`
	Attempted        List   `yaml:"attempted,omitempty"`
	FailedBy         List   `yaml:"failed_by,omitempty"`
	Failures         int    `yaml:"failures,omitempty"`
	Crashes          int    `yaml:"crashes,omitempty"` // of its program, in a row
	Supersedes       List   `yaml:"supersedes,omitempty"`
	SupersededBy     List   `yaml:"superseded_by,omitempty"`
	RescopeReason    string `yaml:"rescope_reason,omitempty"`
	RootCause        string `yaml:"root_cause,omitempty"`
	IntegrationFix   bool   `yaml:"integration_fix,omitempty"`
	HandoffPending   bool   `yaml:"handoff_pending,omitempty"`
	Hold             *Hold  `yaml:"hold,omitempty"`
	Halt             *Halt  `yaml:"halt,omitempty"`

	Command        string   `yaml:"command,omitempty"`
	Skill          string   `yaml:"skill,omitempty"`
	Args           Settings `yaml:"args,omitempty"`
	Notify         bool     `yaml:"notify,omitempty"`
	ReviewRequired bool     `yaml:"review_required,omitempty"`
	Writes         bool     `yaml:"writes,omitempty"`
	TimeoutSeconds int      `yaml:"timeout_seconds,omitempty"`
	ModelRole      string   `yaml:"model_role,omitempty"`
	Secrets        List     `yaml:"secrets,omitempty"`

	Attempts    []*Attempt      `yaml:"attempts,omitempty"`
	LastOutcome *LastOutcome    `yaml:"last_outcome,omitempty"`
	Output      *Output         `yaml:"output,omitempty"`
	Usage       *Usage          `yaml:"usage,omitempty"`
	History     []*HistoryEntry `yaml:"history,omitempty"`
}

// List is a list of strings; a scalar is accepted when read (D18).
type List []string

// Settings is an open map of values, as in config and limits.
type Settings map[string]any

// Claiming is a reservation, phase one of a claim (protocol 7.2).
type Claiming struct {
	By         string `yaml:"by"`
	Generation string `yaml:"generation"`
	At         Time   `yaml:"at"`
	Expires    Time   `yaml:"expires"`
	BaseCommit string `yaml:"base_commit,omitempty"`
}

// ResolvedRole says which role file a run used, and by which rule.
type ResolvedRole struct {
	Name string `yaml:"name"`
	Rule string `yaml:"rule"`
	Hash string `yaml:"hash,omitempty"`
}

// Rejection is the reason of a rejection; a plain string is accepted when read.
type Rejection struct {
	Summary   string     `yaml:"summary"`
	Findings  []*Finding `yaml:"findings,omitempty"`
	Checks    []*Check   `yaml:"checks,omitempty"`
	Prior     []*Prior   `yaml:"prior,omitempty"`
	Anomalies List       `yaml:"anomalies,omitempty"`
}

// Finding is one point of a review or check. Severity is error, warning or info.
type Finding struct {
	Severity string `yaml:"severity,omitempty" json:"severity,omitempty"`
	Check    string `yaml:"check,omitempty" json:"check,omitempty"`
	File     string `yaml:"file,omitempty" json:"file,omitempty"`
	Line     int    `yaml:"line,omitempty" json:"line,omitempty"`
	Message  string `yaml:"message" json:"message"`
	Fix      string `yaml:"fix,omitempty" json:"fix,omitempty"`
	SpecRef  string `yaml:"spec_ref,omitempty" json:"spec_ref,omitempty"`
	Output   string `yaml:"output,omitempty" json:"-"` // the last lines of the check that found it
}

// Check is the result of one deterministic review check.
type Check struct {
	Name     string `yaml:"name"`
	Status   string `yaml:"status"`
	Severity string `yaml:"severity,omitempty"`
	ExitCode int    `yaml:"exit_code,omitempty"`
	Seconds  int    `yaml:"seconds,omitempty"`
	Log      string `yaml:"log,omitempty"`
	Baseline string `yaml:"baseline,omitempty"` // log of the same failure on the base of the work
	Message  string `yaml:"message,omitempty"`
	Commit   string `yaml:"commit,omitempty"`
}

// Prior says what became of point N of the previous rejection:
// RESOLVED, PARTIAL or STILL_PRESENT.
type Prior struct {
	N     int    `yaml:"n" json:"n"`
	State string `yaml:"state" json:"state"`
}

// Fix is one corrective step that a rejection asks for.
type Fix struct {
	N        int      `yaml:"n" json:"n,omitempty"`
	Kind     string   `yaml:"kind,omitempty" json:"kind,omitempty"`
	Detail   string   `yaml:"detail,omitempty" json:"detail,omitempty"`
	Expect   string   `yaml:"expect,omitempty" json:"expect,omitempty"`
	Skill    string   `yaml:"skill,omitempty" json:"skill,omitempty"`
	Args     Settings `yaml:"args,omitempty" json:"args,omitempty"`
	Done     bool     `yaml:"done,omitempty" json:"done,omitempty"`
	ExitCode int      `yaml:"exit_code,omitempty" json:"exit_code,omitempty"`
	Output   string   `yaml:"output,omitempty" json:"output,omitempty"`
}

// Review is the latest review of a task. Status is ok, needs_fix, replan or stuck.
type Review struct {
	Status      string     `yaml:"status,omitempty"`
	Mode        string     `yaml:"mode,omitempty"`
	By          string     `yaml:"by,omitempty"`
	Commit      string     `yaml:"commit,omitempty"`
	At          Time       `yaml:"at,omitempty"`
	Reason      string     `yaml:"reason,omitempty"`
	Checks      []*Check   `yaml:"checks,omitempty"`
	Findings    []*Finding `yaml:"findings,omitempty"`
	Suggestions List       `yaml:"suggestions,omitempty"`
}

// NoTests is the coder's waiver of the test gate (protocol 4.7).
type NoTests struct {
	Reason string `yaml:"reason"`
	By     string `yaml:"by"`
	At     Time   `yaml:"at"`
}

// MergeApproval is the human merge gate. Decision is approved, rejected or "".
type MergeApproval struct {
	Required bool   `yaml:"required"`
	Decision string `yaml:"decision,omitempty"`
	By       string `yaml:"by,omitempty"`
	At       Time   `yaml:"at,omitempty"`
	Reason   string `yaml:"reason,omitempty"`
}

// MergeIntent is recorded before the integration branch moves (protocol 8.2 M7).
type MergeIntent struct {
	Commit string `yaml:"commit"`
	Old    string `yaml:"old"`
	At     Time   `yaml:"at"`
	By     string `yaml:"by"`
}

// Hold keeps everybody from picking a task; the status stays.
type Hold struct {
	By     string `yaml:"by"`
	At     Time   `yaml:"at"`
	Reason string `yaml:"reason"`
}

// Halt says which limit stopped a task. Kind is cost, time or iteration.
type Halt struct {
	Kind  string `yaml:"kind"`
	Value Amount `yaml:"value"`
	Limit int    `yaml:"limit"`
	At    Time   `yaml:"at"`
}

// Attempt describes one finished run.
type Attempt struct {
	Seq       int     `yaml:"seq"`
	ClaimSeq  int     `yaml:"claim_seq,omitempty"`
	Run       int     `yaml:"run,omitempty"`
	Agent     string  `yaml:"agent,omitempty"`
	Role      string  `yaml:"role,omitempty"`
	Kind      string  `yaml:"kind,omitempty"`
	Action    string  `yaml:"action,omitempty"`
	Outcome   string  `yaml:"outcome,omitempty"`
	Summary   string  `yaml:"summary,omitempty"`
	Commit    string  `yaml:"commit,omitempty"`
	Attic     string  `yaml:"attic,omitempty"`
	CostCents *Amount `yaml:"cost_cents,omitempty"` // nil: unknown, never zero
	Seconds   int     `yaml:"seconds,omitempty"`
	Ended     Time    `yaml:"ended,omitempty"`
	CLI       string  `yaml:"cli,omitempty"` // agent program

	Session *Conversation `yaml:"session,omitempty"` // nil: the program has none that can be resumed
}

// Conversation is what an agent program can resume. The tokens are all that it told for it,
// from its beginning to the end of the run that the conversation stands with.
type Conversation struct {
	ID           string `yaml:"id"`
	TokensIn     int    `yaml:"tokens_in,omitempty"`
	TokensOut    int    `yaml:"tokens_out,omitempty"`
	TokensCached int    `yaml:"tokens_cached,omitempty"`
}

// LastOutcome is the latest exit command of an agent for a task.
type LastOutcome struct {
	Action        string `yaml:"action"`
	Summary       string `yaml:"summary,omitempty"`
	EvidenceFiles List   `yaml:"evidence_files,omitempty"`
	At            Time   `yaml:"at"`
}

// Output is the result of an exec, skill or msg task.
type Output struct {
	Text     string `yaml:"text,omitempty"`
	Path     string `yaml:"path,omitempty"`
	Bytes    int    `yaml:"bytes,omitempty"`
	ExitCode int    `yaml:"exit_code"`
}

// Usage sums what runs cost; runs without telemetry count in UnknownCostRuns.
type Usage struct {
	CostCents       Amount    `yaml:"cost_cents"`
	Seconds         int       `yaml:"seconds"`
	TokensIn        int       `yaml:"tokens_in"`
	TokensOut       int       `yaml:"tokens_out"`
	TokensCached    int       `yaml:"tokens_cached,omitempty"`
	AgentRuns       int       `yaml:"agent_runs"`
	UnknownCostRuns int       `yaml:"unknown_cost_runs,omitempty"`
	Day             *UsageDay `yaml:"day,omitempty"`
}

// UsageDay is the cost of one UTC day.
type UsageDay struct {
	Date      string `yaml:"date"`
	CostCents Amount `yaml:"cost_cents"`
}

// HistoryEntry is one line of a task's append-only history (protocol 4.6).
type HistoryEntry struct {
	Time             Time           `yaml:"time"`
	Event            string         `yaml:"event"`
	Agent            string         `yaml:"agent,omitempty"`
	Via              string         `yaml:"via,omitempty"`
	Iteration        int            `yaml:"iteration,omitempty"`
	ClaimSeq         int            `yaml:"claim_seq,omitempty"`
	BaseCommit       string         `yaml:"base_commit,omitempty"`
	Commit           string         `yaml:"commit,omitempty"`
	PreviousAssignee string         `yaml:"previous_assignee,omitempty"`
	Attic            string         `yaml:"attic,omitempty"`
	Holder           string         `yaml:"holder,omitempty"`
	Lease            Time           `yaml:"lease,omitempty"`
	Cause            string         `yaml:"cause,omitempty"`
	Kind             string         `yaml:"kind,omitempty"`
	What             string         `yaml:"what,omitempty"`
	Reason           string         `yaml:"reason,omitempty"`
	By               List           `yaml:"by,omitempty"`
	Files            List           `yaml:"files,omitempty"`
	Log              string         `yaml:"log,omitempty"`
	MergeCommit      string         `yaml:"merge_commit,omitempty"`
	DriftCommits     int            `yaml:"drift_commits,omitempty"`
	Recovered        *bool          `yaml:"recovered,omitempty"`
	Auto             bool           `yaml:"auto,omitempty"`
	Merge            bool           `yaml:"merge,omitempty"`
	NoTests          string         `yaml:"no_tests,omitempty"`
	Halt             *Halt          `yaml:"halt,omitempty"`
	Checkpoint       *Intent        `yaml:"checkpoint,omitempty"`
	Extra            map[string]any `yaml:",inline"`
}

// Intent is a pre-execution checkpoint (protocol 13.11).
type Intent struct {
	Intent        string `yaml:"intent"`
	Assumptions   List   `yaml:"assumptions,omitempty"`
	Risks         List   `yaml:"risks,omitempty"`
	Validation    string `yaml:"validation"`
	FilesToModify List   `yaml:"files_to_modify,omitempty"`
}
