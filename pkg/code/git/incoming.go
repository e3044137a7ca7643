package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/base/safefile"
)

// incoming is one pack on its way from a helper into the repository: git names its objects by their content in a quarantine,
// where they are checked.
type incoming struct {
	repo    *Repo
	tip     string // a commit of the task, or a tree of uncommitted files
	base    string // commit that tip began with, or ""
	known   []string
	task    string           // task of the commit; "": tip is a tree
	last    bool             // commits that may not be on the branch come in too, to be saved
	dir     string           // folder of the quarantine
	sizes   map[string]int64 // sizes of the objects that come in, and of others that were looked up
	objects *asking

	sound bool // the objects are in the repository; only their history may be wrong
}

// noFetch keeps git in a partial clone from fetching what a run names. What the person's history lacks is fetched.
const noFetch = "GIT_NO_LAZY_FETCH=1"

// borrowed lets a git command see the quarantine besides the repository's objects.
func (in *incoming) borrowed() []string {
	return []string{mostMemory, noFetch, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(in.dir)}
}

// An oddError is the reason why the objects of a run are refused.
type oddError struct{ text string }

func (e oddError) Error() string { return e.text }

// oddOr separates problems of the work of a run, as why, from errors of the machine.
func oddOr(err error) (why string, _ error) {
	if odd, ok := errors.AsType[oddError](err); ok {
		return odd.text, nil
	}
	if odd, ok := errors.AsType[*helpError](err); ok {
		return unsoundObjects + odd.text, nil
	}
	return "", err
}

// accept brings the objects of a pack into the repository. The text says why they may not come, "" when they are there.
func (in *incoming) accept(ctx context.Context, pack *os.File) (why string, err error) {
	ctx, done := in.repo.inTime(ctx)
	defer done()
	base := filepath.Join(in.repo.place.CommonDir, helpFolder)
	if err := safefile.MakeFolder(base, 0o700); err != nil {
		return "", err
	}
	if in.dir, err = os.MkdirTemp(base, "incoming."); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, safefile.RemoveTree(in.dir)) }()
	if why, err = in.bring(ctx, pack); ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return why, err
}

func (in *incoming) bring(ctx context.Context, pack *os.File) (why string, err error) {
	r := in.repo
	if why, err := in.unpack(ctx, pack); why != "" || err != nil {
		return why, err
	}
	if in.objects, err = r.startAsking(ctx, in.borrowed()); err != nil {
		return "", err
	}
	defer in.objects.close()
	if why, err := in.measured(ctx); why != "" || err != nil {
		return why, err
	}
	var commits [][]string
	if in.task != "" {
		if commits, err = in.commits(ctx); err != nil {
			return unsoundBy("rev-list", err)
		}
		if len(commits) == 0 { // it is one of those that are known, or not a commit
			found, err := r.CommitExists(ctx, in.tip)
			if !found {
				why = fmt.Sprintf("%.9s is not a commit", in.tip)
			}
			return why, err
		}
	}
	if why, err := in.extent(); why != "" || err != nil {
		return why, err
	}
	if in.task != "" {
		if why, err = in.history(ctx, commits); err != nil || why != "" && !in.last {
			return why, err
		}
	}
	in.sound = true
	if err := in.moveIn(filepath.Join(r.place.CommonDir, "objects")); err != nil {
		return why, err
	}
	if why == "" && in.task != "" {
		r.rememberSound(in.tip, in.known)
	}
	return why, nil
}

// commits are the new ones, the newest first, each with its parents. A line down to a commit that is known needs no process.
func (in *incoming) commits(ctx context.Context) (line [][]string, err error) {
	for at := in.tip; in.sizes[at] > 0; {
		text, err := in.objects.content(at, "commit")
		head := append(strings.SplitN(text, "\n", 4), "", "", "") // tree, one parent, author
		parent, has := strings.CutPrefix(head[1], "parent ")
		if err != nil || !has || !isFullHash(parent) || !strings.HasPrefix(head[2], "author ") {
			break
		}
		if line = append(line, []string{at, parent}); slices.Contains(in.known, parent) {
			return line, nil
		}
		at = parent
	}
	return in.repo.newCommits(ctx, in.tip, in.known, in.borrowed()...)
}

