package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

func (l *look) sprintID() string {
	if l.State.Sprint == nil {
		return "sprint"
	}
	return cmp.Or(l.State.Sprint.ID, "sprint")
}

// sprintIs reports whether the sprint, of a goal that is not over, has one of the statuses.
func (f Observation) sprintIs(statuses ...string) bool {
	return f.sprintStatus(statuses...) && (f.State.Goal == nil || f.State.Goal.Status == blackboard.InProgress)
}

func (f Observation) sprintStatus(statuses ...string) bool {
	return f.State != nil && f.State.Sprint != nil && slices.Contains(statuses, f.State.Sprint.Status)
}

func stalled(l *look) {
	if !l.sprintIs(blackboard.InProgress) || len(l.Orders) > 0 {
		return
	}
	if since := l.age(l.LastActivity); since >= 0 && since >= l.State.Duration("alert_stalled") {
		l.raise(l.sprintID(), "liza status", "nothing happened for %s: no log entry and no output", Short(since))
	}
}

func breakerTriggered(l *look) {
	if cb := l.State.CircuitBreaker; cb == nil || cb.Status != blackboard.BreakerTripped {
		return
	}
	text := "the circuit breaker was triggered"
	if x := l.State.CircuitBreaker.CurrentTrigger; x != nil {
		text += ": " + x.Pattern + prose.After(" (", x.Severity)
		if x.Severity != "" {
			text += ")"
		}
		text += prose.After(", see ", x.ReportFile)
	}
	l.raise("circuit_breaker", "liza resume", "%s", text)
}

// stopped tells of every control file, and of a sprint that stands still without one.
func stopped(l *look) {
	for _, o := range l.Orders {
		l.raise(string(o.Control), "liza resume", "%s", o)
	}
	if l.sprintStatus(blackboard.AtCheckpoint, blackboard.Aborted) && len(l.Orders) == 0 {
		l.raise("sprint", "liza resume", "the sprint is %s", l.State.Sprint.Status)
	}
}

// checkpointOpen is for a checkpoint from its first moment; when it is old the alerts below take its place.
func checkpointOpen(l *look) {
	if o, there := l.order(project.Checkpoint); there && !l.isOld(project.Checkpoint, "alert_checkpoint_stale") {
		l.raise(string(o.Control), "liza resume", "%s", o)
	}
}

func checkpointStale(l *look)     { l.old(project.Checkpoint, "alert_checkpoint_stale") }
func checkpointStuck(l *look)     { l.old(project.Checkpoint, "alert_checkpoint_stuck") }
func checkpointAbandoned(l *look) { l.old(project.Checkpoint, "alert_checkpoint_abandoned") }
func pauseStale(l *look)          { l.old(project.Pause, "alert_pause_stale") }
func pauseForgotten(l *look)      { l.old(project.Pause, "alert_pause_forgotten") }

// old finds a control file that is as old as the setting key says.
func (l *look) old(c project.Control, key string) {
	if o, _ := l.order(c); l.isOld(c, key) {
		l.raise(string(c), "liza resume", "%s", o)
	}
}

func (f Observation) order(c project.Control) (project.Order, bool) {
	i := slices.IndexFunc(f.Orders, func(o project.Order) bool { return o.Control == c })
	if i < 0 {
		return project.Order{}, false
	}
	return f.Orders[i], true
}

func (f Observation) isOld(c project.Control, key string) bool {
	o, there := f.order(c)
	return there && f.State != nil && f.Now.Sub(o.Modified) >= f.State.Duration(key)
}

// goalComplete is not about what is wrong: a person decides what comes next.
func goalComplete(l *look) {
	if g := l.State.Goal; g != nil && g.Status == blackboard.Completed {
		l.raise("", "liza goal \"TEXT\"", "the goal is complete; the work is on %s", l.State.IntegrationBranch())
	}
}

