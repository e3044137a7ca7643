package transition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// past reports whether a time is over. One that is missing or cannot be read counts as over.
func past(t blackboard.Time, now time.Time) bool {
	at, ok := t.At()
	return !ok || now.After(at)
}

// TaskEdit holds the changes of a task; a nil or empty field changes nothing.
type TaskEdit struct {
	Priority                            *int
	Title, Description, DoneWhen, Scope string
	Limits                              blackboard.Settings // by their names, as resubmit gives them
}

// EditTask changes priority, title, texts or limits of a task that is not terminal. A run under way keeps the texts that it started
// with.
func EditTask(s *blackboard.State, id string, e TaskEdit, a Actor, now time.Time) error {
	t := s.Task(id)
	switch {
	case t == nil:
		return refuse("G05", ExitRefused, "liza status", "task %s does not exist", id)
	case t.Status.Terminal():
		return refuse("G06", ExitRefused, "liza add TEXT", "task %s is %s and is not edited any more", id, t.Status)
	case e.Priority != nil && *e.Priority < 0:
		return refuse("G09", ExitUsage, "liza help edit", "priority %d must be 0 or more", *e.Priority)
	}
	t = s.Writable(t)
	before := t.Gates()
	var changed []string
	if e.Priority != nil && *e.Priority != t.PriorityOf() {
		changed = append(changed, fmt.Sprintf("priority %d, was %d", *e.Priority, t.PriorityOf()))
		t.Priority = e.Priority
	}
	for _, x := range []struct {
		name  string
		value *string
		now   string
	}{{"title", &t.Title, e.Title}, {"description", &t.Description, e.Description}, {"done_when", &t.DoneWhen, e.DoneWhen}, {"scope", &t.Scope, e.Scope}} {
		if x.now != "" && x.now != *x.value {
			changed = append(changed, x.name)
			*x.value = x.now
		}
	}
	own := blackboard.Settings{"max_iterations": t.MaxIterations, "max_review_cycles": t.MaxReviewCycles}
	maps.Copy(own, t.Limits)
	for _, name := range slices.Sorted(maps.Keys(e.Limits)) {
		if own[name] != e.Limits[name] {
			changed = append(changed, fmt.Sprintf("limit %s=%v", name, e.Limits[name]))
		}
	}
	applyLimits(t, e.Limits)
	if len(changed) == 0 {
		return refuse("G09", ExitNothing, "liza show "+id, "task %s is like that already", id)
	}
	if worse := slices.DeleteFunc(t.Gates(), func(gap blackboard.Gap) bool { return slices.Contains(before, gap) }); len(worse) > 0 && t.Status != blackboard.Draft {
		return refuse("G12", ExitUsage, "liza help edit", "cannot edit %s: %s", id, worse)
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionTaskEdited, Task: id, Detail: strings.Join(changed, ", "), Extra: via(a)})
	return nil
}

// tellerTime is how long an import is left to the host that has begun to tell it outside: longer than its calls can last.
const tellerTime = 5 * time.Minute

// Tell records that host reports the end of an import to its tracker. It returns false if the import is not open, or another
// host began less than five minutes ago.
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

// PutImport adds an import, or replaces the import of the same source.
func PutImport(s *blackboard.State, i blackboard.Import, now time.Time) {
	i.At = blackboard.TimeOf(now)
	if old := s.Import(i.Source); old != nil {
		*old = i
		return
	}
	s.Imports = append(s.Imports, &i)
}

// PutRequest adds a request, or replaces the request with the same id.
func PutRequest(s *blackboard.State, r blackboard.Request, now time.Time) {
	r.At = blackboard.TimeOf(now)
	if old := s.Request(r.ID); old != nil {
		*old = r
		return
	}
	s.Requests = append(s.Requests, &r)
}

// Archive removes the archivable tasks that ended before before, and returns their ids. The caller stores them in the archive
// (specs/protocol.md#3.3).
func Archive(s *blackboard.State, before time.Time, a Actor, now time.Time) []string {
	ids := Archivable(s, before)
	if len(ids) == 0 {
		return nil
	}
	s.Leave(ids)
	detail := strconv.Itoa(len(ids)) + " tasks: " + strings.Join(ids, ", ")
	if len(ids) == 1 {
		detail = "1 task: " + ids[0]
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionArchived, Detail: oneLine(detail), Extra: via(a)})
	return ids
}

// Archivable names the tasks that Archive would move off the board.
func Archivable(s *blackboard.State, before time.Time) (ids []string) {
	for _, t := range archivable(s, before) {
		ids = append(ids, t.ID)
	}
	return ids
}

// plural is "1 warning", "2 warnings".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// copies returns copies of the values that a list points to, nil for an empty list.
func copies[T any](list []*T) (out []*T) {
	for _, x := range list {
		own := *x
		out = append(out, &own)
	}
	return out
}

func clone(list blackboard.List) blackboard.List { return append(blackboard.List(nil), list...) }

// oneLine makes a text fit for a journal line: one line, at most 500 characters.
func oneLine(s string) string { return prose.OneLine(s, 500) }

// archivable lists the terminal tasks that nobody needs on the board any more: they ended
// before the time given, if one is, no open task depends on them, nothing of them is still to be
// removed, and no agent is still busy with them (specs/protocol.md#3.3).
func archivable(s *blackboard.State, before time.Time) []*blackboard.Task {
	needed := map[string]bool{}
	for t := range s.Tasks() {
		if t.Status.Terminal() {
			continue
		}
		for _, id := range t.DependsOn {
			needed[id] = true
		}
	}
	for _, a := range s.Agents {
		needed[a.CurrentTask] = true
		if a.Child != nil {
			needed[a.Child.Task] = true
		}
	}
	var list []*blackboard.Task
	for t := range s.Tasks() {
		if t.Status.Terminal() && !needed[t.ID] && t.Worktree == "" && (before.IsZero() || !t.Ended().After(before)) {
			list = append(list, t)
		}
	}
	return list
}
