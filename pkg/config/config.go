package config

import "time"

// Config is every setting with its effective value. Files and variables write
// durations as whole numbers of the unit named here; limits of 0 mean none.
type Config struct {
	Version       int              `key:"version" is:"1..1"`
	Protocol      Protocol         `key:"protocol"`
	Orchestration Orchestration    `key:"orchestration"`
	Agents        Agents           `key:"agents"`
	Models        Names            `key:"models"` // role or kind → [ADAPTER:]MODEL; "" = the adapter's own default
	Roles         Roles            `key:"roles"`
	Context       Context          `key:"context"`
	Plan          Plan             `key:"plan"`
	Exit          Exit             `key:"exit"`
	Review        Review           `key:"review"`
	Limits        Limits           `key:"limits"`
	Prices        map[string]Price `key:"prices"` // by model substring
	Facts         Facts            `key:"facts"`
	Messenger     Messenger        `key:"messenger"`
	History       History          `key:"history"`
	Secrets       Secrets          `key:"secrets"`
	Exec          Exec             `key:"exec"`
	Worktree      Worktree         `key:"worktree"`
	Integration   Integration      `key:"integration"`
	Hooks         Hooks            `key:"hooks"`
	Git           Git              `key:"git"`
	Policy        Policy           `key:"policy"`
	Notify        Notify           `key:"notify"`

	origins map[string]Origin
	aliases map[string]string // keys that the file gives by another name

	set, overrides map[string]any // Settings and Overrides
}

// Names maps one name to another.
type Names = map[string]string

// Protocol has the defaults of state.yaml's section config (protocol 2.8).
type Protocol struct {
	IntegrationBranch        string        `key:"integration_branch" is:"branch"`
	BaseRef                  string        `key:"base_ref"`
	LeaseDuration            time.Duration `key:"lease_duration" is:"30..86400" unit:"s"`
	LeaseGrace               time.Duration `key:"lease_grace" is:"0.." unit:"s"`
	HeartbeatInterval        time.Duration `key:"heartbeat_interval" is:"1.." unit:"s"` // at most a third of LeaseDuration
	CoderPollInterval        time.Duration `key:"coder_poll_interval" is:"1.." unit:"s"`
	PlannerPollInterval      time.Duration `key:"planner_poll_interval" is:"1.." unit:"s"`
	ReviewerPollInterval     time.Duration `key:"reviewer_poll_interval" is:"1.." unit:"s"`
	CoderMaxWait             time.Duration `key:"coder_max_wait" is:"0.." unit:"s"`
	PlannerMaxWait           time.Duration `key:"planner_max_wait" is:"0.." unit:"s"`
	ReviewerMaxWait          time.Duration `key:"reviewer_max_wait" is:"0.." unit:"s"`
	LockTimeout              time.Duration `key:"lock_timeout" is:"0.." unit:"s"`
	ClaimReserve             time.Duration `key:"claim_reserve" is:"1.." unit:"s"`
	ReassignAfter            time.Duration `key:"reassign_after" is:"0.." unit:"s"`
	AgingStep                time.Duration `key:"aging_step" is:"1.." unit:"s"`
	KillGrace                time.Duration `key:"kill_grace" is:"0.." unit:"s"`
	MaxHandoffs              int           `key:"max_handoffs" is:"0.."`
	CrashLimit               int           `key:"crash_limit" is:"1.."`
	CrashWindow              time.Duration `key:"crash_window" is:"1.." unit:"s"`
	PlannerRetries           int           `key:"planner_retries" is:"1.."`
	PreExecutionCheckpoint   string        `key:"pre_execution_checkpoint" is:"required|warn|off"`
	TestsRequired            bool          `key:"tests_required"`
	IntegrationCheckTimeout  time.Duration `key:"integration_check_timeout" is:"1.." unit:"s"`
	AlertCheckpointStale     time.Duration `key:"alert_checkpoint_stale" is:"0.." unit:"s"`
	AlertCheckpointStuck     time.Duration `key:"alert_checkpoint_stuck" is:"0.." unit:"s"`
	AlertCheckpointAbandoned time.Duration `key:"alert_checkpoint_abandoned" is:"0.." unit:"s"`
	AlertStalled             time.Duration `key:"alert_stalled" is:"0.." unit:"s"`
	AlertStaleDraft          time.Duration `key:"alert_stale_draft" is:"0.." unit:"s"`
	AlertOrphanedRejected    time.Duration `key:"alert_orphaned_rejected" is:"0.." unit:"s"`
	AlertPauseStale          time.Duration `key:"alert_pause_stale" is:"0.." unit:"s"`
	AlertPauseForgotten      time.Duration `key:"alert_pause_forgotten" is:"0.." unit:"s"`
}

