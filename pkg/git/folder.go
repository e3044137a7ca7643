package git

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

// FolderSpec asks for the git folder of one run.
type FolderSpec struct {
	Task     string // whose worktree; "": the main checkout, which can be read only
	Agent    string // whose run it is
	Keep     bool   // what it commits on the task's branch is taken over; false: it is thrown away
	Branches map[string]string
	// Branches are branches that it sees at another commit than they are at: the integration branch, where Liza left it.

	Known    []string // what the work may be based on: its base, the integration branch; "" is skipped
	Redirect bool     // the worktree's .git names the folder until it is closed; false: it is mounted
	Remotes  bool     // it knows the remotes, with their addresses
}

// A Folder is a git folder of one run: a plain repository with branches, index, configuration and objects of its own
// that borrows the repository's objects. What a run does in it changes nothing elsewhere; TakeOver takes what counts.
type Folder struct {
	Git    string   // the folder that the run sees
	Target string   // where it is mounted: git's folder of the worktree, or the common dir
	Read   []string // what it needs besides, read-only, at the same path; some of it is below Target

	repo   *Repo
	dir    string
	record folderRecord
	lock   *flock.Flock
}

// folderRecord is what Liza knows of a folder, out of reach of the run.
type folderRecord struct {
	Task  string   `json:"task,omitempty"`
	Agent string   `json:"agent"`
	Keep  bool     `json:"keep,omitempty"`
	Seq   int      `json:"seq"`           // of the folders of the task, the newest one is the one that counts
	Tip   string   `json:"tip,omitempty"` // of the task's branch when it was made or last taken over
	Known []string `json:"known,omitempty"`
}

func (f *Folder) write() error {
	data, err := json.Marshal(f.record)
	if err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(f.dir, recordFile), data, 0o600)
}

// restoreLink lets the worktree's .git name git's folder again, if it names this one.
func (f *Folder) restoreLink() error {
	if f.record.Task == "" {
		return nil
	}
	link := filepath.Join(f.repo.WorktreePath(f.record.Task), ".git")
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if target, err := readGitFile(link); err != nil || target != f.Git {
		return nil
	}
	admin := f.repo.adminOf(link)
	if admin == "" {
		return nil
	}
	return replaceLink(link, "gitdir: "+admin)
}

// remove takes the record first: without it the folder is a half-made one.
func (f *Folder) remove() error {
	err := os.Remove(filepath.Join(f.dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, safefile.RemoveTree(f.dir), f.lock.Close())
}

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

// foldersOf are the folders of a task that have a record, the newest first. Their locks are not taken.
func (r *Repo) foldersOf(task string) []*Folder {
	all := slices.DeleteFunc(r.folders(), func(f *Folder) bool { return f.record.Task != task })
	slices.SortFunc(all, func(a, b *Folder) int { return b.record.Seq - a.record.Seq })
	return all
}

// folders are all folders of runs that have a record.
func (r *Repo) folders() []*Folder {
	dir := filepath.Join(r.place.CommonDir, foldersDir)
	entries, _ := os.ReadDir(dir)
	var all []*Folder
	for _, e := range entries {
		f := &Folder{repo: r, dir: filepath.Join(dir, e.Name())}
		if f.load() == nil {
			all = append(all, f)
		}
	}
	return all
}

func (f *Folder) load() error {
	data, err := safefile.Read(filepath.Join(f.dir, recordFile))
	if err == nil {
		err = json.Unmarshal(data, &f.record)
	}
	f.Git = filepath.Join(f.dir, "git")
	return err
}

// current is the folder in which the work of a task is done, nil when there is none.
func (r *Repo) current(task string) *Folder {
	for _, f := range r.foldersOf(task) {
		if f.record.Keep {
			return f
		}
	}
	return nil
}

// replaceLink writes one of git's small files whole: anyone who reads it sees the old line or
// the new one.
func replaceLink(path, line string) error {
	next := path + ".liza"
	if err := os.RemoveAll(next); err != nil { // what an agent put there must not be followed
		return err
	}
	file, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
