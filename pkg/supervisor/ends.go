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
	"liza/pkg/verb"
)

// closedByPerson is why a claim is given back after a program in a terminal did nothing that
// would end it: opening it again and again would leave the person no way out.
const closedByPerson = "the program was closed before the work was handed in"

// askAgain starts the program again with its broken answer, up to max_parse_retries; then
// the unit is stuck (protocol 13.3.1).
func (s *Supervisor) askAgain(ctx context.Context, u *unit, r agent.Result, problem string) (bool, time.Duration, error) {
	if u.reasks < s.Desk.Config().Limits.MaxParseRetries {
		u.reasks++
		u.reask, u.talk, u.with = &reask{broken: r.Final, problem: problem}, s.last.talk, s.last.program
		s.warn(u.task, "asks again (%d): %s", u.reasks, problem)
		return true, 0, nil
	}
	_, err := s.Desk.Unanswered(ctx, verb.Run{Kind: string(s.Role), Task: u.task}, problem, u.reasks+1)
	s.warn(u.task, "stuck: invalid exit command: %s", problem)
	return false, 0, err
}

// asked puts the question of a program that waited for somebody to answer on the board.
func (s *Supervisor) asked(ctx context.Context, task string, r agent.Result) (verb.Outcome, error) {
	q := verb.Prompted{Type: r.Question.Type, Text: r.Question.Text, Options: r.Question.Options}
	out, err := s.Desk.Asked(ctx, verb.Run{Kind: string(s.Role), Task: task}, q)
	if err == nil {
		s.current.outcome(out)
		s.warn(task, "%s", r.Error)
	}
	return out, err
}

// timedOut records a run that was stopped at its limits: once it is repeated, then the
// claim is given back.
func (s *Supervisor) timedOut(ctx context.Context, u *unit, r agent.Result) (bool, time.Duration, error) {
	s.warn(u.task, "%s: %s", r.Outcome, r.Error)
	if s.Role == blackboard.RoleReviewer {
		_, err := s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "failed", Reason: string(r.Outcome) + ": " + r.Error})
		return false, afterTimeout, err
	}
	limited, err := s.Desk.RunFailed(ctx, u.task, string(r.Outcome), r.Error)
	if err != nil || limited {
		return false, 0, err
	}
	if u.timeouts++; u.timeouts >= 2 {
		return false, 0, s.letGo(ctx, u, string(r.Outcome)+" twice in a row")
	}
	return true, afterTimeout, nil
}

// crashed records a crash; too many within the window end the supervisor.
func (s *Supervisor) crashed(ctx context.Context, u *unit, r agent.Result) (bool, time.Duration, error) {
	u.crashes++
	what := "crashed: " + r.Error
	s.warn(u.task, "%s", what)
	if s.Role == blackboard.RoleReviewer { // a review that failed is counted and given back
		if _, err := s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "failed", Reason: what}); err != nil {
			return false, 0, err
		}
		if s.tooManyCrashes(ctx) {
			return false, 0, s.stopForCrashes(u, what)
		}
		s.crashes++
		return false, s.policy.CrashWait(s.crashes), nil
	}
	blocked, err := s.Desk.RunFailed(ctx, u.task, "crashed", r.Error, lastWords(r.Tail)...)
	if err != nil {
		return false, 0, err
	}
	if blocked {
		s.warn(u.task, "blocked: its program crashed as often as limits.task_crashes allows")
		if s.tooManyCrashes(ctx) {
			err = s.stopForCrashes(u, what)
		}
		return false, 0, err
	}
	if s.tooManyCrashes(ctx) {
		if err := s.letGo(ctx, u, what); err != nil {
			return false, 0, err
		}
		return false, 0, s.stopForCrashes(u, what)
	}
	return true, s.policy.CrashWait(u.crashes), nil
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
	st, err := s.Desk.View(ctx)
	if err != nil || st.Agents[s.ID] == nil {
		return false
	}
	var at []time.Time
	for _, c := range st.Agents[s.ID].Crashes {
		if t, ok := c.At(); ok {
			at = append(at, t)
		}
	}
	return s.policy.GiveUp(at, st.Int("crash_limit"), st.Duration("crash_window"), s.Desk.Now())
}

// stopForCrashes is the give-up after too many crashes.
func (s *Supervisor) stopForCrashes(u *unit, what string) error {
	g := &GaveUp{Task: u.task, Why: "its program ended too often: " + what, Next: "liza show " + u.task, Extra: map[string]any{"program": s.last.program, "run": s.last.mark}}
	if u.task == "" {
		g.Next = "liza doctor"
	}
	return g
}

// letGo gives the claim or review claim back.
func (s *Supervisor) letGo(ctx context.Context, u *unit, reason string) error {
	var err error
	if s.Role == blackboard.RoleReviewer {
		_, err = s.Desk.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: "stuck", What: "released", Reason: reason})
	} else {
		_, err = s.Desk.Release(ctx, verb.ReleaseInput{Task: u.task, Reason: reason})
	}
	if err == nil {
		s.say(u.task, "released: %s", reason)
	}
	return err
}

// cannotStart handles a program that could not be prepared or started at all.
func (s *Supervisor) cannotStart(ctx context.Context, u *unit, err error) error {
	if isLost(err) || ctx.Err() != nil {
		return err
	}
	if e := s.letGo(ctx, u, "the agent program cannot be started"); e != nil {
		return errors.Join(err, e)
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
