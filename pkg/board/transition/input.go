package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// Input is what an event brings along: what the caller said, and the facts about git,
// processes and disk that the verb looked up. Each event reads only its own part.
type Input struct {
	// What the caller said.
	Reason    string
	RootCause string
	Texts     []Text // required texts by option name (G09)
	Intent    *blackboard.Intent
	Handoff   *blackboard.Handoff
	NoTests   string
	Summary   string
	Questions blackboard.List
	Attempted blackboard.List
	By        blackboard.List // replacements of a supersede
	DependsOn blackboard.List // new dependencies of an unblock
	Force     bool
	Answered  bool                // unblock by the answer to the last question
	Limits    blackboard.Settings // resubmit
	CleanGit  bool                // rerun
	Verdict   *VerdictInput
	AsAgent   string // who the entries name when not the actor: the approver of a merge done by the system

	// Facts.
	Shared      bool   // several hosts have the board, and its own orders count
	Control     string // why nothing new may start, "paused since T: reason"; "" when open
	HumanReview bool   // plan.human_review of the configuration
	FreeMB      int    // free disk space; 0: unknown
	MinFreeMB   int
	RoleProblem string                        // why the role of a new task cannot be used
	RoleCheck   func(*blackboard.Task) string // why a task's role cannot be used, "" when it can; nil: all can
	MayTake     func(*blackboard.Task) string // why the caller cannot take a task now, "" when it can; nil: it can
	ReviewMode  blackboard.ReviewMode
	AutoMerge   bool
	Quorum      *blackboard.Quorum     // what review.quorum asks for the change; nil: one reviewer
	Proceed     bool                   // limits.on_review_depth is proceed
	SpecExists  func(path string) bool // nil: not checked
	SpecHash    string
	Claim       *ClaimFacts
	Submission  *SubmissionFacts
	Review      *ReviewFacts
	Merge       *MergeFacts
	Attic       string          // ref that holds the saved work
	SaveError   string          // why the work could not be saved (G75)
	HasWork     bool            // the worktree holds commits or changes
	Tip         string          // tip of the task's branch
	What        string          // kind of the event: "failed", "lapsed", "stuck", "retry" …
	Outcome     string          // of a failed run: timeout, stalled, crashed, killed
	Tail        blackboard.List // the last lines that it printed
	Halt        *blackboard.Halt
	Recovered   *bool

	index *taskIndex // where many tasks are looked at; nil: they are searched
}

// Text is a text that must not be empty, and the option that gives it.
type Text struct{ Option, Value string }

// ClaimFacts are the facts of specs/protocol.md#7.2 and specs/protocol.md#7.3.
type ClaimFacts struct {
	Confirm     bool   // phase three: the reservation must still be the caller's
	Base        string // head of the integration branch
	BaseCommit  string // base of a fresh worktree, when it differs from Base (restart_from)
	Worktree    string // path relative to the project root; "" for kind msg
	Host        string // host of the worktree; "" when the board is a file of one host
	Fresh       bool   // the worktree was made from scratch from the base
	ChildError  string // why the former holder's process could not be stopped
	WorktreeErr string
	Reserve     time.Duration
	Named       bool // the caller named the task
}

// SubmissionFacts are the facts of the submit guards G33 to G42.
type SubmissionFacts struct {
	Exists          bool
	Branch          string // "" when HEAD is detached
	Head            string
	Dirty           []string
	Commit          string // resolved commit; "" when it does not exist
	Named           string // as the caller named it
	EmptyDiff       bool
	BaseIsAncestor  bool
	HasFixOnto      bool
	HasMerges       bool
	ForeignPaths    []string // paths under .liza/ or .worktrees/, gitlinks
	Unsound         string   // why the commits must not be merged, "" for nothing
	SourcesChanged  int
	TestsChanged    int
	TestGateExempt  bool
	FirstCommitTime time.Time
}

// ReviewFacts are the facts of a verdict.
type ReviewFacts struct {
	BranchTip string
	Head      string
	Dirty     []string
	Tree      string // of the commit under review
}

// VerdictInput is what a reviewer says (specs/roles-and-knowledge.md#5.3).
type VerdictInput struct {
	Findings    []*blackboard.Finding
	Inject      []*blackboard.Fix
	Prior       []*blackboard.Prior
	Suggestions blackboard.List
}

// MergeFacts are the facts of a merge (specs/protocol.md#8.2).
type MergeFacts struct {
	CheckedOutAt   string // where the integration branch is checked out
	CommitGone     bool   // review_commit is not in the object store (G62)
	Candidate, Old string
	By             string
	Contained      bool
	Tip            string // where the integration branch is, "" when it does not exist; of a finished merge: where that left it
	Commit         string
	Unverified     blackboard.List // checks that are red on the candidate and on what it is merged onto
	Drift          int
	Reason         string
	Files          blackboard.List
	Log            string
	Override       bool
}

