// Package git knows repositories, worktrees, commits and refs, and nothing of what they are used for.
//
// [Open] finds the repository of any folder of a main checkout, a linked worktree or a subfolder. A [Repo] then answers
// questions (head, commits, diffs, facts about a worktree) and does the few things that Liza does to a repository:
// provide and remove the worktree of an id, save unfinished work in the attic, merge without a checkout, move a ref by
// compare-and-swap. [Error] is a git command that failed.
//
// Rules that hold everywhere in the package:
//
//   - The user's checkout, index, HEAD and stash are never touched. Nothing here runs in the main checkout but commands
//     that read, and commands about refs and worktrees.
//   - References, commits and ancestors are read with go-git, which needs no process. What go-git cannot read (sha256,
//     worktreeConfig, reftable, shallow or long histories) is asked of the git command, which also does all the rest.
//   - No program that the repository's configuration or attributes name is run, but filters in [Repo.Filters]; replaced
//     objects are not followed, and git is told where its folders are (drivers.go).
//   - Whatever changes a ref or a worktree holds the lock <common dir>/liza/git.lock, because git 2.39 cannot add
//     worktrees in parallel. Reads take no lock, but for the list of worktrees.
//   - A lock file that a killed git left behind is removed under that lock, once, when no git process of this repository
//     is alive (specs/protocol.md#7.3). Repo.OnLockRemoved hears of it.
//   - Deleting needs proof (specs/decisions.md#D21): a worktree and its branch go only when what they hold is reachable from the
//     integration branch or from an attic ref. Otherwise the answer is an [UnsavedError] that lists what would be lost.
//   - Nothing that a run of an agent program writes into its git folder ([Repo.OpenFolder]) is read but the name of one
//     commit and, through a quarantine and git's own check, its objects ([Repo.TakeOver]).
//
// A task's worktree is .worktrees/<id> on branch task/<id>; its saved work is refs/liza/attic/<id>/<n>.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"

	"liza/pkg/base/safefile"
)

// Repo is one repository with its main checkout. It may be used by many goroutines, and must not be copied.
//
// It consists of layers, each of which knows only those below it: a runner starts git, objects reads and compares commits,
// references reads refs, remotes and the list of worktrees. Changes of refs or worktrees are methods of Repo, and of the
// session that holds its lock.
type Repo struct {
	references

	// OnLockRemoved, if set, is called with the path of each stale lock file of git that was removed (alert
	// GIT_LOCK_REMOVED). It is called under git.lock and must not call back. Set it before the first use.
	OnLockRemoved func(path string)

	// Contain runs the helper in worktrees; nil: it runs without a sandbox. Set it before the first use.
	Contain Contain

	heldUpAfter time.Duration // 0: heldUp
}

// runner starts git in one repository, without the programs that the repository names.
type runner struct {
	// Mask, when set, takes secrets out of the messages of commits. Set it before the first use.
	Mask func(text string) string

	// Filters are the names of the filters that a person allowed (git.filters). Set it before the first use.
	Filters []string

	// Sign has CommitMerge sign with the person's key, as gpg.format and user.signingkey say (git.sign). Set it before the
	// first use.
	Sign bool

	// RemoteTimeout bounds each command that talks to a remote; 0: a minute. Set it before the first use.
	RemoteTimeout time.Duration

	// MaxTaken bounds the bytes that TakeOver takes at once; 0: 2 GB. Set it before the first use.
	MaxTaken int64

	// MaxTime is the time limit for git to read objects of a run; 0: ten minutes. Set it before the first use.
	MaxTime time.Duration

	place   Place
	env     []string
	drivers drivers
	answers answers
}

// objects reads commits, trees and files, and writes commits that no ref has yet.
type objects struct {
	runner
	contained contained
	links     links
}

// references reads refs, remotes and the list of worktrees.
type references struct {
	objects
	synced synced
	packed packed
}

// Root returns the path of the main checkout.
func (r *runner) Root() string { return r.place.Root }

// Checkout returns the path of the checkout that the repository was opened from: the main one, or a linked worktree.
func (r *runner) Checkout() string { return r.place.Checkout }

// CommonDir returns git's common folder: .git of the main checkout.
func (r *runner) CommonDir() string { return r.place.CommonDir }

// WorktreePath returns the path of the worktree of id, which need not exist.
func (r *runner) WorktreePath(id string) string {
	return filepath.Join(r.WorktreesFolder(), id)
}

// contained caches which commits are ancestors of a head. A result never changes: it holds for each descendant of the head
// too.
type contained struct {
	mu      sync.Mutex
	head    string
	commits map[string]bool // on the first-parent line of head, or from git
}

// answers caches git's answers about immutable objects, such as two commits: a submission is compared with its base when it
// is submitted, when it is checked, and for its reviewer's prompt.
type answers struct {
	mu    sync.Mutex
	known map[string]string
	size  int
}

