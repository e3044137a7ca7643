package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"liza/pkg/base/safefile"
)

const branches = "refs/heads/"

// Head is the branch and commit of the main checkout.
type Head struct {
	Branch string // "" if detached
	Commit string // "" if the branch has no commit yet
}

// Head reads the HEAD of the main checkout, whatever folder the repository was opened from.
func (r *references) Head(ctx context.Context) (Head, error) {
	if repo, err := r.goGit(); err == nil {
		if head, err := r.headIn(ctx, repo); err == nil {
			return head, nil
		}
	}
	return r.headAt(ctx, r.place.Root)
}

// HeadHere reads the HEAD of the checkout that the repository was opened from: the main one, or a linked worktree.
func (r *references) HeadHere(ctx context.Context) (Head, error) {
	if r.place.Checkout == r.place.Root {
		return r.Head(ctx)
	}
	return r.headAt(ctx, r.place.Checkout)
}

func (r *references) headAt(ctx context.Context, checkout string) (head Head, err error) {
	name, err := r.read(ctx, checkout, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return Head{}, fmt.Errorf("cannot read HEAD: %w", err)
	}
	head.Branch = strings.TrimPrefix(strings.TrimSpace(name), branches)
	head.Commit, err = r.resolveAt(ctx, checkout, "HEAD")
	if err != nil && !(errors.Is(err, ErrNotFound) && head.Branch != "") {
		return Head{}, fmt.Errorf("cannot read HEAD: %w", err)
	}
	return head, nil
}

func (r *references) headIn(ctx context.Context, repo *gogit.Repository) (Head, error) {
	ref, err := repo.Reference(plumbing.HEAD, false)
	if err != nil {
		return Head{}, err
	}
	if ref.Type() != plumbing.SymbolicReference {
		return Head{Commit: ref.Hash().String()}, nil
	}
	commit, err := r.refValue(ctx, ref.Target().String())
	return Head{Branch: strings.TrimPrefix(ref.Target().String(), branches), Commit: commit}, err
}

// HasCommit reports whether HEAD or any ref names a commit.
func (r *references) HasCommit(ctx context.Context) (bool, error) {
	if head, err := r.Head(ctx); err == nil && head.Commit != "" {
		return true, nil
	}
	out, err := r.read(ctx, r.place.Root, "rev-list", "--max-count=1", "--all")
	if err != nil {
		return false, fmt.Errorf("cannot look for commits: %w", err)
	}
	return out != "", nil
}

// Resolve returns the full name of the commit that rev names: a full or short object name, a branch, a tag, HEAD~2 …. It
// returns ErrNotFound if rev names no commit.
func (r *objects) Resolve(ctx context.Context, rev string) (string, error) {
	if isFullHash(rev) {
		if repo, err := r.goGit(); err == nil {
			if commit, err := repo.CommitObject(plumbing.NewHash(rev)); err == nil {
				return commit.Hash.String(), nil
			}
		}
	}
	hash, err := r.resolveAt(ctx, r.place.Root, rev)
	if err != nil {
		return "", about("commit "+rev, err)
	}
	return hash, nil
}

// ResolveHere is Resolve for names that depend on the checkout that the repository was opened from, such as HEAD.
func (r *objects) ResolveHere(ctx context.Context, rev string) (string, error) {
	hash, err := r.resolveAt(ctx, r.place.Checkout, rev)
	if err != nil {
		return "", about("commit "+rev, err)
	}
	return hash, nil
}

