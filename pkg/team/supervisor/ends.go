package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// closedByPerson is why a claim is given back after a program in a terminal did nothing that
// would end it: opening it again and again would leave the person no way out.
const closedByPerson = "the program was closed before the work was handed in"

// askAgain starts the program again with its broken answer, up to max_parse_retries; then
// the unit is stuck (specs/protocol.md#13.3.1).
func (s *Supervisor) askAgain(ctx context.Context, u *unit, r *run, problem string) (next, error) {
	if u.mayReask(s.Service.Board.Config().Limits.MaxParseRetries) {
		u.askedFor(r, problem)
		s.member.warn(u.task, "asks again (%d): %s", u.reasks, problem)
		return next{again: true}, nil
	}
	if r.climbs() {
		return s.climb(ctx, u, "invalid", problem)
	}
	_, err := outcome.Unanswered(ctx, u.board, outcome.Run{Kind: string(s.Role), Task: u.task}, problem, u.reasks+1)
	s.member.warn(u.task, "stuck: invalid exit command: %s", problem)
	return next{}, err
}

// mayReask reports whether a broken answer may be asked for once more.
func (u *unit) mayReask(most int) bool { return u.reasks < most }

// askedFor lets the next run ask for the answer again, in the same conversation.
func (u *unit) askedFor(r *run, problem string) {
	u.reasks++
	u.reask, u.talk, u.with = &reask{broken: r.result.Final, problem: problem}, r.talk, r.program()
}

// timedOut records a run that was stopped at its limits: once it is repeated, then the
// task is blocked (limits.task_crashes), or the claim given back where that has no limit.
func (s *Supervisor) timedOut(ctx context.Context, u *unit, x *run) (next, error) {
	r := x.result
	s.member.warn(u.task, "%s: %s", r.Outcome, r.Error)
	if s.Role == blackboard.RoleReviewer {
		_, err := u.board.Reviews.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: string(r.Outcome) + ": " + r.Error})
		return next{wait: afterTimeout}, err
	}
	blocked, err := u.board.RunFailed(ctx, u.task, string(r.Outcome), r.Error, lastWords(r.Tail)...)
	if err != nil {
		return next{}, err
	}
	if blocked {
		s.member.warn(u.task, "blocked; next: liza show %s", u.task)
		return next{}, nil
	}
	if u.timeouts++; u.timeouts >= 2 {
		return next{}, s.member.letGo(ctx, u, string(r.Outcome)+" twice in a row")
	}
	return next{again: true, wait: afterTimeout}, nil
}

// crashed records a crash; too many within the window end the supervisor.
func (s *Supervisor) crashed(ctx context.Context, u *unit, x *run) (next, error) {
	r := x.result
	wait := u.crashes.next(crashWaits)
	what := "crashed: " + r.Error
	s.member.warn(u.task, "%s", what)
	if s.Role == blackboard.RoleReviewer { // a review that failed is counted and given back
		if _, err := u.board.Reviews.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: what}); err != nil {
			return next{}, err
		}
		if s.member.tooManyCrashes(ctx) {
			return next{}, stopForCrashes(u, x, what)
		}
		return next{wait: s.failed.reviews.next(crashWaits)}, nil
	}
	blocked, err := u.board.RunFailed(ctx, u.task, "crashed", r.Error, lastWords(r.Tail)...)
	if err != nil {
		return next{}, err
	}
	if blocked {
		s.member.warn(u.task, "blocked: its program crashed as often as limits.task_crashes allows")
		if s.member.tooManyCrashes(ctx) {
			err = stopForCrashes(u, x, what)
		}
		return next{}, err
	}
	if s.member.tooManyCrashes(ctx) {
		if err := s.member.letGo(ctx, u, what); err != nil {
			return next{}, err
		}
		return next{}, stopForCrashes(u, x, what)
	}
	return next{again: true, wait: wait}, nil
}

// lastWords are the last lines of a program for people, who read them with a reason.
func lastWords(tail []string) []string {
	const lines, size = 10, 300
	var out []string
	for _, line := range tail[max(0, len(tail)-lines):] {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ReplaceAll(line, "\t", "  "))
		if len(line) > size {
			line = strings.ToValidUTF8(line[:size], "") + "…"
		}
		if strings.TrimSpace(line) != "" {
			out = append(out, "  "+line)
		}
	}
	return out
}

// stopForCrashes is the give-up after too many crashes.
func stopForCrashes(u *unit, r *run, what string) error {
	g := &GaveUp{Task: u.task, Why: "its program ended too often: " + what, Next: "liza show " + u.task, Extra: map[string]any{"program": r.program(), "run": r.mark}}
	if u.task == "" {
		g.Next = "liza doctor --cli " + r.program()
	}
	return g
}

// cost says how long a run took and what it cost; unknown is not zero.
func cost(r agent.Result) string {
	text := fmt.Sprintf("%.1f s", r.Seconds)
	if r.Usage.CostKnown {
		return fmt.Sprintf("%s, %s cents", text, blackboard.AmountOf(r.Usage.CostCents))
	}
	return text + ", cost unknown"
}

func lastError(t *blackboard.Task) string {
	if t.RejectionReason != nil {
		return t.RejectionReason.Summary
	}
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1].Summary
	}
	return ""
}

