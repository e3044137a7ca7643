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
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"liza/pkg/safefile"
)

// fetch brings the objects into the repository. The text says why they may not come, "" when they are there.
func (in *incoming) fetch(ctx context.Context) (why string, err error) {
	ctx, done := in.folder.repo.inTime(ctx)
	defer done()
	if why, err = in.bring(ctx); ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return why, err
}

func (in *incoming) bring(ctx context.Context) (why string, err error) {
	r := in.folder.repo
	in.dir = filepath.Join(in.folder.dir, "incoming")
	if err := safefile.RemoveTree(in.dir); err != nil {
		return "", err
	}
	if why, err := in.copyObjects(ctx); why != "" || err != nil {
		return why, err
	}
	sizes, why, err := in.sizes(ctx)
	if why != "" || err != nil {
		return why, err
	}
	commits, err := r.newCommits(ctx, in.commit, in.known, in.borrowed()...)
	if err != nil {
		return unsoundBy("rev-list", err)
	}
	if len(commits) == 0 { // it is one of those that are known, or not a commit
		found, err := r.CommitExists(ctx, in.commit)
		if !found {
			why = fmt.Sprintf("%.9s is not a commit", in.commit)
		}
		return why, err
	}
	// The copies are measured to spare git the reading of bombs. They may have any names, and packs may disagree: what counts is
	// what git has checked, named by its content.
	if why, err := in.extent(ctx, sizes); why != "" || err != nil {
		return why, err
	}
	if broken, err := in.check(ctx); broken != "" || err != nil {
		return broken, err
	}
	in.checked = true
	if sizes, why, err = in.sizes(ctx); why != "" || err != nil {
		return why, err
	}
	if why, err := in.extent(ctx, sizes); why != "" || err != nil {
		return why, err
	}
	if commits, err = r.newCommits(ctx, in.commit, in.known, in.borrowed()...); err != nil {
		return unsoundBy("rev-list", err)
	}
	if why, err = in.history(ctx, commits); err != nil || why != "" && !in.last {
		return why, err
	}
	in.sound = true
	if err := in.moveIn(filepath.Join(r.place.CommonDir, "objects")); err != nil {
		return why, err
	}
	if why == "" {
		r.rememberSound(in.commit, in.known)
	}
	return why, nil
}

// history says what speaks against the new commits: they have to be the task's own line, on top of what is known.
func (in *incoming) history(ctx context.Context, commits [][]string) (string, error) {
	r := in.folder.repo
	if stray := strayOf(commits); stray != "" {
		return stray, nil
	}
	for _, c := range commits {
		if len(c) == 1 {
			return fmt.Sprintf("the history below commit %.9s was replaced", c[0]), nil
		}
	}
	args := append([]string{"rev-list", "--count", in.commit, "--not"}, in.known...)
	args = append(args, "--exclude="+branches+TaskBranch(in.folder.record.Task), "--glob="+branches+"task/*", "--")
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: in.borrowed()})
	if err != nil {
		return unsoundBy("rev-list", err)
	}
	if strings.TrimSpace(out) != strconv.Itoa(len(commits)) {
		return "it has commits of another task's branch", nil
	}
	return "", nil
}

