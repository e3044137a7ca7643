package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/forge"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
)

// stuck is why a move of the integration branch was not made, in one line.
func stuck(err error) (string, bool) {
	move, ok := errors.AsType[*merge.MoveError](err)
	if !ok {
		return "", false
	}
	if move.Reason == "conflict" {
		return "conflict in " + strings.Join(move.Files, ", "), true
	}
	return "the check " + move.Check, true
}

// land pushes the work of a unit and opens its request: F1 to F5. Each step finds out first whether it was done before.
func (r *landing) land(ctx context.Context, u unit) error {
	var q blackboard.Request
	if known := r.state.Request(u.id); known != nil {
		q = *known
	} else {
		q = blackboard.Request{ID: u.id, Branch: branchOf(u.id), Base: r.base, Status: blackboard.RequestOpening}
	}
	there, err := r.fetchBase(ctx, q.Branch)
	if err != nil {
		return err
	}
	noted := q.Pushed
	if q.Commit != "" && there == q.Commit {
		q.Pushed = q.Commit // it was interrupted between the push and its record
	}
	if there != q.Pushed {
		q.Waits = "somebody else pushed to " + q.Branch
		return errors.Join(r.record(ctx, q, "", ""), board.Refuse(fmt.Sprintf("git fetch %s && liza sync --from %s/%s", r.Remote, r.Remote, q.Branch), "somebody else pushed to %s; it is at %.9s, and Liza left it at %.9s",
			q.Branch, cmp.Or(there, "no commit"), cmp.Or(q.Pushed, "no commit")))
	}
	next := q
	if err := r.compose(ctx, u, &next); err != nil {
		return err
	}
	if next.Commit == r.tip || next.Commit == "" {
		return nil // the base branch has it
	}
	if next.Commit != q.Commit || q.At == "" {
		next.Pushed, next.Checks, next.Waits, next.Conflict = q.Pushed, "", "", false
		if err := r.record(ctx, next, "", ""); err != nil {
			return err
		}
		noted = q.Pushed
	}
	q = next
	r.Service.Board.Failpoint("F1")
	r.publish(ctx, u)
	if q.Pushed != q.Commit {
		if err := r.Service.Board.Repo.Push(ctx, r.Remote, git.RemoteChange{Ref: "refs/heads/" + q.Branch, New: q.Commit, Old: q.Pushed}); err != nil {
			return err
		}
		r.Service.Board.Failpoint("F2")
		q.Pushed = q.Commit
	}
	if q.Status == blackboard.RequestOpen { // before the record of the push: after that nobody comes back to its text
		if f, err := r.Forge.Request(ctx, q.Number); err != nil {
			return err
		} else if err := r.reword(ctx, u, q, f); err != nil {
			return err
		}
	}
	if noted != q.Pushed {
		if err := r.record(ctx, q, blackboard.ActionRequestPushed, fmt.Sprintf("%s has %.9s", q.Branch, q.Commit)); err != nil {
			return err
		}
	}
	if q.Status == blackboard.RequestOpen {
		return nil
	}
	return r.open(ctx, u, q)
}

// reword brings the text of a request up to date.
func (r *landing) reword(ctx context.Context, u unit, q blackboard.Request, f forge.Request) error {
	body := r.body(ctx, u, q.ID)
	if strings.TrimSpace(strings.ReplaceAll(f.Body, "\r", "")) == strings.TrimSpace(body) {
		return nil
	}
	return r.Forge.Edit(ctx, f.Number, f.Title, body)
}

// open opens the request, unless there is one of that branch with our mark already.
func (r *landing) open(ctx context.Context, u unit, q blackboard.Request) error {
	found, err := r.find(ctx, q)
	if err != nil {
		return err
	}
	if found == nil {
		r.Service.Board.Failpoint("F3")
		made, err := r.Forge.Open(ctx, forge.NewRequest{Title: r.Service.Board.Secrets.Mask(prose.OneLine(u.title, 72)), Body: r.body(ctx, u, q.ID), Branch: q.Branch, Base: q.Base, Draft: r.cfg.Draft})
		r.Service.Board.Failpoint("F4")
		found = &made
		if err != nil {
			// The answer may be lost, and lists may not have it yet; the forge itself keeps a branch from having two.
			if found, err = r.findLate(ctx, q, err); err != nil {
				return err
			}
		}
	}
	if err := r.reword(ctx, u, q, *found); err != nil {
		return err
	}
	q.Number, q.URL, q.Status, q.Waits = found.Number, found.URL, blackboard.RequestOpen, ""
	if err := r.record(ctx, q, blackboard.ActionRequestOpened, q.URL); err != nil {
		return err
	}
	r.Service.Board.Failpoint("F5")
	return nil
}

