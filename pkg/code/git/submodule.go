package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Git looks into each submodule with a git of its own, which obeys the configuration that it finds there. A run can put a
// repository anywhere, with filters that are programs: no command of Liza's may look into one that it has not made.

// A submodule is one that Liza has initialised in a worktree: its git folder is beside that of the worktree, out of reach of
// runs.
type submodule struct{ name, dir, git string }

// submodules returns the submodules of a worktree, with nested ones.
func (r *runner) submodules(path string) (all []submodule) {
	admin := r.adminDir(path)
	if admin == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	_ = filepath.WalkDir(filepath.Join(admin, "modules"), func(git string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || !isGitDir(git) {
			return nil // those of submodules in this one are in it
		}
		dir := absolute(git, readCore(git).worktree)
		name, err := filepath.Rel(real, dir)
		if err != nil || !filepath.IsLocal(name) || name == "." {
			return nil
		}
		at, err := filepath.EvalSymlinks(dir)
		if info, other := os.Lstat(filepath.Join(dir, ".git")); err == nil && at == dir && other == nil && info.Mode().IsRegular() {
			all = append(all, submodule{name, filepath.Join(path, name), git})
		}
		return nil
	})
	return all
}

// registerSubmodules enters the submodules of a new worktree in the configuration that all worktrees share, hence under the
// lock. updateSubmodules meets and reports the same errors again.
func (s *session) registerSubmodules(ctx context.Context, path string) error {
	if !exists(filepath.Join(path, ".gitmodules")) {
		return nil
	}
	known, err := s.knowsModules(ctx, path)
	if err == nil && known {
		_, err = s.change(ctx, call{dir: path, args: []string{"submodule", "--quiet", "init"}})
	}
	if _, failed := errors.AsType[*Error](err); failed {
		return nil
	}
	return err
}

// knowsModules reports whether a branch that is not of a task has the same .gitmodules as a checkout. In that of a task a run
// may have written any address, and git would fetch from there with the network and the keys of the person.
func (r *references) knowsModules(ctx context.Context, path string) (bool, error) {
	own, err := r.read(ctx, path, "rev-parse", "--verify", "--quiet", "HEAD:.gitmodules")
	if err != nil {
		return false, err
	}
	refs, err := r.refsIn(ctx, branches, "refs/remotes/")
	if err != nil {
		return false, err
	}
	tips := map[string]bool{}
	for name, commit := range refs {
		if !strings.HasPrefix(name, branches+"task/") {
			tips[commit+":.gitmodules\n"] = true
		}
	}
	out, err := r.run(ctx, call{dir: r.place.Root, stdin: strings.Join(slices.Collect(maps.Keys(tips)), ""), args: []string{"cat-file", "--batch-check=%(objectname)"}})
	return slices.Contains(strings.Split(out, "\n"), strings.TrimSpace(own)), err
}

// updateSubmodules clones the registered submodules into the worktree's own administrative folder, from the addresses in the
// repository's configuration. A failure is a warning: the work may not need them.
func (r *references) updateSubmodules(ctx context.Context, path string) (warnings []string, err error) {
	if !exists(filepath.Join(path, ".gitmodules")) {
		return nil, nil
	}
	o, err := r.configured(ctx, r.place.CommonDir, r.place.CommonDir)
	if err != nil {
		return nil, err
	}
	addresses := o.effective()
	update := call{dir: path, write: true, env: []string{"GIT_LITERAL_PATHSPECS=1"}, args: []string{"submodule", "--quiet", "update", "--recursive", "--"}}
	fixed := len(update.args)
	out, err := r.read(ctx, path, "config", "--file", filepath.Join(path, ".gitmodules"), "-z", "--get-regexp", `^submodule\..*\.path$`)
	if exitCode(err) == 1 {
		err = nil // none
	}
	for _, line := range fields(out) {
		key, at, _ := strings.Cut(line, "\n")
		name := strings.TrimSuffix(key, ".path")
		switch address := addresses[name+".url"]; {
		case address != "" && r.copySubmodule(ctx, path, name, at, address):
		case address != "":
			update.args = append(update.args, at)
		default:
			warnings = append(warnings, fmt.Sprintf("the submodule %s is not initialised: it is new, and a person decides where code comes from; next: git submodule init, once it is on the integration branch", showPath(at)))
		}
	}
	if err == nil && len(update.args) > fixed {
		_, err = r.run(ctx, update)
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return append(warnings, fmt.Sprintf("submodules are not initialised: %v", failed)), nil
	}
	return warnings, err
}

