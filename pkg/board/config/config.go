// Package config holds the settings of a project: the built-in defaults, the file
// .liza/config.yaml (or config.json) and the LIZA_ variables of the environment, in
// this order (specs/roles-and-knowledge.md#10).
//
// Load is for anyone who changes something: it reports every defect of the file and
// the environment at once and then returns no Config. LoadTolerant is for reading
// commands: it always returns one and turns each defect into a warning. Origin says
// where an effective value comes from.
//
// The struct types are the schema. A field's tags are its name in the file (key),
// what its value must be (is), the unit that a duration has in the file (unit), and
// what makes a setting that gates or limits a team weaker (gate, see Hold);
// a map tagged closed has no other names than those of its default.
//
// The package knows no command line and no blackboard. Settings, Overrides and
// Initial translate to the names of state.yaml's section config (specs/protocol.md#2.8).
package config

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// Config is every setting with its effective value. Files and variables write durations as whole numbers of the unit in the
// tag; limits of 0 mean none. The tag about describes the key in liza config, the schema and specs/configuration.md.
type Config struct {
	Version       int              `key:"version" is:"1..1" about:"Version of this file's form."`
	Protocol      Protocol         `key:"protocol" about:"Defaults of the section config of state.yaml; a key that is there wins."`
	Orchestration Orchestration    `key:"orchestration" about:"How liza run works."`
	Agents        Agents           `key:"agents" about:"Agent programs; the name of a program of the project, or of a built-in one to change, has a map of its own."`
	Models        map[string]Model `key:"models" about:"Model per role or kind, as MODEL or PROGRAM:MODEL; empty: the next more general one, at last the program's own. Or {ladder: [PROGRAM:MODEL, …], after_rejections: N}: the next one takes over where one fails."`
	Roles         Roles            `key:"roles" about:"Roles of runs."`
	Context       Context          `key:"context" about:"Parts and size of prompts."`
	Plan          Plan             `key:"plan" about:"Conditions for the plan of a planner."`
	Review        Review           `key:"review" about:"The gate between a submission and its merge."`
	Limits        Limits           `key:"limits" about:"Limits of work; 0 means no limit."`
	Prices        map[string]Price `key:"prices" about:"Price of a model, by a part of PROGRAM:MODEL, the longest one counts: {in, out} in USD per million tokens; for programs that report tokens only."`
	Facts         Facts            `key:"facts" about:"Lasting facts about the project."`
	Messenger     Messenger        `key:"messenger" about:"Who writes texts for people."`
	History       History          `key:"history" about:"The record of prompts and answers."`
	Store         Store            `key:"store" about:"Where the board is, for a team on several hosts; liza init --store and --join write it."`
	Secrets       Secrets          `key:"secrets" about:"Secrets of a plan."`
	Exec          Exec             `key:"exec" about:"Tasks of kind exec."`
	Worktree      Worktree         `key:"worktree" about:"Worktrees of tasks."`
	Services      Services         `key:"services" about:"Servers that run beside the programs of a task and its checks, in their sandbox: NAME: {command, init, ready, env}."`
	Integration   Integration      `key:"integration" about:"The merge."`
	Merge         Merge            `key:"merge" about:"How approved work gets onto the integration branch."`
	Land          Land             `key:"land" about:"How merged work gets onto a forge, as pull or merge requests."`
	Import        Import           `key:"import" about:"Issues of trackers and items of files that became tasks."`
	Hooks         Hooks            `key:"hooks" about:"Commands of the project."`
	Git           Git              `key:"git" about:"Git, as Liza itself runs it."`
	Sandbox       Sandbox          `key:"sandbox" about:"What agent programs, and commands that run what agents wrote, may read, write and reach; agents.NAME.sandbox has the same keys for one program: lists are added, other values replace."`
	Policy        Policy           `key:"policy" about:"Who may do what, and what nobody may."`
	Notify        Notify           `key:"notify" about:"Messages to people."`

	Timing map[string]int // constants of the protocol that a test replaces; LIZA_TEST_TIMING sets them

	origins map[string]Origin

	set, overrides map[string]any // results of Settings and Overrides
	held           []string       // see Hold
}