func (d *answers) get(key string) (out string, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out, known = d.known[key]
	return out, known
}

func (d *answers) put(key, out string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size+len(key)+len(out) > answersKept || d.known == nil {
		d.known, d.size = map[string]string{}, 0
	}
	if d.size += len(key) + len(out); d.size <= answersKept {
		d.known[key] = out
	}
}

// drivers caches the options of a command that follow from the settings of each git folder.
type drivers struct {
	mu    sync.Mutex
	known map[string]overrides // by git folder
}

type overrides struct {
	files   string // size and time of the files that were read; "" if unknown
	options []string
	env     []string
	all     [][2]string // every key and value, in git's order
}

// A call is one run of the git command.
type call struct {
	dir    string // "": the current folder, for commands that need no repository
	args   []string
	env    []string
	config []string // further settings, each as -c and NAME=VALUE
	stdin  string
	in     io.Reader // in the place of stdin
	out    *os.File  // receives the output, which is not returned then
	write  bool      // may take git's optional locks, and flushes to disk
	sub    string    // git folder of the submodule dir
	most   int       // most bytes of the output, after which git is ended; 0: all
}

const answersKept = 8 << 20 // bytes

const worktreesDir = ".worktrees"

// Open opens the repository of dir. env has variables ("NAME=value") for every git command besides the process's environment.
// Errors: ErrNoRepository, ErrBare, ErrVersion, or *Error if git refuses the repository.
func Open(ctx context.Context, dir string, env ...string) (*Repo, error) {
	r := &Repo{}
	r.env = environment(env)
	version := make(chan error, 1)
	go func() { version <- r.checkVersion(ctx) }() // two processes take as long as one
	place, err := Locate(dir)
	out := ""
	if err == nil {
		// From the checkout: in the git folder itself safe.bareRepository=explicit refuses.
		out, err = r.read(ctx, place.Checkout, "rev-parse", "--is-bare-repository")
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

// newGit is the file of the git command that was found to be recent enough: a process asks each only once.
var newGit atomic.Value

func (r *runner) checkVersion(ctx context.Context) error {
	identity := ""
	if path, err := exec.LookPath("git"); err == nil {
		if file, err := os.Stat(path); err == nil {
			identity = fmt.Sprint(path, file.Size(), file.ModTime())
		}
	}
	if identity != "" && identity == newGit.Load() {
		return nil
	}
	out, err := r.read(ctx, "", "version")
	if err != nil {
		return err
	}
	version := strings.TrimSpace(strings.TrimPrefix(out, "git version "))
	if !recentEnough(version) {
		return fmt.Errorf("cannot use git %s: %w", version, ErrVersion)
	}
	newGit.Store(identity)
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
func (r *runner) goGit() (*gogit.Repository, error) {
	return gogit.PlainOpenWithOptions(r.place.CommonDir, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
}

// Place has the paths of a repository.
type Place struct {
	Root      string // the main checkout
	CommonDir string // git's common folder: .git of the main checkout
	Checkout  string // the checkout of the folder: Root, or a linked worktree
}

// Locate finds the repository of dir, a folder in the main checkout or in a linked worktree. It starts no process, so that
// reading commands find their project without git (specs/protocol.md#14, B16). The paths have no symbolic links. Errors:
// ErrNoRepository, ErrBare.
func Locate(dir string) (Place, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return Place{}, fmt.Errorf("cannot look for a repository: %v", err)
	}
	for at := start; ; at = filepath.Dir(at) {
		gitDir, err := gitDirAt(at)
		if err != nil {
			return Place{}, err
		}
		if gitDir != "" {
			place, err := placeOf(at, gitDir)
			if place.Checkout = place.Root; gitDir != place.CommonDir && gitDir != at {
				place.Checkout = at
			}
			return place, err
		}
		if at == filepath.Dir(at) {
			return Place{}, fmt.Errorf("cannot open %s: %w", start, ErrNoRepository)
		}
	}
}

// gitDirAt is the git dir of the checkout at folder, folder itself when it is a git dir, or "".
func gitDirAt(folder string) (string, error) {
	entry := filepath.Join(folder, ".git")
	info, err := os.Stat(entry)
	switch {
	case err == nil && info.IsDir() && isGitDir(entry):
		return filepath.EvalSymlinks(entry)
	case err == nil && info.Mode().IsRegular():
		text, err := safefile.Read(entry)
		target, invalid := namedGit(entry, text)
		if err = cmp.Or(err, invalid); err == nil && !isGitDir(target) {
			err = fmt.Errorf("it names %s, which is not a git dir", target)
		}
		if err != nil {
			return "", fmt.Errorf("cannot use %s: %v: %w", entry, err, ErrNoRepository)
		}
		return filepath.EvalSymlinks(target)
	case isGitDir(folder):
		return folder, nil
	}
	return "", nil
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	return exists("commondir") || exists("objects") && exists("refs")
}

// readGitFile reads the path in the .git file of a worktree ("gitdir: PATH"), made absolute.
func readGitFile(path string) (string, error) {
	data, err := safefile.ReadWithin(filepath.Dir(path), filepath.Base(path), mostOfRef)
	if err != nil {
		return "", err
	}
	return namedGit(path, data)
}

// namedGit is the path that the content of a .git file names.
func namedGit(path string, data []byte) (string, error) {
	target, found := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !found {
		return "", errors.New("it does not begin with \"gitdir: \"")
	}
	return absolute(filepath.Dir(path), target), nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// placeOf finds common dir and main checkout of a git dir that was found at folder.
func placeOf(folder, gitDir string) (Place, error) {
	common := gitDir
	if isFolder(gitDir) { // of a run in a worktree
		common = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(gitDir))))
	} else if data, err := safefile.Read(filepath.Join(gitDir, "commondir")); err == nil {
		common = absolute(gitDir, strings.TrimRight(string(data), "\r\n"))
	}
	common, err := filepath.EvalSymlinks(common)
	if err != nil {
		return Place{}, fmt.Errorf("cannot open %s: %v: %w", folder, err, ErrNoRepository)
	}
	core := readCore(common)
	if core.bare && gitDir != common {
		return Place{}, fmt.Errorf("cannot use %s, a worktree of the bare repository %s: %w", folder, common, ErrBare)
	}
	if core.bare {
		return Place{}, fmt.Errorf("cannot use %s: %w", common, ErrBare)
	}
	switch {
	case core.worktree != "": // a submodule keeps its git dir in that of the repository around it
		root, err := filepath.EvalSymlinks(absolute(common, core.worktree))
		if err != nil {
			return Place{}, fmt.Errorf("cannot find the checkout of %s: %v: %w", common, err, ErrNoRepository)
		}
		return Place{Root: root, CommonDir: common}, nil
	case filepath.Base(common) == ".git":
		return Place{Root: filepath.Dir(common), CommonDir: common}, nil
	case gitDir == common && folder != gitDir: // made with --separate-git-dir
		return Place{Root: folder, CommonDir: common}, nil
	}
	return Place{}, fmt.Errorf("cannot find the main checkout of %s: %w", common, ErrBare)
}

type coreConfig struct {
	bare     bool
	worktree string
}

// readCore reads core.bare and core.worktree of a common dir. A file that cannot be parsed counts as empty: Open lets
// git have the last word.
func readCore(common string) coreConfig {
	var core coreConfig
	for _, name := range []string{"config", "config.worktree"} {
		data, err := safefile.Read(filepath.Join(common, name))
		if err != nil {
			continue
		}
		parsed := config.New()
		if err := config.NewDecoder(bytes.NewReader(data)).Decode(parsed); err != nil {
			continue
		}
		section := parsed.Section("core")
		switch strings.ToLower(section.Option("bare")) {
		case "true", "yes", "on", "1":
			core.bare = true
		case "false", "no", "off", "0":
			core.bare = false
		}
		if worktree := section.Option("worktree"); worktree != "" {
			core.worktree = worktree
		}
	}
	return core
}

// isFolder reports whether a path has the form of the git folder of a run, in any repository.
func isFolder(path string) bool {
	return filepath.Base(path) == "git" && strings.HasSuffix(filepath.Dir(filepath.Dir(path)), "/"+foldersDir)
}

// foldersDir has the git folders of runs: folders/<task>@<agent>/ with lock, record.json, and git/, which the run sees.
const foldersDir = "liza/folders"

// ValidBranchName reports whether name can name a branch.
func ValidBranchName(name string) bool {
	return name != "HEAD" && plumbing.NewBranchReferenceName(name).Validate() == nil
}

// FirstCommitTime returns the time of the oldest commit in commit that is in none of the others; missing ones count as empty.
// ok is false if there is no such commit.
func (r *objects) FirstCommitTime(ctx context.Context, commit string, others ...string) (at time.Time, ok bool, err error) {
	args := []string{"log", "--ignore-missing", "--format=%ct", commit}
	for _, o := range others {
		args = append(args, "^"+o)
	}
	if err := plainRevs(append([]string{commit}, others...)...); err != nil {
		return time.Time{}, false, err
	}
	out, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("cannot read the times of the commits up to %s: %w", commit, err)
	}
	for text := range strings.FieldsSeq(out) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("cannot read the time %q of a commit: %v", text, err)
		}
		if t := time.Unix(seconds, 0); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok, nil
}

// inode distinguishes two files with the same size and time.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino) //nolint:unconvert // another type on other systems
	}
	return 0
}
