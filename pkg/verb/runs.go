package verb

import (
	"context"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// NewToken makes the secret of one run and the form in which the state keeps it.
func (d *Service) NewToken() (token, hash string, err error) {
	token, err = d.RandomHex(16)
	return token, HashToken(token), err
}

// Halt blocks a task that has reached a limit of cost, time, tokens or runs (T27). Work
// that is not committed is saved besides.
func (d *Service) Halt(ctx context.Context, id string, h *blackboard.Halt) (Done, error) {
	attic, problem := d.Save(ctx, id, "halt")
	done, err := d.Event(ctx, "halt", id, func(s *blackboard.State, a transition.Actor) error {
		halt := *h
		return transition.HaltTask(s, id, a, transition.Input{Halt: &halt, Attic: attic}, d.Now())
	})
	done.Attic = attic
	if problem != "" {
		done.Notices = append(done.Notices, problem)
	}
	return done, err
}

// RunFailed records a run that ended badly (T39): timeout, stalled, crashed or killed.
// limited tells that it was the last iteration, so that the task is BLOCKED (T26).
func (d *Service) RunFailed(ctx context.Context, id, outcome, reason string, tail ...string) (limited bool, err error) {
	err = d.Update(ctx, "run failed", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.RunFailed(s, id, a, transition.Input{Outcome: outcome, Reason: reason, Tail: tail}, d.Now()); err != nil {
			return err
		}
		limited = s.Task(id).Status == blackboard.Blocked
		return nil
	})
	return limited, err
}

// Deliver hands in the result of an exec or msg task (specs/protocol.md#4.5). Without changes to
// review it is merged in the same write.
func (d *Service) Deliver(ctx context.Context, id string, out blackboard.Output, summary string) (Done, error) {
	s, err := d.View(ctx)
	if err != nil {
		return Done{Task: id}, err
	}
	in := d.Input()
	in.Summary = summary
	if t := s.Task(id); t != nil && t.ChangesFiles() {
		facts, err := d.SubmissionFacts(ctx, s, t, "")
		if err != nil {
			return Done{Task: id}, err
		}
		in.Submission = &facts
	}
	done, err := d.Event(ctx, "submit", id, func(s *blackboard.State, a transition.Actor) error {
		if t := s.Task(id); t != nil {
			o := out
			t.Output = &o
		}
		return transition.Submit(s, id, a, in, d.Now())
	})
	if err != nil || done.Status != blackboard.Merged {
		return done, err
	}
	if err := d.DropWorktree(ctx, id); err != nil {
		done.Notices = append(done.Notices, err.Error())
	}
	return done, nil
}

// ItemDone stores what an item of a rejection gave (specs/roles-and-knowledge.md#5.7).
func (d *Service) ItemDone(ctx context.Context, id string, item, code int, output string) error {
	return d.Update(ctx, "item", func(s *blackboard.State, a transition.Actor) error {
		return transition.ItemDone(s, id, a, item, code, output, d.Now())
	})
}

// PolicyDenied records a command that was not started because of the deny list.
func (d *Service) PolicyDenied(ctx context.Context, id, why string) {
	if err := d.NoteAnomaly(ctx, id, blackboard.AnomalyPolicyDenied, why); err != nil {
		d.Progressf("cannot record that a command was denied: %v", err)
	}
}

// HostRefused records that a run could not reach a host: as an anomaly of its task, once for each host.
func (d *Service) HostRefused(ctx context.Context, task, what string) {
	err := d.Update(ctx, "anomaly", func(s *blackboard.State, a transition.Actor) error {
		if s.Task(task) == nil { // a planner's run has none
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: blackboard.ActionHostRefused, Detail: what, Extra: map[string]any{"level": "warning"}})
			return nil
		}
		told := slices.ContainsFunc(s.Anomalies, func(x *blackboard.Anomaly) bool {
			return x.Type == blackboard.AnomalyHostRefused && x.Task == task && x.Details["what"] == what
		})
		if !told {
			transition.AddAnomaly(s, task, blackboard.System, blackboard.AnomalyHostRefused, blackboard.Settings{"what": what}, d.Now())
		}
		return nil
	})
	if err != nil {
		d.Progressf("cannot record that a host was refused: %v", err)
	}
}

// Resubmit lets a task go on that a limit has stopped (T30).
func (d *Service) Resubmit(ctx context.Context, id string, limits blackboard.Settings) (Done, error) {
	tip, err := d.Repo.BranchTip(ctx, "task/"+id)
	if err != nil {
		tip = "" // no branch is left: the next claim starts over
	}
	return d.Event(ctx, "resubmit", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.Resubmit(s, id, a, transition.Input{Limits: limits, Tip: tip}, d.Now())
	})
}
