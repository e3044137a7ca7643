package watch

import (
	"cmp"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

func leaseExpired(c *check) {
	for t := range c.each() {
		if t.Status != blackboard.Claimed {
			continue
		}
		if live, why := c.State.ClaimLiveness(t, c.Now, c.Process); live == blackboard.Expired || live == blackboard.Dead {
			c.raise(t.ID, "held by %s: %s", cmp.Or(t.AssignedTo, "nobody"), why)
		}
	}
}

func reviewLeaseExpired(c *check) {
	for t := range c.each() {
		if t.Status != blackboard.ReadyForReview || t.ReviewingBy == "" {
			continue
		}
		if live, why := c.State.ReviewLiveness(t, c.Now, c.Process); live == blackboard.Expired || live == blackboard.Dead {
			c.raise(t.ID, "under review by %s: %s", t.ReviewingBy, why)
		}
	}
}

func livenessUnknown(c *check) {
	for t := range c.each() {
		var live blackboard.Liveness
		holder, why := "", ""
		switch {
		case t.Status == blackboard.Claimed:
			holder = t.AssignedTo
			live, why = c.State.ClaimLiveness(t, c.Now, c.Process)
		case t.Status == blackboard.ReadyForReview && t.ReviewingBy != "":
			holder = t.ReviewingBy
			live, why = c.State.ReviewLiveness(t, c.Now, c.Process)
		}
		if live == blackboard.Unknown {
			c.raise(cmp.Or(holder, t.ID), "holds %s: %s; nothing is given away", t.ID, why)
		}
	}
}

func blocked(c *check) {
	for t := range c.each() {
		if t.Status != blackboard.Blocked {
			continue
		}
		text := t.BlockedFor().Words() + ": " + cmp.Or(t.BlockedReason, "no reason is given")
		for _, q := range t.BlockedQuestions {
			text += " / " + q
		}
		c.raise(t.ID, "%s; next: liza show %s", text, t.ID)
	}
}

func mergeApproval(c *check) {
	for t := range c.each() {
		if a := t.MergeApproval; t.Status == blackboard.Approved && a != nil && a.Required && a.Decision == "" {
			c.raise(t.ID, "approved by %s, waits for a person; next: liza approve-merge %s", cmp.Or(t.ApprovedBy, "a reviewer"), t.ID)
		}
	}
}

func quorumOpen(c *check) {
	for t := range c.each() {
		if why := c.State.NobodyLeft(t); why != "" && t.Hold == nil {
			c.raise(t.ID, "%s, and %s; next: liza approve-merge %s", t.ApprovalsText(), why, t.ID)
		}
	}
}

// orphanedRejected leaves out what is on hold: that nobody takes it is what was wanted.
func orphanedRejected(c *check) {
	limit := c.State.Duration("alert_orphaned_rejected")
	for t := range c.each() {
		if t.Status != blackboard.Rejected || t.Hold != nil {
			continue
		}
		if !c.live(blackboard.RoleCoder) {
			c.raise(t.ID, "rejected, and no coder is live; next: liza run")
		} else if since := c.age(lastChange(t)); since >= limit {
			c.raise(t.ID, "rejected %s ago, and no coder claimed it", short(since))
		}
	}
}

// reviewLoop needs a rejection: with a limit of one cycle every task would be in a loop.
func reviewLoop(c *check) {
	for t := range c.each() {
		limit := t.MaxReviewCycles
		if limit <= 0 {
			limit = c.State.Int("max_review_cycles")
		}
		if n := t.ReviewCyclesCurrent; n > 0 && n >= limit-1 && inWork(t) {
			c.raise(t.ID, "%d of %d review cycles are used", n, limit)
		}
	}
}

// inWork reports whether a task may go on by itself.
func inWork(t *blackboard.Task) bool { return !t.Status.Terminal() && t.Status != blackboard.Blocked }

func approachingLimit(c *check) {
	for t := range c.each() {
		var near []string
		limit := t.MaxIterations
		if limit <= 0 {
			limit = c.State.Int("max_coder_iterations")
		}
		if t.Status == blackboard.Claimed && reached(blackboard.Amount(t.Iteration), limit, 80) {
			near = append(near, figures(blackboard.Amount(t.Iteration), limit, "iterations"))
		}
		if u := t.Usage; u != nil && inWork(t) {
			for _, x := range usageLimits(u) {
				if limit := transition.LimitOf(c.State, t, x.key); reached(x.value, limit, 75) {
					near = append(near, figures(x.value, limit, x.unit))
				}
			}
		}
		if len(near) > 0 {
			c.raise(t.ID, "%s are used; next: liza show %s", strings.Join(near, ", "), t.ID)
		}
	}
}

func hypothesisExhausted(c *check) {
	for t := range c.each() {
		if t.Exhausted() && !t.Status.Terminal() {
			c.raise(t.ID, "%d failures, by %s: it has to be divided again; next: liza supersede %s --by ID --reason TEXT --root-cause TEXT",
				max(t.Failures, len(t.FailedBy)), cmp.Or(strings.Join(t.FailedBy, ", "), "its coder"), t.ID)
		}
	}
}

func integrationFailed(c *check) {
	for t := range c.each() {
		if t.Status != blackboard.IntegrationFailed {
			continue
		}
		text := "it cannot be merged as it is"
		for _, h := range slices.Backward(t.History) {
			if h == nil || h.Event != blackboard.HistoryIntegrationFailed {
				continue
			}
			text = cmp.Or(h.Reason, text)
			if len(h.Files) > 0 {
				text += ": " + strings.Join(h.Files, ", ")
			}
			if h.Log != "" {
				text += ", see " + h.Log
			}
			break
		}
		c.raise(t.ID, "%s", text)
	}
}

func integrationCheckedOut(c *check) {
	if c.CheckedOutAt == "" {
		return
	}
	for t := range c.each() {
		a := t.MergeApproval
		waits := t.Hold != nil || a != nil && a.Required && a.Decision != blackboard.GateApproved
		if t.Status == blackboard.Approved && t.ChangesFiles() && !waits {
			c.raise(t.ID, "it cannot be merged: %s is checked out in %s; next: git -C %s switch OTHER", c.State.IntegrationBranch(), c.CheckedOutAt, c.CheckedOutAt)
		}
	}
}

func reassigned(c *check) {
	for t := range c.each() {
		if t.Status != blackboard.Claimed {
			continue
		}
		for _, h := range slices.Backward(t.History) {
			if h == nil || !blackboard.IsClaimEvent(h.Event) {
				continue
			}
			if h.PreviousAssignee != "" && h.PreviousAssignee != t.AssignedTo {
				c.raise(t.ID, "claimed by %s; it was %s's before", t.AssignedTo, h.PreviousAssignee)
			}
			break
		}
	}
}

func staleDraft(c *check) {
	limit := c.State.Duration("alert_stale_draft")
	for t := range c.each() {
		created, ok := t.Created.At()
		if t.Status == blackboard.Draft && ok && c.age(created) >= limit {
			c.raise(t.ID, "DRAFT since %s; next: liza finalize %s", t.Created, t.ID)
		}
	}
}

func specChanged(c *check) {
	if c.SpecHash == nil {
		return
	}
	for t := range c.each() {
		if t.Status != blackboard.Claimed && t.Status != blackboard.ReadyForReview || t.SpecHash == "" {
			continue
		}
		if now := c.SpecHash(t.SpecRef); now != "" && now != t.SpecHash {
			c.raise(t.ID, "%s changed after the task was claimed", t.SpecRef)
		}
	}
}

func heldBySystem(c *check) {
	for t := range c.each() {
		if h := t.Hold; h != nil && h.By == blackboard.System {
			c.raise(t.ID, "on hold since %s: %s; next: liza unhold %s", h.At, h.Reason, t.ID)
		}
	}
}

func nothingMerged(c *check) {
	if len(c.tasks) == 0 {
		return
	}
	for t := range c.each() {
		if !t.Status.Terminal() || t.Status == blackboard.Merged && !t.AfterPlan {
			return
		}
	}
	for _, was := range c.State.ArchivedNow() {
		if was == blackboard.Merged {
			return
		}
	}
	c.raise(c.sprintID(), "every task is terminal and none was merged; next: liza note TEXT")
}