// left decides what becomes of a claim when a person has closed the program in the terminal
// before the work was handed in. A coder's person is asked once; without an answer what was
// committed is kept for them, and a claim without commits is given back.
func (s *Supervisor) left(ctx, life context.Context, u *unit, r *run) error {
	s.shut = true
	st, err := u.board.Board.View(ctx)
	if err != nil {
		return err
	}
	t := st.Task(u.task)
	if s.Role != blackboard.RoleCoder || t == nil {
		return s.member.letGo(ctx, u, closedByPerson)
	}
	w, err := s.Service.Board.Repo.Inspect(ctx, s.Service.Board.Repo.WorktreePath(u.task))
	if err != nil {
		s.member.warn(u.task, "cannot look at its worktree: %v", err)
	}
	commits := err == nil && w.Head != t.BaseCommit
	question := fmt.Sprintf("\n%s is not handed in: %s.\n[s]ubmit the commits for review, [k]eep it for yourself, or [g]ive it back to other coders? ", u.task, stateOfWork(commits, len(w.Dirty)))
	for range 3 {
		answer := strings.ToLower(s.Interactive.Ask(life, question))
		if answer == "" {
			break
		}
		switch answer[0] {
		case 's':
			done, err := u.board.Submit(ctx, verb.SubmitInput{Task: u.task, Summary: "Handed in by the person who worked on it in the terminal."})
			if err == nil {
				s.shut = false
				s.member.say(u.task, "submitted: %s", blackboard.ShortCommit(done.Commit))
				return nil
			}
			question = fmt.Sprintf("\ncannot submit: %v\n[s]ubmit again, [k]eep, or [g]ive back? ", err)
		case 'k':
			return s.keep(ctx, u, blackboard.Human)
		case 'g':
			return s.member.letGo(ctx, u, closedByPerson)
		default:
			question = "[s]ubmit, [k]eep, or [g]ive back? "
		}
	}
	if commits {
		return s.keep(ctx, u, blackboard.System)
	}
	return s.member.letGo(ctx, u, closedByPerson)
}

func stateOfWork(commits bool, dirty int) string {
	var parts []string
	if commits {
		parts = append(parts, "it has commits")
	} else {
		parts = append(parts, "it has no commits")
	}
	if dirty > 0 {
		parts = append(parts, fmt.Sprintf("%d files are not committed", dirty))
	}
	return strings.Join(parts, ", ")
}

// keep gives the claim back, but holds the task first, so that no other coder can take it in
// between; its worktree stays as it is.
func (s *Supervisor) keep(ctx context.Context, u *unit, by string) error {
	err := u.board.Board.Update(ctx, "keep", func(st *blackboard.State, _ transition.Actor) error {
		if t := st.Task(u.task); t == nil || t.Hold != nil {
			return nil
		}
		return transition.HoldTask(st, u.task, transition.Actor{ID: by}, transition.Input{Reason: "kept for the person who worked on it in the terminal"}, s.Service.Board.Now())
	})
	if err != nil {
		return err
	}
	if err := s.member.letGo(ctx, u, "kept; its worktree stays"); err != nil {
		return err
	}
	s.member.say(u.task, "kept: no other coder takes it; next: liza resume %s, then liza-agent -i coder %s", u.task, u.task)
	return nil
}

// tellGaveUp writes into the journal that this supervisor ends by itself, so that status and watch
// can name it when it is gone. What cannot be written must not hide why it ends.
func (s *Supervisor) tellGaveUp(err error) {
	if s.lease.lost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g, ok := errors.AsType[*GaveUp](err)
	if !ok {
		g = &GaveUp{Why: err.Error()}
	}
	extra := map[string]any{"next": g.next()}
	for k, v := range g.Extra {
		extra[k] = v
	}
	failed := s.Service.Board.Update(ctx, "give up", func(st *blackboard.State, a transition.Actor) error {
		st.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(s.Service.Board.Now()), Agent: a.ID, Action: blackboard.ActionAgentGaveUp, Task: g.Task, Detail: g.Why, Extra: extra})
		return nil
	})
	if failed != nil {
		s.member.warn(g.Task, "cannot write why it ends: %v", failed)
	}
}

// panicked gives back what the member worked on, and counts as a crash: too many of them end the member.
func (s *Supervisor) panicked(ctx context.Context, failed *panicError) (waiting, error) {
	s.member.warn("", "%v", failed)
	s.panics = append(s.panics, s.Service.Board.Now())
	if err := s.member.contained(func() error { return s.giveBack(ctx, failed) }); boardWaits(err) {
		return s.cutOff(err), nil // it is released when the board is back
	} else if err != nil {
		return waiting{}, gaveUp("", err)
	}
	limit, window := 3, 5*time.Minute
	if st, err := s.Service.Board.View(ctx); err == nil {
		limit, window = st.Int("crash_limit"), st.Duration("crash_window")
	}
	if tooMany(s.panics, limit, window, s.Service.Board.Now()) {
		return waiting{}, &GaveUp{Why: "too many crashes: " + failed.Error(), Next: "liza run"}
	}
	return waiting{why: failed.Error(), until: s.Service.Board.Now().Add(crashWaits.after(len(s.panics)))}, nil
}

// giveBack counts the crash for the task that a coder was at, and releases what the member holds.
func (s *Supervisor) giveBack(ctx context.Context, failed *panicError) error {
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	for t := range st.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == s.ID {
			if _, err := s.Service.RunFailed(ctx, t.ID, "crashed", failed.Error()); err != nil {
				return err
			}
		}
	}
	return s.member.releaseAll(ctx, failed.Error())
}
