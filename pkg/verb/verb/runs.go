package verb

import (
	"context"
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
func (g Agents) NewToken() (token, hash string, err error) {
	token, err = g.verbs.Board.RandomHex(16)
	return token, board.HashToken(token), err
}

// Halt blocks a task that has reached a limit of cost, time, tokens or runs (T27). Work
// that is not committed is saved besides.
func (v *Service) Halt(ctx context.Context, id string, h *blackboard.Halt) (board.Done, error) {
	attic, problem := v.Worktrees.Save(ctx, id, "halt")
	done, err := v.Board.Event(ctx, "halt", id, func(s *blackboard.State, a transition.Actor) error {
		halt := *h
		return transition.HaltTask(s, id, a, transition.Input{Halt: &halt, Attic: attic}, v.Board.Now())
	})
	done.Attic = attic
	if problem != "" {
		done.Notices = append(done.Notices, problem)
	}
	return done, err
}

// RunFailed records a run that ended badly (T39): timeout, stalled, crashed or killed.
// limited tells that it was the last iteration, so that the task is BLOCKED (T26).
func (v *Service) RunFailed(ctx context.Context, id, outcome, reason string, tail ...string) (limited bool, err error) {
	err = v.Board.Update(ctx, "run failed", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.RunFailed(s, id, a, transition.Input{Outcome: outcome, Reason: reason, Tail: tail}, v.Board.Now()); err != nil {
			return err
		}
		limited = s.Task(id).Status == blackboard.Blocked
		return nil
	})
	return limited, err
}

// Deliver hands in the result of an exec or msg task (specs/protocol.md#4.5). Without changes to
// review it is merged in the same write.
func (v *Service) Deliver(ctx context.Context, id string, out blackboard.Output, summary string) (board.Done, error) {
	s, err := v.Board.View(ctx)
	if err != nil {
		return board.Done{Task: id}, err
	}
	in := v.Board.Input()
	in.Summary = summary
	if t := s.Task(id); t != nil && t.ChangesFiles() {
		facts, err := v.SubmissionFacts(ctx, s, t, "")
		if err != nil {
			return board.Done{Task: id}, err
		}
		in.Submission = &facts
	}
	done, err := v.Board.Event(ctx, "submit", id, func(s *blackboard.State, a transition.Actor) error {
		if t := s.Task(id); t != nil {
			o := out
			t.Output = &o
		}
		return transition.Submit(s, id, a, in, v.Board.Now())
	})
	if err != nil || done.Status != blackboard.Merged {
		return done, err
	}
	if err := v.Worktrees.Drop(ctx, id); err != nil {
		done.Notices = append(done.Notices, err.Error())
	}
	return done, nil
}

// ItemDone stores what an item of a rejection gave (specs/roles-and-knowledge.md#5.7).
func (v *Service) ItemDone(ctx context.Context, id string, item, code int, output string) error {
	return v.Board.Update(ctx, "item", func(s *blackboard.State, a transition.Actor) error {
		return transition.ItemDone(s, id, a, item, code, output, v.Board.Now())
	})
}

// PolicyDenied records a command that was not started because of the deny list.
func (v *Service) PolicyDenied(ctx context.Context, id, why string) {
	if err := v.Board.NoteAnomaly(ctx, id, blackboard.AnomalyPolicyDenied, why); err != nil {
		v.Board.Progressf("cannot record that a command was denied: %v", err)
	}
}

// HostRefused records that a run could not reach a host: as an anomaly of its task, once for each host.
func (v *Service) HostRefused(ctx context.Context, task, what string) {
	err := v.Board.Update(ctx, "anomaly", func(s *blackboard.State, a transition.Actor) error {
		if s.Task(task) == nil { // a planner's run has none
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(v.Board.Now()), Agent: a.ID, Action: blackboard.ActionHostRefused, Detail: what, Extra: map[string]any{"level": "warning"}})
			return nil
		}
		transition.AddAnomalyOnce(s, task, blackboard.AnomalyHostRefused, what, v.Board.Now())
		return nil
	})
	if err != nil {
		v.Board.Progressf("cannot record that a host was refused: %v", err)
	}
}

// Resubmit lets a task go on that a limit has stopped (T30).
func (v *Service) Resubmit(ctx context.Context, id string, limits blackboard.Settings) (board.Done, error) {
	tip, _ := v.Board.Repo.BranchTip(ctx, "task/"+id) // "": no branch is left, the next claim starts over
	return v.Board.Event(ctx, "resubmit", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.Resubmit(s, id, a, transition.Input{Limits: limits, Tip: tip}, v.Board.Now())
	})
}

