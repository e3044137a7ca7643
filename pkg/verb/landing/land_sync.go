package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// Follow merges the base branch of the remote into the integration branch, through the integration checks. A conflict, or a
// check that fails, becomes a task, once for each commit of the base branch; its id is returned.
func (l *Lander) Follow(ctx context.Context) (made string, err error) {
	r := &landing{Lander: l, cfg: l.Service.Board.Config().Land}
	r.Remote = cmp.Or(r.Remote, r.cfg.Remote)
	if err := r.look(ctx); err != nil {
		return "", err
	}
	if _, err := r.fetchBase(ctx, ""); err != nil {
		return "", err
	}
	if err := r.Service.Integration.AdoptTip(ctx, r.state); err != nil {
		return "", err
	}
	id := syncTask(r.tip)
	if t := r.state.Find(id); t != nil && !t.Status.Terminal() {
		return "", nil // it is being worked on
	}
	from := r.Remote + "/" + r.base
	_, err = r.Service.Merges.Merger(blackboard.Human).Sync(ctx, from, r.tip, false)
	move, ok := stuck(err)
	if !ok || r.state.Find(id) != nil {
		return "", err
	}
	return id, r.makeTask(ctx, blackboard.Task{ID: id, Title: "Merge " + from, Priority: new(int), Merges: r.tip,
		Description: fmt.Sprintf("The branch %s has moved on to %s, and cannot be merged as it is: %s.\nMerge that commit (git merge %s), keep what both sides mean, and commit the merge.",
			from, r.tip, move, r.tip),
		DoneWhen: "the work contains commit " + r.tip + " and the checks pass", Scope: "IN: the merge and what it needs. OUT: everything else."}, nil)
}

// heedBase reports whether the base branch has moved on so that a request conflicts with it. Where the request is the integration branch,
// the base is merged into that, by a task if need be, and pushed; else a person has to look.
func (r *landing) heedBase(ctx context.Context, q *blackboard.Request) (conflict bool, err error) {
	if q.Base != r.base {
		return false, nil
	}
	if r.tip == "" {
		if _, err := r.fetchBase(ctx, ""); err != nil {
			return false, err
		}
	}
	if err := r.Service.Board.Repo.Fetch(ctx, r.Remote, q.Pushed); err != nil { // by another host
		return false, err
	}
	err = r.Service.Board.Repo.TryMerge(ctx, q.Pushed, r.tip)
	both, conflict := errors.AsType[*git.ConflictError](err)
	if err == nil && q.InConflict() {
		q.Waits, q.Conflict = "", false
		err = r.record(ctx, *q, "", "")
	}
	if !conflict {
		return false, err
	}
	q.Conflict = true
	why := "conflicts with " + r.base + " in " + prose.Few(both.Files, 5)
	if q.Onto != "" || r.state.Goal == nil || q.ID != r.state.Goal.ID && !strings.HasPrefix(q.ID, r.state.Goal.ID+"-") {
		return true, r.conflict(ctx, *q, why+"; resolve that on the forge, or close the request", "liza land")
	}
	return true, r.resolve(ctx, *q, why)
}

// resolve brings the base branch into the integration branch, and the request to that.
func (r *landing) resolve(ctx context.Context, q blackboard.Request, why string) error {
	made, err := r.Follow(ctx)
	_, still := stuck(err)
	if err != nil && !still {
		return err
	}
	if made != "" {
		r.out.Made = append(r.out.Made, made)
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	t := r.state.Find(syncTask(r.tip))
	switch {
	case t != nil && !t.Status.Terminal():
		return r.conflict(ctx, q, why+"; the task "+t.ID+" merges it", "")
	case !still:
		return r.land(ctx, unit{id: q.ID, title: r.state.Goal.Description, tasks: r.merged})
	}
	return r.conflict(ctx, q, why, fmt.Sprintf("liza sync --from %s/%s", r.Remote, r.base))
}

// conflict records why a request cannot be merged, with the command that helps.
func (r *landing) conflict(ctx context.Context, q blackboard.Request, why, next string) error {
	if r.out.Conflict == nil {
		r.out.Conflict = &Conflict{q, next}
		r.out.Conflict.Request.Waits = why
	}
	return r.wait(ctx, q, why+prose.After("; next: ", next))
}

// syncTask is the task that merges a commit of the base branch. It is named after the commit, so that the same conflict makes one task
// however often it is met.
func syncTask(commit string) string { return "sync-" + commit[:9] }

// sync merges the remote's base branch into the integration branch. What cannot be merged becomes a task.
func (r *landing) sync(ctx context.Context) error {
	if r.cfg.Sync == "off" {
		return nil
	}
	made, err := r.Follow(ctx)
	if made != "" {
		r.out.Made = append(r.out.Made, made)
	}
	return err
}
