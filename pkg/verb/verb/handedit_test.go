package verb_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
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
	err := one.Board.Update(context.Background(), "run", func(s *blackboard.State, a transition.Actor) error {
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
		events += string(h.Event) + " "
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

// An edit of a status that no verb of a person makes is put back by the next write of anybody,
// and all go on with what was there before; the person's text is kept, the verb is named.
func TestARefusedHandEditOfAStatusStopsNobody(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.AddTask("task-2")
	if _, err := p.Service("coder-1").Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	entry(t, p, "task-1", `status: CLAIMED`, "status: REJECTED # by me")
	p.Open()
	if is := p.State().Task("task-1"); is.Status != blackboard.Claimed || is.AssignedTo != "coder-1" {
		t.Errorf("the agents see %s of %q", is.Status, is.AssignedTo)
	}
	told := told(t, p)
	if len(told) != 1 || told[0].Rule != "V67" || told[0].Line == 0 || !strings.HasPrefix(told[0].Next, "liza --as code-reviewer-1 verdict task-1 reject") {
		t.Fatalf("validate tells %v", told)
	}
	if _, err := p.Service("coder-2").Claim(context.Background(), "task-2"); err != nil {
		t.Errorf("another task: %v", err)
	}
	text, _ := os.ReadFile(p.Project.State())
	journal, _ := os.ReadFile(filepath.Join(p.Project.Liza, "log.yaml"))
	if strings.Contains(string(text), "status: REJECTED") || strings.Count(string(journal), "action: edit_refused") != 1 {
		t.Errorf("the board is\n%s\nthe journal\n%s", text, journal)
	}
	kept, _ := filepath.Glob(filepath.Join(p.Project.GitDir, "liza", "conflict-*-person.yaml"))
	if len(kept) != 1 {
		t.Fatalf("kept are %v", kept)
	}
	if mine, _ := os.ReadFile(kept[0]); !strings.Contains(string(mine), "status: REJECTED # by me") {
		t.Errorf("kept is\n%s", mine)
	}
	wantValid(t, p)
	p.Sound("task-1", "task-2")
}

// A block by hand is a block: the coder's claim is over, and the question can be answered.
func TestAHandEditToBlockedIsABlock(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	if _, err := p.Service("coder-1").Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	entry(t, p, "task-1", `status: CLAIMED`, "status: BLOCKED\n    blocked_reason: the schema of orders is missing\n    blocked_questions: ['Which columns has it?']")
	p.Open()
	wantValid(t, p)
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	task := s.Task("task-1")
	if task.Status != blackboard.Blocked || task.BlockedKind != "human" || task.ClaimGeneration != "" || s.Agents["coder-1"].CurrentTask != "" || len(s.Questions) != 1 {
		t.Errorf("it is %+v, with %d questions", task, len(s.Questions))
	}
	wantValid(t, p)
	p.Sound("task-1")
}

// The same holds in `liza edit`; there the person is told before anything is written.
func TestAnEditOfAStatusIsTakenAsAVerbOrRefused(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	if _, err := p.Service("coder-1").Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	file := p.Store
	base, err := file.Text(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	edit := func(to string) error {
		_, err := file.Edit(context.Background(), store.Op{Name: "edit", Agent: blackboard.Human}, base, []byte(strings.Replace(string(base), "status: CLAIMED", "status: "+to, 1)))
		return err
	}
	if err := edit("READY_FOR_REVIEW"); err == nil || !strings.Contains(err.Error(), "V67") || !strings.HasPrefix(transition.NextOf(err), "liza --as coder-1 submit task-1") {
		t.Errorf("submitted: %v", err)
	}
	if err := edit("UNCLAIMED"); err != nil {
		t.Fatal(err)
	}
	if is := p.State().Task("task-1"); is.Status != blackboard.Unclaimed || is.AssignedTo != "" || is.History[len(is.History)-1].Event != "released" {
		t.Errorf("it is %+v", is)
	}
	if journal, _ := os.ReadFile(filepath.Join(p.Project.Liza, "log.yaml")); strings.Count(string(journal), "action: released") != 1 {
		t.Errorf("the journal is\n%s", journal)
	}
	wantValid(t, p)
	p.Sound("task-1")
}

// told are the errors that `liza validate` tells of.
func told(t *testing.T, p *verbtest.Place) []blackboard.Violation {
	t.Helper()
	i, err := p.Store.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := audit.Validate(i.State, i.Previous, audit.Evidence{Now: time.Now(), Archive: p.TaskArchive, Decode: i.Decode})
	return slices.DeleteFunc(all, func(v blackboard.Violation) bool { return v.Severity != blackboard.SeverityError })
}

func wantValid(t *testing.T, p *verbtest.Place) {
	t.Helper()
	if found := told(t, p); len(found) > 0 {
		t.Errorf("validate tells %v", found)
	}
}
