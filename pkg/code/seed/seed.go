// Package seed keeps what worktree.setup made once, for all worktrees with the same lock files.
//
// A seed is what setup left in a fresh checkout of the integration branch and git does not track. Its [Key] names what setup read. It
// lies in a folder that no run sees, [Store.Keep] copies it there and [Store.Lay] from there, as reflinks where the file system has them:
// no file of a seed has an inode that a run has written or can write.
//
// A folder of a seed is complete or has another name: it is made under the name making, and removed under a name that begins with gone-.
// Its flock is shared by those who lay it, and exclusive for who removes it. There is one maker at a time, which its caller sees to.
package seed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
)

// locks are the names of files that pin dependencies.
var locks = []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "deno.lock", "uv.lock", "poetry.lock", "Pipfile.lock",
	"requirements*.txt", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock"}

// Key names what setup reads: the lock files among the files of a commit, or those that match one of named, its commands with the files that
// they name, what git ignores, and the platform. Without any such file there is no key, "".
func Key(files []git.Listed, setup, named []string, platform string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "1\x00%q\x00%q\x00", setup, platform)
	words := map[string]bool{}
	for _, command := range setup {
		for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>=$", r) }) {
			words[path.Clean(word)] = true
		}
	}
	found := false
	files = slices.SortedFunc(slices.Values(files), func(a, b git.Listed) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range files {
		pins := false
		if len(named) > 0 {
			pins = matches(named, f.Path)
		} else {
			pins = matches(locks, path.Base(f.Path))
		}
		if found = found || pins; pins || words[f.Path] || path.Base(f.Path) == ".gitignore" {
			fmt.Fprintf(sum, "%s\x00%s\x00", f.Path, f.Object)
		}
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))[:keyLength]
}

const keyLength = 24

