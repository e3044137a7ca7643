package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
)

// talks is an agent program with conversations: each run goes on in the one that it is told,
// else it begins the next. It tells the tokens of the whole conversation, as some programs do.
type talks struct {
	said   []string // how each run began
	n      int
	tokens map[string]int
}

func (p *talks) run(spec agent.Spec, outcome agent.Outcome, final string) agent.Result {
	id, whole := spec.Session, spec.Session != ""
	if id == "" {
		p.n++
		id = fmt.Sprintf("talk-%d", p.n)
		p.said = append(p.said, "new "+id)
	} else {
		p.said = append(p.said, "resumes "+id)
	}
	if p.tokens == nil {
		p.tokens = map[string]int{}
	}
	p.tokens[id] += 100
	return agent.Result{Outcome: outcome, Final: final, Session: id, Usage: agent.Usage{CostKnown: true, CostCents: 1, TokensKnown: true, TokensIn: p.tokens[id], WholeSession: whole}}
}

func (c *clockwork) reject(task, reviewer string) {
	c.TB.Helper()
	d := c.Service(reviewer)
	d.Board.Store = c.memory
	if _, err := d.Reviews.ClaimReview(context.Background(), task); err != nil {
		c.TB.Fatal(err)
	}
	if _, err := d.Reviews.Verdict(context.Background(), verb.VerdictInput{Task: task, Verdict: "reject", Reason: "task-1.md:1 lacks a word"}); err != nil {
		c.TB.Fatal(err)
	}
}

// A re-ask and a task that comes back from review go on in the same conversation; its tokens
// are counted once. Another coder begins a new one.
func TestConversationsGoOn(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		p := &talks{}
		n := 0
		work := func(_ context.Context, spec agent.Spec) agent.Result {
			n++
			if n == 1 {
				return p.run(spec, agent.Finished, "I am done.") // no exit command
			}
			c.Git(c.Repo.WorktreePath("task-1"), "commit", "-q", "--allow-empty", "-m", "x")
			c.Commit("task-1")
			return p.run(spec, agent.Finished, completes)
		}
		c.once(c.supervisor(blackboard.RoleCoder, work))
		c.reject("task-1", "code-reviewer-1")
		c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
			if len(p.said) == 3 {
				return p.run(spec, agent.Finished, givesUp)
			}
			return p.run(spec, agent.Finished, retries)
		}))
		if got, want := strings.Join(p.said[:3], ", "), "new talk-1, resumes talk-1, resumes talk-1"; got != want {
			t.Errorf("%s, want %s\n%s", got, want, strings.Join(c.lines, "\n"))
		}
		task := c.state().Task("task-1")
		for i, a := range task.Attempts[:3] {
			if a.Session == nil || a.Session.ID != "talk-1" || a.Session.TokensIn != 100*(i+1) || a.CLI != "fake" {
				t.Errorf("attempt %d has %+v of %q", i+1, a.Session, a.CLI)
			}
		}
		// RETRY asks for a fresh start.
		if p.said[3] != "new talk-2" || task.Usage.TokensIn != 100*len(p.said) {
			t.Errorf("after RETRY: %s; %d tokens in %d runs", p.said[3], task.Usage.TokensIn, len(p.said))
		}
	})
}

