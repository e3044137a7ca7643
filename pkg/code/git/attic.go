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
	"time"
)

// Work is the work to save: the branch task/<ID> and, if Path is set, the worktree there.
type Work struct {
	ID          string
	Path        string           // path of the worktree; "": the branch alone
	Reason      string           // for the commit's message
	Integration string           // head of the integration branch; "" if there is none
	Base        string           // commit where the work began; "" if unknown
	Left        string           // commit that a run with its own git folder was at; "" for none
	Tell        func(Back) error // is told what PutBack has saved; nothing is undone before that is done; nil: nobody is
}

func (s *session) save(ctx context.Context, w Work) (ref string, saved bool, err error) {
	held, err := s.holding(ctx, w.ID, w.Path)
	if err != nil {
		return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
	}
	return s.saveHeld(ctx, w, held)
}

func (s *session) saveHeld(ctx context.Context, w Work, held holding) (ref string, saved bool, err error) {
	if w.Left != "" {
		held.head = w.Left
		if held.headTree, err = s.treeOf(ctx, w.Left); err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
	}
	if len(held.nested) > 0 {
		return "", false, &UnsavedError{ID: w.ID, Lost: held.nested}
	}
	if held.changed() { // on top of HEAD, so HEAD is kept with it
		if ref, saved, err = s.saveContent(ctx, w, held); err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
	}
	for _, commit := range held.commits() {
		kept, made, err := s.saveCommit(ctx, w, commit)
		if err != nil {
			return "", false, fmt.Errorf("cannot save the work of %s: %w", w.ID, err)
		}
		if ref == "" {
			ref = kept
		}
		saved = saved || made
	}
	return ref, saved, nil
}

// saveCommit keeps a commit unless it is the base, or reachable from the integration branch or the attic.
func (s *session) saveCommit(ctx context.Context, w Work, commit string) (ref string, saved bool, err error) {
	all, err := s.AtticRefs(ctx, w.ID)
	if err != nil {
		return "", false, err
	}
	for _, one := range all {
		if one.Commit == commit {
			return one.Ref, false, nil
		}
	}
	lost, err := s.beyond(ctx, commit, Proof{w.Integration, w.Base}, all)
	if err != nil || lost == 0 {
		return "", false, err
	}
	ref, err = s.addAttic(ctx, w.ID, commit, all)
	return ref, err == nil, err
}

// saveContent saves the differences between the files of a worktree and its HEAD.
func (s *session) saveContent(ctx context.Context, w Work, held holding) (ref string, saved bool, err error) {
	all, err := s.AtticRefs(ctx, w.ID)
	if err != nil {
		return "", false, err
	}
	if one, found := held.savedIn(all); found {
		return one.Ref, false, nil
	}
	var parents []string
	if held.head != "" {
		parents = []string{held.head}
	}
	commit, err := s.CommitTree(ctx, held.tree, parents, strings.TrimSpace("liza attic "+w.ID+" "+w.Reason)+"\n")
	if err != nil {
		return "", false, err
	}
	ref, err = s.addAttic(ctx, w.ID, commit, all)
	return ref, err == nil, err
}

// addAttic makes the next ref of the attic.
func (s *session) addAttic(ctx context.Context, id, commit string, all []Attic) (string, error) {
	if err := s.SyncLoose(""); err != nil {
		return "", err
	}
	n := 1
	if len(all) > 0 {
		n = all[0].N + 1
	}
	ref := attic + id + "/" + strconv.Itoa(n)
	return ref, s.setRef(ctx, ref, commit, "")
}

// Keep saves a commit in the attic of name, unless head or the attic contains it. It returns the ref that holds it, or "" if
// head contains it, or git cannot read it. An empty head contains nothing. Unlike the id of a task, name may be any component of a ref.
func (r *Repo) Keep(ctx context.Context, name, commit, head string) (ref string, err error) {
	s, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer s.unlock()
	if why, err := s.torn(ctx, []string{head}, commit); head != "" && (err != nil || why != "") {
		return "", err
	}
	if there, err := s.CommitExists(ctx, commit); err != nil || !there {
		return "", err
	}
	// A person's commit that the disk never had contains nothing, although the branch names it.
	if head != "" && !s.lacks(head) {
		if held, err := s.IsAncestor(ctx, commit, head); err != nil || held {
			return "", err
		}
	}
	all, err := s.atticOf(ctx, name)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if one.Commit == commit {
			return one.Ref, nil
		}
	}
	return s.addAttic(ctx, name, commit, all)
}

const attic = "refs/liza/attic/"

// An Attic is one saved state of a task's work.
type Attic struct {
	Ref    string
	N      int
	Commit string
	tree   string
	parent string // first parent
}

