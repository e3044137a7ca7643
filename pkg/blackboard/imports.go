package blackboard

import (
	"fmt"
	"slices"
	"strings"
)

// The statuses of an Import.
const (
	ImportOpen   = "open"
	ImportDone   = "done"
	ImportClosed = "closed"
)

// Import returns what was imported from a source, or nil. It may be changed.
func (s *State) Import(source string) *Import {
	i := slices.IndexFunc(s.Imports, func(i *Import) bool { return i != nil && i.Source == source })
	if i < 0 {
		return nil
	}
	return s.Imports[i]
}

// ImportOf is what a task was imported from, nil for one that was not.
func (s *State) ImportOf(task string) *Import {
	i := slices.IndexFunc(s.Imports, func(i *Import) bool { return i != nil && i.Task == task })
	if i < 0 {
		return nil
	}
	return s.Imports[i]
}

// Wordable reports whether a task may still get other words: nobody has begun it.
func (t *Task) Wordable() bool {
	return (t.Status == Draft || t.Status == Unclaimed) && t.ClaimSeq == 0
}

// Place says where an import is from: the kind of a tracker, its repository, and the key of the issue; a file has no kind.
func (i *Import) Place() (kind, place, key string) {
	rest := i.Source
	for _, k := range []string{"github", "gitlab", "gitea", "jira", "linear"} {
		if after, ok := strings.CutPrefix(rest, k+":"); ok {
			kind, rest = k, after
		}
	}
	if at := strings.LastIndex(rest, "#"); at >= 0 {
		return kind, rest[:at], rest[at+1:]
	}
	return kind, "", rest
}

// Question says what was changed on both sides, and how it is decided.
func (i *Import) Question() string {
	kind, place, key := i.Place()
	again := kind + " " + key
	if kind == "" {
		again = "'" + place + "#" + key + "'"
	}
	return fmt.Sprintf("%s: the %s changed both here and in %s; next: liza import %s --keep here|outside", i.Task, i.Asks, i.Source, again)
}
