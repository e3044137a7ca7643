package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/verb/verb"
)

// Returner tells trackers what has landed of what was imported from them (specs/protocol.md#8.9).
type Returner struct {
	Service *verb.Service
	Tracker func(ctx context.Context, kind, repo string) (forge.Tracker, error)
	Pause   func(ctx context.Context, d time.Duration) error
}

// Round comments on and closes each issue of which everything that was made has landed. It gives a line for each. Wherever it is
// interrupted, the next round goes on from what the tracker says: nothing is said twice.
func (r *Returner) Round(ctx context.Context) (told []string, err error) {
	cfg := r.Service.Board.Config().Import
	if !cfg.Comment && !cfg.Close {
		return nil, nil
	}
	due, err := r.due(ctx)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	if err := r.Service.Board.PersonOnly(ctx, "import"); err != nil {
		return nil, err
	}
	unlock, err := safefile.LockIn(ctx, r.Service.Board.Project.ImportLock(), safefile.Holder{PID: os.Getpid(), Host: r.Service.Board.Proc.Host, Agent: blackboard.Human, Op: "import", Since: r.Service.Board.Now()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	if due, err = r.due(ctx); err != nil { // another process may have been faster
		return nil, err
	}
	var errs []error
	trackers := map[string]forge.Tracker{}
	for _, d := range due {
		// One that fails does not keep the others from being told.
		if mine, err := r.begin(ctx, d.rec); err != nil || !mine {
			errs = append(errs, err)
			continue
		}
		line, err := r.giveBack(ctx, d, trackers)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot tell %s that it is done: %w", d.rec.Source, err))
			continue
		}
		told = append(told, line)
	}
	return told, errors.Join(errs...)
}

// landedImport is an import of which everything has landed.
type landedImport struct {
	rec   blackboard.Import
	tasks []*blackboard.Task
}

func (r *Returner) due(ctx context.Context) ([]landedImport, error) {
	s, err := r.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	var out []landedImport
	for _, rec := range s.Imports {
		if rec == nil || rec.Status != blackboard.ImportOpen {
			continue
		}
		if kind, _, _ := rec.Place(); kind == "" {
			continue
		}
		tasks, ok, err := r.landed(ctx, s, rec.Task, map[string]bool{})
		if err != nil {
			return nil, err
		}
		if ok && len(tasks) > 0 {
			out = append(out, landedImport{*rec, tasks})
		}
	}
	return out, nil
}

// landed gives what a task has become, and reports whether all of it has landed: it is merged, and with a forge its request is, too.
func (r *Returner) landed(ctx context.Context, s *blackboard.State, id string, seen map[string]bool) ([]*blackboard.Task, bool, error) {
	status, known := s.StatusOf(id)
	if !known || status != blackboard.Merged && status != blackboard.Superseded {
		return nil, false, nil
	}
	if seen[id] {
		return nil, true, nil
	}
	seen[id] = true
	t := s.Find(id)
	if t == nil {
		var err error
		if t, _, err = r.Service.Board.Histories().Archives().Task(id); err != nil || t == nil {
			return nil, false, err
		}
	}
	if status == blackboard.Merged {
		ok, err := r.onForge(ctx, s, t)
		return []*blackboard.Task{t}, ok, err
	}
	var all []*blackboard.Task
	for _, next := range t.SupersededBy {
		tasks, ok, err := r.landed(ctx, s, next, seen)
		if err != nil || !ok {
			return nil, false, err
		}
		all = append(all, tasks...)
	}
	return all, len(t.SupersededBy) > 0, nil
}

func (r *Returner) onForge(ctx context.Context, s *blackboard.State, t *blackboard.Task) (bool, error) {
	if r.Service.Board.Config().Land.Forge == "none" || !t.ChangesFiles() || t.MergeCommit == "" {
		return true, nil
	}
	q, err := r.requestOf(ctx, s, t)
	return q != nil, err
}

// requestOf is the merged request that has the work of a task.
func (r *Returner) requestOf(ctx context.Context, s *blackboard.State, t *blackboard.Task) (*blackboard.Request, error) {
	for _, q := range s.Requests {
		if q == nil || q.Status != blackboard.RequestMerged {
			continue
		}
		if q.Onto != "" {
			if q.Picked.Has(t.ID) {
				return q, nil
			}
			continue
		}
		if missing, err := r.Service.Board.Repo.Uncontained(ctx, []string{t.MergeCommit}, q.Commit); err != nil || len(missing) == 0 {
			return q, err
		}
	}
	return nil, nil
}

// begin leaves an issue to the first of several hosts: the lock of a round is this host's alone, and no tracker can be asked to
// take a comment only once.
func (r *Returner) begin(ctx context.Context, rec blackboard.Import) (mine bool, err error) {
	if r.Service.Board.ThisHost() == "" {
		return true, nil
	}
	err = r.Service.Board.Update(ctx, "import", func(s *blackboard.State, _ transition.Actor) error {
		mine = transition.Tell(s, rec.Source, r.Service.Board.ThisHost(), r.Service.Board.Now())
		return nil
	})
	return mine && err == nil, err
}

func (r *Returner) giveBack(ctx context.Context, d landedImport, trackers map[string]forge.Tracker) (line string, err error) {
	kind, repo, key := d.rec.Place()
	t := trackers[kind+repo]
	if t == nil {
		if t, err = r.Tracker(ctx, kind, repo); err != nil {
			return "", err
		}
		trackers[kind+repo] = t
	}
	status := blackboard.ImportDone
	line, err = d.rec.Source+": told that it is done", r.close(ctx, t, d, key)
	if forge.NotFound(err) {
		line, status, err = d.rec.Source+" does not exist any more", blackboard.ImportClosed, nil
	}
	if err != nil {
		return "", err
	}
	err = r.Service.Board.Update(ctx, "import", func(s *blackboard.State, a transition.Actor) error {
		// A person may have closed or reopened it while the tracker was asked.
		if rec := s.Import(d.rec.Source); rec != nil && rec.Status == blackboard.ImportOpen {
			now := *rec
			now.Status, now.Teller = status, ""
			transition.PutImport(s, now, r.Service.Board.Now())
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(r.Service.Board.Now()), Agent: a.ID, Action: blackboard.ActionImportDone, Task: rec.Task, Detail: line})
		}
		return nil
	})
	r.Service.Board.Failpoint("I5")
	return line, err
}

