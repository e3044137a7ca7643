package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// A member is the agent as the parts of its supervisor know it: who it is, how it works on the board, and where its lines go.
type member struct {
	Service *verb.Service
	Role    blackboard.Role
	ID      string     // "" until it is registered
	Print   func(Line) // nil: nobody reads
}

// asked puts the question of a program that waited for somebody to answer on the board.
func (m *member) asked(ctx context.Context, task string, r *run) (outcome.Report, error) {
	asks := r.result.Question
	how := "the agent program asked on its terminal"
	if r.result.Outcome == agent.Refused {
		how = "the agent program got no answer"
	}
	q := verb.Prompted{Type: asks.Type, Text: asks.Text, Options: asks.Options}
	out, err := outcome.Asked(ctx, m.Service, outcome.Run{Kind: string(m.Role), Task: task}, how, q)
	if err == nil {
		r.outcome(out)
		m.warn(task, "%s", r.result.Error)
	}
	return out, err
}

func (m *member) tooManyCrashes(ctx context.Context) bool {
	st, err := m.Service.Board.View(ctx)
	if err != nil || st.Agents[m.ID] == nil {
		return false
	}
	var at []time.Time
	for _, c := range st.Agents[m.ID].Crashes {
		if t, ok := c.At(); ok {
			at = append(at, t)
		}
	}
	return tooMany(at, st.Int("crash_limit"), st.Duration("crash_window"), m.Service.Board.Now())
}

// cannotStart handles a program that could not be prepared or started at all.
func (m *member) cannotStart(ctx context.Context, u *unit, err error) error {
	if isLost(err) || ctx.Err() != nil {
		return err
	}
	if e := m.letGo(ctx, u, "the agent program cannot be started"); e != nil {
		return errors.Join(err, e)
	}
	if _, remote := errors.AsType[*git.RemoteError](err); remote {
		return err
	}
	return gaveUp("", err)
}

// contained calls what may panic, and makes an error of it. The stack goes to a file of its own.
func (m *member) contained(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			failed := &panicError{value: value}
			stack := fmt.Sprintf("=== %s %s\npanic: %v\n\n%s\n", blackboard.TimeOf(m.Service.Board.Now()), m.ID, value, debug.Stack())
			path := m.Service.Board.Project.PanicLog(m.ID)
			if safefile.MakeFolder(filepath.Dir(path), 0o700) == nil && safefile.Append(path, []byte(m.Service.Board.Mask(stack))) == nil {
				failed.log, _ = filepath.Rel(m.Service.Board.Project.Root, path)
			}
			err = failed
		}
	}()
	return do()
}

func (m *member) intervals(ctx context.Context) (interval, lease, margin time.Duration) {
	st, err := m.Service.Board.View(ctx)
	if err != nil {
		st = &blackboard.State{}
	}
	lease = st.Duration("lease_duration")
	return st.Heartbeat(), lease, lease / 10
}

// has reports whether the present registration of this agent has a claim or a review.
func (m *member) has(st *blackboard.State) bool {
	me := st.Agents[m.ID]
	if me == nil {
		return false
	}
	for t := range st.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == m.ID && t.ClaimGeneration == me.Generation ||
			t.Status == blackboard.ReadyForReview && t.ReviewingBy == m.ID && t.ReviewingGeneration == me.Generation {
			return true
		}
	}
	return false
}

// noPush is why the git of an agent program does not push; git quotes it in its error.
const noPush = "liza: agents do not push (policy.push is false in .liza/config.yaml)"

// gitSettings are the variables for the git of an agent program: the person's name, and that it
// does not push unless policy.push says so. Settings that the environment has already stay.
//
// environ is what the program gets besides.
func (m *member) gitSettings(ctx context.Context, environ []string) ([]string, error) {
	settings, err := m.identity(ctx)
	if err != nil {
		return nil, err
	}
	if !m.Service.Board.Config().Policy.Push {
		refusals, err := m.Service.Board.Repo.NoPush(ctx, noPush)
		if err != nil {
			return nil, err
		}
		settings = append(settings, refusals...)
	}
	return variables(environ, settings), nil
}

// identity is the person's name as settings: some programs hide the person's configuration from
// the commands that they run, and their commits would fail. What the configuration does not say
// is the agent's id: a commit must not fail because nobody has told git who commits on this machine.
func (m *member) identity(ctx context.Context) ([][2]string, error) {
	name, email, err := m.Service.Board.Repo.Identity(ctx)
	return [][2]string{{"user.name", cmp.Or(name, m.ID)}, {"user.email", cmp.Or(email, m.ID+"@localhost")}}, err
}

