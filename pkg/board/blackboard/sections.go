package blackboard

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Statuses of a fact on the board; archived ones are in .liza/archive/facts.jsonl.
const (
	FactActive  = "active"
	FactPending = "pending"
)

// FactCategories are the subjects that a fact may have (specs/roles-and-knowledge.md#6.1).
var FactCategories = []string{"project", "user", "tool", "general"}

// Active reports whether prompts may contain the fact.
func (f *Fact) Active() bool { return f.Status == "" || f.Status == FactActive }

// Number returns the number in the fact's id, or 0 for an id of another form.
func (f *Fact) Number() int {
	rest, _ := strings.CutPrefix(f.ID, "fact-")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// ActiveFacts returns the facts that prompts may contain, in the order of the board.
func (s *State) ActiveFacts() []*Fact {
	var list []*Fact
	for _, f := range s.Facts {
		if f.Active() {
			list = append(list, f)
		}
	}
	return list
}

// NewNotes returns the notes for the task of an agent's run that were not in its prompt.
func (s *State) NewNotes(agent string) []*Note {
	a := s.Agents[agent]
	if a == nil || a.Child == nil || a.Child.Task == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.HumanNotes), func(n *Note) bool {
		return n.For != a.Child.Task || n.SeenBy.Has(agent) || n.When == WhenAfter || n.Run != "" && n.Run != a.Child.RunID
	})
}

// When a text is to reach a run, how it did, and where it is.
const (
	WhenNow   = "now"   // the running turn, or an interruption
	WhenNext  = "next"  // the running turn, else the next command or prompt
	WhenAfter = "after" // the prompt of the next run

	ByTurn     = "turn"     // into the running turn
	ByResume   = "resume"   // the run was interrupted, and its conversation resumed
	ByCommand  = "command"  // with a command of liza
	ByPrompt   = "prompt"   // with the prompt of a run
	ByProposal = "proposal" // as a proposal for another task: its own is over

	TextQueued    = "queued"
	TextDelivered = "delivered"
	TextSeen      = "seen"
)

// Queued reports whether the note is a text that no run has yet.
func (n *Note) Queued() bool { return n.Receipt != nil && n.Receipt.State == TextQueued }

// GivenTo reports whether the note is a text that was given to a run, and of which that run has not said that it has it.
func (n *Note) GivenTo(run string) bool {
	return n.Receipt != nil && run != "" && n.Receipt.Run == run && n.Receipt.State == TextDelivered
}

// Liza reports whether Liza itself says it, to one run.
func (n *Note) Liza() bool { return n.Run != "" }

// Author is whose word a note is, for those who read it.
func (n *Note) Author() string {
	_, _, agent := ParseAgentID(n.By)
	switch {
	case n.Liza():
		return "Liza"
	case agent:
		return "the agent " + n.By
	case n.By == "":
		return "a person"
	}
	return "a person, " + n.By
}

// String says where a text is, in words.
func (r *Receipt) String() string {
	text := r.State
	if words := map[string]string{ByTurn: "in the running turn", ByResume: "in the resumed conversation", ByCommand: "with a command of liza", ByPrompt: "with a prompt", ByProposal: "as a proposal"}[r.How]; words != "" {
		text += " " + words
	}
	if r.Moved != "" {
		text += " (" + r.Moved + ")"
	}
	return text
}

// Texts lists what is told to the runs of a task, in the order in which it was written.
func (s *State) Texts(task string) (list []*Note) {
	for _, n := range s.HumanNotes {
		if n.Receipt != nil && n.For == task {
			list = append(list, n)
		}
	}
	return list
}

// A comment is a note of a person about a change: a task's, at a commit of it, as a rule at a line. It is open until the coder
// submits another commit; work with open comments is merged by a person's decision only, and they are among the
// findings of the rejection that sends it back.

// commentCheck comes before the name of who commented, in the place of a check.
const commentCheck = "comment of "

// IsComment reports whether the note is a comment on a change.
func (n *Note) IsComment() bool { return n.Commit != "" }

// Finding returns a comment as a finding, for coders and views.
func (n *Note) Finding() *Finding {
	return &Finding{Severity: "error", Check: commentCheck + n.By, File: n.File, Line: n.Line, Message: n.Message}
}

// Commenter returns the author of a finding that was made from a comment.
func (f *Finding) Commenter() (name string, ok bool) { return strings.CutPrefix(f.Check, commentCheck) }