// importMark is in each comment, so that it is found again.
func importMark(rec *blackboard.Import) string {
	sum := sha256.Sum256([]byte(rec.Source + " " + rec.Task))
	return "liza-import " + hex.EncodeToString(sum[:6])
}

// close says once at an issue what has landed, and closes it: I1 to I4. Each step finds out first whether it was done before.
func (r *Returner) close(ctx context.Context, t forge.Tracker, d landedImport, key string) error {
	cfg, mark := r.Service.Board.Config().Import, importMark(&d.rec)
	now, err := t.Ticket(ctx, key)
	if err != nil {
		return err
	}
	if cfg.Comment {
		said, err := t.Said(ctx, key, mark)
		if err != nil {
			return err
		}
		if !said {
			text, err := r.comment(ctx, d.tasks, mark)
			if err != nil {
				return err
			}
			r.Service.Board.Failpoint("I1")
			if err := t.Say(ctx, key, text); err != nil {
				// The answer may be lost although the comment is there.
				if err := r.saidLate(ctx, t, key, mark, err); err != nil {
					return err
				}
			}
			r.Service.Board.Failpoint("I2")
		}
	}
	if cfg.Close && !now.Closed {
		r.Service.Board.Failpoint("I3")
		if err := t.Finish(ctx, key); err != nil {
			return err
		}
		r.Service.Board.Failpoint("I4")
	}
	return nil
}

func (r *Returner) saidLate(ctx context.Context, t forge.Tracker, key, mark string, why error) error {
	for n := range 3 {
		if n > 0 {
			if err := r.Pause(ctx, time.Duration(n)*time.Second); err != nil {
				return err
			}
		}
		if said, err := t.Said(ctx, key, mark); err != nil || said {
			return err
		}
	}
	return why
}

// comment has ids, commits and addresses only: what agents wrote could call people or give the forge orders.
func (r *Returner) comment(ctx context.Context, tasks []*blackboard.Task, mark string) (string, error) {
	s, err := r.Service.Board.View(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("This is done and merged.\n\n")
	for _, t := range tasks {
		fmt.Fprintf(&b, "- `%s`", t.ID)
		if t.MergeCommit != "" {
			fmt.Fprintf(&b, ", commit %s", t.MergeCommit)
			q, err := r.requestOf(ctx, s, t)
			if err != nil {
				return "", err
			}
			if q != nil {
				fmt.Fprintf(&b, ", %s", q.URL)
			}
		}
		b.WriteString("\n")
	}
	return r.Service.Board.Secrets.Mask(b.String()) + "\n(" + mark + ")\n", nil
}
