package blackboard

// State is the whole blackboard (specs/protocol.md#2.1). The yaml tags name the keys of
// state.yaml; keys that have no field here are kept by the store, not by this
// package. No list and no map below a State has an empty entry: the store leaves them out when it
// reads, and reports them. A State is not safe for concurrent use.
type State struct {
	Version        Raw                 `yaml:"version"`                   // format of the file: 1 | init
	Revision       int                 `yaml:"revision"`                  // grows by one with each write | every write
	Goal           *Goal               `yaml:"goal"`                      // what the person wants | init, goal
	tasks          []*Task             `yaml:"tasks"`                     // the tasks, each with its own history | create, every event of a task
	Agents         map[string]*Agent   `yaml:"agents"`                    // the registrations, by agent id | register, supervisors
	Discovered     []*Discovery        `yaml:"discovered,omitempty"`      // what was found on the way | discover, convert, defer | nothing was found
	Handoff        map[string]*Handoff `yaml:"handoff,omitempty"`         // what agents leave for their successors, by task id | handoff | no handoff was made
	HumanNotes     []*Note             `yaml:"human_notes,omitempty"`     // notes of people | note | no note was written
	Anomalies      []*Anomaly          `yaml:"anomalies,omitempty"`       // what went differently than it should | anomaly, supervisors | there are none
	SpecChanges    []*SpecChange       `yaml:"spec_changes,omitempty"`    // changes of specs that were reported | spec-change | none was reported
	Plans          []*Plan             `yaml:"plans,omitempty"`           // decompositions of requests into tasks, with their outcome | plan apply, supervisors | no plan was applied
	Facts          []*Fact             `yaml:"facts,omitempty"`           // lasting knowledge about the project | verdicts, facts, summarizer | nothing was learned
	Questions      []*Question         `yaml:"questions,omitempty"`       // questions of agents to people, with the answers | block, supervisors, answer | none was asked
	Secrets        []string            `yaml:"secrets,omitempty"`         // names of secrets, never values | plan apply | no plan had secrets
	Usage          *Usage              `yaml:"usage,omitempty"`           // what all runs of the sprint cost | supervisors | before the first run
	Programs       map[string]*Program `yaml:"programs,omitempty"`        // agent programs that are not started before some time, by name of the adapter | supervisors | none is paused
	Stopped        map[string]*Stop    `yaml:"stopped,omitempty"`         // agents that take no work, by agent id | stop, restart | none is stopped
	Planner        *Planner            `yaml:"planner,omitempty"`         // what is remembered about the reasons to wake the planner | supervisors of planners | before the first launch
	Integration    *Integration        `yaml:"integration,omitempty"`     // where Liza left the integration branch | init, merges, integration, sync | the board is older than this section
	Hosts          map[string]*Host    `yaml:"hosts,omitempty"`           // the hosts of a team on several of them, by name | register, heartbeat | the board is a file of one host
	Requests       []*Request          `yaml:"requests,omitempty"`        // pull and merge requests with which work lands on a forge | land | nothing was landed
	Imports        []*Import           `yaml:"imports,omitempty"`         // issues and items of files of which tasks were made | import | nothing was imported
	Sprint         *Sprint             `yaml:"sprint"`                    // the sprint under way | init, sprint, goal
	CircuitBreaker *CircuitBreaker     `yaml:"circuit_breaker,omitempty"` // whether anomalies stopped the sprint | analyze, every write that adds an anomaly, ack | before the first check
	Config         Settings            `yaml:"config"`                    // settings that a person overrides here; keys in configuration.md | people, liza config

	// Defaults are the values of config.yaml for the keys of specs/protocol.md#2.8; a key
	// of Config wins over them, and they win over the built-in ones.
	Defaults Settings `yaml:"-"`
	// Overrides are the values that environment variables set; they win over Config.
	Overrides Settings `yaml:"-"`
	// WarnPercent is the part of a limit at which a warning is recorded; 0: never.
	WarnPercent int `yaml:"-"`

	entries []Entry
	owned   map[*Task]bool // of a fork: the tasks that it does not share; nil: all
	index   map[string]int // places of tasks, perhaps outdated: Find does not trust it
	archive Archive
	leaving map[string]Status // tasks that the change takes off the board for the archive
}

// Goal is what the person wants (specs/protocol.md#2.2).
type Goal struct {
	ID                 string       `yaml:"id"`                             // goal-<seconds since 1970> | init, goal
	Description        string       `yaml:"description"`                    // the goal as it was typed, literally | init, goal
	SpecRef            string       `yaml:"spec_ref"`                       // path of the spec, in the project | init, goal
	Created            Time         `yaml:"created"`                        // when the goal was made | init, goal
	Status             string       `yaml:"status"`                         // IN_PROGRESS, COMPLETED or ABORTED | supervisors, abort, add-task, goal
	AlignmentHistory   []*Alignment `yaml:"alignment_history,omitempty"`    // how the plan drifted from the goal, oldest first | init, finalize, plans, supersede, completion
	Summary            string       `yaml:"summary,omitempty"`              // rolling summary of the conversation, at most 4,000 bytes | summarizer | nothing was summarized
	SummarizedThrough  Time         `yaml:"summarized_through,omitempty"`   // entries up to here are in the summary | summarizer | nothing was summarized
	SummarizedOfSecond int          `yaml:"summarized_of_second,omitempty"` // how many entries of that very second are in the summary; 0: all | summarizer
	PlanID             string       `yaml:"plan_id,omitempty"`              // the plan in force | plan apply | no plan was applied
	CompletedAt        Time         `yaml:"completed_at,omitempty"`         // when it became COMPLETED | supervisors | it is not complete
}

