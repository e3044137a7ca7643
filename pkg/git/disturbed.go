package git

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"liza/pkg/safefile"
)

// pristine is the index of a throw-away worktree as its checkout left it, kept beside the one that commands may write.
const pristine = "liza-pristine-index"

func (r *Repo) keepPristine(path string) error {
	admin := r.adminDir(path)
	if admin == "" {
		return fmt.Errorf("%s is not a worktree of this repository", path)
	}
	return copyIndex(filepath.Join(admin, "index"), filepath.Join(admin, pristine))
}

// Changed lists the tracked files of a throw-away worktree that differ from the commit that was checked out, each with a
// text that differs when its content or mode does.
func (r *Repo) Changed(ctx context.Context, path string) (map[string]string, error) {
	admin := r.adminDir(path)
	if admin == "" {
		return nil, fmt.Errorf("%s is not a worktree of this repository any more", path)
	}
	out, err := r.run(ctx, call{dir: path, env: []string{"GIT_INDEX_FILE=" + filepath.Join(admin, pristine)},
		args: []string{"-c", "diff.autoRefreshIndex=true", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty"}})
	if err != nil {
		return nil, fmt.Errorf("cannot compare %s with its commit: %w", path, err)
	}
	changed := map[string]string{}
	for _, name := range fields(out) {
		changed[name] = fingerprint(filepath.Join(path, name))
	}
	return changed, nil
}

func fingerprint(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "gone"
	}
	text := info.Mode().String()
	if target, err := os.Readlink(path); err == nil {
		return text + " " + target
	}
	if data, err := safefile.Read(path); err == nil {
		text += fmt.Sprintf(" %x", sha256.Sum256(data))
	}
	return text
}

// Disturbed is what changed between two answers of Changed: files that differ now in another
// way than at first, or no longer.
func Disturbed(first, now map[string]string) map[string]string {
	changed := maps.Clone(now)
	for name, was := range first {
		if is, still := now[name]; !still {
			changed[name] = "as committed"
		} else if is == was {
			delete(changed, name)
		}
	}
	return changed
}
