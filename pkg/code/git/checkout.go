package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"liza/pkg/base/safefile"
)

// The limits up to which the main checkout is compared by its files, without git status.
const (
	mostStated = 2_000                 // files and folders
	settled    = 50 * time.Millisecond // time in which a file may change again without another modification time
	coarse     = 2 * time.Second       // the same time for a file system with whole seconds
)

// tooLarge is the key that says that the main checkout had more files than are looked at.
const tooLarge = "a large checkout"

// status is git's status of the main checkout, whose HEAD is at a commit. It is asked again only when a file there, the index or a file of
// configuration has changed since: nearly all runs leave it alone.
func (r *references) status(ctx context.Context, head string) (string, error) {
	key := ""
	if _, large := r.answers.get(tooLarge); !large {
		sum, err := r.checkoutSum(head)
		if errors.Is(err, errLarge) {
			r.answers.put(tooLarge, "yes")
		}
		if err == nil {
			key = "status " + sum
		}
	}
	if out, known := r.answers.get(key); known {
		return out, nil
	}
	out, err := r.read(ctx, r.place.Root, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")
	if err == nil && key != "" {
		r.answers.put(key, out)
	}
	return out, err
}

var errLarge = errors.New("there are too many files")

// checkoutSum differs when anything has changed on which the status of the main checkout depends. An error says that this is not sure:
// there is a submodule or a large tree, or a file changed just now.
func (r *references) checkoutSum(head string) (string, error) {
	idx, _, err := readIndex(filepath.Join(r.place.CommonDir, "index"))
	if err != nil {
		return "", err
	}
	exclude, err := safefile.Read(filepath.Join(r.place.CommonDir, "info", "exclude"))
	if err != nil || !slices.Contains(strings.Split(string(exclude), "\n"), "/"+worktreesDir+"/") {
		return "", errUnsure
	}
	tracked := map[string]bool{} // and the folders that they are in
	for _, e := range idx.Entries {
		if e.Mode == filemode.Submodule {
			return "", errUnsure
		}
		for at := e.Name; at != "."; at = path.Dir(at) {
			tracked[at] = true
		}
	}
	if tracked[worktreesDir] {
		return "", errUnsure
	}
	only := map[string][]string{} // by folder, the names that its .gitignore leaves
	now, sum, left := time.Now(), sha256.New(), mostStated
	fmt.Fprintln(sum, head)
	note := func(name string, info fs.FileInfo) error {
		changed, known := changeTime(info)
		wait := settled
		if changed.Nanosecond() == 0 {
			wait = coarse
		}
		if !known || now.Sub(changed) < wait {
			return errUnsure
		}
		fmt.Fprintf(sum, "%q %v %d %d %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), inode(info))
		return nil
	}
	for _, name := range []string{"index", "config", "config.worktree", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		info, err := os.Lstat(filepath.Join(r.place.CommonDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = note(".git/"+name, info)
		}
		if err != nil {
			return "", err
		}
	}
	err = filepath.WalkDir(r.place.Root, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.place.Root, at)
		switch {
		case err != nil || name == ".":
			return err
		case name == ".git", name == worktreesDir:
			return skip(e)
		case e.Name() == ".git":
			return errUnsure // a repository of its own
		}
		if left--; left < 0 {
			return errLarge
		}
		if names, some := only[filepath.Dir(name)]; some && !tracked[name] && !slices.Contains(names, e.Name()) {
			return skip(e)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			if names := onlyNames(at); names != nil {
				only[name] = names
			}
			fmt.Fprintf(sum, "%q %v\n", name, info.Mode())
			return nil
		}
		return note(name, info)
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// onlyNames are the names in a folder that its .gitignore leaves when it ignores all but some and itself, as that of .liza does, where the
// board changes at each step; nil for any other.
func onlyNames(folder string) (names []string) {
	data, err := safefile.Read(filepath.Join(folder, ".gitignore"))
	if err != nil {
		return nil
	}
	all := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		name, left := strings.CutPrefix(line, "!/")
		name = strings.TrimSuffix(name, "/")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "/*" && !all:
			all = true
		case all && left && !strings.ContainsAny(name, `/*?[\ `):
			names = append(names, name)
		default:
			return nil
		}
	}
	if !slices.Contains(names, ".gitignore") {
		return nil
	}
	return names
}
