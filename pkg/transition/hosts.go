package transition

import (
	"time"

	"liza/pkg/blackboard"
)

// A Contact is what a host says about itself.
type Contact struct {
	blackboard.Host
	Name string
}

// Contact notes a host. It is refused while another clone is known by the same name: what belongs to a host goes by that.
func NoteContact(s *blackboard.State, c Contact, now time.Time) error {
	if c.Name == "" {
		return nil
	}
	old := s.Hosts[c.Name]
	if old != nil && old.ID != c.ID {
		return refuse("", ExitRefused, "LIZA_HOST=NAME liza run", "another clone of this board is known as host %s; give this one another name", c.Name)
	}
	c.Seen = blackboard.TimeOf(now)
	if s.Hosts == nil {
		s.Hosts = map[string]*blackboard.Host{}
	}
	s.Hosts[c.Name] = &c.Host
	return nil
}

// TakeTurn gives a host the next turn; held is the one of another host that is not over. A host's own former turn is over,
// because its merges are one after the other by a lock of that host.
func TakeTurn(s *blackboard.State, host, by string, length time.Duration, now time.Time) (term int, held *blackboard.MergeTurn) {
	if s.Integration == nil {
		s.Integration = &blackboard.Integration{}
	}
	next := blackboard.MergeTurn{Term: 1, Host: host, By: by, Until: blackboard.TimeOf(now.Add(length))}
	if old := s.Integration.Turn; old != nil {
		until, known := old.Until.At()
		if old.Host != "" && old.Host != host && (!known || now.Before(until)) {
			return 0, old
		}
		next.Term = old.Term + 1
	}
	s.Integration.Turn = &next
	return next.Term, nil
}

// KeepTurn extends a turn; false: it is over.
func KeepTurn(s *blackboard.State, term int, length time.Duration, now time.Time) bool {
	if !s.HasTurn(term) {
		return false
	}
	turn := *s.Integration.Turn
	turn.Until = blackboard.TimeOf(now.Add(length))
	s.Integration.Turn = &turn
	return true
}

// EndTurn lets the next one merge.
func EndTurn(s *blackboard.State, term int, now time.Time) {
	if s.HasTurn(term) {
		s.Integration.Turn = &blackboard.MergeTurn{Term: term, Until: blackboard.TimeOf(now)}
	}
}
