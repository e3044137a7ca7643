package verb

import (
	"context"
	"errors"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
)

// TakeNotes are the notes for the task of a run that came since its prompt was written; from now on they count
// as seen by its agent. Its next prompt has them too.
func (v *Service) TakeNotes(ctx context.Context, agent string) ([]*blackboard.Note, error) {
	s, err := v.Board.View(ctx)
	if err != nil || len(s.NewNotes(agent)) == 0 {
		return nil, err
	}
	var taken []*blackboard.Note
	err = v.Board.Update(ctx, "notes seen", func(s *blackboard.State, _ transition.Actor) error {
		taken = transition.TakeNotes(s, agent, v.Board.Now())
		return nil
	})
	return taken, err
}

// Answered is the result of an answer.
type Answered struct {
	Question  string            `json:"question"`
	Task      string            `json:"task,omitempty"`
	Unblocked bool              `json:"unblocked"`
	GoesOn    bool              `json:"goes_on,omitempty"` // the sprint: its checkpoint waited for this answer
	Status    blackboard.Status `json:"status,omitempty"`  // of the task
	Attic     string            `json:"attic,omitempty"`   // ref that holds the saved work
	Notices   []string          `json:"warnings,omitempty"`
}

// errOvertaken says that another answer came between looking and writing.
var errOvertaken = errors.New("another answer was faster")

// Answer stores the answer to an open question. The answer to the last one unblocks, in
// the same write, a task that waits for answers only; its next claim starts from what was
// committed (specs/protocol.md#2.6). Where a guard of unblock refuses, the answer is stored all the
// same, and the planner decides.
func (v *Service) Answer(ctx context.Context, id, answer string) (Answered, error) {
	err := v.Board.Clean(field("the answer", &answer))
	if err != nil {
		return Answered{}, err
	}
	for range 5 {
		var out Answered
		if out, err = v.answer(ctx, id, answer); !errors.Is(err, errOvertaken) {
			return out, err
		}
	}
	return Answered{}, err
}

func (v *Service) answer(ctx context.Context, id, answer string) (Answered, error) {
	in := v.Board.Input()
	in.Answered, in.Reason = true, "all its questions are answered"
	prepared, err := v.prepareAnswer(ctx, id, answer, &in)
	if err != nil {
		return Answered{}, err
	}
	var out Answered
	// The file goes before the change is written: a supervisor that sees it without its checkpoint would make one.
	clearFile := func([]store.Gone) error {
		if !out.GoesOn {
			return nil
		}
		return v.Board.Project.Controls().Clear(project.Checkpoint)
	}
	err = v.Board.UpdateAhead(ctx, "answer", clearFile, func(s *blackboard.State, a transition.Actor) error {
		out = Answered{Question: id, Attic: in.Attic}
		if err := v.Board.OnlyPerson(s, a, "answer"); err != nil {
			return err
		}
		task, last, err := transition.AnswerQuestion(s, id, answer, a, v.Board.Now())
		if err != nil {
			return err
		}
		out.Task = task
		if last && !prepared {
			return errOvertaken
		}
		if last {
			err = transition.Unblock(s, task, a, in, v.Board.Now())
		}
		if board.IsRefusal(err) {
			out.Notices, err = append(out.Notices, "the answer is stored, but "+task+" stays BLOCKED: "+err.Error()), nil
			last = false
		}
		out.Unblocked = last && err == nil
		if t := s.Task(task); t != nil {
			out.Status = t.Status
		}
		if err == nil && transition.EndsWithAnswer(s) {
			out.GoesOn = true
			err = transition.ResumeSprint(s, "", "the questions are answered", a, v.Board.Now())
		}
		return err
	})
	if err != nil || !out.Unblocked {
		return out, err
	}
	if err := v.Worktrees.Drop(ctx, out.Task); err != nil {
		out.Notices = append(out.Notices, err.Error())
	}
	return out, nil
}

// prepareAnswer tries the answer on a copy. When it would unblock the task, the work is
// saved, and in gets to know of it.
func (v *Service) prepareAnswer(ctx context.Context, id, answer string, in *transition.Input) (unblocks bool, err error) {
	who, err := v.Board.Identify()
	if err != nil {
		return false, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return false, err
	}
	copied := s.Clone()
	a := who.Actor(copied)
	if err := v.Board.OnlyPerson(copied, a, "answer"); err != nil {
		return false, err
	}
	task, last, err := transition.AnswerQuestion(copied, id, answer, a, v.Board.Now())
	if err != nil || !last {
		return false, err
	}
	if transition.Unblock(copied, task, a, *in, v.Board.Now()) == nil {
		in.Tip = v.Worktrees.Tip(ctx, s.Task(task))
		in.Attic, in.SaveError = v.Worktrees.Save(ctx, task, "answer")
	}
	return true, nil
}
