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
	if names, err := r.branchFiles(folder); err == nil {
		return names, nil
	}
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname)", branches+folder+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %s: %w", folder, err)
	}
	var names []string
	for line := range strings.Lines(out) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), branches))
	}
	return names, nil
}

// branchFiles is Branches without a process: each step of a team looks. An error means that git has to be asked.
func (r *Repo) branchFiles(folder string) ([]string, error) {
	if exists(filepath.Join(r.place.CommonDir, "reftable")) {
		return nil, errors.ErrUnsupported
	}
	heads := filepath.Join(r.place.CommonDir, "refs", "heads")
	var names []string
	err := filepath.WalkDir(filepath.Join(heads, folder), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // none, or removed just now
		}
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		name, err := filepath.Rel(heads, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	packed, err := safefile.Read(filepath.Join(r.place.CommonDir, "packed-refs")) // after the others: what is packed meanwhile is there
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " "+branches); ok && strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
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