// Names maps one name to another.
type Names = map[string]string

// Model names the model of a role: one, or a ladder whose next rung takes over where one fails to complete
// (specs/configuration.md#a-ladder-of-models).
type Model struct {
	Name            string   // MODEL or PROGRAM:MODEL; of a ladder the first rung
	Ladder          []string `key:"ladder" is:"rung" required:"true"` // PROGRAM:MODEL, the cheapest first
	AfterRejections int      `key:"after_rejections" is:"0..5"`       // rejections on a rung until the next is taken; 0: never
	FromBottom      bool     `key:"from_bottom"`                      // each task begins on the first rung, whatever became of others of its kind
}

// Protocol has the defaults of state.yaml's section config (specs/protocol.md#2.8).
type Protocol struct {
	IntegrationBranch      string        `key:"integration_branch" is:"branch" about:"Branch that approved work is merged into."`
	BaseRef                string        `key:"base_ref" about:"Branch or commit from which init cuts the integration branch; empty: the branch that is checked out."`
	LeaseDuration          time.Duration `key:"lease_duration" is:"30..86400" unit:"s" about:"Time that a claim lives without a heartbeat."`
	PreExecutionCheckpoint string        `key:"pre_execution_checkpoint" gate:"required|warn|off" is:"required|warn|off" about:"Whether a coder must write down its intent before the first edit."`
	Overlap                string        `key:"overlap" is:"tell|wait|off" about:"What happens when two tasks in work change the same files. tell: the later one is told which they are; wait: besides, a task whose files are in work is not claimed yet, for an hour at most; off: nothing is compared."`
}

// Orchestration has the settings of `liza run`.
type Orchestration struct {
	MaxConcurrentAgents int           `key:"max_concurrent_agents" is:"1..64" about:"Most programs that liza run has running at one time. Not set: the options --planners, --coders and --reviewers raise it to their sum."`
	AgentTimeout        time.Duration `key:"agent_timeout_minutes" gate:"limit" is:"0.." unit:"m" about:"Time of one run of a planner, coder or reviewer."`
	PollInterval        time.Duration `key:"poll_interval_seconds" is:"1.." unit:"s" about:"Longest time an agent may wait before it looks at the board; an event wakes it earlier."`
}

// Agents selects the agent programs and defines those of the project.
type Agents struct {
	Default  string                 `key:"default" is:"name" about:"Program for roles that name no other."`
	Fallback Fallback               `key:"fallback" is:"name" about:"Programs that are tried in order while one waits for its quota, each with its own default model; or a map of role (or kind of agent) to such a list."`
	Custom   map[string]CustomAgent `key:"*" about:"A program of the project, or changes of a built-in one."`
}

// Fallback names the adapters to try, in order, while a program waits for its quota window: for every role alike, or by role.
type Fallback struct {
	All    []string
	ByRole map[string][]string
}

// For returns the fallbacks of a role.
func (f Fallback) For(role string) []string {
	if f.ByRole != nil {
		return f.ByRole[role]
	}
	return f.All
}

// CustomAgent is an agent program that the project defines (the adapter `command`), or the changes of a built-in one, whose
// other keys keep their built-in values. The catalogue of package agent explains each key.
type CustomAgent struct {
	Command     []string `key:"command"`          // argv with {{.PromptFile}} and the like
	Prompt      string   `key:"prompt" is:"name"` // stdin, file, argv, or the name of a dialogue over stdin
	Output      string   `key:"output" is:"name"` // text, or the name of a built-in reader
	Answer      string   `key:"answer"`           // output json: name of the field with the answer
	Env         Names    `key:"env"`
	Model       []string `key:"model"`
	Resume      []string `key:"resume"`
	Interactive []string `key:"interactive"`
	Reopen      []string `key:"interactive_resume"`
	Accounts    Names    `key:"accounts"` // folder of settings of each account
	Sandbox     Sandbox  `key:"sandbox"`  // SandboxOf puts it together with that of the project
}

