package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// recovers is the command after which the recovery of any supervisor has run.
const recovers = "liza run"

func leaseExpired(l *look) {
	for t := range l.State.Tasks() {
		if t.Status == blackboard.Claimed {
			live, why := l.State.ClaimLiveness(t, l.Now, l.Process)
			l.stale(t, live, "held by "+cmp.Or(t.AssignedTo, "nobody")+": "+why)
		}
	}
}

func reviewLeaseExpired(l *look) {
	for t := range l.State.Tasks() {
		if underReview(t) {
			live, why := l.State.ReviewLiveness(t, l.Now, l.Process)
			l.stale(t, live, "under review by "+t.ReviewingBy+": "+why)
		}
	}
}

func underReview(t *blackboard.Task) bool {
	return t.Status == blackboard.ReadyForReview && t.ReviewingBy != ""
}

// stale tells of a claim whose lease is over or whose holder is dead.
func (l *look) stale(t *blackboard.Task, live blackboard.Liveness, text string) {
	if live == blackboard.Expired || live == blackboard.Dead {
		l.raise(t.ID, recovers, "%s; the next agent that asks for work takes it over", text)
	}
}

func livenessUnknown(l *look) {
	for t := range l.State.Tasks() {
		var live blackboard.Liveness
		holder, why := "", ""
		switch {
		case t.Status == blackboard.Claimed:
			holder = t.AssignedTo
			live, why = l.State.ClaimLiveness(t, l.Now, l.Process)
		case underReview(t):
			holder = t.ReviewingBy
			live, why = l.State.ReviewLiveness(t, l.Now, l.Process)
		}
		if live == blackboard.Unknown {
			l.raise(cmp.Or(holder, t.ID), "liza show "+t.ID, "holds %s: %s; nothing is given away", t.ID, why)
		}
	}
}

func reservations(l *look) {
	for t := range l.State.Tasks() {
		if c := t.Claiming; c != nil {
			if at, ok := c.Expires.At(); ok && l.Now.After(at) {
				l.add(Finding{Severity: Info, Subject: t.ID, Next: recovers, Evidence: "reserved until " + string(c.Expires), Text: fmt.Sprintf("the reservation of %s was never confirmed; the next claim overwrites it", c.By)})
			}
		}
	}
}

func blocked(l *look) {
	for t := range l.State.Tasks() {
		if t.Status != blackboard.Blocked {
			continue
		}
		open := QuestionsOf(l.State, t)
		l.add(Finding{Subject: t.ID, Text: t.BlockedFor().Words() + ": " + cmp.Or(t.BlockedReason, "no reason is given"), Questions: open, Next: unblocks(t, open), Show: "liza show " + t.ID})
	}
}

// unblocks is the one command that helps a blocked task most.
func unblocks(t *blackboard.Task, open []Question) string {
	switch {
	case t.Exhausted():
		return supersede(t)
	case t.Halt != nil && t.BlockedKind != blackboard.BlockedByIterations:
		return "liza retry " + t.ID + " --limit " + limitOf(t.Halt)
	case len(open) > 0 && open[0].ID != "" && (t.BlockedKind == blackboard.BlockedByQuestion || t.BlockedKind == blackboard.BlockedStuck || t.BlockedKind == ""):
		return open[0].Next
	}
	return unblock(t.ID)
}

func unblock(id string) string { return fmt.Sprintf("liza retry %s --reason \"TEXT\"", id) }

func supersede(t *blackboard.Task) string {
	return fmt.Sprintf("liza abandon %s --by ID --reason \"TEXT\" --root-cause \"TEXT\"", t.ID)
}

func limitOf(h *blackboard.Halt) string {
	enough := 2 * max(h.Limit, int(math.Ceil(float64(h.Value))))
	switch h.Kind {
	case "cost":
		return fmt.Sprintf("cost_cents=%d", enough)
	case "time":
		return fmt.Sprintf("time_minutes=%d", enough)
	}
	return fmt.Sprintf("max_agent_runs=%d", enough)
}

// QuestionsOf returns the open questions of a task. A board without a section questions has them on the task.
func QuestionsOf(s *blackboard.State, t *blackboard.Task) (list []Question) {
	known := false
	for _, q := range s.Questions {
		if q.Task != t.ID {
			continue
		}
		known = true
		if q.Status == blackboard.QuestionOpen {
			list = append(list, question(q))
		}
	}
	if !known {
		for _, text := range t.BlockedQuestions {
			list = append(list, Question{Text: text, Next: unblock(t.ID)})
		}
	}
	return list
}

