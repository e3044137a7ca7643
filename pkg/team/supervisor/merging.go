package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// merger is the member of a process that merges. It shares nothing with the agents beside which it works, is not on the
// board, and runs no program: a reviewer judges while the checks of a merge run.
func (s *Supervisor) merger(service *verb.Service, role blackboard.Role) *Supervisor {
	own := service.With(func(s *board.Session) { s.Caller, s.Run, s.May = board.Caller{Person: s.Caller.Person}, nil, nil })
	return &Supervisor{Service: own, Role: role, ID: "merge", Print: s.Print, Team: true}
}

// mergesItself reports whether merges are part of its own steps: it ends after one, or a person has its terminal, where
// nothing else may write.
func (s *Supervisor) mergesItself() bool { return !s.Team && (s.Once || s.Interactive != nil) }

// beside merges until ctx or end, which waits for the merge that is under way.
func (s *Supervisor) beside(ctx context.Context) (end func()) {
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.merges(ctx, asked)
	}()
	return func() {
		close(asked)
		<-ended
	}
}

// mergeGrace is how long merges of a process without a reviewer wait for one with.
const mergeGrace = 5 * time.Second

func (s *Supervisor) merges(ctx context.Context, asked <-chan struct{}) {
	watching, enough := context.WithCancel(ctx)
	defer enough()
	changes := s.Service.Board.Store.Watch(watching)
	for {
		err := s.contained(func() error { return s.mergeNow(ctx) })
		if err != nil && ctx.Err() == nil && s.outage.IsZero() {
			s.outage = s.Service.Board.Now()
			s.warn("", "cannot merge: %v", err)
		} else if err == nil {
			s.outage = time.Time{}
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
func (s *Supervisor) mergeNow(ctx context.Context) error {
	st, err := s.Service.Board.View(ctx)
	if err != nil || s.Service.Board.MergeControl() != "" || len(transition.ApprovedTasks(st)) == 0 {
		return err
	}
	if err := s.followRemote(ctx, st); err != nil {
		return err
	}
	branch, err := s.Service.Integration.SeeIntegration(ctx, st)
	if s.moved = branch.Moved; err != nil || s.moved {
		return err // the agents tell it
	}
	s.merge(ctx, st)
	return nil
}

// merge takes approved work onto the integration branch: at once beside a reviewer, else after a while, in case that no
// reviewer is left elsewhere.
func (s *Supervisor) merge(ctx context.Context, st *blackboard.State) bool {
	if s.moved || s.Service.Board.Now().Before(s.remote.until) || s.Service.Worktrees.OthersTurn(st) || !s.mergeDue(st) {
		return false
	}
	if err := s.Service.Worktrees.FollowSettings(ctx); err != nil {
		s.tellUnmerged(err)
		return false
	}
	m := s.Service.Merges.Merger(blackboard.System)
	m.Lasts = func(task string, d time.Duration) { s.say(task, "merge: checks run, %s so far", d) }
	results, err := m.All(ctx)
	merged := false
	for _, r := range results {
		switch r.Status {
		case blackboard.Merged:
			merged = true
			if len(r.Unverified) > 0 {
				s.warn(r.Task, "merged as %s, not verified: red before and after: %s", blackboard.ShortCommit(r.MergeCommit), strings.Join(r.Unverified, "; "))
				break
			}
			s.say(r.Task, "merged as %s", blackboard.ShortCommit(r.MergeCommit))
		case blackboard.Approved:
			if r.Asked {
				s.waitForAnswer(ctx, r)
			}
		case blackboard.ReadyForReview:
			s.say(r.Task, "is in review again: %s", r.Reason)
		case blackboard.IntegrationFailed:
			merged = true
			s.warn(r.Task, "%v", &merge.FailedError{Result: r})
		}
	}
	if _, trouble := s.remoteTrouble("", err); trouble || ctx.Err() != nil {
		return merged
	}
	if merged {
		s.remoteWell()
	}
	s.tellUnmerged(err)
	return merged
}

func (s *Supervisor) mergeDue(st *blackboard.State) bool {
	return slices.ContainsFunc(transition.ApprovedTasks(st), func(c transition.Candidate) bool {
		waits := c.Task.Hold != nil || c.Task.MergeApproval != nil && c.Task.MergeApproval.Required && c.Task.MergeApproval.Decision != blackboard.GateApproved ||
			transition.ApprovingRun(st, c.Task, s.Service.Board.Now(), s.Service.Board.Facts()) != ""
		if w, asked := s.unverified[c.Task.ID]; asked && w.print == s.askedPrint(st, c.Task) && s.Service.Board.Now().Before(w.until) {
			waits = true
		}
		return !waits && (s.Role == blackboard.RoleReviewer || s.Service.Board.Now().Sub(c.Since) >= mergeGrace)
	})
}

// tellUnmerged shows what else went wrong with merges; it never ends a supervisor. A fault that lasts is told once, as is the
// merge of another process, which is not a fault.
func (s *Supervisor) tellUnmerged(err error) {
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
			wrong = append(wrong, e.Error())
		}
	}
	told := strings.Join(append(wrong, waits), "\n")
	if told != s.mergeTold && waits != "" {
		s.say("", "%s", waits)
	}
	for _, text := range wrong {
		if told != s.mergeTold {
			s.warn("", "cannot merge: %s", text)
		}
	}
	s.mergeTold = told
}

// postponed is why approved work is not tried again for a while.
type postponed struct {
	print string
	until time.Time
}

// waitForAnswer says once that approved work waits, and keeps it from being tried until something changes, or a minute is over.
func (s *Supervisor) waitForAnswer(ctx context.Context, r merge.Result) {
	st, err := s.Service.Board.View(ctx)
	if err != nil || st.Task(r.Task) == nil {
		return
	}
	w := postponed{s.askedPrint(st, st.Task(r.Task)), s.Service.Board.Now().Add(time.Minute)}
	if s.unverified[r.Task].print != w.print {
		s.warn(r.Task, "not merged: %s; next: liza status", r.Reason)
	}
	if s.unverified == nil {
		s.unverified = map[string]postponed{}
	}
	s.unverified[r.Task] = w
}

// askedPrint is what decides whether the work of a task may be merged that a check has not verified.
func (s *Supervisor) askedPrint(st *blackboard.State, t *blackboard.Task) string {
	text := st.Tip() + " " + t.ReviewCommit + " " + s.Service.Board.Config().Integration.Unverified
	for _, q := range st.Questions {
		if q != nil && q.Kind == blackboard.QuestionUnverified {
			text += " " + q.ID + string(q.Status) + q.Answer
		}
	}
	return text
}

// forgetEnded ends a run of this agent whose end could not be written: this supervisor runs nothing now, and merges wait
// for the end of the run that approved.
func (s *Supervisor) forgetEnded(ctx context.Context, st *blackboard.State) {
	for _, c := range transition.ApprovedTasks(st) {
		if transition.ApprovingRun(st, c.Task, s.Service.Board.Now(), s.Service.Board.Facts()) != s.ID {
			continue
		}
		err := s.Service.Board.Update(ctx, "run", func(st *blackboard.State, a transition.Actor) error {
			if e := st.Agents[a.ID]; e != nil {
				e.Child = nil
			}
			return nil
		})
		if err != nil {
			s.warn("", "cannot merge: %v", err)
		}
		return
	}
}

func (s *Supervisor) remoteWell() { s.remote = remotePause{} }

// applied hands a run's answer to the board, in one write with the end of the run. Work that cannot be pushed is finished: the
// claim is kept until it can.
func (s *Supervisor) applied(ctx, life context.Context, u *unit, r outcome.Run) (outcome.Outcome, error) {
	for {
		out, err := outcome.Apply(ctx, u.board, r)
		if failed := u.board.Board.Write(ctx, "run"); isLost(failed) { // when the answer wrote nothing
			s.lease.end()
			return out, cmp.Or(err, failed)
		} else if err == nil {
			err = failed
		}
		w, trouble := s.remoteTrouble(u.task, err)
		if unreachable(err) {
			w, trouble = s.cutOff(err), true
		}
		if !trouble {
			if err == nil {
				s.remoteWell()
				s.wasCutOff = false // nothing was given up
			}
			return out, err
		}
		if !sleep(life, w.until.Sub(s.Service.Board.Now())) {
			return out, err
		}
	}
}

// followRemote brings what other hosts merged. Without the remote, work that is under way goes on and nothing is claimed.
func (s *Supervisor) followRemote(ctx context.Context, st *blackboard.State) error {
	if s.Service.Board.Now().Before(s.remote.until) {
		return nil // what needs it says so
	}
	return s.Service.Integration.FollowRemote(ctx, st)
}