// Alignment is one entry of the goal's drift trajectory (specs/protocol.md#2.2).
// Written by: init, finalize, plans, supersede, abandon, completion.
type Alignment struct {
	Timestamp Time   `yaml:"timestamp"`           // when
	Event     string `yaml:"event"`               // initialization, planning, rescope_<task>, replan, completed, reopened or another word
	Summary   string `yaml:"summary"`             // what happened, in one line
	Current   string `yaml:"current,omitempty"`   // where the work is | people | nobody wrote it
	Change    string `yaml:"change,omitempty"`    // what changes | people | nobody wrote it
	Remaining string `yaml:"remaining,omitempty"` // what is left to do | people | nobody wrote it
	Risk      string `yaml:"risk,omitempty"`      // what could go wrong | people | nobody wrote it
}

// Task is one piece of work (specs/protocol.md#2.3).
type Task struct {
	ID                 string        `yaml:"id"`                            // unique without regard to case, also in the archive | create
	Title              string        `yaml:"title,omitempty"`               // short name, at most 120 characters | create | the first line of the description serves
	Description        string        `yaml:"description"`                   // what has to be done | create
	Status             Status        `yaml:"status"`                        // one of the eleven statuses | every event of the task
	Priority           *int          `yaml:"priority,omitempty"`            // 1 is the highest, 5 the lowest by convention | create | read as 1
	Created            Time          `yaml:"created,omitempty"`             // when the task was made | create
	Kind               TaskKind      `yaml:"kind,omitempty"`                // code, exec, msg or skill | create | read as code
	Type               string        `yaml:"type,omitempty"`                // feature, task, bug, refactor, test, docs, config, spec; decides role and test gate | create | read as task
	Role               string        `yaml:"role,omitempty"`                // role file for the coder, in the place of the type's | create | the type decides
	ResolvedRole       *ResolvedRole `yaml:"resolved_role,omitempty"`       // which role the latest coder's run used | supervisor before a run | before the first run, or the task is finished: its attempts name theirs
	SpecRef            string        `yaml:"spec_ref,omitempty"`            // path and perhaps #anchor of the spec | create
	DoneWhen           string        `yaml:"done_when,omitempty"`           // observable result that ends the task | create
	Scope              string        `yaml:"scope,omitempty"`               // what is in, and what is out | create
	Files              List          `yaml:"files,omitempty"`               // globs of the files that it may touch; for scheduling and the scope check | create | not said
	LegacyTests        string        `yaml:"legacy_tests,omitempty"`        // why tests are a task of their own, or are removed | create | not needed
	AcceptanceCriteria List          `yaml:"acceptance_criteria,omitempty"` // further criteria beside done_when | create | there are none
	DependsOn          List          `yaml:"depends_on,omitempty"`          // ids of tasks that must be MERGED before a claim | create, supersede, unblock | it waits for none
	Plan               string        `yaml:"plan,omitempty"`                // id of the plan that made it | plan apply, create | made without a plan
	AttemptOf          string        `yaml:"attempt_of,omitempty"`          // id of the first of several attempts at the same work, of which one goes on | create | it is the only attempt
	CLI                string        `yaml:"cli,omitempty"`                 // agent program of its coders | create | the configuration decides
	AfterPlan          bool          `yaml:"after_plan,omitempty"`          // claimable when every other task of the plan is terminal | plan apply

	Prefer string `yaml:"prefer,omitempty"` // coder that gets it while that one is registered and idle | land | any coder may take it
	Merges string `yaml:"merges,omitempty"` // commit of the base branch that its work has to contain, with the history of that | land | it merges nothing

	AssignedTo      string    `yaml:"assigned_to,omitempty"`      // coder of the current or last attempt | claim; release, unblock clear it | never claimed, or given back
	ClaimGeneration string    `yaml:"claim_generation,omitempty"` // generation of the claiming registration | claim | no claim is under way
	ClaimSeq        int       `yaml:"claim_seq,omitempty"`        // number of the attempt; trailer Liza-Attempt | claim (+1) | never claimed
	Claiming        *Claiming `yaml:"claiming,omitempty"`         // reservation while the worktree is made | claim, phases 1 and 3 | no claim is being made
	Worktree        string    `yaml:"worktree,omitempty"`         // .worktrees/<id> | claim; merge, unblock clear it | no worktree
	Host            string    `yaml:"host,omitempty"`             // host that has the worktree | claim | never claimed, or the board is a file of one host
	BaseCommit      string    `yaml:"base_commit,omitempty"`      // integration head at the claim | claim | never claimed, or given back
	Changes         List      `yaml:"changes,omitempty"`          // files that its work differs in from its base, at most 100 | supervisors of running coders, while others are at work; the end of the task clears it | nothing was seen yet
	RestartFrom     string    `yaml:"restart_from,omitempty"`     // commit at which the next claim's worktree begins | answer, resubmit; the next claim clears it | it begins at the integration head
	FixOnto         string    `yaml:"fix_onto,omitempty"`         // integration head that an integration fix must contain | claim of INTEGRATION_FAILED | no integration fix
	Iteration       int       `yaml:"iteration,omitempty"`        // runs of the same coder on it, from 1 | claim, RETRY, timed-out runs | not claimed since it was made or unblocked
	MaxIterations   int       `yaml:"max_iterations,omitempty"`   // limit of its own | create, resubmit | that of the project holds
	Limits          Settings  `yaml:"limits,omitempty"`           // other limits of its own, by key of the project's limits | create, resubmit | those of the project hold

	ReviewCyclesCurrent int `yaml:"review_cycles_current,omitempty"` // rejections since the task began or was unblocked | reject (+1); unblock: 0
	ReviewCyclesTotal   int `yaml:"review_cycles_total,omitempty"`   // all rejections, never reset | reject (+1)
	MaxReviewCycles     int `yaml:"max_review_cycles,omitempty"`     // limit of its own | create, resubmit | that of the project holds
	ReviewFailures      int `yaml:"review_failures,omitempty"`       // reviews that ended without a verdict, since the last one | failed, lapsed and repeated reviews (+1); verdict, unhold: 0

	LeaseExpires        Time   `yaml:"lease_expires,omitempty"`        // end of the coder's lease | claim, heartbeat | no claim is under way
	ReviewCommit        string `yaml:"review_commit,omitempty"`        // the exact commit under review | submit | never submitted
	ReviewingBy         string `yaml:"reviewing_by,omitempty"`         // the reviewer | claim_review; verdict and release clear it | no review is under way
	ReviewingGeneration string `yaml:"reviewing_generation,omitempty"` // generation of the reviewer's registration | claim_review | no review is under way
	ReviewLeaseExpires  Time   `yaml:"review_lease_expires,omitempty"` // end of the reviewer's lease | claim_review, heartbeat | no review is under way
	ApprovedBy          string `yaml:"approved_by,omitempty"`          // agent id, human, or auto for work without review | approve; reject, integration_failed, claim clear it | not approved
	ApprovedCommit      string `yaml:"approved_commit,omitempty"`      // the commit that was approved; kept through integration fixes | approve | never approved

	Approvals       []*Approval    `yaml:"approvals,omitempty"`        // approvals of a change that needs several | approve, approve-merge; submit, reject clear them | one reviewer is enough
	Quorum          *Quorum        `yaml:"quorum,omitempty"`           // how many reviewers the change needs | approve, merge; submit, reject clear it | one reviewer is enough
	RejectionReason *Rejection     `yaml:"rejection_reason,omitempty"` // why the last review rejected it | reject; approve clears it | not rejected
	Fixes           []*Fix         `yaml:"fixes,omitempty"`            // corrective steps of the last rejection | reject; submit marks them, approve clears them | none is asked for
	Review          *Review        `yaml:"review,omitempty"`           // the latest review | supervisor before the review, verdict | never reviewed since its last submission
	NoTests         *NoTests       `yaml:"no_tests,omitempty"`         // the coder's waiver of the test gate | submit --no-tests | no waiver
	SpecHash        string         `yaml:"spec_hash,omitempty"`        // sha256:… of the spec at the claim | claim | never claimed, or finished
	ReviewSpecHash  string         `yaml:"review_spec_hash,omitempty"` // sha256:… of the spec at the review | claim_review | never reviewed, or finished
	MergeApproval   *MergeApproval `yaml:"merge_approval,omitempty"`   // a person's part in the merge | approve, approve-merge, reject-merge | no person has to decide
	MergeIntent     *MergeIntent   `yaml:"merge_intent,omitempty"`     // the merge that is about to move the branch | merge, step M7; merged clears it | no merge is under way
	MergeCommit     string         `yaml:"merge_commit,omitempty"`     // the commit on the integration branch that has the work | merge | not merged
	Unverified      List           `yaml:"unverified,omitempty"`       // checks that were red before and after the merge, or could not run, so that they say nothing of the work | merge | not merged, or all passed
	Seal            *Seal          `yaml:"seal,omitempty"`             // proof that a verb approved or merged it | the store, in the write of the verb | neither APPROVED nor MERGED

	BlockedReason    string      `yaml:"blocked_reason,omitempty"`    // why it is BLOCKED | block, limits, replan | not BLOCKED
	BlockedKind      BlockedKind `yaml:"blocked_kind,omitempty"`      // question, stuck, max_iterations, review_deadlock, replan, halt, dependency or human | block, limits, replan | not BLOCKED; on BLOCKED read as question
	BlockedQuestions List        `yaml:"blocked_questions,omitempty"` // 1 to 3 questions to people or the planner | block | not BLOCKED, or halted
	Attempted        List        `yaml:"attempted,omitempty"`         // what the coder tried before it was stuck | block | not said
	FailedBy         List        `yaml:"failed_by,omitempty"`         // coders that failed it; two exhaust it | review deadlock, iterations used up, block with attempted | none failed
	Failures         int         `yaml:"failures,omitempty"`          // number of such failures; three exhaust it | as failed_by
	Crashes          int         `yaml:"crashes,omitempty"`           // crashes, stalls and timeouts of its program, and failures of `worktree.setup` and `services`, in a row | supervisor (+1); a run that finished: 0
	Supersedes       List        `yaml:"supersedes,omitempty"`        // tasks that it replaces | create, supersede | it replaces none
	SupersededBy     List        `yaml:"superseded_by,omitempty"`     // tasks that replace it | supersede | not SUPERSEDED
	RescopeReason    string      `yaml:"rescope_reason,omitempty"`    // why it was replaced, dropped or unblocked | supersede, abandon, unblock | never
	RootCause        string      `yaml:"root_cause,omitempty"`        // what made two coders fail | supersede, abandon | the task was not exhausted
	IntegrationFix   bool        `yaml:"integration_fix,omitempty"`   // the claim mends a failed integration | claim of INTEGRATION_FAILED; merged clears it
	HandoffPending   bool        `yaml:"handoff_pending,omitempty"`   // the next claim goes on in the worktree | handoff, release, resubmit; the next run clears it
	Hold             *Hold       `yaml:"hold,omitempty"`              // nobody picks it; the status stays | hold, stuck reviews; unhold clears it | not on hold
	Halt             *Halt       `yaml:"halt,omitempty"`              // the limit that stopped it | limits; resubmit clears it | not stopped by a limit

	Command        string   `yaml:"command,omitempty"`         // the command of kind exec | create | another kind
	Skill          string   `yaml:"skill,omitempty"`           // the skill of kind skill | create | another kind
	Args           Settings `yaml:"args,omitempty"`            // arguments of the skill, by name | create | another kind
	Notify         bool     `yaml:"notify,omitempty"`          // its accepted output goes to people | create
	ReviewRequired bool     `yaml:"review_required,omitempty"` // a reviewer judges the output; always for code | create
	Writes         bool     `yaml:"writes,omitempty"`          // the command changes files, which are reviewed and merged | create
	TimeoutSeconds int      `yaml:"timeout_seconds,omitempty"` // time limit of command or skill, in seconds | create | that of the project holds
	ModelRole      string   `yaml:"model_role,omitempty"`      // role whose model is used | create | the model of its own role
	Secrets        List     `yaml:"secrets,omitempty"`         // names of the secrets that its skill gets | plan apply | it gets none

	Attempts    []*Attempt      `yaml:"attempts,omitempty"`     // finished runs, newest last, newest 10 | supervisor after each run | before the first run
	LastOutcome *LastOutcome    `yaml:"last_outcome,omitempty"` // the latest exit command | supervisor, submit | before the first one, or the task is finished: its attempts have the summaries
	Output      *Output         `yaml:"output,omitempty"`       // result of exec, skill or msg | supervisor | kind code, or not run yet
	Usage       *Usage          `yaml:"usage,omitempty"`        // what its runs cost | supervisor after each run | before the first run
	History     []*HistoryEntry `yaml:"history,omitempty"`      // every event, oldest first, never shortened | every event of the task
}

