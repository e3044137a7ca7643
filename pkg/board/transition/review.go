package transition

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// reviewRules are the rows of claim_review and review_release.
var reviewRules = []Rule{
	{ID: "T13", Event: evClaimReview, From: from(blackboard.ReadyForReview), Who: SReviewer, When: nobodyReviews,
		Needs:   needs(sprintRuns, notHeld, specExists, reviewFree, notAuthor, reviewerFree, reviewersDecide, notApprovedBefore, attemptsIn),
		Does:    does(grantReview),
		History: records(blackboard.HistoryReviewClaimed), Log: names(blackboard.ActionReviewClaimed)},
	{ID: "T13", Event: evClaimReview, From: from(blackboard.ReadyForReview), Who: SReviewer, When: somebodyReviews,
		Needs:   needs(sprintRuns, notHeld, specExists, reviewFree, notAuthor, reviewerFree, reviewersDecide, notApprovedBefore, attemptsIn),
		Does:    does(lapseReviewer, endLapsedReview, grantReview),
		History: records(blackboard.HistoryLeaseExpired, blackboard.HistoryReviewClaimed), Log: names(blackboard.ActionReviewClaimed)},
	{ID: "T18", Event: evReviewRelease, From: from(blackboard.ReadyForReview), Who: ByReviewer | SReviewer, When: verdictStuck,
		Needs:   needs(callerIsReviewer, holdsReview),
		Does:    does(releaseReview, holdStuck),
		History: records(blackboard.HistoryReleased, blackboard.HistoryHeld), Log: names(blackboard.ActionReviewStuck)},
	{ID: "T18", Event: evReviewRelease, From: from(blackboard.ReadyForReview), Who: SReviewer, When: tooManyFailures,
		Needs:   needs(callerIsReviewer, holdsReview),
		Does:    does(releaseReview, holdStuck),
		History: records(blackboard.HistoryReleased, blackboard.HistoryHeld), Log: names(blackboard.ActionReviewStuck)},
	{ID: "T18", Event: evReviewRelease, From: from(blackboard.ReadyForReview), Who: SReviewer, When: reviewGivenUp,
		Needs:   needs(callerIsReviewer, holdsReview),
		Does:    does(releaseReview),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionReleased)},
	{ID: "T18", Event: evReviewRelease, From: from(blackboard.ReadyForReview), Who: ByHuman,
		Needs:   needs(textsGiven, mayReleaseReview),
		Does:    does(releaseReview),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionReleased)},
}

// ClaimReview gives the actor the exclusive right to judge the task (T13).
func ClaimReview(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evClaimReview, id, a, in, now)
}

// ReleaseReview ends a review without a verdict (T18). For an agent in.What is "stuck", "failed", "lapsed" or "retry", for a
// person "".
func ReleaseReview(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, evReviewRelease, id, a, in, now)
}

// RecordChecks stores the results of the checks before the review. The caller has the review claim, and the checked commit is
// the one under review (G53, G54).
func RecordChecks(s *blackboard.State, id string, a Actor, r *blackboard.Review) error {
	t, e := s.Task(id), s.Agents[a.ID]
	if t == nil || t.Status != blackboard.ReadyForReview || t.ReviewingBy != a.ID || !blackboard.RegistrationOf(e, t.ReviewingGeneration) || t.ReviewCommit != r.Commit {
		return refuse("G53", ExitLeaseLost, "liza show "+id, "the review claim on %s ended while it was checked", id)
	}
	t.Review = r
	return nil
}

var nobodyReviews = &Condition{Text: "nobody reviews it", Holds: func(m *move) bool { return m.task.ReviewingBy == "" }}

var somebodyReviews = &Condition{Text: "a former review has lapsed", Holds: func(m *move) bool { return m.task.ReviewingBy != "" }}

var verdictStuck = &Condition{Text: "the verdict is stuck", Holds: func(m *move) bool { return m.in.What == "stuck" }, Else: &onlySupervisor}

// The review counts as stuck after max_review_retries further ones without a verdict.
var tooManyFailures = &Condition{Text: "one review too many failed, lapsed or ended with RETRY", Holds: func(m *move) bool {
	return m.reviewFailed() && m.task.ReviewFailures+1 > m.state.Int("max_review_retries")
}}

var reviewGivenUp = &Condition{Text: "the review failed, lapsed, ended with RETRY or was given up", Holds: func(m *move) bool {
	return !verdictStuck.Holds(m) && !tooManyFailures.Holds(m)
}}

// reviewFailed reports whether the release counts as a review without a verdict.
func (m *move) reviewFailed() bool {
	return m.in.What == "failed" || m.in.What == "lapsed" || m.in.What == "retry"
}

// onlySupervisor refuses a run token whose release is not a verdict.
var onlySupervisor = Guard{"G03", "only the supervisor releases a review without a verdict", func(m *move) error {
	return m.no("G03", ExitRefused, "%s may only end its review with a verdict; the supervisor of %s may release it", m.actor.ID, m.actor.ID)
}}

