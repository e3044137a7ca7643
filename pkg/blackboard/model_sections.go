package blackboard

// Agent is one registration (protocol 2.4).
type Agent struct {
	Role            Role   `yaml:"role"`
	Status          string `yaml:"status"`
	CurrentTask     string `yaml:"current_task,omitempty"`
	Task            string `yaml:"task,omitempty"` // another spelling of current_task; see Normalize
	LeaseExpires    Time   `yaml:"lease_expires,omitempty"`
	Heartbeat       Time   `yaml:"heartbeat,omitempty"`
	Terminal        string `yaml:"terminal,omitempty"`
	Generation      string `yaml:"generation,omitempty"`
	TokenHash       string `yaml:"token_hash,omitempty"`
	Host            string `yaml:"host,omitempty"`
	BootID          string `yaml:"boot_id,omitempty"`
	PID             int    `yaml:"pid,omitempty"`
	PIDStart        int64  `yaml:"pid_start,omitempty"`
	Child           *Child `yaml:"child,omitempty"`
	CLI             string `yaml:"cli,omitempty"`
	Model           string `yaml:"model,omitempty"`
	IterationsTotal int    `yaml:"iterations_total,omitempty"`
	ContextPercent  int    `yaml:"context_percent,omitempty"`
	Crashes         []Time `yaml:"crashes,omitempty"`
	ReservedCents   Amount `yaml:"reserved_cents,omitempty"` // what the run under way may cost; see ReserveCost
	WaitingFor      string `yaml:"waiting_for,omitempty"`
	Started         Time   `yaml:"started,omitempty"`
	// ProviderWait is what the running program says that it waits for.
	ProviderWait *ProviderWait `yaml:"provider_wait,omitempty"`
	// Settings are those of the supervisor's environment, by key: the verbs of its agent follow them.
	Settings map[string]string `yaml:"settings,omitempty"`
}

// ProviderWait is a wait of an agent program for its provider, with the reason that it gives.
type ProviderWait struct {
	Reason string `yaml:"reason" json:"reason"`
	Until  Time   `yaml:"until" json:"until"`
}

// Child is the agent program that a registration is running.
type Child struct {
	PID       int    `yaml:"pid"`
	PIDStart  int64  `yaml:"pid_start"`
	PGID      int    `yaml:"pgid,omitempty"`
	Run       int    `yaml:"run"`
	RunID     string `yaml:"run_id,omitempty"` // mark in the environment of the child's whole tree
	TokenHash string `yaml:"token_hash,omitempty"`
	Started   Time   `yaml:"started,omitempty"`
	Task      string `yaml:"task,omitempty"`
}

// Agent statuses (protocol 5.1).
const (
	AgentStarting  = "STARTING"
	AgentIdle      = "IDLE"
	AgentWorking   = "WORKING"
	AgentReviewing = "REVIEWING"
	AgentPlanning  = "PLANNING"
	AgentWaiting   = "WAITING"
	AgentHandoff   = "HANDOFF"
)

// Goal, sprint and circuit breaker statuses (protocol 5.2 to 5.4).
const (
	InProgress     = "IN_PROGRESS"
	Completed      = "COMPLETED"
	Aborted        = "ABORTED"
	AtCheckpoint   = "CHECKPOINT"
	BreakerOK      = "OK"
	BreakerTripped = "TRIGGERED"
)

// Discovery is something found on the way that is not part of the task.
type Discovery struct {
	ID              string    `yaml:"id"`
	By              string    `yaml:"by,omitempty"`
	During          string    `yaml:"during,omitempty"`
	Description     string    `yaml:"description"`
	Severity        string    `yaml:"severity,omitempty"`
	Urgency         string    `yaml:"urgency,omitempty"`
	Recommendation  string    `yaml:"recommendation,omitempty"`
	Created         Time      `yaml:"created,omitempty"`
	ConvertedToTask string    `yaml:"converted_to_task,omitempty"`
	Deferred        *Deferred `yaml:"deferred,omitempty"`
}

// Deferred says who put a discovery off, and why.
type Deferred struct {
	By     string `yaml:"by"`
	At     Time   `yaml:"at"`
	Reason string `yaml:"reason"`
}

// Handoff is what an agent leaves for its successor (protocol 13.7).
type Handoff struct {
	Agent         string `yaml:"agent"`
	Timestamp     Time   `yaml:"timestamp"`
	ContextUsed   string `yaml:"context_used,omitempty"`
	Summary       string `yaml:"summary"`
	NextAction    string `yaml:"next_action"`
	Approach      string `yaml:"approach,omitempty"`
	Blockers      string `yaml:"blockers,omitempty"`
	FilesModified List   `yaml:"files_modified,omitempty"`
	NextSteps     List   `yaml:"next_steps,omitempty"`
	ConsumedBy    string `yaml:"consumed_by,omitempty"`
	ConsumedAt    Time   `yaml:"consumed_at,omitempty"`
}