// mark is in the text of each request, so that it is found again.
func mark(id string) string { return fmt.Sprintf("<!-- liza-request: %s -->", id) }

// find is the open request of the branch, nil for none. One that somebody else opened is not touched.
func (r *landing) find(ctx context.Context, q blackboard.Request) (*forge.Request, error) {
	all, err := r.Forge.Find(ctx, q.Branch)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(f forge.Request) bool { return f.Number == q.Number || f.State == forge.Open && f.Base == q.Base })
	switch {
	case i < 0:
		return nil, nil
	case !strings.Contains(all[i].Body, mark(q.ID)) && all[i].Number != q.Number:
		return nil, board.Refuse("liza show "+q.ID, "%s is a request of %s that Liza did not open", all[i].URL, q.Branch)
	}
	return &all[i], nil
}

// findLate looks for a request after an attempt to open it that failed.
func (r *landing) findLate(ctx context.Context, q blackboard.Request, why error) (*forge.Request, error) {
	for n := range 5 {
		if n > 0 {
			if err := r.Pause(ctx, time.Duration(n)*time.Second); err != nil {
				return nil, err
			}
		}
		if found, err := r.find(ctx, q); err != nil || found != nil {
			return found, err
		}
	}
	return nil, why
}

// compose makes the commit that the branch of a request is to have. Of a goal it is the tip of the integration branch; of a task, and where
// the base branch is followed by rebasing, the work of each task is one commit on top of the base branch.
func (r *landing) compose(ctx context.Context, u unit, q *blackboard.Request) error {
	if r.cfg.Per == "goal" && r.cfg.Sync != "rebase" {
		tip, err := r.Service.Integration.TipOf(ctx, r.state)
		if err == nil && (tip == "" || r.state.ForeignTip(tip)) {
			return board.Refuse(blackboard.DecideTip(tip), "%s", blackboard.MovedText(r.state, tip))
		}
		if held, aerr := r.Service.Board.Repo.IsAncestor(ctx, tip, r.tip); err == nil && aerr == nil && held {
			tip = r.tip
		}
		q.Commit = tip
		return err
	}
	if q.Onto == "" || r.cfg.Sync == "rebase" && q.Onto != r.tip {
		q.Onto, q.Commit, q.Picked = r.tip, r.tip, nil
	}
	for _, t := range u.tasks {
		if q.Picked.Has(t.ID) {
			continue
		}
		if before := r.notLanded(t, u); before != "" {
			return board.Refuse("liza show "+before, "it builds on %s, which has not landed", before)
		}
		if err := r.pick(ctx, t, q); err != nil {
			return err
		}
		q.Picked = append(slices.Clone(q.Picked), t.ID)
	}
	return nil
}

// notLanded is a task that t depends on and whose request is not merged, "" for none.
func (r *landing) notLanded(t *blackboard.Task, u unit) string {
	for _, id := range t.DependsOn {
		in := func(t *blackboard.Task) bool { return t.ID == id }
		if !slices.ContainsFunc(r.merged, in) || slices.ContainsFunc(u.tasks, in) {
			continue
		}
		if q := r.state.Request(cmp.Or(r.fixOf(id), id)); q == nil || q.Status != blackboard.RequestMerged {
			return id
		}
	}
	return ""
}

// pick puts the change of a task on top of a commit, as one commit.
func (r *landing) pick(ctx context.Context, t *blackboard.Task, q *blackboard.Request) error {
	before, err := r.Service.Board.Repo.Resolve(ctx, t.MergeCommit+"^1")
	if err != nil {
		return err
	}
	tree, err := r.Service.Board.Repo.TreeOf(ctx, q.Commit)
	if err != nil {
		return err
	}
	// With this commit as a side, the state before the task is the merge base, and what is merged is the task's change alone.
	side, err := r.Service.Board.Repo.CommitTree(ctx, tree, []string{before}, "side")
	if err != nil {
		return err
	}
	picked, err := r.Service.Board.Repo.MergeTree(ctx, side, t.MergeCommit)
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		return board.Refuse("liza show "+t.ID, "%s conflicts with %s in %s; it can land when what it builds on has", t.ID, r.base, strings.Join(conflict.Files, ", "))
	}
	if err != nil || picked == tree {
		return err
	}
	q.Commit, err = r.Service.Board.Repo.CommitMerge(ctx, picked, []string{q.Commit}, r.Service.Board.Secrets.Mask(fmt.Sprintf("%s\n\n%s\n\nLiza-Task: %s\n", prose.OneLine(t.TitleText(), 72), strings.TrimSpace(t.Description), t.ID)))
	return err
}

