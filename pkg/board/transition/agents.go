package transition

import (
	"fmt"
	"strconv"
	"time"

	"liza/pkg/board/blackboard"
)

// FreeAgentID returns the lowest free id of role: one without an entry, or with an expired lease (specs/protocol.md#5.1).
func FreeAgentID(s *blackboard.State, role blackboard.Role, now time.Time) string {
	for n := 1; ; n++ {
		id := role.IDPrefix() + strconv.Itoa(n)
		if a := s.Agents[id]; a == nil || leaseOver(a, now) {
			return id
		}
	}
}

// leaseOver reports whether the lease is known to be past. A missing or malformed one is
// unknown, and unknown is not over.
func leaseOver(a *blackboard.Agent, now time.Time) bool {
	at, ok := a.LeaseExpires.At()
	return ok && now.After(at)
}

// Register enters a supervisor (A01). It fails while an entry of that id has a lease in the future, unless its process is
// known to be gone. entry becomes part of the state.
func Register(s *blackboard.State, id string, entry *blackboard.Agent, a Actor, now time.Time) error {
	role, _, ok := blackboard.ParseAgentID(id)
	switch {
	case a.Inside != "":
		return a.elsewhere()
	case !ok:
		return refuse("G01", ExitUsage, "liza help register", "agent id '%s' is malformed: it must match ^(coder|code-reviewer|planner)-[0-9]+$", id)
	case entry.Role != "" && entry.Role != role:
		return refuse("G01", ExitUsage, "liza help register", "agent id '%s' is not that of a %s", id, entry.Role)
	}
	if old := s.Agents[id]; old != nil && !leaseOver(old, now) {
		if live, _ := s.Liveness(id, now, a.Facts); live != blackboard.Dead {
			return refuse("G01", ExitRefused, "liza unregister --force --as "+id, "%s is registered%s%s", id, until(old.LeaseExpires), byPID(old))
		}
	}
	entry.Role = role
	start(entry, now)
	enter(s, id, entry, a, now)
	return nil
}

// Adopt gives the registration of a supervisor that died to another process of its host, which has its run (A14). The run goes
// on under the claim and with the number that it has; what the former supervisor still writes is refused, because
// the tokens are new. by has the process and its tokens, with that of the run in Child.
func Adopt(s *blackboard.State, id string, by *blackboard.Agent, a Actor, now time.Time) error {
	e := s.Agents[id]
	switch {
	case a.Inside != "":
		return a.elsewhere()
	case e == nil || e.Child == nil || e.Child.RunID != by.Child.RunID:
		return refuse("G01", ExitRefused, "liza status", "%s has no run %s", id, by.Child.RunID)
	}
	a.Facts.Kept = nil // of the run; what counts is that its supervisor is gone
	if live, why := s.Liveness(id, now, a.Facts); live != blackboard.Dead {
		return refuse("G01", ExitRefused, "liza status", "%s is %s: %s", id, live, why)
	}
	e.PID, e.PIDStart, e.Terminal, e.Settings = by.PID, by.PIDStart, by.Terminal, by.Settings
	e.TokenHash, e.Child.TokenHash = by.TokenHash, by.Child.TokenHash
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: id, Action: blackboard.ActionRunAdopted, Task: e.Child.Task, Detail: fmt.Sprintf("run %s goes on under process %d", e.Child.RunID, e.PID)})
	return Beat(s, Actor{ID: id, TokenHash: e.TokenHash, Facts: a.Facts}, now)
}

func until(lease blackboard.Time) string {
	if lease.None() {
		return " without a lease"
	}
	return " until " + string(lease)
}

func byPID(a *blackboard.Agent) string {
	if a.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" by process %d on %s", a.PID, a.Host)
}

// enter puts a registration on the board. A claim of the entry that it replaces stays
// with the task; when that one's process is gone, it lapses first (A13), so that the claim
// can be taken over.
func enter(s *blackboard.State, id string, entry *blackboard.Agent, a Actor, now time.Time) {
	Lapse(s, id, a.Facts, now)
	if s.Agents == nil {
		s.Agents = map[string]*blackboard.Agent{}
	}
	s.Agents[id] = entry
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: id, Action: blackboard.ActionRegistered, Detail: "generation " + entry.Generation, Extra: via(a)})
}

