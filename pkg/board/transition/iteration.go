package transition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// runRules are the rows of the events of a run: intent, handoff, retry and run_failed.
var runRules = []Rule{
	{ID: "T10", Event: evIntent, From: from(blackboard.Claimed), To: blackboard.Claimed, Who: ByCoder,
		Needs:   needs(textsGiven, callerIsCoder, holdsClaim),
		Does:    does(storeIntent),
		History: records(blackboard.HistoryCheckpoint), Log: names(blackboard.ActionCheckpoint)},
	{ID: "T37", Event: evHandoff, From: from(blackboard.Claimed), Who: ByCoder | SCoder,
		Needs:   needs(textsGiven, callerIsCoder, holdsClaim),
		Does:    does(storeHandoff),
		History: records(blackboard.HistoryHandoff), Log: names(blackboard.ActionHandoff)},
	{ID: "T37", Event: evHandoff, From: from(blackboard.ReadyForReview), Who: ByReviewer | SReviewer,
		Needs:   needs(textsGiven, callerIsReviewer, holdsReview),
		Does:    does(storeHandoff),
		History: records(blackboard.HistoryHandoff), Log: names(blackboard.ActionHandoff)},
	{ID: "T38", Event: evRetry, From: from(blackboard.Claimed), To: blackboard.Claimed, Who: SCoder,
		Needs: needs(callerIsCoder, holdsClaim, iterationsLeft),
		Does:  does(nextIteration), Log: names(blackboard.ActionRetried)},
	{ID: "T39", Event: evRunFailed, From: from(blackboard.Claimed), To: blackboard.Claimed, Who: SCoder,
		Needs: needs(callerIsCoder, holdsClaim),
		Does:  does(countFailedRun), Log: names(blackboard.ActionRunFailed)},
}

// RecordIntent stores the pre-execution checkpoint (T10).
func RecordIntent(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	intent := in.Intent
	if intent == nil {
		intent = &blackboard.Intent{}
	}
	in.Texts = append(slices.Clone(in.Texts), Text{"--intent", intent.Intent}, Text{"--validation", intent.Validation})
	return run(s, evIntent, id, a, in, now)
}

// HandOff passes a half-done task to the next run (T37).
func HandOff(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	h := in.Handoff
	if h == nil {
		h = &blackboard.Handoff{}
	}
	in.Texts = append(slices.Clone(in.Texts), Text{"--summary", h.Summary}, Text{"--next-action", h.NextAction})
	return run(s, evHandoff, id, a, in, now)
}

// Retry starts the next iteration on the same claim (T38). It is refused when the
// iterations are used up: then LimitIterations comes instead.
func Retry(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evRetry, id, a, in, now)
}

// RunFailed records a failed run (T39); in.Outcome is timeout, stalled, crashed, killed, refused, stuck or invalid. A timeout or stall of the last
// iteration blocks the task (T26), and so does the last crash, stall or timeout that limits.task_crashes allows (T24).
func RunFailed(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	t := s.Task(id)
	over := t != nil && hung(in.Outcome) && IterationsOver(s, t)
	if err := run(s, evRunFailed, id, a, in, now); err != nil {
		return err
	}
	if last := onLadder(t.Attempts, string(blackboard.RoleCoder)); last != nil && last.ClaimSeq == t.ClaimSeq && Incomplete(in.Outcome) && !Incomplete(last.Outcome) {
		last.Outcome = in.Outcome // the program ended well, but not the work
	}
	in.Reason = strings.TrimSuffix(in.Outcome+": "+in.Reason, ": ")
	switch {
	case over:
		return run(s, evLimit, id, a, in, now)
	case (in.Outcome == crashedRun || hung(in.Outcome)) && crashedTooOften(s, s.Task(id)):
		return blockCrashed(s, id, a, in, now)
	}
	return nil
}

// SetupFailed counts a failed setup of the task's worktree as a crash, and returns the number of crashes in a row. The last
// one that limits.task_crashes allows blocks the task (T25).
func SetupFailed(s *blackboard.State, id string, a Actor, in Input, now time.Time) (int, error) {
	t := s.Task(id)
	t.Crashes++
	n := t.Crashes
	if t.Status == blackboard.Claimed || !crashedTooOften(s, t) { // a claim that is over is ended first
		return n, nil
	}
	return n, blockFailing(s, id, a, in, now, fmt.Sprintf("its worktree could not be set up %d times in a row, last: %s", n, in.Reason),
		"What keeps worktree.setup from ending well? Repair the command, or what it needs.")
}

