package replay

import (
	"context"
	"fmt"
	"path/filepath"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Restepped is the result of Restep and Rerun.
type Restepped struct {
	board.Done
	Commit  string `json:"commit,omitempty"`  // where the branch is now
	Archive string `json:"archive,omitempty"` // folder with the former history and files
	Epoch   int    `json:"epoch,omitempty"`
}

// Restep takes a task back to how it was after the interaction of that number (specs/roles-and-knowledge.md#7.5):
// UNCLAIMED, with branch and worktree at the commit of that time. What came after it is
// saved. Counters and usage stay. It is for people.
func Restep(ctx context.Context, service *verb.Service, task, number string) (Restepped, error) {
	d := simulator{service}
	out := Restepped{Done: board.Done{Task: task}}
	t, err := d.idle(ctx, task, "take a task back")
	if err != nil {
		return out, err
	}
	list, err := d.Service.Board.Histories().Interactions(task).Read()
	if err != nil {
		return out, err
	}
	in, err := board.InteractionOf(list, task, "--to", number)
	if err != nil {
		return out, err
	}
	if out.Commit = in.Liza.CommitAfter; out.Commit == "" {
		return out, transition.Refuse(transition.ExitFailure, "liza history "+task, "cannot go back to interaction %s of %s: it tells of no commit", number, task)
	}
	if there, err := d.Service.Board.Repo.CommitExists(ctx, out.Commit); err != nil {
		return out, err
	} else if !there {
		return out, transition.Refuse(transition.ExitFailure, "liza history "+task, "cannot go back to interaction %s of %s: its commit %.9s is gone", number, task, out.Commit)
	}
	input := d.Service.Board.Input()
	input.Reason, input.Tip = "back to interaction "+number, out.Commit
	out.Done, err = d.startAgain(ctx, t, "restep", input, transition.Restep, func() (notes []string, err error) {
		if t.Worktree != "" || d.Service.Board.Repo.WorktreeOf(task) != "" {
			notes, err = d.Service.Worktrees.Reset(ctx, t.ID, out.Commit)
		}
		if problem := d.Service.Board.Histories().Happened(ctx, t, history.Restep, string(blackboard.Unclaimed), out.Commit); problem != "" {
			notes = append(notes, problem)
		}
		return notes, err
	})
	return out, err
}

// idle is a task that nobody works on, or a refusal. A claim whose lease has expired is
// released first.
func (d simulator) idle(ctx context.Context, task, what string) (*blackboard.Task, error) {
	if err := d.Service.Board.PersonOnly(ctx, what); err != nil {
		return nil, err
	}
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	t := s.Task(task)
	if t == nil {
		return nil, d.Service.Board.Unknown(s, task)
	}
	live, _ := s.ClaimLiveness(t, d.Service.Board.Now(), d.Service.Board.Facts())
	if t.Status == blackboard.Claimed && live != blackboard.Expired {
		return nil, transition.Refuse(transition.ExitRefused, "liza release "+task+" --reason T", "task %s is claimed by %s", task, t.AssignedTo)
	}
	if t.Status == blackboard.Claimed {
		if _, err := d.Service.Release(ctx, verb.ReleaseInput{Task: task, Coder: true, Reason: "its lease has expired"}); err != nil {
			return nil, err
		}
		if s, err = d.Service.Board.View(ctx); err != nil {
			return nil, err
		}
		t = s.Task(task)
	}
	if t.Status.Terminal() {
		return nil, transition.Refuse(transition.ExitRefused, "liza add-task", "task %s is %s, and that is final; make a new task", task, t.Status)
	}
	return t, nil
}

// startAgain carries out an event that starts a task again (T40): what is there is saved, the
// event is written, and then git follows. Meanwhile the task is held, so that no agent claims
// it between the two.
func (d simulator) startAgain(ctx context.Context, t *blackboard.Task, op string, in transition.Input, event verb.WayEvent, follow func() ([]string, error)) (board.Done, error) {
	done := board.Done{Task: t.ID}
	if _, err := d.Service.Try(ctx, t.ID, in, event); err != nil {
		return done, err
	}
	in.Attic, in.SaveError = d.Service.Worktrees.Save(ctx, t.ID, op)
	underWay := op + " is under way"
	held := t.Hold != nil && t.Hold.Reason != underWay // the hold of a call that failed ends with this one
	incomplete := func(err error) error {
		return fmt.Errorf("cannot complete the %s of %s, so the task is on hold until the same command ends it: %w", op, t.ID, err)
	}
	done, err := d.Service.Board.Event(ctx, op, t.ID, func(s *blackboard.State, a transition.Actor) error {
		if err := event(s, t.ID, a, in, d.Service.Board.Now()); err != nil || t.Hold != nil {
			return err
		}
		return transition.HoldTask(s, t.ID, a, transition.Input{Reason: underWay}, d.Service.Board.Now())
	})
	if err != nil {
		return done, err
	}
	done.Attic = in.Attic
	notes, err := follow()
	done.Notices = append(done.Notices, notes...)
	if err != nil {
		return done, incomplete(err)
	}
	if held {
		return done, nil
	}
	freed, err := d.Service.Board.Event(ctx, op, t.ID, func(s *blackboard.State, a transition.Actor) error {
		return transition.UnholdTask(s, t.ID, a, transition.Input{}, d.Service.Board.Now())
	})
	if err != nil {
		return done, incomplete(err)
	}
	done.Status = freed.Status
	return done, nil
}

// archiveOf is where the former runs of a task go at a rerun.
func (d simulator) archiveOf(t *blackboard.Task) string {
	return filepath.Join(d.Service.Board.Project.ArchiveDir(), t.ID, fmt.Sprint(max(t.Epoch, 1)))
}