// builtinPrograms are the agent programs that need no command of the project. They are here
// too, because settings know no agent; a test compares.
var builtinPrograms = []string{
	"aider", "amp", "claude", "claude-acp", "cline", "cn", "codex", "codex-acp", "copilot", "crush", "cursor-agent", "droid",
	"gemini", "gemini-acp", "goose", "kimi", "opencode", "opencode-acp", "pi", "qwen", "qwen-acp", "vibe",
}

// Roles maps types of tasks and kinds of runs to role files.
type Roles struct {
	Default     string `key:"default" is:"name" about:"Role of a coder when the type of the task has none."`
	TypeMapping Names  `key:"type_mapping" about:"Type of task to role; an empty value removes an entry."` // an empty value removes an entry
	ByKind      Names  `key:"by_kind" is:"name" closed:"true" about:"Role of the other kinds of agents."`
}

// Context limits the parts of a prompt.
type Context struct {
	MaxChars           int      `key:"max_chars" is:"8000..200000" about:"Bytes of a whole prompt."`
	CustomInstructions string   `key:"custom_instructions" about:"Text for every prompt; .liza/instructions.md is added to it."`
	ExcludedPaths      []string `key:"excluded_paths" about:"Paths that no prompt names: a plain name excludes every path with that part, others are globs with **."`
	RelevantFilesLimit int      `key:"relevant_files_limit" is:"0..50" about:"Most files that the prompt of a coder names."`
	PriorAttempts      int      `key:"prior_attempts" is:"0..10" about:"Most earlier attempts in the prompt of a coder."`
	Messages           int      `key:"messages" is:"0..50" about:"Most messages of the conversation in a prompt."`
}

// Plan has the conditions for applying a plan.
type Plan struct {
	FinalMsg    string `key:"final_msg" is:"require|append|off" about:"A plan must end with a message to the user; append adds one."`
	HumanReview bool   `key:"human_review" gate:"true" about:"Tasks of a planner stay drafts until a person finalizes them."`
}

// Review has the settings of the gate between a submission and its merge.
type Review struct {
	Mode             string           `key:"mode" gate:"strict|normal|disabled||yolo" is:"|strict|normal|yolo|disabled" about:"Empty: a reviewer's approval merges. strict, normal: a person releases. yolo: no release is needed. disabled: no reviewer, a person decides."`
	AutoMerge        bool             `key:"auto_merge" gate:"false" about:"In mode normal: merge without a person when there is no error."`
	SkipAgentOnError bool             `key:"skip_agent_on_error" about:"Reject by the checks alone, without starting a reviewer."`
	Baseline         bool             `key:"baseline" gate:"false" about:"Run a failed check on the base of the work too: a failure there does not count against the change."`
	TestPaths        []string         `key:"test_paths" about:"Further globs of files that count as tests."`
	UserFacingPaths  []string         `key:"user_facing_paths" about:"Globs of files whose change asks for an end-to-end test."`
	E2EPaths         []string         `key:"e2e_paths" about:"Globs of files that are end-to-end tests."`
	Quorum           []QuorumRule     `key:"quorum" gate:"more" about:"Rules for changes that need several reviewers: {paths, reviewers, programs: any|different}. Of the rules whose paths a change touches the strictest part of each holds."`
	Checks           map[string]Check `key:"checks" closed:"true" about:"Deterministic checks of the submitted commit, by name."`
	Evidence         Exhibits         `key:"evidence" about:"Commands that make files to look at, such as screenshots, by a glob of paths: {command, files}. One runs on the work and on its base when the change touches such a path."`
}

