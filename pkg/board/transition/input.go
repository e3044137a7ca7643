package transition

import (
	"slices"

	"liza/pkg/board/blackboard"
)

// Input holds the arguments of an event: the texts of the caller, and facts about git, processes and disk that the verb
// looked up. Each event reads only its own part.
type Input struct {
	// What the caller said.
	Reason    string
	RootCause string
	Texts     []Text // texts that must not be empty (G09)
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
	Limits    blackboard.Settings // limits that a resubmit changes
	Verdict   *VerdictInput
	AsAgent   string // the agent that entries name instead of the actor: the approver of a merge done by the system

	// Facts.
	Shared      bool   // several hosts share the board, so its own orders count
	Control     string // why nothing new may start, "paused since T: reason"; "" when open
	HumanReview bool   // plan.human_review of the configuration
	FreeMB      int    // free disk space; 0: unknown
	MinFreeMB   int
	RoleProblem string                        // why the role of a new task cannot be used
	RoleCheck   func(*blackboard.Task) string // why a task's role cannot be used, or ""; nil: every role can
	MayTake     func(*blackboard.Task) string // why the caller cannot take a task now, or ""; nil: it can
	ReviewMode  blackboard.ReviewMode
	AutoMerge   bool
	Quorum      *blackboard.Quorum     // the quorum of review.quorum for the change; nil: one reviewer
	Proceed     bool                   // limits.on_review_depth is "proceed"
	SpecExists  func(path string) bool // nil: specs are not checked
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
	Outcome     string          // end of a failed run: timeout, stalled, crashed, killed, refused, stuck, invalid
	Tail        blackboard.List // last lines of the run's output
	Halt        *blackboard.Halt
	Recovered   *bool

	index *taskIndex // index of tasks for a look at many of them; nil: they are searched
}

// Text is a text that must not be empty, with the option that sets it.
type Text struct{ Option, Value string }

// reasoned makes the reason a text that must be given (G09).
func (in Input) reasoned() Input {
	in.Texts = append(slices.Clone(in.Texts), Text{"--reason", in.Reason})
	return in
}
