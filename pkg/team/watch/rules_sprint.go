package watch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

func (c *check) sprintID() string {
	if c.State.Sprint == nil {
		return "sprint"
	}
	return cmp.Or(c.State.Sprint.ID, "sprint")
}

// sprintIs reports whether the sprint, of a goal that is not over, has one of the statuses.
func (f Facts) sprintIs(statuses ...string) bool {
	if f.State == nil || f.State.Sprint == nil || f.State.Goal != nil && f.State.Goal.Status != blackboard.InProgress {
		return false
	}
	return blackboard.List(statuses).Has(f.State.Sprint.Status)
}

func stalled(c *check) {
	if !c.sprintIs(blackboard.InProgress) || c.Checkpoint != nil || c.Pause != nil || c.Abort {
		return
	}
	if since := c.age(c.LastActivity); since >= 0 && since >= c.State.Duration("alert_stalled") {
		c.raise(c.sprintID(), "nothing happened for %s: no log entry and no output; next: liza status", short(since))
	}
}

func breakerTriggered(c *check) {
	cb := c.State.CircuitBreaker
	if cb == nil || cb.Status != blackboard.BreakerTripped {
		return
	}
	text := "the circuit breaker is TRIGGERED"
	if x := cb.CurrentTrigger; x != nil {
		text += fmt.Sprintf(": %s (%s), see %s", x.Pattern, x.Severity, cmp.Or(x.ReportFile, "liza status"))
	}
	c.raise("circuit_breaker", "%s; next: liza ack", text)
}

// checkpointOpen is for a checkpoint from its first moment; when it is old the alerts below take its place.
func checkpointOpen(c *check) {
	if c.Checkpoint == nil || c.isOld(c.Checkpoint, "alert_checkpoint_stale") {
		return
	}
	text := "the team waits"
	if c.Checkpoint.Reason != "" {
		text += ": " + c.Checkpoint.Reason
	}
	c.raise("CHECKPOINT", "%s; next: liza resume", text)
}

func checkpointStale(c *check)     { c.old("CHECKPOINT", c.Checkpoint, "alert_checkpoint_stale") }
func checkpointStuck(c *check)     { c.old("CHECKPOINT", c.Checkpoint, "alert_checkpoint_stuck") }
func checkpointAbandoned(c *check) { c.old("CHECKPOINT", c.Checkpoint, "alert_checkpoint_abandoned") }
func pauseStale(c *check)          { c.old("PAUSE", c.Pause, "alert_pause_stale") }
func pauseForgotten(c *check)      { c.old("PAUSE", c.Pause, "alert_pause_forgotten") }

// old raises an alert when the control file is as old as the threshold.
func (c *check) old(name string, o *Order, key string) {
	if !c.isOld(o, key) {
		return
	}
	text := fmt.Sprintf("it waits since %s", blackboard.TimeOf(o.Modified))
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	c.raise(name, "%s; next: liza resume", text)
}

func (f Facts) isOld(o *Order, key string) bool {
	return o != nil && f.State != nil && f.Now.Sub(o.Modified) >= f.State.Duration(key)
}

// deadline of the sprint; ok is false when it has none.
func (f Facts) deadline() (at time.Time, ok bool) {
	if f.State == nil || f.State.Sprint == nil || f.State.Sprint.Timeline == nil {
		return time.Time{}, false
	}
	return f.State.Sprint.Timeline.Deadline.At()
}

func deadlineNear(c *check) {
	end, ok := c.deadline()
	if !ok || !c.sprintIs(blackboard.InProgress, blackboard.AtCheckpoint) {
		return
	}
	started, ok := c.State.Sprint.Timeline.Started.At()
	if ok && !c.Now.Before(end.Add(-end.Sub(started)/10)) {
		c.raise(c.sprintID(), "the deadline is %s", c.State.Sprint.Timeline.Deadline)
	}
}

func deadlinePassed(c *check) {
	if end, ok := c.deadline(); ok && c.sprintIs(blackboard.InProgress) && !c.Now.Before(end) {
		c.raise(c.sprintID(), "the deadline %s has passed", c.State.Sprint.Timeline.Deadline)
	}
}

// DeadlineMessage is the message of the checkpoint at a sprint's deadline (specs/protocol.md#10.3).
const DeadlineMessage = "deadline"

