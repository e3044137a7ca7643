package outcome

import (
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Unanswered ends a unit of work whose agent gave no answer that can be used, however often
// it was asked (specs/roles-and-knowledge.md#3.6, specs/roles-and-knowledge.md#4.6): a coder's task is BLOCKED, a review is stuck,
// and planning stops for people to look. answers is how many there were.
func Unanswered(ctx context.Context, d *verb.Service, r Run, problem string, answers int) (Outcome, error) {
	out := Outcome{Effect: Applied, Problem: problem, Note: "stuck: no usable answer"}
	reason := "invalid exit command: " + problem
	switch r.Kind {
	case "planner":
		out.Note = PlanningFailed(answers, problem)
		return out, planningFailed(ctx, d, problem, answers)
	case "code_reviewer":
		done, err := d.Verdict(ctx, verb.VerdictInput{Task: r.Task, Verdict: verb.StuckReview, Reason: reason})
		out.Status = done.Status
		return out, err
	}
	done, err := d.Block(ctx, verb.BlockInput{Task: r.Task, Reason: reason, Questions: []string{"What is needed to continue?"}, Synthetic: true})
	out.Status = done.Status
	return out, err
}

// PlanningFailed is what people are told when no answer of the planner could be used.
func PlanningFailed(answers int, problem string) string {
	return fmt.Sprintf("Planning failed: could not parse planner response after %d attempts. %s", answers, problem)
}

func planningFailed(ctx context.Context, d *verb.Service, problem string, answers int) error {
	err := d.Update(ctx, "planning failed", func(s *blackboard.State, a transition.Actor) error {
		now := d.Now()
		p := &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(s.Plans)+1), Goal: s.Goal.Description, By: a.ID, Status: "failed",
			Created: blackboard.TimeOf(now), ParseAttempts: answers, Failure: &blackboard.PlanFailure{Reason: problem}}
		s.Plans = append(s.Plans, p)
		for _, n := range transition.UnseenNotes(s) {
			n.Plan, n.Outcome = p.ID, "failed"
		}
		transition.AddAnomaly(s, "", blackboard.System, blackboard.AnomalyPlanningFailed, blackboard.Settings{"what": PlanningFailed(answers, problem)}, now)
		return nil
	})
	if err != nil {
		return err
	}
	return checkpointAnyway(ctx, d, "no answer of the planner could be used: "+problem)
}
