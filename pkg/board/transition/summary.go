package transition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// RawEntry is an entry that is not in the rolling summary yet: a note without task, an entry of the alignment history, or the
// last summary of a terminal task (specs/roles-and-knowledge.md#6.4).
type RawEntry struct {
	At   time.Time
	Text string
	Note *blackboard.Note // the note, if the entry is one
}

// RawEntries returns the entries that are newer than the summary, the oldest first.
func RawEntries(s *blackboard.State) []RawEntry {
	var list []RawEntry
	if s.Goal == nil {
		return nil
	}
	through, summarized := s.Goal.SummarizedThrough.At()
	add := func(at blackboard.Time, text string, n *blackboard.Note) {
		when, ok := at.At()
		if text = strings.TrimSpace(text); text != "" && ok && (!summarized || !when.Before(through)) {
			list = append(list, RawEntry{when, text, n})
		}
	}
	for _, a := range s.Goal.AlignmentHistory {
		add(a.Timestamp, a.Event+": "+a.Summary, nil)
	}
	for t := range s.Tasks() {
		if text, at := t.LastSummary(); text != "" && t.Status.Terminal() {
			add(at, t.ID+" ("+string(t.Status)+"): "+text, nil)
		}
	}
	for _, n := range s.HumanNotes {
		if n.For == "" {
			by := n.By
			if by == "" {
				by = "a person"
			}
			add(n.Timestamp, by+": "+n.Message, n)
		}
	}
	slices.SortStableFunc(list, func(a, b RawEntry) int { return a.At.Compare(b.At) })
	same := 0 // of the second up to which the summary goes
	for same < len(list) && summarized && list[same].At.Equal(through) {
		same++
	}
	if n := s.Goal.SummarizedOfSecond; n > 0 && n < same {
		same = n // the others of that second are not in it
	}
	return list[same:]
}

// Quiet reports whether no task is claimable or claimed.
func Quiet(s *blackboard.State) bool {
	in := indexed(s, Input{})
	for t := range s.Tasks() {
		switch t.Status {
		case blackboard.Claimed:
			return false
		case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
			if t.Hold == nil && nothingToWaitFor(s, t, in) {
				return false
			}
		}
	}
	return true
}

// Summarize replaces the rolling summary by text, which covers sent, the oldest raw entries. Several entries may have been
// made in the same second.
func Summarize(s *blackboard.State, text string, sent []RawEntry, a Actor, now time.Time) {
	g, through := s.Goal, sent[len(sent)-1].At
	n := 0
	for _, e := range sent {
		if e.At.Equal(through) {
			n++
		}
	}
	if before, ok := g.SummarizedThrough.At(); ok && before.Equal(through) {
		n += g.SummarizedOfSecond
	}
	g.Summary, g.SummarizedThrough, g.SummarizedOfSecond = strings.TrimSpace(text), blackboard.TimeOf(through), n
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionSummarized, Detail: strconv.Itoa(len(sent)) + " entries, up to " + string(blackboard.TimeOf(through))})
}

// contribution is the share of one task in the stored figures of specs/protocol.md#12.
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

// addMetrics adds the difference that one event made (E-METRICS). The archived tasks of the sprint still count.
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
