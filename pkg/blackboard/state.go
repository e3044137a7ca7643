package blackboard

import (
	"iter"
	"slices"
)

// The tasks of a state. A fork shares them with the state that it was made from, so nobody
// gets at the list itself: Tasks, TaskAt and Find are for looking, Task is for changing.

// Tasks yields the tasks in the order of the file, for looking.
func (s *State) Tasks() iter.Seq[*Task] { return slices.Values(s.tasks) }

// EachTask yields the tasks with their places, for looking.
func (s *State) EachTask() iter.Seq2[int, *Task] { return slices.All(s.tasks) }

// TaskList is a copy of the list, for looking at its tasks.
func (s *State) TaskList() []*Task { return slices.Clone(s.tasks) }

// TaskCount is how many tasks there are.
func (s *State) TaskCount() int { return len(s.tasks) }

// TaskAt returns the task in that place, from 0, for looking.
func (s *State) TaskAt(i int) *Task { return s.tasks[i] }

// Find returns the task with that id, or nil, for looking.
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

// Task returns the task with that id, or nil. It may be changed. Pointers to it that were
// got from a fork before keep what it was.
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

// AddTasks puts tasks behind the others. They are the state's own from then on.
func (s *State) AddTasks(tasks ...*Task) {
	s.tasks = append(s.tasks, tasks...)
	if s.owned != nil {
		for _, t := range tasks {
			s.owned[t] = true
		}
	}
}

// With is the state with tasks added.
func (s *State) With(tasks ...*Task) *State {
	s.AddTasks(tasks...)
	return s
}

// RemoveTasks takes the tasks out of the list that drop names.
func (s *State) RemoveTasks(drop func(*Task) bool) {
	s.tasks = slices.DeleteFunc(s.tasks, drop)
}

// SetTasks puts another list in the place of the tasks. like is a state in which most of
// them are in the same places, or nil.
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

// SprintTimes are the times of the sprint, which may be changed.
func (s *State) SprintTimes() *Timeline {
	if s.Sprint.Timeline == nil {
		s.Sprint.Timeline = &Timeline{}
	}
	return s.Sprint.Timeline
}
