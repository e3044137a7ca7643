package landing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/forge"

	"liza/pkg/verb/board"
)

// shownLog is how much of what a forge says goes into a task.
const shownLog = 8 << 10

// noChecksAfter is how long after the push a request without any check counts as one whose CI has nothing to say.
const noChecksAfter = time.Minute

// watch looks at a request, and carries what is new there to the board.
func (r *landing) watch(ctx context.Context, q blackboard.Request) error {
	f, err := r.Forge.Request(ctx, q.Number)
	if err != nil {
		return err
	}
	switch {
	case f.State == forge.Merged:
		q.Status, q.Merge, q.Waits = blackboard.RequestMerged, f.Merge, ""
		if err := r.record(ctx, q, blackboard.ActionRequestMerged, q.URL); err != nil {
			return err
		}
		return r.sync(ctx)
	case f.State == forge.Closed && q.Status == blackboard.RequestClosed:
		return nil
	case f.State == forge.Closed:
		q.Status, q.Waits = blackboard.RequestClosed, ""
		r.out.Problems = append(r.out.Problems, q.URL+" was closed without a merge")
		return r.record(ctx, q, blackboard.ActionRequestClosed, q.URL)
	case q.Status == blackboard.RequestClosed:
		q.Status = blackboard.RequestOpen
		if err := r.record(ctx, q, blackboard.ActionRequestReopened, q.URL); err != nil {
			return err
		}
	}
	if f.Head != q.Pushed {
		q.Conflict = false
		return r.wait(ctx, q, "somebody else pushed to "+q.Branch)
	}
	if conflict, err := r.heedBase(ctx, &q); err != nil || conflict {
		return err
	}
	checks, err := r.Forge.Checks(ctx, q.Pushed)
	if err != nil {
		return err
	}
	if was := q.Checks; was != r.checksOf(q, checks) {
		q.Checks = r.checksOf(q, checks)
		if err := r.record(ctx, q, blackboard.ActionRequestChecks, q.URL+": checks "+q.Checks); err != nil {
			return err
		}
	}
	if made, err := r.heed(ctx, q, checks); err != nil || made {
		return err
	}
	if q.Checks != forge.Passed && q.Checks != "none" || fixUnderWay(r.state, &q) != "" {
		return nil
	}
	return r.merge(ctx, q, f)
}

// checksOf is one word for all checks of what was pushed.
func (r *landing) checksOf(q blackboard.Request, checks []forge.Check) string {
	state := forge.Passed
	for _, c := range checks {
		switch {
		case c.State == forge.Failed:
			return forge.Failed
		case c.State == forge.Pending:
			state = forge.Pending
		}
	}
	if at, _ := q.At.At(); len(checks) == 0 {
		if q.Checks == "none" || r.Service.Board.Now().Sub(at) >= noChecksAfter {
			return "none"
		}
		return forge.Pending
	}
	return state
}

// wait records what a person has to look at, once.
func (r *landing) wait(ctx context.Context, q blackboard.Request, why string) error {
	r.out.Problems = append(r.out.Problems, q.URL+": "+why)
	if q.Waits == why {
		return nil
	}
	q.Waits = why
	return r.record(ctx, q, blackboard.ActionRequestWaits, q.URL+": "+why)
}

// heed makes a task of red checks and of what people ask for, unless one is under way. It reports whether it did.
func (r *landing) heed(ctx context.Context, q blackboard.Request, checks []forge.Check) (bool, error) {
	if fixUnderWay(r.state, &q) != "" {
		return false, nil
	}
	var names, seen, parts []string
	logs := ""
	for _, c := range checks {
		key := fmt.Sprintf("%s@%.9s", c.Name, q.Pushed)
		if c.State != forge.Failed || q.Seen.Has(key) {
			continue
		}
		log, err := r.Forge.Log(ctx, c)
		if err != nil {
			log = "the log could not be read: " + err.Error()
		}
		names, seen, logs = append(names, prose.OneLine(c.Name, 80)), append(seen, key), logs+log
		parts = append(parts, fmt.Sprintf("The end of the log of %s:\n\n%s", prose.OneLine(c.Name, 80), log))
	}
	asked, comments, err := r.asked(ctx, q)
	if err != nil {
		return false, err
	}
	seen, parts = append(seen, comments...), append(parts, asked...)
	if len(seen) == 0 {
		return false, nil
	}
	if len(q.Fixes) >= r.cfg.MaxFixes {
		return false, r.wait(ctx, q, fmt.Sprintf("%d tasks were made for it already; a person has to look", len(q.Fixes)))
	}
	t := blackboard.Task{ID: fmt.Sprintf("fix-%d-%d", q.Number, len(q.Fixes)+1), Prefer: r.coder(ctx, q, logs+strings.Join(asked, "\n")), Priority: new(int)}
	what := "Review comments"
	if len(names) > 0 {
		what = "Red checks (" + strings.Join(names, ", ") + ")"
	}
	t.Title = prose.OneLine(fmt.Sprintf("%s of %s", what, q.URL), 110)
	t.Description = what + " of the request " + q.URL + ", with which the work lands.\n" + material(parts)
	t.DoneWhen, t.Scope = "what is said there is dealt with, and its checks pass", "IN: what the request needs. OUT: making a check weaker."
	q.Fixes, q.Seen = append(slices.Clone(q.Fixes), t.ID), append(slices.Clone(q.Seen), seen...)
	if err := r.makeTask(ctx, t, &q); err != nil {
		return false, err
	}
	r.out.Made = append(r.out.Made, t.ID)
	r.Service.Board.Failpoint("F6")
	r.state, err = r.Service.Board.View(ctx)
	return true, err
}

