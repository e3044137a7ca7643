// Package source reads what the views of a project show: the board, one task, a diff, what an agent
// says. Terminal, page, report and JSON ask it and nothing else, so that they show the same. It
// changes nothing; what people decide goes through the verbs of its Service.
package source

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
	"liza/pkg/team/watch"
	"liza/pkg/verb/verb"
)

// Source reads a project. It may be used by many goroutines.
type Source struct {
	Service *verb.Service // of a person
	// Facts is what a view shows besides the state.
	Facts func(*blackboard.State) dashboard.Input

	mu     sync.Mutex
	last   *blackboard.State // what was read last: the store gives the same state for the same revision
	ledger ledger
	tails  tails
}

// State is the board as it is; when the file is damaged, the error says how, and the last one that was whole comes with it.
// While the database of a board cannot be reached it is the copy of this host, and View says so.
func (s *Source) State(ctx context.Context) (*blackboard.State, error) {
	st, _, err := s.state(ctx)
	return st, err
}

func (s *Source) state(ctx context.Context) (*blackboard.State, *dashboard.Offline, error) {
	st, err := s.Service.Board.View(ctx)
	var away *dashboard.Offline
	if gone := (unreachable)(nil); errors.As(err, &gone) {
		if st, away = s.copied(ctx, err); away != nil {
			err = nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return s.last, nil, err
	}
	s.last = st
	return st, away, store.Forged(ctx, s.Service.Board.Store)
}

type unreachable interface{ Unreachable() bool }

// copied is the copy of a board that cannot be reached, and how old it is; nil when there is none.
func (s *Source) copied(ctx context.Context, why error) (*blackboard.State, *dashboard.Offline) {
	kept, ok := s.Service.Board.Store.(interface {
		store.Recoverer
		Copied() (at, lost time.Time)
	})
	if !ok {
		return nil, nil
	}
	st, err := kept.LastValid(ctx)
	if err != nil {
		return nil, nil
	}
	s.Service.Board.Prepare(st)
	at, lost := kept.Copied()
	if !lost.IsZero() {
		at = lost // until then it was the board
	}
	return st, &dashboard.Offline{Since: blackboard.TimeOf(at), Seconds: max(0, int(s.Service.Board.Now().Sub(at)/time.Second)), Why: why.Error()}
}

// Watch sends whenever something may have changed; then View tells what.
func (s *Source) Watch(ctx context.Context) <-chan struct{} { return s.Service.Board.Store.Watch(ctx) }

// Entries are those of the journal with all their fields, newest last.
func (s *Source) Entries(f history.Filter) ([]blackboard.Entry, error) {
	return history.Journal{Path: s.Service.Board.Project.Journal()}.Read(f)
}

// Log is the journal as views show it, newest last.
func (s *Source) Log(f history.Filter) ([]dashboard.Happening, error) {
	entries, err := s.Entries(f)
	if err != nil {
		return nil, err
	}
	list := make([]dashboard.Happening, 0, len(entries))
	for _, e := range entries {
		list = append(list, dashboard.Happening{At: e.Timestamp, Rev: e.Rev, Who: e.Agent, Action: string(e.Action), Task: e.Task, Text: e.Detail})
	}
	return list, nil
}

// Alerts are the open ones, as the watcher of the team wrote them last.
func (s *Source) Alerts() ([]watch.Alert, error) {
	return watch.Files{Dir: s.Service.Board.Project.Liza}.Open()
}

// ledger is the list of runs that was read last, and the file from which it was.
type ledger struct {
	info fs.FileInfo
	runs []history.UsageLine
}

// tails are the ends of the activity files that were looked at, by name. A look costs what was written since.
type tails struct {
	mu     sync.Mutex
	byName map[string]*activity.Tail
}

// View returns the view of the board; with an error, that of the last valid board.
func (s *Source) View(ctx context.Context) (dashboard.View, error) {
	st, away, err := s.state(ctx)
	if st == nil {
		return dashboard.View{}, err
	}
	f := s.Facts(st)
	f.Doing, f.Offline = s.DoingOn(st), away
	return dashboard.Build(st, f), err
}