func question(q *blackboard.Question) Question {
	text, answer := q.Text, "TEXT"
	if len(q.Options) > 0 {
		text += " [" + strings.Join(q.Options, " / ") + "]"
		answer = q.Options[0]
	}
	return Question{ID: q.ID, Text: text, Next: fmt.Sprintf("liza answer %s %q", q.ID, answer)}
}

// AwaitsMerge reports whether t is approved and waits for a person's approval of its merge.
func AwaitsMerge(t *blackboard.Task) bool {
	return t.Status == blackboard.Approved && t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == ""
}

func mergeApproval(l *look) {
	for t := range l.State.Tasks() {
		next := "liza approve " + t.ID
		switch {
		case AwaitsMerge(t):
			text := "approved by " + cmp.Or(t.ApprovedBy, "a reviewer") + ", waits for your approval of the merge"
			if n := len(l.State.OpenComments(t)); n > 0 {
				text, next = text+"; "+prose.Count(n, "comment")+" on it open", "liza reject "+t.ID
			}
			l.raise(t.ID, next, "%s", text)
		case l.byReviewMode(t):
			l.add(Finding{Subject: t.ID, Next: transition.DecisionOn(l.State, t), Text: "submitted; review.mode is disabled, so you decide", faces: wait})
		}
	}
}

// byReviewMode reports whether a person judges t because no reviewer does.
func (l *look) byReviewMode(t *blackboard.Task) bool {
	return t.Status == blackboard.ReadyForReview && l.ReviewMode == blackboard.ReviewDisabled
}

func quorumOpen(l *look) {
	for t := range l.State.Tasks() {
		if why := l.State.NobodyLeft(t); why != "" && t.Hold == nil {
			f := Finding{Subject: t.ID, Next: "liza approve " + t.ID, Text: t.ApprovalsText() + "; " + why + ", so you decide"}
			if l.byReviewMode(t) {
				f.faces = alert
			}
			l.add(f)
		}
	}
}

// OnHold says who holds t, and why; "" when it is not on hold.
func OnHold(t *blackboard.Task) string {
	if t.Hold == nil {
		return ""
	}
	return fmt.Sprintf("on hold by %s: %s", cmp.Or(t.Hold.By, "somebody"), t.Hold.Reason)
}

func heldBySystem(l *look) { l.holds(true) }
func held(l *look)         { l.holds(false) }

func (l *look) holds(system bool) {
	for t := range l.State.Tasks() {
		if t.Hold == nil || (t.Hold.By == blackboard.System) != system {
			continue
		}
		f := Finding{Subject: t.ID, Next: "liza resume " + t.ID, Text: OnHold(t)}
		if t.Status.Terminal() || t.Status == blackboard.Blocked || AwaitsMerge(t) || l.byReviewMode(t) {
			f.faces = alert // a view of the board names what decides first
		}
		if system || f.faces == 0 {
			l.add(f)
		}
	}
}

func drafts(l *look) {
	var ids []string
	for t := range l.State.Tasks() {
		if t.Status == blackboard.Draft {
			ids = append(ids, t.ID)
		}
	}
	if l.HumanReview && len(ids) > 0 {
		l.raise("", "liza approve "+strings.Join(ids, " "), "%d planned tasks wait for your review: %s", len(ids), few(ids))
	}
}

func staleDraft(l *look) {
	limit := l.State.Duration("alert_stale_draft")
	for t := range l.State.Tasks() {
		created, ok := t.Created.At()
		if t.Status == blackboard.Draft && ok && l.age(created) >= limit {
			l.raise(t.ID, "liza approve "+t.ID, "DRAFT since %s", t.Created)
		}
	}
}

// orphanedRejected leaves out what is on hold: that nobody takes it is what was wanted.
func orphanedRejected(l *look) {
	limit := l.State.Duration("alert_orphaned_rejected")
	for t := range l.State.Tasks() {
		if t.Status != blackboard.Rejected || t.Hold != nil {
			continue
		}
		if !l.live(blackboard.RoleCoder) {
			l.raise(t.ID, recovers, "rejected, and no coder is live")
		} else if since := l.age(LastChange(t)); since >= limit {
			l.raise(t.ID, "", "rejected %s ago, and no coder claimed it", Short(since))
		}
	}
}

// reviewLoop needs a rejection: with a limit of one cycle every task would be in a loop.
func reviewLoop(l *look) {
	for t := range l.State.Tasks() {
		limit := t.MaxReviewCycles
		if limit <= 0 {
			limit = l.State.Int("max_review_cycles")
		}
		if n := t.ReviewCyclesCurrent; n > 0 && n >= limit-1 && inWork(t) {
			l.raise(t.ID, "", "%d of %d review cycles are used", n, limit)
		}
	}
}

