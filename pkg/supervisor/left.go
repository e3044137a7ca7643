package supervisor

import (
	"context"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// left decides what becomes of a claim when a person has closed the program in the terminal
// before the work was handed in. A coder's person is asked once; without an answer what was
// committed is kept for them, and a claim without commits is given back.
func (s *Supervisor) left(ctx, life context.Context, u *unit, r *run) error {
	s.shut = true
	st, err := s.Service.View(ctx)
	if err != nil {
		return err
	}
	t := st.Task(u.task)
	if s.Role != blackboard.RoleCoder || t == nil {
		return s.letGo(ctx, u, closedByPerson)
	}
	w, err := s.Service.Repo.Inspect(ctx, s.Service.Repo.WorktreePath(u.task))
	if err != nil {
		s.warn(u.task, "cannot look at its worktree: %v", err)
	}
	commits := err == nil && w.Head != t.BaseCommit
	question := fmt.Sprintf("\n%s is not handed in: %s.\n[s]ubmit the commits for review, [k]eep it for yourself, or [g]ive it back to other coders? ", u.task, stateOfWork(commits, len(w.Dirty)))
	for range 3 {
		answer := strings.ToLower(s.Interactive.Ask(life, question))
		if answer == "" {
			break
		}
		switch answer[0] {
		case 's':
			done, err := s.Service.Submit(ctx, verb.SubmitInput{Task: u.task, Summary: "Handed in by the person who worked on it in the terminal."})
			if err == nil {
				s.shut = false
				s.say(u.task, "submitted: %s", short(done.Commit))
				return nil
			}
			question = fmt.Sprintf("\ncannot submit: %v\n[s]ubmit again, [k]eep, or [g]ive back? ", err)
		case 'k':
			return s.keep(ctx, u, blackboard.Human)
		case 'g':
			return s.letGo(ctx, u, closedByPerson)
		default:
			question = "[s]ubmit, [k]eep, or [g]ive back? "
		}
	}
	if commits {
		return s.keep(ctx, u, blackboard.System)
	}
	return s.letGo(ctx, u, closedByPerson)
}

func stateOfWork(commits bool, dirty int) string {
	var parts []string
	if commits {
		parts = append(parts, "it has commits")
	} else {
		parts = append(parts, "it has no commits")
	}
	if dirty > 0 {
		parts = append(parts, fmt.Sprintf("%d files are not committed", dirty))
	}
	return strings.Join(parts, ", ")
}

// keep gives the claim back, but holds the task first, so that no other coder can take it in
// between; its worktree stays as it is.
func (s *Supervisor) keep(ctx context.Context, u *unit, by string) error {
	err := s.Service.Update(ctx, "keep", func(st *blackboard.State, _ transition.Actor) error {
		if t := st.Task(u.task); t == nil || t.Hold != nil {
			return nil
		}
		return transition.HoldTask(st, u.task, transition.Actor{ID: by}, transition.Input{Reason: "kept for the person who worked on it in the terminal"}, s.Service.Now())
	})
	if err != nil {
		return err
	}
	if err := s.letGo(ctx, u, "kept; its worktree stays"); err != nil {
		return err
	}
	s.say(u.task, "kept: no other coder takes it; next: liza unhold %s, then liza-agent -i coder %s", u.task, u.task)
	return nil
}