// Deadline is that of the sprint; ok is false when it has none.
func (f Observation) Deadline() (at time.Time, ok bool) {
	if f.State == nil || f.State.Sprint == nil || f.State.Sprint.Timeline == nil {
		return time.Time{}, false
	}
	return f.State.Sprint.Timeline.Deadline.At()
}

func deadlineNear(l *look) {
	end, ok := l.Deadline()
	if !ok || !l.sprintIs(blackboard.InProgress, blackboard.AtCheckpoint) {
		return
	}
	started, ok := l.State.Sprint.Timeline.Started.At()
	if ok && !l.Now.Before(end.Add(-end.Sub(started)/10)) {
		l.raise(l.sprintID(), "", "the deadline is %s", l.State.Sprint.Timeline.Deadline)
	}
}

func deadlinePassed(l *look) {
	if end, ok := l.Deadline(); ok && l.sprintIs(blackboard.InProgress) && !l.Now.Before(end) {
		l.raise(l.sprintID(), "", "the deadline %s has passed", l.State.Sprint.Timeline.Deadline)
	}
}

// DeadlineDue reports whether the sprint has to be stopped for its deadline: that has passed,
// the sprint is IN_PROGRESS, and it was not stopped for this deadline before.
func DeadlineDue(f Observation) bool {
	end, ok := f.Deadline()
	if !ok || !f.sprintIs(blackboard.InProgress) || f.Now.Before(end) {
		return false
	}
	for _, o := range f.Orders {
		if o.Control != project.Pause {
			return false
		}
	}
	for _, x := range f.State.Sprint.Checkpoints {
		if x.Cause != blackboard.CauseDeadline {
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
func Escalation(f Observation) string {
	if !f.isOld(project.Checkpoint, "alert_checkpoint_stuck") && !f.isOld(project.Checkpoint, "alert_checkpoint_abandoned") {
		return ""
	}
	o, _ := f.order(project.Checkpoint)
	var b strings.Builder
	fmt.Fprintf(&b, "time: %s\nage: %s\nmessage: %s\n", blackboard.TimeOf(f.Now), Short(f.Now.Sub(o.Modified)), prose.OneLine(o.Reason, 500))
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
			list = append(list, prose.OneLine(fmt.Sprintf("%s (%s): %s", q.ID, cmp.Or(q.Task, "planner"), q.Text), 500))
		}
	}
	for t := range s.Tasks() {
		if t.Status == blackboard.Blocked && !listed[t.ID] {
			for _, q := range t.BlockedQuestions {
				list = append(list, prose.OneLine(t.ID+": "+q, 500))
			}
		}
	}
	return list
}

func rubberStamp(l *look) {
	if l.State.Sprint == nil || l.State.Sprint.Metrics == nil {
		return
	}
	m := l.State.Sprint.Metrics
	if n, all := m.ReviewVerdictApprovals, m.ReviewVerdictCount; all >= 5 && 100*n > 95*all {
		l.raise(l.sprintID(), "", "%d of %d verdicts are approvals: are reviews real?", n, all)
	}
}

// cost has two steps for each limit of the sprint and of the day: a warning at 75 %, an
// error at 100 %.
func cost(l *look) {
	u := l.State.Usage
	if u == nil {
		return
	}
	for _, x := range usageLimits(u) {
		l.used("sprint_"+x.key, "sprint", x.unit, x.value)
	}
	l.used("day_cost_cents", "day", "cents", transition.CostOf(u, l.Now))
}

// used raises the steps of one limit that are reached.
func (l *look) used(key, span, unit string, value blackboard.Amount) {
	limit := l.State.Int(key)
	for _, step := range []struct {
		percent  int
		severity string
	}{{75, Warning}, {100, Error}} {
		if reached(value, limit, step.percent) {
			l.add(Finding{Severity: step.severity, Subject: fmt.Sprintf("%s/%d%%", key, step.percent), Text: fmt.Sprintf("%s of the %s are used", figures(value, limit, unit), span)})
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
