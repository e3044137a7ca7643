package supervisor

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/role"
)

// openGit gives a run a git folder of its own: that of a coder for its commits, any other to be thrown away. With mounted the
// wall shows r.git.Git at r.git.Target and r.git.Read besides, also for runs in the main checkout. Without, the worktree's
// .git names the folder until the end of the run, and runs in the main checkout have git as it is there.
func (s *Supervisor) openGit(ctx context.Context, r *run, st *blackboard.State, task, worktree string, mounted bool) (err error) {
	t := st.Task(task)
	if t == nil || worktree != s.Service.Repo.WorktreePath(task) {
		if t = nil; !mounted {
			return nil
		}
	}
	keep := r.brief.role.Role.Kind == role.Coder
	r.git, err = s.Service.GitFolder(ctx, st, t, s.ID, keep, !mounted)
	return err
}

// takeOver takes over what a coder's run has committed, as soon as the program has ended: before its end is recorded and
// judged, so that nothing is lost whatever comes of it.
func (s *Supervisor) takeOver(ctx context.Context, r *run, task string) {
	if r.git == nil || r.brief.role.Role.Kind != role.Coder {
		return
	}
	taken, err := s.Service.TakeOver(context.WithoutCancel(ctx), task)
	if err != nil {
		s.warn(task, "%v", err)
	}
	if taken.Refused != "" {
		s.warn(task, "the commits were not taken over: %s", taken.Refused)
	}
}

// closeGit ends the use of a run's git folder when all that the run led to is written. What cannot be taken over now stays
// where it is, and is looked at again before anybody works on the task.
func (s *Supervisor) closeGit(ctx context.Context, r *run) {
	if r.git == nil {
		return
	}
	if err := s.Service.CloseGitFolder(context.WithoutCancel(ctx), r.git, r.task, r.before); err != nil {
		s.warn(r.task, "%v", err)
	}
	r.git = nil
}