// Orchestration concerns `liza run`. The two durations are shorthands: when set,
// Load has already put them into the keys that they stand for.
type Orchestration struct {
	MaxConcurrentAgents int           `key:"max_concurrent_agents" is:"1..64"`
	AgentTimeout        time.Duration `key:"agent_timeout_minutes" is:"0.." unit:"m"`
	PollInterval        time.Duration `key:"poll_interval_seconds" is:"0.." unit:"s"`
}

// Agents chooses the agent programs and defines those of the project.
type Agents struct {
	Default  string                 `key:"default" is:"name"`
	Fallback Fallback               `key:"fallback" is:"name"`
	Custom   map[string]CustomAgent `key:"*"`
}

// Fallback names the adapters that are tried, in order, while a program waits for
// its quota window: for every role alike, or by role.
type Fallback struct {
	All    []string
	ByRole map[string][]string
}

// For gives the fallbacks of a role.
func (f Fallback) For(role string) []string {
	if f.ByRole != nil {
		return f.ByRole[role]
	}
	return f.All
}

// CustomAgent is an agent program that the project defines (the adapter `command`), or what it
// changes of a built-in one: then keys that are not set keep the built-in value. The meaning
// of each key stands in the catalogue of package agent.
type CustomAgent struct {
	Command       []string   `key:"command"` // argv with {{.PromptFile}} and the like
	Prompt        string     `key:"prompt" is:"stdin|file|argv"`
	Output        string     `key:"output" is:"name"` // text, or the name of a built-in reader
	Answer        string     `key:"answer"`           // output json: the field that has the answer
	Env           Names      `key:"env"`
	Provider      string     `key:"provider"`
	LongPrompt    string     `key:"long_prompt"`
	Model         []string   `key:"model"`
	Resume        []string   `key:"resume"`
	ResumeCommand []string   `key:"resume_command"`
	Interactive   []string   `key:"interactive"`
	MCP           []string   `key:"mcp"`
	RootEnv       Names      `key:"root_env"`
	Unset         []string   `key:"unset"`
	Version       []string   `key:"version"`
	Help          []string   `key:"help"`
	Needs         []string   `key:"needs"`
	RestartCode   int        `key:"restart_code" is:"0..255"`
	EndGrace      int        `key:"end_grace" is:"0..3600"`
	SessionUsage  bool       `key:"session_usage"`
	ExitCodes     Names      `key:"exit_codes" is:"finished|crashed|context_full|stopped|reask|unusable|quota|rate_limit|overloaded|network"`
	Signatures    Signatures `key:"signatures"`
}

// Signatures are regular expressions by which the end of a run is recognised, by class.
type Signatures struct {
	ContextFull []string `key:"context_full" is:"regexp"`
	Stopped     []string `key:"stopped" is:"regexp"`
	Reask       []string `key:"reask" is:"regexp"`
	Unusable    []string `key:"unusable" is:"regexp"`
	Quota       []string `key:"quota" is:"regexp"`
	RateLimit   []string `key:"rate_limit" is:"regexp"`
	Overloaded  []string `key:"overloaded" is:"regexp"`
	Network     []string `key:"network" is:"regexp"`
	NoSession   []string `key:"no_session" is:"regexp"`
}

