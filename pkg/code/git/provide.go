package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// ProvideWorktree makes .worktrees/<id> a worktree on branch task/<id>, from any state there (specs/protocol.md#7.3 and
// specs/protocol.md#7.4). A worktree that it creates is locked with the reason "liza <id> <nonce>": call UnlockWorktree after
// the claim is confirmed and before its use, or Abandon after a lost claim. On an error it still returns what was saved,
// moved or removed until then.
func (r *Repo) ProvideWorktree(ctx context.Context, p Provide) (Provided, error) {
	fail := func(err error) (Provided, error) {
		return Provided{}, fmt.Errorf("cannot create the worktree of %s: %w", p.ID, err)
	}
	if err := errors.Join(checkID(p.ID), checkNonce(p.Nonce), plainRevs(p.Base)); err != nil {
		return fail(err)
	}
	if _, err := r.Settle(ctx, p.ID, !p.Keep); err != nil {
		return fail(err)
	}
	got, err := r.provideLocked(ctx, p)
	if err == nil && got.Created { // clones may take long, so not under the lock
		var warnings []string
		warnings, err = r.updateSubmodules(ctx, got.Path)
		got.Warnings = append(got.Warnings, warnings...)
	}
	if err != nil {
		failed, err := fail(err)
		failed.LockRemoved, failed.Lost, failed.Attic = got.LockRemoved, got.Lost, got.Attic
		return failed, err
	}
	return got, nil
}

func (r *Repo) provideLocked(ctx context.Context, p Provide) (Provided, error) {
	s, err := r.lock(ctx)
	if err != nil {
		return Provided{}, err
	}
	defer s.unlock()
	job := &providing{session: s, Provide: p}
	err = job.run(ctx)
	if err == nil && job.got.Created {
		err = s.registerSubmodules(ctx, job.got.Path)
	}
	job.got.LockRemoved = s.removed
	return job.got, err
}

func (j *providing) run(ctx context.Context) error {
	j.got.Path, j.got.Branch = j.WorktreePath(j.ID), TaskBranch(j.ID)
	if err := j.look(ctx); err != nil {
		return err
	}
	if err := j.setTornLockAside(ctx); err != nil {
		return err
	}
	if err := j.dropHalfMade(ctx); err != nil {
		return err
	}
	switch {
	case j.valid && j.Keep:
		return j.keep(ctx)
	case j.tip != "" && j.Keep:
		j.got.Attached = true
		return j.add(ctx, j.tip, false)
	case j.Keep && j.RestartFrom == "":
		return j.recover(ctx)
	}
	start, err := j.start(ctx)
	if err != nil {
		return err
	}
	if taken, err := j.takeOver(ctx, start); taken || err != nil {
		return err
	}
	if j.valid || j.tip != "" {
		if err := j.clear(ctx); err != nil {
			return err
		}
	}
	return j.add(ctx, start, true)
}

// look examines the place, moves a folder away that is not a worktree, and drops git's entry of a missing folder.
func (j *providing) look(ctx context.Context) (err error) {
	if err := cmp.Or(linkAt(filepath.Dir(j.got.Path)), linkAt(j.got.Path)); err != nil { // that of a copied project leads to the worktrees of another
		return err
	}
	if err := j.branchFree(ctx, j.ID, j.got.Path); err != nil {
		return err
	}
	j.valid = j.adminDir(j.got.Path) != ""
	if !j.valid && exists(j.got.Path) {
		if err := j.moveAway(); err != nil {
			return err
		}
	}
	if j.entry, err = j.registered(ctx, j.got.Path); err != nil {
		return err
	}
	if !j.valid && j.entry != nil {
		if err := j.dropFolder(ctx, j.got.Path, j.entry); err != nil {
			return err
		}
		j.entry = nil
	}
	j.unblock(ctx, filepath.Join(j.place.CommonDir, branches+j.got.Branch+".lock"))
	j.tip, err = j.session.tip(ctx, j.got.Branch)
	return err
}

// moveAway never deletes: the folder may have a person's work. An empty folder, and one with only the link to this
// repository, is the remainder of a killed git.
func (j *providing) moveAway() error {
	if j.emptyShell(j.got.Path) {
		return nil
	}
	target := j.lostPath(j.ID, j.Now)
	if err := os.Rename(j.got.Path, target); err != nil {
		return fmt.Errorf("cannot move the folder in its place away: %v", err)
	}
	j.got.Lost = target
	return nil
}

