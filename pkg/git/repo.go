package git

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Repo is one repository with its main checkout. It holds nothing that goes stale and may be used by many goroutines.
// It must not be copied.
type Repo struct {
	// OnLockRemoved, when set, is called with the path of each stale lock file of git that was removed (alert
	// GIT_LOCK_REMOVED). It is called under git.lock and must not call back. Set it before the first use.
	OnLockRemoved func(path string)

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

	// MaxTime bounds the time in which git reads what a run has made; 0: ten minutes. Set it before the first use.
	MaxTime time.Duration

	maxFiles    int           // of objects that a folder may have; 0: mostFiles
	heldUpAfter time.Duration // 0: heldUpAfter
	place       Place
	env         []string
	drivers     drivers
	contained   contained
	answers     answers
}

// Root is the main checkout.
func (r *Repo) Root() string { return r.place.Root }

// Checkout is the checkout that the repository was opened from: the main one, or a linked worktree.
func (r *Repo) Checkout() string { return r.place.Checkout }

// CommonDir is git's common dir: .git of the main checkout.
func (r *Repo) CommonDir() string { return r.place.CommonDir }

// WorktreePath is where the worktree of id is, whether it exists or not.
func (r *Repo) WorktreePath(id string) string {
	return filepath.Join(r.place.Root, worktreesDir, id)
}

// contained remembers which commits a head has among its ancestors. That never changes: what
// was found for one head holds for each descendant of it.
type contained struct {
	mu      sync.Mutex
	head    string
	commits map[string]bool // on the first-parent line of head, or found by asking
}

// answers remembers what git said about things that never change, such as two commits: a submission is compared with its
// base when it is handed in, when it is checked, and for its reviewer's prompt.
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

// drivers remembers what the settings of each git folder make of the options of a command.
type drivers struct {
	mu    sync.Mutex
	known map[string]overrides // by git folder
}

type overrides struct {
	files   string // size and time of the files that were read; "" when they cannot be told
	options []string
	env     []string
	all     [][2]string // every key and value, in git's order
}

// A call is one run of the git command.
type call struct {
	dir    string // "": the current folder, for commands that need no repository
	args   []string
	env    []string
	config []string // settings besides those of every command, each as -c and NAME=VALUE
	stdin  string
	in     io.Reader // in the place of stdin
	out    *os.File  // takes the output, which is not returned then
	write  bool      // may take git's optional locks, and waits for the disk
	sub    string    // git folder of the submodule that dir is
	most   int       // no more bytes of the output are read, and git is ended then; 0: all
}

const answersKept = 8 << 20 // bytes

const worktreesDir = ".worktrees"
