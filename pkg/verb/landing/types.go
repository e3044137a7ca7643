package landing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Lander brings merged work onto a forge, as pull or merge requests, and what is said there back onto the board (specs/protocol.md#8.8).
type Lander struct {
	Service *verb.Service
	Forge   forge.Client
	Remote  string                           // git remote; empty: land.remote
	File    func(commit, path string) string // web address of a file in a pushed commit; nil: requests have no links to files
	Pause   func(ctx context.Context, d time.Duration) error
}

// Landed is what one round of landing found and did.
type Landed struct {
	Requests []blackboard.Request `json:"requests"`
	Made     []string             `json:"tasks_made,omitempty"` // tasks that CI, reviews or a conflict made
	Problems []string             `json:"problems,omitempty"`   // what a person should know
	Conflict *Conflict            `json:"-"`                    // the first request in conflict; nil for none
}

// A Conflict is an open request that cannot be merged because its base branch has moved on.
type Conflict struct {
	Request blackboard.Request // Waits does not name the command
	Next    string             // "" where a task resolves it
}

// Waiting reports whether something is to come from the forge by itself: checks, or its merge.
func (l Landed) Waiting(cfg config.Land) bool {
	return slices.ContainsFunc(l.Requests, func(r blackboard.Request) bool {
		switch {
		case r.Status == blackboard.RequestOpening:
			return true
		case r.Status != blackboard.RequestOpen, r.InConflict():
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
	shown  map[string]string  // commits with the evidence of tasks that the remote has
	out    Landed
}

// A unit is what lands with one request.
type unit struct {
	id, title string
	tasks     []*blackboard.Task
}

// fetchBase asks the remote for the base branch, and for the branch of a request.
func (r *landing) fetchBase(ctx context.Context, branch string) (at string, err error) {
	refs := []string{"refs/heads/" + r.base}
	if branch != "" {
		refs = append(refs, "refs/heads/"+branch)
	}
	found, err := r.Service.Board.Repo.RemoteRefs(ctx, r.Remote, refs...)
	if err != nil {
		return "", err
	}
	if r.tip = found[refs[0]]; r.tip == "" {
		return "", board.Refuse("liza config land.base BRANCH", "the remote %s has no branch %s", r.Remote, r.base)
	}
	if err := r.Service.Board.Repo.Fetch(ctx, r.Remote, r.tip); err != nil {
		return "", err
	}
	return found["refs/heads/"+branch], nil
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

// record changes a request on the board.
func (r *landing) record(ctx context.Context, q blackboard.Request, action blackboard.Action, detail string) error {
	err := r.Service.Board.Update(ctx, "land", func(s *blackboard.State, a transition.Actor) error {
		transition.PutRequest(s, q, r.Service.Board.Now())
		if action != "" {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(r.Service.Board.Now()), Agent: a.ID, Action: action, Detail: detail, Extra: map[string]any{"request": q.ID}})
		}
		return nil
	})
	if err == nil {
		r.state, err = r.Service.Board.View(ctx)
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

// look reads the board.
func (r *landing) look(ctx context.Context) error {
	s, err := r.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	r.state = s
	r.base = r.cfg.Base
	if r.base == "" {
		ref := cmp.Or(s.Text("base_ref"), "main")
		r.base = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), r.Remote+"/")
	}
	all, err := r.Service.Board.Histories().SprintTasks(s)
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