// installs is a command that puts the versions in place that a lock file pins, and reads nothing else of the tree.
var installs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(yarn( -[^ |&;<>$` + "`" + `()]*)*|((npm|pnpm|yarn|bun|deno) (ci|install|i)|corepack enable|uv sync|uv venv|python3? -m venv|(uv |python3? -m |\S*/)?pip3? install -r|(poetry|pipenv) (install|sync)|cargo fetch|go mod (download|vendor)|(bundle|composer) install)( [^|&;<>$` + "`" + `()]*)?)$`)
})

// Installs reports whether setup only installs what lock files pin. What else it may do, such as to build from sources, other files decide:
// then a person has to name those.
func Installs(setup []string) bool {
	for _, command := range setup {
		for _, part := range strings.FieldsFunc(strings.ReplaceAll(command, "&&", "\n"), func(r rune) bool { return r == '\n' || r == ';' }) {
			if part = strings.Join(strings.Fields(part), " "); part != "" && !installs().MatchString(part) {
				return false
			}
		}
	}
	return true
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok || p == name })
}

// Seed describes what setup made of a commit. Its JSON lies beside it.
type Seed struct {
	Key    string    `json:"key"`
	Commit string    `json:"commit"` // whose setup made it
	Made   time.Time `json:"made"`
	Place  string    `json:"place"` // worktree in which setup ran
	Roots  []string  `json:"roots"` // files and folders of the seed, relative to the worktree
	Files  int64     `json:"files"`
	Bytes  int64     `json:"bytes"`
	None   string    `json:"none,omitempty"` // why setup has to run in each worktree: then there is nothing else
	Used   time.Time `json:"-"`              // when it was laid last
}

// Store is the folder of the seeds of a project, on the file system of its worktrees.
type Store struct {
	Dir string
	Now func() time.Time
	At  func(point string) // failpoints of tests; may be nil
}

const (
	description = "seed.json"
	tree        = "tree"
	making      = "making"
	gonePrefix  = "gone-"
	noneFor     = 24 * time.Hour // after which it is tried again whether setup leaves a seed
	mostOwn     = 1 << 20        // bytes of a file that is searched for the path of its worktree
)

// ErrNone is the error for a key without a seed.
var ErrNone = errors.New("there is no seed")

// open returns the seed of a key, which stays until held is closed.
func (s *Store) open(key string) (found Seed, held *os.File, err error) {
	dir := filepath.Join(s.Dir, key)
	if held, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0); err != nil {
		return found, nil, ErrNone
	}
	found, err = s.read(key)
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	}
	mine, lost := held.Stat()
	if now, gone := os.Lstat(dir); err != nil || lost != nil || gone != nil || !os.SameFile(mine, now) || found.None != "" && s.Now().Sub(found.Made) > noneFor {
		_ = held.Close()
		return found, nil, ErrNone
	}
	return found, held, nil
}

func (s *Store) read(key string) (found Seed, err error) {
	file := filepath.Join(s.Dir, key, description)
	text, err := safefile.Read(file)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if info, gone := os.Lstat(file); err == nil && gone == nil {
		found.Used = info.ModTime()
	}
	return found, err
}

// Find returns the seed of a key, or ErrNone.
func (s *Store) Find(key string) (Seed, error) {
	found, held, err := s.open(key)
	if err == nil {
		err = held.Close()
	}
	return found, err
}

// Laid is a seed that was laid into a worktree.
type Laid struct {
	Seed
	Way  string
	Took time.Duration
}

func (l Laid) String() string {
	return fmt.Sprintf("setup: from seed %s (made at %.9s), %s, %.1f s", l.Key[:12], l.Commit, l.Way, l.Took.Seconds())
}

// Lay copies the seed of a key into dir, a fresh checkout of files in which nothing is at work. What a killed one has left there is made
// again. After an error nothing of the seed is left.
func (s *Store) Lay(ctx context.Context, key, dir string, files []git.Listed) (laid Laid, err error) {
	began := time.Now()
	found, held, err := s.open(key)
	if err != nil {
		return laid, err
	}
	defer held.Close()
	if found.None != "" {
		return laid, fmt.Errorf("%w: %s", ErrNone, found.None)
	}
	if at := found.blocked(dir, files); at != "" {
		return laid, fmt.Errorf("%w: %s cannot be laid here", ErrNone, at)
	}
	var total safefile.Cloned
	var done []string
	for _, root := range found.Roots {
		done = append(done, root)
		if err = safefile.RemoveTree(filepath.Join(dir, root)); err != nil {
			break
		}
		var c safefile.Cloned
		c, err = safefile.CloneTree(ctx, filepath.Join(s.Dir, key, tree, filepath.Dir(root)), filepath.Join(dir, filepath.Dir(root)), filepath.Base(root), safefile.Cloning{})
		if total.Files, total.Bytes, total.Copied = total.Files+c.Files, total.Bytes+c.Bytes, total.Copied+c.Copied; err != nil {
			break
		}
		s.point("laid a root")
	}
	if err == nil {
		s.point("laid")
	}
	if err != nil {
		for _, root := range done {
			err = errors.Join(err, safefile.RemoveTree(filepath.Join(dir, root)))
		}
		return laid, err
	}
	now := s.Now()
	err = os.Chtimes(filepath.Join(s.Dir, key, description), now, now)
	return Laid{Seed: found, Way: total.Way(), Took: time.Since(began)}, err
}

// blocked is the first root that has no place in a checkout of files: git tracks something there, or the folder around it is none.
func (f Seed) blocked(dir string, files []git.Listed) string {
	tracked, above := trackedIn(files)
	for _, root := range f.Roots {
		if !filepath.IsLocal(root) || tracked[root] || above[root] || !plainFolders(dir, filepath.Dir(root)) {
			return root
		}
	}
	return ""
}

// plainFolders reports whether rel is a folder of dir that no link leads to.
func plainFolders(dir, rel string) bool {
	for at := rel; at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(dir, at)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Keep makes the seed of a key of what is in a worktree besides the files of its commit. Nothing is at work there. A worktree with nothing
// besides, or with more than most bytes, gets a seed that says so. The caller is the only maker.
func (s *Store) Keep(ctx context.Context, made Seed, files []git.Listed, most int64) (Seed, error) {
	var err error
	if made.Roots, err = untracked(made.Place, files); err != nil {
		return made, err
	}
	if len(made.Roots) == 0 {
		return s.Without(made, "setup leaves nothing in the worktree that git ignores")
	}
	dir, err := s.begin()
	if err != nil {
		return made, err
	}
	for _, root := range made.Roots {
		to := filepath.Join(dir, tree, filepath.Dir(root))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return made, err
		}
		c, err := safefile.CloneTree(ctx, filepath.Join(made.Place, filepath.Dir(root)), to, filepath.Base(root), safefile.Cloning{Most: most - made.Bytes})
		if errors.Is(err, safefile.ErrTooLarge) {
			return s.Without(made, fmt.Sprintf("what setup makes is larger than %d MB (worktree.seed.max_gb)", most>>20))
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, syscall.ENOSPC) { // a file that nobody may read, a name that is too long
			return s.Without(made, err.Error())
		}
		if made.Files, made.Bytes = made.Files+c.Files, made.Bytes+c.Bytes; err != nil {
			return made, err
		}
		s.point("kept a root")
	}
	switch own, err := naming(filepath.Join(dir, tree), made.Place); {
	case err != nil:
		return made, err
	case own != "":
		return s.Without(made, own+" has the path of its worktree")
	}
	return made, s.finish(made)
}

// Without keeps that setup has to run in each worktree, and why.
func (s *Store) Without(made Seed, why string) (Seed, error) {
	made.Roots, made.Files, made.Bytes, made.None = nil, 0, 0, why
	if _, err := s.begin(); err != nil {
		return made, err
	}
	return made, s.finish(made)
}

// begin makes the folder of a new seed. What a killed maker left is removed.
func (s *Store) begin() (dir string, err error) {
	dir = filepath.Join(s.Dir, making)
	if err = safefile.MakeFolder(s.Dir, 0o755); err == nil {
		err = s.clear()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, tree), 0o700)
	}
	return dir, err
}

// clear removes what killed makers and removers have left. The caller is the only maker.
func (s *Store) clear() error {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		if e.Name() == making || strings.HasPrefix(e.Name(), gonePrefix) {
			err = errors.Join(err, safefile.RemoveTree(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

func (s *Store) finish(made Seed) error {
	made.Made = s.Now()
	text, err := json.MarshalIndent(made, "", " ")
	if err == nil {
		err = safefile.Replace(filepath.Join(s.Dir, making, description), text, 0o644)
	}
	if err != nil {
		return err
	}
	at, err := os.Open(s.Dir)
	if err != nil {
		return err
	}
	if err := errors.Join(safefile.SyncAround(at), at.Close()); err != nil { // a name may be on the disk before the content of its files
		return err
	}
	s.point("described")
	if err := s.Remove(made.Key); err != nil && !errors.Is(err, fs.ErrNotExist) { // an older one, without anything to lay
		return err
	}
	err = os.Rename(filepath.Join(s.Dir, making), filepath.Join(s.Dir, made.Key))
	s.point("made")
	return err
}

// untracked are the topmost files and folders of a worktree in which there is nothing that files names.
func untracked(dir string, files []git.Listed) (roots []string, err error) {
	tracked, above := trackedIn(files)
	var look func(rel string) error
	look = func(rel string) error {
		entries, err := os.ReadDir(filepath.Join(dir, rel))
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch at := path.Join(rel, e.Name()); {
			case tracked[at]:
			case above[at] && e.IsDir():
				if err := look(at); err != nil {
					return err
				}
			default:
				roots = append(roots, at)
			}
		}
		return nil
	}
	return roots, look("")
}

// trackedIn has the files that git tracks, and the folders above them.
func trackedIn(files []git.Listed) (tracked, above map[string]bool) {
	tracked, above = map[string]bool{".git": true}, map[string]bool{}
	for _, f := range files {
		tracked[f.Path] = true
		for at := path.Dir(f.Path); at != "." && !above[at]; at = path.Dir(at) {
			above[at] = true
		}
	}
	return tracked, above
}

// naming is a text or link below dir that has a path in it, "" without one.
func naming(dir, place string) (own string, err error) {
	err = safefile.Walk(dir, func(f safefile.Found) error {
		switch mode := f.Info.Mode(); {
		case own != "":
		case mode&fs.ModeSymlink != 0:
			if target, err := f.Root.Readlink(f.Name); err == nil && strings.Contains(target, place) {
				own = f.Path
			}
		case mode.IsRegular() && f.Info.Size() <= mostOwn && f.Info.Size() >= int64(len(place)):
			in, err := f.Root.Open(f.Name)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(in)
			if err = errors.Join(err, in.Close()); err != nil {
				return err
			}
			if bytes.Contains(text, []byte(place)) && bytes.IndexByte(text, 0) < 0 {
				own = f.Path
			}
		}
		return nil
	})
	return own, err
}

// List returns all seeds, the one that was used last first.
func (s *Store) List() (list []Seed, err error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if found, err := s.read(e.Name()); err == nil && found.Key == e.Name() {
			list = append(list, found)
		}
	}
	slices.SortFunc(list, func(a, b Seed) int { return b.Used.Compare(a.Used) })
	return list, err
}

// Surplus returns the seeds that are too many for most bytes, those that were used last staying.
func Surplus(list []Seed, most int64) (surplus []Seed) {
	for _, one := range list {
		if most -= one.Bytes; most < 0 {
			surplus = append(surplus, one)
			most += one.Bytes
		}
	}
	return surplus
}

// Remove removes a seed, unless it is being laid: then the error is safefile.ErrInUse.
func (s *Store) Remove(key string) error {
	dir := filepath.Join(s.Dir, key)
	held, err := safefile.Hold(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer held.Close()
	gone := filepath.Join(s.Dir, fmt.Sprintf("%s%s-%d", gonePrefix, key, s.Now().UnixNano()))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	s.point("renamed")
	return safefile.RemoveTree(gone)
}

func (s *Store) point(name string) {
	if s.At != nil {
		s.At("seed: " + name)
	}
}
