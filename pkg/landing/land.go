package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/forge"
	"liza/pkg/git"
	"liza/pkg/safefile"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Lander brings merged work onto a forge, as pull or merge requests, and what is said there back onto the board (specs/protocol.md#8.8).
type Lander struct {
	*verb.Service
	Forge  forge.Client
	Remote string // git remote; empty: land.remote
	Pause  func(ctx context.Context, d time.Duration) error
}

// Landed is what one round of landing found and did.
type Landed struct {
	Requests []blackboard.Request `json:"requests"`
	Made     []string             `json:"tasks_made,omitempty"` // tasks that CI, reviews or a conflict made
	Problems []string             `json:"problems,omitempty"`   // what a person should know
}

// Waiting reports whether something is to come from the forge by itself: checks, or its merge.
func (l Landed) Waiting(cfg config.Land) bool {
	return slices.ContainsFunc(l.Requests, func(r blackboard.Request) bool {
		switch {
		case r.Status == blackboard.RequestOpening:
			return true
		case r.Status != blackboard.RequestOpen:
			return false
		}
		return r.Checks == "" || r.Checks == forge.Pending || r.Checks == forge.Failed && r.Waits == "" || cfg.Merge != "none" && r.Waits == ""
	})
}

// landing is one round.
type landing struct {
	*Lander
	cfg    config.Land
	state  *blackboard.State
	merged []*blackboard.Task // of the sprint, with changes, the oldest merge first
	base   string             // name of the base branch on the remote
	tip    string             // its commit
	out    Landed
}

// A unit is what lands with one request.
type unit struct {
	id, title string
	tasks     []*blackboard.Task
}

// Round does once what there is to do: with open it opens requests for what has not landed (of one task, when id names it), and looks at
// all that are open. Wherever it is interrupted, the next round goes on from what board, remote and forge say.
func (l *Lander) Round(ctx context.Context, id string, open bool) (Landed, error) {
	if err := l.PersonOnly(ctx, "land"); err != nil {
		return Landed{}, err
	}
	unlock, err := safefile.Lock(ctx, l.Project.LandLock(), safefile.Holder{PID: os.Getpid(), Host: l.Proc.Host, Agent: blackboard.Human, Op: "land", Since: l.Now()})
	if err != nil {
		return Landed{}, err
	}
	defer func() { _ = unlock() }()
	r := &landing{Lander: l, cfg: l.Config().Land}
	r.Remote = cmp.Or(r.Remote, r.cfg.Remote)
	if err := r.look(ctx); err != nil {
		return r.out, err
	}
	units, err := r.units(ctx, id, open)
	if err != nil {
		return r.out, err
	}
	if len(units) > 0 {
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

// look reads the board.
func (r *landing) look(ctx context.Context) error {
	s, err := r.View(ctx)
	if err != nil {
		return err
	}
	r.state = s
	r.base = r.cfg.Base
	if r.base == "" {
		ref := cmp.Or(s.Text("base_ref"), "main")
		r.base = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), r.Remote+"/")
	}
	all, err := r.SprintTasks(s)
	if err != nil {
		return err
	}
	r.merged = nil
	for _, t := range all {
		if t.Status == blackboard.Merged && t.ChangesFiles() && t.MergeCommit != "" {
			r.merged = append(r.merged, t)
		}
	}
	slices.SortStableFunc(r.merged, func(a, b *blackboard.Task) int { return mergedAt(a).Compare(mergedAt(b)) })
	return nil
}

func mergedAt(t *blackboard.Task) time.Time {
	for _, h := range slices.Backward(t.History) {
		if h.Event == blackboard.HistoryMerged {
			at, _ := h.Time.At()
			return at
		}
	}
	return time.Time{}
}

// fetchBase asks the remote for the base branch, and for the branch of a request.
func (r *landing) fetchBase(ctx context.Context, branch string) (at string, err error) {
	refs := []string{"refs/heads/" + r.base}
	if branch != "" {
		refs = append(refs, "refs/heads/"+branch)
	}
	found, err := r.Repo.RemoteRefs(ctx, r.Remote, refs...)
	if err != nil {
		return "", err
	}
	if r.tip = found[refs[0]]; r.tip == "" {
		return "", verb.Refuse("liza config set land.base BRANCH", "the remote %s has no branch %s", r.Remote, r.base)
	}
	if err := r.Repo.Fetch(ctx, r.Remote, r.tip); err != nil {
		return "", err
	}
	return found["refs/heads/"+branch], nil
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
		return nil, verb.WrongUsage("liza land", "land.per is goal: the work of all tasks lands with one request")
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
		if news && (open || known != nil) && (known == nil || r.state.FixUnderWay(known) == "" || known.Status == blackboard.RequestOpening) {
			out = append(out, u)
		}
	}
	if id != "" && !slices.ContainsFunc(all, func(u unit) bool { return u.id == id }) {
		return nil, verb.Refuse("liza show "+id, "%s is not merged, or has no changes to land", id)
	}
	return out, nil
}

// fixOf is the request for which a task was made that is not over.
func (r *landing) fixOf(task string) string {
	for _, q := range r.state.Requests {
		if q != nil && q.Fixes.Has(task) && (q.Under() || q.Picked.Has(task)) {
			return q.ID
		}
	}
	return ""
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
	missing, err := r.Repo.Uncontained(ctx, commits, q.Commit)
	return len(missing) > 0, err
}

// record changes a request on the board.
func (r *landing) record(ctx context.Context, q blackboard.Request, action blackboard.Action, detail string) error {
	err := r.Update(ctx, "land", func(s *blackboard.State, a transition.Actor) error {
		transition.PutRequest(s, q, r.Now())
		if action != "" {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(r.Now()), Agent: a.ID, Action: action, Detail: detail, Extra: map[string]any{"request": q.ID}})
		}
		return nil
	})
	if err == nil {
		r.state, err = r.View(ctx)
	}
	return err
}

// branchOf is the branch of a request.
func branchOf(id string) string {
	branch := "liza/" + id
	if !git.ValidBranchName(branch) {
		return "liza/request"
	}
	return branch
}
