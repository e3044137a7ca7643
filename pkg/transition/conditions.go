package transition

import "liza/pkg/blackboard"

var sameCoder = &Condition{Text: "the caller is the last coder", Holds: func(m *move) bool { return m.task.AssignedTo == m.actor.ID }}

// Without a last coder (a person removed it by hand) the claim counts as another coder's.
var otherCoder = &Condition{Text: "the caller is another coder", Holds: func(m *move) bool { return m.task.AssignedTo != m.actor.ID }}

var needsNoReviewer = &Condition{Text: "its kind is not code, it writes nothing, and it asks for no review, or has no review left with on_review_depth proceed",
	Holds: func(m *move) bool { return reviewsItself(m.task) || m.unreviewed() }}

// unreviewed reports whether a result is accepted although the reviewer wanted another one: the
// cycles are used up, nothing of it is merged, and the project wants that (on_review_depth).
func (m *move) unreviewed() bool {
	return m.proceeds() && m.task.ReviewCyclesCurrent >= maxReviewCycles(m.state, m.task)
}

func (m *move) proceeds() bool { return m.in.Proceed && !m.task.ChangesFiles() }

var nobodyReviews = &Condition{Text: "nobody reviews it", Holds: func(m *move) bool { return m.task.ReviewingBy == "" }}

var somebodyReviews = &Condition{Text: "a former review has lapsed", Holds: func(m *move) bool { return m.task.ReviewingBy != "" }}

var cyclesLeft = &Condition{Text: "a review cycle is left, or its last result is accepted with on_review_depth proceed", Holds: func(m *move) bool {
	return m.task.ReviewCyclesCurrent+1 < maxReviewCycles(m.state, m.task) || m.proceeds()
}}

var lastCycle = &Condition{Text: "it is the last review cycle", Holds: func(m *move) bool { return !cyclesLeft.Holds(m) }}

var verdictStuck = &Condition{Text: "the verdict is stuck", Holds: func(m *move) bool { return m.in.What == "stuck" }, Else: &onlySupervisor}

// The review counts as stuck after max_review_retries further ones without a verdict.
var tooManyFailures = &Condition{Text: "one review too many failed, lapsed or ended with RETRY", Holds: func(m *move) bool {
	return m.reviewFailed() && m.task.ReviewFailures+1 > m.state.Int("max_review_retries")
}}

var reviewGivenUp = &Condition{Text: "the review failed, lapsed, ended with RETRY or was given up", Holds: func(m *move) bool {
	return !verdictStuck.Holds(m) && !tooManyFailures.Holds(m)
}}

// onlySupervisor refuses a run token whose release is not a verdict.
var onlySupervisor = Guard{"G03", "only the supervisor releases a review without a verdict", func(m *move) error {
	return m.no("G03", ExitRefused, "%s may only end its review with a verdict; the supervisor of %s may release it", m.actor.ID, m.actor.ID)
}}

// A task under review is nobody's to drop, unless the review got stuck.
var notUnderReview = &Condition{Text: "it is not READY_FOR_REVIEW, or its review got stuck (hold by system)", Holds: func(m *move) bool {
	return m.task.Status != blackboard.ReadyForReview || m.task.Hold != nil && m.task.Hold.By == blackboard.System
}, Else: &reviewStuck}

var reviewStuck = Guard{"G06", "its review got stuck", func(m *move) error {
	return m.no("G06", ExitRefused, "task %s is %s: it can be dropped only when its review got stuck", m.task.ID, m.task.Status)
}}

var isIntegrationFix = &Condition{Text: "the claim is an integration fix", Holds: func(m *move) bool { return m.task.IntegrationFix }}

var noIntegrationFix = &Condition{Text: "the claim is not an integration fix", Holds: func(m *move) bool { return !m.task.IntegrationFix }}

var reviewDisabled = Guard{"G65", "review.mode is disabled", func(m *move) error {
	if m.in.ReviewMode != blackboard.ReviewDisabled {
		return m.refuseNext("liza claim-review "+m.task.ID, "G65", ExitRefused, "no merge approval is waiting for %s, which is %s: a reviewer judges it first", m.task.ID, m.task.Status)
	}
	return nil
}}

// reviewFailed reports whether the release counts as a review without a verdict.
func (m *move) reviewFailed() bool {
	return m.in.What == "failed" || m.in.What == "lapsed" || m.in.What == "retry"
}