func (r *objects) resolveAt(ctx context.Context, checkout, rev string) (string, error) {
	if !plainRev(rev) {
		return "", ErrNotFound
	}
	out, err := r.read(ctx, checkout, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	if exitCode(err) == 1 {
		return "", ErrNotFound
	}
	return strings.TrimSpace(out), err
}

// CommitExists reports whether the object store has the commit.
func (r *objects) CommitExists(ctx context.Context, commit string) (bool, error) {
	if r.lacks(commit) {
		return false, nil
	}
	_, err := r.Resolve(ctx, commit)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// lacks reports whether the repository certainly has no object of that name. Only git knows the objects that it borrows.
func (r *runner) lacks(name string) bool {
	if hash := plumbing.NewHash(name); hash.String() == name && !exists(filepath.Join(r.place.CommonDir, "objects", "info", "alternates")) {
		repo, err := r.goGit()
		return err == nil && errors.Is(repo.Storer.HasEncodedObject(hash), plumbing.ErrObjectNotFound)
	}
	return false
}

// BranchTip returns the commit of a local branch, or ErrNotFound.
func (r *references) BranchTip(ctx context.Context, branch string) (string, error) {
	hash, err := r.refValue(ctx, branches+branch)
	if err != nil {
		return "", about("branch "+branch, err)
	}
	return hash, nil
}

// Ref returns the object that a ref, named in full (refs/…), points to, or ErrNotFound.
func (r *references) Ref(ctx context.Context, name string) (string, error) {
	hash, err := r.refValue(ctx, name)
	if err != nil {
		return "", about("ref "+name, err)
	}
	return hash, nil
}

func (r *references) refValue(ctx context.Context, name string) (string, error) {
	if plumbing.ReferenceName(name).Validate() == nil { // every idle supervisor asks, at each change of the board
		data, err := safefile.Read(filepath.Join(r.place.CommonDir, name))
		if hash, ended := strings.CutSuffix(string(data), "\n"); err == nil && ended && isFullHash(hash) {
			return hash, nil
		}
		if errors.Is(err, fs.ErrNotExist) && r.refsAreFiles() {
			// After the file: what is packed meanwhile is in the one or in the other.
			if packed, err := r.packedRefs(); err == nil {
				if hash, there := packed[name]; there {
					return hash, nil
				}
				return "", ErrNotFound
			}
		}
	}
	if repo, err := r.goGit(); err == nil {
		ref, err := repo.Reference(plumbing.ReferenceName(name), true)
		if err == nil {
			return ref.Hash().String(), nil
		}
		if errors.Is(err, plumbing.ErrReferenceNotFound) && r.refsAreFiles() {
			return "", ErrNotFound
		}
	}
	// for-each-ref takes a name in full or a folder of names; "%(refname)" tells them apart.
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(objectname) %(refname)", name)
	if err != nil {
		return "", err
	}
	hash, found, _ := strings.Cut(strings.TrimSpace(out), " ")
	if found != name {
		return "", ErrNotFound
	}
	return hash, nil
}

// packed caches the content of the file packed-refs. Git replaces the file, so that another one has another inode.
type packed struct {
	mu   sync.Mutex
	file string            // size, time and inode
	refs map[string]string // object by name
}

// packedRefs returns the refs of the file packed-refs, which the caller must not change. A repository can have many thousands.
func (r *references) packedRefs() (map[string]string, error) {
	r.packed.mu.Lock()
	defer r.packed.mu.Unlock()
	path := filepath.Join(r.place.CommonDir, "packed-refs")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file := fmt.Sprint(info.Size(), info.ModTime().UnixNano(), inode(info))
	if r.packed.refs != nil && r.packed.file == file {
		return r.packed.refs, nil
	}
	text, err := safefile.Read(path)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "^") { // the form of the file; the target of a tag
			continue
		}
		object, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !isFullHash(object) {
			return nil, errors.ErrUnsupported
		}
		refs[name] = object
	}
	if now, err := os.Stat(path); err == nil && fmt.Sprint(now.Size(), now.ModTime().UnixNano(), inode(now)) == file {
		r.packed.file, r.packed.refs = file, refs
	}
	return refs, nil
}

// refsAreFiles reports whether go-git can see all refs: a repository of another format has a file in the place of the folder.
func (r *references) refsAreFiles() bool {
	info, err := os.Lstat(filepath.Join(r.place.CommonDir, "refs", "heads"))
	return err == nil && info.IsDir()
}

// tip is the commit of a branch, "" when there is no such branch.
func (r *references) tip(ctx context.Context, branch string) (string, error) {
	hash, err := r.BranchTip(ctx, branch)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return hash, err
}

// isFullHash reports whether a text is the whole name of an object.
func isFullHash(rev string) bool {
	return (len(rev) == 40 || len(rev) == 64) && strings.Trim(rev, "0123456789abcdef") == ""
}

// plainRevs returns an error for texts that git would not take for names.
func plainRevs(revs ...string) error {
	for _, rev := range revs {
		if !plainRev(rev) {
			return fmt.Errorf("commit %q %w", rev, ErrNotFound)
		}
	}
	return nil
}

func plainRev(rev string) bool {
	return rev != "" && !strings.HasPrefix(rev, "-") && !strings.ContainsAny(rev, "\x00\n")
}