// keep uses the worktree as it is, without the remainders of a killed claim or a killed git.
func (j *providing) keep(ctx context.Context) error {
	admin := j.adminDir(j.got.Path)
	j.unblock(ctx, filepath.Join(admin, "index.lock"), filepath.Join(admin, "HEAD.lock"))
	if j.entry != nil && claimOf(j.entry.LockReason, j.ID) != "" {
		if err := j.unlockEntry(ctx, j.got.Path); err != nil {
			return err
		}
	}
	branch, head, err := j.headOf(ctx, admin)
	if err != nil {
		return err
	}
	if branch != j.got.Branch {
		at := "detached"
		if branch != "" {
			at = "on branch " + branch
		}
		j.got.Warnings = append(j.got.Warnings, fmt.Sprintf("the worktree is %s, not on branch %s", at, j.got.Branch))
	}
	j.got.Kept, j.got.Head = true, head
	return nil
}

// unblock removes stale lock files that would stop the agent's first git command.
func (j *providing) unblock(ctx context.Context, paths ...string) {
	for _, path := range paths {
		if err := j.clearStale(ctx, path); err != nil {
			j.got.Warnings = append(j.got.Warnings, fmt.Sprintf("%s stays: %v", path, err))
		}
	}
}

// recover makes branch and folder again at the newest recorded commit, or starts over when there is none.
func (j *providing) recover(ctx context.Context) error {
	commits, err := j.recorded(ctx)
	if err != nil {
		return err
	}
	newest, newestTime := "", int64(0)
	for _, commit := range commits {
		out, err := j.read(ctx, j.place.Root, "log", "-1", "--no-show-signature", "--no-color", "--format=%ct", commit)
		if err != nil {
			return err
		}
		made, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		if err != nil {
			return fmt.Errorf("commit %s has no time", commit)
		}
		if newest == "" || made > newestTime {
			newest, newestTime = commit, made
		}
	}
	if newest != "" {
		j.got.Recovered = true
		return j.add(ctx, newest, true)
	}
	start, err := j.start(ctx)
	if err != nil {
		return err
	}
	return j.add(ctx, start, true)
}

// start finds where new work begins, and its base.
func (j *providing) start(ctx context.Context) (string, error) {
	base, err := j.Resolve(ctx, j.Base)
	if err != nil {
		return "", err
	}
	j.got.Base = base
	if j.RestartFrom == "" {
		return base, nil
	}
	start, err := j.Resolve(ctx, j.RestartFrom)
	if err != nil {
		return "", err
	}
	j.got.Base, err = j.MergeBase(ctx, start, base)
	return start, err
}

// takeOver uses the fresh worktree of a claim that was killed before it was confirmed, when it still starts at the right
// commit. Everything else is made again.
func (j *providing) takeOver(ctx context.Context, start string) (bool, error) {
	if !j.valid || j.tip != start || j.entry == nil || claimOf(j.entry.LockReason, j.ID) == "" {
		return false, nil
	}
	facts, err := j.Inspect(ctx, j.got.Path)
	if err != nil || facts.Branch != j.got.Branch || facts.Head != start || len(facts.Dirty) > 0 {
		return false, nil // what cannot be looked at is not a fresh worktree
	}
	if err := j.unlockEntry(ctx, j.got.Path); err != nil {
		return false, err
	}
	if _, err := j.git(ctx, "worktree", "lock", "--reason", claimReason(j.ID, j.Nonce, false), j.got.Path); err != nil {
		return false, err
	}
	j.got.Created, j.got.Head = true, start
	return true, nil
}

// clear saves the content of worktree and branch, and removes them.
func (j *providing) clear(ctx context.Context) error {
	path := ""
	if j.valid {
		path = j.got.Path
	}
	ref, _, err := j.save(ctx, Work{ID: j.ID, Path: path, Reason: "before a fresh worktree", Integration: j.Base})
	if err != nil {
		return err
	}
	j.got.Attic = ref
	return j.drop(ctx, j.ID, Proof{Integration: j.Base})
}

// add makes the folder, and with newBranch the branch at start. A call that fails leaves neither.
func (j *providing) add(ctx context.Context, start string, newBranch bool) error {
	args := []string{"worktree", "add", "--quiet", "--lock", "--reason", claimReason(j.ID, j.Nonce, !newBranch)}
	if newBranch {
		args = append(args, "--no-track", "-b", j.got.Branch, j.got.Path, start)
	} else {
		args = append(args, j.got.Path, j.got.Branch)
	}
	if _, err := j.git(ctx, args...); err != nil {
		clean := context.WithoutCancel(ctx)
		if entry, lookErr := j.registered(clean, j.got.Path); lookErr == nil {
			_ = j.dropFolder(clean, j.got.Path, entry)
		}
		if newBranch {
			_ = j.deleteBranch(clean, j.ID)
		}
		return err
	}
	if err := syncWorktree(ctx, j.adminDir(j.got.Path), j.got.Path); err != nil {
		return err
	}
	j.got.Created, j.got.Head = true, start
	return nil
}

