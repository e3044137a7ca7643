package transition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"liza/pkg/board/blackboard"
)

// blockRules are the rows of block, limit, halt and dependency_lost.
var blockRules = []Rule{
	{ID: "T24", Event: evBlock, From: from(blackboard.Claimed), To: blackboard.Blocked, Who: ByCoder | SCoder | ByHuman,
		Needs:   needs(callerIsCoder, holdsClaim, blockReason),
		Does:    does(blockByCoder, endClaim, endReview),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked), ByHand: true},
	{ID: "T25", Event: evBlock, From: from(blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed), To: blackboard.Blocked, Who: ByHuman | BySystem,
		Needs:   needs(blockReason),
		Does:    does(blockByCoder, endClaim, endReview),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked), ByHand: true},
	{ID: "T26", Event: evLimit, From: from(blackboard.Unclaimed, blackboard.Claimed, blackboard.Rejected, blackboard.IntegrationFailed), To: blackboard.Blocked, Who: SCoder | BySystem,
		Needs:   needs(holderOrSystem, iterationsUsedUp),
		Does:    does(blockByIterations, endClaim, endReview),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked)},
	{ID: "T27", Event: evHalt, From: from(blackboard.Unclaimed, blackboard.Claimed, blackboard.Rejected, blackboard.ReadyForReview, blackboard.IntegrationFailed), To: blackboard.Blocked, Who: SAny | BySystem,
		Needs:   needs(haltGiven),
		Does:    does(blockByHalt, endClaim, endReview),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked)},
	{ID: "T28", Event: evDependencyLost, From: from(blackboard.Unclaimed), To: blackboard.Blocked, Who: BySystem,
		Does:    does(blockByDependency, endClaim, endReview),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked)},
}

// Block stops the task with a reason and one to three questions (T24, T25).
func Block(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evBlock, id, a, in, now)
}

// LimitIterations blocks a task whose iterations are used up (T26). in.Reason is the last error.
func LimitIterations(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evLimit, id, a, in, now)
}

// HaltTask blocks a task that reached a limit of cost, time, tokens or runs (T27).
func HaltTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evHalt, id, a, in, now)
}

var blockReason = Guard{"G70", "a reason and one to three questions are given", func(m *move) error {
	if blank(m.in.Reason) {
		return m.no("G70", ExitUsage, "--reason is empty")
	}
	if n := len(m.in.Questions); n < 1 || n > 3 {
		return m.no("G70", ExitUsage, "give 1 to 3 questions with --question, not %d", n)
	}
	for _, q := range m.in.Questions {
		if blank(q) {
			return m.no("G70", ExitUsage, "a --question is empty")
		}
		if !strings.ContainsFunc(q, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return m.no("G70", ExitUsage, "--question %q asks nothing", q)
		}
	}
	return nil
}}

// holderOrSystem is G31 and G32 where a claim is held: S(coder) is its coder's supervisor.
var holderOrSystem = Guard{"G31", "while the task is CLAIMED, the calling agent is its coder", func(m *move) error {
	if m.task.Status != blackboard.Claimed || m.me() == nil {
		return nil
	}
	if err := callerIsCoder.Check(m); err != nil {
		return err
	}
	return holdsClaim.Check(m)
}}

var iterationsUsedUp = Guard{"", "the iterations are used up", func(m *move) error {
	if !IterationsOver(m.state, m.task) {
		return m.no("G23", ExitRefused, "task %s has used %d of %d iterations", m.task.ID, m.task.Iteration, maxIterations(m.state, m.task))
	}
	return nil
}}

var haltKnown = blackboard.List{"cost", "time", "iteration"}

var haltGiven = Guard{"", "a limit of cost, time, tokens or runs is reached", func(m *move) error {
	h := m.in.Halt
	if h == nil {
		return m.no("G23", ExitRefused, "no limit of task %s is reached", m.task.ID)
	}
	if !slices.Contains(haltKnown, h.Kind) || h.Limit <= 0 {
		return m.no("G23", ExitRefused, "%s %s of %d is not a limit of task %s", h.Kind, h.Value, h.Limit, m.task.ID)
	}
	return nil
}}

var blockByCoder = Effect{"E-BLOCK kind question, or stuck when something was attempted (then E-FAIL(assigned_to)); by human: kind human", func(m *move) {
	kind := blackboard.BlockedByQuestion
	switch {
	case m.party&ByHuman != 0:
		kind = blackboard.BlockedByHuman
	case len(m.in.Attempted) > 0:
		kind = blackboard.BlockedStuck
	}
	m.block(kind, m.in.Reason, m.in.Questions, m.in.Attempted)
	if kind == blackboard.BlockedStuck {
		m.fail(m.task.AssignedTo)
	}
}}

var blockByIterations = Effect{"halt iteration; E-BLOCK kind max_iterations with one question; E-FAIL(assigned_to, else the last coder)", func(m *move) {
	t := m.task
	limit := maxIterations(m.state, t)
	last := oneLine(m.in.Reason)
	if last == "" {
		last = "no error was recorded"
	}
	m.block(blackboard.BlockedByIterations, fmt.Sprintf("%d of %d iterations used without a merge", t.Iteration, limit),
		blackboard.List{fmt.Sprintf("What makes %d iterations fail: %s?", t.Iteration, strings.TrimRight(last, "?. "))}, nil)
	m.halted(blackboard.Halt{Kind: "iteration", Value: blackboard.Amount(t.Iteration), Limit: limit, At: blackboard.TimeOf(m.now)})
	m.fail(cmp.Or(t.AssignedTo, t.LastClaimant()))
}}

var blockByHalt = Effect{"halt; E-BLOCK kind halt with one question; handoff_pending true if a worktree exists", func(m *move) {
	t, h := m.task, *m.in.Halt
	h.At = blackboard.TimeOf(m.now)
	m.block(blackboard.BlockedByHalt, fmt.Sprintf("%s limit reached: %s", h.Kind, limitOfHalt(m.state, t, &h).figures()), blackboard.List{"Raise the limit, change the task, or drop it?"}, nil)
	m.askPerson()
	m.halted(h)
	t.HandoffPending = t.Worktree != ""
}}

var blockByDependency = Effect{"E-BLOCK kind dependency with one question", func(m *move) {
	m.block(blackboard.BlockedByDependency, "its dependency "+m.in.What+" was dropped", blackboard.List{fmt.Sprintf("Is %s still wanted without %s?", m.task.ID, m.in.What)}, nil)
}}
