package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/outcome"
	"liza/pkg/safefile"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// RerunInput says how a task starts again.
type RerunInput struct {
	Task      string
	CleanGit  bool // worktree and branch are removed: the next claim starts at the integration head
	KeepFiles bool // evidence and files that are not committed are copied to the archive
}

// Rerun starts a task again from nothing (specs/roles-and-knowledge.md#7.5): UNCLAIMED, counters at
// zero, a new epoch, its history in the archive. It is for people.
func Rerun(ctx context.Context, service *verb.Service, in RerunInput) (Restepped, error) {
	d := simulator{service}
	out := Restepped{Done: verb.Done{Task: in.Task}}
	t, err := d.idle(ctx, in.Task, "start a task again")
	if err != nil {
		return out, err
	}
	input := d.Input()
	input.Reason, input.CleanGit = "from nothing", in.CleanGit
	archive := d.archiveOf(t)
	out.Archive, out.Epoch = d.Rel(archive), max(t.Epoch, 1)+1
	out.Done, err = d.startAgain(ctx, t, "rerun", input, transition.Rerun, func() ([]string, error) {
		if in.KeepFiles {
			if err := d.keepFiles(ctx, t, filepath.Join(archive, "files")); err != nil {
				return nil, err
			}
		}
		if in.CleanGit {
			if err := d.DropWorktree(ctx, t.ID); err != nil {
				return nil, err
			}
		}
		if err := d.retire(ctx, t, archive, out.Epoch); err != nil {
			return []string{err.Error()}, nil // the history stops nothing
		}
		return nil, nil
	})
	out.Commit = d.commitOf(ctx, in.Task)
	return out, err
}

// retire moves the history of a task away and begins a new one.
func (d simulator) retire(ctx context.Context, t *blackboard.Task, to string, epoch int) error {
	event := history.Happened(history.Rerun, history.Interaction{Timestamp: blackboard.TimeOf(d.Now()), StateBefore: history.JobState(t, false), WorkspacePath: d.Repo.WorktreePath(t.ID)})
	event.Liza.StatusBefore, event.Liza.StatusAfter = string(t.Status), string(blackboard.Unclaimed)
	event.Liza.CommitAfter, event.Liza.Epoch = d.commitOf(ctx, t.ID), epoch
	return d.Interactions(t.ID).Retire(ctx, to, event)
}

// keepFiles copies what is not committed in a task's worktree, and the evidence of its runs.
func (d simulator) keepFiles(ctx context.Context, t *blackboard.Task, to string) error {
	dir := d.Repo.WorktreePath(t.ID)
	w, err := d.Repo.Inspect(ctx, dir)
	if err != nil || !w.Exists {
		return err
	}
	files := w.Dirty
	list, err := d.Interactions(t.ID).Read()
	if err != nil {
		d.Progressf("%v", err) // what the history does not tell is in the attic all the same
	}
	for _, in := range list {
		files = append(files, in.Response.EvidenceFiles...)
	}
	for _, f := range outcome.Inside(d.Service, t.ID, files) {
		if err := copyInto(filepath.Join(dir, f), filepath.Join(to, f)); err != nil {
			return fmt.Errorf("cannot keep %s of %s: %v", f, t.ID, err)
		}
	}
	return nil
}

// copyInto copies a regular file, or a folder of them. What is not there is left out.
func copyInto(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !e.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	src, err := safefile.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
