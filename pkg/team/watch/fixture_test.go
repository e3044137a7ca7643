package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
)

// now is the time of the facts of these tests.
var now = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

func at(ago time.Duration) blackboard.Time { return blackboard.TimeOf(now.Add(-ago)) }

// sound are facts under which nothing is wrong: a sprint of one merged task, a team that is
// there, and nothing that could not be known.
func sound() findings.Observation {
	agent := func(role blackboard.Role) *blackboard.Agent {
		return &blackboard.Agent{Role: role, Status: blackboard.AgentIdle, Generation: "g-1", Host: "here", BootID: "boot", PID: 1, PIDStart: 1,
			LeaseExpires: at(-30 * time.Minute), Heartbeat: at(0)}
	}
	s := (&blackboard.State{Version: "1", Revision: 7,
		Goal:   &blackboard.Goal{ID: "goal-1", Description: "Greet", SpecRef: "specs/vision.md", Created: at(time.Hour), Status: blackboard.InProgress},
		Agents: map[string]*blackboard.Agent{"planner-1": agent(blackboard.RolePlanner), "coder-1": agent(blackboard.RoleCoder), "code-reviewer-1": agent(blackboard.RoleReviewer)},
		Sprint: &blackboard.Sprint{ID: "sprint-1", GoalRef: "goal-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: at(time.Hour)}, Metrics: &blackboard.Metrics{}},
		Usage:  &blackboard.Usage{},
		Config: blackboard.Settings{"base_ref": "main"},
	}).With(&blackboard.Task{ID: "task-0", Status: blackboard.Merged, Created: at(time.Hour)})
	return findings.Observation{Now: now, State: s, LastActivity: now, FreeMB: 5000, MinFreeMB: 1024,
		Process:  blackboard.ProcessFacts{Host: "here", BootID: "boot", Running: func(pid int, _ int64) (bool, bool) { return pid < 100, true }},
		SpecHash: func(string) string { return "sha256:1" }}
}

// add puts a task on the board; what every task needs is filled in.
func add(f *findings.Observation, t blackboard.Task) *blackboard.Task {
	if t.ID == "" {
		t.ID = "task-1"
	}
	if t.Created == "" {
		t.Created = at(time.Minute)
	}
	t.Description, t.DoneWhen, t.SpecRef, t.Scope = "Do "+t.ID, "prints 42", "specs/vision.md", "IN: one file"
	f.State.AddTasks(&t)
	return &t
}

// claimed is a task that coder-1 works on.
func claimed() blackboard.Task {
	return blackboard.Task{Status: blackboard.Claimed, AssignedTo: "coder-1", ClaimGeneration: "g-1", ClaimSeq: 1, Iteration: 1, LeaseExpires: at(-30 * time.Minute)}
}

// found are the identities of alerts: "BLOCKED task-1".
func found(list []watch.Alert) []string {
	var ids []string
	for _, a := range list {
		ids = append(ids, string(a.Kind)+" "+a.Subject)
	}
	slices.Sort(ids)
	return ids
}

// raised are the alerts under f, as lines.
func raised(f findings.Observation) (lines []string) {
	for _, x := range findings.Alerts(f) {
		lines = append(lines, string(x.Kind)+" "+x.Subject+": "+x.Line())
	}
	return lines
}

func order(c project.Control, since time.Time, reason string) []project.Order {
	return []project.Order{{Control: c, Since: since, Modified: since, Reason: reason}}
}

func behind(n int) findings.Behind {
	return findings.Behind{Commits: n, Text: fmt.Sprintf("integration lacks %d commits of its base branch main", n)}
}

// files are those of a folder, changed as the programs do.
func files(dir string) watch.Files {
	return watch.Files{Dir: dir, Append: safefile.Append,
		Replace: func(path string, data []byte) error { return safefile.Replace(path, data, 0o644) },
		Lock: func(ctx context.Context) (func() error, error) {
			return safefile.Lock(ctx, filepath.Join(dir, "alerts.lock"), safefile.Holder{PID: os.Getpid()})
		}}
}

// heard is a sink that keeps what it is told.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) Tell(c watch.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, text, _ := strings.Cut(c.String(), " ")
	h.lines = append(h.lines, text)
}

// take returns what came since the last call.
func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// watching is a watcher over a folder, with facts that the test sets.
type watching struct {
	*watch.Watcher
	facts findings.Observation
	sink  *heard
}

func newWatching(dir string) *watching {
	w := &watching{facts: sound(), sink: &heard{}}
	w.Watcher = &watch.Watcher{Files: files(dir), Look: func(context.Context) findings.Observation { return w.facts }, Sinks: []watch.Sink{w.sink}}
	return w
}

func (w *watching) pass(t *testing.T) []watch.Alert {
	t.Helper()
	open, err := w.Pass(t.Context())
	if err != nil {
		t.Fatalf("a pass failed: %v", err)
	}
	return open
}

func logged(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "alerts.log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
