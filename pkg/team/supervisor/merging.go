package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// A merging takes approved work onto the integration branch, and tells of a branch that somebody moved.
type merging struct {
	*member
	remote     *remote
	moved      bool                 // somebody moved the integration branch
	movedTold  string               // and that was said
	mergeTold  string               // why nothing was merged, as it was said
	unverified map[string]postponed // merges that wait for a person, by task
	outage     time.Time            // since when it cannot merge; zero: it can
}

// newMerging is the merging of a process, with a member of its own. It shares nothing with the agents beside which it works, is
// not on the board, and runs no program: a reviewer judges while the checks of a merge run.
func newMerging(service *verb.Service, role blackboard.Role, show func(Line)) *merging {
	own := service.With(func(s *board.Session) { s.Caller, s.Run, s.May = board.Caller{Person: s.Caller.Person}, nil, nil })
	m := &member{Service: own, Role: role, ID: "merge", Print: show}
	return &merging{member: m, remote: &remote{member: m}}
}

// beside merges until ctx or end, which waits for the merge that is under way.
func (g *merging) beside(ctx context.Context) (end func()) {
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		g.merges(ctx, asked)
	}()
	return func() {
		close(asked)
		<-ended
	}
}

// mergeGrace is how long merges of a process without a reviewer wait for one with.
const mergeGrace = 5 * time.Second

