// Package exitcmd reads what an agent answers: the exit command that ends its output and the plan of a planner. It
// is pure: bytes become values, or a list of what is wrong with them; one table has the limits for both, and for the
// JSON Schema.
package exitcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// Exit is the exit command of an agent (specs/roles-and-knowledge.md#4.1).
type Exit struct {
	Action           string       `json:"action"`
	EvidenceFiles    []string     `json:"evidence_files"`
	Summary          string       `json:"summary_for_supervisor"`
	Plan             *Plan        `json:"plan,omitempty"`
	Review           *ReviewExit  `json:"review,omitempty"`
	BlockedQuestions []string     `json:"blocked_questions,omitempty"`
	Attempted        []string     `json:"attempted,omitempty"`
	NoTests          string       `json:"no_tests,omitempty"`
	Handoff          *HandoffExit `json:"handoff,omitempty"`
	Text             string       `json:"text,omitempty"`
	SummaryText      string       `json:"summary,omitempty"`
	Facts            any          `json:"facts,omitempty"`
}

// HandoffExit is the payload of a RETRY whose context is exhausted.
type HandoffExit struct {
	Summary       string   `json:"summary"`
	NextAction    string   `json:"next_action"`
	Approach      string   `json:"approach,omitempty"`
	Blockers      string   `json:"blockers,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	NextSteps     []string `json:"next_steps,omitempty"`
}

// ReviewExit is a reviewer's payload (specs/roles-and-knowledge.md#5.3).
type ReviewExit struct {
	Status      string                `json:"status"`
	Verdict     string                `json:"verdict,omitempty"` // PASS or FAIL, as Coven writes it
	Reason      string                `json:"reason,omitempty"`
	Inject      []PlanTask            `json:"inject,omitempty"`
	Learn       any                   `json:"learn,omitempty"`
	Findings    []*blackboard.Finding `json:"findings,omitempty"`
	Suggestions []string              `json:"suggestions,omitempty"`
	Prior       []*blackboard.Prior   `json:"prior,omitempty"`
}

// Approves reports whether the exit command is a reviewer's approval.
func (e *Exit) Approves() bool {
	return e.Action == Completed && e.Review != nil && e.Review.Status == ReviewOK
}

// Verdict is what a reviewer's exit command says of the work.
func (e *Exit) Verdict() string {
	switch {
	case e.Action == Stuck:
		return "stuck"
	case e.Action == Completed && e.Review != nil:
		return e.Review.Status
	}
	return e.Action
}

// FixProblem says what keeps the item from being a step of a rejection, "" for nothing
// (specs/roles-and-knowledge.md#5.3).
func (x PlanTask) FixProblem() string {
	f := x.Fix()
	typed := x.Kind != "" && x.Kind != x.Type && slices.Contains(blackboard.Kinds, x.Type)
	switch {
	case typed:
		return fmt.Sprintf("kind '%s' and type '%s' differ", x.Kind, x.Type)
	case !slices.Contains(blackboard.Kinds, string(f.Kind)):
		return fmt.Sprintf("kind '%s' must be %s", f.Kind, strings.Join(blackboard.Kinds, ", "))
	case f.Kind == blackboard.SkillTask && strings.TrimSpace(f.Skill) == "":
		return "skill is missing"
	case f.Kind != blackboard.SkillTask && strings.TrimSpace(f.Detail) == "":
		return "detail is missing"
	case x.Review != nil && *x.Review && strings.TrimSpace(f.Expect) == "":
		return "expect is missing; review: true needs it"
	}
	return ""
}

// Fix is the item as a step of a rejection. As in plans, the type may name the kind.
func (x PlanTask) Fix() *blackboard.Fix {
	kind := x.Kind
	if kind == "" && slices.Contains(blackboard.Kinds, x.Type) {
		kind = x.Type
	}
	f := &blackboard.Fix{Kind: cmp.Or(blackboard.TaskKind(kind), blackboard.CodeTask), Detail: cmp.Or(x.Detail, x.Description), Expect: cmp.Or(x.Expect, x.DoneWhen), Skill: x.Skill, Args: x.Args}
	if f.Kind == blackboard.ExecTask {
		f.Detail = cmp.Or(x.Command, f.Detail)
	}
	return f
}
