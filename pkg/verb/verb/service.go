package verb

import (
	"liza/pkg/board/blackboard"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/integration"
)

// A Service has every verb, for one caller. It may be used by several goroutines.
type Service struct {
	*board.Session
	*integration.Branch
	*checks.Checks
}

// New returns the verbs for the caller of a session.
func New(s *board.Session) *Service {
	b := integration.New(s)
	return &Service{Session: s, Branch: b, Checks: checks.New(s, b)}
}

// With returns the verbs for a copy of the session that change has altered.
func (d *Service) With(change func(*board.Session)) *Service {
	s := *d.Session
	change(&s)
	return New(&s)
}

func lastCommit(t *blackboard.Task) string {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if t.Attempts[i].Commit != "" {
			return t.Attempts[i].Commit
		}
	}
	return ""
}

// mayTake is May for tasks of that state.
func (d *Service) mayTake(s *blackboard.State) func(*blackboard.Task) string {
	if d.May == nil {
		return nil
	}
	return func(t *blackboard.Task) string { return d.May(s, t) }
}

// Drafting returns a copy of d that collects what is given to Later. The copy is for one goroutine.
func (d *Service) Drafting() *Service { return New(d.Session.Drafting()) }

// field names a text of an input, for Clean.
func field(name string, value *string) board.Text { return board.Text{Name: name, Value: value} }
