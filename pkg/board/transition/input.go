package transition

import (
	"slices"

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

// reasoned makes the reason a text that must be given (G09).
func (in Input) reasoned() Input {
	in.Texts = append(slices.Clone(in.Texts), Text{"--reason", in.Reason})
	return in
}
