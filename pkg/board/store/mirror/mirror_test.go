package mirror

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

func TestTheCopyIsTheBoardUnderAHead(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	here.isCopy()
	there.describe("task-1", "from there")
	here.look()
	here.isCopy()
	if head, _, _ := strings.Cut(here.read("state.yaml"), "\n"); head != "#| A copy of board team/payments, revision 2." {
		t.Errorf("the copy begins with %q", head)
	}
	if got := Recorded(here.o.Record); got != "team/payments" {
		t.Errorf("the copy is recorded as one of %q", got)
	}
}

// Who reads while the copy is written has all of the old text or all of the new one.
func TestACopyIsReplacedWhole(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	before := h.read("state.yaml")
	reader, err := os.Open(filepath.Join(h.dir, "state.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	half := make([]byte, len(before)/2)
	if _, err := io.ReadFull(reader, half); err != nil {
		t.Fatal(err)
	}
	h.describe("task-1", strings.Repeat("another text ", 100))
	rest, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(half) + string(rest); got != before {
		t.Errorf("a reader had half of each:\n%s", got)
	}
	h.isCopy()
}

func TestAnOlderViewDoesNotReplaceANewerCopy(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	slow := joined(t, b)
	quick := on(t, b, slow.dir)
	quick.describe("task-1", "newer")
	if err := slow.Refresh(t.Context()); err != nil { // which has seen the first revision only
		t.Fatal(err)
	}
	slow.isCopy()
}

func TestARemovedCopyIsWrittenAgain(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	for _, name := range []string{"state.yaml", "log.yaml"} {
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.look()
	h.isCopy()
}

// A process may be killed behind each of its writes: the next one ends what it began, and takes nothing for an edit.
func TestAKilledWriterLeavesACopyThatTheNextOneMends(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]func(h *host, record, log string){
		"after the journal": func(h *host, _, log string) {
			h.save("log.yaml", log+strings.Repeat("- {timestamp: 2026-01-19T15:00:00Z, rev: 2, ag", 100))
		},
		"after the board": func(h *host, record, log string) {
			h.describe("task-1", "new")
			h.save("git/mirror", record)
		},
		"in the record": func(h *host, record, _ string) {
			h.describe("task-1", "new")
			h.save("git/mirror", record[:len(record)/2])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := joined(t, newBoard(t))
			killed(h, h.read("git/mirror"), h.read("log.yaml"))
			next := on(t, h.board.board, h.dir)
			next.describe("task-2", "newer")
			next.look()
			next.isCopy()
			if next.told() != "" || len(next.kept()) > 0 {
				t.Errorf("it was told %s, and kept %q", next.told(), next.kept())
			}
		})
	}
}

func TestProcessesThatWriteTheCopyAtOnceMakeOneOfThem(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for p := range 4 {
		h := on(t, b, dir)
		for range 2 {
			all.Go(func() {
				for i := range 10 {
					h.describe("task-1", fmt.Sprintf("text %d of process %d", i, p))
					h.look()
				}
			})
		}
		t.Cleanup(func() {
			if h.told() != "" {
				t.Errorf("process %d was told %s", p, h.told())
			}
		})
	}
	all.Wait()
	h := on(t, b, dir)
	h.look()
	h.isCopy()
	if n := strings.Count(h.read("log.yaml"), "described"); n != 80 {
		t.Errorf("the journal has %d of 80 changes", n)
	}
	if len(h.kept()) > 0 {
		t.Errorf("it took its own writes for edits: %q", h.kept())
	}
}

// What a person made of a copy that nobody recorded, or of another board, is not taken to this one, and not lost.
func TestATextThatIsNoEditOfThisBoardIsKeptAside(t *testing.T) {
	t.Parallel()
	for name, strange := range map[string]func(h *host){
		"no record": func(h *host) {
			if err := os.Remove(h.o.Record); err != nil {
				h.t.Fatal(err)
			}
			h.edits("description: One", "description: Mine")
		},
		"the board was made again": func(h *host) {
			h.edits("description: One", "description: Mine")
			h.board.id = "2"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := joined(t, newBoard(t))
			strange(h)
			mine := h.read("state.yaml")
			if d := on(t, h.board.board, h.dir).look().Task("task-1").Description; d != "One" {
				t.Errorf("the board has %q of it", d)
			}
			h.isCopy()
			if kept := h.kept(); len(kept) != 1 || kept[0] != mine {
				t.Errorf("kept is %q", kept)
			}
		})
	}
}

func TestMaskedLinesOfTheJournalReplaceThoseOfTheCopy(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	h := joined(t, b)
	h.describe("task-1", "the word is hunter2")
	b.mu.Lock()
	for i := range b.lines {
		b.lines[i] = strings.ReplaceAll(b.lines[i], "hunter2", "*****")
	}
	b.mu.Unlock()
	err := h.Update(t.Context(), store.Op{Name: "scrub", Agent: blackboard.Human}, func(s *blackboard.State) error {
		s.Record(blackboard.Entry{Agent: blackboard.Human, Action: "scrubbed", Detail: "a secret was masked"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.isCopy()
	if strings.Contains(h.read("log.yaml"), "hunter2") {
		t.Error("the copy of the journal still has the secret")
	}
}

// Hosts archive tasks one after the other; each has what the others archived before it adds its own.
func TestHostsAddToOneArchive(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	archived := func(h *host, task string) {
		err := h.Update(t.Context(), store.Op{Name: "archive", Agent: blackboard.Human, Ahead: func(gone []store.Gone) error {
			path := filepath.Join(h.dir, "archive", "tasks.yaml")
			was, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return os.WriteFile(path, append(was, task+"\n"...), 0o644)
		}}, func(s *blackboard.State) error {
			s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == task })
			s.Record(blackboard.Entry{Agent: blackboard.Human, Action: "archived", Task: task})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	archived(here, "task-1")
	archived(there, "task-2")
	here.look()
	for _, h := range []*host{here, there} {
		if got := h.read("archive/tasks.yaml"); got != "task-1\ntask-2\n" {
			t.Errorf("a host has the archive %q", got)
		}
	}
}

func TestAFileOfTheBoardIsNotWrittenOutsideTheProject(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "project")
	for _, path := range []string{"../away", "/tmp/away", "archive/../../away"} {
		if err := WriteFile(dir, store.BoardFile{Path: path, Text: "text"}); err == nil {
			t.Errorf("it wrote %s", path)
		}
	}
	h := joined(t, newBoard(t))
	for _, path := range []string{"archive/../../away", "config.yaml"} { // settings are each host's own
		h.board.files = append(h.board.files, store.BoardFile{Path: path, Text: "text", Number: int64(len(h.board.files) + 1)})
	}
	h.describe("task-1", "new")
	for _, path := range []string{"../away", "config.yaml"} {
		if _, err := os.Stat(filepath.Join(h.dir, path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it wrote %s: %v", path, err)
		}
	}
}
