package blackboard

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// form is what two worlds have in common when the same may happen in both from now on:
// statuses, holders, counters up to their limits, and of each time only whether it is over.
// Texts, histories, commits, ids of registrations and finished tasks are left out. The coders
// are alike, so they count by what they do, not by their numbers.
type form [16]byte

func (w *world) form() form {
	text := w.portrait(strings.NewReplacer())
	if c := w.size.coders; len(c) == 2 {
		text = min(text, w.portrait(strings.NewReplacer(c[0], c[1], c[1], c[0])))
	}
	h := fnv.New128a()
	h.Write([]byte(text))
	return form(h.Sum(nil))
}

// portrait is the form as a text, with agents renamed.
func (w *world) portrait(rename *strings.Replacer) string {
	var b strings.Builder
	for t := range w.each() {
		if t.Status == Merged || t.Status.Terminal() && !w.neededBy(t.ID) {
			fmt.Fprintln(&b, t.ID, "is over")
			continue
		}
		fmt.Fprintln(&b, rename.Replace(w.taskPortrait(t)))
	}
	var lines []string
	for _, id := range slices.Concat(w.size.coders, w.size.reviewers) {
		e := w.Agents[id]
		if e == nil {
			continue
		}
		lines = append(lines, rename.Replace(fmt.Sprint(id, " ", e.Status, e.CurrentTask, " ", w.since(e.LeaseExpires), e.Child != nil, w.gone[w.nth(id)])))
	}
	slices.Sort(lines)
	fmt.Fprintln(&b, strings.Join(lines, "\n"), w.sprintStatus(), w.goalStatus())
	return b.String()
}

func (w *world) neededBy(id string) bool {
	for t := range w.each() {
		if !t.Status.Terminal() && t.DependsOn.Has(id) {
			return true
		}
	}
	return false
}

func (w *world) taskPortrait(t *Task) string {
	if t.Status.Terminal() {
		return fmt.Sprint(t.ID, t.Status)
	}
	reserved, hold, gate, halt, last, questions := "", "", "", "", "", 0
	if c := t.Claiming; c != nil && !past(c.Expires, w.now) {
		reserved = fmt.Sprint(c.By, w.current(c.By, c.Generation))
	}
	if t.Hold != nil {
		hold = t.Hold.By
	}
	if a := t.MergeApproval; a != nil {
		gate = fmt.Sprint(a.Required, a.Decision)
	}
	if t.Halt != nil {
		halt = t.Halt.Kind
	}
	if h := t.last(); h != nil && h.Event == "handoff" {
		last = h.Agent // handing off once more is no event
	}
	for q := range present(w.Questions) {
		if q.Task == t.ID && q.Status == "open" {
			questions++
		}
	}
	var unmet []string
	for _, d := range t.DependsOn {
		if st, ok := w.StatusOf(d); !ok || st != Merged {
			unmet = append(unmet, d)
		}
	}
	failed := slices.Clone(t.FailedBy)
	slices.Sort(failed)
	_, kept := w.keptUntil(t, "", w.facts(), w.now)
	i := slices.Index(w.size.tasks, t.ID)
	return fmt.Sprint(t.ID, t.Status, " of ", t.AssignedTo, w.current(t.AssignedTo, t.ClaimGeneration), w.since(t.LeaseExpires), " last ", t.lastClaimant(),
		" review ", t.ReviewingBy, w.current(t.ReviewingBy, t.ReviewingGeneration), w.since(t.ReviewLeaseExpires), min(t.ReviewFailures, w.Int("max_review_retries")),
		" prepared ", reserved, " hold ", hold, " gate ", gate, " block ", t.BlockedKind, halt, questions,
		" counts ", t.Iteration, t.MaxIterations, t.ReviewCyclesCurrent, failed, min(t.Failures, 3), min(t.handoffsSinceClaim(), w.Int("max_handoffs")), last,
		" work ", t.Worktree != "", t.BaseCommit != "", t.RestartFrom != "", t.HandoffPending, t.IntegrationFix, t.FixOnto != "", t.ReviewCommit != "",
		t.ApprovedBy != "", t.MergeIntent != nil, i >= 0 && w.inside[i] != "", " waits ", unmet, kept && t.Status == Rejected)
}

// current tells whether a claim is that of the agent's registration.
func (w *world) current(agent, generation string) string {
	switch e := w.Agents[agent]; {
	case generation == "":
		return "-"
	case e == nil || e.Generation != generation:
		return "(former)"
	}
	return ""
}

// since tells how long ago a lease ended, as far as it makes a difference.
func (w *world) since(lease Time) string {
	at, ok := lease.At()
	switch {
	case !ok:
		return "-"
	case w.now.After(at.Add(w.Duration("lease_duration"))):
		return " long over "
	case w.now.After(at.Add(w.Duration("lease_grace"))):
		return " over "
	}
	return " holds "
}

// hours is for seeds of worlds that begin late.
const hours = time.Hour
