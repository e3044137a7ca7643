package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// orphanProcess waits until the registration's lease is over: anyone who finds it dead stops
// the program first and ends the lease after it (specs/protocol.md#5.1 A13, 6.4).
func orphanProcess(l *look) {
	if l.Process.Running == nil {
		return
	}
	for _, id := range l.agents() {
		a := l.State.Agents[id]
		until, ok := a.LeaseExpires.At()
		if a.Child == nil || a.Host != l.Process.Host || a.BootID != l.Process.BootID || !ok || !l.Now.After(until.Add(l.State.Duration("lease_grace"))) {
			continue
		}
		if running, known := l.Process.Running(a.Child.PID, a.Child.PIDStart); known && running {
			l.raise(id, "liza doctor", "%s", orphanText(a.Child))
		}
	}
}

func orphanText(c *blackboard.Child) string {
	return fmt.Sprintf("its program, process %d, still runs without its supervisor; it is stopped before anybody gets its work", c.PID)
}

// registrations tells of agents that are not alive: why, what they hold, and who goes on with it. Those that went together, for
// the same reason, are one finding.
func registrations(l *look) {
	type group struct {
		live blackboard.Liveness
		why  string
		ids  []string
	}
	var gone []*group
	alive := 0
	for _, id := range l.agents() {
		live, why := l.State.Liveness(id, l.Now, l.Process)
		if live == blackboard.Alive {
			alive++
			continue
		}
		i := slices.IndexFunc(gone, func(g *group) bool {
			return g.live == live && (g.why == why || live == blackboard.Expired) // each lease has its own time
		})
		if i < 0 {
			gone = append(gone, &group{live: live, why: why, ids: []string{id}})
			continue
		}
		if gone[i].ids = append(gone[i].ids, id); live == blackboard.Expired {
			gone[i].why = "their leases have run out"
		}
	}
	for _, g := range gone {
		var held []string
		for _, id := range g.ids {
			if task := l.State.Agents[id].CurrentTask; task != "" && !slices.Contains(held, task) {
				held = append(held, task)
			}
		}
		text, next := string(g.live)+": "+g.why, recovers
		switch {
		case len(held) == 0:
		case len(g.ids) == 1:
			text += "; it holds " + held[0]
		default:
			text += "; they hold " + few(held)
		}
		switch {
		case g.live != blackboard.Unknown:
		case len(held) == 1:
			next = fmt.Sprintf("liza retry %s --reason \"TEXT\"", held[0])
		default:
			next = "liza show " + g.ids[0]
		}
		l.raise(few(g.ids), next, "%s", text)
	}
	if alive > 0 || len(l.State.Agents) == 0 {
		l.add(Finding{Severity: OK, Subject: "agents", Text: prose.Count(alive, "agent") + " alive", faces: exam})
	}
}

// programs looks at the recorded programs of agents that are gone.
func programs(l *look) {
	for _, id := range l.agents() {
		a := l.State.Agents[id]
		c := a.Child
		if c == nil || l.maybeAlive(id) {
			continue
		}
		f := Finding{Severity: Info, Subject: id, Next: recovers}
		switch {
		case a.Host != l.Process.Host:
			f = Finding{Subject: id, Evidence: "it ran on " + a.Host, Text: fmt.Sprintf("process %d cannot be looked at from here; its lease alone decides", c.PID)}
		case a.BootID != l.Process.BootID:
			f.Evidence, f.Text = "of a former boot", fmt.Sprintf("process %d is gone; the next recovery takes it off the board", c.PID)
		case l.Process.Running == nil:
			continue
		default:
			running, known := l.Process.Running(c.PID, c.PIDStart)
			switch {
			case !known:
				continue
			case running:
				f = Finding{Subject: id, Next: recovers, Text: orphanText(c), Evidence: fmt.Sprintf("pid %d with start time %d, run %d, since %s", c.PID, c.PIDStart, c.Run, c.Started)}
			default:
				f.Text = fmt.Sprintf("process %d has ended; the next recovery takes it off the board", c.PID)
			}
		}
		l.add(f)
	}
}