// Claiming is a reservation, phase one of a claim (specs/protocol.md#7.2).
// Written by: claim, phase 1.
type Claiming struct {
	By         string `yaml:"by"`                    // agent id
	Generation string `yaml:"generation"`            // of its registration
	At         Time   `yaml:"at"`                    // when
	Expires    Time   `yaml:"expires"`               // when others may claim
	BaseCommit string `yaml:"base_commit,omitempty"` // integration head at that moment |  | kind msg
}

// ResolvedRole says which role file a run used, and by which rule.
// Written by: supervisor before a run.
type ResolvedRole struct {
	Name string `yaml:"name"`           // of the role
	Rule string `yaml:"rule"`           // override, type or default
	Hash string `yaml:"hash,omitempty"` // first 12 hex digits of the role's SHA-256
}

// Rejection is the reason of a rejection; a plain string is accepted when read.
// Written by: verdict, gate, reject-merge.
type Rejection struct {
	Summary   string     `yaml:"summary"`             // the reason in words
	Overruled bool       `yaml:"overruled,omitempty"` // the reviewer approved, and findings made a rejection of it
	Findings  []*Finding `yaml:"findings,omitempty"`  // what is wrong, one by one |  | the reason says it all
	Checks    []*Check   `yaml:"checks,omitempty"`    // results of the checks of that review
	Prior     []*Prior   `yaml:"prior,omitempty"`     // what became of the points of the rejection before |  | first rejection
	Anomalies List       `yaml:"anomalies,omitempty"` // ids of anomalies that the reviewer recorded for the task
}

