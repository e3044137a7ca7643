package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// MergeTree merges theirs into ours without a checkout and returns the tree (specs/protocol.md#8.2, M3). A *ConflictError
// lists the files with conflicts.
func (r *objects) MergeTree(ctx context.Context, ours, theirs string) (tree string, err error) {
	return r.mergeTree(ctx, ours, theirs, nil)
}

// TryMerge reports, like MergeTree, whether theirs merges into ours, without a trace: git writes to a folder that is removed.
// Commands that only read use it. If one contains the other no merge is made: git would renew the times of existing objects.
func (r *objects) TryMerge(ctx context.Context, ours, theirs string) error {
	if held, err := r.IsAncestor(ctx, ours, theirs); err == nil && held {
		return nil
	}
	if r.apart(ctx, ours, theirs) {
		return nil
	}
	scratch, env, err := r.scratchObjects()
	if err != nil {
		return fmt.Errorf("cannot try to merge %s into %s: %w", theirs, ours, err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	_, err = r.mergeTree(ctx, ours, theirs, env)
	return err
}

func (r *objects) mergeTree(ctx context.Context, ours, theirs string, env []string) (tree string, err error) {
	if err := plainRevs(ours, theirs); err != nil {
		return "", err
	}
	out, err := r.run(ctx, call{
		dir:   r.place.Root,
		args:  []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs},
		env:   env,
		write: true,
	})
	parts := fields(out)
	if exitCode(err) == 1 && len(parts) > 0 && isFullHash(parts[0]) {
		return "", &ConflictError{Files: parts[1:]}
	}
	if err != nil {
		return "", fmt.Errorf("cannot merge %.9s into %.9s: %w", theirs, ours, err)
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("cannot merge %.9s into %.9s: git named no tree", theirs, ours)
	}
	return strings.TrimSpace(parts[0]), nil
}

// CommitTree makes a commit without a ref. Author and committer are those of git's configuration, else Liza <liza@localhost>.
func (r *objects) CommitTree(ctx context.Context, tree string, parents []string, message string) (string, error) {
	return r.commitTree(ctx, call{}, tree, parents, message)
}

// CommitMerge is CommitTree for commits of the integration branch: with Sign they are signed with the person's key.
func (r *objects) CommitMerge(ctx context.Context, tree string, parents []string, message string) (string, error) {
	if !r.Sign {
		return r.CommitTree(ctx, tree, parents, message)
	}
	commit, err := r.signedTree(ctx, nil, tree, parents, message)
	if err != nil {
		return "", &signError{err}
	}
	return commit, nil
}

// TrySign makes a signed commit and throws it away.
func (r *objects) TrySign(ctx context.Context) error {
	scratch, env, err := r.scratchObjects()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	_, err = r.signedTree(ctx, env, "HEAD^{tree}", nil, "A try\n")
	return err
}

func (r *objects) signedTree(ctx context.Context, env []string, tree string, parents []string, message string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, signTime, errUnsigned)
	defer cancel()
	// Nobody sits at the terminal of a team: a passphrase is asked for by the person's askpass program, or not at all.
	signed := call{args: []string{"--gpg-sign"}, env: append(env, "SSH_ASKPASS_REQUIRE=force")}
	return r.commitTree(ctx, signed, tree, parents, message)
}

const signTime = time.Minute

var errUnsigned = errors.New("no signature within a minute; git may be waiting for a passphrase elsewhere")

