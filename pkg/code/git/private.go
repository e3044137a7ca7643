package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// refs calls each for the refs of a folder that have a file of their own.
func (p private) refs(folder string, each func(name, commit string)) {
	seen := 0
	_ = fs.WalkDir(p.root.FS(), strings.TrimSuffix(folder, "/"), func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > mostFiles {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() {
			return nil
		}
		if commit, err := p.ref(name); err == nil {
			each(name, commit)
		}
		return nil
	})
}

// tips are the commits that HEAD, the branches and the stash of a folder name.
func (p private) tips() (all []string) {
	var head Taken
	if p.head(&head); head.Head != "" {
		all = append(all, head.Head)
	}
	add := func(_, commit string) { all = append(all, commit) }
	p.refs(branches, add)
	p.refs("refs/stash", add)
	packed, _ := p.read("packed-refs", mostOfPacked)
	for line := range strings.Lines(packed) {
		commit, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		if isFullHash(commit) && (strings.HasPrefix(of, branches) || of == "refs/stash") {
			all = append(all, commit)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// private is the git folder of a run, in which anything may be. Nothing outside of it can be opened through it.
type private struct{ root *os.Root }

// read reads a small file.
func (p private) read(name string, most int64) (string, error) {
	file, err := p.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return string(data), err
}

// open opens a file that is one, without waiting for anybody.
func (p private) open(name string) (*os.File, error) { return safefile.OpenIn(p.root, name) }

const (
	mostOfRef    = 4096
	mostOfPacked = 64 << 20
)

// head reads HEAD into out. It returns why HEAD is invalid, or "".
func (p private) head(out *Taken) (why string) {
	text, err := p.read("HEAD", mostOfRef)
	if err != nil {
		return fmt.Sprintf("its HEAD cannot be read: %v", err)
	}
	text = strings.TrimSpace(text)
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	branch, ok := strings.CutPrefix(strings.TrimSpace(ref), branches)
	switch {
	case isFullHash(text):
		out.Head = text
	case !symbolic || !ok || !ValidBranchName(branch):
		return "its HEAD is not the name of a branch or a commit"
	default:
		out.Branch = branch
		out.Head, _ = p.ref(branches + branch) // none, as long as nothing is committed
	}
	return ""
}

// ref is the commit of a ref, in a file of its own or packed.
func (p private) ref(name string) (string, error) {
	text, err := p.read(name, mostOfRef)
	if err == nil {
		if text = strings.TrimSpace(text); !isFullHash(text) {
			return "", errors.New("it is not the name of a commit")
		}
		return text, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	packed, err := p.read("packed-refs", mostOfPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(packed) {
		commit, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of == name && isFullHash(commit) {
			return commit, nil
		}
	}
	return "", errors.New("it does not exist")
}

// The limits of a take-over: a run could fill the disk with the copy.
const (
	mostFiles = 200_000
	mostBytes = 2 << 30
	mostTime  = 10 * time.Minute
)

// frugal keeps git from holding large files, and many at a time, in memory.
var frugal = []string{"-c", "core.bigFileThreshold=32m", "-c", "pack.windowMemory=64m", "-c", "pack.threads=1"}

// mostMemory ends a git that would have more than this of one object in memory, whatever the object says of itself.
const mostMemory = "GIT_ALLOC_LIMIT=1g"

// inTime limits the time in which git reads and writes objects of a run. The context's cause explains its end.
func (r *runner) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	most := cmp.Or(r.MaxTime, mostTime)
	return context.WithTimeoutCause(ctx, most, fmt.Errorf("it took longer than %s, which is the limit for the work of a run", most))
}

// mostTaken is how many bytes are taken over at once.
func (r *runner) mostTaken() int64 {
	return cmp.Or(r.MaxTaken, mostBytes)
}
