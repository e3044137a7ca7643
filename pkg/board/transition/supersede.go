package transition

import (
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// supersedeRules are the rows of retarget, supersede and abandon.
var supersedeRules = []Rule{
	{ID: "T31", Event: evRetarget, From: open(), Who: BySystem,
		Does: does(retarget), Log: names(blackboard.ActionRetargeted)},
	{ID: "T32", Event: evSupersede, From: open(blackboard.Claimed, blackboard.Approved), To: blackboard.Superseded,
		Who: ByPlanner | ByHuman | BySystem, When: notUnderReview,
		Needs:   needs(textsGiven, rootCauseGiven, replacementsExist, noCycleByReplacement, workSaved),
		Does:    does(clearBlock, endReview, endClaim, closeTask, nameReplacements),
		History: records(blackboard.HistorySuperseded), Log: names(blackboard.ActionSuperseded)},
	{ID: "T33", Event: evAbandon, From: open(blackboard.Claimed, blackboard.Approved), To: blackboard.Abandoned,
		Who: ByPlanner | ByHuman, When: notUnderReview,
		Needs:   needs(textsGiven, rootCauseGiven, workSaved),
		Does:    does(clearBlock, endReview, endClaim, closeTask),
		History: records(blackboard.HistoryAbandoned), Log: names(blackboard.ActionAbandoned)},
}

// Supersede replaces a task by others and re-points its dependents (T32, T31).
func Supersede(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	if err := run(s, evSupersede, id, a, in, now); err != nil {
		return err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		if t.Status.Terminal() || !t.DependsOn.Has(id) {
			continue
		}
		if err := run(s, evRetarget, t.ID, sys, Input{What: id, By: in.By}, now); err != nil {
			return err
		}
	}
	return nil
}

// Abandon drops a task (T33) and blocks its UNCLAIMED dependents (T28). It returns the DRAFT ones, for a message.
func Abandon(s *blackboard.State, id string, a Actor, in Input, now time.Time) (drafts []string, err error) {
	in = in.reasoned()
	if err := run(s, evAbandon, id, a, in, now); err != nil {
		return nil, err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		switch {
		case !t.DependsOn.Has(id):
		case t.Status == blackboard.Draft:
			drafts = append(drafts, t.ID)
		case t.Status == blackboard.Unclaimed:
			if err := run(s, evDependencyLost, t.ID, sys, Input{What: id}, now); err != nil {
				return nil, err
			}
		}
	}
	return drafts, nil
}

// A task under review cannot be dropped, unless the review got stuck.
var notUnderReview = &Condition{Text: "it is not READY_FOR_REVIEW, or its review got stuck (hold by system)", Holds: func(m *move) bool {
	return m.task.Status != blackboard.ReadyForReview || m.task.Hold != nil && m.task.Hold.By == blackboard.System
}, Else: &reviewStuck}

var reviewStuck = Guard{"G06", "its review got stuck", func(m *move) error {
	return m.no("G06", ExitRefused, "task %s is %s: it can be dropped only when its review got stuck", m.task.ID, m.task.Status)
}}

var rootCauseGiven = Guard{"G72", "an exhausted task gets a root cause", func(m *move) error {
	if m.task.Exhausted() && blank(m.in.RootCause) {
		return m.no("G72", ExitUsage, "--root-cause is required: task %s was failed by %s", m.task.ID, failures(m.task))
	}
	return nil
}}

var replacementsExist = Guard{"G73", "the replacements exist, and none is the task itself, ABANDONED or SUPERSEDED", func(m *move) error {
	if len(m.in.By) == 0 {
		return m.no("G73", ExitInvalid, "--by names no replacement of %s", m.task.ID)
	}
	for _, id := range m.in.By {
		st, ok := statusOf(m.state, id, m.in)
		switch {
		case !ok:
			return m.no("G73", ExitInvalid, "no task '%s' to replace %s", id, m.task.ID)
		case id == m.task.ID:
			return m.no("G73", ExitInvalid, "task %s cannot replace itself", id)
		case st == blackboard.Abandoned || st == blackboard.Superseded:
			return m.no("G73", ExitInvalid, "task %s is %s and cannot replace %s", id, st, m.task.ID)
		}
	}
	return nil
}}

var noCycleByReplacement = Guard{"G74", "re-pointed dependencies make no cycle", func(m *move) error {
	replace := func(d string) []string {
		if d == m.task.ID {
			return m.in.By
		}
		return []string{d}
	}
	for t := range m.state.Tasks() {
		if t.Status.Terminal() || !t.DependsOn.Has(m.task.ID) {
			continue
		}
		if cycle := cycleThrough(m.state, t.ID, replaceAll(t.DependsOn, replace), replace); cycle != nil {
			return m.refuseNext("liza graph", "G74", ExitInvalid, "would make a cycle: %s", strings.Join(cycle, " → "))
		}
	}
	return nil
}}

var retarget = Effect{"depends_on: the superseded id is replaced in its place by its replacements", func(m *move) {
	m.task.DependsOn = replaceAll(m.task.DependsOn, func(d string) []string {
		if d == m.in.What {
			return m.in.By
		}
		return []string{d}
	})
	m.detail = m.in.What + " → " + strings.Join(m.in.By, ", ")
}}

var closeTask = Effect{"E-DROP-WT; rescope_reason, root_cause; hold, integration_fix, approved_by, merge_approval null; goal.alignment_history gets rescope_ID", func(m *move) {
	t := m.task
	m.dropWorktree()
	forgetApproval(t)
	t.RescopeReason, t.RootCause, t.Hold, t.RestartFrom = m.in.Reason, m.in.RootCause, nil, ""
	summary := t.ID + " abandoned: " + oneLine(m.in.Reason)
	if m.rule.Event == evSupersede {
		summary = t.ID + " superseded by " + strings.Join(m.in.By, ", ") + ": " + oneLine(m.in.Reason)
		m.detail = "by " + strings.Join(m.in.By, ", ") + ": " + m.detail
	}
	if !blank(m.in.RootCause) {
		cause := "; root cause: " + oneLine(m.in.RootCause)
		summary += cause
		m.detail += cause
	}
	align(m.state, "rescope_"+t.ID, summary, m.now)
}}

var nameReplacements = Effect{"superseded_by; the replacements' supersedes gets the task; then T31 for its dependents", func(m *move) {
	t := m.task
	t.SupersededBy, m.h.By = nil, nil
	for _, id := range m.in.By {
		if !t.SupersededBy.Has(id) {
			t.SupersededBy = append(t.SupersededBy, id)
		}
		if r := m.state.Task(id); r != nil && !r.Supersedes.Has(t.ID) {
			r.Supersedes = append(r.Supersedes, t.ID)
		}
	}
	m.h.By = clone(t.SupersededBy)
}}
