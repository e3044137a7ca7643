package supervisor_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb/verbtest"
)

// A supervisor that is started for one unit of work merges what others left, and does its
// own work nonetheless.
func TestMergingIsNotTheOneUnitOfWork(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.AddTask("task-2")
	d := p.Service("")
	d.Board.Now = func() time.Time { return time.Now().Add(6 * time.Second) } // long enough for any agent to merge
	ran := 0
	s := &supervisor.Supervisor{Service: d, Role: blackboard.RoleCoder, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Task: "task-2", Once: true,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(_ context.Context, _ agent.Adapter, spec agent.Spec) agent.Result {
			if err := spec.Started(agent.Process{Pid: os.Getpid()}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			ran++
			p.Commit("task-2")
			return finished(completes)
		}}
	if err := s.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	state := p.State()
	first, second := state.Task("task-1"), state.Task("task-2")
	if ran != 1 || first.Status != blackboard.Merged || second.Status != blackboard.ReadyForReview {
		t.Errorf("the program ran %d times; task-1 is %s, task-2 is %s", ran, first.Status, second.Status)
	}
}

// A program that calls a command at once, before the board knows its run, waits until it does.
func TestACommandOfAProgramThatHasJustStartedIsThatOfItsRun(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	var starting atomic.Bool
	called, known := make(chan struct{}), false
	p.At = func(point string) {
		if point == "W1" && starting.Load() {
			select {
			case <-called:
			case <-time.After(300 * time.Millisecond): // in which a command would come that does not wait
			}
		}
	}
	p.Open()
	p.AddTask("task-1")
	start, _ := agent.ProcessStart(os.Getpid())
	s := &supervisor.Supervisor{Service: p.Service(""), Role: blackboard.RoleCoder, CLI: "fake", PID: os.Getpid(), PIDStart: start, Liza: "/bin/true", Once: true,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil }, Print: func(supervisor.Line) {}, RunBase: broker.Base("")}
	s.Commands = func(supervisor.InRun) broker.Handler {
		return func(context.Context, *broker.Call) int {
			e := p.State().Agents["coder-1"]
			known = e != nil && e.Child != nil && e.Child.TokenHash != ""
			close(called)
			return 0
		}
	}
	s.Start = func(ctx context.Context, _ agent.Adapter, spec agent.Spec) agent.Result {
		starting.Store(true)
		var calls sync.WaitGroup
		calls.Go(func() {
			for _, v := range spec.Env {
				if path, ok := strings.CutPrefix(v, "LIZA_BROKER="); ok {
					client := broker.Client{Socket: path, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
					if code, err := client.Do(ctx, broker.Request{Args: []string{"status"}, Dir: p.Dir}); code != 0 || err != nil {
						t.Errorf("the command ends with %d, %v", code, err)
					}
				}
			}
		})
		err := spec.Started(agent.Process{Pid: os.Getpid(), Start: start})
		starting.Store(false)
		calls.Wait()
		return agent.Result{Outcome: agent.Finished, Error: fmt.Sprint(err), Final: `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"Nothing was written.","blocked_questions":["What for?"]}`}
	}
	if err := s.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if !known {
		t.Error("a command came before the board knew the run")
	}
}
