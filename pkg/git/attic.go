package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const attic = "refs/liza/attic/"

// An Attic is one saved state of a task's work.
type Attic struct {
	Ref    string
	N      int
	Commit string
	tree   string
	parent string // first parent
}

// AtticRefs lists the saved work of id, newest first.
func (r *Repo) AtticRefs(ctx context.Context, id string) ([]Attic, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return r.atticOf(ctx, id)
}

func (r *Repo) atticOf(ctx context.Context, id string) ([]Attic, error) {
	if none, err := r.refFiles([]string{attic + id + "/"}); err == nil && len(none) == 0 {
		return nil, nil // as a rule
	}
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname) %(objectname) %(tree) %(parent)", attic+id+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the attic of %s: %w", id, err)
	}
	var all []Attic
	for line := range strings.Lines(out) {
		parts := append(strings.Split(strings.TrimSuffix(line, "\n"), " "), "")
		n, err := strconv.Atoi(strings.TrimPrefix(parts[0], attic+id+"/"))
		if err != nil || len(parts) < 4 {
			continue // not one of ours
		}
		all = append(all, Attic{Ref: parts[0], N: n, Commit: parts[1], tree: parts[2], parent: parts[3]})
	}
	newestFirst(all)
	return all, nil
}

// Work names what Save is to save: the branch task/<ID> and, when Path is set, the worktree there.
type Work struct {
	ID          string
	Path        string // of the worktree; "": the branch alone
	Reason      string // for the commit's message
	Integration string // head of the integration branch; "" when there is none
	Base        string // where the work began; "" when unknown
	Left        string // the commit that a run with a git folder of its own was at, besides; "" for none
}

// Save puts the work of a task in the attic (specs/protocol.md#8.6, E-SAVE): its tracked changes and untracked files that are
// not ignored, as a commit on top of the worktree's HEAD, and every commit of HEAD and of the branch. It changes nothing in
// the worktree. ref is the attic ref that holds the newest of it, "" when there is nothing to save; saved reports whether
// this call made it. Work that cannot be saved (inside a submodule or a nested repository) is an *UnsavedError.
func (r *Repo) Save(ctx context.Context, w Work) (ref string, saved bool, err error) {
	if err := checkID(w.ID); err != nil {
		return "", false, err
	}
	if _, err := r.Settle(ctx, w.ID, true); err != nil {
		return "", false, err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return "", false, err
	}
	defer s.unlock()
	return s.save(ctx, w)
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

// snapshot is the tree of everything in a worktree that is not ignored. The worktree's own index stays as it is.
func (s *session) snapshot(ctx context.Context, path, admin, head string) (tree string, err error) {
	index := filepath.Join(s.place.CommonDir, "liza", "snapshot.index")
	if err := copyIndex(filepath.Join(admin, "index"), index); err != nil {
		return "", fmt.Errorf("cannot copy the index: %v", err)
	}
	defer removeIndex(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	if !exists(index) && head != "" { // a git that was killed while it made the worktree left none
		if _, err := s.change(ctx, call{dir: path, args: []string{"read-tree", head}, env: env}); err != nil {
			return "", err
		}
	}
	if err := s.addAll(ctx, call{dir: path, args: []string{"-c", "core.safecrlf=false"}, env: env}); err != nil {
		return "", err
	}
	out, err := s.change(ctx, call{dir: path, args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(out), err
}

// beyond counts the commits up to commit that neither the proof nor the attic has.
func (r *Repo) beyond(ctx context.Context, commit string, proof Proof, all []Attic) (int, error) {
	if commit == proof.Base {
		return 0, nil
	}
	if held, err := r.Reaches(ctx, commit, proof.Integration); err == nil && held {
		return 0, nil // as a rule: merged work goes
	}
	args := []string{"rev-list", "--count", commit, "--not"}
	if proof.Integration != "" {
		args = append(args, proof.Integration)
	}
	for _, one := range all {
		args = append(args, one.Commit)
	}
	out, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, errors.New("git rev-list printed no number")
	}
	return count, nil
}

func newestFirst(all []Attic) {
	slices.SortFunc(all, func(a, b Attic) int { return b.N - a.N })
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
