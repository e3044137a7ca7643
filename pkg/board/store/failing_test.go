package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"liza/pkg/base/norace"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// A work is something that a process does with a board that before has prepared. after looks at
// the board when the process has ended, on a disk that is well again; done: it said that it is done.
type work struct {
	before func(*testing.T, *project)
	do     func(*store.File) error
	after  func(t *testing.T, p *project, done bool)
}

func change(f *store.File) error {
	err := f.Update(context.Background(), op, numberedNote)
	if err == nil {
		fmt.Println("done")
	}
	return err
}

func putBack(f *store.File) error {
	now, _, err := f.Restore(context.Background(), op, 2)
	if err == nil && now != 4 {
		return fmt.Errorf("the revision is %d", now)
	}
	if err == nil {
		fmt.Println("done")
	}
	return err
}

// whole looks at a board that had three revisions and may have one more, and changes it again.
func whole(t *testing.T, p *project, done bool) {
	t.Helper()
	f := p.open()
	s, err := f.View(t.Context())
	must(t, err)
	consistent(t, s, 3)
	if done && s.Revision != 4 {
		t.Errorf("the change is said to be done, and the revision is %d", s.Revision)
	}
	must(t, f.Update(t.Context(), op, numberedNote))
	s, err = f.View(t.Context())
	must(t, err)
	p.agree(t, s.Revision)
}

var works = map[string]work{
	"a change": {before: func(*testing.T, *project) {}, do: change, after: whole},
	"a change after a writer was killed": {
		before: func(t *testing.T, p *project) {
			if err := p.writer(t, countMark+"=1", pointMark+"=W6").Run(); err == nil {
				t.Fatal("the writer was not killed")
			}
		},
		do: change, after: whole,
	},
	"a change after a line of the journal was cut": {
		before: func(t *testing.T, p *project) {
			f, err := os.OpenFile(p.journal(), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("- {timestamp: \"2026-01-19T14:0")
			must(t, err)
			must(t, f.Close())
		},
		do: change, after: whole,
	},
	"a change after an edit": {
		before: func(t *testing.T, p *project) {
			p.edit("  - id: task-1\n", "  - id: task-1\n    title: \"by hand\"\n")
		},
		do: change,
		after: func(t *testing.T, p *project, done bool) {
			f := p.open()
			for range 2 {
				s, err := f.View(t.Context())
				must(t, err)
				if s.Task("task-1").Title != "by hand" {
					t.Error("the edit is lost")
				}
				notes := len(s.HumanNotes)
				if done && notes < 3 {
					t.Errorf("the change is said to be done, and there are %d notes", notes)
				}
				must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { return note(fmt.Sprintf("note-%d", s.Revision+1), "x")(s) }))
			}
			if broken, err := f.JournalBroken(t.Context()); err != nil || broken != nil {
				t.Errorf("the journal's chain: %+v, %v", broken, err)
			}
		},
	},
	"a revision that is put back": {
		before: func(*testing.T, *project) {},
		do:     putBack,
		after: func(t *testing.T, p *project, done bool) {
			f := p.open()
			s, err := f.View(t.Context())
			must(t, err)
			if restored := s.Revision == 4 && len(s.HumanNotes) == 1; done && !restored || !restored && (s.Revision != 3 || len(s.HumanNotes) != 2) {
				t.Errorf("done is %v, the revision %d with %d notes", done, s.Revision, len(s.HumanNotes))
			}
			must(t, f.Update(t.Context(), op, note("later", "x")))
			for revision := 1; revision <= 3; revision++ {
				if _, err := f.Content(t.Context(), revision); err != nil {
					t.Errorf("revision %d: %v", revision, err)
				}
			}
		},
	},
	"a revision that is put back over an edit": {
		before: func(t *testing.T, p *project) {
			p.edit("  - id: task-1\n", "  - id: task-1\n    title: \"by hand\"\n")
		},
		do: putBack,
		after: func(t *testing.T, p *project, done bool) {
			kept, err := filepath.Glob(filepath.Join(p.dir, ".git", "liza", "conflict-*-person.yaml"))
			must(t, err)
			found := false
			for _, path := range append(kept, p.path()) {
				found = found || strings.Contains(p.read(path), "title: \"by hand\"")
			}
			if !found {
				t.Errorf("done is %v, and the edit is nowhere", done)
			}
			must(t, p.open().Update(t.Context(), op, note("later", "x")))
		},
	},
	"a file that was damaged is put back": {
		before: func(t *testing.T, p *project) { p.write(p.path(), "version: 1\ntasks: [\n") },
		do: func(f *store.File) error {
			_, kept, err := f.Restore(context.Background(), op, 3)
			if err == nil && kept == "" {
				return fmt.Errorf("the damaged file is not kept")
			}
			if err == nil {
				fmt.Println("done")
			}
			return err
		},
		after: func(t *testing.T, p *project, done bool) {
			f := p.open()
			if !done { // what is left may be the damaged file
				if _, _, err := f.Restore(t.Context(), op, 3); err != nil {
					t.Fatal(err)
				}
			}
			s, err := f.View(t.Context())
			must(t, err)
			if len(s.HumanNotes) != 2 {
				t.Errorf("%d notes", len(s.HumanNotes))
			}
			must(t, f.Update(t.Context(), op, note("later", "x")))
		},
	},
	"a look": {
		before: func(*testing.T, *project) {},
		do: func(f *store.File) error {
			s, err := f.View(context.Background())
			if err == nil && (s.Revision != 3 || len(s.HumanNotes) != 2) {
				fmt.Println("wrong: revision", s.Revision)
			}
			inspected, err2 := f.Inspect(context.Background())
			if err2 == nil && (inspected.State == nil || inspected.State.Revision != 3) {
				fmt.Println("wrong: inspection")
			}
			text, err3 := f.Content(context.Background(), 2)
			if err3 == nil && !strings.Contains(string(text), "\nrevision: 2\n") {
				fmt.Println("wrong: content")
			}
			_, err4 := f.Revisions(context.Background())
			_, err5 := f.JournalBroken(context.Background())
			for _, e := range []error{err, err2, err3, err4, err5} {
				if e != nil && strings.TrimSpace(e.Error()) == "" {
					fmt.Println("wrong: an error without words")
				}
			}
			return nil
		},
		after: func(t *testing.T, p *project, _ bool) { whole(t, p, false) },
	},
}

