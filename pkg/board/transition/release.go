package transition

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// releaseRules are the rows of release.
var releaseRules = []Rule{
	{ID: "T36", Event: evRelease, From: from(blackboard.Claimed), To: blackboard.Unclaimed, Who: SAny | ByHuman, When: noIntegrationFix,
		Needs:   needs(textsGiven, mayRelease),
		Does:    does(releaseClaim, endClaim, unassign),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionReleased), ByHand: true},
	{ID: "T36", Event: evRelease, From: from(blackboard.Claimed), To: blackboard.IntegrationFailed, Who: SAny | ByHuman, When: isIntegrationFix,
		Needs:   needs(textsGiven, mayRelease),
		Does:    does(releaseClaim, endClaim, unassign),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionReleased)},
}

// Release frees a claim (T36).
func Release(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if a.ID == blackboard.Human || a.Via {
		in = in.reasoned()
	}
	return run(s, evRelease, id, a, in, now)
}

var isIntegrationFix = &Condition{Text: "the claim is an integration fix", Holds: func(m *move) bool { return m.task.IntegrationFix }}

var noIntegrationFix = &Condition{Text: "the claim is not an integration fix", Holds: func(m *move) bool { return !m.task.IntegrationFix }}

var mayRelease = Guard{"G76", "the lease is not alive, or a person forces the release, or the caller is the holder's own supervisor", func(m *move) error {
	if m.party&SCoder != 0 {
		if err := callerIsCoder.Check(m); err != nil {
			return err
		}
		return holdsClaim.Check(m)
	}
	live, why := m.state.ClaimLiveness(m.task, m.now, m.actor.Facts)
	if m.in.Force && m.party&SAny == 0 || live == blackboard.Expired || live == blackboard.Dead {
		return childGone.Check(m)
	}
	next := fmt.Sprintf("liza retry %s --force --reason T", m.task.ID)
	if live == blackboard.Unknown {
		return m.refuseNext(next, "G76", ExitRefused, "the liveness of %s is unknown (%s); --force releases the claim all the same", m.task.AssignedTo, why)
	}
	return m.refuseNext(next, "G76", ExitRefused, "the lease of %s is alive until %s; --force releases it all the same", m.task.AssignedTo, m.task.LeaseExpires)
}}

var releaseClaim = Effect{"worktree kept; handoff_pending true when it holds work", func(m *move) {
	t := m.task
	m.h.What, m.h.Reason, m.h.Holder, m.h.Attic = "claim", oneLine(m.in.Reason), t.AssignedTo, m.in.Attic
	m.detail = t.AssignedTo + ": " + m.in.Reason
	if t.AssignedTo != m.actor.ID { // else the end of the run has told of it
		addAttempt(t, &blackboard.Attempt{ClaimSeq: t.ClaimSeq, Agent: t.AssignedTo, Kind: string(blackboard.RoleCoder), Outcome: "released", Summary: oneLine(m.in.Reason), Attic: m.in.Attic, Ended: blackboard.TimeOf(m.now)})
	}
	t.HandoffPending = m.in.HasWork
}}
