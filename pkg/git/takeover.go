package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Taking says whose work is to be taken over.
type Taking struct {
	Task  string
	Known []string // what the work may be based on now, besides what the folder was made with; "" is skipped
	Late  bool     // the branch is not to move any more: commits are saved in the attic
}

// Taken is what was found in the git folder of a run, and what came of it.
type Taken struct {
	Open    bool     // there is such a folder; the rest is empty otherwise
	Branch  string   // that its HEAD is on; "" when detached
	Head    string   // the commit of HEAD; "" when there is none
	Commit  string   // of the task's branch there
	Moved   bool     // the task's branch is at Commit now, and was not before
	Attic   string   // ref that holds the commits, because the branch could not move
	Refused string   // why the commits were not taken over; "": they were, or there are none
	Others  []string // refs that hold what the run left on other branches or in its stash; only when its folder goes
}

// TakeOver brings what a run has committed on the task's branch into the repository, and moves the branch there. It reads
// the name of one commit from the folder of the run, and the objects of this commit, which go through a quarantine and
// git's own check. Nothing else that is in the folder is looked at. Without a new commit it reads two small files.
func (r *Repo) TakeOver(ctx context.Context, t Taking) (Taken, error) {
	if err := checkID(t.Task); err != nil {
		return Taken{}, err
	}
	f := r.current(t.Task)
	if f == nil {
		return Taken{}, nil
	}
	return f.takeOver(ctx, t, false)
}

func (f *Folder) takeOver(ctx context.Context, t Taking, last bool) (Taken, error) {
	out := Taken{Open: true}
	fail := func(err error) (Taken, error) {
		return out, fmt.Errorf("cannot take over the commits of %s: %w", t.Task, err)
	}
	if err := f.load(); err != nil { // another process may have taken over before
		return fail(err)
	}
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		out.Refused = fmt.Sprintf("its git folder cannot be read: %v", err)
		return out, nil
	}
	defer view.Close()
	p := private{view}
	if out.Refused = p.head(&out); out.Refused != "" {
		return out, nil
	}
	if out.Commit, err = p.ref(branches + TaskBranch(t.Task)); err != nil {
		if out.Branch == TaskBranch(t.Task) {
			out.Refused = fmt.Sprintf("its branch %s cannot be read: %v", out.Branch, err)
		}
		return out, nil
	}
	own, err := f.repo.tip(ctx, TaskBranch(t.Task))
	if err != nil {
		return fail(err)
	}
	if out.Commit == own || out.Commit == f.record.Tip {
		return out, nil
	}
	in := &incoming{folder: f, from: p, commit: out.Commit, own: own, known: f.knownTo(t, own), last: last}
	out.Refused, err = in.fetch(ctx)
	defer in.remove()
	if err == nil && out.Refused == "" {
		out.Refused, err = in.takeLarge(ctx)
	}
	if err == nil && (out.Refused == "" || in.sound) {
		err = f.move(ctx, t, in, &out)
	}
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// knownTo are the commits that the work may be based on.
func (f *Folder) knownTo(t Taking, own string) []string {
	all := slices.Concat(f.record.Known, t.Known, []string{f.record.Tip, own})
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(rev string) bool { return rev == "" })
}

// move moves the branch to what is in the repository by now. Commits that must not be there are saved.
func (f *Folder) move(ctx context.Context, t Taking, in *incoming, out *Taken) error {
	s, err := f.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if in.own != "" && in.own != f.record.Tip && out.Refused == "" && !t.Late {
		if further, err := s.IsAncestor(ctx, in.own, in.commit); err != nil {
			return err
		} else if !further {
			out.Refused = fmt.Sprintf("branch %s was moved to %.9s meanwhile", TaskBranch(t.Task), in.own)
		}
	}
	switch {
	case t.Late, out.Refused != "" && in.last:
		out.Attic, _, err = s.saveCommit(ctx, Work{ID: t.Task, Integration: in.own}, in.commit)
		return err
	case out.Refused != "":
		return nil
	}
	if err := s.setRef(ctx, branches+TaskBranch(t.Task), in.commit, in.own); err != nil {
		return err
	}
	out.Moved, f.record.Tip = true, in.commit
	return errors.Join(s.indexAt(ctx, t.Task, in.commit), f.write())
}

// indexAt lets the worktree's own index have a commit that its files have already.
func (s *session) indexAt(ctx context.Context, id, commit string) error {
	path := s.WorktreePath(id)
	if s.adminDir(path) == "" {
		return nil
	}
	_, err := s.change(ctx, call{dir: path, args: []string{"read-tree", "--reset", commit}})
	return err
}

