package git

import (
	"context"
	"fmt"
	"strings"
)

// Uncontained lists those of the commits that head does not contain, missing ones included. It
// asks git a handful of times, however many commits there are: a board may have thousands of
// merges. A watcher that asks again and again pays for what is new.
func (r *Repo) Uncontained(ctx context.Context, commits []string, head string) ([]string, error) {
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

// advance makes head the one that is remembered. What was remembered stays when head goes on
// from there; merges of Liza are found on the first-parent line.
func (c *contained) advance(ctx context.Context, r *Repo, head string) error {
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
func (r *Repo) askContained(ctx context.Context, commits []string, head string) (lost []string, err error) {
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

// resolveAll is the full name of each commit, "" for what names none, in one run of git.
func (r *Repo) resolveAll(ctx context.Context, revs []string) (map[string]string, error) {
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