// AtticRefs lists the saved work of id, newest first.
func (r *references) AtticRefs(ctx context.Context, id string) ([]Attic, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return r.atticOf(ctx, id)
}

func (r *references) atticOf(ctx context.Context, id string) ([]Attic, error) {
	if none, err := r.refFiles([]string{attic + id + "/"}); err == nil && len(none) == 0 {
		return nil, nil // as a rule
	}
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname) %(objectname) %(tree) %(parent)", attic+id+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the attic of %s: %w", id, err)
	}
	var all []Attic
	for line := range strings.Lines(out) {
		parts := append(strings.Split(strings.TrimSuffix(line, "\n"), " "), "")
		n, err := strconv.Atoi(strings.TrimPrefix(parts[0], attic+id+"/"))
		if err != nil || len(parts) < 4 {
			continue // not one of ours
		}
		all = append(all, Attic{Ref: parts[0], N: n, Commit: parts[1], tree: parts[2], parent: parts[3]})
	}
	newestFirst(all)
	return all, nil
}

func newestFirst(all []Attic) {
	slices.SortFunc(all, func(a, b Attic) int { return b.N - a.N })
}

// Proof has the commits, besides the task's attic, that make the removal of work safe.
type Proof struct {
	Integration string // head of the integration branch; "" if there is none
	Base        string // commit where the work began: a branch that is still there has no work; "" if unknown
}

// beyond counts the commits up to commit that neither the proof nor the attic has.
func (r *references) beyond(ctx context.Context, commit string, proof Proof, all []Attic) (int, error) {
	if commit == proof.Base {
		return 0, nil
	}
	if held, err := r.Reaches(ctx, commit, proof.Integration); err == nil && held {
		return 0, nil // as a rule: merged work goes
	}
	args := []string{"rev-list", "--count", commit, "--not"}
	if proof.Integration != "" {
		args = append(args, proof.Integration)
	}
	for _, one := range all {
		args = append(args, one.Commit)
	}
	out, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, errors.New("git rev-list printed no number")
	}
	return count, nil
}

// A Saved is a ref of Liza's own, with the time of its commit.
type Saved struct {
	Ref    string
	ID     string // task of the work
	Commit string
	At     time.Time // time of the commit
}

// SavedWork lists all refs of the attic.
func (r *references) SavedWork(ctx context.Context) ([]Saved, error) {
	return r.saved(ctx, attic, true)
}

// Candidates lists the commits of started merges (specs/protocol.md#8.2, M5).
func (r *references) Candidates(ctx context.Context) ([]Saved, error) {
	return r.saved(ctx, "refs/liza/candidate/", false)
}

func (r *references) saved(ctx context.Context, folder string, numbered bool) ([]Saved, error) {
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname) %(objectname) %(committerdate:unix)", folder)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", folder, err)
	}
	var all []Saved
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // no commit
		}
		at, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read the time of %s: %v", words[0], err)
		}
		id := strings.TrimPrefix(words[0], folder)
		if numbered {
			id = id[:max(strings.LastIndexByte(id, '/'), 0)]
		}
		all = append(all, Saved{Ref: words[0], ID: id, Commit: words[1], At: time.Unix(at, 0)})
	}
	return all, nil
}

// Unsaved lists the work for which Remove, with the same proof, would refuse; it is empty if Remove would remove the task.
func (r *Repo) Unsaved(ctx context.Context, id string, proof Proof) ([]string, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.unlock()
	held, err := s.holding(ctx, id, s.WorktreePath(id))
	if err != nil {
		return nil, err
	}
	if err := s.branchFree(ctx, id, s.WorktreePath(id)); err != nil {
		return nil, err
	}
	return s.unsaved(ctx, id, held, proof)
}

// A lockFile is a lock file of git. Busy is the reason why it may be in use, or "" if no git process of this repository
// lives: then the next call that needs the lock removes it (specs/protocol.md#7.3).
type lockFile struct {
	Path string
	Made time.Time
	Busy string
}

// LockFiles lists the present lock files of git. A running git has some of them for a moment.
func (r *Repo) LockFiles(ctx context.Context) ([]lockFile, error) {
	var found []lockFile
	var infos []fs.FileInfo
	look := func(path string) {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			found, infos = append(found, lockFile{Path: path, Made: info.ModTime()}), append(infos, info)
		}
	}
	dirs := []string{r.place.CommonDir}
	linked, _ := filepath.Glob(filepath.Join(r.place.CommonDir, "worktrees", "*"))
	for _, dir := range append(dirs, linked...) {
		for _, name := range []string{"index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"} {
			look(filepath.Join(dir, name))
		}
	}
	_ = filepath.WalkDir(filepath.Join(r.place.CommonDir, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".lock") {
			look(path)
		}
		return nil // a folder that vanishes meanwhile has no lock file
	})
	if len(found) == 0 {
		return nil, nil
	}
	folders, err := (&session{Repo: r}).folders(ctx)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if err := ownerGone(infos[i], folders); err != nil {
			found[i].Busy = err.Error()
		}
	}
	return found, nil
}