// history returns why the new commits are refused, or "": they must be the task's own line, on top of known commits.
func (in *incoming) history(ctx context.Context, commits [][]string) (string, error) {
	r := in.repo
	if stray := strayOf(commits); stray != "" {
		return stray, nil
	}
	there := false
	for _, c := range commits {
		if len(c) == 1 {
			return fmt.Sprintf("the history below commit %.9s was replaced", c[0]), nil
		}
		found, err := r.CommitExists(ctx, c[0])
		if err != nil {
			return "", err
		}
		there = there || found
	}
	if !there { // what the repository had not until now is on no branch
		return "", nil
	}
	args := append([]string{"rev-list", "--count", in.tip, "--not"}, in.known...)
	args = append(args, "--exclude="+branches+TaskBranch(in.task), "--glob="+branches+"task/*", "--")
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: in.borrowed()})
	if err != nil {
		return unsoundBy("rev-list", err)
	}
	if strings.TrimSpace(out) != strconv.Itoa(len(commits)) {
		return "it has commits of another task's branch", nil
	}
	return "", nil
}

// unpack lets git name and check each object of the pack, as it checks a push.
func (in *incoming) unpack(ctx context.Context, pack *os.File) (string, error) {
	r := in.repo
	if err := os.MkdirAll(filepath.Join(in.dir, "pack"), 0o755); err != nil {
		return "", err
	}
	head := make([]byte, 12)
	if _, err := pack.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("PACK")) {
		return unsoundObjects + "there is no pack of them", nil
	}
	if info, err := pack.Stat(); err != nil || info.Size() > r.mostTaken() {
		return fmt.Sprintf("it has more than %d MB of objects", r.mostTaken()>>20), err
	}
	args := []string{"index-pack", "--strict", "--stdin", "--fix-thin"}
	if few := bytes.Compare(head[8:], []byte{0, 0, 0, 100}) < 0; few { // each pack makes every later look slower
		args = []string{"unpack-objects", "-q", "--strict"}
	}
	_, err := r.run(ctx, call{dir: r.place.Root, in: pack, write: true, config: frugal, args: append(args, fmt.Sprintf("--max-input-size=%d", r.mostTaken())),
		env: []string{mostMemory, noFetch, "GIT_OBJECT_DIRECTORY=" + in.dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(r.place.CommonDir, "objects"))}})
	return unsoundBy(args[0], err)
}