// Recover takes back what dead supervisors left (specs/protocol.md#13.3, step 1): their children
// are stopped, their leases moved into the past, stale entries forgotten, interrupted
// merges ended, left-over folders and what is left of archived tasks removed. It returns what it did, for the log.
func (g Agents) Recover(ctx context.Context) ([]string, error) {
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	lapsed, left := g.dead(s)
	var did []string
	var stopped []board.Orphan
	for _, o := range left {
		if o.Child.PID != 0 && g.verbs.Board.Orphans().FormerBoot(s.Agents[o.Agent]) {
			stopped = append(stopped, o) // of a former boot: nothing of it can run
		} else if err := g.verbs.Board.Orphans().Stop(ctx, o); err != nil {
			did = append(did, err.Error())
		} else {
			stopped = append(stopped, o)
		}
	}
	clears := slices.ContainsFunc(stopped, func(o board.Orphan) bool { return o.Child.PID != 0 })
	if len(lapsed) > 0 || clears || transition.Forget(s.Clone(), g.verbs.Board.Facts(), g.verbs.Board.Now()) {
		err := g.verbs.Board.Update(ctx, "recover", func(s *blackboard.State, _ transition.Actor) error {
			now := g.verbs.Board.Now()
			for _, o := range stopped {
				if o.In(s) {
					g.verbs.Board.Settle(s, o)
				}
			}
			for _, id := range lapsed {
				transition.Lapse(s, id, g.verbs.Board.Facts(), now)
			}
			for _, o := range stopped {
				o.Forget(s)
			}
			transition.Forget(s, g.verbs.Board.Facts(), now)
			return nil
		})
		if err != nil {
			return did, err
		}
	}
	for _, id := range lapsed {
		did = append(did, id+" is gone; its work can be taken over")
	}
	did = append(did, g.verbs.Worktrees.Recover(ctx, len(stopped) == len(left))...)
	if err := g.verbs.Board.Vault().RecoverScrub(ctx); err != nil {
		did = append(did, err.Error())
	}
	return did, g.verbs.Merges.Merger(blackboard.System).CleanUp(ctx)
}

// dead lists the agents whose process is gone and whose leases still are, and what the
// dead have left, also those whose leases are past.
func (g Agents) dead(s *blackboard.State) (lapsed []string, left []board.Orphan) {
	facts, now := g.verbs.Board.Facts(), g.verbs.Board.Now()
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		e := s.Agents[id]
		if live, _ := s.Liveness(id, now, facts); live != blackboard.Dead {
			continue
		}
		lapses := transition.Lapse(s.Clone(), id, facts, now)
		if lapses {
			lapsed = append(lapsed, id)
		}
		switch o := g.verbs.Board.Orphans().OrphanOf(id, e); {
		case o != nil && (lapses || e.Child != nil):
			left = append(left, *o)
		case e.Child != nil && g.verbs.Board.Orphans().FormerBoot(e):
			left = append(left, board.Orphan{Agent: id, Generation: e.Generation, Child: *e.Child})
		}
	}
	return lapsed, left
}

// stray is how old a temporary file has to be before it counts as left behind.
const stray = time.Hour

// Strays are temporary files and folders whose writers were killed: below .liza, in Liza's part of the git folder, and the
// folders for objects among the temporary files of this user.
func (g Agents) Strays() (found []string) {
	look := func(path, number string) {
		number, _, _ = strings.Cut(strings.ReplaceAll(number, "-", "."), ".")
		pid, err := strconv.Atoi(number)
		info, gone := os.Lstat(path)
		if err != nil || gone != nil || g.verbs.Board.Now().Sub(info.ModTime()) <= stray {
			return
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
			return
		}
		if g.verbs.Board.Proc.Running != nil {
			if running, known := g.verbs.Board.Proc.Running(pid, 0); !known || running {
				return
			}
		}
		found = append(found, path)
	}
	for _, root := range []string{g.verbs.Board.Project.Liza, filepath.Join(g.verbs.Board.Project.GitDir, "liza")} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil: // removed meanwhile
				return nil
			case e.IsDir() && (path == g.verbs.Board.Project.Cache() || path == g.verbs.Board.Project.Tmp() || path == filepath.Join(g.verbs.Board.Project.GitDir, "liza", "folders")):
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
func (g Agents) ClearStrays() {
	for _, path := range g.Strays() {
		if err := safefile.RemoveTree(path); err != nil {
			g.verbs.Board.Progressf("cannot remove %s, which a process that was killed has left: %v", path, err)
		}
	}
}