// variables hand settings to git besides those that the environment has.
func variables(environ []string, settings [][2]string) []string {
	count := 0
	for _, e := range environ {
		if n, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			var err error
			if count, err = strconv.Atoi(n); err != nil || count < 0 {
				return nil // git itself says what is wrong with it
			}
		}
	}
	var env []string
	for _, setting := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, setting[1]))
		count++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

func (m *member) tip(ctx context.Context, task string) string {
	commit, err := m.Service.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return commit
}

// folder is where a task is worked on and judged: its worktree. A message has none.
func (m *member) folder(t *blackboard.Task) string {
	if t.KindOf() == blackboard.MessageTask {
		return m.Service.Board.Project.Root
	}
	if m.judges(t) {
		return m.Service.Checks.Judged(t.ID)
	}
	return m.Service.Board.Repo.WorktreePath(t.ID)
}

// judges reports whether the runs of this member look at the work of a task in a checkout of their own: nothing that its coder has left beside
// the commit acts there, and what a reviewer changes is thrown away.
func (m *member) judges(t *blackboard.Task) bool {
	return m.Role == blackboard.RoleReviewer && t.ChangesFiles() && t.ReviewCommit != ""
}

// letGo gives the claim or review claim back.
func (m *member) letGo(ctx context.Context, u *unit, reason string) error {
	var err error
	if m.Role == blackboard.RoleReviewer {
		_, err = u.board.Reviews.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "released", Reason: reason})
	} else {
		_, err = u.board.Release(ctx, verb.ReleaseInput{Task: u.task, Reason: reason})
	}
	if err == nil {
		m.say(u.task, "released: %s", reason)
	}
	return err
}

// releaseAll gives back the claims of this agent (T36, T18).
func (m *member) releaseAll(ctx context.Context, reason string) error {
	st, err := m.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	for t := range st.Tasks() {
		coder := t.Status == blackboard.Claimed && t.AssignedTo == m.ID
		reviewer := t.Status == blackboard.ReadyForReview && t.ReviewingBy == m.ID
		if !coder && !reviewer {
			continue
		}
		if _, err := m.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Reason: reason, Reviewer: reviewer}); err != nil && !isLost(err) {
			return fmt.Errorf("cannot release %s: %w", t.ID, err)
		}
		m.say(t.ID, "released: %s", reason)
	}
	return nil
}

func (m *member) generation(st *blackboard.State) string {
	if e := st.Agents[m.ID]; e != nil {
		return e.Generation
	}
	return ""
}

func (m *member) head(ctx context.Context, task string) string {
	if task == "" || m.Role != blackboard.RoleCoder {
		return ""
	}
	w, err := m.Service.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return w
}

func (m *member) say(task, format string, args ...any) { m.tell(Plain, task, format, args...) }

// tell is say for a line of another kind than Plain.
func (m *member) tell(kind Kind, task, format string, args ...any) {
	m.show(Line{Kind: kind, Task: task, Text: fmt.Sprintf(format, args...)})
}

func (m *member) warn(task, format string, args ...any) {
	m.show(Line{Task: task, Text: fmt.Sprintf(format, args...), Warning: true})
}

func (m *member) show(l Line) {
	if m.Print != nil {
		l.Time, l.Agent = m.Service.Board.Now(), m.ID
		m.Print(l)
	}
}

// holds reports whether the claim of this unit is still this agent's, as it was when the run began.
func (m *member) holds(st *blackboard.State, u *unit, before board.Mark) bool {
	t := st.Task(u.task)
	if t == nil {
		return false
	}
	if m.Role == blackboard.RoleReviewer {
		return t.Status == blackboard.ReadyForReview && t.ReviewingBy == m.ID
	}
	return t.Status == blackboard.Claimed && t.AssignedTo == m.ID && t.ClaimSeq == before.ClaimSeq
}

// restartTalk is for a conversation that its program does not know any more: the same is asked
// in a new one, and nothing has happened.
func (m *member) restartTalk(u *unit, r *run) next {
	u.talk, u.fresh = nil, true
	m.warn(u.task, "%s does not know the earlier conversation any more; a new one begins", r.program())
	return next{again: true}
}