// UnderWay returns the unfinished operation of git in a checkout: merge, rebase, cherry-pick, revert or "". path is a linked
// worktree, or the main checkout.
func (r *runner) UnderWay(path string) string {
	dir := r.place.CommonDir
	if filepath.Clean(path) != r.place.Root {
		if dir = r.adminDir(path); dir == "" {
			return ""
		}
	}
	for _, one := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
	} {
		if exists(filepath.Join(dir, one.file)) {
			return one.name
		}
	}
	return ""
}

// Version returns the version of the git command, or "" if it cannot be run.
func Version(ctx context.Context) string {
	r := &runner{env: environment(nil)}
	out, err := r.read(ctx, "", "version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(out, "git version "))
}

// Save saves the work of a task in the attic (specs/protocol.md#8.6, E-SAVE): its tracked changes and its untracked files
// that are not ignored, as a commit on top of the worktree's HEAD, and every commit of HEAD and of the branch. It changes
// nothing in the worktree. ref is the attic ref of the newest commit, or "" if there is nothing to save; saved reports
// whether this call made it. Work that cannot be saved (inside a submodule or a nested repository) is an *UnsavedError.
func (r *Repo) Save(ctx context.Context, w Work) (ref string, saved bool, err error) {
	if err := checkID(w.ID); err != nil {
		return "", false, err
	}
	if _, err := r.Settle(ctx, w.ID, true); err != nil {
		return "", false, err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return "", false, err
	}
	defer s.unlock()
	return s.save(ctx, w)
}

// The folders of refs with files that are not work, but what commands made of a commit for people to look at.
const (
	evidence     = "refs/liza/evidence/"
	evidenceBase = "refs/liza/evidence-base/" // by a key, instead of task and commit
)

// A Kept is a file of KeepFiles: its content, or with Object that of a blob which the repository has.
type Kept struct {
	Path    string
	Content []byte
	Object  string
}

// KeepFiles makes a commit of files alone and lets the evidence ref of a task and its commit lead to it, or, without a task, that of a
// key. It returns the commit.
func (r *Repo) KeepFiles(ctx context.Context, task, name string, files []Kept) (commit string, err error) {
	ref := evidenceRef(task, name)
	if err := refName(ref); err != nil {
		return "", err
	}
	parts := []io.Reader{strings.NewReader(fmt.Sprintf("feature done\ncommit %s\ncommitter Liza <liza@localhost> now\ndata <<.\n%s\n.\n", ref, "liza evidence "+task+" "+name))}
	for _, f := range files {
		to := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(f.Path) + `"`
		if f.Object != "" {
			parts = append(parts, strings.NewReader("M 100644 "+f.Object+" "+to+"\n"))
			continue
		}
		parts = append(parts, strings.NewReader(fmt.Sprintf("M 100644 inline %s\ndata %d\n", to, len(f.Content))), bytes.NewReader(f.Content), strings.NewReader("\n"))
	}
	s, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer s.unlock()
	in := io.MultiReader(append(parts, strings.NewReader("done\n"))...)
	if _, err := s.run(ctx, call{dir: s.place.Root, args: []string{"fast-import", "--quiet", "--force", "--done", "--date-format=now"}, in: in, write: true}); err != nil {
		return "", fmt.Errorf("cannot keep files as %s: %w", ref, err)
	}
	return s.refValue(ctx, ref)
}

func evidenceRef(task, name string) string {
	if task == "" {
		return evidenceBase + name
	}
	return evidence + task + "/" + name
}

// Evidence lists the commits of KeepFiles: those of a task, or with "" those of all tasks, and those of keys, which have no ID.
func (r *references) Evidence(ctx context.Context, task string) ([]Saved, error) {
	all, err := r.saved(ctx, evidence, true)
	if err != nil || task != "" {
		return slices.DeleteFunc(all, func(one Saved) bool { return one.ID != task }), err
	}
	keys, err := r.saved(ctx, evidenceBase, false)
	for _, one := range keys {
		one.ID = ""
		all = append(all, one)
	}
	return all, err
}

// KeptFiles returns the commit of KeepFiles for a task and its commit, or, without a task, for a key; "" if there is none.
func (r *references) KeptFiles(ctx context.Context, task, name string) (string, error) {
	commit, err := r.Ref(ctx, evidenceRef(task, name))
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return commit, err
}