// Disabled reports whether a person decides, without a reviewer.
func (r Review) Disabled() bool { return r.Mode == "disabled" }

// QuorumRule requires several reviewers for a change of one of the paths.
type QuorumRule struct {
	Paths     []string `key:"paths" is:"glob" required:"true"`
	Reviewers int      `key:"reviewers" is:"1..9" required:"true"`
	Programs  string   `key:"programs" is:"any|different"`
}

// Check is one deterministic check. An empty Command is detected.
type Check struct {
	Enabled  bool   `key:"enabled" gate:"true" about:"Whether the check runs. Without test_coverage code may be submitted without a test."`
	Severity string `key:"severity" gate:"error||warning|info" is:"|error|warning|info" about:"Severity of its findings; empty: that of the check."` // "" = the default of the check, see Review.Severity
	Command  string `key:"command" gate:"same" about:"Shell command instead of the detected one."`
}

// Exhibits are the commands that make evidence, by a glob of the paths whose change asks for it.
type Exhibits = map[string]Exhibit

// Exhibit is a command that makes files to look at.
type Exhibit struct {
	Command []string `key:"command" about:"The program and its arguments; it runs in a throw-away worktree, in the sandbox, like a check."`
	Files   []string `key:"files" is:"glob" about:"Globs of the files that it makes. What they match is removed before it runs; the check fails if one of them matches nothing then."`
}

// Limits has the limits of work (specs/roles-and-knowledge.md#8.1).
type Limits struct {
	MaxIterations      int           `key:"max_iterations" gate:"limit" is:"0.." about:"Iterations on one task, of all coders together."`
	MaxReviewCycles    int           `key:"max_review_cycles" gate:"limit" is:"0.." about:"Rejections until a task is blocked."`
	MaxPlanRetries     int           `key:"max_plan_retries" gate:"limit" is:"0.." about:"RETRY of a planner until it waits for a person."`
	MaxReplanDepth     int           `key:"max_replan_depth" gate:"limit" is:"0.." about:"Plans in one chain."`
	MaxParseRetries    int           `key:"max_parse_retries" gate:"limit" is:"0.." about:"Times that an unreadable answer is asked for again."`
	TaskCrashes        int           `key:"task_crashes" gate:"limit" is:"0.." about:"Crashes, stalls and timeouts of the agent program in a row, and failures of worktree.setup and services, until a task is blocked; 0: never."`
	OnReviewDepth      string        `key:"on_review_depth" gate:"escalate|proceed" is:"escalate|proceed" about:"What follows the last rejection: a person decides, or output that is not code is accepted."`
	CostCents          int           `key:"cost_cents" gate:"limit" is:"0.." about:"Cost of one task."`
	Time               time.Duration `key:"time_minutes" gate:"limit" is:"0.." unit:"m" about:"Time of agents at work on one task."`
	Tokens             int           `key:"tokens" gate:"limit" is:"0..1000000000000" about:"Tokens of one task."`
	SprintCostCents    int           `key:"sprint_cost_cents" gate:"limit" is:"0.." about:"Cost of a sprint."`
	SprintTime         time.Duration `key:"sprint_time_minutes" gate:"limit" is:"0.." unit:"m" about:"Time of agents at work in a sprint."`
	SprintTokens       int           `key:"sprint_tokens" gate:"limit" is:"0..1000000000000" about:"Tokens of a sprint."`
	DayCostCents       int           `key:"day_cost_cents" gate:"limit" is:"0.." about:"Cost of a UTC day."`
	Stall              time.Duration `key:"stall_minutes" gate:"limit" is:"0.." unit:"m" about:"Time without output, change of state and change in the worktree after which a run is stopped."`
	ExecTimeout        time.Duration `key:"exec_timeout_seconds" gate:"limit" is:"0.." unit:"s" about:"Time of an exec or skill task without a limit of its own."`
	CheckTimeout       time.Duration `key:"check_timeout_seconds" gate:"limit" is:"1..86400" unit:"s" about:"Time of one check of a review, and of one setup command; all commands of a merge together have three times that."`
	Heavy              int           `key:"heavy" is:"0.." about:"Commands of worktree.setup, checks and hooks that run at one time on this host, first come, first served; 0: as many as it has processors."`
	MaxOutputBytes     int           `key:"max_output_bytes" is:"0.." about:"Kept output of an exec or skill task."`
	MaxPlanTasks       int           `key:"max_plan_tasks" gate:"limit" is:"0.." about:"Tasks of one plan."`
	MaxFacts           int           `key:"max_facts" is:"0.." about:"Facts above which the summarizer makes fewer of them."`
	SummarizeThreshold int           `key:"summarize_threshold" is:"0.." about:"Entries above which the summarizer shortens them."`
	WarnPercent        int           `key:"warn_percent" is:"0..100" about:"Part of a limit at which people are warned."`
}

