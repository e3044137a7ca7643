package replay

import (
	"context"
	"errors"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// RehearsePoststep says what Poststep would do, and writes nothing: the answer takes the
// same path over a copy of the board.
func RehearsePoststep(ctx context.Context, service *verb.Service, in PoststepInput) (Poststepped, error) {
	d := simulator{service}
	if err := d.Service.Board.PersonOnly(ctx, "simulate a run"); err != nil {
		return Poststepped{}, err
	}
	from, err := d.poststepFrom(ctx, in)
	if err != nil {
		return Poststepped{}, err
	}
	r, err := d.rehearseRun(ctx, in)
	if err != nil {
		return Poststepped{}, err
	}
	open, rejected, err := d.foreseeReview(ctx, &r)
	if err != nil {
		return Poststepped{}, err
	}
	r.State.Agents[r.Agent].TokenHash = board.HashToken(rehearsed)
	kept := &rehearsalStore{Memory: store.NewMemory(r.State)}
	copied := simulator{service.With(func(s *board.Session) {
		s.Store, s.Progress, s.At = kept, nil, nil
		s.Caller = board.Caller{AgentID: r.Agent, Token: rehearsed}
		s.AllowEmpty, s.Rehearsal = in.EmptyCommit, true
	})}
	out := Poststepped{Task: in.Task, Kind: string(in.Kind), Agent: r.Agent, StatusBefore: from.status, EvidenceFiles: d.evidenceOf(in), DryRun: true}
	if r.Warning != "" {
		out.Warnings = append(out.Warnings, "the run could not begin now: "+r.Warning)
	}
	if len(open) > 0 {
		out.Warnings = append(out.Warnings, "these checks have not been run yet, and may change what comes of it: "+strings.Join(open, ", "))
	}
	if rejected != "" {
		out.Event, out.StatusAfter, out.Warnings = "rejected", string(blackboard.Rejected), append(out.Warnings, unread+rejected)
		return out, nil
	}
	s, err := copied.Service.Board.View(ctx)
	if err != nil {
		return out, err
	}
	run := outcome.Run{Kind: string(in.Kind), Task: in.Task, Answer: d.answer(in)}
	if in.Kind == role.Planner {
		run.Task = ""
	}
	run.Before = outcome.MarkOf(copied.Service, s, r.Agent, run.Task)
	o, err := copied.rehearseAnswer(ctx, in, run, &out)
	if err != nil {
		return out, err
	}
	if s, err = copied.Service.Board.View(ctx); err != nil {
		return out, err
	}
	after := out.StatusAfter
	out.tell(s, in, run.Before, o)
	out.Warnings = append(out.Warnings, o.Warnings...)
	if after != "" {
		out.StatusAfter, out.Event = after, "checkpoint"
	}
	for _, e := range kept.Journal() {
		if level, _ := e.Extra["level"].(string); level == "warning" || e.Action == blackboard.ActionAnomaly {
			out.Warnings = append(out.Warnings, string(e.Action)+": "+e.Detail)
		}
	}
	return out, nil
}

// foreseeReview gives a rehearsed review the checks that it would see. rejected is why there
// would be nothing left to judge.
func (d simulator) foreseeReview(ctx context.Context, r *Rehearsal) (open []string, rejected string, err error) {
	if r.Kind != role.Reviewer {
		return nil, "", nil
	}
	if open, err = d.Service.Checks.ForeseeChecks(ctx, r.State, r.Task); err != nil || r.Task.Review == nil || !d.Service.Board.Config().Review.SkipAgentOnError {
		return open, "", err
	}
	return open, checks.ErrorsFound(r.Task.Review.Findings), nil
}

// rehearsalStore is a board that nobody else sees. The circuit breaker does not look at it:
// what it does when it trips is not on the board alone.
type rehearsalStore struct {
	*store.Memory
}

func (r *rehearsalStore) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if op.Name == "breaker" {
		return errors.New("a rehearsal trips no circuit breaker")
	}
	return r.Memory.Update(ctx, op, change)
}

