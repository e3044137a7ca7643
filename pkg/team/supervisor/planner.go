package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// plan wakes the planner when a trigger is due (specs/protocol.md#13.1).
func (s *Supervisor) plan(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	facts := triggerFacts(s.Service, st)
	due, next := transition.DueTriggers(st, facts, s.Service.Board.Now())
	if len(due) == 0 {
		return false, waiting{why: s.plannerWaits(st, facts), until: next}, nil
	}
	if w := s.chosen(st, nil).wait; w.why != "" {
		w.paused = true
		return false, w, nil
	}
	if stopped, w, err := s.sprintSpent(hard, st, 0); stopped || err != nil {
		return false, w, err
	}
	if why := plan.ReplanStop(st, due[0], s.Service.Board.Config().Limits.MaxReplanDepth); why != "" {
		return true, waiting{}, s.replanStopped(hard, due[0], why)
	}
	err := s.Service.Board.Update(hard, "plan", func(st *blackboard.State, a transition.Actor) error {
		due, next = transition.DueTriggers(st, facts, s.Service.Board.Now()) // another planner may have been faster
		if len(due) == 0 {
			return nil
		}
		return transition.BeginPlanning(st, a, due, s.Service.Board.Now())
	})
	if isRefused(err) {
		return false, waiting{why: err.Error()}, nil
	}
	if err != nil || len(due) == 0 {
		return false, waiting{}, err
	}
	s.say("", "plans: %s", kinds(due))
	return true, waiting{}, s.planning(soft, hard, due)
}

func (s *Supervisor) plannerWaits(st *blackboard.State, f transition.TriggerFacts) string {
	if asked := transition.AskedOfPeople(st); len(asked) > 0 {
		return "a person is asked about " + prose.Few(asked, 5) + "; next: liza questions"
	}
	if all := transition.Triggers(st, f, s.Service.Board.Now()); len(all) > 0 {
		return "the planner was woken for " + kinds(all) + " already; next: liza note TEXT, or liza status"
	}
	return "no reason to plan"
}

func kinds(list []transition.Trigger) string {
	text := ""
	for _, t := range list {
		if text != "" {
			text += ", "
		}
		text += string(t.Kind)
	}
	return text
}

// planned is what came of one run of the planner.
type planned struct {
	outcome.Outcome
	again bool // another run of the same launch
	run   *run // nil: none was begun
}

// planning runs the planner for one launch: re-asks and RETRY included.
func (s *Supervisor) planning(soft, hard context.Context, due []transition.Trigger) error {
	guarded, release := s.lease.guard(hard)
	defer release()
	u := &unit{board: s.Service}
	changed, suppress, answered, err := false, false, false, error(nil)
	retries := 0
	for again := true; again && err == nil; {
		var out planned
		out, err = s.planOnce(soft, guarded, u, due)
		again = out.again
		switch {
		case err != nil:
		case out.Effect == outcome.Continue && out.Action == exitcmd.Retry:
			retries++
			again = retries <= s.Service.Board.Config().Limits.MaxPlanRetries
			if suppress = !again; suppress {
				err = outcome.PlannerStuck(context.WithoutCancel(guarded), s.Service, out.Summary)
			}
		case out.Again:
			suppress = true
			err = s.replanStopped(guarded, due[0], "stuck: the new plan is one that was tried before")
		case out.Effect == outcome.Reask:
			err = s.planningFailed(guarded, u, out.Problem)
			suppress = true
		case out.Action == exitcmd.Stuck:
			suppress = true
		default:
			changed, answered = changed || out.Changed, out.Action == exitcmd.Completed
		}
		s.closeRun(guarded, out.run, nil)
		if soft.Err() != nil || s.OneRun {
			again = false
		}
	}
	if errors.Is(context.Cause(guarded), errLost) {
		return &transition.Refusal{Exit: transition.ExitLeaseLost, Message: "the lease was lost while the planner worked", Next: "liza status"}
	}
	if errors.Is(context.Cause(guarded), errStopped) { // what woke it is still to be planned
		u.uncounted, err = true, nil
	}
	end := s.Service.Board.Update(context.WithoutCancel(hard), "planned", func(st *blackboard.State, a transition.Actor) error {
		if u.uncounted && !changed {
			return transition.CancelPlanning(st, a, due, s.Service.Board.Now())
		}
		err := transition.EndPlanning(st, a, due, changed, suppress, s.Service.Board.Now())
		if err == nil && answered {
			transition.LeaveToPeople(st, due, s.Service.Board.Now())
		}
		return err
	})
	if hard.Err() != nil {
		return errors.Join(ErrAborted, end)
	}
	return errors.Join(err, end)
}

