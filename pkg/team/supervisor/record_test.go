package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/agent"
)

// recorded reads the history of a task and says what happened, one line a run.
func (c *clockwork) recorded(task string) (list []history.Interaction, lines string) {
	c.TB.Helper()
	list, err := history.Interactions{Dir: c.Project.HistoryDir(task)}.Read()
	if err != nil {
		c.TB.Fatal(err)
	}
	for i, in := range list {
		if in.Sequence != i+1 {
			c.TB.Errorf("interaction %d has the number %d", i+1, in.Sequence)
		}
		what := in.Response.Status + " " + strings.Join(in.Response.Actions, " ")
		if in.Liza.Event != "" {
			what = in.Liza.Event
		}
		lines += fmt.Sprintf("%s %s to %s: %s\n", in.StateBefore, in.Liza.StatusBefore, in.Liza.StatusAfter, strings.TrimSpace(what))
	}
	return list, lines
}

func (c *clockwork) wantsRecorded(task, want string) []history.Interaction {
	c.TB.Helper()
	list, lines := c.recorded(task)
	if lines != want {
		c.TB.Errorf("the history of %s is\n%swant\n%s", task, lines, want)
	}
	return list
}

// L-08, L-17: a run that hangs is a TIMEOUT, and that the supervisor goes on is there too.
func TestHangingRunsAndRecoveriesAreRecorded(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.Stalled, ExitCode: -1, Error: "no sign of life", Final: "working", Seconds: 600}
		})
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		list := c.wantsRecorded("task-1", "PENDING UNCLAIMED to CLAIMED: TIMEOUT\nRUNNING CLAIMED to CLAIMED: AUTOMATIC_RECOVERY\n"+
			"RUNNING CLAIMED to BLOCKED: TIMEOUT\n")
		if in := list[0]; in.Liza.Seconds != 600 || in.Liza.CostCents != nil || in.Liza.Error != "no sign of life" || in.Response.RawResponse != "working" {
			t.Errorf("the first one is %+v", in)
		}
	})
}

// L-03: an answer that cannot be used is asked for again, every one is kept, and then the
// task is BLOCKED with the defect; with no retries at once.
func TestEveryUnusableAnswerIsKept(t *testing.T) {
	for retries, want := range map[int]string{
		2: "PENDING UNCLAIMED to CLAIMED: ERROR\nRUNNING CLAIMED to CLAIMED: ERROR\nRUNNING CLAIMED to BLOCKED: ERROR\n",
		0: "PENDING UNCLAIMED to BLOCKED: ERROR\n",
	} {
		t.Run(fmt.Sprint(retries, " retries"), func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				c.Config.Limits.MaxParseRetries = retries
				s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					return finished(`{"action":"DONE","evidence_files":[],"summary_for_supervisor":"x"}`)
				})
				s.Once = true
				if err := s.Run(context.Background(), context.Background()); err != nil {
					t.Error(err)
				}
				list := c.wantsRecorded("task-1", want)
				for i, in := range list {
					prompt, err := os.ReadFile(c.Project.Prompt("task-1", in.Sequence))
					if err != nil || string(prompt) != in.Request.Prompt || in.Request.Metadata.Reask != i || !strings.Contains(in.Response.RawResponse, "DONE") {
						t.Errorf("interaction %d: re-ask %d, answer %q, prompt kept: %v", in.Sequence, in.Request.Metadata.Reask, in.Response.RawResponse, err)
					}
				}
				if task := c.state().Task("task-1"); !strings.Contains(task.BlockedReason, "invalid exit command: action 'DONE' must be") {
					t.Errorf("the task is %s: %s", task.Status, task.BlockedReason)
				}
			})
		})
	}
}

// N-26: what a supervisor left that was killed in the middle of a run becomes a failed run.
func TestTheRunOfADeadSupervisorIsRecordedAsFailed(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		h := history.Interactions{Dir: c.Project.HistoryDir("task-1")}
		host, _ := os.Hostname()
		begin := func(pid int, boot string) {
			_, err := h.Begin(context.Background(), history.Interaction{Timestamp: "2026-01-19T14:00:00Z", StateBefore: "PENDING"}, history.Owner{PID: pid, Host: host, BootID: boot})
			if err != nil {
				t.Fatal(err)
			}
		}
		begin(1<<30, agent.BootID())
		begin(os.Getpid(), "an earlier one")
		start, _ := agent.ProcessStart(os.Getpid())
		if _, err := h.Begin(context.Background(), history.Interaction{Timestamp: "2026-01-19T14:00:00Z"}, history.Owner{PID: os.Getpid(), PIDStart: start, Host: host, BootID: agent.BootID()}); err != nil {
			t.Fatal(err)
		}
		s := c.supervisor(blackboard.RoleReviewer, nil)
		s.Once = true
		_ = s.Run(context.Background(), context.Background())
		c.wantsRecorded("task-1", "PENDING  to : ERROR\nPENDING  to : ERROR\n")
		if left, _ := filepath.Glob(filepath.Join(h.Dir, "pending-*")); len(left) != 1 {
			t.Errorf("left: %v; want the one of the living process", left)
		}
	})
}

// K-16: no secret of the environment gets into the history.
func TestNoSecretGetsIntoTheHistory(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			return finished("hunter22\n" + `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"hunter22 is wrong."}`)
		})
		s.Once, s.Service.Board.Secrets = true, new(secret.Set)
		s.Service.Board.Secrets.AddEnviron([]string{"DEPLOY_TOKEN=hunter22"})
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(filepath.Join(c.Project.HistoryDir("task-1"), "jobHistory.json"))
		if err != nil || strings.Contains(string(data), "hunter22") || !strings.Contains(string(data), "[REDACTED:DEPLOY_TOKEN]") {
			t.Errorf("the history is %s, %v", data, err)
		}
	})
}
