package prompt

import (
	"errors"
	"fmt"
	"strings"

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
	Diff         string   // of a submission, as git prints it
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

// Build writes the prompt. The error is a *role.UnusableError when the text of the role
// cannot be rendered.
func Build(in Input) (Prompt, error) {
	alone := in.Kind == Planner || in.Kind == Summarizer
	switch {
	case in.State == nil:
		return Prompt{}, errors.New("cannot write a prompt without a state")
	case !in.Kind.Known():
		return Prompt{}, fmt.Errorf("cannot write a prompt for the kind '%s'", in.Kind)
	case in.Role == nil || in.Role.Kind != in.Kind:
		return Prompt{}, fmt.Errorf("cannot write the prompt of a %s without a role of that kind", in.Kind)
	case in.Task == nil && !alone:
		return Prompt{}, fmt.Errorf("cannot write the prompt of a %s without a task", in.Kind)
	case in.Shorten == nil && in.Kind == Summarizer:
		return Prompt{}, errors.New("cannot write the prompt of a summarizer without a text to shorten")
	}
	if alone {
		in.Task = nil
	}
	limit := in.MaxChars
	if limit <= 0 {
		limit = MaxChars
	}
	d, err := newDraft(&in)
	if err != nil {
		return Prompt{}, err
	}
	tail := in.reask()
	d.shrink(limit - len(tail))
	p := Prompt{Text: d.text() + tail, Cuts: d.cuts(), Sections: d.shown(), Files: in.files()}
	p.Over = len(p.Text) > limit
	return p, nil
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

const brokenLimit = 4000 // bytes of an unusable answer, and of what is wrong with it

// reask is what follows the original prompt when an answer could not be used: the answer,
// what is wrong with it, and how to finish, once more.
func (in *Input) reask() string {
	r := in.Reask
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Your last answer could not be used\n\n")
	if broken, _ := clean(r.Broken); broken != "" {
		b.WriteString(fence("answer", lastBytes(broken, brokenLimit)) + "\n\n")
	} else {
		b.WriteString("There was no answer.\n\n")
	}
	errs, _ := clean(r.Errors)
	fmt.Fprintf(&b, "What is wrong: %s\n\n", cutText(errs, brokenLimit, ""))
	b.WriteString("What you did in the worktree and on the board still holds. Put right what is wrong, and answer once more.")
	if r.Max > 0 {
		fmt.Fprintf(&b, " This is try %d of %d.", r.Attempt, r.Max)
	}
	return b.String() + "\n\n## How to finish\n\n" + in.finish() + "\n\n" + in.closing() + "\n"
}