// planOnce is one run of the planner program.
func (s *Supervisor) planOnce(soft, ctx context.Context, u *unit, due []transition.Trigger) (planned, error) {
	free, ok := s.Slots.take(ctx)
	if !ok {
		return planned{}, nil
	}
	defer free()
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return planned{}, err
	}
	if over, wait, err := s.reserve(ctx, st, nil); err != nil || wait > 0 {
		free()
		return planned{again: wait > 0 && rest(soft, ctx, wait)}, err
	} else if over != nil {
		u.uncounted = true
		return planned{}, s.stopForLimit(ctx, u, over)
	}
	p, err := s.prompt(ctx, st, nil, u, due)
	if err != nil {
		return planned{}, err
	}
	if _, err := s.Adapter(p.program); err != nil {
		return planned{}, gaveUp("", err)
	}
	s.Service.Board.Scripted = p.program == "scripted"
	root := s.Service.Board.Project.Root
	r, err := s.launch(ctx, agent.Spec{Dir: root, Role: string(s.Role), Worktree: root}, p, st, u, "")
	free()
	if err != nil || ctx.Err() != nil {
		return planned{run: r}, err
	}
	out, err := s.planOutcome(context.WithoutCancel(ctx), soft, ctx, u, r)
	out.run = r
	return out, err
}

func (s *Supervisor) planOutcome(ctx, soft, life context.Context, u *unit, r *run) (planned, error) {
	if r.answered() {
		return s.applyPlan(ctx, u, r)
	}
	if n, handled, err := s.setBack(ctx, u, r); handled {
		u.uncounted = !n.again
		return planned{again: n.again && rest(soft, life, n.wait)}, err
	}
	switch {
	case r.lostTalk():
		return planned{again: s.restartTalk(u, r).again}, nil
	case r.stopped():
		u.uncounted = true
		return planned{}, s.stopForLimit(ctx, u, r.over)
	case r.result.Question != nil:
		out, err := s.asked(ctx, "", r)
		return planned{Outcome: out}, err
	case mayRestart(r.result, u.restarts):
		u.restarts++
		return planned{again: true}, nil
	}
	wait := u.crashes.next(crashWaits)
	what := string(r.result.Outcome) + ": " + r.result.Error
	s.warn("", "%s", what)
	if s.tooManyCrashes(ctx) {
		return planned{}, stopForCrashes(u, r, what)
	}
	return planned{again: rest(soft, life, wait)}, nil
}

// applyPlan carries out what the planner has said, or asks it again.
func (s *Supervisor) applyPlan(ctx context.Context, u *unit, r *run) (planned, error) {
	out, err := outcome.Apply(ctx, s.Service, outcome.Run{Kind: string(s.Role), Before: r.before, Answer: r.answer, Answers: u.reasks + 1})
	if err != nil {
		return planned{Outcome: out}, err
	}
	r.outcome(out)
	if out.Effect == outcome.Reask && s.Interactive != nil {
		s.say("", closedByPerson)
		return planned{Outcome: outcome.Outcome{Action: exitcmd.Stuck}}, nil // not woken for the same again
	}
	if out.Again { // once
		u.circular++
	}
	if out.Effect == outcome.Reask && u.circular < 2 && u.mayReask(s.Service.Board.Config().Limits.MaxParseRetries) {
		u.askedFor(r, out.Problem)
		s.warn("", "asks again (%d): %s", u.reasks, out.Problem)
		return planned{again: true}, nil
	}
	u.reask, u.talk = nil, nil
	for _, w := range out.Warnings {
		s.warn("", "%s", w)
	}
	if out.Effect != outcome.Reask {
		s.say("", "%s (%s)", out.Note, cost(r.result))
	}
	return planned{Outcome: out}, nil
}

// planningFailed records that no answer of the planner could be used (specs/roles-and-knowledge.md#3.6).
func (s *Supervisor) planningFailed(ctx context.Context, u *unit, problem string) error {
	if _, err := outcome.Unanswered(ctx, s.Service, outcome.Run{Kind: string(s.Role)}, problem, u.reasks+1); err != nil {
		return err
	}
	return &GaveUp{Why: outcome.PlanningFailed(u.reasks+1, problem)}
}

