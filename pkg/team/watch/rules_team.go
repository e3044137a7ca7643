package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// orphanProcess waits until the registration's lease is over: anyone who finds it dead stops
// the program first and ends the lease after it (specs/protocol.md#5.1 A13, 6.4).
func orphanProcess(c *check) {
	if c.Process.Running == nil {
		return
	}
	for _, id := range c.agents() {
		a := c.State.Agents[id]
		until, ok := a.LeaseExpires.At()
		if a.Child == nil || a.Host != c.Process.Host || a.BootID != c.Process.BootID || !ok || !c.Now.After(until.Add(c.State.Duration("lease_grace"))) {
			continue
		}
		if running, known := c.Process.Running(a.Child.PID, a.Child.PIDStart); known && running {
			c.raise(id, "its program, process %d, still runs; next: liza doctor", a.Child.PID)
		}
	}
}

func questionOpen(c *check) {
	for _, q := range c.State.Questions {
		if q.Status != blackboard.QuestionOpen {
			continue
		}
		if t := c.tasks[q.Task]; t == nil || t.Status != blackboard.Blocked {
			c.raise(q.ID, "%s asks: %s; next: liza answer %s TEXT", cmp.Or(q.Agent, "the planner"), q.Text, q.ID)
		}
	}
}

func immediateDiscovery(c *check) {
	for _, d := range c.State.Discovered {
		if d.Urgency == "immediate" && d.ConvertedToTask == "" && d.Deferred == nil {
			c.raise(d.ID, "%s", d.Description)
		}
	}
}

func systemAmbiguity(c *check) {
	for _, a := range transition.Ambiguities(c.State) {
		c.raise(a.ID, "%s found the rules unclear: %s; next: liza note 'TEXT'", cmp.Or(a.Reporter, "somebody"), transition.Unclear(a))
	}
}

// plannerStuck counts a trigger whose launches are used up as suppressed also when the
// last launch never came to its end.
func plannerStuck(c *check) {
	if c.State.Planner == nil {
		return
	}
	for _, t := range transition.Triggers(c.State, c.Triggers, c.Now) {
		r := c.State.Planner.Triggers[string(t.Kind)]
		if r == nil || r.Fingerprint != t.Fingerprint {
			continue
		}
		spent := r.Launches >= c.State.Int("planner_retries") && !c.planning()
		if r.Suppressed || spent {
			c.raise(string(t.Kind), "the planner was launched %d times without effect for %s; next: liza note TEXT", r.Launches, strings.Join(t.IDs, ", "))
		}
	}
}

func (c *check) planning() bool {
	for _, id := range c.agents() {
		if c.State.Agents[id].Status != blackboard.AgentPlanning {
			continue
		}
		if v, _ := c.State.Liveness(id, c.Now, c.Process); v == blackboard.Alive || v == blackboard.Unknown {
			return true
		}
	}
	return false
}

// noAgentFor is how long work of a role may wait for a first agent.
const noAgentFor = 120 * time.Second

func noAgent(c *check) {
	if c.Checkpoint != nil || c.Pause != nil || c.Abort {
		return
	}
	for _, role := range []blackboard.Role{blackboard.RolePlanner, blackboard.RoleCoder, blackboard.RoleReviewer} {
		if c.live(role) {
			continue
		}
		what, since := c.workFor(role)
		if what == "" {
			continue
		}
		if left := c.lastAgent(role); left.After(since) {
			since = left
		}
		if waited := c.age(since); waited >= noAgentFor {
			name := strings.ReplaceAll(string(role), "_", "-")
			c.raise(string(role), "%s waits for %s, and no %s is live; next: liza run, or liza-agent %s", what, short(waited), name, name)
		}
	}
}

// workFor is something that an agent of the role could take up now, and since when.
func (c *check) workFor(role blackboard.Role) (what string, since time.Time) {
	probe := transition.Actor{ID: transition.FreeAgentID(c.State, role, c.Now), Facts: c.Process}
	var t *blackboard.Task
	switch role {
	case blackboard.RoleCoder:
		t, _ = transition.NextTask(c.State, probe, c.Input, c.Now)
	case blackboard.RoleReviewer:
		t, _ = transition.NextReview(c.State, probe, c.Input, c.Now)
	default:
		due, _ := transition.DueTriggers(c.State, c.Triggers, c.Now)
		if len(due) == 0 || !c.sprintIs(blackboard.InProgress) {
			return "", time.Time{}
		}
		return string(due[0].Kind), c.triggerSince(due[0])
	}
	if t == nil {
		return "", time.Time{}
	}
	since = lastChange(t)
	for _, id := range t.DependsOn {
		if d := c.tasks[id]; d != nil && lastChange(d).After(since) {
			since = lastChange(d)
		}
	}
	return t.ID, since
}

// triggerSince is when the oldest of what a trigger is about came up.
func (c *check) triggerSince(t transition.Trigger) time.Time {
	var oldest time.Time
	consider := func(at time.Time, ok bool) {
		if ok && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	for _, id := range t.IDs {
		if task := c.tasks[id]; task != nil {
			consider(lastChange(task), true)
		}
		if _, at, ok := strings.Cut(id, "@"); ok { // a spec change
			consider(blackboard.Time(at).At())
		}
	}
	for _, d := range c.State.Discovered {
		if slices.Contains(t.IDs, d.ID) {
			consider(d.Created.At())
		}
	}
	for _, n := range c.State.HumanNotes {
		if slices.Contains(t.IDs, n.ID) {
			consider(n.Timestamp.At())
		}
	}
	for _, q := range c.State.Questions {
		if slices.Contains(t.IDs, q.ID) {
			consider(q.AnsweredAt.At())
		}
	}
	if oldest.IsZero() && c.State.Goal != nil {
		oldest, _ = c.State.Goal.Created.At()
	}
	return oldest
}

// lastAgent is when the last agent of a role was there: the end of its lease, or what the
// journal says of those that left.
func (c *check) lastAgent(role blackboard.Role) time.Time {
	last := c.Left[role]
	for _, id := range c.agents() {
		a := c.State.Agents[id]
		if a.Role != role {
			continue
		}
		for _, x := range []blackboard.Time{a.Heartbeat, a.LeaseExpires} {
			if at, ok := x.At(); ok && at.After(last) && !at.After(c.Now) {
				last = at
			}
		}
	}
	return last
}

func crashLoop(c *check) {
	for _, g := range c.GaveUp {
		c.raise(g.Agent, "its supervisor gave up at %s: %s", blackboard.TimeOf(g.At), cmp.Or(g.Detail, fmt.Sprintf("%d crashes", c.State.Int("crash_limit"))))
	}
}

func roleUnusable(c *check) {
	for _, u := range c.Unusable {
		c.raise(u.Role, "%s; next: liza roles validate", u.Why)
	}
}
