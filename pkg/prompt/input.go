package prompt

import (
	"liza/pkg/blackboard"
	"liza/pkg/role"
	"liza/pkg/transition"
)

// MaxChars is the size of a prompt in bytes when Input does not say (specs/decisions.md#D9).
const MaxChars = 30000

// Input is what a prompt is made of. Nothing else enters it.
type Input struct {
	Kind      Kind
	Role      *role.Role        // whose text it begins with; of that kind
	State     *blackboard.State // a snapshot; it is read only
	Task      *blackboard.Task  // of State; nil for a planner and a summarizer
	Agent     string            // "coder-1"; not looked at for helper kinds
	Worktree  string            // absolute path; the project root for a planner
	Root      string            // absolute path of the project
	Model     string            // "": the program's own default
	Action    string            // of the request object; "": run
	Iteration int               // 0: the task's

	Triggers   []transition.Trigger // why a planner was woken, the first names the run
	IntentLate bool                 // the coder's intent came after its first commit

	Uncommitted  []string // files in a coder's worktree that earlier work left without a commit
	From, To     string   // the two sides of what a submission would change
	Diff         string   // between them, as git prints it
	DiffStat     string
	SpecText     string              // the spec file of the task, or of the goal for a planner; whole
	RepoTree     string              // see Tree
	Relevant     []File              // see RelevantFiles
	Changed      map[string][]string // of other tasks in work: the files changed so far
	Instructions string              // context.custom_instructions and .liza/instructions.md
	Red          []Red               // checks that fail on the base of the work
	FailedMerge  string              // the last lines of the check that stopped a merge
	Skills       string              // one-liners and argument schemas
	Shorten      *Shorten

	Interactive bool // a person works with the program in a terminal: verbs only, no exit command

	PriorAttempts int // how many earlier runs are told; 0: 5, negative: none
	Messages      int // how many messages are told; 0: 10, negative: none
	MaxChars      int // bytes of the whole prompt; 0: MaxChars
	Reask         *Reask

	rendered string // the role's text
}

// Red is a check that fails without any change of an agent, with its last lines.
type Red struct{ Check, Command, Tail string }

// Shorten is what a summarizer has to shorten: entries for the summary, or facts
// (specs/roles-and-knowledge.md#6.3, specs/roles-and-knowledge.md#6.4).
type Shorten struct {
	Facts bool
	Text  string
}

// Reask asks again for an answer that could not be used (specs/roles-and-knowledge.md#4.6).
type Reask struct {
	Broken       string // the answer; its last 4,000 bytes are shown
	Errors       string // why it could not be used, or which guard refused it
	Attempt, Max int    // this is re-ask Attempt of Max
	Resumed      bool   // the program still knows the prompt: the run block is enough
}

// Prompt is the text for the program.
type Prompt struct {
	Text     string
	Cuts     []string  // what was left out, one sentence each
	Over     bool      // larger than allowed, because what is left may not be cut
	Sections []Section // what it is made of
	Files    []string  // that it names, relative to the worktree
}

// Section is one part of a prompt, for people.
type Section struct {
	Name  string `json:"name"`
	From  string `json:"from"`  // where the text comes from
	Bytes int    `json:"bytes"` // as sent, with heading and fence
	Cut   int    `json:"cut"`   // bytes that were left out
}

// replan reports whether the planner has to find another way for failed work.
func (in *Input) replan() bool {
	for _, t := range in.Triggers {
		if t.Kind == transition.TriggerReplan || t.Kind == transition.TriggerHypothesisExhausted {
			return true
		}
	}
	return false
}

// Kind and Piece are those of the context matrix (specs/roles-and-knowledge.md#2.4), which is
// beside the role files that it limits.
type (
	Kind  = role.Kind
	Piece = role.Piece
)

// The kinds.
const (
	Planner    = role.Planner
	Coder      = role.Coder
	Reviewer   = role.Reviewer
	Messenger  = role.Messenger
	Summarizer = role.Summarizer
)

// section is one part of a prompt.
type section struct {
	name    string
	piece   Piece  // who gets it; "": every kind
	field   string // of templates; a template that uses it takes the place of the section
	from    string // where the text comes from, for people
	heading string
	limit   int  // bytes of its text; 0: none
	fenced  bool // the text comes from people or programs outside of Liza

	lead func(*Input) string // what Liza says about the text, before the fence; may be nil
	text func(*Input) string // may be nil when there is a lead
	hint func(*Input) string // path or command that shows what was left out
	fit  func(in *Input, text string, limit int, hint string) string
}

// show is the command that shows the task whole.
func (in *Input) show() string {
	if in.Task == nil {
		return "$LIZA_BIN status"
	}
	return "$LIZA_BIN show " + in.Task.ID
}

// gets reports whether a run gets the piece: the matrix allows it, and the role wants it.
func (in *Input) gets(p Piece) bool {
	if p == "" {
		return true
	}
	switch p.For(in.Kind) {
	case role.Given:
		return true
	case role.Optional:
		return in.Role.Wants(p)
	case role.OnReplan:
		return in.replan()
	}
	return false
}

// File is a file that a task is probably about.
type File struct{ Path, Why string }

// resumed reports whether the program still knows the prompt of this unit of work.
func (in *Input) resumed() bool { return in.Reask != nil && in.Reask.Resumed }

// active are the facts in force, in the order of the board, which is that of their ids.
func (in *Input) active() []*blackboard.Fact { return in.State.ActiveFacts() }
