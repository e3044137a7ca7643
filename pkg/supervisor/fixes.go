package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

func (s *Supervisor) unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func outputPath(task string) string { return ".liza/output/" + task + ".log" }

// blockCommand stops a task whose command did not end well; out is what it gave, if it did.
func (s *Supervisor) blockCommand(ctx context.Context, t *blackboard.Task, why string, end jobEnd, out *blackboard.Output) error {
	question := cmp.Or(end.ask, "Should the command be changed, or what it depends on?")
	_, err := s.Service.Block(ctx, verb.BlockInput{Task: t.ID, Reason: strings.TrimSpace(why), Questions: []string{question}, Output: out})
	line, _, _ := strings.Cut(why, "\n")
	s.warn(t.ID, "blocked: %s", line)
	return err
}

// afterCrash says why a command is not started again after the supervisor that ran it died.
func (s *Supervisor) afterCrash(t *blackboard.Task) string {
	if i := lastClaim(t); i > 0 && t.History[i-1] != nil && t.History[i-1].Event == blackboard.HistoryLeaseExpired && !s.Service.Config().Exec.RerunAfterCrash {
		return "the supervisor died while the command ran, and exec.rerun_after_crash is false"
	}
	return ""
}

// runItems runs the items of a rejection that are not code, in order, up to the first that
// fails. What each gave is stored in it. any reports whether there was one.
func (s *Supervisor) runItems(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (end jobEnd, any bool, err error) {
	var said []string
	for _, f := range t.Fixes {
		if f == nil || f.Done || f.Kind == "" || f.Kind == blackboard.CodeTask {
			continue
		}
		any = true
		if end, err = s.runItem(ctx, u, st, t, f); err != nil || ctx.Err() != nil {
			return end, any, err
		}
		said = append(said, fmt.Sprintf("item %d, exit code %d: %s", f.N, end.code, end.text))
		if err := s.Service.ItemDone(ctx, t.ID, f.N, end.code, strings.TrimSpace(strings.TrimPrefix(end.why+"\n"+end.text, "\n"))); err != nil {
			return end, any, err
		}
		if end.failed() {
			break
		}
	}
	end.text, end.ran = tail(strings.Join(said, "\n")), any // a denied item is for the reviewer
	return end, any, nil
}

func (s *Supervisor) runItem(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task, f *blackboard.Fix) (jobEnd, error) {
	s.say(t.ID, "item %d of the rejection: %s %s", f.N, f.Kind, cmp.Or(f.Skill, prose.FirstLine(f.Detail)))
	if f.Kind != blackboard.MessageTask {
		return s.runJob(ctx, u, st, t, job{kind: f.Kind, command: f.Detail, skill: f.Skill, args: f.Args, secrets: t.Secrets, timeout: t.TimeoutSeconds})
	}
	if why := s.Service.MayStart(st, t, blackboard.MessageTask); why != "" {
		return refused("%s", why), nil
	}
	asked := *t
	asked.Description = f.Detail
	text, _, err := s.writeMessage(ctx, u, st, &asked)
	end := jobEnd{text: text, ran: true}
	if text == "" && err == nil {
		end.code, end.why = 1, "the messenger gave no text"
	}
	return end, err
}

// runFixesOnce runs the commands of a rejection in a coder's worktree, before its first run:
// the coder is told what came of them. t is nil when the work has ended meanwhile.
func (s *Supervisor) runFixesOnce(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (*blackboard.State, *blackboard.Task, error) {
	if s.Role != blackboard.RoleCoder || u.fixed {
		return st, t, nil
	}
	u.fixed = true
	_, any, err := s.runItems(ctx, u, st, t)
	if err != nil || ctx.Err() != nil {
		return st, nil, s.unlessEnded(ctx, err)
	}
	if !any {
		return st, t, nil
	}
	if st, err = s.Service.View(ctx); err != nil {
		return st, nil, err
	}
	return st, st.Task(u.task), nil
}

// runCommand performs an exec or skill task in its worktree, or, after a rejection, the items
// that the reviewer asked for (specs/roles-and-knowledge.md#5.7). Without writes, what is changed there
// is thrown away; with writes it is committed and reviewed like code.
func (s *Supervisor) runCommand(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) error {
	if why := s.afterCrash(t); why != "" {
		return s.blockCommand(ctx, t, why, jobEnd{}, nil)
	}
	end, items, err := s.runItems(ctx, u, st, t)
	if err == nil && !items {
		end, err = s.runJob(ctx, u, st, t, jobOf(t))
	}
	if err != nil || ctx.Err() != nil {
		return s.unlessEnded(ctx, err) // the one who ended it decides what becomes of the claim
	}
	if end.failed() && (!end.ran || !t.ReviewRequired && !t.ChangesFiles()) {
		out := outputOf(end.text, end.code, "")
		if end.ran {
			out.Path = outputPath(t.ID)
		}
		return s.blockCommand(ctx, t, "the command failed: "+end.why+"\n"+end.text, end, &out)
	}
	dir := s.Service.Repo.WorktreePath(t.ID)
	if t.Writes {
		if _, _, err := s.Service.Repo.Commit(ctx, dir, fmt.Sprintf("%s\n\nLiza-Task: %s\nLiza-Attempt: %d\n", t.TitleText(), t.ID, t.ClaimSeq)); err != nil {
			return err
		}
	} else if err := s.Service.Repo.Discard(ctx, dir); err != nil {
		return err
	}
	done, err := s.Service.Deliver(ctx, t.ID, outputOf(end.text, end.code, outputPath(t.ID)), "")
	var no *transition.Refusal
	if errors.As(err, &no) && no.Exit == transition.ExitRefused {
		return s.blockCommand(ctx, t, "what the command did cannot be handed in: "+no.Message, end, nil)
	}
	if err == nil {
		s.say(t.ID, "%s: exit code %d", done.Status, end.code)
	}
	return err
}
