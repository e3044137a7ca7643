package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/prompt"
	"liza/pkg/store"
	"liza/pkg/verb"
)

// maxClaimFailures is how often in a row a claim may fail before a person has to look.
const maxClaimFailures = 3

// claimFailed tells of a claim that may succeed when it is tried again: the worktree could
// not be made, by whatever git or the disk had to say. What the store says is waited for elsewhere.
func claimFailed(err error) bool {
	var invalid *store.InvalidError
	var wentBack *store.WentBackError
	var locked *store.LockedError
	if errors.As(err, &invalid) || errors.As(err, &wentBack) || errors.As(err, &locked) {
		return false
	}
	return err != nil && (exitOf(err) == 0 || exitOf(err) == blackboard.ExitFailure)
}

// code claims the best task and works on it until the claim ends.
func (s *Supervisor) code(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	if done, err := s.applyLimits(hard, st); err != nil || done {
		return done, waiting{}, err
	}
	w, err := s.closed(hard, st)
	if err != nil || w.why != "" {
		return false, w, err
	}
	var c verb.Claimed
	for failures := 0; ; failures++ {
		c, err = s.Desk.Claim(hard, s.Task)
		if !claimFailed(err) {
			break
		}
		s.warn(s.Task, "claim failed: %v", err)
		if failures == maxClaimFailures {
			return false, waiting{}, fmt.Errorf("%w: %d claims failed in a row: %w", ErrGaveUp, failures+1, err)
		}
		if !sleep(hard, time.Second+rand.N(4*time.Second)) {
			return false, waiting{}, ErrAborted
		}
	}
	if w, idle := s.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, err
	}
	s.say(c.Task, "claimed, iteration %d", c.Iteration)
	for _, w := range c.Warnings {
		s.warn(c.Task, "%s", w)
	}
	return true, waiting{}, s.work(soft, hard, c.Task)
}

// review claims the next review and works on it until the verdict.
func (s *Supervisor) review(soft, hard context.Context) (bool, waiting, error) {
	st, err := s.Desk.View(hard)
	if err != nil {
		return false, waiting{}, err
	}
	if w, err := s.closed(hard, st); err != nil || w.why != "" {
		return false, w, err
	}
	c, err := s.Desk.ClaimReview(hard, s.Task)
	if w, idle := s.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, err
	}
	s.say(c.Task, "reviews %s", short(c.Commit))
	return true, waiting{}, s.work(soft, hard, c.Task)
}

// closed says why the limits of sprint and day let nothing new start, when there is work.
func (s *Supervisor) closed(ctx context.Context, st *blackboard.State) (waiting, error) {
	for _, t := range st.Tasks {
		if t != nil && t.Hold == nil && s.takes(t.Status) {
			_, w, err := s.sprintSpent(ctx, st, 0)
			return w, err
		}
	}
	return waiting{}, nil
}

// nothingTo tells whether a claim found nothing, lost a race, or has to wait.
func (s *Supervisor) nothingTo(st *blackboard.State, err error) (waiting, bool) {
	if isNothing(err) || isRefused(err) {
		until := s.heldBack(st)
		return waiting{why: err.Error(), until: until, paused: !until.IsZero()}, true
	}
	return waiting{}, false
}

// onlyTask ends a supervisor that was started for one task which cannot be had.
func (s *Supervisor) onlyTask(err error) error {
	if s.Task != "" && s.Once {
		return err
	}
	return nil
}

