package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	gogit "github.com/go-git/go-git/v5"
)

// Open opens the repository that dir belongs to. env holds variables ("NAME=value") that every git command gets besides
// the process's environment. Errors: ErrNoRepository, ErrBare, ErrVersion, or *Error when git refuses the repository.
func Open(ctx context.Context, dir string, env ...string) (*Repo, error) {
	r := &Repo{env: environment(env)}
	version := make(chan error, 1)
	go func() { version <- r.checkVersion(ctx) }() // two processes take as long as one
	place, err := Locate(dir)
	out := ""
	if err == nil {
		out, err = r.read(ctx, place.CommonDir, "rev-parse", "--is-bare-repository")
	}
	if old := <-version; old != nil {
		return nil, old
	}
	r.place = place
	if err != nil && place.CommonDir == "" {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the repository %s: %w", place.Root, err)
	}
	if out == "true\n" {
		return nil, fmt.Errorf("cannot use %s: %w", place.CommonDir, ErrBare)
	}
	return r, nil
}

func (r *Repo) checkVersion(ctx context.Context) error {
	out, err := r.read(ctx, "", "version")
	if err != nil {
		return err
	}
	version := strings.TrimSpace(strings.TrimPrefix(out, "git version "))
	if !recentEnough(version) {
		return fmt.Errorf("cannot use git %s: %w", version, ErrVersion)
	}
	return nil
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+)\.(\d+)`) })

// recentEnough reports whether git merges without a checkout (merge-tree --write-tree, since 2.38). A version that cannot
// be read is not.
func recentEnough(version string) bool {
	numbers := versionPattern().FindStringSubmatch(version)
	if numbers == nil {
		return false
	}
	major, err := strconv.Atoi(numbers[1])
	minor, err2 := strconv.Atoi(numbers[2])
	return errors.Join(err, err2) == nil && (major > 2 || major == 2 && minor >= 38)
}

// goGit opens the repository for reading without a process. It is opened again for each question (0.1 ms), because
// go-git lists the packs once. Opened at the common dir, it sees all refs and the HEAD of the main checkout.
func (r *Repo) goGit() (*gogit.Repository, error) {
	return gogit.PlainOpenWithOptions(r.place.CommonDir, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
}
