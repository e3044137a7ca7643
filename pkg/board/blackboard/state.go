// Package blackboard is the shared state of a project as a value: what is on the board, and
// how it is read.
//
// State is the model of state.yaml (specs/protocol.md#2). Package transition has the rules by
// which it changes; package audit below has the rules that any state must keep, no matter who
// wrote it.
//
// Everything here is pure: no file, no process, no clock, no random number. Time and facts
// about processes are arguments. A fork shares tasks with the state that it was made from
// until Task returns one of them.
package blackboard

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The tasks of a state. A fork shares them with the state that it was made from, so nobody
// gets at the list itself: Tasks, TaskAt and Find are for looking, Task is for changing.

// Tasks yields the tasks in the order of the file. They must not be changed.
func (s *State) Tasks() iter.Seq[*Task] { return slices.Values(s.tasks) }

// EachTask yields the tasks with their indexes. They must not be changed.
func (s *State) EachTask() iter.Seq2[int, *Task] { return slices.All(s.tasks) }

// TaskList returns a copy of the list. The tasks must not be changed.
func (s *State) TaskList() []*Task { return slices.Clone(s.tasks) }

// TaskCount returns the number of tasks on the board.
func (s *State) TaskCount() int { return len(s.tasks) }

// TaskAt returns the task with index i, from 0. It must not be changed.
func (s *State) TaskAt(i int) *Task { return s.tasks[i] }

