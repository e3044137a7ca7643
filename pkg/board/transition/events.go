package transition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// Create puts a new task on the board: DRAFT with draft, else UNCLAIMED (T01, T02).
// With in.HumanReview a planner's task becomes a DRAFT. A person's task reopens a
// completed goal (O03).
func Create(s *blackboard.State, t *blackboard.Task, draft bool, a Actor, in Input, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	event := EvCreate
	if draft || in.HumanReview && by.party&ByPlanner != 0 {
		event = EvDraft
	}
	m := &move{state: s, task: t, actor: a, by: by, party: by.party, in: in, now: now}
	if err := m.mayCause(event); err != nil {
		return err
	}
	m.rule = ruleOf(event)
	if err := m.check(); err != nil {
		return err
	}
	if by.party&ByHuman != 0 || a.Via {
		reopen(s, "new work", a, now)
	}
	m.apply()
	return nil
}

// Finalize turns drafts into UNCLAIMED tasks, all or none (T03). The gaps of every task
// are reported together.
func Finalize(s *blackboard.State, ids []string, a Actor, in Input, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return refuse("G09", ExitUsage, "liza help finalize", "finalize needs the id of a draft")
	}
	var moves []*move
	var all *Refusal
	var list []string
	for _, id := range ids {
		if slices.Contains(list, id) {
			continue
		}
		list = append(list, id)
		m, err := begin(s, EvFinalize, id, a, in, now)
		if err == nil {
			err = m.check()
		}
		r, ok := err.(*Refusal)
		switch {
		case err == nil:
			m.by = by // one registration for all, when a person acts for an agent
			moves = append(moves, m)
		case !ok || r.Guard == "G03":
			return err
		case all == nil:
			all = r
		default:
			all.Message += "; " + r.Message
		}
	}
	if all != nil {
		return all
	}
	for _, m := range moves {
		m.apply()
	}
	align(s, "planning", "finalized "+strings.Join(list, ", "), now)
	return nil
}

// Reserve is phase one of a claim: the guards of the claim hold, and nobody else may
// claim the task until the reservation is over (T04, specs/protocol.md#7.2).
func Reserve(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	m, err := begin(s, EvClaim, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return err
	}
	m.rule = ruleOf(EvReserve)
	m.apply()
	return nil
}

// CancelReserve takes the caller's reservation back: all other fields are as before. That
// of a later registration with the same id is left alone. It reports whether there was one.
func CancelReserve(s *blackboard.State, id string, a Actor) bool {
	t, entry := s.Task(id), s.Agents[a.ID]
	if t == nil || t.Claiming == nil || t.Claiming.By != a.ID {
		return false
	}
	if entry != nil && !a.Via && a.TokenHash != entry.TokenHash {
		return false
	}
	t.Claiming = nil
	return true
}

// Claim makes the actor the holder of the task (T05 to T09). There is no other way into
// CLAIMED. in.Claim says which worktree was provided; only a task of kind msg has none.
func Claim(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	m, err := begin(s, EvClaim, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return err
	}
	if f := m.claim(); m.task.KindOf() != blackboard.MessageTask && (f.Worktree == "" || f.Base == "") {
		return m.refuseNext("liza claim "+id, "G29", ExitFailure, "no worktree was provided for task %s", id)
	}
	m.apply()
	return nil
}

// RecordIntent stores the pre-execution checkpoint (T10).
func RecordIntent(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	intent := in.Intent
	if intent == nil {
		intent = &blackboard.Intent{}
	}
	in.Texts = append(slices.Clone(in.Texts), Text{"--intent", intent.Intent}, Text{"--validation", intent.Validation})
	return run(s, EvIntent, id, a, in, now)
}

// Submit hands a claimed task in for review (T11). A task that needs no reviewer goes
// on to MERGED in the same write (T12, T22; specs/protocol.md#4.5).
func Submit(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if err := run(s, EvSubmit, id, a, in, now); err != nil {
		return err
	}
	system, pass := SystemActor(a.Facts), Input{Proceed: in.Proceed}
	if t := s.Task(id); t.Hold != nil || !needsNoReviewer.Holds(&move{state: s, task: t, in: pass}) {
		return nil
	}
	if err := run(s, EvPass, id, system, pass, now); err != nil {
		return err
	}
	return run(s, EvMerge, id, system, Input{}, now)
}

