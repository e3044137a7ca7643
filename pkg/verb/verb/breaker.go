package verb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
)

// AnomalyInput is the report of an anomaly (specs/cli.md#3).
type AnomalyInput struct {
	Type    blackboard.AnomalyKind `json:"type" help:"what kind, such as retry_loop or spec_ambiguity; a type of your own begins with x-"`
	Task    string                 `json:"task" word:"ID" help:"task that it is about"`
	Details map[string]string      `json:"details,omitempty" option:"detail" help:"what happened, by name; each type needs its own"`
}

// Recorded is the result of an anomaly. Breaker is set when it tripped the circuit breaker,
// or when that waits for a person already.
type Recorded struct {
	ID      string                 `json:"id"`
	Type    blackboard.AnomalyKind `json:"type"`
	Task    string                 `json:"task"`
	Breaker string                 `json:"breaker,omitempty"`
	Notices []string               `json:"warnings,omitempty"`
}

// Anomaly records something that went differently than it should (specs/protocol.md#13.9). The
// circuit breaker looks at it before Anomaly returns.
func (v *Service) Anomaly(ctx context.Context, in AnomalyInput) (Recorded, error) {
	out := Recorded{Type: in.Type, Task: in.Task}
	details, err := v.details(in)
	if err != nil {
		return out, err
	}
	err = v.Board.Update(ctx, "anomaly", func(s *blackboard.State, a transition.Actor) error {
		x, err := transition.ReportAnomaly(s, in.Task, in.Type, maps.Clone(details), a, v.Board.Now())
		if err == nil {
			out.ID = x.ID
		}
		return err
	})
	if err != nil {
		return out, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return out, nil // it is recorded; what it caused can be seen later
	}
	if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
		out.Breaker = cb.Status
		if cb.CurrentTrigger != nil {
			out.Notices = append(out.Notices, fmt.Sprintf("the circuit breaker is TRIGGERED: %s; a person has to look at %s",
				strings.Join(cb.CurrentTrigger.Patterns, ", "), cb.CurrentTrigger.ReportFile))
		}
	}
	return out, nil
}

// detailKinds are the details that are not plain texts.
var detailKinds = map[string]func(string) (any, bool){
	"count": wholeNumber, "cycles": wholeNumber,
	"debt_created": yesOrNo,
	"failed_by":    names,
}

// details gives the details of a known type their kinds; those of an x- type stay texts.
func (v *Service) details(in AnomalyInput) (blackboard.Settings, error) {
	kind, _ := blackboard.AnomalyTypeOf(in.Type)
	out := blackboard.Settings{}
	for _, key := range slices.Sorted(maps.Keys(in.Details)) {
		value := in.Details[key]
		if err := v.Board.Clean(field("--detail "+key, &value)); err != nil {
			return nil, err
		}
		out[key] = value
		if read := detailKinds[key]; read != nil && slices.Contains(kind.Details, key) && strings.TrimSpace(value) != "" {
			x, ok := read(strings.TrimSpace(value))
			if !ok {
				what := map[bool]string{true: "true or false", false: "a whole number of 0 or more"}[key == "debt_created"]
				return nil, board.WrongUsage("liza help anomaly", "--detail %s=%s must be %s", key, value, what)
			}
			out[key] = x
		}
	}
	return out, nil
}

func wholeNumber(text string) (any, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func yesOrNo(text string) (any, bool) {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	return nil, false
}

func names(text string) (any, bool) {
	var list []string
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list, true
}