// applyLimits blocks claimable tasks that have reached a limit (T26, T27), without a claim.
func (s *Supervisor) applyLimits(ctx context.Context, st *blackboard.State) (bool, error) {
	for _, t := range st.Tasks {
		if t.Hold != nil {
			continue
		}
		var op func(*blackboard.State, blackboard.Actor) error
		switch t.Status {
		case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
			if h := st.Reached(t, s.Desk.Now()); h != nil {
				op = func(st *blackboard.State, a blackboard.Actor) error {
					return st.HaltTask(t.ID, blackboard.SystemActor(a.Facts), blackboard.Input{Halt: h}, s.Desk.Now())
				}
			}
		}
		if op == nil && (t.Status == blackboard.Rejected || t.Status == blackboard.IntegrationFailed) && st.IterationsOver(t) {
			op = func(st *blackboard.State, a blackboard.Actor) error {
				return st.LimitIterations(t.ID, blackboard.SystemActor(a.Facts), blackboard.Input{Reason: lastError(t)}, s.Desk.Now())
			}
		}
		if op == nil {
			continue
		}
		err := s.Desk.Update(ctx, "limit", op)
		if err != nil && !isRefused(err) {
			return false, err
		}
		if err == nil {
			s.warn(t.ID, "blocked: a limit is reached")
			return true, nil
		}
	}
	return false, nil
}

func lastError(t *blackboard.Task) string {
	if t.RejectionReason != nil {
		return t.RejectionReason.Summary
	}
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1].Summary
	}
	return ""
}

// unit is one unit of work: a claim with all its runs until it ends.
type unit struct {
	task       string
	reasks     int
	restarts   int
	transients int
	timeouts   int
	crashes    int
	circular   int  // plans that were tried before
	fixed      bool // the commands of the rejection were run
	reask      *reask
	talk       *blackboard.Conversation // in which the next run takes place; nil: a new one, or the one before a rejection
	with       string                   // the program that has it
	fresh      bool                     // no earlier conversation is to be resumed
	uncounted  bool                     // a planner's launch that could not do anything
	shorten    *prompt.Shorten          // of a summarizer
}

// reask is what the next run is told about the answer that could not be used.
type reask struct {
	broken, problem string
}

// work runs the agent on its claim until the claim ends.
func (s *Supervisor) work(soft, hard context.Context, task string) error {
	guarded, release := s.lease.guard(hard)
	defer release()
	u := &unit{task: task}
	ended := func(err error) error {
		switch {
		case errors.Is(context.Cause(guarded), errLost):
			return &blackboard.Refusal{Exit: blackboard.ExitLeaseLost, Message: "the lease was lost while the agent worked", Next: "liza status"}
		case hard.Err() != nil:
			return ErrAborted
		}
		return err
	}
	if again, err := s.submitAgain(guarded, task); again || err != nil {
		return ended(err)
	}
	if s.Role == blackboard.RoleReviewer {
		judge, err := s.check(guarded, u)
		if err := ended(err); err != nil || !judge {
			return err
		}
		if soft.Err() != nil {
			return s.letGo(hard, u, "stopped by the person")
		}
	}
	for {
		again, wait, err := s.runOnce(guarded, u)
		if err := ended(err); err != nil {
			return err
		}
		if again && s.OneRun {
			return s.letGo(hard, u, "one run was asked for")
		}
		waited := wait == 0 || sleep(guarded, wait)
		if !again {
			return nil
		}
		if !waited {
			continue // the next round sees why
		}
		if soft.Err() != nil && u.reask == nil {
			return s.letGo(hard, u, "stopped by the person")
		}
		if why := s.Desk.Control(); why != "" && u.reask == nil {
			if err := s.waitOpen(guarded); err != nil {
				return err
			}
		}
	}
}

// waitOpen waits between two runs of one claim while PAUSE or CHECKPOINT stands.
func (s *Supervisor) waitOpen(ctx context.Context) error {
	for s.Desk.Control() != "" {
		if !sleep(ctx, 200*time.Millisecond) {
			return nil
		}
	}
	return s.Desk.FollowControl(ctx)
}

