package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// NextRun returns the number of the agent's next run, from 1.
func NextRun(s *blackboard.State, agent string) int {
	if a := s.Agents[agent]; a != nil {
		return a.IterationsTotal + 1
	}
	return 1
}

// Spawned records the running agent program (specs/protocol.md#13.3 step 8). It marks as delivered what the prompt had: a
// handoff by an agent of the same role. PromptHad does so for the notes.
func Spawned(s *blackboard.State, a Actor, c blackboard.Child, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	c.Started = blackboard.TimeOf(now)
	e.Child, e.Said = &c, nil
	if t := s.Task(c.Task); t != nil {
		t.HandoffPending = false
		if h := s.Handoff[t.ID]; h != nil && h.ConsumedBy == "" && sameRole(h.Agent, a.ID) {
			h.ConsumedBy, h.ConsumedAt = a.ID, blackboard.TimeOf(now)
		}
		if e.Status == blackboard.AgentHandoff {
			e.Status = blackboard.AgentWorking
			if e.Role == blackboard.RoleReviewer {
				e.Status = blackboard.AgentReviewing
			}
		}
	}
	return nil
}

// sameRole reports whether two agents have the same role, or the first one is unknown.
func sameRole(agent, other string) bool {
	role, _, ok := blackboard.ParseAgentID(agent)
	mine, _, _ := blackboard.ParseAgentID(other)
	return !ok || role == mine
}

// RunResult is the record of one run, whatever its outcome.
type RunResult struct {
	Task      string
	Attempt   blackboard.Attempt
	Cost      *blackboard.Amount // cents; nil: unknown
	Seconds   int
	TokensIn  int
	TokensOut int
	Cached    int
	Crashed   bool
	Finished  bool // the program ended by itself
	Climbs    bool // a failure is answered by the next rung of the ladder of models, and counts for no limit
	Outcome   *blackboard.LastOutcome
}

// ReserveCost reserves the likely cost of the agent's next run, so that agents that start at the same time count it; the end
// of the run settles it (specs/roles-and-knowledge.md#8.1).
func ReserveCost(s *blackboard.State, a Actor, cents blackboard.Amount, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	e.ReservedCents = cents
	return nil
}

// WaitForProvider records the wait of an agent's program for its provider; nil ends the wait.
func WaitForProvider(s *blackboard.State, a Actor, w *blackboard.ProviderWait, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	if e.ProviderWait = w; w != nil {
		told := *w
		e.ProviderWait = &told
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionProviderWait, Task: e.CurrentTask, Detail: "waits for the provider until " + string(w.Until) + ": " + w.Reason})
	}
	return nil
}

// EndRun records a finished run: attempt, usage, crash, end of the child (13.3 step 10).
func EndRun(s *blackboard.State, a Actor, r RunResult, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	endRun(s, a.ID, e, r, now)
	return nil
}

// EndRunOf is EndRun for an agent whose supervisor died before it could write the end of its run.
func EndRunOf(s *blackboard.State, agent string, r RunResult, now time.Time) {
	if e := s.Agents[agent]; e != nil {
		endRun(s, agent, e, r, now)
	}
}

func endRun(s *blackboard.State, agent string, e *blackboard.Agent, r RunResult, now time.Time) {
	if e.Child != nil {
		endTexts(s, agent, e.Child.RunID, r.Finished, now)
	}
	e.Child, e.Said, e.ReservedCents, e.ProviderWait = nil, nil, 0, nil
	e.IterationsTotal++
	endPauses(s, now)
	if r.Crashed && firstCrash(s, r) {
		var kept []blackboard.Time
		for _, c := range e.Crashes {
			if at, ok := c.At(); ok && now.Sub(at) <= s.Duration("crash_window") {
				kept = append(kept, c)
			}
		}
		e.Crashes = append(kept, blackboard.TimeOf(now))
	}
	if s.Usage == nil {
		s.Usage = &blackboard.Usage{}
	}
	spent := sprintMeters(s, Spent{}, now)
	add(s.Usage, r)
	day := dayOf(now)
	if s.Usage.Day == nil || s.Usage.Day.Date != day {
		s.Usage.Day = &blackboard.UsageDay{Date: day}
	}
	if r.Cost != nil {
		s.Usage.Day.CostCents = s.Usage.Day.CostCents.Plus(*r.Cost)
	}
	warnOfSprint(s, spent, now)
	if t := s.Task(r.Task); t != nil {
		before := meters(s, t, Spent{})
		if t.Usage == nil {
			t.Usage = &blackboard.Usage{}
		}
		add(t.Usage, r)
		warnOfLimits(s, t, before, now)
		if r.Cost == nil && t.Usage.UnknownCostRuns == 1 {
			warnOfUnknownCost(s, t, now)
		}
		r.Attempt.Ended, r.Attempt.Agent, r.Attempt.ClaimSeq = blackboard.TimeOf(now), agent, claimSeqOf(t, agent)
		r.Attempt.Seconds, r.Attempt.CostCents = r.Seconds, nil
		if r.Cost != nil {
			cost := *r.Cost
			r.Attempt.CostCents = &cost
		}
		if r.Attempt.Outcome == finishedRun && r.Attempt.Kind == string(blackboard.RoleCoder) {
			r.Attempt.Outcome = outcomeSoFar(t)
		}
		if c := r.Attempt.Session; c != nil {
			conversation := *c
			r.Attempt.Session = &conversation
		}
		countCrash(t, r)
		addAttempt(t, &r.Attempt)
		if r.Outcome != nil {
			last := *r.Outcome
			last.EvidenceFiles = clone(last.EvidenceFiles)
			t.LastOutcome = &last
		}
		if t.Status.Terminal() {
			t.Shorten()
		}
	}
}