// taskIndex has the tasks of a state by id. It is made when the first one is asked for: most tasks depend on nothing.
type taskIndex struct {
	state *blackboard.State
	byID  map[string]*blackboard.Task
}

// find returns nil for a task that is not there, or without an index.
func (x *taskIndex) find(id string) *blackboard.Task {
	if x == nil {
		return nil
	}
	if x.byID == nil {
		x.byID = make(map[string]*blackboard.Task, x.state.TaskCount())
		for t := range x.state.Tasks() {
			if x.byID[t.ID] == nil {
				x.byID[t.ID] = t
			}
		}
	}
	return x.byID[id]
}

var sameCoder = &Condition{Text: "the caller is the last coder", Holds: func(m *move) bool { return m.task.AssignedTo == m.actor.ID }}

// Without a last coder (a person removed it by hand) the claim counts as another coder's.
var otherCoder = &Condition{Text: "the caller is another coder", Holds: func(m *move) bool { return m.task.AssignedTo != m.actor.ID }}

var needsNoReviewer = &Condition{Text: "its kind is not code, it writes nothing, and it asks for no review, or has no review left with on_review_depth proceed",
	Holds: func(m *move) bool { return reviewsItself(m.task) || m.unreviewed() }}

// unreviewed reports whether a result is accepted although the reviewer wanted another one: the
// cycles are used up, nothing of it is merged, and the project wants that (on_review_depth).
func (m *move) unreviewed() bool {
	return m.proceeds() && m.task.ReviewCyclesCurrent >= maxReviewCycles(m.state, m.task)
}

func (m *move) proceeds() bool { return m.in.Proceed && !m.task.ChangesFiles() }

var nobodyReviews = &Condition{Text: "nobody reviews it", Holds: func(m *move) bool { return m.task.ReviewingBy == "" }}

var somebodyReviews = &Condition{Text: "a former review has lapsed", Holds: func(m *move) bool { return m.task.ReviewingBy != "" }}

var cyclesLeft = &Condition{Text: "a review cycle is left, or its last result is accepted with on_review_depth proceed", Holds: func(m *move) bool {
	return m.task.ReviewCyclesCurrent+1 < maxReviewCycles(m.state, m.task) || m.proceeds()
}}

var lastCycle = &Condition{Text: "it is the last review cycle", Holds: func(m *move) bool { return !cyclesLeft.Holds(m) }}

var verdictStuck = &Condition{Text: "the verdict is stuck", Holds: func(m *move) bool { return m.in.What == "stuck" }, Else: &onlySupervisor}

// The review counts as stuck after max_review_retries further ones without a verdict.
var tooManyFailures = &Condition{Text: "one review too many failed, lapsed or ended with RETRY", Holds: func(m *move) bool {
	return m.reviewFailed() && m.task.ReviewFailures+1 > m.state.Int("max_review_retries")
}}

var reviewGivenUp = &Condition{Text: "the review failed, lapsed, ended with RETRY or was given up", Holds: func(m *move) bool {
	return !verdictStuck.Holds(m) && !tooManyFailures.Holds(m)
}}

// onlySupervisor refuses a run token whose release is not a verdict.
var onlySupervisor = Guard{"G03", "only the supervisor releases a review without a verdict", func(m *move) error {
	return m.no("G03", ExitRefused, "%s may only end its review with a verdict; the supervisor of %s may release it", m.actor.ID, m.actor.ID)
}}

// A task under review is nobody's to drop, unless the review got stuck.
var notUnderReview = &Condition{Text: "it is not READY_FOR_REVIEW, or its review got stuck (hold by system)", Holds: func(m *move) bool {
	return m.task.Status != blackboard.ReadyForReview || m.task.Hold != nil && m.task.Hold.By == blackboard.System
}, Else: &reviewStuck}

var reviewStuck = Guard{"G06", "its review got stuck", func(m *move) error {
	return m.no("G06", ExitRefused, "task %s is %s: it can be dropped only when its review got stuck", m.task.ID, m.task.Status)
}}

var isIntegrationFix = &Condition{Text: "the claim is an integration fix", Holds: func(m *move) bool { return m.task.IntegrationFix }}

var noIntegrationFix = &Condition{Text: "the claim is not an integration fix", Holds: func(m *move) bool { return !m.task.IntegrationFix }}

var reviewDisabled = Guard{"G65", "review.mode is disabled", func(m *move) error {
	if m.in.ReviewMode != blackboard.ReviewDisabled {
		return m.refuseNext("liza claim-review "+m.task.ID, "G65", ExitRefused, "no merge approval is waiting for %s, which is %s: a reviewer judges it first", m.task.ID, m.task.Status)
	}
	return nil
}}

// reviewFailed reports whether the release counts as a review without a verdict.
func (m *move) reviewFailed() bool {
	return m.in.What == "failed" || m.in.What == "lapsed" || m.in.What == "retry"
}