func (g *merging) merges(ctx context.Context, asked <-chan struct{}) {
	watching, enough := context.WithCancel(ctx)
	defer enough()
	changes := g.Service.Board.Store.Watch(watching)
	for {
		err := g.contained(func() error { return g.mergeNow(ctx) })
		if err != nil && ctx.Err() == nil && g.outage.IsZero() {
			g.outage = g.Service.Board.Now()
			g.warn("", "cannot merge: %v", err)
		} else if err == nil {
			g.outage = time.Time{}
		}
		timer := time.NewTimer(mergeGrace)
		select {
		case <-changes:
		case <-timer.C:
		case <-asked:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// mergeNow merges what is due, unless people said that nothing begins now or somebody moved the branch.
func (g *merging) mergeNow(ctx context.Context) error {
	st, err := g.Service.Board.View(ctx)
	if err != nil || g.Service.Board.MergeControl() != "" || len(transition.ApprovedTasks(st)) == 0 {
		return err
	}
	if err := g.remote.follow(ctx, st); err != nil {
		return err
	}
	branch, err := g.Service.Integration.SeeIntegration(ctx, st)
	if g.moved = branch.Moved; err != nil || g.moved {
		return err // the agents tell it
	}
	g.merge(ctx, st)
	return nil
}

// merge takes approved work onto the integration branch: at once beside a reviewer, else after a while, in case that no
// reviewer is left elsewhere.
func (g *merging) merge(ctx context.Context, st *blackboard.State) bool {
	if g.moved || g.Service.Board.Now().Before(g.remote.until) || st.Integration.TurnOfAnother(g.Service.Board.ThisHost(), g.Service.Board.Now()) || !g.mergeDue(st) {
		return false
	}
	if err := g.Service.Board.FollowSettings(ctx); err != nil {
		g.tellUnmerged(err)
		return false
	}
	m := g.Service.Merges.Merger(blackboard.System)
	m.Lasts = func(task string, d time.Duration) { g.say(task, "merge: checks run, %s so far", d) }
	results, err := m.All(ctx)
	merged := false
	for _, r := range results {
		switch r.Status {
		case blackboard.Merged:
			merged = true
			if len(r.Unverified) > 0 {
				g.warn(r.Task, "merged as %s, not verified: %s", blackboard.ShortCommit(r.MergeCommit), strings.Join(r.Unverified, "; "))
				break
			}
			g.say(r.Task, "merged as %s", blackboard.ShortCommit(r.MergeCommit))
		case blackboard.Approved:
			if r.Asked {
				g.waitForAnswer(ctx, r)
			}
		case blackboard.ReadyForReview:
			g.say(r.Task, "is in review again: %s", r.Reason)
		case blackboard.IntegrationFailed:
			merged = true
			g.warn(r.Task, "%v", &merge.FailedError{Result: r})
		}
	}
	if _, trouble := g.remote.trouble("", err); trouble || ctx.Err() != nil {
		return merged
	}
	if merged {
		g.remote.well()
	}
	g.tellUnmerged(err)
	return merged
}

func (g *merging) mergeDue(st *blackboard.State) bool {
	return slices.ContainsFunc(transition.ApprovedTasks(st), func(c transition.Candidate) bool {
		waits := c.Task.Hold != nil || c.Task.MergeApproval != nil && c.Task.MergeApproval.Required && c.Task.MergeApproval.Decision != blackboard.GateApproved ||
			transition.ApprovingRun(st, c.Task, g.Service.Board.Now(), g.Service.Board.Facts()) != ""
		if w, asked := g.unverified[c.Task.ID]; asked && w.print == g.askedPrint(st, c.Task) && g.Service.Board.Now().Before(w.until) {
			waits = true
		}
		return !waits && (g.Role == blackboard.RoleReviewer || g.Service.Board.Now().Sub(c.Since) >= mergeGrace)
	})
}

// tellUnmerged shows what else went wrong with merges; it never ends a supervisor. A fault that lasts is told once, as is the
// merge of another process, which is not a fault.
func (g *merging) tellUnmerged(err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	waits, wrong := "", []string(nil)
	for _, e := range all {
		if held, ok := errors.AsType[*safefile.HeldError](e); ok {
			waits = fmt.Sprintf("waits for the merge of another process (pid %d)", held.Holder.PID)
			continue
		}
		_, shown := errors.AsType[*merge.FailedError](e)
		_, others := errors.AsType[*merge.TurnError](e)
		if e != nil && !shown && !others {
			wrong = append(wrong, e.Error()+prose.After("; next: ", transition.NextOf(e)))
		}
	}
	told := strings.Join(append(wrong, waits), "\n")
	if told != g.mergeTold && waits != "" {
		g.say("", "%s", waits)
	}
	for _, text := range wrong {
		if told != g.mergeTold {
			g.warn("", "cannot merge: %s", text)
		}
	}
	g.mergeTold = told
}

// postponed is why approved work is not tried again for a while.
type postponed struct {
	print string
	until time.Time
}

// waitForAnswer says once that approved work waits, and keeps it from being tried until something changes, or a minute is over.
func (g *merging) waitForAnswer(ctx context.Context, r merge.Result) {
	st, err := g.Service.Board.View(ctx)
	if err != nil || st.Task(r.Task) == nil {
		return
	}
	w := postponed{g.askedPrint(st, st.Task(r.Task)), g.Service.Board.Now().Add(time.Minute)}
	if g.unverified[r.Task].print != w.print {
		g.warn(r.Task, "not merged: %s; next: liza status", r.Reason)
	}
	if g.unverified == nil {
		g.unverified = map[string]postponed{}
	}
	g.unverified[r.Task] = w
}

// askedPrint is what decides whether the work of a task may be merged that a check has not verified.
func (g *merging) askedPrint(st *blackboard.State, t *blackboard.Task) string {
	text := st.Tip() + " " + t.ReviewCommit + " " + g.Service.Board.Config().Integration.Unverified
	for _, q := range st.Questions {
		if q != nil && q.OfCheck() {
			text += " " + q.ID + string(q.Status) + q.Answer
		}
	}
	return text
}

// forgetEnded ends a run of this agent whose end could not be written: this supervisor runs nothing now, and merges wait
// for the end of the run that approved.
func (g *merging) forgetEnded(ctx context.Context, st *blackboard.State) {
	for _, c := range transition.ApprovedTasks(st) {
		if transition.ApprovingRun(st, c.Task, g.Service.Board.Now(), g.Service.Board.Facts()) != g.ID {
			continue
		}
		err := g.Service.Board.Update(ctx, "run", func(st *blackboard.State, a transition.Actor) error {
			if e := st.Agents[a.ID]; e != nil {
				e.Child = nil
			}
			return nil
		})
		if err != nil {
			g.warn("", "cannot merge: %v", err)
		}
		return
	}
}

// seeIntegration tells of a branch that somebody moved. Nothing is merged until a person has decided.
func (g *merging) seeIntegration(ctx context.Context, st *blackboard.State) error {
	b, err := g.Service.Integration.SeeIntegration(ctx, st)
	if g.moved = b.Moved; !b.Moved || err != nil {
		g.movedTold = ""
		return err
	}
	if g.movedTold != b.Text {
		g.movedTold = b.Text
		g.warn("", "%s; merges wait; next: %s", b.Text, b.Next)
	}
	return nil
}
