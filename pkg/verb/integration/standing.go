package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
)

// Integration gives the state of the integration branch, its base branch and lost work included. It changes nothing.
func (i *Branch) Integration(ctx context.Context) (Standing, error) {
	s, err := i.board.View(ctx)
	if err != nil {
		return Standing{}, err
	}
	return i.LookAtIntegration(ctx, s)
}

// LookAtIntegration is Integration for a snapshot.
func (i *Branch) LookAtIntegration(ctx context.Context, s *blackboard.State) (Standing, error) {
	b, _, err := i.standing(ctx, s)
	if err != nil {
		return b, err
	}
	if b.Lost, err = i.lostTasks(ctx, s, b.Tip); err != nil {
		return b, err
	}
	if b.Ahead, err = i.aheadTasks(ctx, s, b); err != nil {
		return b, err
	}
	b.Lag, err = i.BehindTip(ctx, s, b.Tip)
	return b, err
}

// aheadTasks are the tasks that Liza merged beyond where the board left the branch, the first one first, without those that the board has
// as merged.
func (i *Branch) aheadTasks(ctx context.Context, s *blackboard.State, b Standing) (ahead []string, err error) {
	if !b.Moved || b.Known == "" || b.Tip == "" {
		return nil, nil
	}
	for _, commit := range []string{b.Known, b.Tip} {
		if there, err := i.board.Repo.CommitExists(ctx, commit); err != nil || !there {
			return nil, err
		}
	}
	log, err := i.board.Repo.LogBetween(ctx, b.Known, b.Tip, maxLogged)
	if err != nil {
		return nil, err
	}
	all, err := i.board.Histories().SprintTasks(s)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(log) {
		named, isMerge := strings.CutPrefix(c.Subject, "Merge ")
		id, _, hasTitle := strings.Cut(named, ": ")
		if !isMerge || !hasTitle || len(c.Parents) != 2 || !blackboard.ValidTaskID(id) || slices.Contains(ahead, id) {
			continue
		}
		if !slices.ContainsFunc(all, func(t *blackboard.Task) bool { return t.ID == id && t.Status == blackboard.Merged }) {
			ahead = append(ahead, id)
		}
	}
	return ahead, nil
}

// Behind compares the integration branch with its base branch. It costs a look at two refs while the base branch is
// where it was synced last.
func (i *Branch) Behind(ctx context.Context, s *blackboard.State) (Lag, error) {
	tip, err := i.TipOf(ctx, s)
	if err != nil {
		return Lag{}, err
	}
	return i.BehindTip(ctx, s, tip)
}

// BehindTip is Behind for a branch that is at tip.
func (i *Branch) BehindTip(ctx context.Context, s *blackboard.State, tip string) (l Lag, err error) {
	l.Branch = s.IntegrationBranch()
	l.Base, l.Guessed, err = i.BaseRef(ctx, s)
	if err != nil || l.Base == "" || tip == "" {
		return l, err
	}
	commit, err := i.board.Repo.BranchTip(ctx, l.Base)
	if errors.Is(err, git.ErrNotFound) {
		commit, err = i.board.Repo.Resolve(ctx, l.Base)
	}
	if errors.Is(err, git.ErrNotFound) {
		return l, nil // a branch that was renamed: nothing can be said
	}
	if err != nil || commit == tip || s.Integration != nil && commit == s.Integration.Base && !s.ForeignTip(tip) {
		return l, err
	}
	l.Behind, err = i.board.Repo.CountBetween(ctx, tip, commit)
	return l, err
}

// BaseRef is the base branch: the one recorded at init, else the one that is checked out in the main checkout.
func (i *Branch) BaseRef(ctx context.Context, s *blackboard.State) (ref string, guessed bool, err error) {
	if ref := s.Text("base_ref"); ref != "" {
		return ref, false, nil
	}
	head, err := i.board.Repo.Head(ctx)
	if err != nil || head.Branch == "" || head.Branch == s.IntegrationBranch() {
		return "", false, err
	}
	return head.Branch, true, nil
}

// lostTasks are the merged tasks of the board and of the sprint's archive whose work the tip does not have.
func (i *Branch) lostTasks(ctx context.Context, s *blackboard.State, tip string) ([]string, error) {
	all, err := i.board.Histories().SprintTasks(s)
	if err != nil {
		return nil, err
	}
	var commits []string
	var tasks []*blackboard.Task
	for _, t := range all {
		if t.Status == blackboard.Merged && t.ChangesFiles() && t.ClaimSeq > 0 && t.MergeCommit != "" && t.MergeCommit != tip {
			commits, tasks = append(commits, t.MergeCommit), append(tasks, t)
		}
	}
	if len(commits) == 0 {
		return nil, nil
	}
	missing := map[string]bool{}
	for _, c := range commits {
		missing[c] = tip == ""
	}
	if tip != "" {
		outside, err := i.board.Repo.Uncontained(ctx, commits, tip)
		if err != nil {
			return nil, err
		}
		for _, c := range outside {
			missing[c] = true
		}
	}
	var lost []string
	for _, t := range tasks {
		if missing[t.MergeCommit] {
			lost = append(lost, t.ID)
		}
	}
	return lost, nil
}