// own returns the entry when the actor is that agent's supervisor; else the refusal. fit,
// if given, may refuse before anything changes.
func own(s *blackboard.State, a Actor, now time.Time, fit func(*blackboard.Agent) error) (*blackboard.Agent, error) {
	c, err := identify(s, a, now)
	switch {
	case err != nil:
		return nil, err
	case c.entry == nil:
		return nil, refuse("G03", ExitRefused, "liza help register", "%s may not do this; the supervisor of an agent may", a.ID)
	case c.party&SAny == 0:
		return nil, refuse("G03", ExitRefused, "liza status", "%s may not do this; the supervisor of %s may", article(a, c.party), a.ID)
	}
	if fit != nil {
		if err := fit(c.entry); err != nil {
			return nil, err
		}
	}
	enroll(s, a, c, now)
	return c.entry, nil
}

// SetReady ends STARTING: the agent program was found (A02).
func SetReady(s *blackboard.State, a Actor, cli, model string, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	if e.Status == blackboard.AgentStarting {
		e.Status = blackboard.AgentIdle
	}
	e.CLI, e.Model, e.LeaseExpires, e.Heartbeat = cli, model, lease(s, now), blackboard.TimeOf(now)
	return nil
}

// SetWaiting records what an idle agent waits for; "" ends the wait (A07, A08).
func SetWaiting(s *blackboard.State, a Actor, why string, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	switch {
	case why == "" && e.Status == blackboard.AgentWaiting:
		e.Status, e.WaitingFor = blackboard.AgentIdle, ""
	case why != "" && (e.Status == blackboard.AgentIdle || e.Status == blackboard.AgentWaiting):
		e.Status, e.WaitingFor = blackboard.AgentWaiting, why
	}
	return nil
}

// Beat extends the lease of the agent and of its claim or review claim in one write (A11).
// An agent that is STARTING keeps the lease of its registration (specs/protocol.md#6.1).
func Beat(s *blackboard.State, a Actor, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	e.Heartbeat = blackboard.TimeOf(now)
	if e.Status == blackboard.AgentStarting {
		return nil
	}
	e.LeaseExpires = lease(s, now)
	for t := range s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == a.ID && blackboard.RegistrationOf(e, t.ClaimGeneration) {
			s.Writable(t).LeaseExpires = e.LeaseExpires
		}
		if t.Status == blackboard.ReadyForReview && t.ReviewingBy == a.ID && blackboard.RegistrationOf(e, t.ReviewingGeneration) {
			s.Writable(t).ReviewLeaseExpires = e.LeaseExpires
		}
	}
	return nil
}

// Unregister removes an entry (A12); its claims have to be released first. A supervisor
// removes its own, a person any: a live one by force, unless it is the person's own.
func Unregister(s *blackboard.State, id string, a Actor, force bool, now time.Time) error {
	e := s.Agents[id]
	if e == nil {
		return refuse("G01", ExitRefused, "liza status", "agent '%s' is not registered", id)
	}
	if err := mayUnregister(s, id, e, a, force, now); err != nil {
		return err
	}
	for t := range s.Tasks() {
		switch {
		case t.Status == blackboard.Claimed && t.AssignedTo == id && blackboard.RegistrationOf(e, t.ClaimGeneration):
			return refuse("G21", ExitRefused, "liza retry "+t.ID+" --reason T", "%s still holds %s", id, t.ID)
		case t.Status == blackboard.ReadyForReview && t.ReviewingBy == id && blackboard.RegistrationOf(e, t.ReviewingGeneration):
			return refuse("G21", ExitRefused, "liza retry "+t.ID+" --reason T", "%s still reviews %s", id, t.ID)
		}
	}
	delete(s.Agents, id)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: id, Action: blackboard.ActionUnregistered, Extra: via(a)})
	return nil
}

// StopAgent keeps an agent from work until RestartAgent; its supervisor ends the run under way and gives the claim back.
func StopAgent(s *blackboard.State, id, reason string, a Actor, now time.Time) error {
	switch stop := s.Stopped[id]; {
	case s.Agents[id] == nil:
		return refuse("G01", ExitRefused, "liza status", "agent '%s' is not registered", id)
	case stop != nil && !stop.Restart:
		return refuse("G07", ExitRefused, "liza resume "+id, "%s is already %s", id, stop)
	}
	setStop(s, id, &blackboard.Stop{Reason: reason}, a, now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionAgentStopped, Detail: detailOf(id, reason), Extra: via(a)})
	return nil
}

