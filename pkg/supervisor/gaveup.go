package supervisor

import (
	"context"
	"errors"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// tellGaveUp writes into the journal that this supervisor ends by itself, so that status and watch
// can name it when it is gone. What cannot be written must not hide why it ends.
func (s *Supervisor) tellGaveUp(err error) {
	if s.lease.lost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g, ok := errors.AsType[*GaveUp](err)
	if !ok {
		why, next, found := strings.Cut(strings.TrimPrefix(err.Error(), ErrGaveUp.Error()+": "), "; next: ")
		if !found {
			next = "liza status"
		}
		g = &GaveUp{Why: why, Next: next}
	}
	extra := map[string]any{"next": g.Next}
	for k, v := range g.Extra {
		extra[k] = v
	}
	failed := s.Service.Update(ctx, "give up", func(st *blackboard.State, a transition.Actor) error {
		st.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(s.Service.Now()), Agent: a.ID, Action: blackboard.ActionAgentGaveUp, Task: g.Task, Detail: g.Why, Extra: extra})
		return nil
	})
	if failed != nil {
		s.warn(g.Task, "cannot write why it ends: %v", failed)
	}
}
