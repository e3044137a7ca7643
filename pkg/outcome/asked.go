package outcome

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/sprint"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Asked ends a unit of work that a person has to help on, because its program waited for somebody to answer, or its model refused; how says
// which. The coder's task is
// blocked with the question, the reviewer's review is given back, and a planner's question
// stops the sprint at a checkpoint, as STUCK does. What the program had done by its verbs stays.
func Asked(ctx context.Context, d *verb.Service, r Run, how string, q verb.Prompted) (Outcome, error) {
	reason := how + ": " + q.Text
	out := Outcome{Effect: Applied, Action: exitcmd.Stuck, Note: "asks: " + q.Text}
	switch r.Kind {
	case "planner":
		err := d.Update(ctx, "asked", func(s *blackboard.State, a transition.Actor) error {
			transition.Ask(s, &blackboard.Question{Agent: a.ID, Kind: "prompted", Type: q.Type, Text: q.Text, Options: q.Options, Status: blackboard.QuestionOpen, Asked: blackboard.TimeOf(d.Now())})
			return nil
		})
		if err == nil {
			_, err = sprint.SystemCheckpoint(ctx, d, "planner stuck: "+reason)
		}
		return out, err
	case "code_reviewer":
		done, err := d.Verdict(ctx, verb.VerdictInput{Task: r.Task, Verdict: verb.StuckReview, Reason: reason})
		out.Status = done.Status
		return out, err
	}
	done, err := d.Block(ctx, verb.BlockInput{Task: r.Task, Reason: reason, Questions: []string{q.Text}, Prompted: &q})
	out.Status = done.Status
	return out, err
}