// Left brings the commit that the newest run of an agent on a task is at into the repository, without a ref, and returns it:
// for PutBack, when the run is not one whose work counts. It is "" when the run is where it began, or was asked about
// before, and when the commit is not sound: what is in the files is seen all the same.
func (r *Repo) Left(ctx context.Context, task, agent string) (string, error) {
	all := r.foldersOf(task)
	at := slices.IndexFunc(all, func(f *Folder) bool { return f.record.Agent == agent && !f.record.Keep })
	if at < 0 {
		return "", nil
	}
	f := all[at]
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return "", nil
	}
	defer view.Close()
	p, out := private{view}, Taken{}
	if why := p.head(&out); why != "" || out.Head == "" || out.Head == f.record.Tip {
		return "", nil
	}
	if there, err := r.CommitExists(ctx, out.Head); err != nil {
		return "", err
	} else if !there {
		in := &incoming{folder: f, from: p, commit: out.Head, known: f.knownTo(Taking{}, ""), last: true}
		defer in.remove()
		if _, err := in.fetch(ctx); err != nil || !in.sound {
			return "", err
		}
	}
	f.record.Tip = out.Head
	return out.Head, f.write()
}

// mostOthers is how many other tips of a folder are saved.
const mostOthers = 20

// saveOthers saves what is on other branches of a folder that goes, in its stash, or on no branch, in the attic. What
// cannot be read or is not sound is left.
func (f *Folder) saveOthers(ctx context.Context) (refs []string, err error) {
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return nil, nil
	}
	defer view.Close()
	p, saved := private{view}, 0
	for _, commit := range p.tips() {
		if there, err := f.repo.CommitExists(ctx, commit); err != nil || there {
			continue
		}
		if saved++; saved > mostOthers {
			break
		}
		in := &incoming{folder: f, from: p, commit: commit, known: f.knownTo(Taking{}, ""), last: true}
		_, err := in.fetch(ctx)
		in.remove()
		if err != nil {
			return refs, err
		}
		if !in.sound {
			continue
		}
		ref, err := f.repo.Keep(ctx, f.record.Task, commit, "")
		if err != nil {
			return refs, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// RemoteBranches are the remote branches as a run knows them that has a git folder of its own: they move when it fetches
// or pushes.
func (f *Folder) RemoteBranches() map[string]string {
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return nil
	}
	defer view.Close()
	p, all := private{view}, map[string]string{}
	p.refs("refs/remotes/", func(name, commit string) { all[name] = commit })
	return all
}

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
func (p private) open(name string) (*os.File, error) {
	info, err := p.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	file, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = fmt.Errorf("%s was replaced", name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

const (
	mostOfRef    = 4096
	mostOfPacked = 64 << 20
)

// head reads what HEAD names into out. The text says what is wrong with it, "" for nothing.
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

// incoming is one taking over: commits on their way from a folder into the repository.
type incoming struct {
	folder *Folder
	from   private
	commit string
	own    string // the tip of the task's branch
	known  []string
	dir    string
	last   bool // the folder is removed after this: what may not be on the branch is saved
	sound  bool // the objects are in the repository; what speaks against them is their history
}

// What is taken over at once is bounded: a run could fill the disk with the copy.
const (
	mostFiles = 200_000
	mostBytes = 2 << 30
)

// fetch brings the objects into the repository. The text says why they may not come, "" when they are there.
func (in *incoming) fetch(ctx context.Context) (why string, err error) {
	r := in.folder.repo
	in.dir = filepath.Join(in.folder.dir, "incoming")
	if err := removeAll(in.dir); err != nil {
		return "", err
	}
	if why, err := in.copyObjects(ctx); why != "" || err != nil {
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
	if broken, err := in.check(ctx); broken != "" || err != nil {
		return broken, err
	}
	if why, err = in.history(ctx, commits); err != nil || why != "" && !in.last {
		return why, err
	}
	in.sound = true
	return why, in.moveIn(filepath.Join(r.place.CommonDir, "objects"))
}

func (in *incoming) remove() { _ = removeAll(in.dir) }

// borrowed lets a git command see the copies besides the repository's objects.
func (in *incoming) borrowed() []string {
	return []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(in.dir, "copied"))}
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
	checked := filepath.Join(in.dir, "checked")
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
	_, err = r.run(ctx, call{dir: r.place.Root, stdin: input, out: pack, env: in.borrowed(),
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
	_, err = r.run(ctx, call{dir: r.place.Root, in: pack, write: true, args: args, env: []string{
		"GIT_OBJECT_DIRECTORY=" + checked,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(r.place.CommonDir, "objects")),
	}})
	return unsoundBy(args[0], err)
}

// moveIn moves what was checked to the repository's objects, the index of a pack last.
func (in *incoming) moveIn(objects string) error {
	checked := filepath.Join(in.dir, "checked")
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
