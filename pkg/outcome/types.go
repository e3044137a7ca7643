package outcome

import (
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Run is one run of an agent program that has ended, as the supervisor saw it. Apply
// turns it into a transition; nothing else does (specs/roles-and-knowledge.md#0.1, one path).
type Run struct {
	Kind    string    // planner, coder, code_reviewer
	Task    string    // "" for a planner
	Before  verb.Mark // the board when the run began
	Answer  exitcmd.Answer
	Answers int    // how many answers of its unit of work there were, this one included
	Changed string // what a reviewer changed in the worktree that it judges, "" for nothing; it was put back
}

// Effect says what came of a run.
type Effect string

// What can come of a run: its exit command was applied; its verbs had done it; the agent
// has to be asked again; somebody else took the work away; a new run goes on with it.
const (
	Applied  Effect = "applied"
	ByVerbs  Effect = "verbs"
	Reask    Effect = "reask"
	Dropped  Effect = "dropped"
	Continue Effect = "continue"
)

// Outcome is the result of Apply.
type Outcome struct {
	Effect  Effect
	Action  string // of the exit command; "" without one
	Summary string
	Status  blackboard.Status // of the task afterwards
	Problem string            // for a re-ask: what is wrong with the answer
	Plan    string            // id of the plan that was applied
	Changed bool              // a planner's run changed the board
	Note    string            // one line for the terminal
	Again   bool              // the plan is one that was tried before

	Warnings []string // of the plan that was applied
}

// since finds what happened to the task during the run: the last status-setting entry by
// this agent, and whether somebody else changed it.
func since(t *blackboard.Task, m verb.Mark) (mine blackboard.HistoryEvent, handoff, others bool) {
	for _, h := range t.History[min(m.History, len(t.History)):] {
		switch {
		case h.Agent != m.Agent && h.Event != blackboard.HistoryCheckpoint:
			others = true
		case h.Event == blackboard.HistoryHandoff:
			handoff = true
		case h.Event != blackboard.HistoryCheckpoint:
			mine = h.Event
		}
	}
	return mine, handoff, others
}

// reask asks the agent again, because of what is wrong with its answer.
func (out Outcome) reask(problem string) Outcome {
	out.Effect, out.Problem = Reask, problem
	return out
}

// OrReask asks the agent again when a verb refused what its exit command asked for and the agent can do something about it.
func (out Outcome) OrReask(err error) (Outcome, error) {
	if r := forAgent(err); r != nil {
		return out.reask(r.Advice()), nil
	}
	return out, err
}

// forAgent is the refusal that the agent can do something about, nil for another error.
func forAgent(err error) *transition.Refusal {
	var r *transition.Refusal
	if errors.As(err, &r) && r.Exit != transition.ExitLeaseLost && r.Exit != transition.ExitFailure {
		return r
	}
	return nil
}

func isLost(err error) bool {
	var r *transition.Refusal
	return errors.As(err, &r) && r.Exit == transition.ExitLeaseLost
}
