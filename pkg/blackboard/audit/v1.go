package audit

import "liza/pkg/blackboard"

// A state that Liza v1 (bash) wrote and accepted has no error here, before and after
// the first write of ours, unless its data contradict each other (specs/protocol.md#9). So
// what v1 did not ask for is a warning where v1 wrote. v1 counted no attempts and
// gave registrations no generation; our entries have both, and our tasks begin with
// the event created.

// writtenByV1 reports whether the file was created by Liza v1: our init always writes
// base_ref and lease_grace, which v1 did not know.
func writtenByV1(s *blackboard.State) bool {
	_, baseRef := s.Config["base_ref"]
	_, grace := s.Config["lease_grace"]
	return !baseRef && !grace
}

// taskOfV1 reports whether v1 made the task, or had it for some of its attempts.
func (v *validation) taskOfV1(t *blackboard.Task) bool {
	if !v.v1 {
		return false
	}
	made := len(t.History) == 0 || t.History[0] == nil || t.History[0].Event != blackboard.HistoryCreated
	return made || t.ClaimSeq == 0 || claimsIn(t.History) > t.ClaimSeq
}

// agentOfV1 reports whether a registration is one of v1's.
func (v *validation) agentOfV1(a *blackboard.Agent) bool { return v.v1 && a.Generation == "" }

func claimsIn(history []*blackboard.HistoryEntry) int {
	n := 0
	for _, e := range history {
		if blackboard.IsClaimEvent(e.Event) {
			n++
		}
	}
	return n
}
