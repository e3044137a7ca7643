package transition

import (
	"time"

	"liza/pkg/blackboard"
)

// tellerTime is how long an import is left to the host that has begun to tell it outside: longer than its calls can last.
const tellerTime = 5 * time.Minute

// Tell notes that a host tells an import outside, and reports whether it may: no other one has begun, nor told it.
func Tell(s *blackboard.State, source, host string, now time.Time) bool {
	i := s.Import(source)
	if i == nil || i.Status != blackboard.ImportOpen {
		return false
	}
	if since, known := i.At.At(); i.Teller != "" && i.Teller != host && known && now.Before(since.Add(tellerTime)) {
		return false
	}
	i.Teller, i.At = host, blackboard.TimeOf(now)
	return true
}

// PutImport adds an import, or puts it into the place of the one of its source.
func PutImport(s *blackboard.State, i blackboard.Import, now time.Time) {
	i.At = blackboard.TimeOf(now)
	if old := s.Import(i.Source); old != nil {
		*old = i
		return
	}
	s.Imports = append(s.Imports, &i)
}

// Reword gives a task that nobody has begun another title and description.
func Reword(t *blackboard.Task, title, description string) {
	t.Title, t.Description = title, description
}