// Check is the result of one deterministic review check.
// Written by: supervisor before a review.
type Check struct {
	Name     string      `yaml:"name"`                // of the check
	Status   CheckStatus `yaml:"status"`              // passed, failed, skipped, unable or exempt
	Severity string      `yaml:"severity,omitempty"`  // of its findings: error, warning or info
	ExitCode int         `yaml:"exit_code,omitempty"` // of its command
	Seconds  int         `yaml:"seconds,omitempty"`   // how long it took, in seconds
	Log      string      `yaml:"log,omitempty"`       // path of its output, from the project root
	Baseline string      `yaml:"baseline,omitempty"`  // log of the same failure on the base of the work |  | it does not fail there, or was not asked
	Message  string      `yaml:"message,omitempty"`   // why it was skipped, or what failed
	Commit   string      `yaml:"commit,omitempty"`    // what was checked |  | what was reviewed
}

// Prior says what became of point N of the previous rejection:
// RESOLVED, PARTIAL or STILL_PRESENT.
// Written by: reviewer.
type Prior struct {
	N     int        `yaml:"n" json:"n"`         // number of the point, from 1
	State PriorState `yaml:"state" json:"state"` // RESOLVED, PARTIAL or STILL_PRESENT
}

// Fix is one corrective step that a rejection asks for.
// Written by: verdict (inject, error findings), reject-merge.
type Fix struct {
	N        int      `yaml:"n" json:"n,omitempty"`                           // number, from 1
	Kind     TaskKind `yaml:"kind,omitempty" json:"kind,omitempty"`           // code, exec, skill or msg
	Detail   string   `yaml:"detail,omitempty" json:"detail,omitempty"`       // what to do, or the command
	Expect   string   `yaml:"expect,omitempty" json:"expect,omitempty"`       // what is expected of it
	Skill    string   `yaml:"skill,omitempty" json:"skill,omitempty"`         // of kind skill
	Args     Settings `yaml:"args,omitempty" json:"args,omitempty"`           // arguments of the skill
	Done     bool     `yaml:"done,omitempty" json:"done,omitempty"`           // it was carried out | submit, supervisor
	ExitCode int      `yaml:"exit_code,omitempty" json:"exit_code,omitempty"` // of its command | supervisor
	Output   string   `yaml:"output,omitempty" json:"output,omitempty"`       // what it printed | supervisor
}

