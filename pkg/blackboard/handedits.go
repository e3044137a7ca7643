package blackboard

import "time"

// TakeHandEdits gives an edit of a status that a person made in the file the meaning of the
// verb of that name: CLAIMED → UNCLAIMED is a release. Otherwise the claim's leftovers would
// stand in the way of everybody who claims the task. prev is the state before the edit. The
// program of the claim is stopped by who claims the task next.
func (s *State) TakeHandEdits(prev *State, now time.Time) {
	for i := range s.Tasks {
		t := s.Tasks[i]
		if t == nil || t.Status != Unclaimed {
			continue
		}
		old := prev.find(t.ID)
		if old == nil || old.Status != Claimed || old.AssignedTo == "" {
			continue
		}
		t = s.Own(t)
		t.AssignedTo, t.ClaimGeneration, t.LeaseExpires, t.Claiming = "", "", "", nil
		t.HandoffPending = t.Worktree != ""
		s.freeAgent(old.AssignedTo, t.ID)
		reason := "the status was edited by hand"
		t.History = append(t.History, &HistoryEntry{Time: TimeOf(now), Event: "released", Agent: Human, What: "claim", Holder: old.AssignedTo, Reason: reason})
		s.Record(Entry{Timestamp: TimeOf(now), Agent: Human, Action: "released", Task: t.ID, Detail: old.AssignedTo + ": " + reason})
	}
}
