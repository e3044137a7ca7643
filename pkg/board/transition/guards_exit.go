package transition

import (
	"fmt"
	"strings"
	"unicode"

	"liza/pkg/board/blackboard"
)

// The guards of the ways out: block, unblock, supersede, abandon, hold, release.

var blockReason = Guard{"G70", "a reason and one to three questions are given", func(m *move) error {
	if blank(m.in.Reason) {
		return m.no("G70", ExitUsage, "--reason is empty")
	}
	if n := len(m.in.Questions); n < 1 || n > 3 {
		return m.no("G70", ExitUsage, "give 1 to 3 questions with --question, not %d", n)
	}
	for _, q := range m.in.Questions {
		if blank(q) {
			return m.no("G70", ExitUsage, "a --question is empty")
		}
		if !strings.ContainsFunc(q, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return m.no("G70", ExitUsage, "--question %q asks nothing", q)
		}
	}
	return nil
}}

var unblockable = Guard{"G71", "the task is not exhausted", func(m *move) error {
	if m.task.Exhausted() {
		return m.refuseNext(rescopeCommand(m.task.ID), "G71", ExitRefused, "task %s is exhausted: failed by %s; supersede or abandon it with --root-cause", m.task.ID, failures(m.task))
	}
	return nil
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

var workSaved = Guard{"G75", "the work of the worktree was saved", func(m *move) error {
	if m.in.SaveError != "" {
		r := refuse("G75", ExitFailure, "liza doctor", "cannot save the work of %s: %s", m.task.ID, m.in.SaveError)
		r.Unsaved = m.task.ID
		return r
	}
	return nil
}}

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
	next := fmt.Sprintf("liza release %s --force --reason T", m.task.ID)
	if live == blackboard.Unknown {
		return m.refuseNext(next, "G76", ExitRefused, "the liveness of %s is unknown (%s); --force releases the claim all the same", m.task.AssignedTo, why)
	}
	return m.refuseNext(next, "G76", ExitRefused, "the lease of %s is alive until %s; --force releases it all the same", m.task.AssignedTo, m.task.LeaseExpires)
}}

var mayReleaseReview = Guard{"G76", "the review lease is not alive, or the release is forced", func(m *move) error {
	t := m.task
	if t.ReviewingBy == "" {
		return m.no("G76", ExitRefused, "nobody reviews task %s", t.ID)
	}
	live, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts)
	if m.in.Force || t.ReviewLeaseExpires.None() || live == blackboard.Expired || live == blackboard.Dead {
		return nil
	}
	next := fmt.Sprintf("liza release %s --reviewer --force --reason T", t.ID)
	if live == blackboard.Unknown {
		return m.refuseNext(next, "G76", ExitRefused, "the liveness of %s is unknown (%s); --force releases the review all the same", t.ReviewingBy, why)
	}
	return m.refuseNext(next, "G76", ExitRefused, "the review lease of %s is alive until %s; --force releases it all the same", t.ReviewingBy, t.ReviewLeaseExpires)
}}

var notOnHold = Guard{"G77", "the task is not on hold", func(m *move) error {
	if h := m.task.Hold; h != nil {
		return m.refuseNext("liza unhold "+m.task.ID, "G77", ExitRefused, "task %s is on hold already, by %s: %s", m.task.ID, h.By, h.Reason)
	}
	return nil
}}

var onHold = Guard{"G77", "the task is on hold", func(m *move) error {
	if m.task.Hold == nil {
		return m.no("G77", ExitRefused, "task %s is not on hold", m.task.ID)
	}
	return nil
}}

var haltResolved = Guard{"G78", "the task is halted, and with the limits given no limit is reached", func(m *move) error {
	t := m.task
	if t.Halt == nil {
		return m.refuseNext("liza unblock "+t.ID+" --reason T", "G78", ExitRefused, "task %s is not halted by a limit", t.ID)
	}
	with := *t
	applyLimits(&with, m.in.Limits)
	l := reached(m.state, &with, Spent{}, NextCost(&with))
	if l == nil && IterationsOver(m.state, &with) {
		n := maxIterations(m.state, &with)
		l = &limitReached{key: "max_iterations", value: blackboard.Amount(with.Iteration), limit: n, enough: 2 * n}
	}
	if l != nil {
		return m.refuseNext(fmt.Sprintf("liza resubmit %s --limit %s=%d", t.ID, l.key, l.enough), "G78", ExitRefused, "%s; --limit %s=%d lets it go on", l, l.key, l.enough)
	}
	return nil
}}

var dependenciesLeft = Guard{"G79", "no dependency is ABANDONED or SUPERSEDED", func(m *move) error {
	deps := m.task.DependsOn
	if m.in.DependsOn != nil {
		deps = m.in.DependsOn
	}
	for _, d := range deps {
		st, ok := statusOf(m.state, d, m.in)
		if !ok {
			return m.no("G14", ExitInvalid, "depends_on of %s: no task '%s'", m.task.ID, d)
		}
		if st == blackboard.Abandoned || st == blackboard.Superseded {
			return m.refuseNext(fmt.Sprintf("liza unblock %s --reason T --depends ID,…", m.task.ID), "G79", ExitRefused,
				"task %s depends on %s, which is %s; name its dependencies again with --depends", m.task.ID, d, st)
		}
	}
	if cycle := cycleThrough(m.state, m.task.ID, deps, nil); cycle != nil {
		return m.refuseNext("liza graph", "G14", ExitInvalid, "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}}

var notHalted = Guard{"G80", "the task is not halted, or only by its iterations", func(m *move) error {
	if h := m.task.Halt; h != nil && m.task.BlockedKind != blackboard.BlockedByIterations {
		return m.refuseNext("liza resubmit "+m.task.ID+" --limit KEY=VALUE", "G80", ExitRefused, "task %s is halted: %s", m.task.ID, limitOfHalt(m.state, m.task, h))
	}
	return nil
}}
