package plan

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/skill"
)

// Rules is what a plan has to keep to, besides the board.
type Rules struct {
	Config   *config.Config
	Input    transition.Input
	Human    bool              // a person gives it
	Caller   blackboard.Caller // whose request it is
	Scripted bool              // it comes from the scripted planner (specs/roles-and-knowledge.md#3.3, specs/roles-and-knowledge.md#4)

	Skills      func() skill.Library
	MayRun      func(task, command string) error
	RoleProblem func(*blackboard.Task) string // "" for none
	Clean       func(*blackboard.Task) error  // removes control characters
}

// Saved is what became of the work of a task that a plan drops.
type Saved struct{ Attic, Problem string }

// planBuild turns a plan into tasks and collects every problem on the way.
type planBuild struct {
	*Rules
	state    *blackboard.State
	plan     *exitcmd.Plan
	lib      *skill.Library
	record   *blackboard.Plan
	problems []string
	warnings []string
	circular bool // it was tried before
	numbered int  // the N of the last task-N that was given out
}

// bad adds a problem. Of a key that has a problem of form nothing else is told: its value was
// not read.
func (b *planBuild) bad(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key, _, ok := strings.Cut(text, ": "); ok && b.plan.Unread(key) {
		return
	}
	b.problems = append(b.problems, text)
}

// skills are read once, when a task names one.
func (b *planBuild) library() skill.Library {
	if b.lib == nil {
		l := b.Skills()
		b.lib = &l
	}
	return *b.lib
}

// atMost checks the length of a text of a plan, which counts in bytes.
func (b *planBuild) atMost(key, text, limit string) {
	if most := exitcmd.LimitOf(limit).Most; len(text) > most {
		b.bad("%s: has %d bytes; %d is the limit", key, len(text), most)
	}
}

// freeID is task-N above every number in use, and above those that it gave before.
func (b *planBuild) freeID() string {
	highest := b.numbered
	note := func(id string) {
		var n int
		if _, err := fmt.Sscanf(id, "task-%d", &n); err == nil {
			highest = max(highest, n)
		}
	}
	for t := range b.state.Tasks() {
		note(t.ID)
	}
	for _, id := range b.state.ArchivedIDs() {
		note(id)
	}
	for _, t := range b.plan.Tasks {
		note(t.ID)
	}
	b.numbered = highest + 1
	return fmt.Sprintf("task-%d", b.numbered)
}

// FreeID is task-N above every number on the board.
func FreeID(s *blackboard.State) string {
	return (&planBuild{state: s, plan: &exitcmd.Plan{}}).freeID()
}

// TaskLimits are the limits that a task may have for itself (specs/roles-and-knowledge.md#8.1).
var TaskLimits = []string{"max_iterations", "max_review_cycles", "max_agent_runs", "max_review_retries", "max_parse_retries",
	"max_handoffs", "task_crashes", "cost_cents", "time_minutes", "tokens"}

// FillKind gives tasks of other kinds than code what every reader of Liza v1 expects
// (specs/roles-and-knowledge.md#3.3). What is reviewed says itself how one sees that it is done, and
// what changes files says where.
func FillKind(s *blackboard.State, t *blackboard.Task) {
	if t.KindOf() == blackboard.CodeTask {
		return
	}
	if t.Description == "" && t.Skill != "" {
		t.Description = "skill " + t.Skill
	}
	if t.SpecRef == "" && s.Goal != nil {
		t.SpecRef = s.Goal.SpecRef
	}
	if t.Writes {
		t.ReviewRequired = true
	}
	if t.DoneWhen == "" && !t.ReviewRequired {
		t.DoneWhen = "exit code 0"
		if t.KindOf() == blackboard.MessageTask {
			t.DoneWhen = "message delivered"
		}
	}
	if t.Scope == "" && !t.Writes {
		t.Scope = "no code changes"
	}
	if t.KindOf() == blackboard.ExecTask && t.Command == "" {
		t.Command = t.Description
	}
}

// MayUse reports whether tasks of that kind may be done for the caller.
func MayUse(cfg *config.Config, c blackboard.Caller, kind blackboard.TaskKind) bool {
	return c.Role != "user" || slices.Contains(cfg.Policy.UserKinds, string(kind))
}

// Doubts are warnings that stop nothing: a vague phrase beside something concrete.
func Doubts(t *blackboard.Task) []string {
	if why := blackboard.DoubtDoneWhen(t.DoneWhen); why != "" && (t.ChangesFiles() || t.ReviewRequired) {
		return []string{t.ID + ": done_when: " + why}
	}
	return nil
}