// runOnce starts the agent program once and applies what came of it. again: the claim
// goes on with another run after wait.
func (s *Supervisor) runOnce(ctx context.Context, u *unit) (again bool, wait time.Duration, err error) {
	free, ok := s.Slots.take(ctx)
	if !ok {
		return false, 0, nil
	}
	defer free()
	st, err := s.Desk.View(ctx)
	if err != nil {
		return false, 0, err
	}
	t := st.Task(u.task)
	if t == nil {
		return false, 0, nil
	}
	if stopped, wait, err := s.mayRun(ctx, u, st, t); stopped || err != nil {
		return wait > 0, wait, err
	}
	if s.Role == blackboard.RoleCoder && t.KindOf() != "code" {
		return s.runKind(ctx, u, st, t)
	}
	if st, t, err = s.runFixesOnce(ctx, u, st, t); err != nil || t == nil {
		return false, 0, err
	}
	mark := s.Desk.MarkOf(st, s.ID, u.task)
	r, err := s.spawn(ctx, u, st, t)
	free()
	defer s.closeRecord(ctx, err)
	if err != nil {
		return false, 0, s.cannotStart(ctx, u, err)
	}
	if errors.Is(context.Cause(ctx), errLost) {
		return false, 0, nil
	}
	return s.judge(context.WithoutCancel(ctx), ctx, u, mark, r)
}

