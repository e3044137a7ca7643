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

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
)

// NewToken makes the secret of one run and the form in which the state keeps it.
func (d *Service) NewToken() (token, hash string, err error) {
	token, err = d.RandomHex(16)
	return token, HashToken(token), err
}

// Halt blocks a task that has reached a limit of cost, time, tokens or runs (T27). Work
// that is not committed is saved besides.
func (d *Service) Halt(ctx context.Context, id string, h *blackboard.Halt) (Done, error) {
	attic, problem := d.Save(ctx, id, "halt")
	done, err := d.Event(ctx, "halt", id, func(s *blackboard.State, a transition.Actor) error {
		halt := *h
		return transition.HaltTask(s, id, a, transition.Input{Halt: &halt, Attic: attic}, d.Now())
	})
	done.Attic = attic
	if problem != "" {
		done.Notices = append(done.Notices, problem)
	}
	return done, err
}

// RunFailed records a run that ended badly (T39): timeout, stalled, crashed or killed.
// limited tells that it was the last iteration, so that the task is BLOCKED (T26).
func (d *Service) RunFailed(ctx context.Context, id, outcome, reason string, tail ...string) (limited bool, err error) {
	err = d.Update(ctx, "run failed", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.RunFailed(s, id, a, transition.Input{Outcome: outcome, Reason: reason, Tail: tail}, d.Now()); err != nil {
			return err
		}
		limited = s.Task(id).Status == blackboard.Blocked
		return nil
	})
	return limited, err
}

// Deliver hands in the result of an exec or msg task (specs/protocol.md#4.5). Without changes to
// review it is merged in the same write.
func (d *Service) Deliver(ctx context.Context, id string, out blackboard.Output, summary string) (Done, error) {
	s, err := d.View(ctx)
	if err != nil {
		return Done{Task: id}, err
	}
	in := d.Input()
	in.Summary = summary
	if t := s.Task(id); t != nil && t.ChangesFiles() {
		facts, err := d.SubmissionFacts(ctx, s, t, "")
		if err != nil {
			return Done{Task: id}, err
		}
		in.Submission = &facts
	}
	done, err := d.Event(ctx, "submit", id, func(s *blackboard.State, a transition.Actor) error {
		if t := s.Task(id); t != nil {
			o := out
			t.Output = &o
		}
		return transition.Submit(s, id, a, in, d.Now())
	})
	if err != nil || done.Status != blackboard.Merged {
		return done, err
	}
	if err := d.DropWorktree(ctx, id); err != nil {
		done.Notices = append(done.Notices, err.Error())
	}
	return done, nil
}

// ItemDone stores what an item of a rejection gave (specs/roles-and-knowledge.md#5.7).
func (d *Service) ItemDone(ctx context.Context, id string, item, code int, output string) error {
	return d.Update(ctx, "item", func(s *blackboard.State, a transition.Actor) error {
		return transition.ItemDone(s, id, a, item, code, output, d.Now())
	})
}

// PolicyDenied records a command that was not started because of the deny list.
func (d *Service) PolicyDenied(ctx context.Context, id, why string) {
	if err := d.NoteAnomaly(ctx, id, blackboard.AnomalyPolicyDenied, why); err != nil {
		d.Progressf("cannot record that a command was denied: %v", err)
	}
}

// HostRefused records that a run could not reach a host: as an anomaly of its task, once for each host.
func (d *Service) HostRefused(ctx context.Context, task, what string) {
	err := d.Update(ctx, "anomaly", func(s *blackboard.State, a transition.Actor) error {
		if s.Task(task) == nil { // a planner's run has none
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: blackboard.ActionHostRefused, Detail: what, Extra: map[string]any{"level": "warning"}})
			return nil
		}
		told := slices.ContainsFunc(s.Anomalies, func(x *blackboard.Anomaly) bool {
			return x.Type == blackboard.AnomalyHostRefused && x.Task == task && x.Details["what"] == what
		})
		if !told {
			transition.AddAnomaly(s, task, blackboard.System, blackboard.AnomalyHostRefused, blackboard.Settings{"what": what}, d.Now())
		}
		return nil
	})
	if err != nil {
		d.Progressf("cannot record that a host was refused: %v", err)
	}
}

// Resubmit lets a task go on that a limit has stopped (T30).
func (d *Service) Resubmit(ctx context.Context, id string, limits blackboard.Settings) (Done, error) {
	tip, err := d.Repo.BranchTip(ctx, "task/"+id)
	if err != nil {
		tip = "" // no branch is left: the next claim starts over
	}
	return d.Event(ctx, "resubmit", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.Resubmit(s, id, a, transition.Input{Limits: limits, Tip: tip}, d.Now())
	})
}

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
	var stopped []board.Orphan
	for _, o := range left {
		if o.Child.PID != 0 && d.FormerBoot(s.Agents[o.Agent]) {
			stopped = append(stopped, o) // of a former boot: nothing of it can run
		} else if err := d.Stop(ctx, o); err != nil {
			did = append(did, err.Error())
		} else {
			stopped = append(stopped, o)
		}
	}
	clears := slices.ContainsFunc(stopped, func(o board.Orphan) bool { return o.Child.PID != 0 })
	if len(lapsed) > 0 || clears || transition.Forget(s.Clone(), d.Facts(), d.Now()) {
		err := d.Update(ctx, "recover", func(s *blackboard.State, _ transition.Actor) error {
			now := d.Now()
			for _, o := range stopped {
				if o.In(s) {
					d.Settle(s, o)
				}
			}
			for _, id := range lapsed {
				transition.Lapse(s, id, d.Facts(), now)
			}
			for _, o := range stopped {
				o.Forget(s)
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
	if err := d.RecoverScrub(ctx); err != nil {
		did = append(did, err.Error())
	}
	return did, d.Merger(blackboard.System).CleanUp(ctx)
}

// dead lists the agents whose process is gone and whose leases still are, and what the
// dead have left, also those whose leases are past.
func (d *Service) dead(s *blackboard.State) (lapsed []string, left []board.Orphan) {
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
		switch o := d.OrphanOf(id, e); {
		case o != nil && (lapses || e.Child != nil):
			left = append(left, *o)
		case e.Child != nil && d.FormerBoot(e):
			left = append(left, board.Orphan{Agent: id, Generation: e.Generation, Child: *e.Child})
		}
	}
	return lapsed, left
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
		tip := d.ProvenTip(ctx, s)
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
