package verb

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/safefile"
	"liza/pkg/transition"
)

// Recover takes back what dead supervisors left (specs/protocol.md#13.3, step 1): their children
// are stopped, their leases moved into the past, stale entries forgotten, interrupted
// merges ended, left-over folders and what is left of archived tasks removed. It returns what it did, for the log.
func (d *Service) Recover(ctx context.Context) ([]string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	lapsed, left := d.dead(s)
	var did []string
	var stopped []orphan
	for _, o := range left {
		if o.child.PID != 0 && d.formerBoot(s.Agents[o.agent]) {
			stopped = append(stopped, o) // of a former boot: nothing of it can run
		} else if err := d.stop(ctx, o); err != nil {
			did = append(did, err.Error())
		} else {
			stopped = append(stopped, o)
		}
	}
	clears := slices.ContainsFunc(stopped, func(o orphan) bool { return o.child.PID != 0 })
	if len(lapsed) > 0 || clears || transition.Forget(s.Clone(), d.Facts(), d.Now()) {
		err := d.Update(ctx, "recover", func(s *blackboard.State, _ transition.Actor) error {
			now := d.Now()
			for _, id := range lapsed {
				transition.Lapse(s, id, d.Facts(), now)
			}
			for _, o := range stopped {
				o.forget(s)
			}
			transition.Forget(s, d.Facts(), now)
			return nil
		})
		if err != nil {
			return did, err
		}
	}
	for _, id := range lapsed {
		did = append(did, id+" is gone; its work can be taken over")
	}
	if len(stopped) == len(left) { // nobody works in any of them
		settled, err := d.SettleFolders(ctx)
		if did = append(did, settled...); err != nil {
			did = append(did, err.Error())
		}
	}
	did = append(did, d.shelveOthers(ctx)...)
	did = append(did, d.dropArchived(ctx)...)
	if err := d.recoverScrub(ctx); err != nil {
		did = append(did, err.Error())
	}
	return did, d.Merger(blackboard.System).CleanUp(ctx)
}

// dead lists the agents whose process is gone and whose leases still are, and what the
// dead have left, also those whose leases are past.
func (d *Service) dead(s *blackboard.State) (lapsed []string, left []orphan) {
	facts, now := d.Facts(), d.Now()
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		e := s.Agents[id]
		if live, _ := s.Liveness(id, now, facts); live != blackboard.Dead {
			continue
		}
		lapses := transition.Lapse(s.Clone(), id, facts, now)
		if lapses {
			lapsed = append(lapsed, id)
		}
		switch o := d.orphanOf(id, e); {
		case o != nil && (lapses || e.Child != nil):
			left = append(left, *o)
		case e.Child != nil && d.formerBoot(e):
			left = append(left, orphan{agent: id, generation: e.Generation, child: *e.Child})
		}
	}
	return lapsed, left
}

// formerBoot reports whether an entry is of a former boot of this machine.
func (d *Service) formerBoot(e *blackboard.Agent) bool {
	return e.Host == d.Proc.Host && e.BootID != "" && d.Proc.BootID != "" && e.BootID != d.Proc.BootID
}

// dropArchived removes worktrees and branches of tasks that have left the board: a host that was down while they were merged
// still has them. What is saved nowhere else goes to the attic first.
func (d *Service) dropArchived(ctx context.Context) (did []string) {
	if d.Repo == nil || d.Rehearsal {
		return nil
	}
	here := d.tasksHere(ctx)
	s, err := d.View(ctx)
	if err != nil {
		return nil // told already
	}
	here = slices.DeleteFunc(here, func(id string) bool { return s.Task(id) != nil })
	if len(here) == 0 {
		return nil
	}
	archived := d.Archives().Archived()
	for _, id := range here {
		if _, known := archived[id]; !known {
			continue
		}
		tip := d.provenTip(ctx, s)
		_, _, err := d.Repo.Save(ctx, git.Work{ID: id, Path: d.WorktreeOf(ctx, id), Reason: "left behind", Integration: tip})
		if err == nil {
			err = d.Repo.Remove(ctx, id, git.Proof{Integration: tip})
		}
		if err != nil {
			did = append(did, fmt.Sprintf("%s: cannot remove what is left of it: %v", id, err))
		}
	}
	return did
}

// stray is how old a temporary file has to be before it counts as left behind.
const stray = time.Hour

// Strays are temporary files and folders whose writers were killed: below .liza, in Liza's part of the git folder, and the
// folders for objects among the temporary files of this user.
func (d *Service) Strays() (found []string) {
	look := func(path, number string) {
		number, _, _ = strings.Cut(strings.ReplaceAll(number, "-", "."), ".")
		pid, err := strconv.Atoi(number)
		info, gone := os.Lstat(path)
		if err != nil || gone != nil || d.Now().Sub(info.ModTime()) <= stray {
			return
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
			return
		}
		if d.Proc.Running != nil {
			if running, known := d.Proc.Running(pid, 0); !known || running {
				return
			}
		}
		found = append(found, path)
	}
	for _, root := range []string{d.Project.Liza, filepath.Join(d.Project.GitDir, "liza")} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil: // removed meanwhile
				return nil
			case e.IsDir() && (path == d.Project.Cache() || path == d.Project.Tmp() || path == filepath.Join(d.Project.GitDir, "liza", "folders")):
				return fs.SkipDir // of runs
			}
			if _, number, ok := strings.Cut(e.Name(), ".tmp-"); ok && !e.IsDir() {
				look(path, number)
			}
			return nil
		})
	}
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), git.ScratchObjects+"*"))
	for _, path := range folders {
		look(path, strings.TrimPrefix(filepath.Base(path), git.ScratchObjects))
	}
	return found
}

// ClearStrays removes Strays.
func (d *Service) ClearStrays() {
	for _, path := range d.Strays() {
		if err := safefile.RemoveTree(path); err != nil {
			d.Progressf("cannot remove %s, which a process that was killed has left: %v", path, err)
		}
	}
}