// ClaimReview gives the actor the exclusive right to judge the task (T13).
func ClaimReview(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvClaimReview, id, a, in, now)
}

// Approve is the verdict ok (T14). An error finding turns it into a rejection by the
// gate (G58); overruled then says why.
func Approve(s *blackboard.State, id string, a Actor, in Input, now time.Time) (overruled string, err error) {
	m, err := begin(s, EvApprove, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return "", err
	}
	if in.Verdict != nil {
		for _, p := range in.Verdict.Prior {
			if p.State == blackboard.PriorStillPresent {
				return "", m.refuseNext("liza verdict "+id+" reject --reason T", "", ExitUsage, "prior point %d of %s is STILL_PRESENT; that cannot be approved", p.N, id)
			}
		}
	}
	errs := m.errorFindings()
	if len(errs) == 0 {
		m.apply()
		return "", nil
	}
	overruled = overruledPrefix + strings.Join(errs, "; ")
	in.Reason = overruled
	if err := run(s, EvReject, id, a, in, now); err != nil {
		return "", err
	}
	extra := withExtra(via(a), "level", "warning")
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionGateOverruledOK, Task: id, Detail: oneLine(overruled), Extra: extra})
	return overruled, nil
}

// errorFindings describes what speaks against an approval: findings of the checks and of
// the reviewer alike.
func (m *move) errorFindings() []string {
	var all []*blackboard.Finding
	if r := m.task.Review; r != nil {
		all = append(all, r.Findings...)
	}
	if v := m.in.Verdict; v != nil {
		all = append(all, v.Findings...)
	}
	var errs []string
	for _, f := range all {
		if f.Severity == "error" {
			errs = append(errs, describeFinding(f))
		}
	}
	return errs
}

// Reject is the verdict needs_fix; at the last cycle the task is BLOCKED (T15, T16).
func Reject(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvReject, id, a, in, now)
}

// Replan is the verdict replan (T17).
func Replan(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvReplan, id, a, in, now)
}

// ReleaseReview ends a review without a verdict (T18). in.What is "stuck", "failed",
// "lapsed" or "retry" of an agent, "" of a person.
func ReleaseReview(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, EvReviewRelease, id, a, in, now)
}

// ApproveMerge is a person's release of the merge (T19, T41).
func ApproveMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvApproveMerge, id, a, in, now)
}

// RejectMerge is a person's refusal of the merge (T20). With open comments it needs no further reason.
func RejectMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if t := s.Find(id); t != nil && blank(in.Reason) && len(s.OpenComments(t)) > 0 {
		in.Reason = seeComments
	}
	in = in.reasoned()
	return run(s, EvRejectMerge, id, a, in, now)
}

// VoidApproval takes the approval of a run back that ends by saying something else (T42): the
// reviewer has to judge again. It comes before EndRun, in the same write.
func VoidApproval(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvVoidApproval, id, a, in, now)
}

// AskAgain puts approved work back in review: review.quorum asks for more approvals than there are (T43).
func AskAgain(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvAskAgain, id, a, in, now)
}

// IntendMerge records the candidate before the integration branch moves (T21).
func IntendMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvMergeIntent, id, a, in, now)
}

// FinishMerge records that the integration branch contains the work (T22).
func FinishMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvMerge, id, a, in, now)
}

// FailIntegration records a conflict or a failed integration check (T23).
func FailIntegration(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvIntegrationFailed, id, a, in, now)
}

// Block stops the task with a reason and one to three questions (T24, T25).
func Block(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvBlock, id, a, in, now)
}

// LimitIterations blocks a task whose iterations are used up (T26). in.Reason is the last error.
func LimitIterations(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvLimit, id, a, in, now)
}

// HaltTask blocks a task that reached a limit of cost, time, tokens or runs (T27).
func HaltTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvHalt, id, a, in, now)
}

// Unblock lets a BLOCKED task start over (T29).
func Unblock(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, EvUnblock, id, a, in, now)
}

// Resubmit lets a halted task go on (T30).
func Resubmit(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvResubmit, id, a, in, now)
}