// blockCrashed stops a task that its program does not survive.
func blockCrashed(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	ended, question := "crashed", "What in this task ends its agent program? Change or split the task, or repair the program."
	if hung(in.Outcome) {
		ended, question = "crashed or hung", "What in this task makes its agent program hang? Change or split the task, or repair the program."
	}
	reason := fmt.Sprintf("its agent program %s %d times in a row, last: %s", ended, s.Task(id).Crashes, in.Reason)
	return blockFailing(s, id, a, in, now, reason, question)
}

// blockFailing blocks a task for reason, with the last output of the failure. The supervisor asks question.
func blockFailing(s *blackboard.State, id string, a Actor, in Input, now time.Time, reason, question string) error {
	if len(in.Tail) > 0 {
		reason += "\nIts last output:\n" + strings.Join(in.Tail, "\n")
	}
	in.Reason, in.Questions = reason, blackboard.List{question}
	before := len(s.Questions)
	if err := run(s, evBlock, id, a, in, now); err != nil {
		return err
	}
	for _, q := range s.Questions[before:] {
		q.Agent, q.Synthetic = blackboard.System, true
	}
	return nil
}

var iterationsLeft = Guard{"", "another iteration is allowed (else T26)", func(m *move) error {
	if IterationsOver(m.state, m.task) {
		return m.no("G23", ExitRefused, "%d of %d iterations of %s are used", m.task.Iteration, maxIterations(m.state, m.task), m.task.ID)
	}
	return nil
}}

var storeIntent = Effect{"the intent goes into the history", func(m *move) {
	if in := m.in.Intent; in != nil {
		intent := *in
		intent.Assumptions, intent.Risks, intent.FilesToModify = clone(in.Assumptions), clone(in.Risks), clone(in.FilesToModify)
		m.h.Checkpoint = &intent
		m.detail = intent.Intent
	}
}}

var storeHandoff = Effect{"handoff.ID; handoff_pending true; agent HANDOFF; one more than max_handoffs in an attempt counts as an iteration", func(m *move) {
	h := *m.in.Handoff
	h.Agent, h.Timestamp, h.ConsumedBy, h.ConsumedAt = m.actor.ID, blackboard.TimeOf(m.now), "", ""
	h.FilesModified, h.NextSteps = clone(h.FilesModified), clone(h.NextSteps)
	if m.state.Handoff == nil {
		m.state.Handoff = map[string]*blackboard.Handoff{}
	}
	m.state.Handoff[m.task.ID] = &h
	m.task.HandoffPending = true
	m.me().Status = blackboard.AgentHandoff
	if m.task.Status == blackboard.Claimed && handoffsSinceClaim(m.task) >= m.state.Int("max_handoffs") {
		m.task.Iteration++
	}
	m.detail = h.Summary
}}

func handoffsSinceClaim(t *blackboard.Task) int {
	n := 0
	for h := range t.Backwards() {
		if blackboard.IsClaimEvent(h.Event) {
			break
		}
		if h.Event == blackboard.HistoryHandoff && h.Agent == t.AssignedTo {
			n++
		}
	}
	return n
}

var nextIteration = Effect{"iteration + 1", func(m *move) {
	m.task.Iteration++
	metrics(m.state).IterationsTotal++
	m.detail = fmt.Sprintf("iteration %d", m.task.Iteration)
}}

var countFailedRun = Effect{"timeout and stalled: iteration + 1 (at the limit T26 follows)", func(m *move) {
	m.detail = m.in.Outcome
	if m.in.Reason != "" {
		m.detail += ": " + m.in.Reason
	}
	if m.runCounts() {
		metrics(m.state).IterationsTotal++
		if !IterationsOver(m.state, m.task) {
			m.task.Iteration++
		}
	}
}}

// runCounts reports whether the failed run counts as an iteration.
func (m *move) runCounts() bool { return hung(m.in.Outcome) }

// hung reports whether a run had to be stopped because it was silent or took too long.
func hung(outcome string) bool { return outcome == "timeout" || outcome == "stalled" }