// After a rejection the conversation is told what is new: it has the rest. A preview says so before.
func TestAfterARejectionOnlyWhatIsNewIsSent(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		p := &talks{}
		var prompts []string
		work := func(_ context.Context, spec agent.Spec) agent.Result {
			prompts = append(prompts, spec.Prompt)
			dir := c.Repo.WorktreePath("task-1")
			if err := os.WriteFile(filepath.Join(dir, "task-1.md"), fmt.Appendln(nil, "try", len(prompts)), 0o644); err != nil {
				t.Error(err)
			}
			c.Git(dir, "add", "-A")
			c.Git(dir, "commit", "-q", "-m", "x")
			return p.run(spec, agent.Finished, completes)
		}
		for i := range 3 {
			s := c.supervisor(blackboard.RoleCoder, work)
			c.Config.Agents.Default = s.CLI
			shown, err := supervisor.Preview(context.Background(), s.Service, s.Adapter, "task-1")
			c.once(s)
			if err != nil || len(prompts) != i+1 || shown.Text != prompts[i] {
				t.Errorf("run %d was given, and a preview before it showed (%v):\n%s\n--- preview:\n%s", i+1, err, strings.Join(prompts[min(i, len(prompts)):], ""), shown.Text)
			}
			if i < 2 {
				c.reject("task-1", "code-reviewer-1")
			}
		}
		if len(prompts) != 3 || strings.Join(p.said, ", ") != "new talk-1, resumes talk-1, resumes talk-1" {
			t.Fatalf("%d prompts, %v", len(prompts), p.said)
		}
		for _, again := range prompts[1:] {
			for _, new := range []string{"task-1.md:1 lacks a word", "## This run"} {
				if !strings.Contains(again, new) {
					t.Errorf("the conversation is not told %q:\n%s", new, again)
				}
			}
			for _, old := range []string{"## Rules", "## Commands", "## How to finish\n", "## Goal", "## Task\n"} {
				if strings.Contains(again, old) || !strings.Contains(prompts[0], old) {
					t.Errorf("the conversation is told %q again, or was not before", old)
				}
			}
			if 2*len(again) > len(prompts[0]) {
				t.Errorf("it is sent %d of %d bytes", len(again), len(prompts[0]))
			}
		}
	})
}

func TestAnotherCoderOrProgramBeginsANewConversation(t *testing.T) {
	for name, x := range map[string]struct{ id, program string }{"coder": {"coder-2", "fake"}, "program": {"coder-1", "other"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				p := &talks{}
				c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
					c.Commit("task-1")
					return p.run(spec, agent.Finished, completes)
				}))
				c.reject("task-1", "code-reviewer-1")
				s := c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result { return p.run(spec, agent.Finished, givesUp) })
				s.ID, s.CLI = x.id, x.program
				c.once(s)
				if got := strings.Join(p.said, ", "); got != "new talk-1, new talk-2" {
					t.Error(got)
				}
			})
		})
	}
}

// A conversation that the program does not know any more is not a crash: a new one begins, with
// the same words.
func TestAForgottenConversationBeginsAnew(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		p := &talks{}
		var prompts []string
		c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
			prompts = append(prompts, spec.Prompt)
			switch {
			case len(prompts) == 1:
				return p.run(spec, agent.Finished, "BROKEN-WORDS")
			case spec.Session != "":
				return agent.Result{Outcome: agent.Crashed, ExitCode: 1, Error: "No conversation found", NoSession: true}
			}
			return p.run(spec, agent.Finished, givesUp)
		}))
		if time.Since(c.start) > time.Second || len(prompts) != 3 || !strings.Contains(prompts[2], "BROKEN-WORDS") || p.said[1] != "new talk-2" {
			t.Errorf("%d runs in %s: %v", len(prompts), time.Since(c.start), p.said)
		}
		for i, whole := range []bool{true, false, true} { // what the program knows is not said again (specs/roles-and-knowledge.md#4.6)
			if strings.Contains(prompts[i], "## Rules") != whole {
				t.Errorf("prompt %d, whole %v, is\n%s", i+1, !whole, prompts[i])
			}
		}
		if len(c.actions("run_failed")) != 0 {
			t.Error("it counts as a crash")
		}
	})
}

// A rate limit in the middle of a re-ask does not make it forget what was asked.
func TestARateLimitKeepsTheReask(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		p := &talks{}
		var prompts []string
		c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
			prompts = append(prompts, spec.Prompt)
			switch len(prompts) {
			case 1:
				return p.run(spec, agent.Finished, "BROKEN-WORDS")
			case 2:
				return agent.Result{Outcome: agent.RateLimited, RetryAfter: time.Second, Session: spec.Session}
			}
			return p.run(spec, agent.Finished, givesUp)
		}))
		if len(prompts) != 3 || !strings.Contains(prompts[2], "BROKEN-WORDS") || p.said[1] != "resumes talk-1" {
			t.Errorf("%d runs: %v", len(prompts), p.said)
		}
	})
}