// commitTree makes a commit with the options and variables of c.
func (r *objects) commitTree(ctx context.Context, c call, tree string, parents []string, message string) (string, error) {
	if err := plainRevs(append([]string{tree}, parents...)...); err != nil {
		return "", err
	}
	args := slices.Concat([]string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree"}, c.args, []string{tree, "-F", "-"})
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	out, err := r.named(ctx, call{dir: r.place.Root, args: args, env: c.env, stdin: message, write: true}, r.run)
	if err != nil {
		return "", fmt.Errorf("cannot make a commit: %w", err)
	}
	return strings.TrimSpace(out), nil
}

// UpdateRef moves a ref from old to new by compare-and-swap, under git.lock; ErrRefMoved if it is not at old. With old "" the
// ref must not exist. A symbolic ref becomes an ordinary one: its target does not move.
func (r *Repo) UpdateRef(ctx context.Context, ref, new, old string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	return s.setRef(ctx, ref, new, old)
}

// MoveBranch moves a branch from old to new by compare-and-swap and deletes a ref that is at new, both or neither;
// ErrRefMoved if one of them is elsewhere. The ref may be missing.
func (r *Repo) MoveBranch(ctx context.Context, branch, new, old, ref string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if err := refName(ref); err != nil {
		return err
	}
	if err := refName(branches + branch); err != nil {
		return err
	}
	if err := plainRevs(new, old); err != nil {
		return err
	}
	moves := fmt.Sprintf("option no-deref\nupdate %s %s %s\n", branches+branch, new, old)
	if _, err := s.refValue(ctx, ref); err == nil {
		moves += fmt.Sprintf("option no-deref\ndelete %s %s\n", ref, new)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = s.change(ctx, call{dir: s.place.Root, args: []string{"update-ref", "-m", "liza", "--stdin"}, stdin: moves})
	return s.explainRef(ctx, "update", branches+branch, old, err)
}

// CreateBranch makes a local branch; ErrRefMoved if it exists.
func (r *Repo) CreateBranch(ctx context.Context, name, commit string) error {
	if !ValidBranchName(name) {
		return fmt.Errorf("cannot create branch %q: the name is not allowed", name)
	}
	return r.UpdateRef(ctx, branches+name, commit, "")
}

// DeleteRef deletes a ref that is at old; ErrRefMoved if it is elsewhere. A missing ref is not an error.
func (r *Repo) DeleteRef(ctx context.Context, ref, old string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	return s.deleteRef(ctx, ref, old)
}

// setRef is UpdateRef under the lock. Git's own lock decides; the value of the ref afterwards explains a refusal.
func (s *session) setRef(ctx context.Context, ref, new, old string) error {
	if err := refName(ref); err != nil {
		return err
	}
	if strings.Trim(old, "0") == "" {
		old = "" // "must not exist", in a repository of any kind of hash
	}
	// A branch that was made to lead to another one (git symbolic-ref) would take that with it: the main line of a person.
	_, err := s.git(ctx, "update-ref", "--no-deref", "-m", "liza", ref, new, old)
	if err != nil && s.clearBroken(ref, old) {
		_, err = s.git(ctx, "update-ref", "--no-deref", "-m", "liza", ref, new, "")
	}
	return s.explainRef(ctx, "update", ref, old, err)
}

// clearBroken takes away the file of a ref of which a loss of power has left no content, or the first part: git can neither read nor
// replace such a ref, which is at old for it (zeros for what is missing). Nothing is lost with it, and no git is at work on it: each writes
// beside the file and renames.
func (s *session) clearBroken(ref, old string) bool {
	path := filepath.Join(s.place.CommonDir, filepath.FromSlash(ref))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64 {
		return false
	}
	data, err := safefile.Read(path)
	text := strings.Trim(string(data), "\x00\n")
	seen := strings.TrimRight(text[:len(text)&^1], "0")
	return err == nil && !isFullHash(text) && strings.TrimRight(old, "0") == seen && os.Remove(path) == nil
}

func (s *session) deleteRef(ctx context.Context, ref, old string) error {
	if err := refName(ref); err != nil {
		return err
	}
	if strings.Trim(old, "0") == "" {
		return fmt.Errorf("cannot delete %s: its value is not given", ref)
	}
	if _, err := s.refValue(ctx, ref); errors.Is(err, ErrNotFound) {
		return nil
	}
	_, err := s.git(ctx, "update-ref", "--no-deref", "-d", ref, old)
	return s.explainRef(ctx, "delete", ref, old, err)
}

func (s *session) explainRef(ctx context.Context, verb, ref, old string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	now, lookErr := s.refValue(ctx, ref)
	if errors.Is(lookErr, ErrNotFound) {
		now, lookErr = "", nil
	}
	if lookErr == nil && now != old {
		return fmt.Errorf("cannot %s %s: it is at %.9s, not at %.9s: %w", verb, ref, orNone(now), orNone(old), ErrRefMoved)
	}
	return fmt.Errorf("cannot %s %s: %w", verb, ref, err)
}

func orNone(hash string) string {
	if hash == "" {
		return "no commit"
	}
	return hash
}

func refName(ref string) error {
	if !strings.HasPrefix(ref, "refs/") || !ValidBranchName(strings.TrimPrefix(ref, "refs/")) {
		return fmt.Errorf("%q is not a name of a ref", ref)
	}
	return nil
}
