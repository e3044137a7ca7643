package verb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prose"
	"liza/pkg/safefile"
	"liza/pkg/transition"
)

// AdoptTip takes the branch as it is for a board that remembers no tip. That a branch was moved is written down by
// supervisors and watchers: a verb that is refused for it changes nothing.
func (d *Service) AdoptTip(ctx context.Context, s *blackboard.State) error {
	if s.Tip() != "" {
		return nil
	}
	_, err := d.SeeIntegration(ctx, s)
	return err
}

// SeeIntegration looks where the integration branch is; a tip that Liza did not make is written into
// the journal, once, and the work that Liza left is kept from git's garbage collection. It costs one look
// at a ref, and writes only when there is news.
func (d *Service) SeeIntegration(ctx context.Context, s *blackboard.State) (Branch, error) {
	b, news, err := d.standing(ctx, s)
	if err != nil || !news || d.Rehearsal {
		return b, err
	}
	// Under the lock of merges branch and board agree. While somebody merges, the next look sees it.
	unlock, err := d.lockMerges(ctx, 100*time.Millisecond)
	if held := new(safefile.HeldError); errors.As(err, &held) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	defer func() { _ = unlock() }()
	if s, err = d.View(ctx); err != nil {
		return b, err
	}
	tip, err := d.TipOf(ctx, s)
	if err != nil {
		return b, err
	}
	return d.noteIntegration(ctx, s, tip)
}

// Branch gives the state of the integration branch.
type Branch struct {
	Lag
	Tip   string   `json:"tip"`             // "": the branch does not exist
	Known string   `json:"known_tip"`       // where Liza left it
	Moved bool     `json:"moved"`           // it is elsewhere
	Lost  []string `json:"lost,omitempty"`  // merged tasks whose work it lacks
	Ahead []string `json:"ahead,omitempty"` // tasks that it has merges of, and the board has not as merged: one that was put back from a backup
	Saved string   `json:"saved,omitempty"`
	Text  string   `json:"-"` // of a branch that was moved
	Next  string   `json:"-"`
}

// Lag is how far the integration branch is behind its base branch.
type Lag struct {
	Branch  string `json:"integration_branch"`
	Base    string `json:"base_ref,omitempty"`     // the base branch
	Guessed bool   `json:"base_guessed,omitempty"` // base_ref is not set: the branch that is checked out is taken
	Behind  int    `json:"behind"`                 // commits of the base branch that it lacks
}

func (l Lag) String() string {
	return fmt.Sprintf("%s lacks %s of its base branch %s", l.Branch, prose.Count(l.Behind, "commit"), l.Base)
}

// IntegrationTip is where the integration branch is, on the remote if work travels over one, "" when it does not exist. The snapshot is older than the
// look at the branch: what a merge left meanwhile is not foreign, and s is told its own tip.
func IntegrationTip(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error)) (string, error) {
	tip, err := branchTip(ctx, repo, s, remote)
	if errors.Is(err, git.ErrNotFound) {
		tip, err = "", nil
	}
	if err != nil || !s.ForeignTip(tip) {
		return tip, err
	}
	later, err := view(ctx)
	if err == nil && later.Revision > s.Revision && (later.Tip() != s.Tip() || !later.ForeignTip(tip)) { // else s is an edit by hand
		return s.Tip(), nil
	}
	return tip, nil
}

// TipOf is IntegrationTip for the board of the service.
func (d *Service) TipOf(ctx context.Context, s *blackboard.State) (string, error) {
	return IntegrationTip(ctx, d.Repo, s, d.Remote(), d.Store.View)
}

// askedTip is where the integration branch is on the remote at this moment, if work travels over one. What this host has seen of it does
// not say whether somebody has put it back.
func (d *Service) askedTip(ctx context.Context, s *blackboard.State) (string, error) {
	remote, ref := d.Remote(), "refs/heads/"+s.IntegrationBranch()
	if remote == "" {
		return d.TipOf(ctx, s)
	}
	at, err := d.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == "" {
		return "", err
	}
	return at[ref], errors.Join(d.Repo.Fetch(ctx, remote, at[ref]), d.Repo.SawRemote(ctx, remote, s.IntegrationBranch(), at[ref]))
}

// standing compares the branch with what the board says; news: the board does not say it yet.
func (d *Service) standing(ctx context.Context, s *blackboard.State) (b Branch, news bool, err error) {
	tip, err := d.TipOf(ctx, s)
	if err != nil {
		return b, false, err
	}
	b, news = d.standingAt(s, tip)
	return b, news, nil
}

func (d *Service) standingAt(s *blackboard.State, tip string) (b Branch, news bool) {
	b = Branch{Lag: Lag{Branch: s.IntegrationBranch()}, Known: s.Tip(), Tip: tip}
	if s.Tip() == "" {
		return b, b.Tip != ""
	}
	if b.Moved = s.ForeignTip(b.Tip); b.Moved {
		b.Text, b.Next = blackboard.MovedText(s, b.Tip), blackboard.DecideTip(b.Tip)
	}
	m := s.Integration.Moved
	return b, b.Moved != (m != nil) || m != nil && m.Tip != b.Tip
}

// noteIntegration is SeeIntegration under merge.lock.
func (d *Service) noteIntegration(ctx context.Context, s *blackboard.State, tip string) (Branch, error) {
	b, news := d.standingAt(s, tip)
	if !news {
		return b, nil
	}
	if b.Known == "" {
		return b, d.asSystem(ctx, func(s *blackboard.State) { transition.AdoptTip(s, b.Tip, d.Now()) })
	}
	if b.Moved {
		if _, err := d.Repo.Keep(ctx, keptTips, b.Known, b.Tip); err != nil {
			return b, err
		}
	}
	return b, d.asSystem(ctx, func(s *blackboard.State) { transition.SeeTip(s, b.Tip, d.Now()) })
}

func (d *Service) asSystem(ctx context.Context, change func(*blackboard.State)) error {
	return d.Update(ctx, "integration", func(s *blackboard.State, _ transition.Actor) error {
		change(s)
		return nil
	})
}

func (d *Service) lockMerges(ctx context.Context, wait time.Duration) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.LockIn(ctx, d.Project.MergeLock(), safefile.Holder{PID: os.Getpid(), Host: d.Proc.Host, Agent: blackboard.Human, Op: "integration", Since: d.Now()})
}

// keptTips is the folder of the attic with the tips of the integration branch that were left; no task has such an id.
const keptTips = "_integration"