// body is the text of a request.
func (r *landing) body(ctx context.Context, u unit, id string) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), "<", "&lt;"))
	}
	line("%s\n", prose.OneLine(u.title, 1000))
	for _, t := range u.tasks {
		line("### %s: %s\n", t.ID, prose.OneLine(t.TitleText(), 120))
		line("%s\n", board.Shorten(t.Description, 1500))
		line("- Done when: %s", prose.OneLine(t.DoneWhen, 500))
		for _, c := range t.AcceptanceCriteria {
			line("- %s", prose.OneLine(c, 500))
		}
		if text := t.ApprovalsText(); text != "" {
			line("- %s", strings.ToUpper(text[:1])+text[1:])
		} else if t.ApprovedBy != "" {
			line("- Approved by %s", t.ApprovedBy)
		}
		for _, f := range r.exhibits(ctx, t) {
			line("- Made by Liza and compared with its base: `%s` %s%s", strings.ReplaceAll(f.Name, "`", "'"), f.Says, r.links(r.shown[t.ID], f))
		}
		line("")
	}
	if checks := r.Service.Board.Config().Integration.Checks; len(checks) > 0 {
		line("Passed before the merge of each task: `%s`\n", strings.Join(checks, "`, `"))
	}
	return r.Service.Board.Secrets.Mask(b.String()) + mark(id) + "\n"
}

// evidenceBranch begins the names of branches with the evidence of tasks, each a commit of files alone. They stay: links lead there.
const evidenceBranch = "refs/heads/liza-evidence/"

// publish pushes the evidence of the tasks of a unit that the remote does not have, so that the text of the request can lead to it. What
// cannot be pushed is listed without links.
func (r *landing) publish(ctx context.Context, u unit) {
	r.shown = map[string]string{}
	if r.File == nil {
		return
	}
	for _, t := range u.tasks {
		if len(r.exhibits(ctx, t)) == 0 {
			continue
		}
		kept, err := r.Service.Board.Repo.KeptFiles(ctx, t.ID, t.ReviewCommit)
		if err != nil || kept == "" {
			continue // removed since
		}
		ref := evidenceBranch + t.ID + "-" + kept[:9]
		there, err := r.Service.Board.Repo.RemoteRefs(ctx, r.Remote, ref)
		if err == nil && there[ref] == "" {
			err = r.Service.Board.Repo.Push(ctx, r.Remote, git.RemoteChange{Ref: ref, New: kept})
			there = map[string]string{ref: kept}
		}
		if err != nil {
			r.out.Problems = append(r.out.Problems, fmt.Sprintf("cannot push the evidence of %s: %v; the request lists it without links", t.ID, err))
		} else if there[ref] == kept {
			r.shown[t.ID] = kept
		}
	}
}

// links lead to a file and its base, a picture as a picture; "" without the commit.
func (r *landing) links(commit string, f review.Exhibit) string {
	if commit == "" || f.Result == review.Gone {
		return ""
	}
	picture, ours := "", r.File(commit, checks.Candidate+"/"+f.Name)
	if strings.HasPrefix(f.Kind, "image/") {
		picture = "!"
	}
	text := fmt.Sprintf(": %s[now](%s)", picture, ours)
	if f.Result == review.Differs {
		text += fmt.Sprintf(" %s[before](%s)", picture, r.File(commit, checks.Base+"/"+f.Name))
	}
	return text
}

// exhibits are the files that were made of a task's reviewed commit.
func (r *landing) exhibits(ctx context.Context, t *blackboard.Task) []review.Exhibit {
	done := t.WholeReview()
	if done == nil || !slices.ContainsFunc(done.Checks, func(c *blackboard.Check) bool { return c.Name == review.Exhibits }) {
		return nil // as a rule, and no git is asked
	}
	e, err := r.Service.Checks.Evidence(ctx, t.ID, t.ReviewCommit)
	if err != nil || e == nil {
		return nil // removed since, or kept on another host
	}
	return e.Files
}
