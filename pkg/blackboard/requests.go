package blackboard

import (
	"slices"
	"strings"
)

// The statuses of a Request.
const (
	RequestOpening = "opening" // recorded before anything is pushed
	RequestOpen    = "open"
	RequestMerged  = "merged"
	RequestClosed  = "closed" // by a person, without a merge
)

// Request returns the request with that id, or nil. It may be changed.
func (s *State) Request(id string) *Request {
	for _, r := range s.Requests {
		if r != nil && r.ID == id {
			return r
		}
	}
	return nil
}

// Under reports whether the request is neither merged nor closed.
func (r *Request) Under() bool { return r.Status == RequestOpening || r.Status == RequestOpen }

// ConflictsWith begins what a request waits for whose base branch has moved on.
const ConflictsWith = "conflicts with "

// InConflict reports whether the forge cannot merge the request, because its base branch has moved on.
func (r *Request) InConflict() bool {
	return r.Status == RequestOpen && strings.HasPrefix(r.Waits, ConflictsWith)
}

// AllLanded reports whether there are requests, none of them is to be looked at any more, and no merged task lacks one.
func (s *State) AllLanded() bool {
	var picked List // empty: the integration branch lands as it is
	for _, r := range s.Requests {
		if r != nil && r.Under() {
			return false
		}
		if r != nil {
			picked = append(picked, r.Picked...)
		}
	}
	for t := range s.Tasks() {
		if len(picked) > 0 && t.MergeCommit != "" && t.ChangesFiles() && !picked.Has(t.ID) {
			return false
		}
	}
	return len(s.Requests) > 0
}

// Text is one line about the request.
func (r *Request) Text() string {
	text := r.ID + ": "
	switch {
	case r.URL == "":
		text += "request of " + r.Branch + " is being opened"
	case r.Status == RequestOpen && r.Checks != "":
		text += r.URL + ", open, checks " + r.Checks
	default:
		text += r.URL + ", " + r.Status
	}
	if r.Waits != "" && r.Under() {
		text += "; " + r.Waits
	}
	return text
}

// FixUnderWay is a task that was made for the request and is not at its end, "" for none.
func (s *State) FixUnderWay(r *Request) string {
	for _, id := range r.Fixes {
		if t := s.Find(id); t != nil && !t.Status.Terminal() {
			return id
		}
	}
	return ""
}

// CoderOf is the coder of one of the tasks, by what a log says: the one whose task changed a file that the log names most often, else
// the coder of the last task.
func CoderOf(tasks []*Task, files map[string][]string, log string) string {
	best, most := "", 0
	for _, t := range slices.Backward(tasks) {
		if t.LastClaimant() == "" {
			continue
		}
		n := 1
		for _, file := range files[t.ID] {
			n += 10 * strings.Count(log, file)
		}
		if n > most {
			best, most = t.LastClaimant(), n
		}
	}
	return best
}