// builtinPrograms are the agent programs that need no command of the project. They stand here
// too, because settings know no agent; a test compares.
var builtinPrograms = []string{
	"aider", "amp", "claude", "cline", "cn", "codex", "copilot", "crush", "cursor-agent", "droid",
	"gemini", "goose", "kimi", "opencode", "pi", "qwen", "vibe",
}

// Roles says which role file is used for which type of task and kind of run.
type Roles struct {
	Default     string `key:"default" is:"name"`
	TypeMapping Names  `key:"type_mapping"` // an empty value removes an entry
	ByKind      Names  `key:"by_kind" is:"name" closed:"true"`
}

// Context bounds what a prompt is made of.
type Context struct {
	MaxChars           int      `key:"max_chars" is:"8000..200000"`
	CustomInstructions string   `key:"custom_instructions"`
	ExcludedPaths      []string `key:"excluded_paths"`
	RelevantFilesLimit int      `key:"relevant_files_limit" is:"0..50"`
	PriorAttempts      int      `key:"prior_attempts" is:"0..10"`
	Messages           int      `key:"messages" is:"0..50"`
}

// Plan says what a plan must have before it is carried out.
type Plan struct {
	FinalMsg    string `key:"final_msg" is:"require|append|off"`
	HumanReview bool   `key:"human_review"`
}

// Exit concerns the exit command of agents; Strict allows nothing around it.
type Exit struct {
	Strict bool `key:"strict"`
}

// Review is the gate between a submission and its merge.
type Review struct {
	Mode             string           `key:"mode" is:"|strict|normal|yolo|disabled"`
	AutoMerge        bool             `key:"auto_merge"`
	SkipAgentOnError bool             `key:"skip_agent_on_error"`
	Baseline         bool             `key:"baseline"`
	TestPaths        []string         `key:"test_paths"`
	UserFacingPaths  []string         `key:"user_facing_paths"`
	E2EPaths         []string         `key:"e2e_paths"`
	Checks           map[string]Check `key:"checks" closed:"true"`
}

// Check is one deterministic check. An empty Command means: detect it.
type Check struct {
	Enabled  bool   `key:"enabled"`
	Severity string `key:"severity" is:"|error|warning|info"` // "" = the default of the check, see Review.Severity
	Command  string `key:"command"`
}

// Severity is the effective severity of a check. That of test_coverage depends on
// the mode when it is not set: error without a mode, warning with one.
func (r Review) Severity(check string) string {
	if s := r.Checks[check].Severity; s != "" {
		return s
	}
	if s := defaultChecks()[check].Severity; s != "" {
		return s
	}
	if check == "test_coverage" && r.Mode == "" {
		return "error"
	}
	return "warning"
}

// Limits bounds work (roles-and-knowledge 8.1).
type Limits struct {
	MaxIterations      int           `key:"max_iterations" is:"0.."`
	MaxAgentRuns       int           `key:"max_agent_runs" is:"0.."`
	MaxReviewCycles    int           `key:"max_review_cycles" is:"0.."`
	MaxReviewRetries   int           `key:"max_review_retries" is:"0.."`
	MaxPlanRetries     int           `key:"max_plan_retries" is:"0.."`
	MaxReplanDepth     int           `key:"max_replan_depth" is:"0.."`
	MaxParseRetries    int           `key:"max_parse_retries" is:"0.."`
	TaskCrashes        int           `key:"task_crashes" is:"0.."`
	OnReviewDepth      string        `key:"on_review_depth" is:"escalate|proceed"`
	CostCents          int           `key:"cost_cents" is:"0.."`
	Time               time.Duration `key:"time_minutes" is:"0.." unit:"m"`
	Tokens             int           `key:"tokens" is:"0..1000000000000"`
	SprintCostCents    int           `key:"sprint_cost_cents" is:"0.."`
	SprintTime         time.Duration `key:"sprint_time_minutes" is:"0.." unit:"m"`
	SprintTokens       int           `key:"sprint_tokens" is:"0..1000000000000"`
	DayCostCents       int           `key:"day_cost_cents" is:"0.."`
	Timeout            Timeouts      `key:"timeout_minutes"`
	Stall              time.Duration `key:"stall_minutes" is:"0.." unit:"m"`
	ExecTimeout        time.Duration `key:"exec_timeout_seconds" is:"0.." unit:"s"`
	CheckTimeout       time.Duration `key:"check_timeout_seconds" is:"0.." unit:"s"`
	MaxOutputBytes     int           `key:"max_output_bytes" is:"0.."`
	MaxPlanTasks       int           `key:"max_plan_tasks" is:"0.."`
	MaxFacts           int           `key:"max_facts" is:"0.."`
	SummarizeThreshold int           `key:"summarize_threshold" is:"0.."`
	WarnPercent        int           `key:"warn_percent" is:"0..100"`
}