// Review is the latest review of a task. Status is ok, needs_fix, replan or stuck.
// Written by: supervisor, verdict.
type Review struct {
	Status      string     `yaml:"status,omitempty"`      // ok, needs_fix, replan or stuck |  | no verdict yet
	Mode        ReviewMode `yaml:"mode,omitempty"`        // review.mode when the verdict was stored |  | unset
	By          string     `yaml:"by,omitempty"`          // agent id, or human |  | the task is finished, and it is approved_by
	Commit      string     `yaml:"commit,omitempty"`      // what was reviewed |  | the task is finished, and it is review_commit
	At          Time       `yaml:"at,omitempty"`          // when the verdict was given
	Reason      string     `yaml:"reason,omitempty"`      // of the verdict
	Checks      []*Check   `yaml:"checks,omitempty"`      // results of the checks
	Findings    []*Finding `yaml:"findings,omitempty"`    // of checks and reviewer
	Suggestions List       `yaml:"suggestions,omitempty"` // ideas that block nothing
	Passed      List       `yaml:"passed,omitempty"`      // checks that passed, with the seconds that they took |  | the task is not finished
	Skipped     List       `yaml:"skipped,omitempty"`     // checks that were skipped |  | the task is not finished
	Exempt      List       `yaml:"exempt,omitempty"`      // checks that the work did not need |  | the task is not finished
}

// NoTests is the coder's waiver of the test gate (specs/protocol.md#4.7).
// Written by: submit --no-tests.
type NoTests struct {
	Reason string `yaml:"reason"` // why there are no tests
	By     string `yaml:"by"`     // agent id
	At     Time   `yaml:"at"`     // when
}

// MergeApproval is the human merge gate. Decision is approved, rejected or "".
// Written by: gate of an approval, approve-merge, reject-merge.
type MergeApproval struct {
	Required bool         `yaml:"required"`           // a person has to decide
	Decision GateDecision `yaml:"decision,omitempty"` // approved or rejected |  | no decision yet
	By       string       `yaml:"by,omitempty"`       // name of the person
	At       Time         `yaml:"at,omitempty"`       // when it was decided
	Reason   string       `yaml:"reason,omitempty"`   // of the decision
}

// MergeIntent is recorded before the integration branch moves (specs/protocol.md#8.2 M7).
// Written by: merge, step M7.
type MergeIntent struct {
	Commit     string `yaml:"commit"`               // the candidate
	Old        string `yaml:"old"`                  // head of the integration branch before
	At         Time   `yaml:"at"`                   // when
	By         string `yaml:"by"`                   // agent id, human or system
	Unverified List   `yaml:"unverified,omitempty"` // checks that are red on the candidate and were before |  | all passed
}

// Hold keeps everybody from picking a task; the status stays.
// Written by: hold, stuck reviews.
type Hold struct {
	By     string `yaml:"by"`     // name of the person, or system
	At     Time   `yaml:"at"`     // when
	Reason string `yaml:"reason"` // why
}

// Halt says which limit stopped a task. Kind is cost, time or iteration.
// Written by: limits.
type Halt struct {
	Kind  string `yaml:"kind"`  // cost, time or iteration; tokens count as cost, runs as iteration
	Value Amount `yaml:"value"` // what was used: cents, minutes, tokens, runs or iterations
	Limit int    `yaml:"limit"` // the limit, in the same unit
	At    Time   `yaml:"at"`    // when
}

