package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

// A board in a file, one in memory and one in PostgreSQL that go through the same have the same states and journals,
// and the first and the last the same text, at each revision.
func TestFileMemoryAndPostgresDoTheSame(t *testing.T) {
	t.Parallel()
	sharedServer(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			compareStores(t, rand.New(rand.NewPCG(seed, 3)), 60)
		})
	}
}

func compareStores(t *testing.T, rng *rand.Rand, steps int) {
	dir := t.TempDir()
	for _, name := range []string{".liza", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := store.Options{Path: filepath.Join(dir, ".liza", "state.yaml"), GitDir: filepath.Join(dir, ".git"), Now: now, Strict: true}
	if err := store.Create(t.Context(), o, storetest.First()); err != nil {
		t.Fatal(err)
	}
	file, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	memory, base := store.NewMemory(storetest.First()), newBoard(t)
	second := opened(t, base.o) // which hears of changes by reading only
	stores := []store.Store{file, memory, base}
	texts := map[int]string{}
	for step := range steps {
		change := randomChange(rng, step)
		writers := stores
		if step%3 == 0 {
			writers = []store.Store{file, memory, second}
		}
		var got []string
		for _, st := range writers {
			got = append(got, fmt.Sprint(st.Update(t.Context(), op, storetest.Pure(t, change))))
		}
		if got[0] != got[1] || got[0] != got[2] {
			t.Fatalf("step %d: the stores say %q", step, got)
		}
		texts[compareStates(t, step, file, memory, base, second)] = textOf(t, file)
	}
	entries, err := history.Journal{Path: filepath.Join(dir, ".liza", "log.yaml")}.Read(history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	others, err := base.Journal(t.Context(), history.Filter{})
	if err != nil || !reflect.DeepEqual(entries, others) {
		t.Errorf("%v; the journal of the file is\n%v\nand that of PostgreSQL\n%v", err, entries, others)
	}
	for i, e := range memory.Journal() {
		if x := entries[i]; e.Rev != x.Rev || e.Action != x.Action || e.Detail != x.Detail || e.Agent != x.Agent {
			t.Errorf("entry %d is %+v in memory, %+v in the file", i, e, x)
		}
	}
	for revision, want := range texts {
		if got, err := base.Content(t.Context(), revision); err != nil || string(got) != want {
			t.Errorf("revision %d was\n%s\nand is kept as (%v)\n%s", revision, want, err, got)
		}
	}
}

func compareStates(t *testing.T, step int, file *store.File, memory *store.Memory, base, second *Store) (revision int) {
	t.Helper()
	var states []*blackboard.State
	for _, st := range []store.Store{file, memory, base, second} {
		s, err := st.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, s)
	}
	// Empty lists are nil in one and not in another; the text says the same.
	for i, s := range states[1:] {
		if a, b := asText(t, states[0]), asText(t, s); a != b {
			t.Fatalf("step %d: store %d has\n%s\nand the file\n%s", step, i+1, b, a)
		}
	}
	if a, b, c := textOf(t, file), textOf(t, base), textOf(t, second); a != b || a != c {
		t.Fatalf("step %d: the file is\n%s\nand the board\n%s\nor\n%s", step, a, b, c)
	}
	return states[0].Revision
}

// asText is a state as a new file would have it.
func asText(t *testing.T, s *blackboard.State) string {
	t.Helper()
	c, _, err := store.NewEngine(store.Options{Path: "x/y", Now: now}).First(s)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(s.Revision, "\n", string(c.Doc().Bytes()))
}

func textOf(t *testing.T, st store.Editor) string {
	t.Helper()
	text, err := st.Text(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// randomChange is one of many things that happen to boards, and some that do not.
func randomChange(rng *rand.Rand, step int) func(*blackboard.State) error {
	a, b, kind := rng.IntN(1000), rng.IntN(1000), rng.IntN(14)
	id := fmt.Sprintf("task-%d", 100+step)
	return func(s *blackboard.State) error {
		some := func() *blackboard.Task {
			if s.TaskCount() == 0 {
				return nil
			}
			return s.Task(s.TaskAt(a % s.TaskCount()).ID)
		}
		switch kind {
		case 0, 1, 2:
			s.AddTasks(&blackboard.Task{ID: id, Description: "line one\n  - id: looks like a task\nüñï #x\n", Status: blackboard.Unclaimed, Files: blackboard.List{"a", "b"}})
			s.Record(blackboard.Entry{Timestamp: "2026-01-19T15:00:00Z", Action: "created", Task: id})
		case 3, 4:
			if t := some(); t != nil {
				t.Iteration++
				t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T15:00:00Z", Event: "claimed", Agent: "coder-1", Reason: fmt.Sprint(b)})
				s.Record(blackboard.Entry{Timestamp: "2026-01-19T15:00:00Z", Action: "claimed", Task: t.ID, Detail: fmt.Sprint(step, ` "quoted": and more`)})
			}
		case 5:
			if t := some(); t != nil {
				gone := t.ID
				s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == gone })
			}
		case 6:
			s.RemoveTasks(func(t *blackboard.Task) bool { return len(t.ID)+int(t.ID[len(t.ID)-1])%3 == a%3 })
		case 7:
			tasks := s.TaskList()
			for i := range tasks {
				j := (i*7 + b) % len(tasks)
				tasks[i], tasks[j] = tasks[j], tasks[i]
			}
			s.SetTasks(tasks, nil)
		case 8:
			s.SetTasks(append([]*blackboard.Task{{ID: id, Status: "DRAFT"}}, s.TaskList()...), nil)
		case 9:
			name := fmt.Sprintf("coder-%d", a%5)
			if s.Agents[name] != nil {
				delete(s.Agents, name)
			} else {
				if s.Agents == nil {
					s.Agents = map[string]*blackboard.Agent{}
				}
				s.Agents[name] = &blackboard.Agent{Role: blackboard.RoleCoder, Status: blackboard.AgentIdle, CurrentTask: fmt.Sprint(b)}
			}
		case 10:
			s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: fmt.Sprintf("note-%d", step), Message: "x"})
			s.Config["lease_duration"] = a
		case 11:
			if s.Usage == nil {
				s.Usage = &blackboard.Usage{CostCents: blackboard.Amount(b)}
			} else {
				s.Usage, s.HumanNotes, s.Handoff = nil, nil, nil
			}
			s.Goal.Summary = fmt.Sprint("summary ", a)
		case 12:
			return store.ErrUnchanged
		default:
			s.Goal.Summary = "never"
			return errors.New("refused")
		}
		return nil
	}
}
