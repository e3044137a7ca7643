package verbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

// Noon is the time of boards on memory.
var Noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

// OnMemory returns the verbs of the person ada for a board in memory, which has s, and that board. The project is a folder with a
// repository of one commit and its integration branch, and no process is known. It costs a tenth of New.
func OnMemory(tb testing.TB, s *blackboard.State) (*verb.Service, *store.Memory) {
	tb.Helper()
	p, dir := &Place{TB: tb}, tb.TempDir()
	p.Must(nil, start(dir))
	Write(tb, filepath.Join(dir, ".git", "refs", "heads", "integration"), Read(tb, filepath.Join(dir, ".git", "refs", "heads", "main")))
	p.Must(nil, os.Mkdir(filepath.Join(dir, ".liza"), 0o755))
	at, err := project.At(dir)
	p.Must(nil, err)
	repo, err := git.Open(context.Background(), dir)
	p.Must(nil, err)
	cfg, kept := Config(), store.NewMemory(s)
	return verb.New(&board.Session{Project: at, Store: kept, Repo: repo, Config: func() *config.Config { return cfg }, Caller: board.Caller{Person: "ada"},
		Now: func() time.Time { return Noon }, Random: rand.Reader, Proc: board.Processes{Host: "here", BootID: "boot"}, Secrets: new(secret.Set)}, worktree.Local), kept
}

// Board is a state with a goal, a sprint and tasks.
func Board(tasks ...*blackboard.Task) *blackboard.State {
	s := &blackboard.State{Goal: &blackboard.Goal{ID: "goal-1", Description: "Measure", SpecRef: "specs/vision.md", Status: blackboard.InProgress},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: At(-60)}}, Agents: map[string]*blackboard.Agent{}}
	return s.With(tasks...)
}

// Task is a task of a board in that status, which each change alters.
func Task(id string, st blackboard.Status, changes ...func(*blackboard.Task)) *blackboard.Task {
	one := 1
	t := &blackboard.Task{ID: id, Description: "Write " + id, Status: st, Priority: &one, Created: At(-50), Type: "docs", SpecRef: "specs/vision.md", DoneWhen: id + ".md contains a word", Scope: "IN: " + id + ".md"}
	for _, change := range changes {
		change(t)
	}
	return t
}

// ClaimedBy makes a task the claim of an agent, whose lease ends that many minutes after Noon.
func ClaimedBy(agent string, minutes int) func(*blackboard.Task) {
	return func(t *blackboard.Task) {
		t.AssignedTo, t.ClaimSeq, t.Iteration, t.LeaseExpires = agent, 1, 1, At(minutes)
	}
}

// At is a time so many minutes after Noon.
func At(minutes int) blackboard.Time {
	return blackboard.TimeOf(Noon.Add(time.Duration(minutes) * time.Minute))
}

// Advice is the text of a refusal with its exit code and next command, for tables: "4 no task 'x' (next: liza status)".
func Advice(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[*transition.Refusal](err); ok {
		return fmt.Sprintf("%d %s", r.Exit, r.Advice())
	}
	return err.Error()
}