// Price of a model in USD per million tokens.
type Price struct {
	In  float64 `key:"in" is:"0.." about:"USD per million tokens read."`
	Out float64 `key:"out" is:"0.." about:"USD per million tokens written."`
}

// Facts has the approval of learned facts by a person.
type Facts struct {
	Review bool `key:"review" gate:"true" about:"Facts from a reviewer wait for the approval of a person."`
}

// Messenger has the writer of texts for people.
type Messenger struct {
	Mode string `key:"mode" is:"llm|verbatim" about:"llm: an agent writes them. verbatim: they are the planner's own words."`
}

// History has the limits of the history on disk; 0 days keep it for ever.
type History struct {
	MaxMB         int `key:"max_mb" is:"1.." about:"Size of a history file at which a new one is begun."`
	RetentionDays int `key:"retention_days" is:"0.." about:"Age at which liza gc removes the history of finished tasks; 0: never."`
}

// Store has the address of the board.
type Store struct {
	URL   string `key:"url" about:"Database that has the board, as postgres://USER@HOST/DATABASE, without a password (~/.pgpass, a service file or PGPASSWORD has it); empty: the board is .liza/state.yaml."`
	Board string `key:"board" about:"Name of the board in the database."`
}

// Secrets has the place of the secrets of a plan.
type Secrets struct {
	Store string `key:"store" is:"file|memory" about:"Place of secrets: files below .liza/secrets, or memory only."`
}

// Exec has the settings of tasks of kind exec.
type Exec struct {
	EnvAllow        []string `key:"env_allow" gate:"fewer" about:"Further variables of the environment that commands receive."`
	RerunAfterCrash bool     `key:"rerun_after_crash" about:"A command whose supervisor died is run again."`
}

// Worktree has the commands (sh -c) that run in every new worktree.
type Worktree struct {
	Dir   string   `key:"dir" about:"Folder of the worktrees, absolute or from the project, outside of it, such as ../NAME.worktrees; .worktrees becomes a link to it. Empty: .worktrees. Worktrees that are there stay until that is gone."`
	Setup []string `key:"setup" about:"Shell commands that run in every new worktree."`
	Seed  Seed     `key:"seed" about:"What setup made once, for all worktrees with the same lock files."`
}

// Seed has what identifies a seed, and how much all of them may take.
type Seed struct {
	Key   []string `key:"key" about:"Tracked files, or patterns such as tools/*.lock, that decide what setup makes; empty: lock files of package managers in any folder, if setup only installs what they pin, and not for the checks of a merge. Without such a file setup runs in each worktree."`
	MaxGB int      `key:"max_gb" is:"0.." about:"Size of all seeds; those that were used last stay. 0: none is made or used."`
}

// Services are the servers of a run and of its checks, by name.
type Services = map[string]Service

