package audit

import (
	"os"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
)

// validNow is the time at which validState is looked at.
var validNow = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

// Commits of validState.
const (
	commitBase  = "6f0c0a5b7b6f4c4d8f4a0c8a7f0c9a1d2e3f4a5b"
	commitWork  = "9a1d2e3f4a5b6f0c0a5b7b6f4c4d8f4a0c8a7f0c"
	commitMerge = "77aa01b2c3d4e5f60718293a4b5c6d7e8f901234"
)

var validFile = sync.OnceValue(func() *blackboard.State {
	text, err := os.ReadFile("../testdata/valid.yaml")
	var file struct {
		blackboard.State `yaml:",inline"`
		Tasks            []*blackboard.Task `yaml:"tasks"`
	}
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		panic(err)
	}
	return file.State.With(file.Tasks...)
})

// validState is the board of testdata/valid.yaml. Each call makes a new one.
func validState() *blackboard.State { return validFile().Clone() }

// validTask is a draft of validState under another id.
func validTask(id string) *blackboard.Task {
	t := validState().Task("draft")
	t.ID, t.DependsOn = id, nil
	return t
}

func event(minutesAgo int, name blackboard.HistoryEvent, agent string) *blackboard.HistoryEntry {
	return &blackboard.HistoryEntry{Time: ago(minutesAgo), Event: name, Agent: agent}
}

// taskArchive is an archive for tests, with what the tasks were.
type taskArchive map[string]blackboard.Status

func (x taskArchive) Archived() map[string]blackboard.Archived {
	all := map[string]blackboard.Archived{}
	for id, st := range x {
		all[id] = blackboard.Archived{Status: st, Sprint: "sprint-1"}
	}
	return all
}

// validFacts are facts under which validState has no violation.
func validFacts() Evidence {
	yes := func(string) bool { return true }
	tip := commitMerge
	return Evidence{
		Now:                   validNow,
		Processes:             blackboard.ProcessFacts{Host: "devbox", BootID: "4f0c9a1d", Running: func(int, int64) (bool, bool) { return true, true }},
		SpecExists:            yes,
		WorktreeExists:        yes,
		BranchExists:          yes,
		Worktrees:             []string{".worktrees/claimed", ".worktrees/.check-merging", "../elsewhere"},
		TaskBranches:          []string{"task/claimed", "task/rejected"},
		IntegrationTip:        &tip,
		MergedIntoIntegration: yes,
		ResolveCommit:         func(string) (string, bool) { return commitWork, true },
		Secrets:               func(string) (string, bool) { return "", false },
		Archive:               taskArchive{"archived": blackboard.Merged},
		MissingSections:       []string{},
	}
}

// ago and ahead are minutes before and after validNow.
func ago(minutes int) blackboard.Time {
	return blackboard.TimeOf(validNow.Add(-time.Duration(minutes) * time.Minute))
}
func ahead(minutes int) blackboard.Time {
	return blackboard.TimeOf(validNow.Add(time.Duration(minutes) * time.Minute))
}
