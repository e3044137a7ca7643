package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/base/safefile"
)

// Remove removes the worktree and the branch of id (specs/protocol.md#8.6), but only if the branch's tip, the worktree's HEAD
// and its files are each reachable from proof.Integration or from an attic ref of id at that moment. Otherwise it removes
// nothing, and an *UnsavedError lists the work that would be lost. Ignored files go with the worktree. A missing worktree or
// branch is not an error.
func (r *Repo) Remove(ctx context.Context, id string, proof Proof) error {
	if err := checkID(id); err != nil {
		return err
	}
	if _, err := r.Settle(ctx, id, true); err != nil {
		return cannotRemove(id, err)
	}
	s, err := r.lock(ctx)
	if err != nil {
		return cannotRemove(id, err)
	}
	defer s.unlock()
	return s.drop(ctx, id, proof)
}

func cannotRemove(id string, err error) error {
	return fmt.Errorf("cannot remove the worktree of %s: %w", id, err)
}

// ClearPlace moves away what git cannot read of a task that is over, and a folder in its place that is not a worktree: a loss of power may
// bring a part of a removed one back. It reports whether there was such a thing, so that Remove may go on.
func (r *Repo) ClearPlace(ctx context.Context, id string, proof Proof) bool {
	path := r.WorktreePath(id)
	info, err := os.Lstat(path)
	if checkID(id) != nil || err != nil || !info.IsDir() {
		return false
	}
	if aside, err := r.SetAside(ctx, id, []string{proof.Integration, proof.Base}, info.ModTime()); err != nil || aside.Path != "" || r.adminAt(path) != "" {
		return err == nil && aside.Path != ""
	}
	s, err := r.lock(ctx)
	if err != nil {
		return false
	}
	defer s.unlock()
	return r.adminAt(path) == "" && (s.emptyShell(path) || s.moveAside(id, s.lostPath(id, info.ModTime()), false) == nil)
}

func (s *session) drop(ctx context.Context, id string, proof Proof) error {
	fail := func(err error) error { return cannotRemove(id, err) }
	path := s.WorktreePath(id)
	held, err := s.holding(ctx, id, path)
	if err != nil {
		return fail(err)
	}
	if err := s.branchFree(ctx, id, path); err != nil {
		return fail(err)
	}
	if held.entry != nil && held.entry.Locked && claimOf(held.entry.LockReason, id) == "" {
		return fail(fmt.Errorf("it is locked (%s); unlock it with git worktree unlock %s", cmp.Or(held.entry.LockReason, "no reason is given"), filepath.Join(worktreesDir, id)))
	}
	lost, err := s.unsaved(ctx, id, held, proof)
	if err != nil {
		return fail(err)
	}
	if len(lost) > 0 {
		return &UnsavedError{ID: id, Lost: lost}
	}
	if err := s.dropFolder(ctx, path, held.entry); err != nil {
		return fail(err)
	}
	if held.tip == "" {
		return nil
	}
	if err := s.deleteRef(ctx, branches+TaskBranch(id), held.tip); err != nil {
		return fail(err)
	}
	return nil
}

// unsaved lists the work that is neither in the integration branch nor in the attic.
func (s *session) unsaved(ctx context.Context, id string, held holding, proof Proof) ([]string, error) {
	all, err := s.AtticRefs(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.verify(ctx, all, proof); err != nil {
		return nil, err
	}
	var lost []string
	for _, commit := range held.commits() {
		count, err := s.beyond(ctx, commit, proof, all)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			lost = append(lost, s.describe(ctx, commit, count))
		}
	}
	if _, saved := held.savedIn(all); held.changed() && !saved {
		lost = append(lost, held.dirty...)
	}
	return append(lost, held.nested...), nil
}

// verify makes sure that everything which the attic is trusted to hold can be read.
func (s *session) verify(ctx context.Context, all []Attic, proof Proof) error {
	if len(all) == 0 {
		return nil
	}
	args := []string{"rev-list", "--objects", "--quiet"}
	for _, one := range all {
		args = append(args, one.Commit)
	}
	if proof.Integration != "" {
		args = append(args, "^"+proof.Integration)
	}
	_, err := s.read(ctx, s.place.Root, append(args, "--")...)
	if failed, ok := errors.AsType[*Error](err); ok && !failed.lacks() {
		return fmt.Errorf("the attic is damaged: %w", err)
	} else if err != nil {
		return fmt.Errorf("cannot read the attic: %w", err)
	}
	return nil
}

// describe names commits for a person.
func (s *session) describe(ctx context.Context, commit string, count int) string {
	subject, err := s.read(ctx, s.place.Root, "log", "-1", "--no-show-signature", "--no-color", "--format=%s", commit)
	if err != nil {
		subject = "no subject"
	}
	noun := "commit"
	if count > 1 {
		noun = "commits"
	}
	return fmt.Sprintf("%d %s up to %.9s %q", count, noun, commit, strings.TrimSpace(subject))
}

