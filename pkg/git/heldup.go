package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"liza/pkg/safefile"
)

// Git reads what it is to ignore, attributes, and the git folders of other repositories wherever they lie in a worktree. It waits
// for ever for a named pipe in the place of such a file, and has a large one in memory as a whole. A run can make both.
const (
	heldUpAfter = time.Second // of a git command in a worktree: then it is looked for them
	heldUpMost  = 3           // times that a command is begun again without them
	largestRead = 100 << 20   // bytes; newer versions of git do not read larger ones either
)

// errHeldUp is the cause of the end of a command that was held up by what is out of its way now.
var errHeldUp = errors.New("git waited for named pipes, or read files of more than 100 MB, in the place of its own files")

// run runs one git command. It ends with ctx: TERM to its process group, which lets git remove its lock files, then KILL.
func (r *Repo) run(ctx context.Context, c call) (out string, err error) {
	if filepath.Dir(c.dir) != filepath.Join(r.place.Root, worktreesDir) || c.in != nil || c.out != nil {
		return r.runOnce(ctx, c)
	}
	for range heldUpMost {
		within, end := r.unlessHeldUp(ctx, c.dir)
		out, err = r.runOnce(within, c)
		over := context.Cause(within)
		end()
		if err == nil || !errors.Is(over, errHeldUp) {
			return out, err
		}
	}
	return "", fmt.Errorf("cannot run git %s in %s: %w", c.args[0], filepath.Base(c.dir), errHeldUp)
}

// runOnce starts git with what keeps the programs of a repository out of it.
func (r *Repo) runOnce(ctx context.Context, c call) (string, error) {
	if ctx.Err() != nil {
		return "", stopped(ctx, "git "+c.args[0])
	}
	gitDir, common := r.gitDirOf(c.dir), r.place.CommonDir
	if c.sub != "" {
		gitDir, common = c.sub, c.sub
	}
	if gitDir == "" {
		return r.start(ctx, c, nil, nil)
	}
	o, err := r.configured(ctx, gitDir, common)
	if err != nil {
		return "", err
	}
	// Never appended to o.env, which all commands of the repository have: they run beside each other, in several worktrees.
	return r.start(ctx, c, o.options, slices.Concat(o.env, gitFolders(gitDir, common, c.dir)))
}

// unlessHeldUp is a context that ends, with errHeldUp, when a command takes long and there was something to hold it up.
func (r *Repo) unlessHeldUp(ctx context.Context, dir string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for pause := cmp.Or(r.heldUpAfter, heldUpAfter); ; pause *= 2 { // each look costs as much as a command
			select {
			case <-time.After(pause):
				if found, err := clearWay(ctx, dir); err == nil && found {
					cancel(errHeldUp)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// clearWay takes what holds up git out of its way, and reports whether there was something: named pipes, which have no content,
// are removed, and large files have another name.
func clearWay(ctx context.Context, dir string) (found bool, err error) {
	err = safefile.Walk(dir, func(f safefile.Found) error {
		own := slices.Contains([]string{".gitignore", ".gitattributes", ".gitmodules"}, f.Info.Name())
		inside := slices.Contains(strings.Split(path.Dir(f.Path), "/"), ".git")
		switch {
		case !own && !inside:
		case f.Info.Mode()&fs.ModeNamedPipe != 0:
			// Who waits for it, also a git of a supervisor that was killed, reads an empty file then.
			if waited, err := f.Root.OpenFile(f.Name, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_ = waited.Close()
			}
			found = f.Root.Remove(f.Name) == nil || found
		case own && f.Info.Mode().IsRegular() && f.Info.Size() > largestRead:
			found = f.Root.Rename(f.Name, freeName(f.Root, f.Name+".too-large")) == nil || found
		}
		return ctx.Err()
	})
	return found, err
}

func freeName(root *os.Root, name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := root.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// read runs a git command that changes nothing and returns its output.
func (r *Repo) read(ctx context.Context, dir string, args ...string) (string, error) {
	return r.run(ctx, call{dir: dir, args: args})
}

// gitDirOf is the git folder of a checkout of this repository, "" for any other folder.
func (r *Repo) gitDirOf(dir string) string {
	switch {
	case dir == "" || r.place.CommonDir == "":
		return ""
	case dir == r.place.Root:
		return r.place.CommonDir
	}
	return r.adminDir(dir)
}
