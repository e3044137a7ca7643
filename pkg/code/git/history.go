package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// walkLimit is how many commits are read without a process. Past it git is faster: it has the commit graph.
const walkLimit = 200

// olderLimit is how many commits older than the one that is looked for are read before git is asked: a walk to the end of a
// long history costs more than a process.
const olderLimit = 10

var errFar = errors.New("not found among the nearest commits")

// IsAncestor reports whether commit a is b or an ancestor of b.
func (r *objects) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	key := "ancestor " + a + " " + b // that it is one stays true; that it is none ends with a fetch into a shallow repository
	full := isFullHash(a) && isFullHash(b)
	if _, seen := r.answers.get(key); seen && full {
		return true, nil
	}
	yes, err := r.isAncestor(ctx, a, b)
	if yes && full {
		r.answers.put(key, "yes")
	}
	return yes, err
}

func (r *objects) isAncestor(ctx context.Context, a, b string) (bool, error) {
	if f, err := r.forkOf(ctx, a, b); err == nil {
		if all := f.bases(); len(all) == 1 {
			return all[0] == a, nil
		}
	}
	if err := plainRevs(a, b); err != nil {
		return false, err
	}
	_, err := r.read(ctx, r.place.Root, "merge-base", "--is-ancestor", a, b)
	switch exitCode(err) {
	case 0:
		return true, nil
	case 1:
		return false, nil
	}
	return false, fmt.Errorf("cannot compare commits %.9s and %.9s: %w", a, b, err)
}

// MergeBase returns the best common ancestor of two commits, or ErrNotFound.
func (r *objects) MergeBase(ctx context.Context, a, b string) (string, error) {
	if err := plainRevs(a, b); err != nil {
		return "", err
	}
	if f, err := r.forkOf(ctx, a, b); err == nil {
		if all := f.bases(); len(all) == 1 {
			return all[0], nil
		}
	}
	out, err := r.read(ctx, r.place.Root, "merge-base", a, b)
	if exitCode(err) == 1 {
		err = ErrNotFound
	}
	if err != nil {
		return "", about(fmt.Sprintf("a merge base of %s and %s", a, b), err)
	}
	return strings.TrimSpace(out), nil
}