// Note is a human note (protocol 2.5).
type Note struct {
	ID         string `yaml:"id"`
	Timestamp  Time   `yaml:"timestamp"`
	Message    string `yaml:"message"`
	For        string `yaml:"for,omitempty"`
	By         string `yaml:"by,omitempty"`
	CallerRole string `yaml:"caller_role,omitempty"`
	Plan       string `yaml:"plan,omitempty"`
	Outcome    string `yaml:"outcome,omitempty"`
	SeenBy     List   `yaml:"seen_by,omitempty"`
}

// Anomaly is something that went differently than it should (protocol 13.9).
type Anomaly struct {
	ID        string   `yaml:"id"`
	Timestamp Time     `yaml:"timestamp"`
	Task      string   `yaml:"task,omitempty"`
	Reporter  string   `yaml:"reporter,omitempty"`
	TaskID    string   `yaml:"task_id,omitempty"`   // other spellings of task and reporter,
	LoggedBy  string   `yaml:"logged_by,omitempty"` // see Normalize
	Type      string   `yaml:"type"`
	Details   Settings `yaml:"details,omitempty"`
}

// SpecChange records that a spec file changed.
type SpecChange struct {
	Timestamp   Time   `yaml:"timestamp"`
	Spec        string `yaml:"spec"`
	Change      string `yaml:"change"`
	TriggeredBy string `yaml:"triggered_by,omitempty"`
	Hash        string `yaml:"hash,omitempty"`
}

// Plan is one decomposition of a request into tasks.
type Plan struct {
	ID            string       `yaml:"id"`
	Parent        string       `yaml:"parent,omitempty"`
	Root          string       `yaml:"root,omitempty"`
	Goal          string       `yaml:"goal"`
	Request       string       `yaml:"request,omitempty"`
	Caller        *Caller      `yaml:"caller,omitempty"`
	By            string       `yaml:"by,omitempty"`
	Status        string       `yaml:"status"`
	Created       Time         `yaml:"created"`
	Order         string       `yaml:"order,omitempty"`
	Hash          string       `yaml:"hash,omitempty"`
	Tasks         List         `yaml:"tasks,omitempty"`
	ParseAttempts int          `yaml:"parse_attempts,omitempty"`
	Failure       *PlanFailure `yaml:"failure,omitempty"`
	Tried         List         `yaml:"tried,omitempty"`
}

// Caller is the person behind a request; Role is admin or user.
type Caller struct {
	Name string `yaml:"name"`
	Role string `yaml:"role"`
}

// PlanFailure says which task made a plan fail, and why.
type PlanFailure struct {
	Task   string `yaml:"task,omitempty"`
	Reason string `yaml:"reason"`
}

// Fact is one lasting statement about the project.
type Fact struct {
	ID       string `yaml:"id"`
	Content  string `yaml:"content"`
	Status   string `yaml:"status,omitempty"`
	Source   string `yaml:"source,omitempty"`
	Task     string `yaml:"task,omitempty"`
	By       string `yaml:"by,omitempty"`
	Category string `yaml:"category,omitempty"`
	Created  Time   `yaml:"created,omitempty"`
	LastUsed Time   `yaml:"last_used,omitempty"`
	Uses     int    `yaml:"uses,omitempty"`
	From     List   `yaml:"from,omitempty"`
}

// Question is an agent's question to people.
type Question struct {
	ID         string `yaml:"id"`
	Task       string `yaml:"task,omitempty"`
	Agent      string `yaml:"agent,omitempty"`
	Kind       string `yaml:"kind,omitempty"`
	Type       string `yaml:"type,omitempty"`
	Text       string `yaml:"text"`
	Options    List   `yaml:"options,omitempty"`
	Synthetic  bool   `yaml:"synthetic,omitempty"`
	Status     string `yaml:"status"`
	Answer     string `yaml:"answer,omitempty"`
	By         string `yaml:"by,omitempty"`
	Asked      Time   `yaml:"asked,omitempty"`
	AnsweredAt Time   `yaml:"answered_at,omitempty"`
}

// Program says until when an agent program is not started (protocol 13.3).
type Program struct {
	PausedUntil Time   `yaml:"paused_until"`
	Reason      string `yaml:"reason,omitempty"`
	At          Time   `yaml:"at,omitempty"`
}

// Planner holds what is remembered about wake triggers (protocol 13.1).
type Planner struct {
	Triggers map[string]*TriggerRecord `yaml:"triggers,omitempty"`
	LastRun  *PlannerRun               `yaml:"last_run,omitempty"`
}

// TriggerRecord is what happened to the latest fingerprint of one trigger kind.
type TriggerRecord struct {
	Fingerprint string `yaml:"fingerprint"`
	Launches    int    `yaml:"launches"`
	Last        Time   `yaml:"last,omitempty"`
	Next        Time   `yaml:"next,omitempty"`
	Outcome     string `yaml:"outcome,omitempty"`
	Suppressed  bool   `yaml:"suppressed,omitempty"`
}

