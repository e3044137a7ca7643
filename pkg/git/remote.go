package git

import (
	"context"
	"fmt"
	"strings"
)

// RemoteURL is the address of a remote as it is configured, "" when there is none.
func (r *Repo) RemoteURL(ctx context.Context, remote string) (string, error) {
	found, err := r.settings(ctx, func(key string) bool { return key == "remote."+remote+".url" })
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[len(found)-1][1], nil
}

// Pushed reports which of the commits a branch of the remote has, as far as this repository knows.
func (r *Repo) Pushed(ctx context.Context, remote string, commits []string) (map[string]bool, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	if err := plainRevs(commits...); err != nil {
		return nil, err
	}
	args := append([]string{"rev-list"}, commits...)
	out, err := r.read(ctx, r.place.Root, append(args, "--not", "--remotes="+remote)...)
	if err != nil {
		return nil, fmt.Errorf("cannot look which commits were pushed to %s: %w", remote, err)
	}
	pushed := map[string]bool{}
	for _, c := range commits {
		pushed[c] = true
	}
	for c := range strings.FieldsSeq(out) {
		delete(pushed, c)
	}
	return pushed, nil
}
