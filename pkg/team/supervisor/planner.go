package supervisor

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// A planner wakes the planner program when there is a reason to plan, and carries out what it says.
type planner struct {
	*member
	programs    *programs
	spending    *spending
	prompts     *prompts
	launcher    *launcher
	lease       *leaseKeeper
	Adapter     func(name string) (agent.Adapter, error)
	Slots       *Slots
	Interactive *agent.Terminal
}

// plan wakes the planner when a trigger is due (specs/protocol.md#13.1).
func (pl *planner) plan(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	facts := triggerFacts(pl.Service, st)
	due, next := transition.DueTriggers(st, facts, pl.Service.Board.Now())
	if len(due) == 0 {
		w := pl.plannerWaits(st, facts)
		w.until = next
		return false, w, nil
	}
	if w := pl.programs.chosen(st, nil).wait; w.why != "" {
		w.paused = true
		return false, w, nil
	}
	if stopped, w, err := pl.spending.sprintSpent(hard, st, 0); stopped || err != nil {
		return false, w, err
	}
	if why := plan.ReplanStop(st, due[0], pl.Service.Board.Config().Limits.MaxReplanDepth); why != "" {
		return true, waiting{}, pl.replanStopped(hard, due[0], why)
	}
	err := pl.Service.Board.Update(hard, "plan", func(st *blackboard.State, a transition.Actor) error {
		due, next = transition.DueTriggers(st, facts, pl.Service.Board.Now()) // another planner may have been faster
		if len(due) == 0 {
			return nil
		}
		return transition.BeginPlanning(st, a, due, pl.Service.Board.Now())
	})
	if isRefused(err) {
		return false, waiting{why: err.Error()}, nil
	}
	if err != nil || len(due) == 0 {
		return false, waiting{}, err
	}
	pl.say("", "plans: %s", kinds(due))
	return true, waiting{}, pl.planning(soft, hard, due, nil)
}

func (pl *planner) plannerWaits(st *blackboard.State, f transition.TriggerFacts) waiting {
	if asked := transition.AskedOfPeople(st); len(asked) > 0 {
		return waiting{why: "a person is asked about " + prose.Few(asked, 5), next: "liza answer"}
	}
	if all := transition.Triggers(st, f, pl.Service.Board.Now()); len(all) > 0 {
		return waiting{why: "the planner was woken for " + kinds(all) + " already", next: "liza tell planner TEXT, or liza status"}
	}
	return waiting{why: "no reason to plan"}
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
	outcome.Report
	again bool // another run of the same launch
	run   *run // nil: none was begun
}

// planning runs the planner for one launch: re-asks and RETRY included. The first run may be one that was adopted.
func (pl *planner) planning(soft, hard context.Context, due []transition.Trigger, a *adopted) error {
	guarded, release := pl.lease.guard(hard)
	defer release()
	u := &unit{board: pl.Service, due: due, adopted: a}
	changed, suppress, answered, err := false, false, false, error(nil)
	retries := 0
	for again := true; again && err == nil; {
		var out planned
		out, err = pl.planOnce(soft, guarded, u, due)
		again = out.again
		switch {
		case err != nil:
		case out.Effect == outcome.Continue && out.Action == exitcmd.Retry:
			retries++
			again = retries <= pl.Service.Board.Config().Limits.MaxPlanRetries
			if suppress = !again; suppress {
				err = outcome.PlannerStuck(context.WithoutCancel(guarded), pl.Service, out.Summary)
			}
		case out.Again:
			suppress = true
			err = pl.replanStopped(guarded, due[0], "stuck: the new plan is one that was tried before")
		case out.Effect == outcome.Reask:
			err = pl.planningFailed(guarded, u, out.Problem)
			suppress = true
		case out.Action == exitcmd.Stuck:
			suppress = true
		default:
			changed, answered = changed || out.Changed, out.Action == exitcmd.Completed
		}
		pl.launcher.closeRun(guarded, out.run, nil)
		if soft.Err() != nil {
			again = false
		}
	}
	if errors.Is(context.Cause(guarded), errLost) {
		return &transition.Refusal{Exit: transition.ExitLeaseLost, Message: "the lease was lost while the planner worked", Next: "liza status"}
	}
	if errors.Is(context.Cause(guarded), errStopped) { // what woke it is still to be planned
		u.uncounted, err = true, nil
	}
	end := pl.Service.Board.Update(context.WithoutCancel(hard), "planned", func(st *blackboard.State, a transition.Actor) error {
		if u.uncounted && !changed {
			return transition.CancelPlanning(st, a, due, pl.Service.Board.Now())
		}
		err := transition.EndPlanning(st, a, due, changed, suppress, pl.Service.Board.Now())
		if err == nil && answered {
			transition.LeaveToPeople(st, due, pl.Service.Board.Now())
		}
		return err
	})
	if hard.Err() != nil {
		return errors.Join(ErrAborted, end)
	}
	return errors.Join(err, end)
}