// material is the end of what a forge says, fenced.
func material(parts []string) string {
	text := strings.Join(parts, "\n\n")
	if len(text) > shownLog {
		text = "…\n" + strings.ToValidUTF8(text[len(text)-shownLog:], "")
	}
	return board.Fenced("the forge", text)
}

// asked are the comments of members that ask for something: those at a line, and reviews that ask for changes. Talk below a request
// is left to people.
func (r *landing) asked(ctx context.Context, q blackboard.Request) (parts, ids []string, err error) {
	all, err := r.Forge.Comments(ctx, q.Number)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		if c.Bot || !c.Member || q.Seen.Has(c.ID) || c.Path == "" && !c.Changes {
			continue
		}
		at := ""
		if c.Path != "" {
			at = fmt.Sprintf(" at %s:%d", c.Path, c.Line)
		}
		ids = append(ids, c.ID)
		parts = append(parts, fmt.Sprintf("%s says%s:\n%s", c.Author, at, board.Shorten(c.Text, 2000)))
	}
	return parts, ids, nil
}

// coder is whose work the forge complains about.
func (r *landing) coder(ctx context.Context, q blackboard.Request, log string) string {
	var tasks []*blackboard.Task
	files := map[string][]string{}
	for _, t := range r.merged {
		if r.cfg.Per == "task" && !q.Picked.Has(t.ID) {
			continue
		}
		tasks = append(tasks, t)
		if changes, err := r.Service.Board.Repo.ChangedFiles(ctx, t.MergeCommit+"^1", t.MergeCommit); err == nil {
			for _, c := range changes {
				files[t.ID] = append(files[t.ID], c.Path)
			}
		}
	}
	return blackboard.CoderOf(tasks, files, log)
}

// merge merges a request whose checks have passed, if that is Liza's to do.
func (r *landing) merge(ctx context.Context, q blackboard.Request, f forge.Request) error {
	if f.Draft {
		if err := r.Forge.Ready(ctx, f); err != nil {
			return err
		}
		f.Draft = false
	}
	queued := fmt.Sprintf("queued@%.9s", q.Pushed)
	if r.cfg.Merge == "none" || q.Seen.Has(queued) {
		return nil
	}
	err := r.Forge.Merge(ctx, f, forge.Merging{Method: r.cfg.Method, Queue: r.cfg.Merge == "forge"})
	if no, refused := errors.AsType[*forge.RefusedError](err); refused {
		return r.wait(ctx, q, prose.OneLine(r.Service.Board.Secrets.Mask(no.Reason), 200))
	}
	if err != nil {
		return err
	}
	r.Service.Board.Failpoint("F7")
	if r.cfg.Merge == "forge" {
		q.Seen = append(slices.Clone(q.Seen), queued)
		return r.record(ctx, q, blackboard.ActionRequestQueued, q.URL)
	}
	if f, err = r.Forge.Request(ctx, q.Number); err != nil || f.State != forge.Merged {
		return err // a forge may take its time; the next round sees it
	}
	return r.watch(ctx, q)
}

// fixUnderWay is a task that was made for the request and is not at its end, "" for none.
func fixUnderWay(s *blackboard.State, r *blackboard.Request) string {
	for _, id := range r.Fixes {
		if t := s.Find(id); t != nil && !t.Status.Terminal() {
			return id
		}
	}
	return ""
}
