package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// control is why nothing new may start, "" when it may.
func control(s *blackboard.State, in Input) string {
	if in.Control == "" && in.Shared {
		if list := Orders(s); len(list) > 0 {
			return list[0].String()
		}
	}
	return in.Control
}

// PauseSprint records an order that keeps all hosts from starting anything new. It refuses a sprint that is paused already.
func PauseSprint(s *blackboard.State, reason string, a Actor, now time.Time) error {
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if s.Sprint.Paused != nil {
		return refuse("G07", ExitRefused, "liza resume", "already %s", Orders(s)[0])
	}
	s.Sprint.Paused = &blackboard.Pause{Since: blackboard.TimeOf(now), By: a.name(), Reason: oneLine(reason)}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionPaused, Detail: reason})
	return nil
}

// Order stops work: PAUSE, CHECKPOINT or ABORT.
type Order struct {
	Name, Reason string
	Since        blackboard.Time
}

// Orders returns the orders in the sprint of the board, the strongest first. They apply to a board that several hosts share;
// on a board in a file control files take their place.
func Orders(s *blackboard.State) (list []Order) {
	sp := s.Sprint
	if sp == nil {
		return nil
	}
	switch sp.Status {
	case blackboard.Aborted:
		list = append(list, Order{Name: "ABORT", Since: s.SprintTimes().Ended})
	case blackboard.AtCheckpoint:
		o := Order{Name: "CHECKPOINT", Since: s.SprintTimes().CheckpointAt}
		if n := len(sp.Checkpoints); n > 0 {
			o.Reason = oneLine(sp.Checkpoints[n-1].Message)
		}
		list = append(list, o)
	}
	if p := sp.Paused; p != nil {
		list = append(list, Order{Name: "PAUSE", Since: p.Since, Reason: oneLine(p.Reason)})
	}
	return list
}

// String returns why nothing new may start, worded as for a control file.
func (o Order) String() string {
	text := map[string]string{"ABORT": "aborted", "CHECKPOINT": "at a checkpoint", "PAUSE": "paused"}[o.Name] + " since " + string(o.Since)
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

func sprintStatus(s *blackboard.State) string {
	if s.Sprint == nil || s.Sprint.Status == "" {
		return blackboard.InProgress
	}
	return s.Sprint.Status
}

func goalOpen(s *blackboard.State) bool {
	return s.Goal != nil && (s.Goal.Status == blackboard.InProgress || s.Goal.Status == "")
}

func goalStatus(s *blackboard.State) string {
	if s.Goal == nil {
		return "missing"
	}
	return s.Goal.Status
}

// tripped reports whether the breaker waits for a person.
func tripped(b *blackboard.CircuitBreaker) bool {
	return b != nil && b.Status == blackboard.BreakerTripped
}
