package supervisor

import (
	"context"
	"fmt"
	"time"

	"liza/pkg/blackboard"
)

// panicked gives back what the member worked on, and counts as a crash: too many of them end the member.
func (s *Supervisor) panicked(ctx context.Context, failed *panicError) (waiting, error) {
	s.warn("", "%v", failed)
	s.panics = append(s.panics, s.Service.Now())
	if err := s.contained(func() error { return s.giveBack(ctx, failed) }); boardWaits(err) {
		return s.cutOff(err), nil // it is released when the board is back
	} else if err != nil {
		return waiting{}, fmt.Errorf("%w: %w", ErrGaveUp, err)
	}
	limit, window := 3, 5*time.Minute
	if st, err := s.Service.View(ctx); err == nil {
		limit, window = st.Int("crash_limit"), st.Duration("crash_window")
	}
	if tooMany(s.panics, limit, window, s.Service.Now()) {
		return waiting{}, &GaveUp{Why: "too many crashes: " + failed.Error(), Next: "liza run"}
	}
	return waiting{why: failed.Error(), until: s.Service.Now().Add(crashWaits.after(len(s.panics)))}, nil
}

// giveBack counts the crash for the task that a coder was at, and releases what the member holds.
func (s *Supervisor) giveBack(ctx context.Context, failed *panicError) error {
	st, err := s.Service.View(ctx)
	if err != nil {
		return err
	}
	for t := range st.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == s.ID {
			if _, err := s.Service.RunFailed(ctx, t.ID, "crashed", failed.Error()); err != nil {
				return err
			}
		}
	}
	return s.releaseAll(ctx, failed.Error())
}