// OpenComments returns the comments on a task that are newer than its last submission.
func (s *State) OpenComments(t *Task) []*Note {
	var list []*Note
	submitted := t.TimeOfLast(HistoryReadyForReview, HistorySubmittedForReview)
	last, _ := submitted.At()
	for _, n := range s.HumanNotes {
		if n.For != t.ID || !n.IsComment() {
			continue
		}
		at, ok := n.Timestamp.At()
		if n.Commit == t.ReviewCommit || ok && at.After(last) {
			list = append(list, n)
		}
	}
	return list
}

// RejectedFor reports whether the last rejection of the task has the comment among its findings.
func (t *Task) RejectedFor(n *Note) bool {
	return t.RejectionReason != nil && n.IsComment() && slices.ContainsFunc(t.RejectionReason.Findings, func(f *Finding) bool {
		return *f == *n.Finding()
	})
}

// The statuses of an Import.
const (
	ImportOpen   = "open"
	ImportDone   = "done"
	ImportClosed = "closed"
)

// Import returns the import from source, or nil. It may be changed.
func (s *State) Import(source string) *Import {
	i := slices.IndexFunc(s.Imports, func(i *Import) bool { return i.Source == source })
	if i < 0 {
		return nil
	}
	return s.Imports[i]
}

// ImportOf returns the import that became the task, or nil.
func (s *State) ImportOf(task string) *Import {
	i := slices.IndexFunc(s.Imports, func(i *Import) bool { return i.Task == task })
	if i < 0 {
		return nil
	}
	return s.Imports[i]
}

// Place returns the origin of an import: the kind of a tracker, its repository, and the key of the issue; a file has no kind.
func (i *Import) Place() (kind, place, key string) {
	rest := i.Source
	for _, k := range []string{"github", "gitlab", "gitea"} {
		if after, ok := strings.CutPrefix(rest, k+":"); ok {
			kind, rest = k, after
		}
	}
	if at := strings.LastIndex(rest, "#"); at >= 0 {
		return kind, rest[:at], rest[at+1:]
	}
	return kind, "", rest
}

// FirstIntent returns the time of the coder's first intent in the current attempt, if given (specs/protocol.md#13.11). Later
// ones add to it.
func (t *Task) FirstIntent() (at Time, given bool) {
	for h := range t.Backwards() {
		if IsClaimEvent(h.Event) {
			break
		}
		if h.Event == HistoryCheckpoint && h.Agent == t.AssignedTo {
			at, given = h.Time, true
		}
	}
	return at, given
}

// EarlierCommits returns the commits that the task recorded before its current attempt, whose content that attempt did not
// make.
func (t *Task) EarlierCommits() List {
	var list List
	add := func(commit string) {
		if commit != "" && !list.Has(commit) {
			list = append(list, commit)
		}
	}
	before := false
	for h := range t.Backwards() {
		if before {
			add(h.Commit)
		}
		before = before || IsClaimEvent(h.Event)
	}
	for _, a := range t.Attempts {
		if a.ClaimSeq < t.ClaimSeq {
			add(a.Commit)
		}
	}
	return list
}

// The statuses of a Request.
const (
	RequestOpening = "opening" // recorded before the push
	RequestOpen    = "open"
	RequestMerged  = "merged"
	RequestClosed  = "closed" // closed without a merge
)

// Request returns the request with that id, or nil. It may be changed.
func (s *State) Request(id string) *Request {
	for _, r := range s.Requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Under reports whether the request is neither merged nor closed.
func (r *Request) Under() bool { return r.Status == RequestOpening || r.Status == RequestOpen }

// InConflict reports whether the forge cannot merge the request, because its base branch has moved on.
func (r *Request) InConflict() bool { return r.Status == RequestOpen && r.Conflict }

// Text returns one line about the request.
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

// CoderOf returns the coder of one of the tasks, for a log: of the task whose files the log names most often, else of the
// last task. files are the changed files by task.
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

// ClockOff reports whether a host's clock differs by more than the grace of a lease.
func (s *State) ClockOff(h *Host) bool {
	off := time.Duration(h.ClockOffset) * time.Second
	return off.Abs() > s.Duration("lease_grace")
}

// ElsewhereThan reports whether another host has the worktree of the task.
func (t *Task) ElsewhereThan(host string) bool {
	return host != "" && t.Host != "" && t.Host != host
}
