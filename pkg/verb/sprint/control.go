package sprint

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Sprint is the result of a control verb.
type Sprint struct {
	Sprint string `json:"sprint"`
	File   string `json:"file,omitempty"`
	Idle   bool   `json:"idle,omitempty"` // no agent is registered that could go on

	Acknowledged string `json:"acknowledged,omitempty"` // the newest anomaly, when that ended what tripped the circuit breaker
}

// Pause lets nothing new start; what runs goes on.
func Pause(ctx context.Context, d *verb.Service, reason string) (Sprint, error) {
	if err := d.Board.Clean(board.Text{Name: "--reason", Value: &reason}); err != nil {
		return Sprint{}, err
	}
	return control(ctx, d, "pause", func(s *blackboard.State, a transition.Actor) error {
		if d.Board.Shared() {
			return transition.PauseSprint(s, reason, a, d.Board.Now())
		}
		if _, set := d.Board.Project.Controls().Order(project.Pause); set {
			return &transition.Refusal{Guard: "G07", Exit: transition.ExitRefused, Next: "liza resume", Message: "already " + d.Board.Control()}
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Board.Now()), Agent: a.ID, Action: blackboard.ActionPaused, Detail: reason})
		return nil
	}, func() error { return d.Board.SetControl(project.Pause, reason) })
}

// Abort stops everything that runs; with goal, the goal is given up too.
func Abort(ctx context.Context, d *verb.Service, reason string, goal bool) (Sprint, error) {
	if err := d.Board.Clean(board.Text{Name: "--reason", Value: &reason}); err != nil {
		return Sprint{}, err
	}
	return control(ctx, d, "abort", func(s *blackboard.State, a transition.Actor) error {
		if goal {
			return transition.AbortGoal(s, reason, a, d.Board.Now())
		}
		return transition.AbortSprint(s, reason, a, d.Board.Now())
	}, func() error { return d.Board.SetControl(project.Abort, reason) })
}

// Resume ends a pause, a checkpoint or an abort, and acknowledges what tripped the circuit breaker (specs/protocol.md#5.4, C04).
func Resume(ctx context.Context, d *verb.Service, decision, note string) (Sprint, error) {
	if err := d.Board.Clean(board.Text{Name: "--note", Value: &note}); err != nil {
		return Sprint{}, err
	}
	acknowledged := ""
	out, err := control(ctx, d, "resume", func(s *blackboard.State, a transition.Actor) error {
		acknowledged = ""
		if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
			if err := transition.AcknowledgeBreaker(s, note, a, d.Board.Now()); err != nil {
				return err
			}
			acknowledged = s.CircuitBreaker.Watermark
		} else if len(d.Board.Orders(s)) == 0 && s.Sprint != nil && s.Sprint.Status != blackboard.AtCheckpoint && s.Sprint.Status != blackboard.Aborted {
			return &transition.Refusal{Guard: "G06", Exit: transition.ExitNothing, Next: "liza status", Message: "nothing is paused, at a checkpoint or aborted"}
		}
		return transition.ResumeSprint(s, decision, note, a, d.Board.Now())
	}, func() error {
		if decision == "STOP" {
			return d.Board.SetControl(project.Abort, "STOP "+note)
		}
		for _, c := range []project.Control{project.Pause, project.Checkpoint, project.Abort} {
			if err := d.Board.Project.Controls().Clear(c); err != nil {
				return err
			}
		}
		return nil
	})
	out.Acknowledged = acknowledged
	return out, err
}

// control changes the file when the change of the state is certain, and before that is
// written: a verb that is refused leaves no file, and nobody who follows the files
// (FollowControl) finds the two apart.
func control(ctx context.Context, d *verb.Service, op string, change func(*blackboard.State, transition.Actor) error, file func() error) (Sprint, error) {
	var out Sprint
	err := d.Board.UpdateAhead(ctx, op, func([]store.Gone) error { return file() }, func(s *blackboard.State, a transition.Actor) error {
		if err := d.Board.OnlyPerson(s, a, op); err != nil {
			return err
		}
		if err := change(s, a); err != nil {
			return err
		}
		if s.Sprint != nil {
			out.Sprint = s.Sprint.Status
		}
		out.Idle = len(s.Agents) == 0
		return nil
	})
	return out, err
}

// Verbs are the verbs of a service and those of its sprint as methods, for who takes them as one.
type Verbs struct {
	*verb.Service
	verb.Agents
	verb.Reviews
	verb.Merges
}

// VerbsOf returns the verbs of a service and those of its sprint.
func VerbsOf(v *verb.Service) Verbs { return Verbs{v, v.Agents, v.Reviews, v.Merges} }

func (v Verbs) Pause(ctx context.Context, reason string) (Sprint, error) {
	return Pause(ctx, v.Service, reason)
}

func (v Verbs) Resume(ctx context.Context, decision, note string) (Sprint, error) {
	return Resume(ctx, v.Service, decision, note)
}

func (v Verbs) Abort(ctx context.Context, reason string, goal bool) (Sprint, error) {
	return Abort(ctx, v.Service, reason, goal)
}
