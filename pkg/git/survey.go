package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/safefile"
)

// Branches lists the local branches below a folder of names: "task" gives task/a, task/b.
func (r *Repo) Branches(ctx context.Context, folder string) ([]string, error) {
	all, err := r.refsIn(ctx, branches+folder+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %s: %w", folder, err)
	}
	var names []string
	for name := range all {
		names = append(names, strings.TrimPrefix(name, branches))
	}
	slices.Sort(names)
	return names, nil
}

// refsIn is the object of each ref in the folders, which end with a slash. A ref that is a name of another one has that one's object.
func (r *Repo) refsIn(ctx context.Context, folders ...string) (map[string]string, error) {
	if all, err := r.refFiles(folders); err == nil {
		return all, nil
	}
	out, err := r.read(ctx, r.place.Root, append([]string{"for-each-ref", "--format=%(refname) %(objectname)"}, folders...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, object, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = object
	}
	return all, nil
}

// refFiles is refsIn without a process: each step of a team and both ends of each run look. An error means that git has to be
// asked: refs are kept in another way, or a file is not as git writes it.
func (r *Repo) refFiles(folders []string) (map[string]string, error) {
	if !r.refsAreFiles() {
		return nil, errors.ErrUnsupported
	}
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(r.place.CommonDir, folder), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // none, or removed just now
			}
			if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
				return err
			}
			data, err := safefile.Read(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			name, badName := filepath.Rel(r.place.CommonDir, path)
			all[filepath.ToSlash(name)] = strings.TrimSuffix(string(data), "\n")
			return errors.Join(err, badName)
		})
		if err != nil {
			return nil, err
		}
	}
	// After the files: what is packed meanwhile is in the one or in the other.
	packed, err := safefile.Read(filepath.Join(r.place.CommonDir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		object, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, folder) }) && all[name] == "" {
			all[name] = object
		}
	}
	for name, object := range all {
		if target, symbolic := strings.CutPrefix(object, "ref: "); symbolic {
			object = all[target] // a name of something elsewhere, or of nothing: git decides
			all[name] = object
		}
		if !isFullHash(object) {
			return nil, errors.ErrUnsupported
		}
	}
	return all, nil
}

// Tracked lists the files below the paths that the main checkout's index has.
func (r *Repo) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	key := ""
	if info, err := os.Stat(filepath.Join(r.place.CommonDir, "index")); err == nil && time.Since(info.ModTime()) > time.Second {
		key = fmt.Sprintf("index %d %d %d %q", info.Size(), info.ModTime().UnixNano(), inode(info), paths)
		if out, known := r.answers.get(key); known {
			return fields(out), nil
		}
	}
	out, err := r.read(ctx, r.place.Root, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot list tracked files: %w", err)
	}
	if key != "" {
		r.answers.put(key, out)
	}
	return fields(out), nil
}
