// Package prompt writes the text that an agent starts with, within its budget.
//
// Build is a pure function: what it needs is in Input, gathered by the caller (Tree and
// RelevantFiles give it its form), and the same Input gives the same bytes. A prompt is a
// list of sections in the order of specs/roles-and-knowledge.md#2.2, so that what stays the same
// longest is first: two prompts of one role for different tasks begin with the same
// bytes. The text of the role comes first (package role); its Matrix says which kind of
// agent gets which piece of context (2.4), and a section whose piece a kind is denied is
// never even made. A template that prints a piece itself gets no second section of it.
// Each section has a limit, and when the whole is still too large, sections shrink in a
// fixed order (2.6); the role, the rules, the commands, the exit command, the task, its
// criteria and scope, a rejection and the run block never do.
//
// Text that people or programs outside of Liza produced is between fences whose token
// is a hash of the text (2.5), so that nothing inside can forge the end.
//
// The texts are files: rules/, commands/ and finish/, one for each kind of agent.
package prompt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
)

// Build returns the prompt. The error is a *role.UnusableError if the text of the role cannot be rendered.
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

const brokenLimit = 4000 // bytes of an unusable answer, and of its problems

// reask returns the text after the original prompt when an answer could not be used: the answer, its problems, and once more
// how to finish.
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

func newDraft(in *Input) (d draft, err error) {
	if in.rendered, err = in.Role.Render(in.data()); err != nil {
		return d, err
	}
	d.in = in
	d.gather()
	return d, nil
}

// MaxChars is the default size of a prompt in bytes (specs/decisions.md#D9).
const MaxChars = 30000

// Input has everything that a prompt is made from.
type Input struct {
	Kind      Kind
	Role      *role.Role        // role of that kind, whose text comes first
	State     *blackboard.State // a snapshot, not to be changed
	Task      *blackboard.Task  // task in State; nil for a planner and a summarizer
	Agent     string            // "coder-1"; ignored for helper kinds
	Worktree  string            // absolute path; the project root for a planner
	Root      string            // absolute path of the project
	Model     string            // "": the program's own default
	Iteration int               // 0: the task's

	Triggers   []transition.Trigger // triggers that woke a planner; the first one names the run
	IntentLate bool                 // the coder's intent came after its first commit

	Uncommitted  []string // uncommitted files of earlier work in a coder's worktree
	From, To     string   // the two sides of a submission's change
	Diff         string   // git's diff between them
	DiffStat     string
	Attempts     []Attempt           // at the same work, of which a reviewer picks one
	SpecText     string              // the whole spec file of the task, or of the goal for a planner
	RepoTree     string              // see Tree
	Relevant     []File              // see RelevantFiles
	Changed      map[string][]string // for other tasks in work: the files changed so far
	Instructions string              // context.custom_instructions and .liza/instructions.md
	Red          []Red               // checks that fail on the base of the work
	FailedMerge  string              // the last lines of the check that stopped a merge
	Skills       string              // one-liners and argument schemas
	Shorten      *Shorten

	Interactive bool     // a person works with the program in a terminal: verbs only, no exit command
	AnswerTool  string   // the tool of the program that takes the exit command; "": it is printed
	Told        []string // the prompts that the conversation of this run has had

	PriorAttempts int // most earlier runs in the prompt; 0: 5, negative: none
	Messages      int // most messages in the prompt; 0: 10, negative: none
	MaxChars      int // bytes of the whole prompt; 0: MaxChars
	Reask         *Reask

	rendered string // the role's text
}

// An Attempt is one of several at the same work, with what it changes.
type Attempt struct{ Commit, Stat, Diff string }

// Red is a check that fails without any change of an agent, with its last lines.
type Red struct{ Check, Command, Tail string }

// Shorten is the input of a summarizer: entries for the summary, or facts (specs/roles-and-knowledge.md#6.3,
// specs/roles-and-knowledge.md#6.4).
type Shorten struct {
	Facts bool
	Text  string
}

// Reask requests another answer in place of an unusable one (specs/roles-and-knowledge.md#4.6).
type Reask struct {
	Broken       string // the answer; its last 4,000 bytes are shown
	Errors       string // why it could not be used, or the guard that refused it
	Attempt, Max int    // this is re-ask Attempt of Max
	Resumed      bool   // the program still knows the prompt: the run block is enough
}

// Prompt is the text for the program.
type Prompt struct {
	Text     string
	Cuts     []string  // one sentence for each cut
	Over     bool      // larger than allowed, because the rest may not be cut
	Sections []Section // its parts
	Files    []string  // files that it names, relative to the worktree
}

// Section is one part of a prompt, for people.
type Section struct {
	Name  string `json:"name"`
	From  string `json:"from"`  // origin of the text
	Bytes int    `json:"bytes"` // bytes as sent, with heading and fence
	Cut   int    `json:"cut"`   // bytes that were cut
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
	piece   Piece  // piece in the context matrix; "": every kind gets it
	field   string // field of templates; a template that uses it replaces the section
	from    string // origin of the text, for people
	heading string
	limit   int  // most bytes of its text; 0: none
	fenced  bool // the text comes from people or programs outside of Liza

	lead func(*Input) string // Liza's introduction of the text, before the fence; may be nil
	text func(*Input) string // may be nil if there is a lead
	hint func(*Input) string // path or command that shows the cut part
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
		return planningOf(in).again()
	}
	return false
}

// File is a file that is probably relevant for a task.
type File struct{ Path, Why string }

