package blackboard

import (
	"time"
)

// tellerTime is how long an import is left to the host that has begun to tell it outside: longer than its calls can last.
const tellerTime = 5 * time.Minute

// Tell notes that a host tells an import outside, and reports whether it may: no other one has begun, nor told it.
func (s *State) Tell(source, host string, now time.Time) bool {
	i := s.Import(source)
	if i == nil || i.Status != ImportOpen {
		return false
	}
	if since, known := i.At.At(); i.Teller != "" && i.Teller != host && known && now.Before(since.Add(tellerTime)) {
		return false
	}
	i.Teller, i.At = host, TimeOf(now)
	return true
}

// PutImport adds an import, or puts it into the place of the one of its source.
func (s *State) PutImport(i Import, now time.Time) {
	i.At = TimeOf(now)
	if old := s.Import(i.Source); old != nil {
		*old = i
		return
	}
	s.Imports = append(s.Imports, &i)
}

// Reword gives a task that nobody has begun another title and description.
func (t *Task) Reword(title, description string) {
	t.Title, t.Description = title, description
}
