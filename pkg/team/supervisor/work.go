package supervisor

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// applied hands a run's answer to the board, in one write with the end of the run. Work that cannot be pushed is finished: the
// claim is kept until it can.
func (s *Supervisor) applied(ctx, life context.Context, u *unit, r outcome.Run) (outcome.Report, error) {
	for {
		out, err := outcome.Apply(ctx, u.board, r)
		if failed := u.board.Board.Write(ctx, "run"); isLost(failed) { // when the answer wrote nothing
			s.lease.end()
			return out, cmp.Or(err, failed)
		} else if err == nil {
			err = failed
		}
		w, trouble := s.remote.trouble(u.task, err)
		if unreachable(err) {
			w, trouble = s.cutOff(err), true
		} else if unreadable(err) {
			w, trouble = waiting{until: s.Service.Board.Now().Add(time.Second)}, true
		}
		if !trouble {
			if err == nil {
				s.remote.well()
				s.wasCutOff = false // nothing was given up
			}
			return out, err
		}
		if !sleep(life, w.until.Sub(s.Service.Board.Now())) {
			return out, err
		}
	}
}

// spawn prepares folder, prompt, environment and log, runs the program, and records its end.
func (s *Supervisor) spawn(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (r *run, err error) {
	defer func() {
		if r == nil { // else its end does it
			s.launcher.closeJudged(ctx, t.ID)
		}
	}()
	if s.member.judges(t) {
		place, err := s.Service.Checks.OpenJudged(ctx, st, t)
		if err != nil {
			return nil, err
		}
		if place.Setup != "" {
			s.member.warn(t.ID, "the reviewer works in a checkout that is not set up: %q failed (see %s)", place.Setup, s.Service.Board.Rel(place.Log()))
		}
	}
	p, err := s.prompts.prompt(ctx, st, t, u, nil)
	if err != nil {
		return nil, err
	}
	dir := s.member.folder(t)
	spec := agent.Spec{Dir: dir, Role: string(s.Role), TaskID: t.ID, Worktree: dir}
	return s.launcher.launch(ctx, spec, p, st, u, t.ID)
}

// work runs the agent on its claim until the claim ends.
func (s *Supervisor) work(soft, hard context.Context, task string) (err error) {
	return s.workOn(soft, hard, task, nil)
}

// workOn is work that begins with the run that was adopted, if there is one.
func (s *Supervisor) workOn(soft, hard context.Context, task string, a *adopted) (err error) {
	guarded, release := s.lease.guard(hard)
	defer release()
	u := &unit{task: task, board: s.Service.Drafting(), adopted: a, last: func() bool { return soft.Err() != nil || a != nil }}
	ended := func(err error) error {
		switch {
		case errors.Is(context.Cause(guarded), errLost):
			return &transition.Refusal{Exit: transition.ExitLeaseLost, Message: "the lease was lost while the agent worked", Next: "liza status"}
		case hard.Err() != nil:
			return ErrAborted
		case errors.Is(context.Cause(guarded), errStopped), errors.Is(context.Cause(guarded), errAttached):
			return context.Cause(guarded)
		}
		return err
	}
	defer func() {
		_ = u.board.Board.Write(context.WithoutCancel(hard), "checks") // that its claim is over says the claim
		if errors.Is(err, errStopped) {
			err = s.member.releaseAll(hard, "a person stopped "+s.ID)
		} else if errors.Is(err, errAttached) {
			err = s.leaveToPerson(hard)
		}
	}()
	if s.Attach {
		s.Attach = false
		if st, err := s.Service.Board.View(guarded); err == nil && st.Task(task) != nil {
			u.talk, u.with = transition.Conversation(st.Task(task), s.ID, s.CLI), s.CLI
			u.attached = u.talk != nil
		}
	} else if a == nil {
		if again, err := s.submitAgain(guarded, task); again || err != nil {
			return ended(err)
		}
	}
	if s.Role == blackboard.RoleReviewer && a == nil {
		judge, err := s.check(guarded, u)
		if err := ended(err); err != nil || !judge {
			return err
		}
		if soft.Err() != nil {
			return s.member.letGo(hard, u, "stopped by the person")
		}
	}
	for {
		n, err := s.runOnce(guarded, u)
		if err := ended(err); err != nil {
			return err
		}
		if n.wait > 0 {
			if err := u.board.Board.Write(guarded, "checks"); err != nil {
				return ended(err)
			}
		}
		waited := n.wait == 0 || rest(soft, guarded, n.wait)
		if !n.again {
			return nil
		}
		if !waited {
			continue // the next round sees why
		}
		if soft.Err() != nil && (u.reask == nil || n.wait > 0) {
			return s.member.letGo(hard, u, "stopped by the person")
		}
		if why := s.Service.Board.Control(); why != "" && u.reask == nil {
			if err := s.waitOpen(guarded); err != nil {
				return err
			}
		}
	}
}

// waitOpen waits between two runs of one claim while PAUSE or CHECKPOINT is set.
func (s *Supervisor) waitOpen(ctx context.Context) error {
	for s.Service.Board.Control() != "" {
		if !sleep(ctx, 200*time.Millisecond) {
			return nil
		}
	}
	return sprint.FollowControl(ctx, s.Service)
}

// runOnce starts the agent program once and applies what came of it.
func (s *Supervisor) runOnce(ctx context.Context, u *unit) (next, error) {
	free, err := s.slot(ctx, u)
	if err != nil || free == nil {
		return next{}, err
	}
	defer free()
	st, err := u.board.Board.View(ctx)
	if err != nil {
		return next{}, err
	}
	t := st.Task(u.task)
	if a := u.adopted; a != nil {
		u.adopted = nil
		r, err := s.launcher.resume(ctx, a, st, u)
		free()
		return s.ended(ctx, u, r, err)
	}
	if t == nil {
		return next{}, nil
	}
	if stopped, wait, err := s.mayRun(ctx, u, st, t); stopped || err != nil {
		return next{again: wait > 0, wait: wait}, err
	}
	if err := u.board.Worktrees.Ensure(ctx, st, t); err != nil {
		return next{}, s.member.cannotStart(ctx, u, err)
	}
	if s.Role == blackboard.RoleCoder && t.KindOf() != blackboard.CodeTask {
		return s.errands.runKind(ctx, u, st, t)
	}
	if st, t, err = s.errands.runFixesOnce(ctx, u, st, t); err != nil || t == nil {
		return next{}, err
	}
	r, err := s.spawn(ctx, u, st, t)
	free()
	return s.ended(ctx, u, r, err)
}

// ended closes a run, and judges it unless it could not be started.
func (s *Supervisor) ended(ctx context.Context, u *unit, r *run, err error) (next, error) {
	defer s.launcher.closeRun(ctx, r, err)
	lost := errors.Is(context.Cause(ctx), errLost)
	if r != nil && !lost { // the checkout is the next reviewer's as soon as the claim is over
		s.launcher.closeJudged(ctx, u.task)
	}
	if err != nil {
		return next{}, s.member.cannotStart(ctx, u, err)
	}
	if lost {
		return next{}, nil
	}
	return s.judge(context.WithoutCancel(ctx), ctx, u, r)
}

// slot waits for one of the slots of programs; nil when ctx has ended before. What the checks found is not kept waiting.
func (s *Supervisor) slot(ctx context.Context, u *unit) (free func(), err error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	if free, ok := s.Slots.try(); ok {
		return free, nil
	}
	if err := u.board.Board.Write(ctx, "checks"); err != nil {
		return nil, err
	}
	free, _ = s.Slots.take(ctx)
	return free, nil
}

// mayRun looks at everything that can forbid the next run of a claim: limits of the task,
// the sprint and the day, and a pause of the agent program. With a wait it is to be asked again.
func (s *Supervisor) mayRun(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (stopped bool, wait time.Duration, err error) {
	if stopped, err := s.overLimit(ctx, st, t); stopped || err != nil {
		return true, 0, err
	}
	if w := s.programs.chosen(st, t).wait; w.why != "" {
		return true, 0, s.member.letGo(ctx, u, w.why)
	}
	if _, needed := s.programs.kindOf(t); !needed {
		return false, 0, nil
	}
	over, wait, err := s.spending.reserve(ctx, st, t)
	if over != nil {
		err = s.spending.stopForLimit(ctx, u, over)
	}
	return over != nil || wait > 0, wait, err
}

// overLimit blocks a task that has reached a limit before its next run (T26, T27).
func (s *Supervisor) overLimit(ctx context.Context, st *blackboard.State, t *blackboard.Task) (bool, error) {
	if s.Role == blackboard.RoleCoder && transition.IterationsPast(st, t) {
		err := s.Service.Board.Update(ctx, "limit", func(st *blackboard.State, a transition.Actor) error {
			return transition.LimitIterations(st, t.ID, a, transition.Input{Reason: lastError(t)}, s.Service.Board.Now())
		})
		s.member.warn(t.ID, "blocked: the iterations are used up")
		return true, err
	}
	h := transition.Reached(st, t, s.Service.Board.Now())
	if h == nil {
		return false, nil
	}
	_, err := s.Service.Halt(ctx, t.ID, h)
	s.member.warn(t.ID, "blocked: %s limit %s of %d", h.Kind, h.Value, h.Limit)
	return true, err
}

// judge turns the end of a run into what happens next (specs/protocol.md#13.3, run-end table).
func (s *Supervisor) judge(ctx, life context.Context, u *unit, r *run) (next, error) {
	st, err := u.board.Board.View(ctx)
	if err != nil {
		return next{}, err
	}
	held := s.member.holds(st, u, r.before)
	outcome := r.result.Outcome
	if outcome == agent.Killed && life.Err() != nil && held {
		return next{}, nil // the caller sees why and releases
	}
	if r.told && held {
		u.talk, u.with, u.fresh, u.reask = r.talk, r.program(), false, nil
		s.member.say(u.task, "is interrupted with a text, and goes on")
		return next{again: true}, nil
	}
	if r.stopped() && held {
		return next{}, s.spending.stopForLimit(ctx, u, r.over)
	}
	if r.answered() {
		s.failed.reviews.end()
	}
	if !held || r.answered() || s.Interactive != nil && len(r.said) > 0 { // a person closes a program as they can
		return s.apply(ctx, life, u, r)
	}
	if s.Interactive != nil && outcome == agent.Crashed { // a person closes a program as they can
		return next{}, s.left(ctx, life, u, r)
	}
	if mayRestart(r.result, u.restarts) {
		u.restarts++
		s.member.say(u.task, "asks to be restarted")
		return next{again: true}, nil
	}
	if !r.result.Restart {
		u.restarts = 0
	}
	if r.lostTalk() {
		return s.member.restartTalk(u, r), nil
	}
	if n, handled, err := s.programs.setBack(ctx, u, r); handled {
		return n, err
	}
	u.reask, u.talk, u.fresh = nil, nil, true
	switch outcome {
	case agent.Asked, agent.Refused:
		if outcome == agent.Refused && r.climbs() {
			return s.climb(ctx, u, "refused", r.result.Error)
		}
		_, err := s.member.asked(ctx, u.task, r)
		return next{}, err
	case agent.ContextFull:
		return s.contextFull(ctx, u, st.Task(u.task), r)
	case agent.TimedOut, agent.Stalled, agent.Killed:
		return s.timedOut(ctx, u, r)
	}
	return s.crashed(ctx, u, r)
}

func (s *Supervisor) apply(ctx, life context.Context, u *unit, r *run) (next, error) {
	begun := s.beginNext(ctx, u)
	out, err := s.applied(ctx, life, u, outcome.Run{Kind: string(s.Role), Task: u.task, Before: r.before, Answer: r.answer, Said: r.said, ByVerbs: r.byVerbs, Climbs: r.climbs()})
	if begun(); err != nil {
		return next{}, err
	}
	r.outcome(out)
	switch out.Effect {
	case outcome.Reask:
		if s.Interactive != nil {
			return next{}, s.left(ctx, life, u, r)
		}
		if out.Nothing && u.nothing {
			s.member.warn(u.task, "blocked: %s", out.Problem)
			_, err := outcome.NothingNew(ctx, u.board, outcome.Run{Kind: string(s.Role), Task: u.task}, out.Problem)
			return next{}, err
		}
		u.nothing = out.Nothing
		return s.askAgain(ctx, u, r, out.Problem)
	case outcome.Continue:
		u.reask, u.talk, u.fresh = nil, nil, true
		s.member.say(u.task, "%s", out.Note)
		return next{again: true}, nil
	}
	s.member.say(u.task, "%s (%s)", out.Note, cost(r.result))
	return next{}, nil
}

// beginNext lets the write that ends this unit of work also reserve the next task, or claim the next review: the member is going to
// look for it a moment later. begun, called afterwards, keeps what came of it. Twice a minute the member takes a whole step instead.
func (s *Supervisor) beginNext(ctx context.Context, u *unit) (begun func()) {
	none := func() {}
	if u.last == nil || u.last() || s.Once || s.Task != "" || s.Interactive != nil || s.Service.Board.Now().Sub(s.recovered) >= recoverEvery {
		return none
	}
	st, err := u.board.Board.View(ctx)
	if err != nil || st.Stopped[s.ID] != nil || len(s.Service.Board.Orders(st)) > 0 {
		return none
	}
	if _, w, err := s.spending.sprintSpent(ctx, st, 0); err != nil || w.why != "" {
		return none
	}
	if s.Role == blackboard.RoleReviewer {
		r, done, err := u.board.ReviewNext(ctx)
		if err != nil {
			return none
		}
		return func() {
			if done() {
				s.reviews = r
			}
			u.board.Board.ThenNothing()
		}
	}
	s.Running.handTo(ctx, st, u)
	r, done, err := u.board.ReserveNext(ctx)
	return func() {
		if err == nil && done() {
			s.reserved = r
		}
		u.board.Board.ThenNothing()
	}
}

// conversed is the conversation after a run, with all that it has used so far.
func conversed(before *blackboard.Conversation, r agent.Result) *blackboard.Conversation {
	if r.Session == "" {
		return nil
	}
	c := &blackboard.Conversation{ID: r.Session, TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, TokensCached: r.Usage.TokensCached}
	if before != nil {
		c.TokensIn += before.TokensIn
		c.TokensOut += before.TokensOut
		c.TokensCached += before.TokensCached
	}
	return c
}

// submitAgain hands a commit in without running a coder, when an earlier run has done the work: its
// review was halted (specs/roles-and-knowledge.md#8.3), or its supervisor died before it could hand it in.
func (s *Supervisor) submitAgain(ctx context.Context, task string) (bool, error) {
	if s.Role != blackboard.RoleCoder {
		return false, nil
	}
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return false, err
	}
	t := st.Task(task)
	if t == nil || t.KindOf() != blackboard.CodeTask {
		return false, nil
	}
	in, why := resubmission(t)
	if in.Commit == "" {
		return false, nil
	}
	w, err := s.Service.Board.Repo.Inspect(ctx, s.Service.Board.Repo.WorktreePath(task))
	if err != nil || len(w.Dirty) > 0 || w.Head != in.Commit {
		return false, nil
	}
	done, err := s.Service.Submit(ctx, in)
	if isRefused(err) {
		return false, nil // a coder has to look
	}
	if err == nil {
		s.member.say(task, "%s: %s %s; no coder is needed", done.Status, blackboard.ShortCommit(in.Commit), why)
	}
	return true, err
}

// resubmission returns the commit that an earlier run has finished, without one when there is none, and
// why it was not judged.
func resubmission(t *blackboard.Task) (verb.SubmitInput, string) {
	in := verb.SubmitInput{Task: t.ID}
	switch done := t.FinishedRun(t.ClaimSeq - 1); {
	case t.ReviewCommit != "" && !t.IntegrationFix && afterResubmit(t):
		if in.Commit = t.ReviewCommit; t.NoTests != nil {
			in.NoTests = t.NoTests.Reason
		}
		return in, "was not judged before the limit"
	case done != nil:
		in.Commit, in.Summary = done.Commit, done.Summary
		if t.LastOutcome != nil {
			in.Evidence = t.LastOutcome.EvidenceFiles
		}
		return in, "was finished when its supervisor ended"
	}
	return in, ""
}

// afterResubmit reports whether the last claim of a task is the first one since a person let it
// go on after a halt.
func afterResubmit(t *blackboard.Task) bool {
	i := lastClaim(t)
	if i < 2 || t.History[i-1] == nil || t.History[i-1].Event != blackboard.HistoryUnblocked {
		return false
	}
	b := t.History[i-2]
	return b != nil && b.Event == blackboard.HistoryBlocked && b.Halt != nil
}

// Slots bounds how many agent programs run at a time. A nil one bounds nothing.
type Slots struct {
	Limit func() int // asked at each start: it may change while programs run

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when the next program ends
}

// take waits for a slot, and returns what gives it back; ok is false when ctx ended before.
func (s *Slots) take(ctx context.Context) (free func(), ok bool) {
	if s == nil {
		return func() {}, ctx.Err() == nil
	}
	for {
		s.mu.Lock()
		if s.used < max(1, s.Limit()) {
			s.used++
			s.mu.Unlock()
			return sync.OnceFunc(s.free), true
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		look := time.NewTimer(time.Second) // for a limit that was raised
		select {
		case <-freed:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
		if ctx.Err() != nil {
			return nil, false
		}
	}
}

// try takes a slot that is free now.
func (s *Slots) try() (free func(), ok bool) {
	if s == nil {
		return func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= max(1, s.Limit()) {
		return nil, false
	}
	s.used++
	return sync.OnceFunc(s.free), true
}

func (s *Slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