// resumed reports whether the program still knows the prompt of this unit of work.
func (in *Input) resumed() bool { return in.Reask != nil && in.Reask.Resumed }

// active are the facts in force, in the order of the board, which is that of their ids.
func (in *Input) active() []*blackboard.Fact { return in.State.ActiveFacts() }

// request is the request object in the form of the Logist protocol.
type request struct {
	Request struct {
		Action    string `json:"action"`
		JobID     string `json:"job_id"`
		Role      string `json:"role"`
		Iteration int    `json:"iteration"`
		Options   struct {
			Model string `json:"model"`
		} `json:"options"`
	} `json:"request"`
}

// requestObject is one line of JSON.
func (in *Input) requestObject() string {
	var r request
	r.Request.Action = "run"
	r.Request.JobID = "_planner"
	if in.Task != nil {
		r.Request.JobID = in.Task.ID
	}
	r.Request.Role = string(in.Kind)
	r.Request.Iteration = in.iteration()
	r.Request.Options.Model = cmp.Or(in.Model, "default")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic("prompt: " + err.Error()) // strings and a number always encode
	}
	return b.String()
}

func (in *Input) iteration() int {
	switch {
	case in.Iteration > 0:
		return in.Iteration
	case in.Task != nil && in.Task.Iteration > 0:
		return in.Task.Iteration
	}
	return 1
}

// run is the run block: who the agent is, where it works, and on which commits.
func (in *Input) run() string {
	var l lines
	switch in.Kind {
	case Planner:
		l.add("You are %s. Your folder is the project root %s; you may read all of it.", in.Agent, in.Root)
		l.add("Approved work is merged into the branch `%s`.", in.State.IntegrationBranch())
		in.redLines(&l)
	case Coder:
		in.coderRun(&l)
	case Reviewer:
		in.reviewerRun(&l)
	}
	if !in.Interactive {
		l.add("%s", in.requestObject())
	}
	return l.String()
}

func (in *Input) coderRun(l *lines) {
	t := in.Task
	l.add("You are %s. Your task is %s: write %s where the commands above say task-3.", in.Agent, t.ID, t.ID)
	l.add("Your folder is the worktree %s, on branch `task/%s`; the project root is %s.", in.Worktree, t.ID, in.Root)
	l.add("Base commit: %s. This is iteration %d%s.", cmp.Or(t.BaseCommit, "unknown"), in.iteration(), in.ofIterations())
	if in.iteration() > 1 || t.ClaimSeq > 1 || t.HandoffPending {
		l.add("Earlier work may be in the worktree: look at `git log %.12s..HEAD` and `git status` first, and build on it.", cmp.Or(t.BaseCommit, "HEAD~5"))
		l.named("Not committed there", oneLine(strings.Join(in.Uncommitted, ", "), 500))
	}
	in.redLines(l)
	if t.IntegrationFix {
		in.integrationFix(l)
	}
}

func (in *Input) ofIterations() string {
	limit := in.Task.MaxIterations
	if limit == 0 {
		limit = in.State.Int("max_coder_iterations")
	}
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(" of at most %d", limit)
}

// integrationFix writes why approved work could not be merged, and the next steps.
func (in *Input) integrationFix(l *lines) {
	t := in.Task
	branch := in.State.IntegrationBranch()
	l.add("This is an integration fix: the work was approved, but could not be merged into `%s`.", branch)
	if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil {
		l.named("Reason", oneLine(h.Reason, 500))
		l.named("Files in conflict", oneLine(strings.Join(h.Files, ", "), 1000))
		if h.Log != "" {
			l.add("Log: %s%s", filepath.Join(in.Root, h.Log), output(in.FailedMerge))
		}
	}
	l.add("Merge the head of `%s`%s into your branch (`git merge %s`), resolve it so that both sides keep what they were made for, run the tests, commit, and submit.",
		branch, after(" ", short(t.FixOnto)), cmp.Or(t.FixOnto, branch))
}

func short(commit string) string { return fmt.Sprintf("%.12s", commit) }

func (in *Input) reviewerRun(l *lines) {
	t := in.Task
	l.add("You are %s. You review %s by %s: write %s where the commands above say task-3.", in.Agent, t.ID, cmp.Or(t.AssignedTo, "a coder"), t.ID)
	if t.KindOf() == blackboard.MessageTask {
		l.add("Your folder is the project root %s, to read. There is no commit: the text below is what you judge.", in.Root)
		return
	}
	if in.Worktree != "" {
		l.add("Your folder is the worktree %s, to read; the project root is %s.", in.Worktree, in.Root)
	}
	if len(in.Attempts) > 0 {
		l.add("The worktree is that of one of the attempts; the commits of all are in the repository.")
		return
	}
	l.add("Review commit: %s. Base commit: %s. The change: `%s`.", cmp.Or(t.ReviewCommit, "unknown"), cmp.Or(t.BaseCommit, "unknown"), in.diffCommand())
	if t.IntegrationFix && t.ApprovedCommit != "" {
		l.add("This is an integration fix: commit %s was approved before, so judge what came after it and that both sides of the merge still hold.", short(t.ApprovedCommit))
	}
	in.redLines(l)
}

// redLines lists the checks that fail without any change.
func (in *Input) redLines(l *lines) {
	for _, r := range in.Red {
		l.add("The check %s (`%s`) fails on the base already, without any change. That does not count against a change, and verifies nothing of it; what a change breaks besides is its own fault.%s", r.Check, r.Command, output(r.Tail))
	}
}
