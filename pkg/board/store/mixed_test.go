package store_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// mixedChange is what one of many processes does again and again: by turns it changes a
// task, adds one, takes one of its own away, changes an agent, and notes something. What
// it did is counted in its own agent, so that the sum of all changes is known.
func mixedChange(writer int) func(*blackboard.State) error {
	turn := 0
	me := fmt.Sprintf("coder-%d", writer)
	return func(s *blackboard.State) error {
		if s.Agents == nil {
			s.Agents = map[string]*blackboard.Agent{}
		}
		a := s.Agents[me]
		if a == nil {
			a = &blackboard.Agent{Role: blackboard.RoleCoder, Status: blackboard.AgentIdle}
			s.Agents[me] = a
		}
		turn = a.IterationsTotal
		a.IterationsTotal++
		mine := fmt.Sprintf("task-%d-%d", writer, turn/4)
		switch turn % 4 {
		case 0:
			s.AddTasks(&blackboard.Task{ID: mine, Description: "line one\n  - id: looks like a task\nüñï", Status: blackboard.Unclaimed})
		case 1:
			s.Task(mine).Iteration++
			s.Task(s.TaskAt(turn%2).ID).Iteration++
		case 2:
			t := s.Task(mine)
			t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T15:00:00Z", Event: "claimed", Agent: me})
		case 3:
			if turn%8 == 3 {
				s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == mine })
			}
			s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: fmt.Sprintf("note-%d-%d", writer, turn), Timestamp: "2026-01-19T15:00:00Z", Message: "x"})
		}
		s.Record(blackboard.Entry{Timestamp: "2026-01-19T15:00:00Z", Agent: me, Action: "note", Detail: fmt.Sprint(turn)})
		return nil
	}
}

func TestTheStateIsTheSumOfAllChangesOfManyProcesses(t *testing.T) {
	t.Parallel()
	processes, changes := kills(8, 32), kills(24, 100)
	p := newProject(t)
	p.create(3)
	var wait sync.WaitGroup
	for n := range processes {
		wait.Go(func() {
			if out, err := p.writer(t, countMark+"="+fmt.Sprint(changes), fmt.Sprintf("%s=%d", mixMark, n+1)).Output(); err != nil {
				t.Errorf("a writer failed: %v: %s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	seen := p.readWhileWriting(t, done)
	s, err := p.open().View(t.Context())
	must(t, err)
	sumOfChanges(t, s, processes, changes)
	entries, err := history.Journal{Path: p.journal()}.Read(history.Filter{})
	must(t, err)
	if len(entries) != s.Revision || s.Revision != 1+processes*changes {
		t.Errorf("revision %d has %d entries, want %d", s.Revision, len(entries), 1+processes*changes)
	}
	for i, e := range entries {
		if e.Rev != i+1 {
			t.Fatalf("entry %d has revision %d", i+1, e.Rev)
		}
	}
	if seen < 3 { // how many of them depends on how busy the machine is
		t.Errorf("only %d different states were seen meanwhile", seen)
	}
}

// readWhileWriting reads the file as a stranger would, until done: each state must be
// whole, and fit itself.
func (p *project) readWhileWriting(t *testing.T, done <-chan struct{}) (seen int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	last := 0
	for {
		select {
		case <-done:
			return seen
		case <-tick.C:
		}
		data, err := os.ReadFile(p.path())
		must(t, err)
		reader := yamldoc.Reader{Split: []string{"tasks", "agents"}}
		if _, err := reader.Parse(data); err != nil {
			t.Fatalf("a reader saw a file that is no YAML: %v", err)
		}
		s, err := p.open().View(t.Context())
		must(t, err)
		if s.Revision < last {
			t.Fatalf("revision %d after %d", s.Revision, last)
		}
		total := 0
		for _, a := range s.Agents {
			total += a.IterationsTotal
		}
		if total != s.Revision-1 {
			t.Fatalf("revision %d counts %d changes", s.Revision, total)
		}
		if s.Revision > last {
			seen++
		}
		last = s.Revision
	}
}

// sumOfChanges compares the state with what mixedChange does when it runs by itself.
func sumOfChanges(t *testing.T, s *blackboard.State, processes, changes int) {
	t.Helper()
	want := (&blackboard.State{}).With(firstState(3).TaskList()...)
	for n := range processes {
		change := mixedChange(n + 1)
		for range changes {
			must(t, change(want))
		}
	}
	for is := range want.Tasks() {
		got := s.Task(is.ID)
		if got == nil || got.Iteration != is.Iteration || len(got.History) != len(is.History) || got.Description != is.Description {
			t.Errorf("task %s is %+v, want %+v", is.ID, got, is)
		}
	}
	notes := map[string]bool{}
	for _, n := range s.HumanNotes {
		notes[n.ID] = true
	}
	if s.TaskCount() != want.TaskCount() || len(notes) != len(want.HumanNotes) || len(s.HumanNotes) != len(want.HumanNotes) || len(s.Agents) != processes {
		t.Errorf("%d tasks, %d notes, %d agents; want %d, %d, %d", s.TaskCount(), len(s.HumanNotes), len(s.Agents), want.TaskCount(), len(want.HumanNotes), processes)
	}
	for id, a := range s.Agents {
		if a.IterationsTotal != changes || !strings.HasPrefix(id, "coder-") {
			t.Errorf("%s counts %d changes, want %d", id, a.IterationsTotal, changes)
		}
	}
}