// setTornLockAside moves a worktree away whole that is not to be used and whose lock has lost its reason: it may be the lock of a claim that a
// loss of power cut, or that of a person who gave none.
func (j *providing) setTornLockAside(ctx context.Context) error {
	if !j.valid || j.entry == nil || !j.entry.Locked || !tornLink([]byte(j.entry.LockReason), claimReason(j.ID, "?", false)) || j.Keep && !unmade(j.adminDir(j.got.Path)) {
		return nil
	}
	j.got.Lost = j.lostPath(j.ID, j.Now)
	if err := j.moveAside(j.ID, j.got.Lost, false); err != nil {
		return fmt.Errorf("cannot move the locked worktree in its place away: %w", err)
	}
	j.valid, j.entry = false, nil
	return nil
}

// dropHalfMade removes remainders of a claim that was killed before its confirmation (specs/protocol.md#7.4), if former work
// is to go on: a worktree that is not whole, and one that was made for new work, which is not wanted now. Both have the lock
// of that claim and no content. A branch goes with the worktree that it was made for.
func (j *providing) dropHalfMade(ctx context.Context) error {
	if !j.valid || j.entry == nil || claimOf(j.entry.LockReason, j.ID) == "" {
		return nil
	}
	empty := unmade(j.adminDir(j.got.Path))
	if !empty && j.Keep {
		var err error
		if empty, err = j.holdsNothing(ctx); err != nil {
			return err
		}
	}
	if !empty {
		return nil
	}
	if err := j.dropFolder(ctx, j.got.Path, j.entry); err != nil {
		return err
	}
	if !strings.HasSuffix(j.entry.LockReason, " "+attachedMark) {
		if err := j.deleteBranch(ctx, j.ID); err != nil {
			return err
		}
	}
	var err error
	j.valid, j.entry = false, nil
	j.tip, err = j.session.tip(ctx, j.got.Branch)
	return err
}

// holdsNothing reports whether a worktree with a claim's lock lacks files, or is at the integration branch while recorded
// work is elsewhere.
func (j *providing) holdsNothing(ctx context.Context) (bool, error) {
	held, err := j.holding(ctx, j.ID, j.got.Path)
	if err != nil || held.changed() {
		return false, err
	}
	if len(held.dirty) > 0 {
		return true, nil
	}
	if strings.HasSuffix(j.entry.LockReason, " "+attachedMark) || held.head == "" || held.head != held.tip {
		return false, nil
	}
	if own, err := j.IsAncestor(ctx, held.head, j.Base); err != nil || !own {
		return false, err
	}
	recorded, err := j.recorded(ctx)
	if err != nil {
		return false, err
	}
	for _, commit := range recorded {
		if has, err := j.IsAncestor(ctx, commit, held.head); err != nil || !has {
			return err == nil, err
		}
	}
	return false, nil
}