// Service is a server that runs beside a program, in its sandbox, with a data folder of its own. No shell reads the words: Resolve puts
// folders in the place of $DATA, $RUN and $TREE.
type Service struct {
	Command      []string `key:"command" is:"words" about:"The server and its arguments. It must stay in the foreground. No shell reads them; $DATA, $RUN and $TREE stand for its data folder, a short folder for sockets, and the worktree."`
	Init         []string `key:"init" is:"words" about:"A program that fills $DATA, on a commit of the integration branch; once, until init or a file of seed changes. Each run and each check gets a copy."`
	Seed         []string `key:"seed" is:"glob" about:"Globs of files that init reads, such as db/**: it runs again when one of them, or init itself, has changed on the integration branch."`
	Ready        []string `key:"ready" is:"words" about:"A program that succeeds once the server is ready; empty: it is when it answers at the sockets that it is told as $RUN/NAME."`
	ReadySeconds int      `key:"ready_seconds" is:"0..600" about:"Longest time until it is ready; 0: 60."`
	Env          Names    `key:"env" is:"words" about:"Variables that programs and checks get, such as the address of the server."`
}

// Integration has the commands (sh -c) that run on a merge candidate.
type Integration struct {
	Checks []string `key:"checks" gate:"more" about:"Shell commands that run on the merge candidate before the branch moves; empty: scripts/integration-test.sh, if there is one."`

	Unverified string `key:"unverified" gate:"refuse|ask|allow" is:"ask|allow|refuse" about:"Merges whose failing check fails without the work too, with the same failures: ask a person, once, until the check passes; allow all; refuse all. Work that is refused, or waits for the answer, stays APPROVED."`
}

// Merge has the number of approved tasks that are checked at a time, and the handling of a failure.
type Merge struct {
	Train int  `key:"train" is:"1.." about:"Approved tasks that are checked side by side, each on top of those before it; 1: one after the other."`
	Slots int  `key:"slots" is:"0.." about:"Checks of these that run at one time; 0: half of the processors. Checks that use all processors themselves gain nothing from more."`
	Rerun bool `key:"rerun" about:"Checks that fail on a merge candidate run once more on the same tree; only a second failure counts, and a pass is recorded as the anomaly flaky_check."`
}

// Land has the settings for landing merged work on a forge.
type Land struct {
	Forge    string `key:"forge" is:"none|github|gitlab|gitea" about:"Kind of forge on which requests are opened; none: nothing lands."`
	URL      string `key:"url" about:"Web address of the forge; empty: github.com or gitlab.com. The token is sent there and nowhere else."`
	API      string `key:"api" about:"Address of its API; empty: the usual one below url."`
	Repo     string `key:"repo" about:"OWNER/NAME on the forge; empty: that of the remote's address."`
	Remote   string `key:"remote" about:"Git remote to which branches are pushed."`
	Base     string `key:"base" about:"Branch of the remote into which requests are merged; empty: the name of base_ref, else main."`
	Per      string `key:"per" is:"goal|task" about:"One request for the goal, or one for each merged task."`
	Draft    bool   `key:"draft" about:"Requests are drafts until their checks have passed."`
	Auto     bool   `key:"auto" gate:"false" about:"liza run lands by itself, watches the requests, and goes on when CI or people ask for changes."`
	Merge    string `key:"merge" gate:"none|forge|liza" is:"none|forge|liza" about:"Who merges: people (none), the forge's own queue once its conditions are met (forge), or Liza when the checks have passed (liza)."`
	Method   string `key:"method" is:"merge|squash|rebase" about:"How a request is merged."`
	Sync     string `key:"sync" is:"off|merge|rebase" about:"The remote's base branch is merged into the integration branch before a run and before landing; rebase: and requests have one commit for each task on top of it. A conflict becomes a task. A request that conflicts with it is brought up to date also when this is off."`
	MaxFixes int    `key:"max_fixes" is:"1.." about:"Most tasks that failed CI and reviews may make for one request before a person has to look."`
}

