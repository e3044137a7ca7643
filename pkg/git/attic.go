package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Work names what Save is to save: the branch task/<ID> and, when Path is set, the worktree there.
type Work struct {
	ID          string
	Path        string // of the worktree; "": the branch alone
	Reason      string // for the commit's message
	Integration string // head of the integration branch; "" when there is none
	Base        string // where the work began; "" when unknown
	Left        string // the commit that a run with a git folder of its own was at, besides; "" for none
}

func (s *session) save(ctx context.Context, w Work) (ref string, saved bool, err error) {
	held, err := s.holding(ctx, w.ID, w.Path)
	if err != nil {
		return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
	}
	if w.Left != "" {
		held.head = w.Left
		if held.headTree, err = s.treeOf(ctx, w.Left); err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
	}
	if len(held.nested) > 0 {
		return "", false, &UnsavedError{ID: w.ID, Lost: held.nested}
	}
	if held.changed() { // on top of HEAD, so HEAD is kept with it
		if ref, saved, err = s.saveContent(ctx, w, held); err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
	}
	for _, commit := range held.commits() {
		kept, made, err := s.saveCommit(ctx, w, commit)
		if err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
		if ref == "" {
			ref = kept
		}
		saved = saved || made
	}
	return ref, saved, nil
}

// saveCommit keeps a commit unless it is the base, or reachable from the integration branch or the attic.
func (s *session) saveCommit(ctx context.Context, w Work, commit string) (ref string, saved bool, err error) {
	all, err := s.AtticRefs(ctx, w.ID)
	if err != nil {
		return "", false, err
	}
	for _, one := range all {
		if one.Commit == commit {
			return one.Ref, false, nil
		}
	}
	lost, err := s.beyond(ctx, commit, Proof{w.Integration, w.Base}, all)
	if err != nil || lost == 0 {
		return "", false, err
	}
	ref, err = s.addAttic(ctx, w.ID, commit, all)
	return ref, err == nil, err
}

// saveContent keeps what the files of a worktree add to its HEAD.
func (s *session) saveContent(ctx context.Context, w Work, held holding) (ref string, saved bool, err error) {
	all, err := s.AtticRefs(ctx, w.ID)
	if err != nil {
		return "", false, err
	}
	if one, found := held.savedIn(all); found {
		return one.Ref, false, nil
	}
	var parents []string
	if held.head != "" {
		parents = []string{held.head}
	}
	commit, err := s.CommitTree(ctx, held.tree, parents, strings.TrimSpace("liza attic "+w.ID+" "+w.Reason)+"\n")
	if err != nil {
		return "", false, err
	}
	ref, err = s.addAttic(ctx, w.ID, commit, all)
	return ref, err == nil, err
}

// addAttic makes the next ref of the attic.
func (s *session) addAttic(ctx context.Context, id, commit string, all []Attic) (string, error) {
	n := 1
	if len(all) > 0 {
		n = all[0].N + 1
	}
	ref := attic + id + "/" + strconv.Itoa(n)
	return ref, s.setRef(ctx, ref, commit, "")
}

// Keep saves a commit in the attic of name, unless head or the attic has it already. It returns the ref that
// holds it, "" when head has it. A head of "" has nothing. Unlike the work of a task, name may be any
// component of a ref.
func (r *Repo) Keep(ctx context.Context, name, commit, head string) (ref string, err error) {
	s, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer s.unlock()
	if there, err := s.CommitExists(ctx, commit); err != nil || !there {
		return "", err
	}
	if head != "" {
		if held, err := s.IsAncestor(ctx, commit, head); err != nil || held {
			return "", err
		}
	}
	all, err := s.atticOf(ctx, name)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if one.Commit == commit {
			return one.Ref, nil
		}
	}
	return s.addAttic(ctx, name, commit, all)
}