// RestartAgent lets an agent work again. A run under way ends first; with a task, a coder begins with that one.
func RestartAgent(s *blackboard.State, id, task, reason string, a Actor, now time.Time) error {
	e, stop := s.Agents[id], s.Stopped[id]
	live, _ := s.Liveness(id, now, a.Facts)
	alive := e != nil && e.PID != 0 && (live == blackboard.Alive || live == blackboard.Unknown)
	switch {
	case e == nil && stop == nil:
		return refuse("G01", ExitRefused, "liza status", "agent '%s' is not registered", id)
	case stop == nil && !alive:
		return refuse("G01", ExitRefused, "liza run", "the process of %s has ended: there is nothing to restart", id)
	case stop == nil && task == "" && e.Child == nil && holds(s, id, e, "") == "":
		return refuse("G01", ExitNothing, "liza status", "%s is not stopped and has no work", id)
	}
	if task != "" {
		if err := prefer(s, id, task); err != nil {
			return err
		}
	}
	delete(s.Stopped, id)
	if alive {
		setStop(s, id, &blackboard.Stop{Reason: reason, Restart: true}, a, now)
	}
	detail := detailOf(id, reason)
	if task != "" {
		detail = detailOf(id+" begins with "+task, reason)
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionAgentRestarted, Detail: detail, Extra: via(a)})
	return nil
}

// AttachAgent asks the supervisor of a coder at work to end the run, and to leave registration and claim to the process of a person.
func AttachAgent(s *blackboard.State, id string, a Actor, now time.Time) error {
	e := s.Agents[id]
	live, _ := s.Liveness(id, now, a.Facts)
	switch {
	case e == nil:
		return refuse("G01", ExitRefused, "liza status", "agent '%s' is not registered", id)
	case e.Role != blackboard.RoleCoder || e.Child == nil || e.Child.Task == "" || holds(s, id, e, "") == "":
		return refuse("G01", ExitRefused, "liza status", "%s runs no program for a task of its own now", id)
	case e.Host != a.Facts.Host:
		return refuse("G01", ExitRefused, "liza status", "%s works on %s: attach there", id, e.Host)
	case live != blackboard.Alive:
		return refuse("G01", ExitRefused, "liza run", "the supervisor of %s does not answer", id)
	}
	setStop(s, id, &blackboard.Stop{Restart: true, Attach: true}, a, now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionAgentAttached, Task: e.Child.Task, Detail: id + ": " + a.name() + " goes on in a terminal", Extra: via(a)})
	return nil
}

// LeaveAgent leaves the registration of the actor to who attaches to it: no process has it until TakeAgent.
func LeaveAgent(s *blackboard.State, a Actor, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err == nil {
		e.PID, e.PIDStart, e.TokenHash = 0, 0, ""
	}
	return err
}

// LeftFor reports whether the registration of an agent was left to who attaches to it.
func LeftFor(s *blackboard.State, id string) bool {
	stop, e := s.Stopped[id], s.Agents[id]
	return stop != nil && stop.Attach && e != nil && e.TokenHash == ""
}

// TakeAgent gives a registration that was left to the process and the token of by. Claim and generation stay.
func TakeAgent(s *blackboard.State, id string, by *blackboard.Agent, a Actor, now time.Time) error {
	if !LeftFor(s, id) {
		return refuse("G01", ExitRefused, "liza status", "%s was not left to anybody", id)
	}
	delete(s.Stopped, id)
	e := s.Agents[id]
	e.PID, e.PIDStart, e.Terminal, e.Settings, e.TokenHash = by.PID, by.PIDStart, by.Terminal, by.Settings, by.TokenHash
	return Beat(s, Actor{ID: id, TokenHash: e.TokenHash, Facts: a.Facts}, now)
}

func setStop(s *blackboard.State, id string, stop *blackboard.Stop, a Actor, now time.Time) {
	if s.Stopped == nil {
		s.Stopped = map[string]*blackboard.Stop{}
	}
	stop.By, stop.At = a.name(), blackboard.TimeOf(now)
	s.Stopped[id] = stop
}

func detailOf(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + oneLine(reason)
}

// prefer keeps a task for a coder that is about to be free.
func prefer(s *blackboard.State, id, task string) error {
	t := s.Task(task)
	role, _, _ := blackboard.ParseAgentID(id)
	switch {
	case role != blackboard.RoleCoder:
		return refuse("G01", ExitUsage, "liza help resume", "%s is not a coder: only a coder begins with a task", id)
	case t == nil:
		return refuse("G05", ExitRefused, "liza status", "task %s does not exist", task)
	case t.AssignedTo == id && t.Status == blackboard.Claimed:
	case t.Status != blackboard.Unclaimed && t.Status != blackboard.Rejected && t.Status != blackboard.IntegrationFailed:
		return refuse("G06", ExitRefused, "liza show "+task, "task %s is %s: no coder can take it now", task, t.Status)
	}
	s.Writable(t).Prefer = id
	return nil
}

