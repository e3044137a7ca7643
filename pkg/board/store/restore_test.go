package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/store"
)

func TestEveryRecentRevisionCanBePutBack(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(20)
	texts := map[int]string{1: p.read(p.path())}
	for i := 2; i <= 300; i++ {
		must(t, f.Update(t.Context(), op, func(s *blackboard.State) error {
			task := s.Task(s.TaskAt(i * 7 % s.TaskCount()).ID)
			task.Iteration++
			if i%50 == 0 {
				s.AddTasks(&blackboard.Task{ID: fmt.Sprintf("new-%d", i), Status: blackboard.Draft})
			}
			return nil
		}))
		texts[i] = p.read(p.path())
		if i == 150 {
			p.edit("  - id: task-2\n", "  - id: task-2\n    title: \"by hand\"\n")
			texts[i] = p.read(p.path())
		}
	}
	fresh := p.open()
	for revision, want := range texts {
		got, err := fresh.Content(t.Context(), revision)
		if err != nil || string(got) != want {
			t.Fatalf("revision %d is not what it was: %v", revision, err)
		}
	}
	now, kept, err := fresh.Restore(t.Context(), op, 120)
	if err != nil || now != 301 || kept != "" {
		t.Fatalf("revision %d, kept %q, %v", now, kept, err)
	}
	if got, want := p.read(p.path()), strings.Replace(texts[120], "revision: 120\n", "revision: 301\n", 1); got != want {
		t.Error("the state is not that of revision 120")
	}
	if got, err := f.Content(t.Context(), 300); err != nil || string(got) != texts[300] {
		t.Errorf("what was replaced is no snapshot: %v", err)
	}
	if log := p.read(p.journal()); !strings.Contains(log, "restored") {
		t.Error("the journal does not tell of it")
	}
	var none *store.NoSnapshotError
	if _, _, err := f.Restore(t.Context(), op, 5000); !errors.As(err, &none) || none.Next() != "liza restore" {
		t.Errorf("got %v", err)
	}
	list, err := f.Snapshots(t.Context())
	if err != nil || len(list) == 0 || len(list) > 20 || list[0].Revision < 300 {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestADamagedOrMissingFileIsRestoredAndKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tasks: [", "", "just a text\n"} {
		p := newProject(t)
		f := p.create(2)
		must(t, f.Update(t.Context(), op, note("note-1", "x")))
		want := p.read(p.path())
		p.write(p.path(), text)
		now, kept, err := p.open().Restore(t.Context(), op, 2)
		if err != nil || now != 3 || p.read(kept) != text {
			t.Fatalf("%q: revision %d, kept %s, %v", text, now, kept, err)
		}
		if got := p.read(p.path()); got != strings.Replace(want, "revision: 2\n", "revision: 3\n", 1) {
			t.Errorf("%q: the state is\n%s", text, got)
		}
	}
	p := newProject(t)
	f := p.create(2)
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
	must(t, os.Remove(p.path()))
	if now, kept, err := f.Restore(t.Context(), op, 1); err != nil || now != 3 || kept != "" {
		t.Fatalf("revision %d, kept %s, %v", now, kept, err)
	}
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
}

func TestAnEditIsMergedWithWhatOthersWroteMeanwhile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(3)
	base := []byte(p.read(p.path()))
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { s.Task("task-1").Iteration = 7; return nil }))
	mine := strings.Replace(string(base), "  - id: task-2\n", "  - id: task-2\n    # why\n    title: \"by hand\"\n", 1)
	done, err := f.Edit(t.Context(), op, base, []byte(mine))
	if err != nil || done.Revision != 3 || fmt.Sprint(done.Names) != "[task-2]" {
		t.Fatalf("%+v, %v", done, err)
	}
	s, err := p.open().View(t.Context())
	if err != nil || s.Task("task-1").Iteration != 7 || s.Task("task-2").Title != "by hand" {
		t.Errorf("%v, %+v", err, s)
	}
	if text := p.read(p.path()); !strings.Contains(text, "    # why\n") {
		t.Error("the comment is lost")
	}

	var conflict *store.ConflictError
	other := strings.Replace(string(base), "  - id: task-1\n", "  - id: task-1\n    iteration: 5\n", 1)
	before := p.read(p.path())
	if _, err := f.Edit(t.Context(), op, base, []byte(other)); !errors.As(err, &conflict) || conflict.Conflicts[0].Path != "tasks[task-1].iteration" {
		t.Errorf("got %v", err)
	}
	if p.read(p.path()) != before {
		t.Error("a conflict was written")
	}
	if done, err := f.Edit(t.Context(), op, base, base); err != nil || done.Revision != 0 {
		t.Errorf("an edit of nothing: %+v, %v", done, err)
	}
}

func TestAnEditThatBreaksARuleIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	f := p.open(func(o *store.Options) {
		o.Validate = func(after, before *blackboard.State) []blackboard.Violation {
			return audit.Validate(after, before, audit.Evidence{Now: now(), Write: true})
		}
	})
	base := p.read(p.path())
	for old, want := range map[string]string{
		"    status: UNCLAIMED\n": "V06",
		"  - id: task-2\n":        "V05",
		"goal:\n":                 "V01",
	} {
		text := strings.Replace(base, old, strings.TrimSuffix(old, "\n")+" odd\n", 1)
		_, err := f.Edit(t.Context(), op, []byte(base), []byte(text))
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) || invalid.Violations[0].Rule != want || invalid.Violations[0].Line == 0 {
			t.Errorf("%q: got %v", old, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(p.dir, ".liza", ".*")); len(files) != 0 || p.read(p.path()) != base {
		t.Errorf("something was written: %q", files)
	}
}