// Import has the reports to the trackers and files of imported tasks, and the addresses of trackers.
type Import struct {
	Comment bool   `key:"comment" about:"An issue gets one comment when all tasks made from it have landed."`
	Close   bool   `key:"close" about:"An issue is closed when all tasks made from it have landed."`
	URL     string `key:"url" about:"Web address of the tracker, where it is not that of land. The token is sent there and nowhere else."`
	API     string `key:"api" about:"Address of its API; empty: the usual one below url."`
	Repo    string `key:"repo" about:"OWNER/NAME of the issues on a forge that is not that of land; empty: that of the remote's address."`
}

// Hooks are commands of the project around a review and a merge.
type Hooks struct {
	PreReview []string `key:"pre_review" gate:"more" about:"Shell commands before a review."`
	PreMerge  []string `key:"pre_merge" gate:"more" about:"Shell commands before a merge."`
}

// Git has the settings of Liza's own git commands.
type Git struct {
	Remote        string        `key:"remote" about:"Name of the git remote over which work travels: the supervisor pushes submitted and merged work there. Empty: nothing is pushed, but on a board in a database it is origin."`
	RemoteTimeout time.Duration `key:"remote_timeout" is:"1.." unit:"s" about:"Longest time of a git command that talks to the remote."`
	Sign          bool          `key:"sign" gate:"true" about:"Merges, and commits of requests, are signed with your key, as your git's gpg.format and user.signingkey say. Commits of agents never are."`
	Filters       []string      `key:"filters" about:"Names of the filters (of .gitattributes: filter=NAME) that may run, such as lfs. No other filter, merge driver or diff driver of a configuration does."`
}

// Policy has the rights of people and agents.
type Policy struct {
	Callers          Names    `key:"callers" is:"admin|user" about:"Name of a person to admin or user."`
	UserKinds        []string `key:"user_kinds" gate:"fewer" is:"code|exec|msg|skill" about:"Kinds of tasks that the plan of a user may have."`
	AllowSudo        bool     `key:"allow_sudo" gate:"false" about:"Commands may use sudo."`
	MinFreeMB        int      `key:"min_free_mb" is:"0.." about:"Free space below which no program is started and no worktree is made."`
	Push             bool     `key:"push" gate:"false" about:"Agents may push; otherwise their git refuses to. It stops accidents; it is not a sandbox."`
	ReviewerOtherCLI bool     `key:"reviewer_other_cli" gate:"true" about:"Work is reviewed by another program than the one that wrote it, and of another provider."`
	Deny             []string `key:"deny" gate:"more" is:"regexp" about:"Commands that no exec task may run (RE2). It stops accidents; it is not a sandbox."`
	Allow            []string `key:"allow" gate:"fewer" is:"regexp" about:"Commands that are allowed although the built-in list denies them (RE2)."`
}

// Notify has the settings of the webhook (specs/roles-and-knowledge.md#9.1); empty Events mean all.
type Notify struct {
	WebhookURL   string   `key:"webhook_url" is:"url" about:"Address to which messages are sent."`
	SecretEnv    string   `key:"secret_env" about:"Environment variable with the key of the signature."`
	RequireHTTPS bool     `key:"require_https" about:"Only https is allowed."`
	AllowHosts   []string `key:"allow_hosts" about:"Hosts that are allowed despite a private address."`
	Events       []string `key:"events" is:"output|replan|replan_stopped|planning_failed|blocked|question|merge_approval|review_stuck|integration_failed|limit_warning|halted|checkpoint|breaker|goal_completed|goal_aborted|agent_unusable|role_unusable|config_invalid|policy_denied|alert" about:"Events that are sent; empty: all."`
}

// Origin returns the place that set a key, for example "limits.cost_cents" or "agents.mine.command".
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// IsSet reports whether the file or the environment sets the key.
func (c *Config) IsSet(key string) bool { return c.origins[key] != Origin{} }