// rehearseRun claims the work on a copy of the board.
func (d simulator) rehearseRun(ctx context.Context, in PoststepInput) (Rehearsal, error) {
	view, err := d.Service.Board.View(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	r := Rehearsal{State: view.Clone(), Kind: in.Kind}
	d.Service.Board.Prepare(r.State)
	switch in.Kind {
	case role.Planner:
		r.enter(d, blackboard.RolePlanner)
		return r, nil
	case role.Coder:
		r.Task = r.State.Task(in.Task)
		err = d.rehearseClaim(ctx, &r)
		return r, err
	}
	r.Task = r.State.Task(in.Task)
	d.rehearseReview(&r)
	return r, nil
}

// rehearseAnswer is Apply on the copy. What lies outside of the board is left out: a
// planner's checkpoint, and the worktree that a claim would make.
func (d simulator) rehearseAnswer(ctx context.Context, in PoststepInput, run outcome.Run, out *Poststepped) (outcome.Report, error) {
	exit, problem := run.Answer.Exit, run.Answer.Problem
	if in.Kind == role.Planner && (exit == nil || exit.Action == exitcmd.Stuck) {
		out.StatusAfter = blackboard.AtCheckpoint
		if exit == nil {
			out.Problem = problem.Error()
			return outcome.Report{Note: "planning failed"}, nil
		}
		return outcome.Report{Action: exit.Action, Summary: exit.Summary, Note: "stuck"}, nil
	}
	var o outcome.Report
	var err error
	if in.Kind == role.Coder && exit != nil && exit.Action == exitcmd.Completed {
		o, err = d.rehearseSubmit(ctx, in, exit)
	} else {
		o, err = outcome.Apply(ctx, d.Service, run)
	}
	if err == nil && o.Effect == outcome.Reask {
		out.Problem = o.Problem
		if in.Kind == role.Planner {
			out.StatusAfter = blackboard.AtCheckpoint
			return o, nil
		}
		var ended outcome.Report
		ended, err = outcome.Unanswered(ctx, d.Service, run, o.Problem, 1)
		o.Status, o.Note = ended.Status, ended.Note
	}
	return o, err
}

// rehearseSubmit hands in what the worktree would hold: what is there, or after a fresh
// claim nothing but the base, and perhaps an empty commit.
func (d simulator) rehearseSubmit(ctx context.Context, in PoststepInput, exit *exitcmd.Exit) (outcome.Report, error) {
	out := outcome.Report{Effect: outcome.Applied, Action: exit.Action, Summary: exit.Summary, Note: "submitted"}
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(in.Task)
	outcome.KeepInside(ctx, d.Service, t.ID, exit)
	facts := transition.SubmissionFacts{Exists: true, Branch: "task/" + t.ID, Named: "HEAD", Head: t.BaseCommit, Commit: t.BaseCommit, BaseIsAncestor: true, HasFixOnto: true, HasMerges: true, TestGateExempt: true}
	if d.Service.Board.Repo.WorktreeOf(t.ID) != "" {
		if facts, err = d.Service.SubmissionFacts(ctx, s, t, ""); err != nil {
			return out, err
		}
	}
	if in.EmptyCommit && (facts.Commit == t.BaseCommit || facts.Commit == t.ReviewCommit) {
		facts.Head = emptyCommit
		facts.Commit, facts.EmptyDiff = emptyCommit, false
	}
	event := d.Service.Board.Input()
	event.Summary, event.NoTests, event.Submission = exit.Summary, exit.NoTests, &facts
	done, err := d.Service.Board.Event(ctx, "submit", t.ID, func(s *blackboard.State, a transition.Actor) error {
		if err := transition.Submit(s, in.Task, a, event, d.Service.Board.Now()); err != nil {
			return err
		}
		s.Task(in.Task).LastOutcome = &blackboard.LastOutcome{Action: exit.Action, Summary: exit.Summary, EvidenceFiles: exit.EvidenceFiles, At: blackboard.TimeOf(d.Service.Board.Now())}
		return nil
	})
	if err != nil {
		return out.OrReask(err)
	}
	out.Status = done.Status
	return out, nil
}

// emptyCommit stands for a commit that a rehearsal does not make.
const emptyCommit = "0000000000000000000000000000000000000001"