// inWork reports whether a task may go on by itself.
func inWork(t *blackboard.Task) bool { return !t.Status.Terminal() && t.Status != blackboard.Blocked }

func approachingLimit(l *look) {
	for t := range l.State.Tasks() {
		var near []string
		limit := t.MaxIterations
		if limit <= 0 {
			limit = l.State.Int("max_coder_iterations")
		}
		if t.Status == blackboard.Claimed && reached(blackboard.Amount(t.Iteration), limit, 80) {
			near = append(near, figures(blackboard.Amount(t.Iteration), limit, "iterations"))
		}
		if u := t.Usage; u != nil && inWork(t) {
			for _, x := range usageLimits(u) {
				if limit := transition.LimitOf(l.State, t, x.key); reached(x.value, limit, 75) {
					near = append(near, figures(x.value, limit, x.unit))
				}
			}
		}
		if len(near) > 0 {
			l.raise(t.ID, "liza show "+t.ID, "%s are used", strings.Join(near, ", "))
		}
	}
}

func hypothesisExhausted(l *look) {
	for t := range l.State.Tasks() {
		if t.Exhausted() && !t.Status.Terminal() {
			l.raise(t.ID, supersede(t), "%d failures, by %s: it has to be divided again", max(t.Failures, len(t.FailedBy)), cmp.Or(strings.Join(t.FailedBy, ", "), "its coder"))
		}
	}
}

func integrationFailed(l *look) {
	for t := range l.State.Tasks() {
		if t.Status == blackboard.IntegrationFailed {
			text := "it cannot be merged as it is"
			if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil {
				text = cmp.Or(h.Reason, text) + prose.After(": ", strings.Join(h.Files, ", ")) + prose.After(", see ", h.Log)
			}
			l.raise(t.ID, "", "%s", text)
		}
	}
}

// mergedUnverified sums up the merges of work that no check has verified.
func mergedUnverified(l *look) {
	if text := blackboard.UnverifiedText(l.State.TaskList()); text != "" {
		l.raise("", "liza check", "%s: their checks are red before and after, or could not run", text)
	}
}

func reassigned(l *look) {
	for t := range l.State.Tasks() {
		if t.Status != blackboard.Claimed {
			continue
		}
		for _, h := range slices.Backward(t.History) {
			if !blackboard.IsClaimEvent(h.Event) {
				continue
			}
			if h.PreviousAssignee != "" && h.PreviousAssignee != t.AssignedTo {
				l.raise(t.ID, "", "claimed by %s; it was %s's before", t.AssignedTo, h.PreviousAssignee)
			}
			break
		}
	}
}

func specChanged(l *look) {
	if l.SpecHash == nil {
		return
	}
	for t := range l.State.Tasks() {
		if t.Status != blackboard.Claimed && t.Status != blackboard.ReadyForReview || t.SpecHash == "" {
			continue
		}
		if now := l.SpecHash(t.SpecRef); now != "" && now != t.SpecHash {
			l.raise(t.ID, "", "%s changed after the task was claimed", t.SpecRef)
		}
	}
}

func overlap(l *look) {
	for t := range l.State.Tasks() {
		for _, o := range transition.Overlaps(l.State, t) {
			l.raise(t.ID, "liza diff "+o.Other.ID, "%s", o)
		}
	}
}

// crashed tells of tasks whose last run ended by a crash. A blocked one says so itself.
func crashed(l *look) {
	const outcome = "crashed" // of an attempt whose program ended by itself without an answer
	for t := range l.State.Tasks() {
		n := 0
		for _, a := range slices.Backward(t.Attempts) {
			if a.Outcome != outcome {
				break
			}
			n++
		}
		if n == 0 || !inWork(t) {
			continue
		}
		last, times := t.Attempts[len(t.Attempts)-1], "the last run"
		if n > 1 {
			times = fmt.Sprintf("the last %d runs", n)
		}
		l.raise(t.ID, "liza show "+t.ID, "%s crashed (%s): %s", times, cmp.Or(last.Agent, "an agent"), cmp.Or(strings.TrimSpace(last.Summary), "without a word"))
	}
}

func nothingMerged(l *look) {
	if len(l.tasks) == 0 {
		return
	}
	for t := range l.State.Tasks() {
		if !t.Status.Terminal() || t.Status == blackboard.Merged && !t.AfterPlan {
			return
		}
	}
	for _, was := range l.State.ArchivedNow() {
		if was == blackboard.Merged {
			return
		}
	}
	l.raise(l.sprintID(), "liza tell planner TEXT", "every task is terminal and none was merged")
}