// planOnce is one run of the planner program.
func (pl *planner) planOnce(soft, ctx context.Context, u *unit, due []transition.Trigger) (planned, error) {
	free, ok := pl.Slots.take(ctx)
	if !ok {
		return planned{}, nil
	}
	defer free()
	st, err := pl.Service.Board.View(ctx)
	if err != nil {
		return planned{}, err
	}
	if a := u.adopted; a != nil {
		u.adopted = nil
		r, err := pl.launcher.resume(ctx, a, st, u)
		free()
		return pl.planEnded(soft, ctx, u, r, err)
	}
	if over, wait, err := pl.spending.reserve(ctx, st, nil); err != nil || wait > 0 {
		free()
		return planned{again: wait > 0 && rest(soft, ctx, wait)}, err
	} else if over != nil {
		u.uncounted = true
		return planned{}, pl.spending.stopForLimit(ctx, u, over)
	}
	p, err := pl.prompts.prompt(ctx, st, nil, u, due)
	if err != nil {
		return planned{}, err
	}
	if _, err := pl.Adapter(p.program); err != nil {
		return planned{}, gaveUp("", err)
	}
	pl.Service.Board.Scripted = p.program == "scripted"
	root := pl.Service.Board.Project.Root
	r, err := pl.launcher.launch(ctx, agent.Spec{Dir: root, Role: string(pl.Role), Worktree: root}, p, st, u, "")
	free()
	return pl.planEnded(soft, ctx, u, r, err)
}

// planEnded carries out what came of a run.
func (pl *planner) planEnded(soft, ctx context.Context, u *unit, r *run, err error) (planned, error) {
	if err != nil || ctx.Err() != nil {
		return planned{run: r}, err
	}
	out, err := pl.planOutcome(context.WithoutCancel(ctx), soft, ctx, u, r)
	out.run = r
	return out, err
}

func (pl *planner) planOutcome(ctx, soft, life context.Context, u *unit, r *run) (planned, error) {
	if r.answered() {
		return pl.applyPlan(ctx, u, r)
	}
	if n, handled, err := pl.programs.setBack(ctx, u, r); handled {
		u.uncounted = !n.again
		return planned{again: n.again && rest(soft, life, n.wait)}, err
	}
	switch {
	case r.lostTalk():
		return planned{again: pl.restartTalk(u, r).again}, nil
	case r.stopped():
		u.uncounted = true
		return planned{}, pl.spending.stopForLimit(ctx, u, r.over)
	case r.result.Question != nil:
		out, err := pl.asked(ctx, "", r)
		return planned{Report: out}, err
	case mayRestart(r.result, u.restarts):
		u.restarts++
		return planned{again: true}, nil
	}
	wait := u.crashes.next(crashWaits)
	what := string(r.result.Outcome) + ": " + r.result.Error
	pl.warn("", "%s", what)
	if pl.tooManyCrashes(ctx) {
		return planned{}, stopForCrashes(u, r, what)
	}
	return planned{again: rest(soft, life, wait)}, nil
}

// applyPlan carries out what the planner has said, or asks it again.
func (pl *planner) applyPlan(ctx context.Context, u *unit, r *run) (planned, error) {
	out, err := outcome.Apply(ctx, pl.Service, outcome.Run{Kind: string(pl.Role), Before: r.before, Answer: r.answer, Said: r.said, ByVerbs: r.byVerbs, Answers: u.reasks + 1})
	if err != nil {
		return planned{Report: out}, err
	}
	r.outcome(out)
	if out.Effect == outcome.Reask && pl.Interactive != nil {
		pl.say("", closedByPerson)
		return planned{Report: outcome.Report{Action: exitcmd.Stuck}}, nil // not woken for the same again
	}
	if out.Again { // once
		u.circular++
	}
	if out.Effect == outcome.Reask && u.circular < 2 && u.mayReask(pl.Service.Board.Config().Limits.MaxParseRetries) {
		u.askedFor(r, out.Problem)
		pl.warn("", "asks again (%d): %s", u.reasks, out.Problem)
		return planned{again: true}, nil
	}
	u.reask, u.talk = nil, nil
	for _, w := range out.Warnings {
		pl.warn("", "%s", w)
	}
	if out.Effect != outcome.Reask {
		pl.say("", "%s (%s)", out.Note, cost(r.result))
	}
	return planned{Report: out}, nil
}

// planningFailed records that no answer of the planner could be used (specs/roles-and-knowledge.md#3.6).
func (pl *planner) planningFailed(ctx context.Context, u *unit, problem string) error {
	if _, err := outcome.Unanswered(ctx, pl.Service, outcome.Run{Kind: string(pl.Role)}, problem, u.reasks+1); err != nil {
		return err
	}
	return &GaveUp{Why: outcome.PlanningFailed(u.reasks+1, problem)}
}

// replanStopped ends a chain of plans that leads nowhere (specs/roles-and-knowledge.md#5.9).
func (pl *planner) replanStopped(ctx context.Context, due transition.Trigger, why string) error {
	if err := outcome.StopReplan(context.WithoutCancel(ctx), pl.Service, due, why); err != nil {
		return err
	}
	return &GaveUp{Why: "replanning: " + why, Next: fmt.Sprintf("liza show %s, then liza tell planner TEXT or liza resume", due.IDs[0])}
}

// triggerFacts are what wake triggers depend on besides the board.
func triggerFacts(d *verb.Service, st *blackboard.State) transition.TriggerFacts {
	f := transition.TriggerFacts{HumanReview: d.Board.Config().Plan.HumanReview}
	if st.Goal != nil {
		f.SpecHash = d.Board.SpecHash(st.Goal.SpecRef)
	}
	return f
}
