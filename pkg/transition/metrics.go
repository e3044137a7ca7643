package transition

import "liza/pkg/blackboard"

// contribution is what one task adds to the stored figures of specs/protocol.md#12.
type contribution struct {
	done, inProgress, blocked        int
	iterations, cycles               int
	approvals, rejections, submitted int
}

func contributionOf(t *blackboard.Task) contribution {
	c := contribution{cycles: t.ReviewCyclesTotal}
	switch t.Status {
	case blackboard.Merged, blackboard.Abandoned, blackboard.Superseded:
		c.done = 1
	case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Rejected, blackboard.Approved:
		c.inProgress = 1
	case blackboard.Blocked, blackboard.IntegrationFailed:
		c.blocked = 1
	}
	for _, h := range t.History {
		switch {
		case blackboard.IsClaimEvent(h.Event):
			c.iterations++
		case h.Event == blackboard.HistoryReadyForReview || h.Event == blackboard.HistorySubmittedForReview:
			c.submitted++
		case h.Event == blackboard.HistoryApproved && !h.Auto && !h.Merge:
			c.approvals++
		case h.Event == blackboard.HistoryApprovalRecorded && !h.Merge:
			c.approvals++
		case h.Event == blackboard.HistoryApprovalVoided:
			c.approvals--
		case h.Event == blackboard.HistoryRejected:
			c.rejections++
		}
	}
	return c
}

func metrics(s *blackboard.State) *blackboard.Metrics {
	if s.Sprint == nil {
		return &blackboard.Metrics{}
	}
	if s.Sprint.Metrics == nil {
		s.Sprint.Metrics = &blackboard.Metrics{}
	}
	return s.Sprint.Metrics
}

// addMetrics is E-METRICS: the difference that one event made. The archived tasks of the
// sprint still count as what they were.
func addMetrics(s *blackboard.State, before, after contribution) {
	m := metrics(s)
	m.TasksDone += after.done - before.done
	m.TasksInProgress += after.inProgress - before.inProgress
	m.TasksBlocked += after.blocked - before.blocked
	m.IterationsTotal += after.iterations - before.iterations
	m.ReviewCyclesTotal += after.cycles - before.cycles
	m.ReviewVerdictApprovals += after.approvals - before.approvals
	m.ReviewVerdictRejections += after.rejections - before.rejections
	m.TaskSubmittedForReviewCount += after.submitted - before.submitted
	m.ReviewVerdictCount = m.ReviewVerdictApprovals + m.ReviewVerdictRejections
	m.ReviewVerdictApprovalRatePercent = percent(m.ReviewVerdictApprovals, m.ReviewVerdictCount)
	if after.done != before.done || m.TaskOutcomeApprovalRatePercent == nil {
		m.TaskOutcomeApprovalRatePercent = percent(mergedInSprint(s), m.TasksDone)
	}
}

func mergedInSprint(s *blackboard.State) int {
	if s.Sprint == nil {
		return 0
	}
	merged, in := 0, s.InSprint()
	for t := range s.Tasks() {
		if t.Status == blackboard.Merged && in(t) {
			merged++
		}
	}
	for _, st := range s.ArchivedNow() {
		if st == blackboard.Merged {
			merged++
		}
	}
	return merged
}

// percent is ⌊100 × part / whole⌋, nil for a whole of 0.
func percent(part, whole int) *int {
	if whole <= 0 {
		return nil
	}
	p := 100 * part / whole
	return &p
}
