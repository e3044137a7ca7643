package postgres

import "time"

// tell notes what the database said on a question of then.
func (s *Store) tell(asked, at time.Time) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	trip := now.Sub(asked)
	// An answer that was long under way says less than a good one of a moment ago.
	if c := s.clock; c.there.IsZero() || trip <= 2*c.trip || now.Sub(c.here) > time.Minute {
		s.clock = clock{here: now, there: at.Add(trip / 2), trip: trip}
	}
}

// Now is the database's time, or this host's before it said anything.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock.there.IsZero() {
		return time.Now()
	}
	return s.clock.there.Add(time.Since(s.clock.here)).UTC()
}

// ClockOffset is how far this host's clock is ahead of the database's.
func (s *Store) ClockOffset() time.Duration {
	return time.Now().Round(0).Sub(s.Now()) // without the monotonic reading: what people see on a clock
}
