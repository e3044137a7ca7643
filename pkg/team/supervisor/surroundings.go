package supervisor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/run/role"
)

// Surroundings are what a run works beside: the git folder of its own, and what it has no reason to change.
type surroundings struct{ *member }

// around looks at what a run has no reason to change; nil when that cannot be seen. What changes in the main checkout while the
// wall keeps the run away from it is somebody else's work, so only what the run's own git knows of remotes is looked at then.
func (s *surroundings) around(ctx context.Context, r *run) git.Surroundings {
	if r.wall.Shut() {
		if r.git == nil {
			return nil
		}
		return r.git.RemoteBranches()
	}
	seen, err := s.Service.Board.Repo.Surroundings(ctx)
	if err != nil {
		s.warn("", "%v", err)
	}
	return seen
}

// tellChanges tells what changed outside of the worktree while a run was under way: with an alert and a line of the
// journal that name all runs of that time, since nobody can say which of them, or which person, it was. Nothing is put
// back but that tips which a ref left behind are kept in the attic.
func (s *surroundings) tellChanges(ctx context.Context, before git.Surroundings, r *run, task string) {
	if before == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	after := s.around(ctx, r)
	if after == nil {
		return
	}
	if r.git != nil {
		for name, commit := range r.git.RemoteBranches() {
			after[name] = commit
		}
	}
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		s.warn(task, "cannot tell what changed during the run: %v", err)
		return
	}
	var changes []string
	for _, name := range changed(before, after, st.IntegrationBranch(), s.Service.Board.Remote()) {
		changes = append(changes, s.describe(ctx, name, before[name], after[name]))
	}
	if len(changes) == 0 {
		return
	}
	if more := len(changes) - 20; more > 0 {
		changes = append(changes[:20], fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("during the run of %s: %s", s.underWay(st, task), strings.Join(changes, "; "))
	s.warn(task, "outside of its worktree, %s", text)
	if s.Service.Board.Notice != nil {
		s.Service.Board.Notice(blackboard.AlertCheckoutChanged, r.mark, text)
	}
	err = s.Service.Board.Update(ctx, "changes", func(st *blackboard.State, _ transition.Actor) error {
		st.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(s.Service.Board.Now()), Agent: s.ID, Action: blackboard.ActionCheckoutChanged, Task: task,
			Detail: text, Extra: map[string]any{"level": "warning"}})
		return nil
	})
	if err != nil {
		s.warn(task, "cannot write down what changed during the run: %v", err)
	}
}

// changed are the names of what differs and is not Liza's own work: branches of tasks and the integration branch are
// looked at where they are used, also as the supervisors' git left them on the remote over which work travels.
func changed(before, after git.Surroundings, integration, remote string) []string {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, was := before[name]; !was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool {
		branch := strings.TrimPrefix(name, "refs/heads/")
		if there, found := strings.CutPrefix(name, "refs/remotes/"+remote+"/"); found && remote != "" {
			branch = there
		}
		return before[name] == after[name] || branch != name && (strings.HasPrefix(branch, "task/") || branch == integration) ||
			strings.HasPrefix(name, "file .liza/") || strings.HasPrefix(name, "file .worktrees/")
	})
}

// describe says in a few words what became of one thing, and keeps what a ref left behind.
func (s *surroundings) describe(ctx context.Context, name, old, now string) string {
	ref := strings.HasPrefix(name, "refs/")
	switch {
	case ref && old == "":
		return fmt.Sprintf("%s is new at %.9s", name, now)
	case ref:
		text := fmt.Sprintf("%s moved from %.9s to %.9s", name, old, now)
		if now == "" {
			text = fmt.Sprintf("%s at %.9s was deleted", name, old)
		}
		kept, err := s.Service.Board.Repo.KeepTip(ctx, name, old, now)
		if err != nil {
			s.warn("", "cannot keep %s: %v", old, err)
		}
		if kept != "" {
			text += " (kept as " + kept + ")"
		}
		return text
	case name == "HEAD":
		return fmt.Sprintf("the main checkout is on %s, before on %s", now, old)
	}
	return strings.TrimPrefix(name, "file ") + " changed"
}

// underWay names this run and all others that have a program.
func (s *surroundings) underWay(st *blackboard.State, task string) string {
	names := []string{s.ID}
	if task != "" {
		names[0] += " on " + task
	}
	for _, id := range slices.Sorted(maps.Keys(st.Agents)) {
		if a := st.Agents[id]; id != s.ID && a != nil && a.Child != nil {
			names = append(names, id)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return names[0] + " (also under way: " + strings.Join(names[1:], ", ") + ")"
}

// openGit gives a run a git folder of its own: that of a coder for its commits, any other to be thrown away. With mounted the
// wall shows r.git.Git at r.git.Target and r.git.Read besides, also for runs in the main checkout. Without, the worktree's
// .git names the folder until the end of the run, and runs in the main checkout have git as it is there.
func (s *surroundings) openGit(ctx context.Context, r *run, st *blackboard.State, task, worktree string, mounted bool) (err error) {
	t := st.Task(task)
	if t != nil && s.judges(t) { // a checkout of its own, of which the run reads what git knows
		return nil
	}
	if t == nil || worktree != s.Service.Board.Repo.WorktreePath(task) {
		if t = nil; !mounted {
			return nil
		}
	}
	keep := r.brief.role.Role.Kind == role.Coder
	r.git, err = s.Service.Worktrees.OpenFolder(ctx, st, t, s.ID, keep, !mounted)
	return err
}

// takeOver takes over what a coder's run has committed, as soon as the program has ended: before its end is recorded and
// judged, so that nothing is lost whatever comes of it.
func (s *surroundings) takeOver(ctx context.Context, r *run, task string) {
	if r.git == nil || r.brief.role.Role.Kind != role.Coder {
		return
	}
	ctx = context.WithoutCancel(ctx)
	st, err := s.Service.Board.View(ctx)
	var taken git.Taken
	if err == nil {
		taken, err = s.Service.Worktrees.TakeOver(ctx, st, st.Task(task))
	}
	if err != nil {
		s.warn(task, "%v", err)
	}
	if taken.Refused != "" {
		s.warn(task, "the commits were not taken over: %s", taken.Refused)
	}
}

// closeGit ends the use of a run's git folder when all that the run led to is written. What cannot be taken over now stays
// where it is, and is looked at again before anybody works on the task.
func (s *surroundings) closeGit(ctx context.Context, r *run) {
	if r.git == nil {
		return
	}
	if err := s.Service.Worktrees.CloseFolder(context.WithoutCancel(ctx), r.git, r.task, r.before); err != nil {
		s.warn(r.task, "%v", err)
	}
	r.git = nil
}
