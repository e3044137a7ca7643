package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Proposal names the two sides of the difference that a merge of commit into the branch at tip makes. As a rule they are
// the one merge base and commit; with several of those git merges them first, so the sides are tip and the merged tree.
func (r *Repo) Proposal(ctx context.Context, tip, commit string) (from, to string, err error) {
	if err := plainRevs(tip, commit); err != nil {
		return "", "", err
	}
	out, err := r.read(ctx, r.place.Root, "merge-base", "--all", tip, commit)
	if exitCode(err) == 1 {
		err = ErrNotFound
	}
	if err != nil {
		return "", "", about(fmt.Sprintf("a merge base of %s and %s", tip, commit), err)
	}
	if bases := strings.Fields(out); len(bases) == 1 {
		return bases[0], commit, nil
	}
	tree, err := r.MergeTree(ctx, tip, commit)
	if _, conflict := errors.AsType[*ConflictError](err); conflict {
		return tip, commit, nil
	}
	return tip, tree, err
}

// Undone lists the files in which to, the tree of a merge of commit, lacks what came onto the branch from fork to its
// later commit from, though the history of to has it.
func (r *Repo) Undone(ctx context.Context, fork, from, to, commit string) ([]string, error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("cannot compare %s with what was merged before: %w", commit, err)
	}
	fork, err := r.MergeBase(ctx, fork, from)
	if err != nil || fork == from {
		return nil, err
	}
	scratch, env, err := r.scratchObjects()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	// Merged once more with fork as the base, what to has of it stays as it is, and what it lacks comes back.
	tree, err := r.run(ctx, call{dir: r.place.Root, args: []string{"rev-parse", "--verify", "--end-of-options", to + "^{tree}"}})
	if err != nil {
		return fail(err)
	}
	without, err := r.run(ctx, call{dir: r.place.Root, args: []string{"commit-tree", strings.TrimSpace(tree), "-p", fork, "-m", "compared"}, write: true,
		env: append(slices.Clone(env), "GIT_AUTHOR_NAME=Liza", "GIT_AUTHOR_EMAIL=liza@localhost", "GIT_COMMITTER_NAME=Liza", "GIT_COMMITTER_EMAIL=liza@localhost")})
	if err != nil {
		return fail(err)
	}
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", strings.TrimSpace(without), from}, write: true, env: env})
	merged := fields(out)
	if err != nil && exitCode(err) != 1 || len(merged) == 0 {
		return fail(err)
	}
	conflicts := merged[1:]
	if out, err = r.run(ctx, call{dir: r.place.Root, args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", to, merged[0], "--"}, env: env}); err != nil {
		return fail(err)
	}
	undone := slices.DeleteFunc(fields(out), func(file string) bool { return slices.Contains(conflicts, file) })
	// Both sides changed the same lines: either what is there has both, or one side alone was kept.
	own, err := r.ownSide(ctx, from, to, commit, conflicts)
	if err != nil {
		return fail(err)
	}
	undone = append(undone, own...)
	slices.Sort(undone)
	return slices.Compact(undone), nil
}

// mergesLook is how many commits of a submission are looked at for merges.
const mergesLook = 1000

// ownSide lists those of some files that a merge on the way to commit left as they were on the own side, though the
// branch had changed them, and that are so in to.
func (r *Repo) ownSide(ctx context.Context, from, to, commit string, files []string) (own []string, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	commits, err := r.LogBetween(ctx, from, commit, mergesLook)
	if err != nil {
		return nil, err
	}
	isOwn := func(hash string) bool {
		return slices.ContainsFunc(commits, func(c Logged) bool { return c.Hash == hash })
	}
	for _, merge := range commits {
		if len(merge.Parents) < 2 {
			continue
		}
		for _, mine := range merge.Parents {
			for _, theirs := range merge.Parents {
				if !isOwn(mine) || isOwn(theirs) {
					continue
				}
				kept, err := r.kept(ctx, mine, theirs, to, files)
				if err != nil {
					return nil, err
				}
				own = append(own, kept...)
			}
		}
	}
	return own, nil
}

// kept lists those of some files that are in to as in mine, although theirs has them otherwise than the commit where
// both parted.
func (r *Repo) kept(ctx context.Context, mine, theirs, to string, files []string) (list []string, err error) {
	base, err := r.MergeBase(ctx, mine, theirs)
	if err != nil {
		return nil, err
	}
	changed, err := r.ChangedFiles(ctx, base, theirs)
	if err != nil {
		return nil, err
	}
	later, err := r.ChangedFiles(ctx, mine, to)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if touches(changed, file) && !touches(later, file) {
			list = append(list, file)
		}
	}
	return list, nil
}

func touches(changes []Change, file string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Path == file || c.OldPath == file })
}

// A Merged is a commit of the branch itself that changed some files.
type Merged struct {
	Commit string
	Task   string // of its trailer Liza-Task; "" without one
	Files  []string
}

// MergesOf lists, from the newest, the commits of the branch itself from fork to tip that changed one of the files.
func (r *Repo) MergesOf(ctx context.Context, fork, tip string, files ...string) (list []Merged, err error) {
	if err := plainRevs(fork, tip); err != nil {
		return nil, err
	}
	args := append([]string{"log", "--first-parent", "-m", "--no-renames", "--no-show-signature", "--name-only", "-z",
		"--format=%x01%H %(trailers:key=Liza-Task,valueonly,separator=%x2C)", tip, "^" + fork, "--"}, files...)
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: []string{"GIT_LITERAL_PATHSPECS=1"}})
	if err != nil {
		return nil, fmt.Errorf("cannot read the commits between %s and %s: %w", fork, tip, err)
	}
	for _, part := range strings.Split(out, "\x00") {
		part = strings.TrimLeft(part, "\n")
		if head, is := strings.CutPrefix(part, "\x01"); is {
			commit, task, _ := strings.Cut(head, " ")
			list = append(list, Merged{Commit: commit, Task: strings.TrimSpace(task)})
		} else if part != "" && len(list) > 0 {
			list[len(list)-1].Files = append(list[len(list)-1].Files, part)
		}
	}
	return list, nil
}

// scratchObjects is a folder for what git writes while it only looks, and the variables that lead it there.
func (r *Repo) scratchObjects() (folder string, env []string, err error) {
	folder, err = scratchFolder()
	return folder, []string{
		"GIT_OBJECT_DIRECTORY=" + folder,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strconv.Quote(filepath.Join(r.place.CommonDir, "objects")),
	}, err
}

// ScratchObjects begins the names of the folders for objects that are thrown away, in the folder for temporary files. The
// process that uses one follows.
const ScratchObjects = "liza-objects-"

func scratchFolder() (string, error) {
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", ScratchObjects, os.Getpid()))
}