// Timeouts bounds one run by kind of agent.
type Timeouts struct {
	Planner      time.Duration `key:"planner" is:"0.." unit:"m"`
	Coder        time.Duration `key:"coder" is:"0.." unit:"m"`
	CodeReviewer time.Duration `key:"code_reviewer" is:"0.." unit:"m"`
	Messenger    time.Duration `key:"messenger" is:"0.." unit:"m"`
	Summarizer   time.Duration `key:"summarizer" is:"0.." unit:"m"`
}

// Price of a model in USD per million tokens.
type Price struct {
	In  float64 `key:"in" is:"0.."`
	Out float64 `key:"out" is:"0.."`
}

// Facts says whether a learned fact waits for a person.
type Facts struct {
	Review bool `key:"review"`
}

// Messenger says who writes texts for people.
type Messenger struct {
	Mode string `key:"mode" is:"llm|verbatim"`
}

// History bounds the history on disk; 0 days = kept for ever.
type History struct {
	MaxMB         int `key:"max_mb" is:"1.."`
	RetentionDays int `key:"retention_days" is:"0.."`
}

// Secrets says where the secrets of a plan are kept.
type Secrets struct {
	Store string `key:"store" is:"file|memory"`
}

// Exec concerns tasks of kind exec.
type Exec struct {
	EnvAllow        []string `key:"env_allow"`
	RerunAfterCrash bool     `key:"rerun_after_crash"`
}

// Worktree has the commands (sh -c) that run in every new worktree.
type Worktree struct {
	Setup []string `key:"setup"`
}

// Integration has the commands (sh -c) that run on a merge candidate.
type Integration struct {
	Checks []string `key:"checks"`
}

// Hooks are commands of the project around a review and a merge.
type Hooks struct {
	PreReview []string `key:"pre_review"`
	PreMerge  []string `key:"pre_merge"`
}

// Git says what Liza's own git commands may do.
type Git struct {
	Filters []string `key:"filters"`
}

// Policy says who may do what, and what nobody may.
type Policy struct {
	Callers          Names    `key:"callers" is:"admin|user"`
	UserKinds        []string `key:"user_kinds" is:"code|exec|msg|skill"`
	AllowSudo        bool     `key:"allow_sudo"`
	MinFreeMB        int      `key:"min_free_mb" is:"0.."`
	Push             bool     `key:"push"`
	ReviewerOtherCLI bool     `key:"reviewer_other_cli"`
	Deny             []string `key:"deny" is:"regexp"`
	Allow            []string `key:"allow" is:"regexp"`
}

// Notify concerns the webhook (roles-and-knowledge 9.1); no Events = all of them.
type Notify struct {
	WebhookURL   string   `key:"webhook_url" is:"url"`
	SecretEnv    string   `key:"secret_env"`
	RequireHTTPS bool     `key:"require_https"`
	AllowHosts   []string `key:"allow_hosts"`
	Events       []string `key:"events" is:"output|replan|replan_stopped|planning_failed|blocked|question|merge_approval|review_stuck|integration_failed|limit_warning|halted|checkpoint|breaker|goal_completed|goal_aborted|agent_unusable|role_unusable|config_invalid|policy_denied|alert"`
}
