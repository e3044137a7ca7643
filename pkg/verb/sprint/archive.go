package sprint

import (
	"context"
	"fmt"
	"time"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Archived is the result of Archive.
type Archived struct {
	Sprint string   `json:"sprint"`
	File   string   `json:"file"`
	Tasks  []string `json:"tasks"`
}

// Archive moves the terminal tasks that ended so long ago to the sprint's file in
// .liza/archive (specs/protocol.md#3.3). The file is durable before they leave the board, so a
// crash leaves them in both, and the next call writes them there again.
func Archive(ctx context.Context, d *verb.Service, older time.Duration) (Archived, error) {
	var out Archived
	var keep func([]store.Gone) error
	err := d.Board.UpdateAhead(ctx, "archive", func(gone []store.Gone) error { return keep(gone) }, func(s *blackboard.State, a transition.Actor) error {
		if err := d.Board.OnlyPerson(s, a, "archive"); err != nil {
			return err
		}
		if s.Sprint == nil {
			return &transition.Refusal{Guard: "G06", Exit: transition.ExitInvalid, Next: "liza validate", Message: "the state has no sprint"}
		}
		sprint, was := s.Sprint, transition.Ended{Goal: s.Goal, Sprint: s.Sprint, Usage: s.Usage}
		keep = func(gone []store.Gone) error { return keepArchived(d, was, gone) }
		out = Archived{Sprint: sprint.ID, File: d.Board.Rel(d.Board.Project.Archive(sprint.ID)), Tasks: transition.Archive(s, d.Board.Now().Add(-older), a, d.Board.Now())}
		if len(out.Tasks) == 0 {
			return board.NothingToDo(fmt.Sprintf("no terminal task that nobody needs ended more than %s ago", Days(older)))
		}
		return nil
	})
	return out, err
}

// Days is a time for people, whole days where it can be.
func Days(d time.Duration) string {
	if n := d / (24 * time.Hour); n > 0 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", n)
	}
	return d.String()
}

// keep writes tasks, and goal and sprint as they are, into the sprint's file. It holds the lock of
// the state.
func keepArchived(d *verb.Service, was transition.Ended, gone []store.Gone) error {
	sprint, head := was.Sprint, "version: 1\n"
	if was.Goal != nil {
		head += yamldoc.Section("goal", was.Goal, "", nil, false)
	}
	head += yamldoc.Section("sprint", sprint, "", nil, false)
	if was.Usage != nil {
		head += yamldoc.Section("usage", was.Usage, "", nil, false)
	}
	var items []history.Item
	for _, g := range gone {
		items = append(items, history.Item{Task: g.Task, Text: g.Text, Plain: func() string { return board.PlainText(g.Task) }})
	}
	if err := d.Board.Histories().Archives().Put(sprint.ID, head, items); err != nil {
		return err
	}
	d.Board.Failpoint("archived")
	return nil
}

// Started is the result of Next.
type Started struct {
	Sprint   string   `json:"sprint"`
	Before   string   `json:"before"` // the sprint that was closed
	File     string   `json:"file"`   // where that and its tasks are
	Archived []string `json:"archived"`
	Planned  []string `json:"planned"`
	Stretch  []string `json:"stretch"`
}

// Next closes a sprint that is COMPLETED or ABORTED and starts the next one (S05).
// The closed one, with what it cost and its terminal tasks, goes into the archive.
func Next(ctx context.Context, d *verb.Service, planned []string) (Started, error) {
	var out Started
	var keep func([]store.Gone) error
	ahead := func(gone []store.Gone) error {
		if err := keep(gone); err != nil {
			return err
		}
		return d.Board.Project.Controls().Clear(project.Abort) // it was about the sprint before
	}
	err := d.Board.UpdateAhead(ctx, "sprint next", ahead, func(s *blackboard.State, a transition.Actor) error {
		if err := d.Board.OnlyPerson(s, a, "start a sprint"); err != nil {
			return err
		}
		was, ended := s.Sprint, transition.Ended{Goal: s.Clone().Goal, Sprint: s.Sprint, Usage: s.Usage}
		archived, err := transition.NextSprint(s, planned, a, d.Board.Now())
		if err != nil {
			return err
		}
		keep = func(gone []store.Gone) error { return keepArchived(d, ended, gone) }
		scope := s.Sprint.Scope
		out = Started{Sprint: s.Sprint.ID, Before: was.ID, File: d.Board.Rel(d.Board.Project.Archive(was.ID)),
			Archived: listed(archived), Planned: listed(scope.Planned), Stretch: listed(scope.Stretch)}
		return nil
	})
	return out, err
}

// listed is never null in JSON.
func listed(ids []string) []string { return append([]string{}, ids...) }
