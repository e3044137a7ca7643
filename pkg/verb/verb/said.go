package verb

import (
	"context"
	"encoding/json"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
)

// say records what a verb of a run says, if the rules allow it now: the end of the run carries it out (outcome.Apply). It reports
// false where the caller is not a run. change is tried on a copy of the board.
func (v *Service) say(ctx context.Context, name, word string, input any, change func(*blackboard.State, transition.Actor) error) (said bool, err error) {
	s, err := v.Board.View(ctx)
	if err != nil {
		return false, err
	}
	id, err := v.Board.Identify()
	if err != nil || !transition.FromRun(s, id.Actor(s)) {
		return false, err
	}
	text, err := json.Marshal(input)
	if err != nil {
		return true, fmt.Errorf("cannot record %s: %v", name, err)
	}
	return true, v.Board.Update(ctx, "say", func(s *blackboard.State, a transition.Actor) error {
		if err := change(s.Clone(), transition.Supervised(s, a)); err != nil {
			return err
		}
		return transition.Say(s, a, blackboard.Said{Verb: name, Word: word, Input: string(text)}, v.Board.Now())
	})
}

// recorded is the answer to a verb whose word waits for the end of its run.
func (v *Service) recorded(ctx context.Context, done board.Done, err error) (board.Done, error) {
	if done, err = v.Board.Already(ctx, done, err); err != nil || done.Already {
		return done, err
	}
	done.Said = true
	s, err := v.Board.View(ctx)
	if t := s.Task(done.Task); err == nil && t != nil {
		done.Status = t.Status
	}
	return done, err
}