// CountBetween returns the number of commits in b that are not in a (a..b).
func (r *objects) CountBetween(ctx context.Context, a, b string) (int, error) {
	if err := plainRevs(a, b); err != nil {
		return 0, err
	}
	if f, err := r.forkOf(ctx, a, b); err == nil {
		return f.ahead(), nil
	}
	out, err := r.read(ctx, r.place.Root, "rev-list", "--count", b, "^"+a, "--")
	if err != nil {
		return 0, fmt.Errorf("cannot count the commits between %s and %s: %w", a, b, err)
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Logged is a commit of a history.
type Logged struct {
	Hash    string   `json:"commit"`
	Parents []string `json:"-"`
	Subject string   `json:"subject"`
}

// LogBetween returns the newest commits in b that are not in a, at most most, children before their parents.
func (r *objects) LogBetween(ctx context.Context, a, b string, most int) (list []Logged, err error) {
	if err := plainRevs(a, b); err != nil {
		return nil, err
	}
	out, err := r.read(ctx, r.place.Root, "log", "--topo-order", "--no-show-signature", "--format=%H%x00%P%x00%s", "-n", strconv.Itoa(most), b, "^"+a, "--")
	if err != nil {
		return nil, fmt.Errorf("cannot read the commits between %s and %s: %w", a, b, err)
	}
	for line := range strings.Lines(out) {
		if f := strings.SplitN(strings.TrimSpace(line), "\x00", 3); len(f) == 3 {
			list = append(list, Logged{Hash: f[0], Parents: strings.Fields(f[1]), Subject: f[2]})
		}
	}
	return list, nil
}

// FirstParentContaining returns the oldest commit on the first-parent line of head that contains commit: the one that merged
// it (specs/protocol.md#8.2, M1), or ErrNotFound if head does not contain it.
func (r *objects) FirstParentContaining(ctx context.Context, head, commit string) (string, error) {
	head, err := r.Resolve(ctx, head)
	if err != nil {
		return "", err
	}
	if commit, err = r.Resolve(ctx, commit); err != nil {
		return "", err
	}
	contained, err := r.IsAncestor(ctx, commit, head)
	if err != nil {
		return "", err
	}
	if !contained {
		return "", fmt.Errorf("commit %s in %s %w", commit, head, ErrNotFound)
	}
	line, err := r.read(ctx, r.place.Root, "rev-list", "--first-parent", head, "^"+commit, "--")
	if err != nil {
		return "", fmt.Errorf("cannot read the history of %s: %w", head, err)
	}
	descendants, err := r.read(ctx, r.place.Root, "rev-list", "--ancestry-path", head, "^"+commit, "--")
	if err != nil {
		return "", fmt.Errorf("cannot read the history of %s: %w", head, err)
	}
	contains := map[string]bool{}
	for hash := range strings.FieldsSeq(descendants) {
		contains[hash] = true
	}
	oldest := ""
	for hash := range strings.FieldsSeq(line) { // newest first: those that contain commit come before those that do not
		if !contains[hash] {
			return oldest, nil
		}
		oldest = hash
	}
	// The whole line contains commit, so it reaches commit itself, unless commit is a root beside it.
	if oldest == "" {
		return commit, nil
	}
	parent, err := r.Resolve(ctx, oldest+"^1")
	if err == nil && parent == commit {
		return commit, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	return oldest, nil
}

// Reaches reports whether one of the heads is commit or a descendant of it.
func (r *objects) Reaches(ctx context.Context, commit string, heads ...string) (bool, error) {
	heads = slices.DeleteFunc(slices.Clone(heads), func(h string) bool { return h == "" })
	for _, h := range heads {
		if yes, err := r.IsAncestor(ctx, commit, h); err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

// Uncontained returns the commits that head does not contain, missing ones included. It runs git a handful of times, however
// many commits there are: a board may have thousands of merges. Repeated calls pay only for new commits.
func (r *objects) Uncontained(ctx context.Context, commits []string, head string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	r.contained.mu.Lock()
	defer r.contained.mu.Unlock()
	if err := r.contained.advance(ctx, r, head); err != nil {
		return nil, err
	}
	var open []string
	for _, commit := range commits {
		if !r.contained.commits[commit] {
			open = append(open, commit)
		}
	}
	return r.askContained(ctx, open, head)
}

// advance makes head the cached one. Cached results stay valid if head is a descendant of the former one; merges of Liza are
// found on the first-parent line.
func (c *contained) advance(ctx context.Context, r *objects, head string) error {
	if c.head == head {
		return nil
	}
	if c.head != "" {
		if further, err := r.IsAncestor(ctx, c.head, head); err != nil || !further {
			c.head = "" // it may be gone altogether; what it contained says nothing about head
		}
	}
	args := []string{"rev-list", "--first-parent", head}
	if c.head == "" {
		c.commits = map[string]bool{}
	} else {
		args = append(args, "^"+c.head)
	}
	c.head = ""
	line, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return fmt.Errorf("cannot read the history of %s: %w", head, err)
	}
	for hash := range strings.FieldsSeq(line) {
		c.commits[hash] = true
	}
	c.head = head
	return nil
}

// askContained is Uncontained for commits of which nothing is known yet, and remembers those
// that are contained.
func (r *objects) askContained(ctx context.Context, commits []string, head string) (lost []string, err error) {
	if len(commits) == 0 {
		return nil, nil
	}
	full, err := r.resolveAll(ctx, commits)
	if err != nil {
		return nil, err
	}
	var input strings.Builder
	for _, commit := range commits {
		if full[commit] != "" {
			fmt.Fprintln(&input, full[commit])
		}
	}
	outside := map[string]bool{}
	if input.Len() > 0 {
		fmt.Fprintf(&input, "^%s\n", head)
		out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"rev-list", "--stdin"}, stdin: input.String()})
		if err != nil {
			return nil, fmt.Errorf("cannot compare commits with %s: %w", head, err)
		}
		for hash := range strings.FieldsSeq(out) {
			outside[hash] = true
		}
	}
	for _, commit := range commits {
		if full[commit] == "" || outside[full[commit]] {
			lost = append(lost, commit)
		} else if commit == full[commit] { // what is short may name something else one day
			r.contained.commits[commit] = true
		}
	}
	return lost, nil
}

// resolveAll returns the full name of each commit, or "" for a name of none, in one run of git.
func (r *objects) resolveAll(ctx context.Context, revs []string) (map[string]string, error) {
	full := map[string]string{}
	var asked []string
	var input strings.Builder
	for _, rev := range revs {
		if plainRev(rev) {
			asked = append(asked, rev)
			fmt.Fprintf(&input, "%s^{commit}\n", rev)
		}
	}
	if len(asked) == 0 {
		return full, nil
	}
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: input.String()})
	if err != nil {
		return nil, fmt.Errorf("cannot look for %d commits: %w", len(asked), err)
	}
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(asked) {
		return nil, fmt.Errorf("cannot look for commits: %d asked for, %d answers", len(asked), len(answers))
	}
	for i, answer := range answers {
		if hash, found := strings.CutSuffix(answer, " commit"); found {
			full[asked[i]] = hash
		}
	}
	return full, nil
}