// branchFree refuses when another checkout than the one at path is on the branch of id.
func (s *session) branchFree(ctx context.Context, id, path string) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Branch == TaskBranch(id) && !one.Prunable && one.Path != path && one.Path != realPath(path) {
			return fmt.Errorf("branch %s is checked out in %s; switch it to another branch", one.Branch, one.Path)
		}
	}
	return nil
}

// dropFolder removes a worktree's folder and git's entry of it, if they exist. It removes this one entry and never prunes:
// the entry of a person's worktree on a disk that is not mounted must stay.
func (s *session) dropFolder(ctx context.Context, path string, entry *Worktree) error {
	if entry == nil {
		return nil
	}
	admin := s.namedBy(entry.Path)
	return s.removeFolder(entry.Path, func() error {
		if admin != "" {
			return s.removeEntry(admin)
		}
		_, err := s.git(ctx, "worktree", "remove", "--force", "--force", entry.Path) // twice: also one with the lock of a claim
		return err
	})
}

// removeEntry removes git's folder of a worktree whose files are gone, as git worktree remove does, without its processes. A
// kill leaves the entry whole, or none: it is moved out of git's sight first.
func (s *session) removeEntry(admin string) error {
	aside := filepath.Join(s.place.CommonDir, "liza", removedMark+"entry")
	if err := safefile.RemoveTree(aside); err != nil {
		return err
	}
	if err := os.Rename(admin, aside); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(admin)) // if this was the last one
	return safefile.RemoveTree(aside)
}

// deleteBranch removes the task branch of id if its tip is reachable from another ref.
func (s *session) deleteBranch(ctx context.Context, id string) error {
	tip, err := s.tip(ctx, TaskBranch(id))
	if err != nil || tip == "" {
		return err
	}
	if _, err := s.treeOf(ctx, tip); err != nil {
		return err
	}
	ref := branches + TaskBranch(id)
	// A branch of a person that a loss of power has torn stops nothing.
	out, err := s.read(ctx, s.place.Root, "rev-list", "--ignore-missing", "--max-count=1", tip, "--not", "--exclude="+ref, "--all", "--")
	if err != nil || out != "" {
		return err
	}
	return s.deleteRef(ctx, ref, tip)
}

// CheckoutDetached makes a throw-away worktree at commit (specs/protocol.md#8.4): .worktrees/.check-ID or
// .worktrees/.review-ID, absolute or relative to the main checkout. It removes remainders of an earlier run there, and
// initialises submodules; warnings are failures of that.
func (r *Repo) CheckoutDetached(ctx context.Context, path, commit string) (warnings []string, err error) {
	fail := func(err error) ([]string, error) { return nil, fmt.Errorf("cannot check out %s: %w", commit, err) }
	path, err = r.scratch(path)
	if err != nil {
		return fail(err)
	}
	if err := plainRevs(commit); err != nil {
		return nil, err
	}
	if err := r.addScratch(ctx, path, commit); err != nil {
		return fail(err)
	}
	if err := r.keepPristine(path); err != nil {
		return fail(err)
	}
	return r.updateSubmodules(ctx, path)
}

func (r *Repo) addScratch(ctx context.Context, path, commit string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if err := s.dropScratch(ctx, path); err != nil {
		return err
	}
	if _, err := s.git(ctx, "worktree", "add", "--quiet", "--detach", path, commit); err != nil {
		return err
	}
	return s.registerSubmodules(ctx, path)
}

// RemoveDetached removes a throw-away worktree with its content. A missing one is not an error.
func (r *Repo) RemoveDetached(ctx context.Context, path string) error {
	path, err := r.scratch(path)
	if err != nil {
		return err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	return s.dropScratch(ctx, path)
}

// scratch refuses every path that is not that of a throw-away worktree.
func (r *runner) scratch(path string) (string, error) {
	path = absolute(r.place.Root, path)
	name := filepath.Base(path)
	throwAway := strings.HasPrefix(name, ".check-") || strings.HasPrefix(name, ".review-")
	if filepath.Dir(path) != r.WorktreesFolder() || !throwAway {
		return "", fmt.Errorf("%s is not a throw-away worktree", path)
	}
	return path, cmp.Or(linkAt(filepath.Dir(path)), linkAt(path))
}

func (s *session) dropScratch(ctx context.Context, path string) error {
	entry, err := s.registered(ctx, path)
	if err != nil {
		return err
	}
	removed := s.dropFolder(ctx, path, entry)
	// A killed add leaves a folder without entry or an entry without use; the folder holds nothing but a checkout.
	if err := safefile.RemoveTree(path); err != nil {
		return errors.Join(removed, err)
	}
	if removed != nil {
		if entry, err = s.registered(ctx, path); err == nil {
			return s.dropFolder(ctx, path, entry)
		}
	}
	return err
}
