package blackboard

import (
	"cmp"
	"time"
)

// Integration is what Liza remembers of the integration branch. A branch that is elsewhere
// was moved by somebody else: merges wait until a person decides.
// Written by: init, merges, integration, sync.
type Integration struct {
	Tip    string      `yaml:"tip"`              // where Liza, or a person's decision, left the branch
	By     string      `yaml:"by,omitempty"`     // what left it there: init, merge task-1, sync main, accept …
	At     Time        `yaml:"at,omitempty"`     // when
	Base   string      `yaml:"base,omitempty"`   // commit of the base branch that the branch was cut from or synced with last
	Intent *MoveIntent `yaml:"intent,omitempty"` // move that is not the merge of an approved task | sync, merge --again; cleared when it is made | none is under way
	Moved  *Moved      `yaml:"moved,omitempty"`  // a tip that Liza did not make, and was told of | every look at git; accept, restore clear it | the branch is where Liza left it
	Turn   *MergeTurn  `yaml:"turn,omitempty"`   // which host may move the branch | merges | nobody has, or the board is a file of one host
	Seal   *TipSeal    `yaml:"seal,omitempty"`   // proof that a verb left the branch there | the store
}

// A TipSeal proves that a verb left the branch there: an HMAC over the other fields, but for moved and turn.
// Written by: the store.
type TipSeal struct {
	Key string `yaml:"key"` // names the key
	MAC string `yaml:"mac"` // HMAC over the other fields but moved and turn
}

// MoveIntent is recorded before the branch moves for anything but the merge of an approved
// task, which has an intent of its own. Kind is sync or again.
// Written by: sync, merge --again.
type MoveIntent struct {
	Kind   string `yaml:"kind"`           // sync or again
	Commit string `yaml:"commit"`         // the candidate
	Old    string `yaml:"old"`            // head of the branch before
	Base   string `yaml:"base,omitempty"` // of a sync: the commit that is merged
	From   string `yaml:"from,omitempty"` // of a sync: what it was named
	Task   string `yaml:"task,omitempty"` // whose work is merged again
	At     Time   `yaml:"at"`             // when
	By     string `yaml:"by"`             // agent id, human or system
}

// Moved is a tip that Liza did not make, and was told of. Tip is "" for a branch that is gone.
// Written by: every look at git.
type Moved struct {
	Tip string `yaml:"tip"` // where the branch is; empty: it is gone
	At  Time   `yaml:"at"`  // when that was seen
}

// MoveKinds are the kinds of MoveIntent.
const (
	MoveSync  = "sync"
	MoveAgain = "again"
)

// Tip is where Liza left the integration branch, "" when that is not known: the board is older
// than this record.
func (s *State) Tip() string {
	if s.Integration == nil {
		return ""
	}
	return s.Integration.Tip
}

// ForeignTip reports whether the integration branch is where Liza did not put it; tip is ""
// when the branch does not exist. A tip that is the intent of an interrupted merge is Liza's.
func (s *State) ForeignTip(tip string) bool {
	known := s.Tip()
	if known == "" || tip == known {
		return false
	}
	if i := s.Integration.Intent; i != nil && i.Commit == tip && i.Old == known {
		return false
	}
	for t := range s.Tasks() {
		if i := t.MergeIntent; i != nil && t.Status == Approved && i.Commit == tip && i.Old == known {
			return false
		}
	}
	return true
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
