package git

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Who makes Liza's own commits where git's configuration does not say who commits.
const (
	fallbackName  = "Liza"
	fallbackEmail = "liza@localhost"
)

// Identity is the person whose commits the configuration says that these are. What it does not
// say is "". Git takes $EMAIL for a configured address too.
func (r *Repo) Identity(ctx context.Context) (name, email string, err error) {
	all, err := r.settings(ctx, func(key string) bool { return key == "user.name" || key == "user.email" })
	if err != nil {
		return "", "", err
	}
	for _, one := range all {
		switch one[0] {
		case "user.name":
			name = one[1]
		case "user.email":
			email = one[1]
		}
	}
	if email != "" {
		return name, email, nil
	}
	for _, variable := range r.env {
		if value, ok := strings.CutPrefix(variable, "EMAIL="); ok {
			email = value
		}
	}
	return name, email, nil
}

// KnowsIdentity reports whether somebody has told git who commits here, by its configuration
// or by variables. A name that git would guess from the user's login and the machine's does not count.
func (r *Repo) KnowsIdentity(ctx context.Context) (bool, error) {
	name, email, err := r.Identity(ctx)
	if err != nil || name != "" && email != "" {
		return err == nil, err
	}
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		_, err := r.read(ctx, r.Root(), "-c", "user.useConfigOnly=true", "var", who)
		if _, refused := errors.AsType[*Error](err); refused {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// named runs a call that makes a commit, as the configured person or else as Liza. Git must not
// guess a person from the names of the user and the machine. Where a person has set
// user.useConfigOnly, that holds as well: Liza is not a guess.
func (r *Repo) named(ctx context.Context, c call, run func(context.Context, call) (string, error)) (string, error) {
	args := c.args
	if r.Mask != nil {
		c.stdin = r.Mask(c.stdin)
	}
	c.args = append([]string{"-c", "user.useConfigOnly=true"}, args...)
	out, err := run(ctx, c)
	failed, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(failed.Stderr, "Please tell me who you are") {
		return out, err
	}
	name, email, lost := r.Identity(ctx)
	if lost != nil {
		return out, err
	}
	if name == "" || email == "" { // half a name is nobody's
		name, email = fallbackName, fallbackEmail
	}
	c.args = slices.Concat([]string{"-c", "user.name=" + name, "-c", "user.email=" + email}, args)
	return run(ctx, c)
}

// settings are the key and the value of all that is configured under such keys, in git's order: a later one wins where
// there may be one only. git writes section and last part of a key in small letters.
func (r *Repo) settings(ctx context.Context, wanted func(key string) bool) ([][2]string, error) {
	o, err := r.configured(ctx, r.place.CommonDir, r.place.CommonDir)
	if err != nil {
		return nil, err
	}
	var all [][2]string
	for _, one := range o.all {
		if wanted(one[0]) {
			all = append(all, one)
		}
	}
	return all, nil
}