// Attempt describes one finished run.
// Written by: supervisor after a run.
type Attempt struct {
	Seq       int     `yaml:"seq"`                  // number on this task, from 1
	ClaimSeq  int     `yaml:"claim_seq,omitempty"`  // the claim that it belongs to
	Run       int     `yaml:"run,omitempty"`        // number of the run of that registration
	Agent     string  `yaml:"agent,omitempty"`      // agent id
	Role      string  `yaml:"role,omitempty"`       // name of the role file
	Kind      string  `yaml:"kind,omitempty"`       // planner, coder, code_reviewer, messenger or summarizer
	Action    string  `yaml:"action,omitempty"`     // COMPLETED, STUCK or RETRY |  | there was no exit command
	Outcome   string  `yaml:"outcome,omitempty"`    // submitted, approved, rejected, merged, blocked, retry, timeout, stalled, crashed, killed, lapsed, released, quota, stuck or invalid
	Summary   string  `yaml:"summary,omitempty"`    // what the agent said of it, in one line
	Commit    string  `yaml:"commit,omitempty"`     // head of the worktree afterwards
	Attic     string  `yaml:"attic,omitempty"`      // ref of the work that was saved |  | nothing was saved
	CostCents *Amount `yaml:"cost_cents,omitempty"` // in cents, with fractions |  | unknown, never read as zero
	Seconds   int     `yaml:"seconds,omitempty"`    // how long the program ran, in seconds
	Ended     Time    `yaml:"ended,omitempty"`      // when
	CLI       string  `yaml:"cli,omitempty"`        // name of the agent program
	Rung      int     `yaml:"rung,omitempty"`       // rung of the ladder of models, from 1 |  | there is no ladder, or the run says nothing about its model
	Sandbox   string  `yaml:"sandbox,omitempty"`    // how it was contained: closed, partial, wrap or open |  | a run of an earlier version, open

	Session *Conversation `yaml:"session,omitempty"` // conversation that can be resumed |  | the program has none that can be resumed
}

// Conversation is what an agent program can resume. The tokens are all that it told for it,
// from its beginning to the end of the run that the conversation belongs to.
// Written by: supervisor after a run.
type Conversation struct {
	ID           string `yaml:"id"`                      // the program's own name of it
	TokensIn     int    `yaml:"tokens_in,omitempty"`     // told so far, from the beginning of the conversation
	TokensOut    int    `yaml:"tokens_out,omitempty"`    // told so far, from the beginning of the conversation
	TokensCached int    `yaml:"tokens_cached,omitempty"` // told so far, from the beginning of the conversation
}

// LastOutcome is the latest exit command of an agent for a task.
// Written by: supervisor, submit.
type LastOutcome struct {
	Action        string `yaml:"action"`                   // COMPLETED, STUCK or RETRY
	Summary       string `yaml:"summary,omitempty"`        // summary_for_supervisor
	EvidenceFiles List   `yaml:"evidence_files,omitempty"` // paths in the worktree
	At            Time   `yaml:"at"`                       // when
}

// Output is the result of an exec, skill or msg task.
// Written by: supervisor.
type Output struct {
	Text     string `yaml:"text,omitempty"`  // the result, cut to 2,000 bytes
	Path     string `yaml:"path,omitempty"`  // file with the whole result |  | the text is whole
	Bytes    int    `yaml:"bytes,omitempty"` // length of the whole result, in bytes
	ExitCode int    `yaml:"exit_code"`       // of the command; 0 for a message
}

// Usage sums what runs cost; runs without telemetry count in UnknownCostRuns.
// Written by: supervisor after each run.
type Usage struct {
	CostCents       Amount    `yaml:"cost_cents"`                  // sum in cents, with fractions
	Seconds         int       `yaml:"seconds"`                     // that programs ran, in seconds
	TokensIn        int       `yaml:"tokens_in"`                   // sum, cached ones included as the program tells them
	TokensOut       int       `yaml:"tokens_out"`                  // sum
	TokensCached    int       `yaml:"tokens_cached,omitempty"`     // sum |  | no program told any
	AgentRuns       int       `yaml:"agent_runs"`                  // number of runs
	UnknownCostRuns int       `yaml:"unknown_cost_runs,omitempty"` // runs whose cost is unknown; the sum lacks them
	Day             *UsageDay `yaml:"day,omitempty"`               // cost of the current UTC day |  | of a task
}

// UsageDay is the cost of one UTC day.
// Written by: supervisor after each run.
type UsageDay struct {
	Date      string `yaml:"date"`       // YYYY-MM-DD, UTC
	CostCents Amount `yaml:"cost_cents"` // sum of that day in cents, with fractions
}

// HistoryEntry is one line of a task's append-only history (specs/protocol.md#4.6).
// Written by: the event that it records.
type HistoryEntry struct {
	Time             Time           `yaml:"time"`                        // when
	Event            HistoryEvent   `yaml:"event"`                       // name of the event
	Agent            string         `yaml:"agent,omitempty"`             // agent id, human or system
	Via              string         `yaml:"via,omitempty"`               // human: a person acted for that agent
	Iteration        int            `yaml:"iteration,omitempty"`         // of a claim
	ClaimSeq         int            `yaml:"claim_seq,omitempty"`         // of a claim
	BaseCommit       string         `yaml:"base_commit,omitempty"`       // of a claim
	Commit           string         `yaml:"commit,omitempty"`            // that was submitted, approved or rejected
	PreviousAssignee string         `yaml:"previous_assignee,omitempty"` // who had it before, of a claim by another coder
	Attic            string         `yaml:"attic,omitempty"`             // ref of the work that was saved
	Holder           string         `yaml:"holder,omitempty"`            // whose lease ran out, or who was released
	Lease            Time           `yaml:"lease,omitempty"`             // when that lease ended
	Cause            string         `yaml:"cause,omitempty"`             // why the lease is over
	Kind             BlockedKind    `yaml:"kind,omitempty"`              // of a block
	What             string         `yaml:"what,omitempty"`              // claim or review
	Reason           string         `yaml:"reason,omitempty"`            // in one line
	By               List           `yaml:"by,omitempty"`                // tasks that replace this one
	Files            List           `yaml:"files,omitempty"`             // in conflict
	Log              string         `yaml:"log,omitempty"`               // path of the failed check's output
	Checks           string         `yaml:"checks,omitempty"`            // sum of the commands that can fail the work, when some of them did
	MergeCommit      string         `yaml:"merge_commit,omitempty"`      // of merged
	DriftCommits     int            `yaml:"drift_commits,omitempty"`     // commits of the integration branch that the work had not seen
	Recovered        *bool          `yaml:"recovered,omitempty"`         // false: the worktree could not be had back |  | nothing had to be recovered
	Auto             bool           `yaml:"auto,omitempty"`              // approved without a reviewer
	Merge            bool           `yaml:"merge,omitempty"`             // a person released the merge
	NoTests          string         `yaml:"no_tests,omitempty"`          // the waiver of a submission
	Halt             *Halt          `yaml:"halt,omitempty"`              // the limit of a block
	Checkpoint       *Intent        `yaml:"checkpoint,omitempty"`        // the intent of a coder
	Extra            map[string]any `yaml:",inline"`                     // keys of other programs and versions, kept as they are
}