// Supersede replaces a task by others and re-points its dependents (T32, T31).
func Supersede(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	if err := run(s, EvSupersede, id, a, in, now); err != nil {
		return err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		if t.Status.Terminal() || !t.DependsOn.Has(id) {
			continue
		}
		if err := run(s, EvRetarget, t.ID, sys, Input{What: id, By: in.By}, now); err != nil {
			return err
		}
	}
	return nil
}

// Abandon drops a task (T33). Its UNCLAIMED dependents are blocked (T28); the DRAFT ones
// are returned, for the caller to name.
func Abandon(s *blackboard.State, id string, a Actor, in Input, now time.Time) (drafts []string, err error) {
	in = in.reasoned()
	if err := run(s, EvAbandon, id, a, in, now); err != nil {
		return nil, err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		switch {
		case !t.DependsOn.Has(id):
		case t.Status == blackboard.Draft:
			drafts = append(drafts, t.ID)
		case t.Status == blackboard.Unclaimed:
			if err := run(s, EvDependencyLost, t.ID, sys, Input{What: id}, now); err != nil {
				return nil, err
			}
		}
	}
	return drafts, nil
}

// HoldTask keeps everybody from picking the task (T34).
func HoldTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, EvHold, id, a, in, now)
}

// UnholdTask ends a hold (T35).
func UnholdTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvUnhold, id, a, in, now)
}

// Release frees a claim (T36).
func Release(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if a.ID == blackboard.Human || a.Via {
		in = in.reasoned()
	}
	return run(s, EvRelease, id, a, in, now)
}

// HandOff passes a half-done task to the next run (T37).
func HandOff(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	h := in.Handoff
	if h == nil {
		h = &blackboard.Handoff{}
	}
	in.Texts = append(slices.Clone(in.Texts), Text{"--summary", h.Summary}, Text{"--next-action", h.NextAction})
	return run(s, EvHandoff, id, a, in, now)
}

// Retry starts the next iteration on the same claim (T38). It is refused when the
// iterations are used up: then LimitIterations comes instead.
func Retry(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvRetry, id, a, in, now)
}

// RunFailed records a run that ended badly (T39). in.Outcome says how: timeout, stalled,
// crashed or killed. A timeout or stall of the last iteration blocks the task (T26), and so does
// the last crash, stall or timeout that limits.task_crashes allows (T24).
func RunFailed(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	t := s.Task(id)
	over := t != nil && hung(in.Outcome) && IterationsOver(s, t)
	if err := run(s, EvRunFailed, id, a, in, now); err != nil {
		return err
	}
	in.Reason = strings.TrimSuffix(in.Outcome+": "+in.Reason, ": ")
	switch {
	case over:
		return run(s, EvLimit, id, a, in, now)
	case (in.Outcome == crashedRun || hung(in.Outcome)) && crashedTooOften(s, s.Task(id)):
		return blockCrashed(s, id, a, in, now)
	}
	return nil
}

// SetupFailed counts that no worktree of the task could be set up, as a crash of its program; the last one that
// limits.task_crashes allows blocks the task (T25). It returns the number of them in a row.
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

// blockFailing blocks a task with the last output of what failed. The question is the supervisor's.
func blockFailing(s *blackboard.State, id string, a Actor, in Input, now time.Time, reason, question string) error {
	if len(in.Tail) > 0 {
		reason += "\nIts last output:\n" + strings.Join(in.Tail, "\n")
	}
	in.Reason, in.Questions = reason, blackboard.List{question}
	before := len(s.Questions)
	if err := run(s, EvBlock, id, a, in, now); err != nil {
		return err
	}
	for _, q := range s.Questions[before:] {
		q.Synthetic = true
	}
	return nil
}

// Rerun starts the task again from nothing, Restep from a recorded commit (T40).
func Rerun(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvRerun, id, a, in, now)
}

// Restep sets the task back to a recorded commit (T40).
func Restep(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, EvRestep, id, a, in, now)
}

// reasoned makes the reason a text that must be given (G09).
func (in Input) reasoned() Input {
	in.Texts = append(slices.Clone(in.Texts), Text{"--reason", in.Reason})
	return in
}

// IsAlreadyDone reports whether err says that the event has happened already.
func IsAlreadyDone(err error) bool { return errors.Is(err, ErrAlreadyDone) }