// firstCrash reports whether a crash counts for the supervisor (specs/protocol.md#13.3). A task whose
// program crashes again and again is stopped by a limit of its own, and counts once: other
// tasks go on, while a program that can do none of them still ends its supervisor.
func firstCrash(s *blackboard.State, r RunResult) bool {
	t := s.Task(r.Task)
	switch {
	case t == nil:
		return true
	case r.Attempt.Kind == string(blackboard.RoleReviewer):
		return t.ReviewFailures == 0
	}
	return t.Crashes == 0 || LimitOf(s, t, "task_crashes") == 0
}

// countCrash counts the crashes, stalls and timeouts of a task's coders in a row. A run that a provider refused, or that a
// limit or a person stopped, neither counts nor ends the row.
func countCrash(t *blackboard.Task, r RunResult) {
	switch {
	case r.Attempt.Kind != string(blackboard.RoleCoder), r.Climbs && !r.Finished:
	case r.Crashed, hung(r.Attempt.Outcome):
		t.Crashes++
	case r.Finished:
		t.Crashes = 0
	}
}

// crashedTooOften reports whether the program crashed or hung on the task as often as it may.
func crashedTooOften(s *blackboard.State, t *blackboard.Task) bool {
	limit := LimitOf(s, t, "task_crashes")
	return limit > 0 && t.Crashes >= limit
}

// claimSeqOf returns the number of the agent's latest claim of t: at the end of its run another agent may hold the task.
func claimSeqOf(t *blackboard.Task, agent string) int {
	for h := range t.Backwards() {
		if blackboard.IsClaimEvent(h.Event) && h.Agent == agent && h.ClaimSeq > 0 {
			return h.ClaimSeq
		}
	}
	return t.ClaimSeq
}

func add(u *blackboard.Usage, r RunResult) {
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

// addAttempt appends to attempts and keeps the newest ten.
func addAttempt(t *blackboard.Task, a *blackboard.Attempt) {
	a.Seq = 1
	for _, old := range t.Attempts {
		a.Seq = max(a.Seq, old.Seq+1)
	}
	t.Attempts = append(t.Attempts, a)
	if n := len(t.Attempts); n > 10 {
		t.Attempts = append([]*blackboard.Attempt(nil), t.Attempts[n-10:]...)
	}
}

// attemptOutcomes are the outcomes of the latest run by the event of its task (specs/protocol.md#2.3, attempts).
var attemptOutcomes = map[blackboard.HistoryEvent]string{
	blackboard.HistoryReadyForReview: "submitted", blackboard.HistoryApproved: "approved", blackboard.HistoryRejected: "rejected", blackboard.HistoryMerged: "merged", blackboard.HistoryBlocked: "blocked", blackboard.HistoryRetried: "retry",
	blackboard.HistoryApprovalVoided: "submitted",
}

// finishedRun is the outcome of a run of which nothing is known yet but that it ended well.
const finishedRun = "finished"

// crashedRun is the outcome of a run whose program failed by itself.
const crashedRun = "crashed"

// judgeAttempt sets the outcome of the coder's newest run and, for a verdict, of the reviewer's. A failed run keeps its
// outcome.
func judgeAttempt(t *blackboard.Task, event blackboard.HistoryEvent) {
	outcome, ok := attemptOutcomes[event]
	more := event == blackboard.HistoryApprovalRecorded // other reviewers judge the work yet
	if more {
		outcome, ok = "approved", true
	}
	if !ok {
		return
	}
	judged := map[string]bool{}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := t.Attempts[i]
		if judged[a.Kind] || a.ClaimSeq != t.ClaimSeq {
			continue
		}
		judged[a.Kind] = true
		reviewer := a.Kind == string(blackboard.RoleReviewer)
		if more && !reviewer {
			continue
		}
		switch a.Outcome {
		case finishedRun:
			a.Outcome = outcome
		case "submitted", "approved", "rejected":
			if !reviewer {
				a.Outcome = outcome
			}
		}
	}
}

// outcomeSoFar returns the outcome of a coder's run that has just ended from the events of its claim.
func outcomeSoFar(t *blackboard.Task) string {
	for h := range t.Backwards() {
		if outcome, ok := attemptOutcomes[h.Event]; ok {
			return outcome
		}
		if blackboard.IsClaimEvent(h.Event) {
			break
		}
	}
	return finishedRun
}

// Wrote returns the agent programs that committed work of the task.
func Wrote(t *blackboard.Task) blackboard.List {
	var names blackboard.List
	for _, a := range t.Attempts {
		coder := a.Kind == string(blackboard.RoleCoder) || a.Kind == ""
		if name := blackboard.ProgramName(a.CLI); coder && name != "" && a.Commit != "" && a.Commit != t.BaseCommit && !names.Has(name) {
			names = append(names, name)
		}
	}
	return names
}

// Conversation returns the conversation of the task's last coder run, or nil if another agent or program made that run.
func Conversation(t *blackboard.Task, agent, program string) *blackboard.Conversation {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := t.Attempts[i]
		if a.Kind != string(blackboard.RoleCoder) {
			continue
		}
		if a.Agent != agent || a.CLI != program {
			return nil
		}
		return a.Session
	}
	return nil
}
