package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/outcome"
	"liza/pkg/verb"
)

// closedByPerson is why a claim is given back after a program in a terminal did nothing that
// would end it: opening it again and again would leave the person no way out.
const closedByPerson = "the program was closed before the work was handed in"

// askAgain starts the program again with its broken answer, up to max_parse_retries; then
// the unit is stuck (specs/protocol.md#13.3.1).
func (s *Supervisor) askAgain(ctx context.Context, u *unit, r *run, problem string) (next, error) {
	if u.mayReask(s.Service.Config().Limits.MaxParseRetries) {
		u.askedFor(r, problem)
		s.warn(u.task, "asks again (%d): %s", u.reasks, problem)
		return next{again: true}, nil
	}
	_, err := outcome.Unanswered(ctx, s.Service, outcome.Run{Kind: string(s.Role), Task: u.task}, problem, u.reasks+1)
	s.warn(u.task, "stuck: invalid exit command: %s", problem)
	return next{}, err
}

// mayReask reports whether a broken answer may be asked for once more.
func (u *unit) mayReask(most int) bool { return u.reasks < most }

// askedFor lets the next run ask for the answer again, in the same conversation.
func (u *unit) askedFor(r *run, problem string) {
	u.reasks++
	u.reask, u.talk, u.with = &reask{broken: r.result.Final, problem: problem}, r.talk, r.program()
}

// asked puts the question of a program that waited for somebody to answer on the board.
func (s *Supervisor) asked(ctx context.Context, task string, r *run) (outcome.Outcome, error) {
	asks := r.result.Question
	how := "the agent program asked on its terminal"
	if r.result.Outcome == agent.Refused {
		how = "the agent program got no answer"
	}
	q := verb.Prompted{Type: asks.Type, Text: asks.Text, Options: asks.Options}
	out, err := outcome.Asked(ctx, s.Service, outcome.Run{Kind: string(s.Role), Task: task}, how, q)
	if err == nil {
		r.outcome(out)
		s.warn(task, "%s", r.result.Error)
	}
	return out, err
}

// timedOut records a run that was stopped at its limits: once it is repeated, then the
// task is blocked (limits.task_crashes), or the claim given back where that has no limit.
func (s *Supervisor) timedOut(ctx context.Context, u *unit, x *run) (next, error) {
	r := x.result
	s.warn(u.task, "%s: %s", r.Outcome, r.Error)
	if s.Role == blackboard.RoleReviewer {
		_, err := s.Service.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: string(r.Outcome) + ": " + r.Error})
		return next{wait: afterTimeout}, err
	}
	blocked, err := s.Service.RunFailed(ctx, u.task, string(r.Outcome), r.Error, lastWords(r.Tail)...)
	if err != nil {
		return next{}, err
	}
	if blocked {
		s.warn(u.task, "blocked; next: liza show %s", u.task)
		return next{}, nil
	}
	if u.timeouts++; u.timeouts >= 2 {
		return next{}, s.letGo(ctx, u, string(r.Outcome)+" twice in a row")
	}
	return next{again: true, wait: afterTimeout}, nil
}

// crashed records a crash; too many within the window end the supervisor.
func (s *Supervisor) crashed(ctx context.Context, u *unit, x *run) (next, error) {
	r := x.result
	wait := u.crashes.next(crashWaits)
	what := "crashed: " + r.Error
	s.warn(u.task, "%s", what)
	if s.Role == blackboard.RoleReviewer { // a review that failed is counted and given back
		if _, err := s.Service.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: what}); err != nil {
			return next{}, err
		}
		if s.tooManyCrashes(ctx) {
			return next{}, stopForCrashes(u, x, what)
		}
		return next{wait: s.failed.reviews.next(crashWaits)}, nil
	}
	blocked, err := s.Service.RunFailed(ctx, u.task, "crashed", r.Error, lastWords(r.Tail)...)
	if err != nil {
		return next{}, err
	}
	if blocked {
		s.warn(u.task, "blocked: its program crashed as often as limits.task_crashes allows")
		if s.tooManyCrashes(ctx) {
			err = stopForCrashes(u, x, what)
		}
		return next{}, err
	}
	if s.tooManyCrashes(ctx) {
		if err := s.letGo(ctx, u, what); err != nil {
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

func (s *Supervisor) tooManyCrashes(ctx context.Context) bool {
	st, err := s.Service.View(ctx)
	if err != nil || st.Agents[s.ID] == nil {
		return false
	}
	var at []time.Time
	for _, c := range st.Agents[s.ID].Crashes {
		if t, ok := c.At(); ok {
			at = append(at, t)
		}
	}
	return tooMany(at, st.Int("crash_limit"), st.Duration("crash_window"), s.Service.Now())
}

// stopForCrashes is the give-up after too many crashes.
func stopForCrashes(u *unit, r *run, what string) error {
	g := &GaveUp{Task: u.task, Why: "its program ended too often: " + what, Next: "liza show " + u.task, Extra: map[string]any{"program": r.program(), "run": r.mark}}
	if u.task == "" {
		g.Next = "liza doctor --cli " + r.program()
	}
	return g
}

// cannotStart handles a program that could not be prepared or started at all.
func (s *Supervisor) cannotStart(ctx context.Context, u *unit, err error) error {
	if isLost(err) || ctx.Err() != nil {
		return err
	}
	if e := s.letGo(ctx, u, "the agent program cannot be started"); e != nil {
		return errors.Join(err, e)
	}
	if _, remote := errors.AsType[*git.RemoteError](err); remote {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGaveUp, err)
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
