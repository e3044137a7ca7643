package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// Asked ends a unit of work that a person has to help on, because its program waited for somebody to answer, or its model refused; how says
// which. The coder's task is
// blocked with the question, the reviewer's review is given back, and a planner's question
// stops the sprint at a checkpoint, as STUCK does. What the program had done by its verbs stays.
func Asked(ctx context.Context, d *verb.Service, r Run, how string, q verb.Prompted) (Report, error) {
	reason := how + ": " + q.Text
	out := Report{Effect: Applied, Action: exitcmd.Stuck, Note: "asks: " + q.Text}
	switch r.Kind {
	case "planner":
		err := d.Board.Update(ctx, "asked", func(s *blackboard.State, a transition.Actor) error {
			transition.Ask(s, &blackboard.Question{Agent: a.ID, Kind: blackboard.QuestionPrompted, Type: q.Type, Text: q.Text, Options: q.Options, Status: blackboard.QuestionOpen, Asked: blackboard.TimeOf(d.Board.Now())})
			return nil
		})
		if err == nil {
			_, err = sprint.CheckpointUntilAnswered(ctx, d, blackboard.CausePlanner, stuckWords+reason)
		}
		return out, err
	case "code_reviewer":
		done, err := d.Reviews.Verdict(ctx, verb.VerdictInput{Task: r.Task, Verdict: verb.StuckReview, Reason: reason})
		out.Status = done.Status
		return out, err
	}
	done, err := d.Block(ctx, verb.BlockInput{Task: r.Task, Reason: reason, Questions: []string{q.Text}, Prompted: &q})
	out.Status = done.Status
	return out, err
}

// StopReplan ends a chain of plans: people have to look (specs/roles-and-knowledge.md#5.9).
func StopReplan(ctx context.Context, d *verb.Service, due transition.Trigger, why string) error {
	err := d.Board.Update(ctx, "replan stopped", func(s *blackboard.State, _ transition.Actor) error {
		var p *blackboard.Plan
		for _, id := range due.IDs {
			if t := s.Task(id); t != nil && p == nil {
				p = transition.Plan(s, t.Plan)
			}
		}
		transition.StopReplanning(s, p, why, due, d.Board.Now())
		return nil
	})
	if err != nil {
		return err
	}
	return checkpointAnyway(ctx, d, "", "replan stopped: "+why)
}

// checkpointAnyway is a checkpoint for people; a sprint that has one, or is over, keeps it.
func checkpointAnyway(ctx context.Context, d *verb.Service, cause, message string) error {
	var refusal *transition.Refusal
	if _, err := sprint.CheckpointUntilAnswered(ctx, d, cause, message); err != nil && (!errors.As(err, &refusal) || refusal.Exit != transition.ExitRefused) {
		return err
	}
	return nil
}

// verdictOf turns the payload of a reviewer into a verdict.
func verdictOf(r *exitcmd.ReviewExit, task string) verb.VerdictInput {
	in := verb.VerdictInput{Task: task, Reason: r.Reason, Findings: r.Findings, Prior: r.Prior, Suggestions: r.Suggestions, Supervisor: true,
		Verdict: map[string]verb.Verdict{exitcmd.ReviewOK: verb.Approve, exitcmd.ReviewNeedsFix: verb.Reject, exitcmd.ReviewReplan: verb.Replan, exitcmd.ReviewStuck: verb.StuckReview}[r.Status]}
	for _, x := range r.Inject {
		in.Inject = append(in.Inject, x.Fix())
	}
	switch l := r.Learn.(type) {
	case string:
		in.Learn = []string{l}
	case []any:
		for _, x := range l {
			if s, ok := x.(string); ok {
				in.Learn = append(in.Learn, s)
			}
		}
	}
	return in
}

// Unanswered ends a unit of work whose agent gave no answer that can be used, however often
// it was asked (specs/roles-and-knowledge.md#3.6, specs/roles-and-knowledge.md#4.6): a coder's task is BLOCKED, a review is stuck,
// and planning stops for people to look. answers is how many there were.
func Unanswered(ctx context.Context, d *verb.Service, r Run, problem string, answers int) (Report, error) {
	out := Report{Effect: Applied, Problem: problem, Note: "stuck: no usable answer"}
	reason := "invalid exit command: " + problem
	switch r.Kind {
	case "planner":
		out.Note = PlanningFailed(answers, problem)
		return out, planningFailed(ctx, d, problem, answers)
	case "code_reviewer":
		done, err := d.Reviews.Verdict(ctx, verb.VerdictInput{Task: r.Task, Verdict: verb.StuckReview, Reason: reason})
		out.Status = done.Status
		return out, err
	}
	return blockedForPerson(ctx, d, r.Task, reason, "What is needed to continue?", out)
}

// NothingNew blocks a task whose coder says again that work is done which has failed: the same commit fails in the same way, so a
// person is asked, and no program is started.
func NothingNew(ctx context.Context, d *verb.Service, r Run, problem string) (Report, error) {
	out := Report{Effect: Applied, Problem: problem, Note: "blocked: nothing new"}
	return blockedForPerson(ctx, d, r.Task, problem, "The coder changes nothing more. What has to change: the task, the check, or the branch without the work?", out)
}

// blockedForPerson blocks a task with a question of Liza's own, which goes to people and not to the planner.
func blockedForPerson(ctx context.Context, d *verb.Service, task, reason, question string, out Report) (Report, error) {
	done, err := d.Block(ctx, verb.BlockInput{Task: task, Reason: reason, Questions: []string{question}, ForPerson: true})
	out.Status = done.Status
	return out, err
}

// PlanningFailed is what people are told when no answer of the planner could be used: it could not be read, or its plan was refused.
func PlanningFailed(answers int, problem string) string {
	if strings.HasPrefix(problem, exitcmd.NotApplied) {
		return fmt.Sprintf("Planning failed: the plan was refused after %s. %s", prose.Count(answers, "attempt"), problem)
	}
	return fmt.Sprintf("Planning failed: could not parse planner response after %d attempts. %s", answers, problem)
}

func planningFailed(ctx context.Context, d *verb.Service, problem string, answers int) error {
	err := d.Board.Update(ctx, "planning failed", func(s *blackboard.State, a transition.Actor) error {
		now := d.Board.Now()
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
	return checkpointAnyway(ctx, d, blackboard.CausePlanner, "no answer of the planner could be used: "+problem)
}
