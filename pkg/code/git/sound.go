package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"liza/pkg/base/prose"
)

// A Line is the line of commits of a task, for Unsound.
type Line struct {
	ID     string
	Commit string
	Known  []string // further commits that the work may be based on: its base, the integration branch; "" is skipped
}

// Unsound returns why a commit must not come onto the integration branch, or "": it brings commits that are not the task's
// own line, or git's own check refuses its commits and trees. The own line are the first parents down to known commits; a
// merge of the integration branch into the work brings nothing else.
//
// A commit is checked when it is taken over from a run, when it is submitted, and before it is merged; a result holds for
// descendants of the known commits, and is not computed again.
func (r *objects) Unsound(ctx context.Context, l Line) (string, error) {
	known := slices.DeleteFunc(slices.Clone(l.Known), func(rev string) bool { return rev == "" })
	if err := plainRevs(append(known, l.Commit)...); err != nil {
		return "", err
	}
	if beside, seen := r.answers.get(soundKey(l.Commit)); seen && r.goesOn(ctx, strings.Fields(beside), known) {
		return "", nil
	}
	var stray, broken string
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { stray, errs[0] = r.stray(ctx, l, known) })
	both.Go(func() { broken, errs[1] = r.broken(ctx, l.Commit, known) })
	both.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return "", fmt.Errorf("cannot look at the commits of %s: %w", l.ID, err)
	}
	if stray == "" && broken == "" {
		r.rememberSound(l.Commit, known)
	}
	return cmp.Or(stray, broken), nil
}

func (r *objects) rememberSound(commit string, known []string) {
	if isFullHash(commit) && !slices.ContainsFunc(known, func(rev string) bool { return !isFullHash(rev) }) {
		r.answers.put(soundKey(commit), strings.Join(known, " "))
	}
}

func soundKey(commit string) string { return "sound " + commit }

// goesOn reports whether each of the old commits is one of the new ones or an ancestor of one.
func (r *objects) goesOn(ctx context.Context, old, now []string) bool {
	for _, commit := range old {
		if further, err := r.Reaches(ctx, commit, now...); err != nil || !further {
			return false
		}
	}
	return true
}

// stray finds a commit that is not the task's own.
func (r *objects) stray(ctx context.Context, l Line, known []string) (string, error) {
	all, err := r.newCommits(ctx, l.Commit, known)
	return strayOf(all), err
}

// newCommits are the commits up to one that the known ones have not, the newest first, each with its parents.
func (r *objects) newCommits(ctx context.Context, commit string, known []string, env ...string) (all [][]string, err error) {
	args := append([]string{"rev-list", "--topo-order", "--parents", commit, "--not"}, known...)
	out, err := r.run(ctx, call{dir: r.place.Root, args: append(args, "--"), env: env})
	for line := range strings.Lines(out) {
		all = append(all, strings.Fields(line))
	}
	return all, err
}

// strayOf names a commit that is not on the line of first parents, "" when there is none. A neighbour's commit that the
// line itself is on is in the diff that is reviewed, so it is not a stray; one that came in by a merge may be in no diff.
func strayOf(all [][]string) string {
	parents := map[string][]string{}
	for _, c := range all {
		parents[c[0]] = c[1:]
	}
	own := map[string]bool{}
	newest := ""
	if len(all) > 0 {
		newest = all[0][0]
	}
	for at := newest; at != "" && parents[at] != nil; {
		if own[at] = true; len(parents[at]) == 0 {
			break
		}
		at = parents[at][0]
	}
	for _, c := range all {
		if !own[c[0]] {
			return fmt.Sprintf("commit %.9s came in by a merge and is not on the integration branch; merge nothing else into the task's branch", c[0])
		}
	}
	return ""
}

const unsoundObjects = "git's check of its commits and trees: "

// broken lets git check the new commits and trees, as it checks a push. It omits files: except for git's own ones they cannot
// be wrong. Git writes to a folder that is removed.
func (r *objects) broken(ctx context.Context, commit string, known []string) (string, error) {
	scratch, err := scratchFolder()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	// A file that cannot be read after a loss of power is in none of the commits and trees that are checked below.
	if why, err := r.torn(ctx, known, commit); err != nil || why != "" {
		return prose.After(unsoundObjects, why), err
	}
	input := commit + "\n"
	for _, rev := range known {
		input += "^" + rev + "\n"
	}
	pack, err := r.run(ctx, call{dir: r.place.Root, stdin: input,
		args: []string{"pack-objects", "--quiet", "--stdout", "--revs", "--filter=blob:none", "--missing=error"}})
	if err != nil {
		return unsoundBy("pack-objects", err)
	}
	_, err = r.run(ctx, call{dir: r.place.Root, stdin: pack, args: []string{"index-pack", "--strict", "--stdin"}, env: []string{
		"GIT_OBJECT_DIRECTORY=" + scratch,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strconv.Quote(filepath.Join(r.place.CommonDir, "objects")),
	}})
	return unsoundBy("index-pack", err)
}

// unsoundBy returns git's complaint about the objects. An error because of too little memory or space, or of another command,
// says nothing about them.
func unsoundBy(command string, err error) (string, error) {
	why, err := damage(command, err)
	if why != "" {
		why = unsoundObjects + why
	}
	return why, err
}