// heartbeats looks for agents whose clock is ahead of this machine's.
func heartbeats(l *look) {
	for _, id := range l.agents() {
		beat := l.State.Agents[id].Heartbeat
		if at, ok := beat.At(); ok && at.Sub(l.Now) > time.Minute {
			l.add(Finding{Subject: id, Next: "date", Evidence: "heartbeat " + string(beat), Text: fmt.Sprintf("its heartbeat is %s ahead of this machine's clock", at.Sub(l.Now).Round(time.Second))})
		}
	}
}

// stoppedAgents tells of agents that a person has stopped.
func stoppedAgents(l *look) {
	for _, id := range slices.Sorted(maps.Keys(l.State.Stopped)) {
		if stop := l.State.Stopped[id]; stop != nil && l.State.Agents[id] == nil {
			l.raise(id, "liza resume "+id, "%s", stop)
		}
	}
}

// pausedPrograms tells of programs that are not started for a while.
func pausedPrograms(l *look) {
	for _, name := range slices.Sorted(maps.Keys(l.State.Programs)) {
		if p := l.State.Programs[name]; p != nil {
			if until, ok := p.PausedUntil.At(); ok && until.After(l.Now) {
				l.raise(name, "", "%s is not started before %s%s", name, p.PausedUntil, prose.After(": ", p.Reason))
			}
		}
	}
}

func noTeam(l *look) {
	if len(l.State.Agents) == 0 && l.State.Goal != nil && l.State.Goal.Status == blackboard.InProgress {
		if l.NoProgram {
			l.raise("", "liza doctor", "no agent is at work, and no agent program is installed")
			return
		}
		l.raise("", "liza run, or liza-agent ROLE", "no agent is at work")
	}
}

// keptRuns tells of runs that go on although their supervisor died (specs/protocol.md#6.4).
func keptRuns(l *look) {
	p := l.Process
	for _, id := range l.agents() {
		a := l.State.Agents[id]
		if a.Child == nil || a.PID == 0 || p.Running == nil || a.Host != p.Host || a.BootID != p.BootID {
			continue
		}
		if running, known := p.Running(a.PID, a.PIDStart); known && !running && l.maybeAlive(id) {
			l.raise(id, recovers, "its supervisor died; run %d goes on, and is ended before %s if no other takes it over", a.Child.Run, a.LeaseExpires)
		}
	}
}

func questionOpen(l *look) {
	for _, q := range l.State.Questions {
		if q.Status != blackboard.QuestionOpen {
			continue
		}
		if t := l.tasks[q.Task]; t == nil || t.Status != blackboard.Blocked {
			f := Finding{Subject: q.ID, Text: cmp.Or(q.Agent, "the planner") + " asks", Questions: []Question{question(q)}}
			if f.Next = f.Questions[0].Next; q.Task != "" {
				f.faces = alert // a view of the board has it with its task
			}
			l.add(f)
		}
	}
}

func immediateDiscovery(l *look) {
	for _, d := range l.State.Discovered {
		if d.Urgency == "immediate" && d.ConvertedToTask == "" && d.Deferred == nil {
			l.raise(d.ID, fmt.Sprintf("liza add TEXT --from %s, or liza abandon %s --later --reason \"TEXT\"", d.ID, d.ID), "not decided (%s, found during %s): %s", cmp.Or(d.Severity, "low"), cmp.Or(d.During, "no task"), d.Description)
		}
	}
}

func systemAmbiguity(l *look) {
	for _, a := range transition.Ambiguities(l.State) {
		l.raise(a.ID, "liza tell planner TEXT", "%s found the rules unclear: %s", cmp.Or(a.Reporter, "an agent"), transition.Unclear(a))
	}
}

// plannerStuck counts a trigger whose launches are used up as suppressed also when the
// last launch never came to its end.
func plannerStuck(l *look) {
	if l.State.Planner == nil {
		return
	}
	for _, t := range transition.Triggers(l.State, l.Triggers, l.Now) {
		r := l.State.Planner.Triggers[string(t.Kind)]
		// A view does not read the spec, of which the fingerprint of the first planning is made.
		unread := t.Kind == transition.TriggerInitialPlanning && l.Triggers.SpecHash == ""
		if r == nil || r.Fingerprint != t.Fingerprint && !unread {
			continue
		}
		spent := r.Launches >= l.State.Int("planner_retries") && !l.planning()
		if r.Suppressed || spent {
			l.raise(string(t.Kind), "liza tell planner TEXT", "the planner was launched %s without effect for %s", prose.Count(r.Launches, "time"), strings.Join(t.IDs, ", "))
		}
	}
}

