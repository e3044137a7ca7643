package blackboard

import (
	"cmp"
	"time"
)

// SeeTip takes note of where the branch is: the journal gets one entry for each tip that
// Liza did not make, and one when the branch is back. It reports whether anything changed.
func (s *State) SeeTip(tip string, now time.Time) bool {
	i := s.Integration
	if i == nil {
		return false
	}
	foreign := s.ForeignTip(tip)
	switch {
	case foreign && (i.Moved == nil || i.Moved.Tip != tip):
		i.Moved = &Moved{Tip: tip, At: TimeOf(now)}
		s.Record(Entry{Timestamp: TimeOf(now), Agent: System, Action: ActionIntegrationMoved, Detail: s.MovedText(tip),
			Extra: map[string]any{"tip": cmp.Or(tip, "none"), "known": i.Tip}})
		return true
	case !foreign && i.Moved != nil:
		i.Moved = nil
		s.Record(Entry{Timestamp: TimeOf(now), Agent: System, Action: ActionIntegrationBack, Detail: s.IntegrationBranch() + " is at " + short(tip) + " again"})
		return true
	}
	return false
}

// setTip remembers where the branch was left, and by what.
func (s *State) setTip(tip, by string, now time.Time) {
	if s.Integration == nil {
		s.Integration = &Integration{}
	}
	s.Integration.Tip, s.Integration.By, s.Integration.At = tip, by, TimeOf(now)
}

// AdoptTip takes the branch as it is for a board that remembers no tip, once.
func (s *State) AdoptTip(tip string, now time.Time) bool {
	if s.Tip() != "" || tip == "" {
		return false
	}
	s.setTip(tip, "adopted", now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: System, Action: ActionIntegrationAdopted,
		Detail: "the board remembered no tip of " + s.IntegrationBranch() + "; it is taken as it is, at " + short(tip)})
	return true
}

// AcceptTip is a person's decision that the branch is right where it is.
func (s *State) AcceptTip(tip, reason, saved string, a Actor, now time.Time) {
	was := s.Tip()
	s.setTip(tip, "accept", now)
	s.Integration.Moved, s.Integration.Intent = nil, nil
	s.decidedTip(ActionIntegrationAccepted, s.IntegrationBranch()+" stays at "+short(tip)+", where "+orNobody(was)+" was known", reason, saved, a, now)
}

// RestoreTip records that the branch was put back to where Liza left it. from is where it was.
func (s *State) RestoreTip(from, reason, saved string, a Actor, now time.Time) {
	s.setTip(s.Tip(), "restore", now)
	s.Integration.Moved = nil
	s.decidedTip(ActionIntegrationRestored, s.IntegrationBranch()+" is back at "+short(s.Tip())+", it was at "+orNobody(from), reason, saved, a, now)
}

func orNobody(commit string) string { return cmp.Or(short(commit), "no commit") }

func (s *State) decidedTip(action Action, detail, reason, saved string, a Actor, now time.Time) {
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
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: action, Detail: oneLine(detail), Extra: extra})
}

// IntendMove records a candidate before the branch moves to it.
func (s *State) IntendMove(i MoveIntent) error {
	if s.Tip() == "" || i.Old != s.Tip() {
		return refuse("G63", ExitRefused, DecideTip(i.Old), "%s", s.MovedText(i.Old))
	}
	s.Integration.Intent = &i
	return nil
}

// FinishMove records that the branch is at the intent. It reports false when there is none.
func (s *State) FinishMove(now time.Time) bool {
	if s.Integration == nil || s.Integration.Intent == nil {
		return false
	}
	i := *s.Integration.Intent
	s.Integration.Intent = nil
	branch := s.IntegrationBranch()
	extra := map[string]any{"commit": i.Commit}
	switch i.Kind {
	case MoveAgain:
		s.setTip(i.Commit, "merge again "+i.Task, now)
		if t := s.Task(i.Task); t != nil && t.Status == Merged {
			t.MergeCommit = i.Commit
			t.History = append(t.History, &HistoryEntry{Time: TimeOf(now), Event: HistoryMergedAgain, Agent: i.By, MergeCommit: i.Commit})
		}
		s.Record(Entry{Timestamp: TimeOf(now), Agent: i.By, Action: ActionMergedAgain, Task: i.Task, Detail: "merge commit " + short(i.Commit), Extra: extra})
	default:
		s.setTip(i.Commit, "sync "+i.From, now)
		s.Integration.Base = i.Base
		s.Record(Entry{Timestamp: TimeOf(now), Agent: i.By, Action: ActionIntegrationSynced, Detail: oneLine(branch + " has " + i.From + " at " + short(i.Base)), Extra: extra})
	}
	s.Integration.Moved = nil
	return true
}

// CancelMove forgets an intent whose commit the branch did not get.
func (s *State) CancelMove() {
	if s.Integration != nil {
		s.Integration.Intent = nil
	}
}

// MovedText says in one line where the branch is instead of where Liza left it.
func (s *State) MovedText(tip string) string {
	branch, known := s.IntegrationBranch(), short(s.Tip())
	if tip == "" {
		return branch + " does not exist any more; Liza left it at " + known
	}
	return branch + " is at " + short(tip) + ", which Liza did not make; Liza left it at " + known
}

// DecideTip is the command for a branch that was moved.
func DecideTip(tip string) string {
	if tip == "" {
		return "liza integration restore"
	}
	return "liza integration accept, or liza integration restore"
}