// Sandbox has the containment of programs and commands, and additions to the resources that they need.
type Sandbox struct {
	Level   string        `key:"level" gate:"closed|auto|partial|open" is:"auto|closed|partial|open" about:"Strength of containment: closed (namespaces), partial (files and system calls only), open (not at all); auto takes the strongest that works on this machine."`
	Require string        `key:"require" gate:"closed|partial|" is:"|closed|partial" about:"Nothing is started at a weaker level; empty: the level that auto finds is enough."`
	Wrap    []string      `key:"wrap" gate:"same" about:"A command of your own that is put before each program instead, at level auto: [docker, run, …]."`
	Allow   Allow         `key:"allow" about:"Resources that programs may use besides those that they need."`
	Limits  SandboxLimits `key:"limits" about:"Limits of one run; 0 means no limit."`
}

// Allow lists resources that programs may use besides those that they need. Path resolves its paths.
type Allow struct {
	Read       []string `key:"read" gate:"fewer" is:"path" about:"Files and folders that may be read. A path begins with / or with ~/ (your home folder); any other is in the project."`
	Write      []string `key:"write" gate:"fewer" is:"path" about:"Files and folders that may be written as well."`
	Copy       []string `key:"copy" gate:"fewer" is:"path" about:"Files and folders below ~/ of which each run has a copy of its own, that is removed when it ends."`
	Hosts      []string `key:"hosts" gate:"fewer" is:"host" about:"Hosts that may be reached: api.example.com, *.example.com, with a port when it is not 80 or 443. A host of this machine or of a private network has to be named with its port."`
	Env        []string `key:"env" gate:"fewer" is:"variable" about:"Variables of your environment that programs receive; a * at the end of a name matches any ending."`
	Registries bool     `key:"registries" gate:"false" about:"Agent programs may reach the package registries of the languages in use; setup and checks may those of what the integration branch is built with, and with this also those of what a task adds."`
}

// SandboxLimits has the limits of one run; 0 means none.
type SandboxLimits struct {
	Processes int `key:"processes" gate:"limit" is:"0.." about:"Processes and threads at one time."`
	MemoryMB  int `key:"memory_mb" gate:"limit" is:"0.." about:"Memory."`
	DiskMB    int `key:"disk_mb" gate:"limit" is:"0.." about:"Size of each private folder of a run, of an agent as of a check, and growth of its worktree and its caches."`
	FileMB    int `key:"file_mb" gate:"limit" is:"0.." about:"Size of one file."`
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func parent(key string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i]
	}
	return ""
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if tag := f.Tag.Get("key"); tag != "" && tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if tag := f.Tag.Get("key"); tag != "" && tag != "*" {
			out = append(out, tag)
		}
	}
	return out
}

func mapKeys(v reflect.Value) []string {
	var out []string
	for _, k := range v.MapKeys() {
		out = append(out, k.String())
	}
	slices.Sort(out)
	return out
}

// modelOf describes the entries of the map models that there always are.
var modelOf = map[string]string{
	"default": "all that name no other", "planner": "planners", "coder": "coders", "code_reviewer": "code reviewers",
	"messenger": "messengers", "summarizer": "summarizers",
}

// Describe returns one sentence about a key, or "": the tag about of its field or, for an entry of a map of names, that of
// the map.
func Describe(key string) string {
	if name, ok := strings.CutPrefix(key, "models."); ok && modelOf[name] != "" {
		return "Model of " + modelOf[name] + "."
	}
	t, about := reflect.TypeFor[Config](), ""
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if t.Kind() == reflect.Map {
			if t = t.Elem(); (t.Kind() == reflect.String || t == modelType) && i == len(parts)-1 {
				return about
			}
			about = ""
			continue
		}
		if t.Kind() != reflect.Struct {
			return ""
		}
		f, ok := fieldOf(t, part)
		if !ok {
			if f, ok = fieldOf(t, "*"); !ok {
				return ""
			}
			t, about = f.Type.Elem(), f.Tag.Get("about")
			continue
		}
		t, about = f.Type, f.Tag.Get("about")
	}
	return about
}