// TakeRestart removes the order of a restart: the agent has ended its run and goes on.
func TakeRestart(s *blackboard.State, a Actor, now time.Time) error {
	if _, err := own(s, a, now, nil); err != nil {
		return err
	}
	if stop := s.Stopped[a.ID]; stop != nil && stop.Restart {
		delete(s.Stopped, a.ID)
	}
	return nil
}

func mayUnregister(s *blackboard.State, id string, e *blackboard.Agent, a Actor, force bool, now time.Time) error {
	switch {
	case a.Inside != "" && (a.ID != a.Inside || a.Via):
		return a.elsewhere()
	case a.ID == blackboard.Human || a.Via:
		live, _ := s.Liveness(id, now, a.Facts)
		mine := a.Via && a.ID == id && e.PID == 0
		if !force && !mine && live != blackboard.Expired && live != blackboard.Dead {
			return refuse("G76", ExitRefused, "liza unregister --force --as "+id, "%s is registered%s%s; --force removes it all the same", id, until(e.LeaseExpires), byPID(e))
		}
		return nil
	case a.ID != id:
		return refuse("G03", ExitRefused, "liza status", "%s may not unregister %s; human or its supervisor may", a.ID, id)
	}
	_, err := own(s, a, now, nil)
	return err
}

// Lapse moves the leases of an agent whose process is gone into the past (A13), so that others can take its work at once. It
// reports whether anything changed.
func Lapse(s *blackboard.State, id string, facts blackboard.ProcessFacts, now time.Time) bool {
	e := s.Agents[id]
	if e == nil {
		return false
	}
	if live, _ := s.Liveness(id, now, facts); live != blackboard.Dead {
		return false
	}
	grace := s.Duration("lease_grace")
	if at, ok := e.LeaseExpires.At(); ok && now.After(at.Add(grace)) {
		return false
	}
	over := blackboard.TimeOf(now.Add(-grace - time.Second))
	e.LeaseExpires = over
	for t := range s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == id && blackboard.RegistrationOf(e, t.ClaimGeneration) {
			t = s.Writable(t)
			t.LeaseExpires = over
		}
		if t.Status == blackboard.ReadyForReview && t.ReviewingBy == id && blackboard.RegistrationOf(e, t.ReviewingGeneration) {
			t = s.Writable(t)
			t.ReviewLeaseExpires = over
		}
		if c := t.Claiming; c != nil && c.By == id && c.Generation == e.Generation {
			s.Writable(t).Claiming = nil
		}
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionAgentLapsed, Detail: fmt.Sprintf("%s: process %d is gone", id, e.PID)})
	return true
}

// Forget removes agents that hold nothing and whose lease expired more than lease_duration ago (specs/protocol.md#5.1, ids).
// It reports whether anything changed. It keeps an entry with a child, the only record of a process that may still run
// (specs/protocol.md#6.4), and one whose liveness is unknown (6.3).
func Forget(s *blackboard.State, facts blackboard.ProcessFacts, now time.Time) bool {
	changed := false
	for _, id := range s.AgentIDs() {
		e := s.Agents[id]
		at, ok := e.LeaseExpires.At()
		if !ok || !now.After(at.Add(s.Duration("lease_duration"))) || e.Child != nil || holds(s, id, e, "") != "" {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == blackboard.Unknown {
			continue
		}
		delete(s.Agents, id)
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionAgentLapsed, Detail: id + ": its lease is past since " + string(e.LeaseExpires) + "; the entry is removed"})
		changed = true
	}
	return changed
}

// admit enters the registration that identify made, if it made one. A planner holds no claim, so a
// person's act for one needs none: nobody waits for a planner that has no process.
func admit(s *blackboard.State, a Actor, c caller, now time.Time) {
	if role, _, _ := blackboard.ParseAgentID(a.ID); role != blackboard.RolePlanner {
		enroll(s, a, c, now)
	}
}

// enroll enters the registration that identify made, if it made one, whatever the role.
func enroll(s *blackboard.State, a Actor, c caller, now time.Time) {
	if c.fresh && s.Agents[a.ID] != c.entry {
		enter(s, a.ID, c.entry, a, now)
	}
}

// Identify applies G01, G02 and G04 and says which kinds of actor the caller counts as.
// A person's --as registers the agent in the same write when it has no live registration.
// The events of tasks identify their actor themselves.
func Identify(s *blackboard.State, a Actor, now time.Time) (Party, error) {
	c, err := identify(s, a, now)
	if err != nil {
		return 0, err
	}
	admit(s, a, c, now)
	return c.party, nil
}
