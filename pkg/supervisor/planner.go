package supervisor

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/outcome"
	"liza/pkg/plan"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// plan wakes the planner when a trigger is due (specs/protocol.md#13.1).
func (s *Supervisor) plan(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	facts := triggerFacts(s.Service, st)
	due, next := transition.DueTriggers(st, facts, s.Service.Now())
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
	if why := plan.ReplanStop(st, due[0], s.Service.Config().Limits.MaxReplanDepth); why != "" {
		return true, waiting{}, s.replanStopped(hard, due[0], why)
	}
	err := s.Service.Update(hard, "plan", func(st *blackboard.State, a transition.Actor) error {
		due, next = transition.DueTriggers(st, facts, s.Service.Now()) // another planner may have been faster
		if len(due) == 0 {
			return nil
		}
		return transition.BeginPlanning(st, a, due, s.Service.Now())
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
	if all := transition.Triggers(st, f, s.Service.Now()); len(all) > 0 {
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
	u := &unit{}
	changed, suppress, err := false, false, error(nil)
	retries := 0
	for again := true; again && err == nil; {
		var out planned
		out, err = s.planOnce(soft, guarded, u, due)
		again = out.again
		switch {
		case err != nil:
		case out.Effect == outcome.Continue && out.Action == exitcmd.Retry:
			retries++
			again = retries <= s.Service.Config().Limits.MaxPlanRetries
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
			changed = changed || out.Changed
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
	end := s.Service.Update(context.WithoutCancel(hard), "planned", func(st *blackboard.State, a transition.Actor) error {
		if u.uncounted && !changed {
			return transition.CancelPlanning(st, a, due, s.Service.Now())
		}
		return transition.EndPlanning(st, a, due, changed, suppress, s.Service.Now())
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
	st, err := s.Service.View(ctx)
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
		return planned{}, fmt.Errorf("%w: %w", ErrGaveUp, err)
	}
	s.Service.Scripted = p.program == "scripted"
	root := s.Service.Project.Root
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
	if out.Effect == outcome.Reask && u.circular < 2 && u.mayReask(s.Service.Config().Limits.MaxParseRetries) {
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
	return fmt.Errorf("%w: %s", ErrGaveUp, outcome.PlanningFailed(u.reasks+1, problem))
}

// replanStopped ends a chain of plans that leads nowhere (specs/roles-and-knowledge.md#5.9).
func (s *Supervisor) replanStopped(ctx context.Context, due transition.Trigger, why string) error {
	if err := outcome.StopReplan(context.WithoutCancel(ctx), s.Service, due, why); err != nil {
		return err
	}
	return fmt.Errorf("%w: replanning: %s; next: liza show %s, then liza note TEXT or liza resume", ErrGaveUp, why, due.IDs[0])
}

// triggerFacts are what wake triggers depend on besides the board.
func triggerFacts(d *verb.Service, st *blackboard.State) transition.TriggerFacts {
	f := transition.TriggerFacts{HumanReview: d.Config().Plan.HumanReview}
	if st.Goal != nil {
		f.SpecHash = d.SpecHash(st.Goal.SpecRef)
	}
	return f
}
