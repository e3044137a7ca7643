package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The author of Liza's own commits if git's configuration names none.
const (
	fallbackName  = "Liza"
	fallbackEmail = "liza@localhost"
)

// Identity returns the author of commits by the configuration, or "" for missing parts. Git takes $EMAIL for a configured
// address too.
func (r *runner) Identity(ctx context.Context) (name, email string, err error) {
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
	return name, r.variable("EMAIL"), nil
}

// KnowsIdentity reports whether git's configuration, or variables, name the author of commits here. A name that git would
// guess from the names of user and machine does not count.
func (r *runner) KnowsIdentity(ctx context.Context) (bool, error) {
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

// Habits are actions of the person's git at each commit that Liza's git does not perform.
type Habits struct {
	Signs bool     // commit.gpgsign
	Hooks []string // names of the present hooks
}

// Habits reads the configuration and the folder of hooks.
func (r *runner) Habits(ctx context.Context) (h Habits, err error) {
	all, err := r.settings(ctx, func(key string) bool {
		return key == "commit.gpgsign" || key == "core.hookspath"
	})
	if err != nil {
		return h, err
	}
	last := map[string]string{}
	for _, one := range all {
		if one[0] != "core.hookspath" || one[1] != os.DevNull { // that is what Liza's own commands get
			last[one[0]] = one[1]
		}
	}
	h.Signs = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(last["commit.gpgsign"]))
	dir := filepath.Join(r.place.CommonDir, "hooks")
	if path := last["core.hookspath"]; path != "" {
		if rest, inHome := strings.CutPrefix(path, "~/"); inHome {
			path = filepath.Join(r.variable("HOME"), rest)
		}
		dir = absolute(r.place.Root, path)
	}
	for _, name := range commitHooks {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			h.Hooks = append(h.Hooks, name)
		}
	}
	return h, nil
}

// commitHooks are the hooks of a person's commit, merge or push.
var commitHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge", "pre-push"}

// variable is the value of a variable of the environment that git commands get.
func (r *runner) variable(name string) (value string) {
	for _, pair := range r.env {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			value = text
		}
	}
	return value
}

// named runs a call that makes a commit, as the configured person or else as Liza. Git must not
// guess a person from the names of the user and the machine. Where a person has set
// user.useConfigOnly, that holds as well: Liza is not a guess.
func (r *runner) named(ctx context.Context, c call, run func(context.Context, call) (string, error)) (string, error) {
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
func (r *runner) settings(ctx context.Context, wanted func(key string) bool) ([][2]string, error) {
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