// Intent is a pre-execution checkpoint (specs/protocol.md#13.11).
// Written by: intent.
type Intent struct {
	Intent        string `yaml:"intent"`                    // what the coder is going to do
	Assumptions   List   `yaml:"assumptions,omitempty"`     // what it takes for granted
	Risks         List   `yaml:"risks,omitempty"`           // what could go wrong
	Validation    string `yaml:"validation"`                // how it is going to be checked
	FilesToModify List   `yaml:"files_to_modify,omitempty"` // paths in the worktree
}

// UnmarshalYAML accepts the map form or, as Liza v1 wrote it, a plain string.
func (r *Rejection) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err == nil {
		*r = Rejection{Summary: text}
		return nil
	}
	type plain Rejection
	return decode((*plain)(r))
}

// Host is one clone of the repository in which agents of this board work. Two clones on one machine are two hosts: each has
// worktrees and processes of its own.
// Written by: join, register, heartbeat.
type Host struct {
	ID          string `yaml:"id"`                     // of the clone, random
	Seen        Time   `yaml:"seen"`                   // last contact
	ClockOffset int    `yaml:"clock_offset,omitempty"` // how far its clock is ahead of the board's, in seconds
	Version     string `yaml:"version,omitempty"`      // of liza there
	Load        string `yaml:"load,omitempty"`         // processes that want to run, per processor |  | the system does not tell
}

// MergeTurn is a lease on the integration branch: one host moves it at a time. Each turn has a higher term than the one
// before, so that what comes late from an old one is known.
// Written by: merges.
type MergeTurn struct {
	Term  int    `yaml:"term"`           // number of the turn
	Host  string `yaml:"host,omitempty"` // who has it |  | nobody
	By    string `yaml:"by,omitempty"`   // agent id, human or system
	Until Time   `yaml:"until"`          // when others may take it
}

// Import is an issue of a tracker, or an item of a file, of which a task was made (specs/protocol.md#8.9).
// Written by: import.
type Import struct {
	Source string `yaml:"source"`           // where it is: github:OWNER/NAME#12, specs/001/tasks.md#T001; never two of one source
	URL    string `yaml:"url,omitempty"`    // its page | import | it is in a file
	Task   string `yaml:"task"`             // task that was made of it; the ones in its place count instead
	Title  string `yaml:"title"`            // title outside when it was looked at last
	Text   string `yaml:"text"`             // hash of the text outside when it was looked at last
	Status string `yaml:"status"`           // open, done (told and closed by Liza) or closed (by somebody else)
	Teller string `yaml:"teller,omitempty"` // host that tells it outside; others leave it alone for five minutes after at | import | none does, or the board has one host
	At     Time   `yaml:"at"`               // last change
}

// Integration is what Liza remembers of the integration branch. A branch that is elsewhere
// was moved by somebody else: merges wait until a person decides.
// Written by: init, merges, integration, sync.
type Integration struct {
	Tip    string      `yaml:"tip"`              // where Liza, or a person's decision, left the branch
	By     string      `yaml:"by,omitempty"`     // what left it there: init, merge task-1, sync main, accept …
	At     Time        `yaml:"at,omitempty"`     // when
	Base   string      `yaml:"base,omitempty"`   // commit of the base branch that the branch was cut from or synced with last
	Intent *MoveIntent `yaml:"intent,omitempty"` // move that is not the merge of an approved task | sync, merge --again; cleared when it is made | none is under way
	Moved  *Moved      `yaml:"moved,omitempty"`  // a tip that Liza did not make, and was told of | every look at git; accept, restore clear it | the branch is where Liza left it
	Turn   *MergeTurn  `yaml:"turn,omitempty"`   // which host may move the branch | merges | nobody has, or the board is a file of one host
	Seal   *TipSeal    `yaml:"seal,omitempty"`   // proof that a verb left the branch there | the store
}

// A TipSeal proves that a verb left the branch there: an HMAC over the other fields, but for moved and turn.
// Written by: the store.
type TipSeal struct {
	Key string `yaml:"key"` // names the key
	MAC string `yaml:"mac"` // HMAC over the other fields but moved and turn
}

