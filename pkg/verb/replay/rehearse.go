package replay

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
	"liza/pkg/verb/verb"
)

// Rehearsal is the board as the next run on a task will find it.
type Rehearsal struct {
	State   *blackboard.State // a copy: nothing of it is on disk
	Task    *blackboard.Task  // of State; nil for a planner
	Kind    role.Kind
	Agent   string
	Due     []transition.Trigger // why a planner runs
	Warning string               // why the run cannot begin now; State is then as near as can be
}

// rehearsed is the registration that a rehearsal makes up.
const rehearsed = "rehearsal"

// Rehearse claims a task on a copy of the board for the lowest free agent, as the next
// supervisor would, and writes nothing (specs/roles-and-knowledge.md#2.8). The id _planner is
// for the planner.
func Rehearse(ctx context.Context, service *verb.Service, id string, triggers transition.TriggerFacts) (Rehearsal, error) {
	d := simulator{service}
	view, err := d.Service.Board.View(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	r := Rehearsal{State: view.Clone()}
	d.Service.Board.Prepare(r.State)
	if id == "_planner" {
		err = d.rehearsePlanning(&r, triggers)
		return r, err
	}
	if r.Task = r.State.Task(id); r.Task == nil {
		message := fmt.Sprintf("no task '%s'", id)
		known := []string{"planner"}
		for t := range r.State.Tasks() {
			known = append(known, t.ID)
		}
		if near := blackboard.Nearest(id, known); near != "" {
			message += fmt.Sprintf("; did you mean '%s'?", near)
		}
		return r, &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: message}
	}
	t := r.Task
	switch t.Status {
	case blackboard.Claimed:
		r.Kind, r.Agent = role.Coder, t.AssignedTo
	case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
		r.Kind = role.Coder
		err = d.rehearseClaim(ctx, &r)
	case blackboard.ReadyForReview:
		r.Kind, r.Agent = role.Reviewer, t.ReviewingBy
		if r.Agent == "" {
			d.rehearseReview(&r)
		}
	default:
		return r, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza show " + id, Message: fmt.Sprintf("task %s is %s: no agent is started for it", id, t.Status)}
	}
	r.Task = r.State.Task(id)
	if kind := t.KindOf(); r.Kind == role.Coder && kind != blackboard.CodeTask {
		r.Kind = role.Messenger
		if kind != blackboard.MessageTask {
			return r, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza show " + id, Message: fmt.Sprintf("task %s is of kind %s: the supervisor runs it itself, there is no prompt", id, kind)}
		}
	}
	return r, err
}

// enter registers the lowest free agent of a role on the copy.
func (r *Rehearsal) enter(d simulator, kind blackboard.Role) transition.Actor {
	r.Agent = transition.FreeAgentID(r.State, kind, d.Service.Board.Now())
	a := transition.Actor{ID: r.Agent, TokenHash: rehearsed, Facts: d.Service.Board.Facts()}
	entry := &blackboard.Agent{Generation: rehearsed, TokenHash: rehearsed, Terminal: "none", Host: a.Facts.Host, BootID: a.Facts.BootID}
	err := transition.Register(r.State, r.Agent, entry, a, d.Service.Board.Now())
	if err == nil {
		err = transition.SetReady(r.State, a, "", "", d.Service.Board.Now())
	}
	if err != nil {
		r.Warning = err.Error()
	}
	return a
}

// rehearseClaim is what Claim does to the board, without worktree and journal.
func (d simulator) rehearseClaim(ctx context.Context, r *Rehearsal) error {
	head, err := d.Service.Integration.IntegrationHead(ctx, r.State)
	if err != nil {
		return err
	}
	a := r.enter(d, blackboard.RoleCoder)
	t := r.Task
	facts := transition.ClaimFacts{Base: head, Reserve: r.State.Duration("claim_reserve"), Named: true}
	keep := t.HandoffPending || t.Status == blackboard.IntegrationFailed || t.Status == blackboard.Rejected && t.AssignedTo == r.Agent
	if _, err := os.Stat(d.Service.Board.Repo.WorktreePath(t.ID)); !keep || err != nil {
		facts.Fresh, facts.BaseCommit = true, cmp.Or(t.RestartFrom, head)
	}
	in := d.Service.Board.Input()
	in.FreeMB, in.Control, in.RoleCheck = 0, "", nil // what ends by itself is not a hindrance
	in.SpecHash = d.Service.Board.SpecHash(t.SpecRef)
	in.Claim = &facts
	if err = transition.Reserve(r.State, t.ID, a, in, d.Service.Board.Now()); err == nil {
		confirm := facts
		confirm.Confirm, confirm.Worktree = true, ".worktrees/"+t.ID
		if t.KindOf() == blackboard.MessageTask {
			confirm.Worktree = ""
		}
		in.Claim = &confirm
		err = transition.Claim(r.State, t.ID, a, in, d.Service.Board.Now())
	}
	if err != nil { // the prompt is shown all the same
		r.Warning = err.Error()
		t = r.State.Task(t.ID)
		if facts.Fresh {
			t.BaseCommit = facts.BaseCommit
		}
		t.AssignedTo, t.Status, t.Iteration = r.Agent, blackboard.Claimed, max(1, t.Iteration)
	}
	return nil
}

func (d simulator) rehearseReview(r *Rehearsal) {
	a := r.enter(d, blackboard.RoleReviewer)
	in := d.Service.Board.Input()
	in.SpecHash = d.Service.Board.SpecHash(r.Task.SpecRef)
	if err := transition.ClaimReview(r.State, r.Task.ID, a, in, d.Service.Board.Now()); err != nil {
		r.Warning = err.Error()
	}
}

func (d simulator) rehearsePlanning(r *Rehearsal, facts transition.TriggerFacts) error {
	r.Kind = role.Planner
	a := r.enter(d, blackboard.RolePlanner)
	if r.Due, _ = transition.DueTriggers(r.State, facts, d.Service.Board.Now()); len(r.Due) == 0 {
		r.Due = transition.Triggers(r.State, facts, d.Service.Board.Now())
	}
	if len(r.Due) == 0 {
		return transition.Refuse(transition.ExitNothing, "liza status", "there is no reason to plan, so no planner would be started")
	}
	if err := transition.BeginPlanning(r.State, a, r.Due, d.Service.Board.Now()); err != nil {
		r.Warning = err.Error()
	}
	return nil
}
