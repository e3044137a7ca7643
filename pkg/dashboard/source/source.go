// Package source reads what the views of a project show: the board, one task, a diff, what an agent
// says. Terminal, page, report and JSON ask it and nothing else, so that they show the same. It
// changes nothing; what people decide goes through the verbs of its Service.
package source

import (
	"context"
	"sync"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/history"
	"liza/pkg/verb"
	"liza/pkg/watch"
)

// Source reads a project. It may be used by many goroutines.
type Source struct {
	Service *verb.Service // of a person
	// Facts is what a view shows besides the state.
	Facts func(*blackboard.State) dashboard.Facts

	mu     sync.Mutex
	last   *blackboard.State // what was read last: the store gives the same state for the same revision
	ledger ledger
	tails  tails
}

// State is the board as it is; when the file is damaged, the error says how, and the last one that was whole comes with it.
func (s *Source) State(ctx context.Context) (*blackboard.State, error) {
	st, err := s.Service.View(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return s.last, err
	}
	s.last = st
	return st, nil
}

// View is the board as people see it.
func (s *Source) View(ctx context.Context) (dashboard.View, error) {
	st, err := s.State(ctx)
	if st == nil {
		return dashboard.View{}, err
	}
	f := s.Facts(st)
	f.Doing = s.DoingOn(st)
	return dashboard.Build(st, f), err
}

// Watch sends whenever something may have changed; then View tells what.
func (s *Source) Watch(ctx context.Context) <-chan struct{} { return s.Service.Store.Watch(ctx) }

// Entries are those of the journal with all their fields, newest last.
func (s *Source) Entries(f history.Filter) ([]blackboard.Entry, error) {
	return history.Journal{Path: s.Service.Project.Journal()}.Read(f)
}

// Log is the journal as views show it, newest last.
func (s *Source) Log(f history.Filter) ([]dashboard.Happening, error) {
	entries, err := s.Entries(f)
	if err != nil {
		return nil, err
	}
	list := make([]dashboard.Happening, 0, len(entries))
	for _, e := range entries {
		list = append(list, dashboard.Happening{At: e.Timestamp, Rev: e.Rev, Who: e.Agent, Action: e.Action, Task: e.Task, Text: e.Detail})
	}
	return list, nil
}

// Alerts are the open ones, as the watcher of the team wrote them last.
func (s *Source) Alerts() ([]watch.Alert, error) {
	return watch.Files{Dir: s.Service.Project.Liza}.Open()
}
