package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Branches lists the local branches below a folder of names: "task" gives task/a, task/b.
func (r *Repo) Branches(ctx context.Context, folder string) ([]string, error) {
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname)", branches+folder+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %s: %w", folder, err)
	}
	var names []string
	for line := range strings.Lines(out) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), branches))
	}
	return names, nil
}

// Uncontained lists those of the commits that head does not contain, missing ones included. It asks once for all of
// them: a board may have thousands of merges.
func (r *Repo) Uncontained(ctx context.Context, commits []string, head string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	given := map[string]string{} // full name → as it was given
	var lost, there []string
	for _, commit := range commits {
		full, err := r.Resolve(ctx, commit)
		switch {
		case errors.Is(err, ErrNotFound):
			lost = append(lost, commit)
		case err != nil:
			return nil, err
		default:
			given[full] = commit
			there = append(there, full)
		}
	}
	if len(there) == 0 {
		return lost, nil
	}
	input := strings.Join(there, "\n") + "\n^" + head + "\n"
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"rev-list", "--stdin"}, stdin: input})
	if err != nil {
		return nil, fmt.Errorf("cannot compare commits with %s: %w", head, err)
	}
	for hash := range strings.FieldsSeq(out) {
		if commit, asked := given[hash]; asked {
			lost = append(lost, commit)
		}
	}
	return lost, nil
}

// Tracked lists the files below the paths that the main checkout's index has.
func (r *Repo) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	out, err := r.read(ctx, r.place.Root, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot list tracked files: %w", err)
	}
	return fields(out), nil
}