func (l *look) planning() bool {
	return slices.ContainsFunc(l.agents(), func(id string) bool { return l.State.Agents[id].Status == blackboard.AgentPlanning && l.maybeAlive(id) })
}

// noAgentFor is how long work of a role may wait for a first agent.
const noAgentFor = 120 * time.Second

func noAgent(l *look) {
	if len(l.Orders) > 0 {
		return
	}
	for _, role := range []blackboard.Role{blackboard.RolePlanner, blackboard.RoleCoder, blackboard.RoleReviewer} {
		if l.live(role) {
			continue
		}
		what, since := l.workFor(role)
		if what == "" {
			continue
		}
		if left := l.lastAgent(role); left.After(since) {
			since = left
		}
		if waited := l.age(since); waited >= noAgentFor {
			name := strings.ReplaceAll(string(role), "_", "-")
			l.raise(string(role), "liza run, or liza-agent "+name, "%s waits for %s, and no %s is live", what, Short(waited), name)
		}
	}
}

// workFor is something that an agent of the role could take up now, and since when.
func (l *look) workFor(role blackboard.Role) (what string, since time.Time) {
	probe := transition.Actor{ID: transition.FreeAgentID(l.State, role, l.Now), Facts: l.Process}
	var t *blackboard.Task
	switch role {
	case blackboard.RoleCoder:
		t, _ = transition.NextTask(l.State, probe, l.Input, l.Now)
	case blackboard.RoleReviewer:
		t, _ = transition.NextReview(l.State, probe, l.Input, l.Now)
	default:
		due, _ := transition.DueTriggers(l.State, l.Triggers, l.Now)
		if len(due) == 0 || !l.sprintIs(blackboard.InProgress) {
			return "", time.Time{}
		}
		return string(due[0].Kind), l.triggerSince(due[0])
	}
	if t == nil {
		return "", time.Time{}
	}
	since = LastChange(t)
	for _, id := range t.DependsOn {
		if d := l.tasks[id]; d != nil && LastChange(d).After(since) {
			since = LastChange(d)
		}
	}
	return t.ID, since
}

// triggerSince is when the oldest of what a trigger is about came up.
func (l *look) triggerSince(t transition.Trigger) time.Time {
	var oldest time.Time
	consider := func(at time.Time, ok bool) {
		if ok && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	for _, id := range t.IDs {
		if task := l.tasks[id]; task != nil {
			consider(LastChange(task), true)
		}
		if _, at, ok := strings.Cut(id, "@"); ok { // a spec change
			consider(blackboard.Time(at).At())
		}
	}
	for _, d := range l.State.Discovered {
		if slices.Contains(t.IDs, d.ID) {
			consider(d.Created.At())
		}
	}
	for _, n := range l.State.HumanNotes {
		if slices.Contains(t.IDs, n.ID) {
			consider(n.Timestamp.At())
		}
	}
	for _, q := range l.State.Questions {
		if slices.Contains(t.IDs, q.ID) {
			consider(q.AnsweredAt.At())
		}
	}
	if oldest.IsZero() && l.State.Goal != nil {
		oldest, _ = l.State.Goal.Created.At()
	}
	return oldest
}

// lastAgent is when the last agent of a role was there: the end of its lease, or what the
// journal says of those that left.
func (l *look) lastAgent(role blackboard.Role) time.Time {
	last := l.Left[role]
	for _, id := range l.agents() {
		a := l.State.Agents[id]
		if a.Role != role {
			continue
		}
		for _, x := range []blackboard.Time{a.Heartbeat, a.LeaseExpires} {
			if at, ok := x.At(); ok && at.After(last) && !at.After(l.Now) {
				last = at
			}
		}
	}
	return last
}

func gaveUp(l *look) {
	for _, g := range l.GaveUp {
		l.raise(g.Agent, g.Next, "its supervisor gave up at %s: %s", g.At, cmp.Or(g.Why, fmt.Sprintf("%d crashes", l.State.Int("crash_limit"))))
	}
}

func roleUnusable(l *look) {
	for _, u := range l.Unusable {
		l.raise(u.Role, "liza doctor", "%s", u.Why)
	}
}
