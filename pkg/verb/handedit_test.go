package verb_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/verb/verbtest"
)

// A person who writes UNCLAIMED over CLAIMED releases the task: another coder takes it at the
// first try, and the program that worked on it is stopped first.
func TestAHandEditFromClaimedToUnclaimedIsARelease(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	one := p.Supervised("coder-1")
	if _, err := one.Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	run := "run-1"
	program := exec.Command("sleep", "60")
	program.Env = append(os.Environ(), "LIZA_AGENT_ID=coder-1", "LIZA_RUN="+run)
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	start, _ := agent.ProcessStart(program.Process.Pid)
	err := one.Update(context.Background(), "run", func(s *blackboard.State, a blackboard.Actor) error {
		s.Agents["coder-1"].Child = &blackboard.Child{PID: program.Process.Pid, PIDStart: start, PGID: program.Process.Pid, Run: 1, RunID: run, Task: "task-1"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	entry(t, p, "task-1", `status: CLAIMED`, "status: UNCLAIMED")
	p.Open()
	if _, err := p.Supervised("coder-2").Claim(context.Background(), "task-1"); err != nil {
		t.Fatalf("another coder claims it: %v", err)
	}
	<-ended // it was stopped, or this test does not end
	task := p.State().Task("task-1")
	events := ""
	for _, h := range task.History {
		events += h.Event + " "
	}
	if task.AssignedTo != "coder-2" || !strings.Contains(events, "released claimed") {
		t.Errorf("held by %s after %s", task.AssignedTo, events)
	}
	if is := p.State().Agents["coder-1"].CurrentTask; is != "" {
		t.Errorf("coder-1 still works on %s", is)
	}
	journal, err := os.ReadFile(filepath.Join(p.Project.Liza, "log.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(journal); strings.Contains(text, "claim_failed") || strings.Count(text, "action: released") != 1 {
		t.Errorf("the journal is\n%s", text)
	}
	p.Sound("task-1")
}
