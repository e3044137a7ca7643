package supervisor

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/plan"
	"liza/pkg/verb"
)

// plan wakes the planner when a trigger is due (protocol 13.1).
func (s *Supervisor) plan(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	facts := triggerFacts(s.Desk, st)
	due, next := st.DueTriggers(facts, s.Desk.Now())
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
	if why := plan.ReplanStop(st, due[0], s.Desk.Config().Limits.MaxReplanDepth); why != "" {
		return true, waiting{}, s.replanStopped(hard, due[0], why)
	}
	err := s.Desk.Update(hard, "plan", func(st *blackboard.State, a blackboard.Actor) error {
		due, next = st.DueTriggers(facts, s.Desk.Now()) // another planner may have been faster
		if len(due) == 0 {
			return nil
		}
		return st.BeginPlanning(a, due, s.Desk.Now())
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

func (s *Supervisor) plannerWaits(st *blackboard.State, f blackboard.TriggerFacts) string {
	if all := st.Triggers(f, s.Desk.Now()); len(all) > 0 {
		return "the planner was woken for " + kinds(all) + " already; next: liza note TEXT, or liza status"
	}
	return "no reason to plan"
}

func kinds(list []blackboard.Trigger) string {
	text := ""
	for _, t := range list {
		if text != "" {
			text += ", "
		}
		text += t.Kind
	}
	return text
}

// planning runs the planner for one launch: re-asks and RETRY included.
func (s *Supervisor) planning(soft, hard context.Context, due []blackboard.Trigger) error {
	guarded, release := s.lease.guard(hard)
	defer release()
	u := &unit{}
	changed, suppress, err := false, false, error(nil)
	retries := 0
	for again := true; again && err == nil; {
		var out verb.Outcome
		again = false
		out, again, err = s.planOnce(soft, guarded, u, due)
		switch {
		case err != nil:
		case out.Effect == verb.Continue && out.Action == "RETRY":
			retries++
			again = retries <= s.Desk.Config().Limits.MaxPlanRetries
			if suppress = !again; suppress {
				err = s.Desk.PlannerStuck(context.WithoutCancel(guarded), out.Summary)
			}
		case out.Again:
			suppress = true
			err = s.replanStopped(guarded, due[0], "stuck: the new plan is one that was tried before")
		case out.Effect == verb.Reask:
			err = s.planningFailed(guarded, u, out.Problem)
			suppress = true
		case out.Action == "STUCK":
			suppress = true
		default:
			changed = changed || out.Changed
		}
		s.closeRecord(guarded, nil)
		if soft.Err() != nil || s.OneRun {
			again = false
		}
	}
	if errors.Is(context.Cause(guarded), errLost) {
		return &blackboard.Refusal{Exit: blackboard.ExitLeaseLost, Message: "the lease was lost while the planner worked", Next: "liza status"}
	}
	end := s.Desk.Update(context.WithoutCancel(hard), "planned", func(st *blackboard.State, a blackboard.Actor) error {
		if u.uncounted && !changed {
			return st.CancelPlanning(a, due, s.Desk.Now())
		}
		return st.EndPlanning(a, due, changed, suppress, s.Desk.Now())
	})
	if hard.Err() != nil {
		return errors.Join(ErrAborted, end)
	}
	return errors.Join(err, end)
}

// planOnce is one run of the planner program. again: another run of the same launch.
func (s *Supervisor) planOnce(soft, ctx context.Context, u *unit, due []blackboard.Trigger) (verb.Outcome, bool, error) {
	free, ok := s.Slots.take(ctx)
	if !ok {
		return verb.Outcome{}, false, nil
	}
	defer free()
	st, err := s.Desk.View(ctx)
	if err != nil {
		return verb.Outcome{}, false, err
	}
	if over, wait, err := s.reserve(ctx, st, nil); err != nil || wait > 0 {
		free()
		return verb.Outcome{}, wait > 0 && rest(soft, ctx, wait), err
	} else if over != nil {
		u.uncounted = true
		return verb.Outcome{}, false, s.stopForLimit(ctx, u, over)
	}
	p, err := s.prompt(ctx, st, nil, u, due)
	if err != nil {
		return verb.Outcome{}, false, err
	}
	adapter, err := s.Adapter(p.program)
	if err != nil {
		return verb.Outcome{}, false, fmt.Errorf("%w: %w", ErrGaveUp, err)
	}
	mark := s.Desk.MarkOf(st, s.ID, "")
	s.Desk.Scripted = p.program == "scripted"
	root := s.Desk.Project.Root
	r, err := s.launch(ctx, adapter, agent.Spec{Dir: root, Prompt: p.Text, Model: p.model, Role: string(s.Role), Worktree: root}, p, st, "", verb.PlannerRuns)
	free()
	if err != nil || ctx.Err() != nil {
		return verb.Outcome{}, false, err
	}
	return s.planOutcome(context.WithoutCancel(ctx), soft, ctx, u, mark, r)
}

func (s *Supervisor) planOutcome(ctx, soft, life context.Context, u *unit, mark verb.Mark, r agent.Result) (verb.Outcome, bool, error) {
	if !s.answered(r) {
		if handled, again, wait, err := s.setBack(ctx, u, r); handled {
			u.uncounted = !again
			return verb.Outcome{}, again && rest(soft, life, wait), err
		}
	}
	switch {
	case s.answered(r):
	case s.last.resumed && r.NoSession:
		return verb.Outcome{}, s.beginAnew(u), nil
	case r.Outcome == agent.Killed && s.last.over != nil:
		u.uncounted = true
		return verb.Outcome{}, false, s.stopForLimit(ctx, u, s.last.over)
	case r.Outcome == agent.Asked:
		out, err := s.asked(ctx, "", r)
		return out, false, err
	case mayRestart(r, u.restarts):
		u.restarts++
		return verb.Outcome{}, true, nil
	default:
		u.crashes++
		what := string(r.Outcome) + ": " + r.Error
		s.warn("", "%s", what)
		if s.tooManyCrashes(ctx) {
			return verb.Outcome{}, false, s.stopForCrashes(u, what)
		}
		return verb.Outcome{}, rest(soft, life, s.policy.CrashWait(u.crashes)), nil
	}
	out, err := s.Desk.Apply(ctx, verb.Run{Kind: string(s.Role), Before: mark, Output: r.Final, Strict: s.Desk.Config().Exit.Strict, Answers: u.reasks + 1})
	if err != nil {
		return out, false, err
	}
	s.current.outcome(out)
	if out.Effect == verb.Reask && s.Interactive != nil {
		s.say("", closedByPerson)
		return verb.Outcome{Action: "STUCK"}, false, nil // not woken for the same again
	}
	if out.Again { // once
		u.circular++
	}
	if out.Effect == verb.Reask && u.circular < 2 && u.reasks < s.Desk.Config().Limits.MaxParseRetries {
		u.reasks++
		u.reask, u.talk, u.with = &reask{broken: r.Final, problem: out.Problem}, s.last.talk, s.last.program
		s.warn("", "asks again (%d): %s", u.reasks, out.Problem)
		return verb.Outcome{}, true, nil
	}
	u.reask, u.talk = nil, nil
	for _, w := range out.Warnings {
		s.warn("", "%s", w)
	}
	if out.Effect != verb.Reask {
		s.say("", "%s (%s)", out.Note, cost(r))
	}
	return out, false, nil
}

// planningFailed records that no answer of the planner could be used (roles-and-knowledge 3.6).
func (s *Supervisor) planningFailed(ctx context.Context, u *unit, problem string) error {
	if _, err := s.Desk.Unanswered(ctx, verb.Run{Kind: string(s.Role)}, problem, u.reasks+1); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrGaveUp, verb.PlanningFailed(u.reasks+1, problem))
}

// replanStopped ends a chain of plans that leads nowhere (roles-and-knowledge 5.9).
func (s *Supervisor) replanStopped(ctx context.Context, due blackboard.Trigger, why string) error {
	if err := s.Desk.StopReplan(context.WithoutCancel(ctx), due, why); err != nil {
		return err
	}
	return fmt.Errorf("%w: replanning: %s; next: liza show %s, then liza note TEXT or liza resume", ErrGaveUp, why, due.IDs[0])
}
