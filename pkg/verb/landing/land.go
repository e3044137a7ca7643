package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/plan"
)

// Round does once what there is to do: with open it opens requests for what has not landed (of one task, when id names it), and looks at
// all that are open. Wherever it is interrupted, the next round goes on from what board, remote and forge say.
func (l *Lander) Round(ctx context.Context, id string, open bool) (Landed, error) {
	if err := l.Service.Board.PersonOnly(ctx, "land"); err != nil {
		return Landed{}, err
	}
	unlock, err := safefile.LockIn(ctx, l.Service.Board.Project.LandLock(), safefile.Holder{PID: os.Getpid(), Host: l.Service.Board.Proc.Host, Agent: blackboard.Human, Op: "land", Since: l.Service.Board.Now()})
	if err != nil {
		return Landed{}, err
	}
	defer func() { _ = unlock() }()
	r := &landing{Lander: l, cfg: l.Service.Board.Config().Land}
	r.Remote = cmp.Or(r.Remote, r.cfg.Remote)
	if err := r.look(ctx); err != nil {
		return r.out, err
	}
	units, err := r.units(ctx, id, open)
	if err != nil {
		return r.out, err
	}
	if len(units) > 0 {
		// A request is opened from a branch that has the base in it: its checks say something, and its diff is the work alone.
		if err := r.sync(ctx); err != nil {
			return r.out, err
		}
		if err := r.look(ctx); err != nil {
			return r.out, err
		}
	}
	var errs []error
	for _, u := range units {
		if err := r.land(ctx, u); err != nil {
			errs = append(errs, fmt.Errorf("cannot land %s: %w", u.id, err))
		}
	}
	// A clone: looking at one changes the list.
	for _, request := range slices.Clone(r.state.Requests) {
		if request != nil && (request.Under() || request.Status == blackboard.RequestClosed) && request.Number > 0 {
			if err := r.watch(ctx, *request); err != nil {
				errs = append(errs, fmt.Errorf("cannot look at %s: %w", request.URL, err))
			}
		}
	}
	if err := r.look(ctx); err != nil {
		errs = append(errs, err)
	}
	for _, request := range r.state.Requests {
		if request != nil {
			r.out.Requests = append(r.out.Requests, *request)
		}
	}
	return r.out, errors.Join(errs...)
}

// units are what is to be landed now.
func (r *landing) units(ctx context.Context, id string, open bool) ([]unit, error) {
	var all []unit
	if r.cfg.Per == "goal" {
		if g := r.state.Goal; g != nil {
			all = append(all, unit{id: g.ID, title: g.Description, tasks: r.merged})
		}
	} else {
		for _, t := range r.merged {
			if owner := r.fixOf(t.ID); owner == "" {
				all = append(all, unit{id: t.ID, title: t.TitleText(), tasks: r.withFixes(t)})
			}
		}
	}
	if id != "" && r.cfg.Per == "goal" {
		return nil, board.WrongUsage("liza land", "land.per is goal: the work of all tasks lands with one request")
	}
	var out []unit
	for _, u := range all {
		if id != "" && u.id != id {
			continue
		}
		u, news, err := r.news(ctx, u)
		if err != nil {
			return nil, err
		}
		known := r.state.Request(u.id)
		if news && (open || known != nil) && (known == nil || fixUnderWay(r.state, known) == "" || known.Status == blackboard.RequestOpening) {
			out = append(out, u)
		}
	}
	if id != "" && !slices.ContainsFunc(all, func(u unit) bool { return u.id == id }) {
		return nil, board.Refuse("liza show "+id, "%s is not merged, or has no changes to land", id)
	}
	return out, nil
}

func (r *landing) withFixes(t *blackboard.Task) []*blackboard.Task {
	tasks := []*blackboard.Task{t}
	for n := 1; ; n++ {
		q := r.state.Request(numbered(t.ID, n))
		if q == nil {
			return tasks
		}
		for _, m := range r.merged {
			if q.Fixes.Has(m.ID) {
				tasks = append(tasks, m)
			}
		}
	}
}

func numbered(id string, n int) string {
	if n == 1 {
		return id
	}
	return fmt.Sprintf("%s-%d", id, n)
}

// news reports whether the unit has work that its request lacks. More work after a merge is a request of its own.
func (r *landing) news(ctx context.Context, u unit) (unit, bool, error) {
	if len(u.tasks) == 0 {
		return u, false, nil
	}
	for n := 1; ; n++ {
		q := r.state.Request(numbered(u.id, n))
		switch {
		case q == nil:
			u.id = numbered(u.id, n)
			return u, true, nil
		case q.Status == blackboard.RequestOpening, q.Status == blackboard.RequestOpen && q.Commit != q.Pushed:
			u.id = q.ID
			return u, true, nil
		}
		lacks, err := r.lacks(ctx, u, q)
		if err != nil || !lacks || q.Status != blackboard.RequestMerged {
			u.id = q.ID
			return u, lacks && q.Under(), err
		}
	}
}

// lacks reports whether work of the unit is not in the request.
func (r *landing) lacks(ctx context.Context, u unit, q *blackboard.Request) (bool, error) {
	var commits []string
	for _, t := range u.tasks {
		if q.Onto != "" && !q.Picked.Has(t.ID) {
			return true, nil
		}
		commits = append(commits, t.MergeCommit)
	}
	if q.Onto != "" {
		return false, nil
	}
	missing, err := r.Service.Board.Repo.Uncontained(ctx, commits, q.Commit)
	return len(missing) > 0, err
}

// AllLanded reports whether there are requests, none of them is to be looked at any more, and no merged task lacks one.
func AllLanded(s *blackboard.State) bool {
	var picked blackboard.List // empty: the integration branch lands as it is
	for _, r := range s.Requests {
		if r.Under() {
			return false
		}
		picked = append(picked, r.Picked...)
	}
	for t := range s.Tasks() {
		if len(picked) > 0 && t.MergeCommit != "" && t.ChangesFiles() && !picked.Has(t.ID) {
			return false
		}
	}
	return len(s.Requests) > 0
}

// makeTask creates a task, with the request that it is for in the same write: both or neither.
func (r *landing) makeTask(ctx context.Context, t blackboard.Task, q *blackboard.Request) error {
	t.Description, t.Title = r.Service.Board.Secrets.Mask(t.Description), r.Service.Board.Secrets.Mask(t.Title)
	if err := r.Service.Board.CleanTask(&t); err != nil {
		return err
	}
	in := r.Service.Board.Input()
	return r.Service.Board.Update(ctx, "land", func(s *blackboard.State, a transition.Actor) error {
		own := t
		if s.Goal != nil {
			own.SpecRef, own.Plan = s.Goal.SpecRef, s.Goal.PlanID
		}
		plan.FillKind(s, &own)
		if err := transition.Create(s, &own, false, a, in, r.Service.Board.Now()); err != nil {
			return err
		}
		if q != nil {
			transition.PutRequest(s, *q, r.Service.Board.Now())
		}
		return nil
	})
}
