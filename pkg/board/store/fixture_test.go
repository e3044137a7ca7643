package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// now is the clock of these tests.
func now() time.Time { return time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC) }

// project is a folder with .liza/ and a git dir.
type project struct {
	t     testing.TB
	dir   string
	alert []string
}

func newProject(t testing.TB) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	for _, dir := range []string{".liza", ".git"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *project) options() store.Options {
	return store.Options{
		Path: p.path(), GitDir: filepath.Join(p.dir, ".git"), Now: now, Host: "mac",
		Alert: func(kind blackboard.AlertKind, text string) { p.alert = append(p.alert, string(kind)+": "+text) },
	}
}

func (p *project) path() string    { return filepath.Join(p.dir, ".liza", "state.yaml") }
func (p *project) journal() string { return filepath.Join(p.dir, ".liza", "log.yaml") }

// open opens the store; change alters the options.
func (p *project) open(change ...func(*store.Options)) *store.File {
	p.t.Helper()
	o := p.options()
	for _, c := range change {
		c(&o)
	}
	f, err := store.Open(o)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

func (p *project) write(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(path string) string {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// log is the journal without what chains its entries.
func (p *project) log() string {
	p.t.Helper()
	return regexp.MustCompile(`, prev: "[^"]*"\}`).ReplaceAllString(p.read(p.journal()), "}")
}

// create makes the state with n tasks.
func (p *project) create(n int) *store.File {
	p.t.Helper()
	if err := store.Create(p.t.Context(), p.options(), firstState(n)); err != nil {
		p.t.Fatal(err)
	}
	return p.open()
}

// firstState is a small valid state with n tasks of about 1 kB.
func firstState(n int) *blackboard.State {
	s := &blackboard.State{
		Version: "1",
		Goal: &blackboard.Goal{ID: "goal-1", Description: "Greeting CLI", SpecRef: "specs/vision.md", Created: "2026-01-19T14:00:00Z", Status: blackboard.InProgress,
			AlignmentHistory: []*blackboard.Alignment{{Timestamp: "2026-01-19T14:00:00Z", Event: "initialization", Summary: "Goal created"}}},
		Agents: map[string]*blackboard.Agent{},
		Sprint: &blackboard.Sprint{ID: "sprint-1", GoalRef: "goal-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: "2026-01-19T14:00:00Z"}},
		Config: blackboard.Settings{"lease_duration": 1800, "heartbeat_interval": 60, "integration_branch": "integration"},
	}
	for i := 1; i <= n; i++ {
		s.AddTasks(task(fmt.Sprintf("task-%d", i)))
	}
	s.Record(blackboard.Entry{Timestamp: "2026-01-19T14:00:00Z", Agent: "human", Action: "initialized", Detail: "goal-1"})
	return s
}

func task(id string) *blackboard.Task {
	one := 1
	t := &blackboard.Task{
		ID: id, Description: "Greeting honours --name\nThe CLI prints \"Hello, X!\" for --name X.\n" + strings.Repeat(" And some more words about it.", 10) + "\nThe end.\n",
		Status: blackboard.Unclaimed, Priority: &one, Created: "2026-01-19T14:01:00Z", Kind: "code", Type: "feature", SpecRef: "specs/vision.md#name",
		DoneWhen: "hello --name Bob prints 'Hello, Bob!' and exits 0", Scope: "IN: flag parsing, greeting. OUT: localisation.",
		Files: blackboard.List{"hello/**", "tests/**"},
	}
	for range 4 {
		t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T14:01:00Z", Event: "created", Agent: "planner-1"})
	}
	return t
}

// note adds a note with its journal entry, as a verb would.
func note(id, text string) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: id, Timestamp: "2026-01-19T15:00:00Z", Message: text, By: "ada"})
		s.Record(blackboard.Entry{Action: "note", Detail: id})
		return nil
	}
}

var op = store.Op{Name: "note", Agent: "human"}
