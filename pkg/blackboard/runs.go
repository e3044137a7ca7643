package blackboard

import "time"

// NextRun is the number of the agent's next run.
func (s *State) NextRun(agent string) int {
	if a := s.Agents[agent]; a != nil {
		return a.IterationsTotal + 1
	}
	return 1
}

// Spawned records the running agent program (specs/protocol.md#13.3 step 8). What its prompt had
// counts as told: a handoff by an agent of the same role, and the notes for its task.
func (s *State) Spawned(a Actor, c Child, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	c.Started = TimeOf(now)
	e.Child = &c
	if t := s.Task(c.Task); t != nil {
		t.HandoffPending = false
		if h := s.Handoff[t.ID]; h != nil && h.ConsumedBy == "" && sameRole(h.Agent, a.ID) {
			h.ConsumedBy, h.ConsumedAt = a.ID, TimeOf(now)
		}
		for _, n := range s.HumanNotes {
			if n.For == t.ID && !n.SeenBy.Has(a.ID) {
				n.SeenBy = append(n.SeenBy, a.ID)
			}
		}
		if e.Status == AgentHandoff {
			e.Status = AgentWorking
			if e.Role == RoleReviewer {
				e.Status = AgentReviewing
			}
		}
	}
	return nil
}

// sameRole reports whether two agents have the same role, or the first one is unknown.
func sameRole(agent, other string) bool {
	role, _, ok := ParseAgentID(agent)
	mine, _, _ := ParseAgentID(other)
	return !ok || role == mine
}

// RunResult is what one run leaves on the board, whatever its outcome.
type RunResult struct {
	Task      string
	Attempt   Attempt
	Cost      *Amount // cents; nil: unknown
	Seconds   int
	TokensIn  int
	TokensOut int
	Cached    int
	Crashed   bool
	Finished  bool // the program came to its end by itself
	Outcome   *LastOutcome
}

// ReserveCost puts aside what the agent's next run may cost, so that others that start at the
// same time count it; the end of the run settles it (specs/roles-and-knowledge.md#8.1).
func (s *State) ReserveCost(a Actor, cents Amount, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	e.ReservedCents = cents
	return nil
}

// WaitForProvider records what the agent's program says that it waits for; nil: it goes on.
func (s *State) WaitForProvider(a Actor, w *ProviderWait, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	if e.ProviderWait = w; w != nil {
		told := *w
		e.ProviderWait = &told
		s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionProviderWait, Task: e.CurrentTask, Detail: "waits for the provider until " + string(w.Until) + ": " + w.Reason})
	}
	return nil
}

// EndRun records a finished run: attempt, usage, crash, no child any more (13.3 step 10).
func (s *State) EndRun(a Actor, r RunResult, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	e.Child, e.ReservedCents, e.ProviderWait = nil, 0, nil
	e.IterationsTotal++
	s.endPauses(now)
	if r.Crashed && s.firstCrash(r) {
		var kept []Time
		for _, c := range e.Crashes {
			if at, ok := c.At(); ok && now.Sub(at) <= s.Duration("crash_window") {
				kept = append(kept, c)
			}
		}
		e.Crashes = append(kept, TimeOf(now))
	}
	if s.Usage == nil {
		s.Usage = &Usage{}
	}
	spent := s.sprintMeters(now)
	s.Usage.add(r)
	day := dayOf(now)
	if s.Usage.Day == nil || s.Usage.Day.Date != day {
		s.Usage.Day = &UsageDay{Date: day}
	}
	if r.Cost != nil {
		s.Usage.Day.CostCents = s.Usage.Day.CostCents.Plus(*r.Cost)
	}
	s.warnOfSprint(spent, now)
	if t := s.Task(r.Task); t != nil {
		before := s.meters(t)
		if t.Usage == nil {
			t.Usage = &Usage{}
		}
		t.Usage.add(r)
		s.warnOfLimits(t, before, now)
		if r.Cost == nil && t.Usage.UnknownCostRuns == 1 {
			s.warnOfUnknownCost(t, now)
		}
		r.Attempt.Ended, r.Attempt.Agent, r.Attempt.ClaimSeq = TimeOf(now), a.ID, t.claimSeqOf(a.ID)
		r.Attempt.Seconds, r.Attempt.CostCents = r.Seconds, nil
		if r.Cost != nil {
			cost := *r.Cost
			r.Attempt.CostCents = &cost
		}
		if r.Attempt.Outcome == finishedRun && r.Attempt.Kind == string(RoleCoder) {
			r.Attempt.Outcome = t.outcomeSoFar()
		}
		if c := r.Attempt.Session; c != nil {
			conversation := *c
			r.Attempt.Session = &conversation
		}
		s.countCrash(t, r)
		t.addAttempt(&r.Attempt)
		if r.Outcome != nil {
			last := *r.Outcome
			last.EvidenceFiles = clone(last.EvidenceFiles)
			t.LastOutcome = &last
		}
	}
	return nil
}

// firstCrash reports whether a crash counts for the supervisor (specs/protocol.md#13.3). A task whose
// program crashes again and again is stopped by a limit of its own, and counts once: other
// tasks go on, while a program that can do none of them still ends its supervisor.
func (s *State) firstCrash(r RunResult) bool {
	t := s.Task(r.Task)
	switch {
	case t == nil:
		return true
	case r.Attempt.Kind == string(RoleReviewer):
		return t.ReviewFailures == 0
	}
	return t.Crashes == 0 || s.LimitOf(t, "task_crashes") == 0
}

// countCrash counts the crashes of a task's coders in a row: what a provider refuses, and what
// a limit or a person stopped, neither counts nor ends the row.
func (s *State) countCrash(t *Task, r RunResult) {
	switch {
	case r.Attempt.Kind != string(RoleCoder):
	case r.Crashed:
		t.Crashes++
	case r.Finished:
		t.Crashes = 0
	}
}

// crashedTooOften reports whether the program crashed on the task as often as it may.
func (s *State) crashedTooOften(t *Task) bool {
	limit := s.LimitOf(t, "task_crashes")
	return limit > 0 && t.Crashes >= limit
}

// claimSeqOf is the attempt that the agent's run belongs to: when the run ends, somebody
// else may hold the task.
func (t *Task) claimSeqOf(agent string) int {
	for h := range t.backwards() {
		if IsClaimEvent(h.Event) && h.Agent == agent && h.ClaimSeq > 0 {
			return h.ClaimSeq
		}
	}
	return t.ClaimSeq
}

func (u *Usage) add(r RunResult) {
	u.AgentRuns++
	u.Seconds += r.Seconds
	u.TokensIn += r.TokensIn
	u.TokensOut += r.TokensOut
	u.TokensCached += r.Cached
	if r.Cost == nil {
		u.UnknownCostRuns++
	} else {
		u.CostCents = u.CostCents.Plus(*r.Cost)
	}
}