var reviewFree = Guard{"G50", "nobody reviews the task, or that lease has expired, and the run that made the work has ended", func(m *move) error {
	t := m.task
	if e := m.state.Agents[t.AssignedTo]; e != nil && e.Role == blackboard.RoleCoder && e.Child != nil && e.Child.Task == t.ID {
		switch live, _ := m.state.Liveness(t.AssignedTo, m.now, m.actor.Facts); live {
		case blackboard.Expired, blackboard.Dead:
		default:
			return m.refuseNext("liza status", "G50", ExitRefused, "the program of %s still runs on %s; its review begins when that has ended", t.AssignedTo, t.ID)
		}
	}
	if t.ReviewingBy == "" {
		return nil
	}
	if t.ReviewLeaseExpires.None() {
		return refuse("G50", ExitRefused, "liza retry "+t.ID+" --reason T", "task %s has reviewing_by %s without a lease", t.ID, t.ReviewingBy)
	}
	switch live, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts); live {
	case blackboard.Expired, blackboard.Dead:
		return nil
	case blackboard.Unknown:
		return m.no("G50", ExitRefused, "task %s is under review by %s, whose liveness is unknown: %s", t.ID, t.ReviewingBy, why)
	}
	return m.no("G50", ExitRefused, "task %s is under review by %s until %s", t.ID, t.ReviewingBy, t.ReviewLeaseExpires)
}}

var notAuthor = Guard{"G51", "the reviewer did not write the work", func(m *move) error {
	author := m.task.AssignedTo == m.actor.ID
	for _, a := range m.task.Attempts {
		author = author || a.Agent == m.actor.ID && (a.Kind == "" || a.Kind == string(blackboard.RoleCoder))
	}
	if coder := m.state.Agents[m.task.AssignedTo]; coder != nil && m.me() != nil && coder != m.me() {
		author = author || coder.Generation != "" && coder.Generation == m.me().Generation ||
			coder.TokenHash != "" && coder.TokenHash == m.me().TokenHash
	}
	if author {
		return m.refuseNext("liza status", "G51", ExitRefused, "%s wrote the work of %s; another reviewer has to judge it", m.actor.ID, m.task.ID)
	}
	return m.mayTake("G51")
}}

var reviewerFree = Guard{"G52", "the reviewer has no other task", func(m *move) error {
	if a := m.me(); a != nil && a.CurrentTask != "" && a.CurrentTask != m.task.ID {
		return m.refuseNext("liza show "+a.CurrentTask, "G52", ExitRefused, "%s already reviews %s", m.actor.ID, a.CurrentTask)
	}
	return nil
}}

var mayReleaseReview = Guard{"G76", "the review lease is not alive, or the release is forced", func(m *move) error {
	t := m.task
	if t.ReviewingBy == "" {
		return m.no("G76", ExitRefused, "task %s has no reviewer", t.ID)
	}
	live, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts)
	if m.in.Force || t.ReviewLeaseExpires.None() || live == blackboard.Expired || live == blackboard.Dead {
		return nil
	}
	next := fmt.Sprintf("liza retry %s --force --reason T", t.ID)
	if live == blackboard.Unknown {
		return m.refuseNext(next, "G76", ExitRefused, "the liveness of %s is unknown (%s); --force releases the review all the same", t.ReviewingBy, why)
	}
	return m.refuseNext(next, "G76", ExitRefused, "the review lease of %s is alive until %s; --force releases it all the same", t.ReviewingBy, t.ReviewLeaseExpires)
}}

var lapseReviewer = Effect{"a reviewer whose process is gone lapses (A13)", func(m *move) {
	m.lapse(m.task.ReviewingBy, m.task.ReviewingGeneration)
}}

var endLapsedReview = Effect{"the lapsed reviewer: review_failures + 1, current_task null, status IDLE", func(m *move) {
	t := m.task
	_, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts)
	m.says(blackboard.HistoryLeaseExpired, blackboard.HistoryEntry{Holder: t.ReviewingBy, Lease: t.ReviewLeaseExpires, Cause: why, What: "review"})
	m.detail = ", after the lapsed review of " + t.ReviewingBy
	t.ReviewFailures++
	blackboard.FreeAgent(m.state, t.ReviewingBy, t.ID)
}}

var grantReview = Effect{"reviewing_by, reviewing_generation, review_lease_expires, review_spec_hash; agent REVIEWING with current_task and lease", func(m *move) {
	t, a := m.task, m.me()
	t.ReviewingBy, t.ReviewingGeneration = m.actor.ID, a.Generation
	t.ReviewLeaseExpires = lease(m.state, m.now)
	if m.in.SpecHash != "" {
		t.ReviewSpecHash = m.in.SpecHash
	}
	a.Status, a.CurrentTask, a.LeaseExpires, a.WaitingFor = blackboard.AgentReviewing, t.ID, t.ReviewLeaseExpires, ""
	m.h.Commit = t.ReviewCommit
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit) + m.detail
}}

var releaseReview = Effect{"E-END-REVIEW; after a failed or lapsed review or a RETRY: review_failures + 1", func(m *move) {
	t := m.task
	m.h.What, m.h.Reason, m.h.Holder = "review", oneLine(m.in.Reason), t.ReviewingBy
	m.detail = t.ReviewingBy + ": " + m.in.Reason
	endReview.Apply(m)
	if m.reviewFailed() {
		t.ReviewFailures++
	}
}}

var holdStuck = Effect{"review.status stuck; hold by system; anomaly review_stuck", func(m *move) {
	t, reason := m.task, oneLine(m.in.Reason)
	if t.Review == nil {
		t.Review = &blackboard.Review{Mode: m.in.ReviewMode}
	}
	t.Review.Status, t.Review.By, t.Review.At, t.Review.Commit, t.Review.Reason = "stuck", m.actor.name(), blackboard.TimeOf(m.now), t.ReviewCommit, m.in.Reason
	t.Hold = &blackboard.Hold{By: blackboard.System, At: blackboard.TimeOf(m.now), Reason: "review stuck: " + reason}
	m.says(blackboard.HistoryHeld, blackboard.HistoryEntry{Reason: t.Hold.Reason})
	addAnomaly(m.state, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(m.now), Task: t.ID, Reporter: blackboard.System, Type: blackboard.AnomalyReviewStuck, Details: blackboard.Settings{"what": reason}})
}}
