package blackboard

// contribution is what one task adds to the stored figures of specs/protocol.md#12.
type contribution struct {
	done, inProgress, blocked        int
	iterations, cycles               int
	approvals, rejections, submitted int
}

func (t *Task) contribution() contribution {
	c := contribution{cycles: t.ReviewCyclesTotal}
	switch t.Status {
	case Merged, Abandoned, Superseded:
		c.done = 1
	case Claimed, ReadyForReview, Rejected, Approved:
		c.inProgress = 1
	case Blocked, IntegrationFailed:
		c.blocked = 1
	}
	for _, h := range t.History {
		switch {
		case IsClaimEvent(h.Event):
			c.iterations++
		case h.Event == HistoryReadyForReview || h.Event == HistorySubmittedForReview:
			c.submitted++
		case h.Event == HistoryApproved && !h.Auto && !h.Merge:
			c.approvals++
		case h.Event == HistoryApprovalRecorded && !h.Merge:
			c.approvals++
		case h.Event == HistoryApprovalVoided:
			c.approvals--
		case h.Event == HistoryRejected:
			c.rejections++
		}
	}
	return c
}

func (s *State) metrics() *Metrics {
	if s.Sprint == nil {
		return &Metrics{}
	}
	if s.Sprint.Metrics == nil {
		s.Sprint.Metrics = &Metrics{}
	}
	return s.Sprint.Metrics
}

// addMetrics is E-METRICS: the difference that one event made. The archived tasks of the
// sprint still count as what they were.
func (s *State) addMetrics(before, after contribution) {
	m := s.metrics()
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
		m.TaskOutcomeApprovalRatePercent = percent(s.mergedInSprint(), m.TasksDone)
	}
}

func (s *State) mergedInSprint() int {
	if s.Sprint == nil {
		return 0
	}
	merged, in := 0, s.InSprint()
	for t := range s.Tasks() {
		if t.Status == Merged && in(t) {
			merged++
		}
	}
	for _, st := range s.ArchivedNow() {
		if st == Merged {
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
