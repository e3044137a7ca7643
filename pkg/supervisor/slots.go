package supervisor

import (
	"context"
	"sync"
	"time"
)

// Slots bounds how many agent programs run at a time. A nil one bounds nothing.
type Slots struct {
	Limit func() int // asked at each start: it may change while programs run

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when the next program ends
}

// take waits for a slot, and returns what gives it back; ok is false when ctx ended before.
func (s *Slots) take(ctx context.Context) (free func(), ok bool) {
	if s == nil {
		return func() {}, ctx.Err() == nil
	}
	for {
		s.mu.Lock()
		if s.used < max(1, s.Limit()) {
			s.used++
			s.mu.Unlock()
			return sync.OnceFunc(s.free), true
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		look := time.NewTimer(time.Second) // for a limit that was raised
		select {
		case <-freed:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
		if ctx.Err() != nil {
			return nil, false
		}
	}
}

// try takes a slot that is free now.
func (s *Slots) try() (free func(), ok bool) {
	if s == nil {
		return func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= max(1, s.Limit()) {
		return nil, false
	}
	s.used++
	return sync.OnceFunc(s.free), true
}

func (s *Slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