// mayRun looks at everything that can forbid the next run of a claim: limits of the task,
// the sprint and the day, and a pause of the agent program. With a wait it is to be asked again.
func (s *Supervisor) mayRun(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (stopped bool, wait time.Duration, err error) {
	if stopped, err := s.overLimit(ctx, st, t); stopped || err != nil {
		return true, 0, err
	}
	if w := s.chosen(st, t).wait; w.why != "" {
		return true, 0, s.letGo(ctx, u, w.why)
	}
	if _, needed := s.kindOf(t); !needed {
		return false, 0, nil
	}
	over, wait, err := s.reserve(ctx, st, t)
	if over != nil {
		err = s.stopForLimit(ctx, u, over)
	}
	return over != nil || wait > 0, wait, err
}

// overLimit blocks a task that has reached a limit before its next run (T26, T27).
func (s *Supervisor) overLimit(ctx context.Context, st *blackboard.State, t *blackboard.Task) (bool, error) {
	if s.Role == blackboard.RoleCoder && st.IterationsPast(t) {
		err := s.Desk.Update(ctx, "limit", func(st *blackboard.State, a blackboard.Actor) error {
			return st.LimitIterations(t.ID, a, blackboard.Input{Reason: lastError(t)}, s.Desk.Now())
		})
		s.warn(t.ID, "blocked: the iterations are used up")
		return true, err
	}
	h := st.Reached(t, s.Desk.Now())
	if h == nil {
		return false, nil
	}
	_, err := s.Desk.Halt(ctx, t.ID, h)
	s.warn(t.ID, "blocked: %s limit %d of %d", h.Kind, h.Value, h.Limit)
	return true, err
}

// judge turns the end of a run into what happens next (protocol 13.3, run-end table).
func (s *Supervisor) judge(ctx, life context.Context, u *unit, m verb.Mark, r agent.Result) (bool, time.Duration, error) {
	st, err := s.Desk.View(ctx)
	if err != nil {
		return false, 0, err
	}
	held := s.holds(st, u, m)
	if r.Outcome == agent.Killed && life.Err() != nil && held {
		return false, 0, nil // the caller sees why and releases
	}
	if r.Outcome == agent.Killed && s.last.over != nil && held {
		return false, 0, s.stopForLimit(ctx, u, s.last.over)
	}
	if !held || s.answered(r) {
		return s.apply(ctx, u, m, r)
	}
	if r.Restart {
		if u.restarts++; u.restarts <= maxRestarts {
			s.say(u.task, "asks to be restarted")
			return true, 0, nil
		}
	}
	if s.last.resumed && r.NoSession {
		return s.beginAnew(u), 0, nil
	}
	if handled, again, wait, err := s.setBack(ctx, u, r); handled {
		return again, wait, err
	}
	u.reask, u.talk, u.fresh = nil, nil, true
	switch {
	case r.Outcome == agent.Asked:
		_, err := s.asked(ctx, u.task, r)
		return false, 0, err
	case r.Outcome == agent.ContextFull:
		return s.contextFull(ctx, u, st.Task(u.task), m, r)
	case r.Outcome == agent.TimedOut || r.Outcome == agent.Stalled || r.Outcome == agent.Killed:
		return s.timedOut(ctx, u, r)
	}
	return s.crashed(ctx, u, r)
}

// holds tells whether the claim of this unit still stands.
func (s *Supervisor) holds(st *blackboard.State, u *unit, m verb.Mark) bool {
	t := st.Task(u.task)
	if t == nil {
		return false
	}
	if s.Role == blackboard.RoleReviewer {
		return t.Status == blackboard.ReadyForReview && t.ReviewingBy == s.ID
	}
	return t.Status == blackboard.Claimed && t.AssignedTo == s.ID && t.ClaimSeq == m.ClaimSeq
}

// answered tells whether there is an outcome to apply: the program came to its end, or
// said its exit command all the same. An answer that is cut off is asked for again.
func (s *Supervisor) answered(r agent.Result) bool {
	switch r.Outcome {
	case agent.Finished, agent.Reask:
		return true
	case agent.Crashed, agent.Stopped:
		return !r.Restart && s.hasExit(r)
	}
	return false
}

// hasExit tells whether a program that ended badly has said its exit command all the same.
func (s *Supervisor) hasExit(r agent.Result) bool {
	exit, _, err := verb.ParseExit(r.Final, string(s.Role), s.Desk.Config().Exit.Strict)
	return err == nil && exit != nil
}

func (s *Supervisor) apply(ctx context.Context, u *unit, m verb.Mark, r agent.Result) (bool, time.Duration, error) {
	out, err := s.Desk.Apply(ctx, verb.Run{Kind: string(s.Role), Task: u.task, Before: m, Output: r.Final, Strict: s.Desk.Config().Exit.Strict})
	if err != nil {
		return false, 0, err
	}
	s.current.outcome(out)
	switch out.Effect {
	case verb.Reask:
		if s.Interactive != nil {
			return false, 0, s.letGo(ctx, u, closedByPerson)
		}
		return s.askAgain(ctx, u, r, out.Problem)
	case verb.Continue:
		u.reask, u.talk, u.fresh = nil, nil, true
		s.say(u.task, "%s", out.Note)
		return true, 0, nil
	}
	s.say(u.task, "%s (%s)", out.Note, cost(r))
	return false, 0, nil
}

// closedByPerson is why a claim is given back after a program in a terminal did nothing that
// would end it: opening it again and again would leave the person no way out.
const closedByPerson = "the program was closed before the work was handed in"

// askAgain starts the program again with its broken answer, up to max_parse_retries; then
// the unit is stuck (protocol 13.3.1).
func (s *Supervisor) askAgain(ctx context.Context, u *unit, r agent.Result, problem string) (bool, time.Duration, error) {
	if u.reasks < s.Desk.Config().Limits.MaxParseRetries {
		u.reasks++
		u.reask, u.talk, u.with = &reask{broken: r.Final, problem: problem}, s.last.talk, s.last.program
		s.warn(u.task, "asks again (%d): %s", u.reasks, problem)
		return true, 0, nil
	}
	_, err := s.Desk.Unanswered(ctx, verb.Run{Kind: string(s.Role), Task: u.task}, problem, u.reasks+1)
	s.warn(u.task, "stuck: invalid exit command: %s", problem)
	return false, 0, err
}

// asked puts the question of a program that waited for somebody to answer on the board.
func (s *Supervisor) asked(ctx context.Context, task string, r agent.Result) (verb.Outcome, error) {
	q := verb.Prompted{Type: r.Question.Type, Text: r.Question.Text, Options: r.Question.Options}
	out, err := s.Desk.Asked(ctx, verb.Run{Kind: string(s.Role), Task: task}, q)
	if err == nil {
		s.current.outcome(out)
		s.warn(task, "%s", r.Error)
	}
	return out, err
}

// timedOut records a run that was stopped at its limits: once it is repeated, then the
// claim is given back.
func (s *Supervisor) timedOut(ctx context.Context, u *unit, r agent.Result) (bool, time.Duration, error) {
	s.warn(u.task, "%s: %s", r.Outcome, r.Error)
	if s.Role == blackboard.RoleReviewer {
		_, err := s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "failed", Reason: string(r.Outcome) + ": " + r.Error})
		return false, afterTimeout, err
	}
	limited, err := s.Desk.RunFailed(ctx, u.task, string(r.Outcome), r.Error)
	if err != nil || limited {
		return false, 0, err
	}
	if u.timeouts++; u.timeouts >= 2 {
		return false, 0, s.letGo(ctx, u, string(r.Outcome)+" twice in a row")
	}
	return true, afterTimeout, nil
}