// replanStopped ends a chain of plans that leads nowhere (specs/roles-and-knowledge.md#5.9).
func (s *Supervisor) replanStopped(ctx context.Context, due transition.Trigger, why string) error {
	if err := outcome.StopReplan(context.WithoutCancel(ctx), s.Service, due, why); err != nil {
		return err
	}
	return &GaveUp{Why: "replanning: " + why, Next: fmt.Sprintf("liza show %s, then liza note TEXT or liza resume", due.IDs[0])}
}

// triggerFacts are what wake triggers depend on besides the board.
func triggerFacts(d *verb.Service, st *blackboard.State) transition.TriggerFacts {
	f := transition.TriggerFacts{HumanReview: d.Board.Config().Plan.HumanReview}
	if st.Goal != nil {
		f.SpecHash = d.Board.SpecHash(st.Goal.SpecRef)
	}
	return f
}

// tryLock is how long the lock of the summarizer is waited for: who does not get it at once
// leaves the work to the one that has it.
const tryLock = 20 * time.Millisecond

// summarize lets the summarizer shorten facts or entries, when that is due and this
// supervisor has nothing else to do (specs/roles-and-knowledge.md#6.3, specs/roles-and-knowledge.md#6.4). It takes no slot that work
// could have.
func (s *Supervisor) summarize(ctx context.Context, st *blackboard.State) (did bool, err error) {
	if s.Task != "" || s.OneRun {
		return false, nil
	}
	if s.refused == nil {
		s.refused = verb.Refused{}
	}
	job, err := s.Service.Knowledge.Condensing(ctx, st, s.refused)
	if err != nil || job == nil {
		return false, err
	}
	free, ok := s.Slots.try()
	if !ok {
		return false, nil
	}
	defer free()
	soon, cancel := context.WithTimeout(ctx, tryLock)
	unlock, err := safefile.Lock(soon, s.Service.Board.Project.SummarizeLock(), safefile.Holder{PID: s.PID, Agent: s.ID, Op: "summarize"})
	cancel()
	if _, held := errors.AsType[*safefile.HeldError](err); held {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if st, err = s.Service.Board.View(ctx); err != nil {
		return false, err
	}
	if job, err = s.Service.Knowledge.Condensing(ctx, st, s.refused); err != nil || job == nil { // another one may have been faster
		return false, err
	}
	return true, s.condense(ctx, job)
}

// condense is one run of the summarizer. It has no id, no broker and no verbs.
func (s *Supervisor) condense(ctx context.Context, job *verb.Condense) error {
	what := "entries"
	if job.Facts {
		what = "facts"
	}
	s.say("", "summarizes %s", what)
	guarded, release := s.lease.guard(ctx)
	defer release()
	x, err := s.runSummarizer(guarded, job)
	defer s.closeRun(ctx, x, err)
	if guarded.Err() != nil {
		return nil // the one who ended it is seen by the caller
	}
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case x.result.Outcome != agent.Finished && x.result.Outcome != agent.Reask && x.answer.Exit == nil:
		why = string(x.result.Outcome) + ": " + x.result.Error
	}
	if why != "" {
		s.warn("", "the summarizer failed: %s", why)
		return s.Service.Knowledge.CannotCondense(ctx, job, why)
	}
	refused, err := s.Service.Knowledge.Condensed(ctx, job, x.answer)
	if err != nil {
		return err
	}
	if refused != "" {
		x.outcome(outcome.Outcome{Effect: outcome.Reask, Problem: refused})
		s.warn("", "the summary of the %s was refused: %s", what, refused)
		return nil
	}
	x.outcome(outcome.Outcome{Effect: outcome.Applied, Action: exitcmd.Completed})
	s.say("", "summarized %s (%s)", what, cost(x.result))
	return nil
}

// runSummarizer starts the program, and keeps what it cost.
func (s *Supervisor) runSummarizer(ctx context.Context, job *verb.Condense) (*run, error) {
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	u := &unit{board: s.Service, shorten: &prompt.Shorten{Facts: job.Facts, Text: job.Text}}
	b, err := s.told(ctx, nil)(s.brief(ctx, role.Summarizer, st, nil, u, nil))
	if err != nil {
		return nil, err
	}
	root := s.Service.Board.Project.Root
	return s.launch(ctx, agent.Spec{Dir: root, Worktree: root, Role: string(role.Summarizer), TaskID: board.SummarizerRuns}, b, st, u, "")
}
