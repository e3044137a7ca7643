package git

import (
	"context"
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

// Tracked lists the files below the paths that the main checkout's index has.
func (r *Repo) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	out, err := r.read(ctx, r.place.Root, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot list tracked files: %w", err)
	}
	return fields(out), nil
}