// DeadlineDue reports whether the sprint has to be stopped for its deadline: that has passed,
// the sprint is IN_PROGRESS, and it was not stopped for this deadline before.
func DeadlineDue(f Facts) bool {
	end, ok := f.deadline()
	if !ok || !f.sprintIs(blackboard.InProgress) || f.Checkpoint != nil || f.Abort || f.Now.Before(end) {
		return false
	}
	for _, x := range f.State.Sprint.Checkpoints {
		if x.Message != DeadlineMessage {
			continue
		}
		if at, ok := x.At.At(); ok && !at.Before(end) {
			return false
		}
	}
	return true
}

// Escalation is the text of .liza/ESCALATION (specs/protocol.md#10.4), "" as long as no checkpoint
// waits for too long.
func Escalation(f Facts) string {
	if !f.isOld(f.Checkpoint, "alert_checkpoint_stuck") && !f.isOld(f.Checkpoint, "alert_checkpoint_abandoned") {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "time: %s\nage: %s\nmessage: %s\n", blackboard.TimeOf(f.Now), short(f.Now.Sub(f.Checkpoint.Modified)), line(f.Checkpoint.Reason))
	if open := openQuestions(f.State); len(open) > 0 {
		b.WriteString("open questions:\n")
		for _, q := range open {
			b.WriteString("- " + q + "\n")
		}
	}
	b.WriteString("next: liza resume\n")
	return b.String()
}

// openQuestions are those of the list, and those of blocked tasks that have none there.
func openQuestions(s *blackboard.State) []string {
	var list []string
	listed := map[string]bool{}
	for _, q := range s.Questions {
		listed[q.Task] = true
		if q.Status == blackboard.QuestionOpen {
			list = append(list, line(fmt.Sprintf("%s (%s): %s", q.ID, cmp.Or(q.Task, "planner"), q.Text)))
		}
	}
	for t := range s.Tasks() {
		if t.Status == blackboard.Blocked && !listed[t.ID] {
			for _, q := range t.BlockedQuestions {
				list = append(list, line(t.ID+": "+q))
			}
		}
	}
	return list
}

func rubberStamp(c *check) {
	if c.State.Sprint == nil || c.State.Sprint.Metrics == nil {
		return
	}
	m := c.State.Sprint.Metrics
	if n, all := m.ReviewVerdictApprovals, m.ReviewVerdictCount; all >= 5 && 100*n > 95*all {
		c.raise(c.sprintID(), "%d of %d verdicts are approvals: are reviews real?", n, all)
	}
}

// cost has two steps for each limit of the sprint and of the day: a warning at 75 %, an
// error at 100 %.
func cost(c *check) {
	u := c.State.Usage
	if u == nil {
		return
	}
	for _, x := range usageLimits(u) {
		c.used("sprint_"+x.key, "sprint", x.unit, x.value)
	}
	c.used("day_cost_cents", "day", "cents", transition.CostOf(u, c.Now))
}

// used raises the steps of one limit that are reached.
func (c *check) used(key, span, unit string, value blackboard.Amount) {
	limit := c.State.Int(key)
	for _, step := range []struct {
		percent  int
		severity string
	}{{75, Warning}, {100, Error}} {
		if reached(value, limit, step.percent) {
			c.raiseAs(step.severity, fmt.Sprintf("%s/%d%%", key, step.percent), "%s of the %s are used", figures(value, limit, unit), span)
		}
	}
}

type usageLimit struct {
	key, unit string
	value     blackboard.Amount
}

func usageLimits(u *blackboard.Usage) []usageLimit {
	return []usageLimit{{"cost_cents", "cents", u.CostCents}, {"time_minutes", "minutes", blackboard.Amount(u.Seconds / 60)}, {"tokens", "tokens", blackboard.Amount(u.TokensIn + u.TokensOut)}}
}

// reached reports whether value is that part of a limit; 0 means no limit.
func reached(value blackboard.Amount, limit, percent int) bool {
	return limit > 0 && 100*value >= blackboard.Amount(percent*limit)
}

func figures(value blackboard.Amount, limit int, unit string) string {
	return fmt.Sprintf("%s of %d %s", value, limit, unit)
}

// baselineRed has the last lines, so that people see at once what it is.
func baselineRed(c *check) {
	for _, r := range c.Red {
		lines := strings.Split(strings.TrimSpace(r.Tail), "\n")
		lines = lines[max(0, len(lines)-5):]
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		c.raise(r.Check, "%q fails on %.9s without any change of an agent: %s; the log is %s", r.Command, r.Commit, strings.Join(lines, " / "), r.Log)
	}
}