// copySubmodule makes a submodule of a worktree from the git folder that the repository has of it, if the commit is there: neither a network nor
// a login is needed. What comes of it names the same address as any other.
func (r *references) copySubmodule(ctx context.Context, path, key, at, address string) bool {
	name := strings.TrimPrefix(key, "submodule.")
	local := filepath.Join(r.place.CommonDir, "modules", name)
	if !filepath.IsLocal(name) || strings.Contains(name, "=") || !isGitDir(local) {
		return false
	}
	entry, err := r.read(ctx, path, "ls-tree", "HEAD", "--", at)
	fields := strings.Fields(entry)
	if err != nil || len(fields) < 3 {
		return false
	}
	if _, err := r.read(ctx, "", "--git-dir="+local, "cat-file", "-e", fields[2]+"^{commit}"); err != nil {
		return false
	}
	_, err = r.run(ctx, call{dir: path, write: true, env: []string{"GIT_LITERAL_PATHSPECS=1", "GIT_ALLOW_PROTOCOL=file"}, config: []string{"-c", key + ".url=" + local}, args: []string{"submodule", "--quiet", "update", "--", at}})
	if err == nil {
		_, err = r.read(ctx, path, "config", "--file", filepath.Join(r.adminDir(path), "modules", name, "config"), "remote.origin.url", address)
	}
	return err == nil
}

// showPath is a path as people and agents may read it: control characters never reach a terminal or split a line.
func showPath(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

var lfsObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^lfs/objects/([0-9a-f]{2})/([0-9a-f]{2})/([0-9a-f]{64})$`)
})

// takeLarge moves the large files that git-lfs keeps beside the objects of a git folder to those of the repository. The hash
// of the content names each, so it verifies them; it leaves a file with another content.
func (r *runner) takeLarge(ctx context.Context, from private) (why string, err error) {
	if _, err := from.root.Lstat("lfs/objects"); err != nil {
		return "", nil
	}
	common := r.place.CommonDir
	o, err := r.configured(ctx, common, common)
	if err != nil {
		return "", err
	}
	store := filepath.Join(absolute(common, "lfs"), "objects")
	if own := o.effective()["lfs.storage"]; own != "" {
		store = filepath.Join(absolute(common, own), "objects")
	}
	seen, room := 0, r.mostTaken()
	err = fs.WalkDir(from.root.FS(), "lfs/objects", func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > mostFiles || ctx.Err() != nil {
			return errors.Join(ctx.Err(), fs.SkipAll)
		}
		parts := lfsObject().FindStringSubmatch(name)
		if err != nil || e.IsDir() || parts == nil || parts[3][:2] != parts[1] || parts[3][2:4] != parts[2] {
			return nil
		}
		to := filepath.Join(store, parts[1], parts[2], parts[3])
		if exists(to) {
			return nil
		}
		n, err := from.takeFile(name, to, parts[3], room)
		if room -= n; room < 0 {
			return oddError{fmt.Sprintf("it has more than %d MB of large files", r.mostTaken()>>20)}
		}
		return err
	})
	return oddOr(err)
}

// takeFile copies a file whose content has that hash.
func (p private) takeFile(name, to, hash string, room int64) (int64, error) {
	from, err := p.open(name)
	if err != nil {
		return 0, nil
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(to), ".liza-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(from, room+1))
	if err := errors.Join(err, file.Chmod(0o444), file.Close()); err != nil || hex.EncodeToString(sum.Sum(nil)) != hash {
		return n, err
	}
	return n, os.Rename(file.Name(), to)
}