// A disk may fail at any call. What a process says to be done is on the board then, what it does not is
// there whole or not at all, and the next one goes on.
func TestWhicheverCallFailsNothingIsLostAndNothingIsSaidToBeDone(t *testing.T) {
	t.Parallel()
	if !canFail {
		t.Skip("NOT RUN: calls can be made to fail on Linux with an amd64 processor only")
	}
	for name, w := range works {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newProject(t)
			f := first.create(3)
			must(t, f.Update(t.Context(), op, numberedNote))
			must(t, f.Update(t.Context(), op, numberedNote))
			w.before(t, first)
			program, err := norace.Program()
			must(t, err)
			try := func(t *testing.T, nth int) (*project, []string, error) {
				p := &project{t: t, dir: filepath.Join(t.TempDir(), fmt.Sprint(nth))}
				must(t, os.CopyFS(p.dir, os.DirFS(first.dir)))
				cmd := exec.CommandContext(t.Context(), program)
				cmd.Env = append(os.Environ(), tracerMark+"="+p.dir, failMark+"="+fmt.Sprint(nth), workMark+"="+name)
				out, err := cmd.CombinedOutput()
				return p, strings.Split(strings.TrimSpace(string(out)), "\n"), err
			}
			_, calls, err := try(t, 0)
			if err != nil || len(calls) < 10 {
				t.Fatalf("%v\n%s", err, strings.Join(calls, "\n"))
			}
			var all sync.WaitGroup
			slots := make(chan struct{}, 4)
			for nth := 1; nth < len(calls); nth++ {
				slots <- struct{}{}
				all.Go(func() {
					defer func() { <-slots }()
					t.Run(fmt.Sprint(nth), func(t *testing.T) {
						p, said, _ := try(t, nth)
						t.Log(strings.Join(said, "\n"))
						if text := strings.Join(said, "\n"); strings.Contains(text, "wrong: ") || strings.Contains(text, "not among the snapshots") {
							t.Error("what it says is not true")
						}
						w.after(t, p, said[len(said)-1] == "done" || len(said) > 1 && said[1] == "done")
					})
				})
			}
			all.Wait()
		})
	}
}
