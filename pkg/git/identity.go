package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Identity is the person whose commits the configuration says that these are. What it does not
// say is "".
func (r *Repo) Identity(ctx context.Context) (name, email string, err error) {
	if name, err = r.setting(ctx, "user.name"); err != nil {
		return "", "", err
	}
	email, err = r.setting(ctx, "user.email")
	return name, email, err
}

func (r *Repo) setting(ctx context.Context, key string) (string, error) {
	out, err := r.read(ctx, r.Root(), "config", "--get", key)
	if failed, ok := errors.AsType[*Error](err); ok && failed.ExitCode == 1 {
		return "", nil // not set
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the git setting %s: %w", key, err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}