// Find returns the task with that id, or nil. It must not be changed.
func (s *State) Find(id string) *Task {
	// The index may be older than the list, so it only says where to look first.
	if i, ok := s.index[id]; ok && i < len(s.tasks) && s.tasks[i].ID == id {
		return s.tasks[i]
	}
	for _, t := range s.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Task returns the task with that id, or nil. It may be changed. Earlier pointers to it from a fork keep its former value.
func (s *State) Task(id string) *Task {
	if t := s.Find(id); t != nil {
		return s.Writable(t)
	}
	return nil
}

// Writable makes a task of a fork the fork's own, so that it may be changed.
func (s *State) Writable(t *Task) *Task {
	if s.owned == nil || s.owned[t] {
		return t
	}
	i := slices.Index(s.tasks, t)
	if i < 0 {
		return t // not of this state
	}
	c := t.Clone()
	s.tasks[i], s.owned[c] = c, true
	return c
}

// AddTasks appends tasks, which s owns from then on.
func (s *State) AddTasks(tasks ...*Task) {
	s.tasks = append(s.tasks, tasks...)
	if s.owned != nil {
		for _, t := range tasks {
			s.owned[t] = true
		}
	}
}

// With adds tasks to s and returns s.
func (s *State) With(tasks ...*Task) *State {
	s.AddTasks(tasks...)
	return s
}

// RemoveTasks removes the tasks for which drop returns true.
func (s *State) RemoveTasks(drop func(*Task) bool) {
	s.tasks = slices.DeleteFunc(s.tasks, drop)
}

// SetTasks replaces the list of tasks. If like is a state with most of these tasks at the same indexes, its index of ids is
// reused.
func (s *State) SetTasks(tasks []*Task, like *State) {
	s.tasks = tasks
	if like != nil && len(like.tasks) == len(tasks) {
		s.index = like.index // finding does not trust it
		return
	}
	s.index = make(map[string]int, len(tasks))
	for i, t := range tasks {
		if _, twice := s.index[t.ID]; !twice {
			s.index[t.ID] = i
		}
	}
}

// SprintTimes returns the times of the sprint, and makes them if there are none. They may be changed.
func (s *State) SprintTimes() *Timeline {
	if s.Sprint.Timeline == nil {
		s.Sprint.Timeline = &Timeline{}
	}
	return s.Sprint.Timeline
}

// UseArchive sets the archive of s and its forks.
func (s *State) UseArchive(a Archive) { s.archive = a }

// ArchivedTasks returns the archived tasks by id. The map must not be changed.
func (s *State) ArchivedTasks() map[string]Archived {
	if s.archive == nil {
		return nil
	}
	return s.archive.Archived()
}

// StatusOf returns the status of a task on the board, else in the archive.
func (s *State) StatusOf(id string) (Status, bool) {
	if t := s.Find(id); t != nil {
		return t.Status, true
	}
	a, ok := s.ArchivedTasks()[id]
	return a.Status, ok
}

// ArchivedIDs returns the sorted ids of archived tasks, which no new task may have.
func (s *State) ArchivedIDs() []string { return slices.Sorted(maps.Keys(s.ArchivedTasks())) }

// ArchivedNow returns the statuses, by id, of archived tasks of the current sprint that are not on the board.
func (s *State) ArchivedNow() map[string]Status {
	all := s.ArchivedTasks()
	if len(all) == 0 || s.Sprint == nil {
		return nil
	}
	member, now := s.sprintMembers(), map[string]Status{}
	for id, a := range all {
		if s.Find(id) == nil && (member(id) || a.Sprint == s.Sprint.ID && s.firstSprint()) {
			now[id] = a.Status
		}
	}
	return now
}

// firstSprint reports whether no sprint came before, so that every task belongs to it.
func (s *State) firstSprint() bool {
	n, ok := SprintNumber(s.Sprint.ID)
	return !ok || n < 2
}

// SprintNumber returns the number in a sprint id of the form sprint-3.
func SprintNumber(id string) (int, bool) {
	rest, ok := strings.CutPrefix(id, "sprint-")
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n >= 0
}

// InSprint returns a function that reports whether a task of the board belongs to the current sprint (specs/protocol.md#12):
// it is planned, stretch, or replaces such a task, or it was unfinished or not made yet when the sprint began. A finished
// task of an earlier sprint, kept because others depend on it, does not belong to it.
func (s *State) InSprint() func(*Task) bool {
	if s.Sprint == nil || s.firstSprint() {
		return func(*Task) bool { return true }
	}
	member := s.sprintMembers()
	started, _ := s.SprintTimes().Started.At()
	return func(t *Task) bool {
		if !t.Status.Terminal() || member(t.ID) {
			return true
		}
		created, ok := t.Created.At()
		return ok && created.After(started)
	}
}

// sprintMembers returns a function that reports whether the sprint's scope names an id, or a task that it replaces, on the
// board or in the archive.
func (s *State) sprintMembers() func(id string) bool {
	scope, known := s.Sprint.EnsureScope(), map[string]bool{}
	archived := sync.OnceValue(s.ArchivedTasks)
	for _, id := range slices.Concat(scope.Planned, scope.Stretch) {
		known[id] = true
	}
	var member func(id string) bool
	member = func(id string) bool {
		if is, seen := known[id]; seen {
			return is
		}
		known[id] = false // also while it is being looked at: a circle leads nowhere
		var replaced List
		if t := s.Find(id); t != nil {
			replaced = t.Supersedes
		} else {
			replaced = archived()[id].Supersedes
		}
		known[id] = slices.ContainsFunc(replaced, member)
		return known[id]
	}
	return member
}

// Ended returns the time when the task got its last status: that of its newest history entry that set one, else of the newest
// entry.
func (t *Task) Ended() time.Time {
	for h := range t.Backwards() {
		if at, ok := h.Time.At(); ok && h.LeadsTo() != nil {
			return at
		}
	}
	if h := t.Last(); h != nil {
		at, _ := h.Time.At()
		return at
	}
	at, _ := t.Created.At()
	return at
}

// Leave removes archived tasks from the board.
func (s *State) Leave(ids []string) {
	if s.leaving == nil {
		s.leaving = map[string]Status{}
	}
	for _, id := range ids {
		if t := s.Find(id); t != nil {
			s.leaving[id] = t.Status
		}
	}
	s.RemoveTasks(func(t *Task) bool { _, leaves := s.leaving[t.ID]; return leaves })
}

// Leaving returns the status of a task that Leave removed in this change.
func (s *State) Leaving(id string) (Status, bool) {
	status, ok := s.leaving[id]
	return status, ok
}

// EnsureScope returns the scope of the sprint, and makes it if there is none. It may be changed.
func (sp *Sprint) EnsureScope() *SprintScope {
	if sp == nil {
		return &SprintScope{}
	}
	if sp.Scope == nil {
		sp.Scope = &SprintScope{}
	}
	return sp.Scope
}
