package verb

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/transition"
)

// WayOut says how a blocked or unwanted task leaves its status.
type WayOut struct {
	Task, Reason, RootCause string
	By                      []string // replacements of a supersede
	DependsOn               []string // new dependencies of an unblock; nil keeps them
}

// Unblock lets a BLOCKED task start over from the integration head.
func (d *Service) Unblock(ctx context.Context, w WayOut) (Done, error) {
	return d.leave(ctx, "unblock", w, transition.Unblock)
}

// Supersede replaces a task by others; what depends on it depends on those.
func (d *Service) Supersede(ctx context.Context, w WayOut) (Done, error) {
	return d.leave(ctx, "supersede", w, transition.Supersede)
}

// Abandon drops a task.
func (d *Service) Abandon(ctx context.Context, w WayOut) (Done, error) {
	var drafts []string
	done, err := d.leave(ctx, "abandon", w, func(s *blackboard.State, id string, a transition.Actor, in transition.Input, now time.Time) (err error) {
		drafts, err = transition.Abandon(s, id, a, in, now)
		return err
	})
	for _, id := range drafts {
		done.Notices = append(done.Notices, "draft "+id+" depends on it")
	}
	return done, err
}

// WayEvent is an event of the board that gives a worktree up.
type WayEvent func(s *blackboard.State, id string, a transition.Actor, in transition.Input, now time.Time) error

// leave carries out an event that gives a worktree up: the guards are tried on a copy, the
// work is saved (E-SAVE), the event is written, and what was saved is removed (E-DROP-WT).
func (d *Service) leave(ctx context.Context, op string, w WayOut, event WayEvent) (Done, error) {
	if err := d.Clean(Text{"--reason", &w.Reason}, Text{"--root-cause", &w.RootCause}); err != nil {
		return Done{Task: w.Task}, err
	}
	in := d.Input()
	in.Reason, in.RootCause, in.By, in.DependsOn = w.Reason, w.RootCause, w.By, w.DependsOn
	if done, err := d.Try(ctx, w.Task, in, event); err != nil {
		return d.already(ctx, done, err)
	}
	in.Attic, in.SaveError = d.Save(ctx, w.Task, op)
	done, err := d.Event(ctx, op, w.Task, func(s *blackboard.State, a transition.Actor) error {
		return event(s, w.Task, a, in, d.Now())
	})
	if err != nil || done.Already {
		return done, err
	}
	done.Attic = in.Attic
	if err := d.DropWorktree(ctx, w.Task); err != nil {
		done.Notices = append(done.Notices, err.Error())
	}
	return done, nil
}

// Try tries the event on a copy, so that a refused one saves and removes nothing.
func (d *Service) Try(ctx context.Context, task string, in transition.Input, event WayEvent) (Done, error) {
	id, err := d.Identify()
	if err != nil {
		return Done{}, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return Done{}, err
	}
	return Done{Task: task}, event(s.Clone(), task, id.Actor(s), in, d.Now())
}

// Save puts the work of a task's worktree and branch into the attic. It returns the ref,
// and the reason when that failed.
func (d *Service) Save(ctx context.Context, task, reason string) (attic, problem string) {
	if d.Rehearsal {
		return "", ""
	}
	s, err := d.View(ctx)
	if err != nil {
		return "", err.Error()
	}
	t := s.Task(task)
	if t == nil || t.KindOf() == blackboard.MessageTask {
		return "", ""
	}
	head := d.provenTip(ctx, s)
	ref, _, err := d.Repo.Save(ctx, git.Work{ID: task, Path: d.WorktreeOf(ctx, task), Reason: reason, Integration: head, Base: t.BaseCommit})
	if err != nil {
		return "", err.Error()
	}
	return ref, ""
}

// ReleaseInput says which claim to free.
type ReleaseInput struct {
	Task, Reason string
	Coder        bool // the coder's claim; without either, what the status says
	Reviewer     bool // the review claim
	Force        bool
}

// Release frees a claim or a review claim. Work in the worktree is kept, and what is not
// committed is saved besides.
func (d *Service) Release(ctx context.Context, in ReleaseInput) (Done, error) {
	if err := d.Clean(Text{"--reason", &in.Reason}); err != nil {
		return Done{Task: in.Task}, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return Done{}, err
	}
	t := s.Task(in.Task)
	event := d.Input()
	event.Reason, event.Force = in.Reason, in.Force
	event.Texts = []transition.Text{{Option: "--reason", Value: in.Reason}}
	reviewer := in.Reviewer || !in.Coder && t != nil && t.Status == blackboard.ReadyForReview
	if reviewer {
		return d.Event(ctx, "release", in.Task, func(s *blackboard.State, a transition.Actor) error {
			return transition.ReleaseReview(s, in.Task, a, event, d.Now())
		})
	}
	if done, err := d.Try(ctx, in.Task, event, transition.Release); err != nil {
		return d.already(ctx, done, err)
	}
	event.Claim = &transition.ClaimFacts{}
	if problem := d.stopHolder(ctx, s, t); problem != "" {
		event.Claim.ChildError = problem
	}
	if _, err := d.takeOver(ctx, s, t); err != nil {
		return Done{Task: in.Task}, err
	}
	if d.elsewhere(t) {
		if event.HasWork, err = d.brought(ctx, t); err != nil {
			return Done{Task: in.Task}, err
		}
	} else {
		event.HasWork, event.Attic = d.workOf(ctx, t)
		d.pushWork(ctx, in.Task)
		if event.Attic != "" {
			if _, err := d.publishAttic(ctx, in.Task, event.Attic); err != nil {
				d.Progressf("%s: cannot push %s: %v", in.Task, event.Attic, err)
			}
		}
	}
	done, err := d.Event(ctx, "release", in.Task, func(s *blackboard.State, a transition.Actor) error {
		holder := t.AssignedTo
		if err := transition.Release(s, in.Task, a, event, d.Now()); err != nil {
			return err
		}
		if e := s.Agents[holder]; e != nil && holder != d.Caller.AgentID {
			e.Child = nil
		}
		return nil
	})
	done.Attic = event.Attic
	return done, err
}

// stopHolder stops the process of a claim that somebody else gives away by force.
func (d *Service) stopHolder(ctx context.Context, s *blackboard.State, t *blackboard.Task) string {
	e := s.Agents[t.AssignedTo]
	if e == nil || e.Child == nil || t.AssignedTo == d.Caller.AgentID || e.Host != d.Proc.Host || e.BootID != d.Proc.BootID || d.Proc.StopOrphan == nil {
		return ""
	}
	if err := d.Proc.StopOrphan(ctx, t.AssignedTo, *e.Child, s.Duration("kill_grace")); err != nil {
		return err.Error()
	}
	return ""
}

// workOf reports whether a task's worktree holds commits or changes; uncommitted ones are
// saved to the attic.
func (d *Service) workOf(ctx context.Context, t *blackboard.Task) (has bool, attic string) {
	if t.KindOf() == blackboard.MessageTask {
		return false, ""
	}
	w, err := d.Repo.Inspect(ctx, filepath.Join(d.Project.Root, t.Worktree))
	if err != nil || !w.Exists {
		return false, ""
	}
	if len(w.Dirty) > 0 {
		attic, _ = d.Save(ctx, t.ID, "release")
	}
	return len(w.Dirty) > 0 || w.Head != t.BaseCommit || t.IntegrationFix, attic
}

// IsRefusal reports whether err is a rule's refusal.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[*transition.Refusal](err)
	return ok
}