// A task that was halted during its review is handed in again with the
// commit that was not judged, and no coder is run.
func TestAHaltInReviewNeedsNoCoder(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.change(func(s *blackboard.State) { s.Task("task-1").Limits = blackboard.Settings{"cost_cents": 100} })
		c.once(c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			c.Commit("task-1")
			return agent.Result{Outcome: agent.Finished, Final: completes, Usage: cents(100)}
		}))
		commit := c.state().Task("task-1").ReviewCommit
		none := func(context.Context, agent.Spec) agent.Result {
			t.Error("a program was started")
			return finished(givesUp)
		}
		c.once(c.supervisor(blackboard.RoleReviewer, none))
		task := c.state().Task("task-1")
		if task.Status != blackboard.Blocked || task.Halt == nil || task.ReviewingBy != "" {
			t.Fatalf("the task is %s, halt %+v", task.Status, task.Halt)
		}
		if _, err := c.person().Resubmit(context.Background(), "task-1", blackboard.Settings{"cost_cents": 400}); err != nil {
			t.Fatal(err)
		}
		c.once(c.supervisor(blackboard.RoleCoder, none))
		if task := c.state().Task("task-1"); task.Status != blackboard.ReadyForReview || task.ReviewCommit != commit || commit == "" {
			t.Errorf("the task is %s at %s", task.Status, task.ReviewCommit)
		}
	})
}

// stopsBefore is a store whose process dies before one kind of change: the board stays as it was then.
type stopsBefore struct {
	store.Store
	op    string
	board *blackboard.State
}

func (s *stopsBefore) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if op.Name == s.op && s.board == nil {
		s.board, _ = s.View(ctx)
	}
	return s.Store.Update(ctx, op, change)
}

// A run had ended and committed when its supervisor was killed: the next start hands its work in, and no model
// is paid for it again.
func TestAFinishedRunOfADeadSupervisorIsSubmitted(t *testing.T) {
	for _, next := range []string{"coder-1", "coder-2"} {
		t.Run(next, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					c.Commit("task-1")
					return finished(completes)
				})
				dies := &stopsBefore{Store: c.memory, op: "submit"}
				s.Service.Board.Store, s.PIDStart = dies, 1 // no living process has that start
				c.once(s)
				commit := c.state().Task("task-1").ReviewCommit
				if before := dies.board.Task("task-1"); before.Status != blackboard.Claimed || len(before.Attempts) != 0 {
					t.Fatalf("at its death the task is %s with %d attempts", before.Status, len(before.Attempts))
				}
				c.memory = store.NewMemory(dies.board)
				again := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					t.Error("the work is done a second time")
					return finished(givesUp)
				})
				again.ID = next
				c.once(again)
				x := c.state().Task("task-1")
				if x.Status != blackboard.ReadyForReview || x.ReviewCommit != commit || x.LastOutcome.Summary != "it is there" || x.Usage.AgentRuns != 1 {
					t.Errorf("task-1 is %s at %s (want %s) after %d runs\n%s", x.Status, x.ReviewCommit, commit, x.Usage.AgentRuns, strings.Join(c.lines, "\n"))
				}
			})
		})
	}
}

// A person who gives a finished run's task back wants it done again.
func TestAFinishedRunThatWasReleasedIsDoneAgain(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			c.Commit("task-1")
			return finished(completes)
		})
		dies := &stopsBefore{Store: c.memory, op: "submit"}
		s.Service.Board.Store, s.PIDStart = dies, 1
		c.once(s)
		c.memory = store.NewMemory(dies.board)
		if _, err := c.person().Release(context.Background(), verb.ReleaseInput{Task: "task-1", Reason: "once more, please", Force: true}); err != nil {
			t.Fatal(err)
		}
		runs := 0
		c.once(c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			runs++
			return finished(givesUp)
		}))
		if runs != 1 {
			t.Errorf("%d runs, want one", runs)
		}
	})
}
