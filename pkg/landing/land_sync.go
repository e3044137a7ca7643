package landing

import (
	"cmp"
	"context"
	"fmt"

	"liza/pkg/blackboard"
)

// Follow merges the base branch of the remote into the integration branch, through the integration checks. A conflict, or a
// check that fails, becomes a task, once for each commit of the base branch; its id is returned.
func (l *Lander) Follow(ctx context.Context) (made string, err error) {
	r := &landing{Lander: l, cfg: l.Config().Land}
	r.Remote = cmp.Or(r.Remote, r.cfg.Remote)
	if err := r.look(ctx); err != nil {
		return "", err
	}
	if _, err := r.fetchBase(ctx, ""); err != nil {
		return "", err
	}
	if err := r.AdoptTip(ctx, r.state); err != nil {
		return "", err
	}
	// Named after the commit, so that the same conflict makes one task however often it is met.
	id := "sync-" + r.tip[:9]
	if t := r.state.Find(id); t != nil && !t.Status.Terminal() {
		return "", nil // it is being worked on
	}
	from := r.Remote + "/" + r.base
	_, err = r.Merger(blackboard.Human).Sync(ctx, from, r.tip, false)
	move, ok := stuck(err)
	if !ok || r.state.Find(id) != nil {
		return "", err
	}
	return id, r.makeTask(ctx, blackboard.Task{ID: id, Title: "Merge " + from, Priority: new(int),
		Description: fmt.Sprintf("The branch %s has moved on to %s, and cannot be merged as it is: %s.\nMerge that commit (git merge %s), keep what both sides mean, and commit the merge.",
			from, r.tip, move, r.tip),
		DoneWhen: "the work contains commit " + r.tip + " and the checks pass", Scope: "IN: the merge and what it needs. OUT: everything else."}, nil)
}

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