// PlannerRun is the latest planner run. Result is changed or no_op.
type PlannerRun struct {
	Agent    string `yaml:"agent"`
	At       Time   `yaml:"at"`
	Triggers List   `yaml:"triggers,omitempty"`
	Result   string `yaml:"result,omitempty"`
}

// Sprint is one bounded stretch of work on the goal (protocol 2.8).
type Sprint struct {
	ID            string        `yaml:"id"`
	GoalRef       string        `yaml:"goal_ref"`
	Scope         *SprintScope  `yaml:"scope,omitempty"`
	Timeline      *Timeline     `yaml:"timeline,omitempty"`
	Status        string        `yaml:"status"`
	Checkpoints   []*Checkpoint `yaml:"checkpoints,omitempty"`
	Metrics       *Metrics      `yaml:"metrics,omitempty"`
	Retrospective any           `yaml:"retrospective,omitempty"`
}

// SprintScope lists the tasks that were planned, and those that would be nice.
type SprintScope struct {
	Planned List `yaml:"planned,omitempty"`
	Stretch List `yaml:"stretch,omitempty"`
}

// Timeline of a sprint.
type Timeline struct {
	Started      Time `yaml:"started"`
	Deadline     Time `yaml:"deadline,omitempty"`
	CheckpointAt Time `yaml:"checkpoint_at,omitempty"`
	Ended        Time `yaml:"ended,omitempty"`
}

// Checkpoint is one stop for people (protocol 13.6).
type Checkpoint struct {
	N         int    `yaml:"n"`
	At        Time   `yaml:"at"`
	By        string `yaml:"by"`
	Message   string `yaml:"message,omitempty"`
	File      string `yaml:"file,omitempty"`
	Decision  string `yaml:"decision,omitempty"`
	DecidedBy string `yaml:"decided_by,omitempty"`
	DecidedAt Time   `yaml:"decided_at,omitempty"`
}

// Metrics are the stored figures of protocol 12; nil rates are undefined (0 of 0).
type Metrics struct {
	TasksDone                        int  `yaml:"tasks_done"`
	TasksInProgress                  int  `yaml:"tasks_in_progress"`
	TasksBlocked                     int  `yaml:"tasks_blocked"`
	IterationsTotal                  int  `yaml:"iterations_total"`
	ReviewCyclesTotal                int  `yaml:"review_cycles_total"`
	ReviewVerdictApprovals           int  `yaml:"review_verdict_approvals"`
	ReviewVerdictRejections          int  `yaml:"review_verdict_rejections"`
	ReviewVerdictCount               int  `yaml:"review_verdict_count"`
	ReviewVerdictApprovalRatePercent *int `yaml:"review_verdict_approval_rate_percent,omitempty"`
	TaskSubmittedForReviewCount      int  `yaml:"task_submitted_for_review_count"`
	TaskOutcomeApprovalRatePercent   *int `yaml:"task_outcome_approval_rate_percent,omitempty"`
}

// CircuitBreaker is the state of decision D17.
type CircuitBreaker struct {
	LastCheck      Time             `yaml:"last_check,omitempty"`
	Status         string           `yaml:"status"`
	CurrentTrigger *BreakerTrigger  `yaml:"current_trigger,omitempty"`
	Watermark      string           `yaml:"watermark,omitempty"`
	History        []*BreakerRecord `yaml:"history,omitempty"`
}

// BreakerTrigger is what tripped the circuit breaker.
type BreakerTrigger struct {
	Timestamp  Time   `yaml:"timestamp"`
	Pattern    string `yaml:"pattern"`
	Severity   string `yaml:"severity"`
	ReportFile string `yaml:"report_file,omitempty"`
	Patterns   List   `yaml:"patterns,omitempty"`
}

// BreakerRecord is one entry of the circuit breaker's history.
type BreakerRecord struct {
	Timestamp  Time   `yaml:"timestamp"`
	Pattern    string `yaml:"pattern,omitempty"`
	Severity   string `yaml:"severity,omitempty"`
	Result     string `yaml:"result,omitempty"`
	Resolution string `yaml:"resolution,omitempty"`
	ResolvedAt Time   `yaml:"resolved_at,omitempty"`
	ResolvedBy string `yaml:"resolved_by,omitempty"`
}

// Entry is one line of the journal, log.yaml (protocol 3.1), without revision
// and with its optional keys in Extra.
type Entry struct {
	Timestamp Time           `yaml:"timestamp"`
	Rev       int            `yaml:"rev"`
	Agent     string         `yaml:"agent"`
	Action    string         `yaml:"action"`
	Task      string         `yaml:"task"` // "" is written as null
	Detail    string         `yaml:"detail"`
	Extra     map[string]any `yaml:",inline"`
}