// MissingWork says what of the merged work the integration branch lacks, and the command that helps; "" when it has
// everything. It asks git once for all tasks.
func (i *Branch) MissingWork(ctx context.Context) (string, error) {
	what, next, err := i.FindMissingWork(ctx)
	if what == "" {
		return "", err
	}
	return what + "; next: " + next, err
}

// FindMissingWork says what merged work the integration branch does not have, and the command that helps; "" for nothing.
func (i *Branch) FindMissingWork(ctx context.Context) (what, next string, err error) {
	s, err := i.board.View(ctx)
	if err != nil {
		return "", "", err
	}
	b, _, err := i.standing(ctx, s)
	if err != nil {
		return "", "", err
	}
	if b.Moved {
		return b.Text, b.Next, nil
	}
	lost, err := i.lostTasks(ctx, s, b.Tip)
	if err != nil || len(lost) == 0 {
		return "", "", err
	}
	what = "the work of " + strings.Join(lost, ", ") + " is merged, but not on " + b.Branch
	return what, "liza merge --again " + lost[0], nil
}

// maxLogged is how many commits are looked at to find those of tasks.
const maxLogged = 2000

// AdoptTip takes the branch as it is for a board that remembers no tip. That a branch was moved is written down by
// supervisors and watchers: a verb that is refused for it changes nothing.
func (i *Branch) AdoptTip(ctx context.Context, s *blackboard.State) error {
	if s.Tip() != "" {
		return nil
	}
	_, err := i.SeeIntegration(ctx, s)
	return err
}

// SeeIntegration looks where the integration branch is; a tip that Liza did not make is written into
// the journal, once, and the work that Liza left is kept from git's garbage collection. It costs one look
// at a ref, and writes only when there is news.
func (i *Branch) SeeIntegration(ctx context.Context, s *blackboard.State) (Standing, error) {
	b, news, err := i.standing(ctx, s)
	if err != nil || !news || i.board.Rehearsal {
		return b, err
	}
	// Under the lock of merges branch and board agree. While somebody merges, the next look sees it.
	unlock, err := i.lockMerges(ctx, 100*time.Millisecond)
	if held := new(safefile.HeldError); errors.As(err, &held) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	defer func() { _ = unlock() }()
	if s, err = i.board.View(ctx); err != nil {
		return b, err
	}
	tip, err := i.TipOf(ctx, s)
	if err != nil {
		return b, err
	}
	return i.NoteIntegration(ctx, s, tip)
}

// Standing gives the state of the integration branch.
type Standing struct {
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

// standing compares the branch with what the board says; news: the board does not say it yet.
func (i *Branch) standing(ctx context.Context, s *blackboard.State) (b Standing, news bool, err error) {
	tip, err := i.TipOf(ctx, s)
	if err != nil {
		return b, false, err
	}
	b, news = i.standingAt(s, tip)
	return b, news, nil
}

func (i *Branch) standingAt(s *blackboard.State, tip string) (b Standing, news bool) {
	b = Standing{Lag: Lag{Branch: s.IntegrationBranch()}, Known: s.Tip(), Tip: tip}
	if s.Tip() == "" {
		return b, b.Tip != ""
	}
	if b.Moved = s.ForeignTip(b.Tip); b.Moved {
		b.Text, b.Next = blackboard.MovedText(s, b.Tip), blackboard.DecideTip(b.Tip)
	}
	m := s.Integration.Moved
	return b, b.Moved != (m != nil) || m != nil && m.Tip != b.Tip
}

// NoteIntegration is SeeIntegration under merge.lock.
func (i *Branch) NoteIntegration(ctx context.Context, s *blackboard.State, tip string) (Standing, error) {
	b, news := i.standingAt(s, tip)
	if !news {
		return b, nil
	}
	if b.Known == "" {
		return b, i.board.AsSystem(ctx, func(s *blackboard.State) { transition.AdoptTip(s, b.Tip, i.board.Now()) })
	}
	if b.Moved {
		if _, err := i.board.Repo.Keep(ctx, KeptTips, b.Known, b.Tip); err != nil {
			return b, err
		}
	}
	return b, i.board.AsSystem(ctx, func(s *blackboard.State) { transition.SeeTip(s, b.Tip, i.board.Now()) })
}

func (i *Branch) lockMerges(ctx context.Context, wait time.Duration) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.LockIn(ctx, i.board.Project.MergeLock(), safefile.Holder{PID: os.Getpid(), Host: i.board.Proc.Host, Agent: blackboard.Human, Op: "integration", Since: i.board.Now()})
}

// KeptTips is the folder of the attic with the tips of the integration branch that were left; no task has such an id.
const KeptTips = "_integration"