// crashed records a crash; too many within the window end the supervisor.
func (s *Supervisor) crashed(ctx context.Context, u *unit, r agent.Result) (bool, time.Duration, error) {
	u.crashes++
	what := "crashed: " + r.Error
	s.warn(u.task, "%s", what)
	if s.Role == blackboard.RoleReviewer { // a review that failed is counted and given back
		if _, err := s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "failed", Reason: what}); err != nil {
			return false, 0, err
		}
		if s.tooManyCrashes(ctx) {
			return false, 0, s.stopForCrashes(ctx, what)
		}
		s.crashes++
		return false, s.policy.CrashWait(s.crashes), nil
	}
	if _, err := s.Desk.RunFailed(ctx, u.task, "crashed", r.Error); err != nil {
		return false, 0, err
	}
	if s.tooManyCrashes(ctx) {
		if err := s.letGo(ctx, u, what); err != nil {
			return false, 0, err
		}
		return false, 0, s.stopForCrashes(ctx, what)
	}
	return true, s.policy.CrashWait(u.crashes), nil
}

func (s *Supervisor) tooManyCrashes(ctx context.Context) bool {
	st, err := s.Desk.View(ctx)
	if err != nil || st.Agents[s.ID] == nil {
		return false
	}
	var at []time.Time
	for _, c := range st.Agents[s.ID].Crashes {
		if t, ok := c.At(); ok {
			at = append(at, t)
		}
	}
	return s.policy.GiveUp(at, st.Int("crash_limit"), st.Duration("crash_window"), s.Desk.Now())
}

// stopForCrashes is the give-up: the journal says so, and the supervisor ends.
func (s *Supervisor) stopForCrashes(ctx context.Context, what string) error {
	if err := s.gaveUp(ctx, what, map[string]any{"program": s.last.program}); err != nil {
		return err
	}
	return fmt.Errorf("%w after too many crashes: %s", ErrGaveUp, what)
}

// letGo gives the claim or review claim back.
func (s *Supervisor) letGo(ctx context.Context, u *unit, reason string) error {
	var err error
	if s.Role == blackboard.RoleReviewer {
		_, err = s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "released", Reason: reason})
	} else {
		_, err = s.Desk.Release(ctx, verb.ReleaseInput{Task: u.task, Reason: reason})
	}
	if err == nil {
		s.say(u.task, "released: %s", reason)
	}
	return err
}

// cannotStart handles a program that could not be prepared or started at all.
func (s *Supervisor) cannotStart(ctx context.Context, u *unit, err error) error {
	if isLost(err) || ctx.Err() != nil {
		return err
	}
	if e := s.letGo(ctx, u, "the agent program cannot be started"); e != nil {
		return errors.Join(err, e)
	}
	return fmt.Errorf("%w: %w", ErrGaveUp, err)
}

// cost says how long a run took and what it cost; unknown is not zero.
func cost(r agent.Result) string {
	text := fmt.Sprintf("%.1f s", r.Seconds)
	if r.Usage.CostKnown {
		return fmt.Sprintf("%s, %d cents", text, r.Usage.CostCents)
	}
	return text + ", cost unknown"
}