// check lets git pack what is new and check each object of it, as it checks what is sent to it.
func (in *incoming) check(ctx context.Context) (string, error) {
	r := in.folder.repo
	checked := in.store("checked")
	if err := os.MkdirAll(filepath.Join(checked, "pack"), 0o755); err != nil {
		return "", err
	}
	pack, err := os.OpenFile(filepath.Join(in.dir, "new.pack"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer pack.Close()
	input := in.commit + "\n"
	for _, rev := range in.known {
		input += "^" + rev + "\n"
	}
	_, err = r.run(ctx, call{dir: r.place.Root, stdin: input, out: pack, env: in.borrowed(), config: frugal,
		args: []string{"pack-objects", "--quiet", "--stdout", "--revs", "--thin", "--delta-base-offset", "--missing=error"}})
	if err != nil {
		return unsoundBy("pack-objects", err)
	}
	head := make([]byte, 12)
	if _, err := pack.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("PACK")) {
		return "", fmt.Errorf("git made no pack: %v", err)
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	limit := fmt.Sprintf("--max-input-size=%d", r.mostTaken())
	args := []string{"index-pack", "--strict", "--stdin", "--fix-thin", limit}
	if few := bytes.Compare(head[8:], []byte{0, 0, 0, 100}) < 0; few { // each pack makes every later look slower
		args = []string{"unpack-objects", "-q", "--strict", limit}
	}
	_, err = r.run(ctx, call{dir: r.place.Root, in: pack, write: true, args: args, config: frugal, env: []string{
		mostMemory, "GIT_OBJECT_DIRECTORY=" + checked,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(r.place.CommonDir, "objects")),
	}})
	return unsoundBy(args[0], err)
}

// moveIn moves what was checked to the repository's objects, the index of a pack last.
func (in *incoming) moveIn(objects string) error {
	checked := in.store("checked")
	var last []string
	place := func(name string) error {
		to := filepath.Join(objects, name)
		if exists(to) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.Rename(filepath.Join(checked, name), to)
	}
	err := fs.WalkDir(os.DirFS(checked), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case strings.HasSuffix(name, ".idx"):
			last = append(last, name)
			return nil
		}
		return place(name)
	})
	for _, name := range last {
		err = errors.Join(err, place(name))
	}
	return err
}

var (
	objectFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{2}$`) })
	objectFile   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{38}|[0-9a-f]{62})$`) })
	packFile     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pack-[0-9a-f]{40,64}\.(pack|idx)$`) })
)

// copyObjects copies loose objects and packs of the folder, whose names have their form, so that they stay as they are
// while they are looked at. Everything else that lies beside them is left: alternates, bitmaps, graphs.
func (in *incoming) copyObjects(ctx context.Context) (why string, err error) {
	if err := os.MkdirAll(in.store("copied"), 0o700); err != nil {
		return "", err
	}
	c := copying{in: in, ctx: ctx, bytes: in.folder.repo.mostTaken()}
	err = c.list("objects", func(e fs.DirEntry) error {
		if !e.IsDir() || !objectFolder().MatchString(e.Name()) {
			return nil
		}
		return c.files(e.Name(), objectFile())
	})
	if err == nil {
		err = c.files("pack", packFile())
	}
	return oddOr(err)
}

// copying counts what it may still copy.
type copying struct {
	in    *incoming
	ctx   context.Context
	seen  int
	bytes int64
}

// list calls each for the entries of a folder, as many at a time as fit in memory. One that is not there has none.
func (c *copying) list(name string, each func(fs.DirEntry) error) error {
	info, err := c.in.from.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var dir *os.File
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err == nil {
		dir, err = c.in.from.root.Open(name)
	}
	if err != nil {
		return oddError{fmt.Sprintf("its folder %s cannot be read: %v", name, err)}
	}
	defer dir.Close()
	most := cmp.Or(c.in.folder.repo.maxFiles, mostFiles)
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			if c.seen++; c.seen > most {
				return oddError{fmt.Sprintf("it has more than %d files of objects", most)}
			}
			if err := errors.Join(c.ctx.Err(), each(e)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copying) files(folder string, form *regexp.Regexp) error {
	made := false
	return c.list(path.Join("objects", folder), func(e fs.DirEntry) error {
		if !form.MatchString(e.Name()) || !e.Type().IsRegular() {
			return nil
		}
		to := filepath.Join(c.in.store("copied"), folder, e.Name())
		if !made {
			made = true
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
		}
		return c.file(path.Join("objects", folder, e.Name()), to)
	})
}

func (c *copying) file(name, to string) error {
	from, err := c.in.from.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // packed meanwhile
	}
	if err != nil {
		return oddError{fmt.Sprintf("its object %s cannot be read: %v", name, err)}
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(from, c.bytes+1))
	if c.bytes -= n; c.bytes < 0 {
		err = oddError{fmt.Sprintf("it has more than %d MB of objects", c.in.folder.repo.mostTaken()>>20)}
	}
	return errors.Join(err, file.Close())
}