// recorded are the commits that former work of the task may be found at, as far as they are there.
func (j *providing) recorded(ctx context.Context) ([]string, error) {
	saved, err := j.AtticRefs(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	candidates := append([]string(nil), j.Candidates...)
	if len(saved) > 0 {
		candidates = append(candidates, saved[0].Commit)
	}
	base := j.WorkBase
	if base != "" {
		if base, err = j.Resolve(ctx, base); err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		} // a base that is lost tells nothing
	}
	var found []string
	for _, candidate := range candidates {
		commit, err := j.Resolve(ctx, candidate)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil && base != "" {
			var has bool
			if has, err = j.IsAncestor(ctx, base, commit); err == nil && !has {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		found = append(found, commit)
	}
	return found, nil
}

// providing is one ProvideWorktree under the lock.
type providing struct {
	*session
	Provide
	got   Provided
	entry *Worktree // git's entry of the worktree there
	valid bool      // a worktree of this repository is there
	tip   string    // tip of branch task/<id>, or ""
}

// Provide has the arguments of ProvideWorktree.
type Provide struct {
	ID          string
	Base        string    // head of the integration branch, where new work starts
	Keep        bool      // continue the present work; false: a fresh worktree, former work goes to the attic
	RestartFrom string    // commit where new work starts instead, or ""
	Candidates  []string  // recorded commits from which to recover lost work: review_commit, that of the last attempt; "" is skipped
	WorkBase    string    // base of the former work, which must contain it; "" if unknown
	Nonce       string    // name of this call for Abandon; one word
	Now         time.Time // time in the name of a folder that is moved away
}

// Provided is the result of ProvideWorktree.
type Provided struct {
	Path   string
	Branch string
	Head   string
	Base   string // base of new work; "" if former work continues, whose recorded base stays

	Created   bool // the worktree is new to this claim, so its setup has to run
	Kept      bool // it existed and continues
	Attached  bool // a new folder for the existing branch
	Recovered bool // folder and branch were missing: the branch was made again at a recorded commit

	Attic       string   // ref of the former work
	Lost        string   // new path of what was in its place: no worktree, or one whose lock has lost its reason
	LockRemoved []string // removed stale lock files of git
	Warnings    []string // submodules that could not be initialised, a kept worktree on another branch
}

// unmade reports whether git was killed before it had checked out everything in a worktree: its HEAD is all zeros, or it has
// no index yet, which git writes last. No agent has worked there; its files may be incomplete.
func unmade(admin string) bool {
	_, err := os.Lstat(filepath.Join(admin, "index"))
	return headOfZeros(admin) || errors.Is(err, fs.ErrNotExist)
}

// dropUnfinished removes git's entries of worktrees whose git was killed while it wrote them: there is no index, so nothing was
// checked out. Without a commondir, or with an empty one, every list of worktrees fails. With the HEAD of zeros that git writes
// first, every fetch fails: the entry of a task gets its branch then, because its lock has the nonce of the killed claim. With an
// index a loss of power has emptied the commondir: it is written again, it says the same in each. An entry stays while a git
// process of this repository lives: it may be writing just now.
func (s *session) dropUnfinished() {
	worktrees := filepath.Join(s.place.CommonDir, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if err != nil {
		return
	}
	for _, e := range entries {
		admin := filepath.Join(worktrees, e.Name())
		common, err := os.Stat(filepath.Join(admin, "commondir"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		whole := exists(filepath.Join(admin, "index"))
		linked := err == nil && common.Size() > 0
		if linked && (whole || !headOfZeros(admin)) {
			continue
		}
		info, err := os.Lstat(admin)
		if err != nil || !info.IsDir() {
			continue
		}
		switch {
		case ownerGone(info, []string{s.place.Root, s.place.CommonDir, s.WorktreesFolder()}) != nil:
		case linked && s.isTask(e.Name()):
			_ = safefile.Replace(filepath.Join(admin, "HEAD"), []byte("ref: "+branches+TaskBranch(e.Name())+"\n"), 0o644)
		case whole:
			_ = safefile.Replace(filepath.Join(admin, "commondir"), []byte("../..\n"), 0o644)
		default:
			_ = os.RemoveAll(admin) // what cannot be removed is told by git
		}
	}
}

// isTask reports whether an entry is that of a task's worktree, which has its name.
func (s *session) isTask(entry string) bool {
	link, err := safefile.ReadWithin(filepath.Join(s.place.CommonDir, "worktrees", entry), "gitdir", 4096)
	return err == nil && filepath.Dir(strings.TrimSpace(string(link))) == filepath.Join(s.WorktreesFolder(), entry)
}

// headOfZeros reports whether HEAD is what git worktree add writes before it knows the commit.
func headOfZeros(admin string) bool {
	head, err := safefile.ReadWithin(admin, "HEAD", 4096)
	return err == nil && len(head) > 0 && strings.Trim(string(head), "0 \n") == ""
}

// emptyShell removes a folder that holds nothing, but perhaps the link to this repository, and reports whether it did.
func (s *session) emptyShell(path string) bool {
	link := filepath.Join(path, ".git")
	list, err := os.ReadDir(path)
	if err != nil || len(list) > 1 {
		return false
	}
	if len(list) == 1 {
		info, err := os.Lstat(link)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 && !s.ours(link) || os.Remove(link) != nil {
			return false
		}
	}
	return os.Remove(path) == nil
}

// ours reports whether a file .git names a linked worktree of this repository.
func (s *session) ours(link string) bool {
	target, err := readGitFile(link)
	return err == nil && filepath.Dir(target) == filepath.Join(s.place.CommonDir, "worktrees")
}

// removedMark begins the names of folders that are being removed.
const removedMark = ".removed-"

// removeFolder removes a folder without content. It may be killed at any moment: it renames the folder before it deletes the
// first file, so that a remainder is never taken for a worktree, or for a person's folder.
func (s *session) removeFolder(path string, forget func() error) error {
	aside := filepath.Join(filepath.Dir(path), removedMark+filepath.Base(path))
	if err := safefile.RemoveTree(aside); err != nil {
		return err
	}
	err := os.Rename(path, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := forget(); err != nil {
		_ = os.Rename(aside, path)
		return err
	}
	return safefile.RemoveTree(aside)
}
