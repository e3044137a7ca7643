package transition

import (
	"cmp"
	"time"

	"liza/pkg/board/blackboard"
)

// SeeTip records the present tip of the integration branch. The journal gets one entry for each tip that Liza did not make,
// and one when the branch is back. It reports whether anything changed.
func SeeTip(s *blackboard.State, tip string, now time.Time) bool {
	i := s.Integration
	if i == nil {
		return false
	}
	foreign := s.ForeignTip(tip)
	switch {
	case foreign && (i.Moved == nil || i.Moved.Tip != tip):
		i.Moved = &blackboard.Moved{Tip: tip, At: blackboard.TimeOf(now)}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionIntegrationMoved, Detail: blackboard.MovedText(s, tip),
			Extra: map[string]any{"tip": cmp.Or(tip, "none"), "known": i.Tip}})
		return true
	case !foreign && i.Moved != nil:
		i.Moved = nil
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionIntegrationBack, Detail: s.IntegrationBranch() + " is at " + blackboard.ShortCommit(tip) + " again"})
		return true
	}
	return false
}

// setTip records the tip that Liza left the branch at, and the operation that moved it there.
func setTip(s *blackboard.State, tip, by string, now time.Time) {
	if s.Integration == nil {
		s.Integration = &blackboard.Integration{}
	}
	s.Integration.Tip, s.Integration.By, s.Integration.At = tip, by, blackboard.TimeOf(now)
}

// AdoptTip sets the tip of a board that has none yet, and reports whether it did.
func AdoptTip(s *blackboard.State, tip string, now time.Time) bool {
	if s.Tip() != "" || tip == "" {
		return false
	}
	setTip(s, tip, "adopted", now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionIntegrationAdopted,
		Detail: "the board remembered no tip of " + s.IntegrationBranch() + "; it is taken as it is, at " + blackboard.ShortCommit(tip)})
	return true
}

// AcceptTip records a person's decision that tip is right.
func AcceptTip(s *blackboard.State, tip, reason, saved string, a Actor, now time.Time) {
	was := s.Tip()
	setTip(s, tip, "accept", now)
	s.Integration.Moved, s.Integration.Intent = nil, nil
	decidedTip(s, blackboard.ActionIntegrationAccepted, s.IntegrationBranch()+" stays at "+blackboard.ShortCommit(tip)+", where "+orNobody(was)+" was known", reason, saved, a, now)
}

// RestoreTip records that the branch was set back from from to the tip that Liza left it at.
func RestoreTip(s *blackboard.State, from, reason, saved string, a Actor, now time.Time) {
	setTip(s, s.Tip(), "restore", now)
	s.Integration.Moved = nil
	decidedTip(s, blackboard.ActionIntegrationRestored, s.IntegrationBranch()+" is back at "+blackboard.ShortCommit(s.Tip())+", it was at "+orNobody(from), reason, saved, a, now)
}

func orNobody(commit string) string { return cmp.Or(blackboard.ShortCommit(commit), "no commit") }

func decidedTip(s *blackboard.State, action blackboard.Action, detail, reason, saved string, a Actor, now time.Time) {
	extra := map[string]any{"tip": s.Tip()}
	if saved != "" {
		detail, extra["attic"] = detail+"; the other tip is saved as "+saved, saved
	}
	if reason != "" {
		detail += ": " + reason
	}
	for k, v := range via(a) {
		extra[k] = v
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: action, Detail: oneLine(detail), Extra: extra})
}

// IntendMove records a candidate before the branch moves to it.
func IntendMove(s *blackboard.State, i blackboard.MoveIntent) error {
	if s.Tip() == "" || i.Old != s.Tip() {
		return refuse("G63", ExitRefused, blackboard.DecideTip(i.Old), "%s", blackboard.MovedText(s, i.Old))
	}
	s.Integration.Intent = &i
	return nil
}

// FinishMove records that the branch is at the commit of its intent. It reports whether there was an intent.
func FinishMove(s *blackboard.State, now time.Time) bool {
	if s.Integration == nil || s.Integration.Intent == nil {
		return false
	}
	i := *s.Integration.Intent
	s.Integration.Intent = nil
	branch := s.IntegrationBranch()
	extra := map[string]any{"commit": i.Commit}
	switch i.Kind {
	case blackboard.MoveAgain:
		setTip(s, i.Commit, "merge again "+i.Task, now)
		if t := s.Task(i.Task); t != nil && t.Status == blackboard.Merged {
			t.MergeCommit = i.Commit
			t.History = append(t.History, &blackboard.HistoryEntry{Time: blackboard.TimeOf(now), Event: blackboard.HistoryMergedAgain, Agent: i.By, MergeCommit: i.Commit})
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: i.By, Action: blackboard.ActionMergedAgain, Task: i.Task, Detail: "merge commit " + blackboard.ShortCommit(i.Commit), Extra: extra})
	default:
		setTip(s, i.Commit, "sync "+i.From, now)
		s.Integration.Base = i.Base
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: i.By, Action: blackboard.ActionIntegrationSynced, Detail: oneLine(branch + " has " + i.From + " at " + blackboard.ShortCommit(i.Base)), Extra: extra})
	}
	s.Integration.Moved = nil
	return true
}

// CancelMove removes the intent of a move that was not made.
func CancelMove(s *blackboard.State) {
	if s.Integration != nil {
		s.Integration.Intent = nil
	}
}

// A Contact is a host's report about itself.
type Contact struct {
	blackboard.Host
	Name string
}

// NoteContact records the contact of a host. It refuses the name of another clone, because a host's worktrees are found by
// its name.
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

// TakeTurn gives host the next turn of merging and returns its term. While another host has the turn, it returns that turn as
// held instead. A host takes over its own former turn: a lock on the host keeps its merges apart.
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

// KeepTurn extends the turn of term by length from now. It reports false if that turn is over.
func KeepTurn(s *blackboard.State, term int, length time.Duration, now time.Time) bool {
	if !s.Integration.HasTurn(term) {
		return false
	}
	turn := *s.Integration.Turn
	turn.Until = blackboard.TimeOf(now.Add(length))
	s.Integration.Turn = &turn
	return true
}

// EndTurn ends the turn of a term, so that another host can take the next one.
func EndTurn(s *blackboard.State, term int, now time.Time) {
	if s.Integration.HasTurn(term) {
		s.Integration.Turn = &blackboard.MergeTurn{Term: term, Until: blackboard.TimeOf(now)}
	}
}
