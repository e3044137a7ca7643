package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// providerWait is what a running program says that it waits for. The program is heard on one
// goroutine, and the board is written on another: a slow disk must not hold up its output.
type providerWait struct {
	mu    sync.Mutex
	told  *blackboard.ProviderWait // nil: it goes on
	shown *blackboard.ProviderWait
	pause time.Duration
}

// worthTelling is the shortest wait that people are told of: most programs try again at once.
const worthTelling = 5 * time.Second

// hear reports whether the event begins or ends a wait.
func (w *providerWait) hear(e agent.Event, d *verb.Service) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case agent.EventError:
		if !e.Retry || e.RetryAfter < worthTelling {
			return false
		}
		reason := cmp.Or(e.Word, prose.FirstLine(e.Text), "it tries again")
		if e.Status > 0 {
			reason = fmt.Sprintf("%s (%d)", reason, e.Status)
		}
		w.told, w.pause = &blackboard.ProviderWait{Reason: d.Mask(reason), Until: blackboard.TimeOf(d.Now().Add(e.RetryAfter))}, e.RetryAfter
		return true
	case agent.EventText, agent.EventTool, agent.EventFinal:
		going := w.told != nil
		w.told = nil
		return going
	}
	return false
}

// showProvider writes what is new about a wait on the board: once when it begins, once when
// it is over. The end of a run clears it, too.
func (s *Supervisor) showProvider(ctx context.Context, w *providerWait, task string) {
	w.mu.Lock()
	told, pause, same := w.told, w.pause, w.told == w.shown
	w.mu.Unlock()
	if same {
		return
	}
	err := s.Service.Update(ctx, "provider wait", func(st *blackboard.State, a transition.Actor) error {
		return transition.WaitForProvider(st, a, told, s.Service.Now())
	})
	if err != nil {
		return // it is tried again at the next look; the run itself is not concerned
	}
	w.mu.Lock()
	w.shown = told
	w.mu.Unlock()
	if told != nil {
		s.say(task, "its program waits %s for the provider, until %s: %s", pause.Round(time.Second), told.Until, told.Reason)
	}
}