// moveIn moves the checked objects to the repository, the index of a pack last.
func (in *incoming) moveIn(objects string) error {
	var last []string
	place := func(name string) error {
		to := filepath.Join(objects, name)
		if exists(to) {
			return nil
		}
		err := fs.ErrNotExist
		for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ { // `git gc` removes folders without objects, also a new one
			if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
				err = os.Rename(filepath.Join(in.dir, name), to)
			}
		}
		return err
	}
	err := fs.WalkDir(os.DirFS(in.dir), ".", func(name string, e fs.DirEntry, err error) error {
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

// A few small objects can stand for more than a machine holds: a tree that has another one ten times, and so on for ten
// levels, is ten thousand million files for every program that lists or checks it out, and a megabyte of an object can be a
// gigabyte of zeros. So incoming objects are measured before they are listed.
const (
	mostOfTree = 64 << 20 // bytes of a commit, tree or tag, which git reads as a whole
	mostName   = 255      // bytes that a file system allows for the name of a file
	mostPath   = 2048     // bytes of a path, below that of the worktree
)

// measured returns why the sizes of the incoming objects are refused, or "".
func (in *incoming) measured(ctx context.Context) (why string, err error) {
	names, err := in.names(ctx)
	if err != nil {
		return "", err
	}
	in.sizes = map[string]int64{}
	all := int64(0)
	for _, name := range names {
		kind, size, err := in.objects.info(name)
		if err != nil {
			return oddOr(err)
		}
		in.sizes[name] = size
		all += min(size, in.repo.mostTaken()+1)
		switch {
		case kind != "blob" && size > mostOfTree:
			return fmt.Sprintf("its %s %.9s has more than %d MB", kind, name, mostOfTree>>20), nil
		case all > in.repo.mostTaken():
			return fmt.Sprintf("its commits have more than %d MB", in.repo.mostTaken()>>20), nil
		}
	}
	return "", nil
}

// names are those of the objects in the quarantine.
func (in *incoming) names(ctx context.Context) (names []string, err error) {
	packs, err := filepath.Glob(filepath.Join(in.dir, "pack", "*.idx"))
	if err != nil || len(packs) > 0 {
		out, err := in.repo.run(ctx, call{dir: in.repo.place.Root, env: []string{noFetch, "GIT_OBJECT_DIRECTORY=" + in.dir}, args: []string{"cat-file", "--batch-check=%(objectname)", "--batch-all-objects", "--unordered", "--buffer"}})
		return strings.Fields(out), err
	}
	loose, err := filepath.Glob(filepath.Join(in.dir, "[0-9a-f][0-9a-f]", "*"))
	for _, path := range loose {
		names = append(names, filepath.Base(filepath.Dir(path))+filepath.Base(path))
	}
	return names, err
}

// extent returns why the tip must not be checked out, or "": its files are compared with those of its base.
func (in *incoming) extent() (why string, err error) {
	m := &measure{in: in, seen: map[string]part{}}
	tree, old := in.tip, ""
	if in.task != "" {
		tree, err = m.top(in.tip)
	}
	if err == nil && in.base != "" {
		old, err = m.top(in.base)
	}
	var more part
	if err == nil {
		more, err = m.beside(tree, old, 0)
	}
	switch most := in.repo.mostTaken(); {
	case err != nil:
		return oddOr(err)
	case more.files > mostFiles:
		return fmt.Sprintf("it adds more than %d files", mostFiles), nil
	case more.bytes > float64(most):
		return fmt.Sprintf("its files have %d MB more than those of its base", most>>20), nil
	case more.path > mostPath:
		return fmt.Sprintf("the path of a file has more than %d bytes", mostPath), nil
	}
	return "", nil
}

// measure counts the content of trees, each of which it reads once.
type measure struct {
	in   *incoming
	seen map[string]part // by tree
}

// part is the content of a tree, or its growth over another one. Numbers beyond any machine need not be exact.
type part struct {
	files, bytes float64
	path         int // bytes of its longest path
}

func (p *part) add(other part, sign float64) {
	const enough = 1e15
	p.files, p.bytes = min(p.files+sign*other.files, enough), min(p.bytes+sign*other.bytes, enough)
}

type entry struct{ mode, name, object string }

func (e entry) isTree() bool { return e.mode == "40000" }

// beside returns the content of a tree that old ("" for none) does not have.
func (m *measure) beside(tree, old string, depth int) (more part, err error) {
	if tree == old {
		return more, nil
	}
	list, err := m.entries(tree)
	before := map[string]entry{}
	if err == nil && old != "" {
		var were []entry
		were, err = m.entries(old)
		for _, e := range were {
			before[e.name] = e
		}
	}
	for _, e := range list {
		was, there := before[e.name]
		delete(before, e.name)
		var inner, gone part
		switch {
		case err != nil:
			return more, err
		case there && was.object == e.object:
			continue
		case there && e.isTree() && was.isTree():
			inner, err = m.beside(e.object, was.object, depth+1)
		default:
			if inner, err = m.whole(e, depth+1); err == nil && there {
				gone, err = m.whole(was, depth+1)
			}
		}
		more.add(inner, 1)
		more.add(gone, -1)
		more.path = max(more.path, inner.path+len(e.name)+1)
	}
	for _, e := range before {
		gone, wrong := m.whole(e, depth+1)
		err = cmp.Or(err, wrong)
		more.add(gone, -1)
	}
	return more, err
}

// whole is all that an entry of a tree has.
func (m *measure) whole(e entry, depth int) (p part, err error) {
	switch known := false; {
	case e.mode == ModeGitlink:
		return p, nil
	case !e.isTree():
		size, err := m.size(e.object)
		return part{files: 1, bytes: float64(size)}, err
	case depth > mostPath/2:
		return p, oddError{fmt.Sprintf("the path of a file has more than %d bytes", mostPath)}
	default:
		if p, known = m.seen[e.object]; known {
			return p, nil
		}
	}
	list, err := m.entries(e.object)
	for _, one := range list {
		var inner part
		if inner, err = m.whole(one, depth+1); err != nil {
			return p, err
		}
		p.add(inner, 1)
		p.path = max(p.path, inner.path+len(one.name)+1)
	}
	m.seen[e.object] = p
	return p, err
}

func (m *measure) entries(tree string) (list []entry, err error) {
	text, err := m.in.objects.content(tree, "tree")
	for width := len(tree) / 2; text != "" && err == nil; {
		head, rest, _ := strings.Cut(text, "\x00")
		mode, name, ok := strings.Cut(head, " ")
		switch {
		case !ok || len(rest) < width:
			return nil, oddError{fmt.Sprintf("its tree %.9s is broken off", tree)}
		case len(name) > mostName:
			return nil, oddError{fmt.Sprintf("the name of a file has more than %d bytes", mostName)}
		}
		list, text = append(list, entry{strings.TrimLeft(mode, "0"), name, hex.EncodeToString([]byte(rest[:width]))}), rest[width:]
	}
	return list, err
}

// top is the tree of a commit.
func (m *measure) top(commit string) (string, error) {
	content, err := m.in.objects.content(commit, "commit")
	line, _, _ := strings.Cut(content, "\n")
	return strings.TrimPrefix(line, "tree "), err
}

// size is that of a file. One that is missing is found by git's own check.
func (m *measure) size(name string) (int64, error) {
	if size, known := m.in.sizes[name]; known {
		return size, nil
	}
	_, size, err := m.in.objects.info(name)
	if _, missing := errors.AsType[oddError](err); missing {
		err = nil
	}
	m.in.sizes[name] = size
	return size, err
}