// MoveIntent is recorded before the branch moves for anything but the merge of an approved
// task, which has an intent of its own. Kind is sync or again.
// Written by: sync, merge --again.
type MoveIntent struct {
	Kind   string `yaml:"kind"`           // sync or again
	Commit string `yaml:"commit"`         // the candidate
	Old    string `yaml:"old"`            // head of the branch before
	Base   string `yaml:"base,omitempty"` // of a sync: the commit that is merged
	From   string `yaml:"from,omitempty"` // of a sync: what it was named
	Task   string `yaml:"task,omitempty"` // whose work is merged again
	At     Time   `yaml:"at"`             // when
	By     string `yaml:"by"`             // agent id, human or system
}

// Quorum is how many reviewers the change of a task needs (review.quorum), and which rules ask for them.
// Written by: an approval that is not the last one; merge, when the rules ask for more than there is.
type Quorum struct {
	Reviewers int    `yaml:"reviewers"`          // how many have to approve
	Programs  string `yaml:"programs,omitempty"` // any, or different: each with another agent program
	Paths     List   `yaml:"paths,omitempty"`    // globs of the rules that ask for it
}

// Approval is one approval of a change that needs several.
// Written by: approve, approve-merge; the store seals it. A new submission and a rejection remove all.
type Approval struct {
	Reviewer string     `yaml:"reviewer"`           // agent id, or name of the person
	Person   bool       `yaml:"person,omitempty"`   // a person decided, also with --as
	Program  string     `yaml:"program,omitempty"`  // agent program of the reviewer's run |  | a person, or unknown
	Commit   string     `yaml:"commit"`             // what was approved; no other commit is
	Tree     string     `yaml:"tree,omitempty"`     // of that commit
	At       Time       `yaml:"at"`                 // when
	Findings []*Finding `yaml:"findings,omitempty"` // of that reviewer; none is an error
	Key      string     `yaml:"key,omitempty"`      // names the key of the seal
	MAC      string     `yaml:"mac,omitempty"`      // HMAC over the task and everything above but the findings
}

// Request is a pull or merge request with which work lands on a forge (specs/protocol.md#8.8).
// Written by: land.
type Request struct {
	ID       string `yaml:"id"`                 // goal or task that lands; with -2, -3 … when more landed after a merge
	Branch   string `yaml:"branch"`             // pushed to the remote
	Base     string `yaml:"base"`               // branch of the remote that it is to be merged into
	Status   string `yaml:"status"`             // opening, open, merged or closed
	Number   int    `yaml:"number,omitempty"`   // of the forge | land | it was not opened yet
	URL      string `yaml:"url,omitempty"`      // its page | land | it was not opened yet
	Commit   string `yaml:"commit"`             // what the branch is to have
	Pushed   string `yaml:"pushed,omitempty"`   // what the branch was left at | land | nothing was pushed yet
	Onto     string `yaml:"onto,omitempty"`     // commit of the base branch that the commits of tasks are on | land | the branch is the integration branch
	Picked   List   `yaml:"picked,omitempty"`   // tasks whose work is in it, one commit each | land | the branch is the integration branch
	Checks   string `yaml:"checks,omitempty"`   // pending, passed, failed or none | land | nobody looked yet
	Fixes    List   `yaml:"fixes,omitempty"`    // tasks that red CI and reviews made | land | there are none
	Seen     List   `yaml:"seen,omitempty"`     // failed checks and comments that were acted upon | land | there are none
	Waits    string `yaml:"waits,omitempty"`    // what a person has to decide, or why it is not merged | land | it waits for nobody
	Conflict bool   `yaml:"conflict,omitempty"` // Waits says what it conflicts with |  | the forge can merge it
	Merge    string `yaml:"merge,omitempty"`    // commit on the base branch | land | it is not merged
	At       Time   `yaml:"at"`                 // last change
}

// A Seal proves that a verb brought its task into APPROVED or MERGED: an HMAC over what was
// approved, by whom and when, with a key that is not in the repository.
// Written by: the store, in the write of the verb.
type Seal struct {
	Verdict    string `yaml:"verdict"`              // approved, merged, or history: the task came onto the board MERGED
	Generation string `yaml:"generation,omitempty"` // of the reviewer's registration |  | a person's decision, or history
	Tree       string `yaml:"tree,omitempty"`       // of the review commit |  | no files are changed
	At         Time   `yaml:"at"`                   // when
	Key        string `yaml:"key"`                  // names the key
	MAC        string `yaml:"mac"`                  // HMAC over task, approval, commits, tree and time
}

// Finding is one point of a review or check. Severity is error, warning or info.
// Written by: checks, reviewer.
type Finding struct {
	Severity string `yaml:"severity,omitempty" json:"severity,omitempty"` // error, warning or info |  | read as warning
	Check    string `yaml:"check,omitempty" json:"check,omitempty"`       // the check that it belongs to
	File     string `yaml:"file,omitempty" json:"file,omitempty"`         // path in the worktree
	Line     int    `yaml:"line,omitempty" json:"line,omitempty"`         // from 1 |  | the whole file
	Message  string `yaml:"message" json:"message"`                       // what is wrong
	Fix      string `yaml:"fix,omitempty" json:"fix,omitempty"`           // what would mend it
	SpecRef  string `yaml:"spec_ref,omitempty" json:"spec_ref,omitempty"` // what the spec says about it
	Output   string `yaml:"output,omitempty" json:"-"`                    // last lines of the check that found it
}

// Moved is a tip that Liza did not make, and was told of. Tip is "" for a branch that is gone.
// Written by: every look at git.
type Moved struct {
	Tip string `yaml:"tip"` // where the branch is; empty: it is gone
	At  Time   `yaml:"at"`  // when that was seen
}
