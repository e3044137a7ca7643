package board

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

func asRefusal(err error, r **transition.Refusal) bool { return errors.As(err, r) }

// orphanage is a session at a board in memory, which writes down what it stops.
func orphanage(t *testing.T, s *blackboard.State) (*Session, *[]string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".liza"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	var stopped []string
	return &Session{Project: &project.Project{Root: dir, Liza: filepath.Join(dir, ".liza"), GitDir: dir}, Store: store.NewMemory(s), Config: func() *config.Config { return cfg },
		Now: func() time.Time { return noon }, Proc: Processes{Host: "h", BootID: "b",
			Running: func(pid int, start int64) (bool, bool) { return pid == 100, pid != 102 },
			StopOrphan: func(_ context.Context, agent string, child blackboard.Child, _ time.Duration) error {
				stopped = append(stopped, fmt.Sprintf("%s %d %s", agent, child.PID, child.RunID))
				return nil
			}}}, &stopped
}

// What a registration may have left running: its program, or a run that its dead supervisor had no time to write down.
func TestWhatARegistrationLeavesBehind(t *testing.T) {
	t.Parallel()
	b, _ := orphanage(t, stateOf())
	child := &blackboard.Child{PID: 7, RunID: "g-1-3"}
	for _, c := range []struct {
		name  string
		entry *blackboard.Agent
		want  string
	}{
		{"no entry", nil, "nothing"},
		{"its program", &blackboard.Agent{Host: "h", BootID: "b", PID: 100, Generation: "g-1", Child: child}, "coder-1 g-1 7 g-1-3"},
		{"a supervisor that lives, between runs", &blackboard.Agent{Host: "h", BootID: "b", PID: 100, Generation: "g-1"}, "nothing"},
		{"a dead one, between runs", &blackboard.Agent{Host: "h", BootID: "b", PID: 101, Generation: "g-1", IterationsTotal: 4}, "coder-1 g-1 0 g-1-5"},
		{"one of whom nothing is known", &blackboard.Agent{Host: "h", BootID: "b", PID: 102, Generation: "g-1"}, "nothing"},
		{"a person's registration", &blackboard.Agent{Host: "h", BootID: "b", Generation: "g-1"}, "nothing"},
		{"one on another host", &blackboard.Agent{Host: "x", BootID: "b", PID: 101, Generation: "g-1", Child: child}, "nothing"},
		{"one of another boot", &blackboard.Agent{Host: "h", BootID: "x", PID: 101, Generation: "g-1", Child: child}, "nothing"},
	} {
		got := "nothing"
		if o := b.Orphans().OrphanOf("coder-1", c.entry); o != nil {
			got = fmt.Sprintf("%s %s %d %s", o.Agent, o.Generation, o.Child.PID, o.Child.RunID)
		}
		if got != c.want {
			t.Errorf("%s leaves %q, want %q", c.name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		host, boot string
		want       bool
	}{"this boot": {"h", "b", false}, "the boot before": {"h", "a", true}, "another host": {"x", "a", false}, "an unknown boot": {"h", "", false}} {
		if got := b.Orphans().FormerBoot(&blackboard.Agent{Host: c.host, BootID: c.boot}); got != c.want {
			t.Errorf("an entry of %s is of a former boot of this machine: %t, want %t", name, got, c.want)
		}
	}
}

// A change that replaces a registration is written after what that one left is stopped, once for each, and never under the lock.
func TestAChangeWaitsUntilWhatItReplacesIsStopped(t *testing.T) {
	t.Parallel()
	s := stateOf()
	for n, id := range []string{"coder-1", "coder-2"} {
		s.Agents[id] = &blackboard.Agent{Role: "coder", Host: "h", BootID: "b", PID: 101, Generation: "g-" + id, Child: &blackboard.Child{PID: 7 + n, RunID: "run-" + id}}
	}
	b, stopped := orphanage(t, s)
	tries := 0
	err := b.UpdateAs(context.Background(), "test", Identity{}, func(s *blackboard.State, _ transition.Actor) error {
		tries++
		delete(s.Agents, "coder-1")
		delete(s.Agents, "coder-2")
		return nil
	})
	if got := len(*stopped); err != nil || got != 2 || (*stopped)[0] == (*stopped)[1] || tries != 3 {
		t.Errorf("%v: stopped %v in %d tries; want both once, in 3", err, *stopped, tries)
	}
	if now, _ := b.Store.View(context.Background()); len(now.Agents) != 0 {
		t.Errorf("the board has %v, want the change written", now.Agents)
	}

	// What cannot be stopped keeps its place: the change is refused, and the board is as before.
	b, _ = orphanage(t, s)
	b.Proc.StopOrphan = func(context.Context, string, blackboard.Child, time.Duration) error {
		return errors.New("it does not end")
	}
	err = b.UpdateAs(context.Background(), "test", Identity{}, func(s *blackboard.State, _ transition.Actor) error {
		delete(s.Agents, "coder-1")
		return nil
	})
	var r *transition.Refusal
	if !asRefusal(err, &r) || r.Guard != "G28" || r.Exit != transition.ExitFailure || r.Next != "liza doctor" || r.Message != "cannot take over from coder-1: it does not end" {
		t.Errorf("%v, want a refusal by G28 that leads to liza doctor", err)
	}
	if now, _ := b.Store.View(context.Background()); len(now.Agents) != 2 {
		t.Errorf("the board has %v, want both agents as before", now.Agents)
	}
}

// The end of a run that its supervisor could not write any more counts for that run alone.
func TestTheKeptEndOfARunIsThatRunsOnly(t *testing.T) {
	t.Parallel()
	five := blackboard.Amount(5)
	for _, c := range []struct {
		name    string
		child   blackboard.Child
		counted bool
	}{
		{"the same run", blackboard.Child{RunID: "g-1-1", Task: "a"}, true},
		{"a later run", blackboard.Child{RunID: "g-1-2", Task: "a"}, false},
		{"another task", blackboard.Child{RunID: "g-1-1", Task: "b"}, false},
	} {
		s := stateOf(&blackboard.Task{ID: "a", Status: blackboard.Claimed}, &blackboard.Task{ID: "b", Status: blackboard.Claimed})
		s.Agents["coder-1"] = &blackboard.Agent{Role: "coder", Child: &c.child}
		b, _ := orphanage(t, s)
		if err := b.Orphans().KeepEnd("coder-1", "g-1-1", transition.RunResult{Task: "a", Cost: &five}); err != nil {
			t.Fatal(err)
		}
		b.Settle(s, Orphan{Agent: "coder-1", Child: c.child})
		if got := s.Usage != nil && s.Usage.AgentRuns == 1 && s.Usage.CostCents == five; got != c.counted {
			t.Errorf("%s: its cost is counted: %t, want %t", c.name, got, c.counted)
		}
	}
	b, _ := orphanage(t, stateOf())
	b.Settle(stateOf(), Orphan{Agent: "coder-1"}) // no file: nothing happens
}

func TestAnOrphanThatWasReplacedIsNotForgotten(t *testing.T) {
	t.Parallel()
	o := Orphan{Agent: "coder-1", Generation: "g-1", Child: blackboard.Child{PID: 7}}
	for name, c := range map[string]struct {
		entry *blackboard.Agent
		in    bool
	}{
		"the same":           {&blackboard.Agent{Generation: "g-1", Child: &blackboard.Child{PID: 7}}, true},
		"a new registration": {&blackboard.Agent{Generation: "g-2", Child: &blackboard.Child{PID: 7}}, false},
		"a later program":    {&blackboard.Agent{Generation: "g-1", Child: &blackboard.Child{PID: 8}}, false},
		"none any more":      {&blackboard.Agent{Generation: "g-1"}, false},
	} {
		s := stateOf()
		s.Agents["coder-1"] = c.entry
		had := c.entry.Child != nil
		if got := o.In(s); got != c.in {
			t.Errorf("%s: the board has the orphan: %t, want %t", name, got, c.in)
		}
		if o.Forget(s); (s.Agents["coder-1"].Child == nil) != (c.in || !had) {
			t.Errorf("%s: after Forget the child is %+v", name, s.Agents["coder-1"].Child)
		}
	}
	if o.In(stateOf()) {
		t.Error("a board without the agent has its orphan")
	}
}

// Entries of a run name it; one that names another run keeps that.
func TestEntriesNameTheRunThatWroteThem(t *testing.T) {
	t.Parallel()
	shared := map[string]any{"limit": "cost"}
	entries := []blackboard.Entry{{Action: "a"}, {Action: "b", Extra: map[string]any{"run": "other"}}, {Action: "c", Extra: shared}}
	nameRun("g-1-1", entries)
	if entries[0].Extra["run"] != "g-1-1" || entries[1].Extra["run"] != "other" || entries[2].Extra["run"] != "g-1-1" || entries[2].Extra["limit"] != "cost" || shared["run"] != nil {
		t.Errorf("the entries are %v, and the map that was given %v; want a copy", entries, shared)
	}
	entries = []blackboard.Entry{{Action: "a"}}
	if nameRun("", entries); entries[0].Extra != nil {
		t.Errorf("outside of a run the entry has %v", entries[0].Extra)
	}
}

func TestTheMarkOfARunNamesRegistrationAndNumber(t *testing.T) {
	t.Parallel()
	if got := RunMark("g-1", 4); got != "g-1-4" || !strings.HasPrefix(got, "g-1-") {
		t.Errorf("the mark is %q, want g-1-4", got)
	}
}
