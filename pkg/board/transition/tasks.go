package transition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// reviewsItself reports whether the task is APPROVED without a reviewer (specs/protocol.md#4.5).
func reviewsItself(t *blackboard.Task) bool { return !t.ChangesFiles() && !t.ReviewRequired }

// lastReviewer is who claimed the review of what is submitted now, "" for nobody yet.
func lastReviewer(t *blackboard.Task) string {
	for h := range t.Backwards() {
		switch h.Event {
		case blackboard.HistoryReviewClaimed:
			return h.Agent
		case blackboard.HistoryReadyForReview, blackboard.HistorySubmittedForReview:
			return ""
		}
	}
	return ""
}

// lostBy reports whether agent held the claim or the review claim and lost it to an
// expiry, a forced release or another agent (specs/decisions.md#D24), and how.
func lostBy(t *blackboard.Task, agent string) (at blackboard.Time, how string, lost bool) {
	role, _, _ := blackboard.ParseAgentID(agent)
	var takeover *blackboard.HistoryEntry
	for h := range t.Backwards() {
		switch {
		case h.Event == blackboard.HistoryLeaseExpired && h.Holder == agent:
			return h.Time, "its lease expired", true
		case h.Event == blackboard.HistoryReassigned && h.PreviousAssignee == agent:
			return h.Time, "reclaimed by " + h.Agent, true
		case h.Event == blackboard.HistoryReleased && h.Holder == agent && h.Agent != agent:
			return h.Time, "released by " + h.Agent + ": " + h.Reason, true
		case h.Agent == agent:
			holds := blackboard.IsClaimEvent(h.Event) || h.Event == blackboard.HistoryReviewClaimed || h.Event == blackboard.HistoryCheckpoint || h.Event == blackboard.HistoryHandoff
			if holds && takeover != nil {
				return takeover.Time, "reclaimed by " + takeover.Agent, true
			}
			return "", "", false
		case role == blackboard.RoleCoder && blackboard.IsClaimEvent(h.Event), role == blackboard.RoleReviewer && h.Event == blackboard.HistoryReviewClaimed:
			takeover = h
		}
	}
	return "", "", false
}

// lastRejectedCommit is the commit of the newest rejection that still counts: an unblock
// or a rerun starts the task again.
func lastRejectedCommit(t *blackboard.Task) string {
	for h := range t.Backwards() {
		switch {
		case h.Event == blackboard.HistoryRejected:
			return h.Commit
		case h.Event == blackboard.HistoryUnblocked, h.Event == blackboard.HistoryReleased && h.What == "rerun":
			return ""
		}
	}
	return ""
}

func handoffsSinceClaim(t *blackboard.Task) int {
	n := 0
	for h := range t.Backwards() {
		if blackboard.IsClaimEvent(h.Event) {
			break
		}
		if h.Event == blackboard.HistoryHandoff && h.Agent == t.AssignedTo {
			n++
		}
	}
	return n
}

// addAttempt appends to attempts and keeps the newest ten.
func addAttempt(t *blackboard.Task, a *blackboard.Attempt) {
	a.Seq = 1
	for _, old := range t.Attempts {
		a.Seq = max(a.Seq, old.Seq+1)
	}
	t.Attempts = append(t.Attempts, a)
	if n := len(t.Attempts); n > 10 {
		t.Attempts = append([]*blackboard.Attempt(nil), t.Attempts[n-10:]...)
	}
}

// statusOf is the status of a task on the board or in the archive.
func statusOf(s *blackboard.State, id string, in Input) (blackboard.Status, bool) {
	if t := in.index.find(id); t != nil {
		return t.Status, true
	}
	return s.StatusOf(id)
}

// indexed is the input for looking at many tasks.
func indexed(s *blackboard.State, in Input) Input {
	in.index = &taskIndex{state: s}
	return in
}

// waitsFor lists what keeps the task from being claimable: "a (CLAIMED)".
func waitsFor(s *blackboard.State, t *blackboard.Task, in Input) []string {
	var waits []string
	for _, d := range t.DependsOn {
		switch st, ok := statusOf(s, d, in); {
		case !ok:
			waits = append(waits, d+" (missing)")
		case st != blackboard.Merged:
			waits = append(waits, fmt.Sprintf("%s (%s)", d, st))
		}
	}
	if !t.AfterPlan || len(waits) > 0 {
		return waits
	}
	for o := range s.Tasks() {
		if o != t && t.Plan != "" && o.Plan == t.Plan && !o.Status.Terminal() {
			waits = append(waits, fmt.Sprintf("%s (%s)", o.ID, o.Status))
		}
	}
	return waits
}

// holds names the task that keeps the agent from claiming another, or "". entry is its
// registration, or nil.
func holds(s *blackboard.State, agent string, entry *blackboard.Agent, except string) string {
	for t := range s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == agent && t.ID != except {
			return t.ID
		}
	}
	if entry != nil && entry.CurrentTask != "" && entry.CurrentTask != except {
		return entry.CurrentTask
	}
	return ""
}

func reservationOver(s *blackboard.State, c *blackboard.Claiming, facts blackboard.ProcessFacts, now time.Time) bool {
	if past(c.Expires, now) {
		return true
	}
	a := s.Agents[c.By]
	if a == nil || a.Generation != c.Generation {
		return true
	}
	live, _ := s.Liveness(c.By, now, facts)
	return live == blackboard.Dead
}

// keptUntil applies G24: a REJECTED task waits reassign_after for its own live coder.
func keptUntil(s *blackboard.State, t *blackboard.Task, agent string, facts blackboard.ProcessFacts, now time.Time) (blackboard.Time, bool) {
	if t.AssignedTo == "" || t.AssignedTo == agent || s.Agents[t.AssignedTo] == nil || s.Stopped[t.AssignedTo] != nil {
		return "", false
	}
	if live, _ := s.Liveness(t.AssignedTo, now, facts); live == blackboard.Expired || live == blackboard.Dead {
		return "", false
	}
	at, ok := t.TimeOfLast(blackboard.HistoryRejected).At()
	until := at.Add(s.Duration("reassign_after"))
	return blackboard.TimeOf(until), ok && now.Before(until)
}

// otherCoder applies G25: the first live coder that has not failed the task, when agent has.
func untriedCoder(s *blackboard.State, t *blackboard.Task, agent string, facts blackboard.ProcessFacts, now time.Time) string {
	if !t.FailedBy.Has(agent) {
		return ""
	}
	for _, id := range s.AgentIDs() {
		if role, _, _ := blackboard.ParseAgentID(id); role != blackboard.RoleCoder || t.FailedBy.Has(id) || s.Stopped[id] != nil {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == blackboard.Alive {
			return id
		}
	}
	return ""
}

// past reports whether a time is over. One that is missing or cannot be read counts as over.
func past(t blackboard.Time, now time.Time) bool {
	at, ok := t.At()
	return !ok || now.After(at)
}

// TaskEdit names what changes of a task; what is nil or empty stays.
type TaskEdit struct {
	Priority                            *int
	Title, Description, DoneWhen, Scope string
}

// EditTask changes priority, title or texts of a task that is not terminal. What a coder was asked for stays in its prompt.
func EditTask(s *blackboard.State, id string, e TaskEdit, a Actor, now time.Time) error {
	t := s.Task(id)
	switch {
	case t == nil:
		return refuse("G05", ExitRefused, "liza status", "task %s does not exist", id)
	case t.Status.Terminal():
		return refuse("G06", ExitRefused, "liza add-task", "task %s is %s and is not edited any more", id, t.Status)
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
	if len(changed) == 0 {
		return refuse("G09", ExitNothing, "liza show "+id, "task %s is like that already", id)
	}
	if worse := slices.DeleteFunc(t.Gates(), func(gap string) bool { return slices.Contains(before, gap) }); len(worse) > 0 && t.Status != blackboard.Draft {
		return refuse("G12", ExitUsage, "liza help edit", "cannot edit %s: %s", id, strings.Join(worse, "; "))
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionTaskEdited, Task: id, Detail: strings.Join(changed, ", "), Extra: via(a)})
	return nil
}

// attemptOutcomes is what an event of the task means for the run that led to it (
// specs/protocol.md#2.3, attempts).
var attemptOutcomes = map[blackboard.HistoryEvent]string{
	blackboard.HistoryReadyForReview: "submitted", blackboard.HistoryApproved: "approved", blackboard.HistoryRejected: "rejected", blackboard.HistoryMerged: "merged", blackboard.HistoryBlocked: "blocked", blackboard.HistoryRetried: "retry",
	blackboard.HistoryApprovalVoided: "submitted",
}

// finishedRun is the outcome of a run of which nothing is known yet but that it ended well.
const finishedRun = "finished"

// crashedRun is the outcome of a run whose program failed by itself.
const crashedRun = "crashed"

// judgeAttempt writes what came of the work into the newest run of the coder, and, for a
// verdict, of the reviewer. Runs that ended badly keep how they ended.
func judgeAttempt(t *blackboard.Task, event blackboard.HistoryEvent) {
	outcome, ok := attemptOutcomes[event]
	more := event == blackboard.HistoryApprovalRecorded // other reviewers judge the work yet
	if more {
		outcome, ok = "approved", true
	}
	if !ok {
		return
	}
	judged := map[string]bool{}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := t.Attempts[i]
		if a == nil || judged[a.Kind] || a.ClaimSeq != t.ClaimSeq {
			continue
		}
		judged[a.Kind] = true
		reviewer := a.Kind == string(blackboard.RoleReviewer)
		if more && !reviewer {
			continue
		}
		switch a.Outcome {
		case finishedRun:
			a.Outcome = outcome
		case "submitted", "approved", "rejected":
			if !reviewer {
				a.Outcome = outcome
			}
		}
	}
}

// outcomeSoFar is what the board says of a coder's run that has just ended: its verbs may
// have come before its end.
func outcomeSoFar(t *blackboard.Task) string {
	for h := range t.Backwards() {
		if outcome, ok := attemptOutcomes[h.Event]; ok {
			return outcome
		}
		if blackboard.IsClaimEvent(h.Event) {
			break
		}
	}
	return finishedRun
}

// cycleThrough returns a dependency cycle that goes through id when it depends on deps,
// or nil. replace, if given, stands in for each dependency (a supersede under way).
func cycleThrough(s *blackboard.State, id string, deps []string, replace func(string) []string) []string {
	if len(deps) == 0 {
		return nil
	}
	seen, tasks := map[string]bool{}, make(map[string]*blackboard.Task, s.TaskCount())
	for t := range s.Tasks() {
		tasks[t.ID] = t
	}
	var walk func(at string, path []string) []string
	walk = func(at string, path []string) []string {
		path = append(path, at)
		if at == id {
			return path
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		t := tasks[at]
		if t == nil || t.Status.Terminal() {
			return nil
		}
		next := []string(t.DependsOn)
		if replace != nil {
			next = replaceAll(next, replace)
		}
		for _, d := range next {
			if c := walk(d, path); c != nil {
				return c
			}
		}
		return nil
	}
	for _, d := range deps {
		if c := walk(d, []string{id}); c != nil {
			return c
		}
	}
	return nil
}

// replaceAll maps a list in place and drops duplicates.
func replaceAll(list []string, replace func(string) []string) blackboard.List {
	var out blackboard.List
	for _, x := range list {
		for _, y := range replace(x) {
			if !out.Has(y) {
				out = append(out, y)
			}
		}
	}
	return out
}

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

// PutRequest adds a request, or puts it into the place of the one with its id.
func PutRequest(s *blackboard.State, r blackboard.Request, now time.Time) {
	r.At = blackboard.TimeOf(now)
	if old := s.Request(r.ID); old != nil {
		*old = r
		return
	}
	s.Requests = append(s.Requests, &r)
}

// preferTime is how long a new task waits for its coder to register: a team that begins again registers one after the other.
const preferTime = 30 * time.Second

// awaits reports whether a task is left to the coder that it prefers: that one is registered and has no task, or may come.
func awaits(s *blackboard.State, t *blackboard.Task, now time.Time) bool {
	e := s.Agents[t.Prefer]
	if e == nil {
		created, ok := t.Created.At()
		return ok && now.Sub(created) < preferTime
	}
	if stop := s.Stopped[t.Prefer]; stop != nil {
		return stop.Restart
	}
	return (e.Status == blackboard.AgentIdle || e.Status == blackboard.AgentStarting) && e.CurrentTask == ""
}

// Archive takes the tasks off the board that Archivable lists, and returns their ids. The
// caller has to keep them (specs/protocol.md#3.3).
func Archive(s *blackboard.State, before time.Time, a Actor, now time.Time) []string {
	var ids []string
	for _, t := range s.Archivable(before) {
		ids = append(ids, t.ID)
	}
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

// plural is "1 warning", "2 warnings".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func clone(list blackboard.List) blackboard.List { return append(blackboard.List(nil), list...) }

// oneLine makes a text fit for a journal line: one line, at most 500 characters.
func oneLine(s string) string { return prose.OneLine(s, 500) }

func describeFinding(f *blackboard.Finding) string {
	text := f.Message
	if f.File != "" {
		text = f.File + ": " + text
	}
	if f.Check != "" {
		text = "check " + f.Check + ": " + text
	}
	return text
}

// describe is a detail of an anomaly in one line.
func describe(v any) string {
	if list, ok := v.([]string); ok {
		return oneLine(strings.Join(list, ", "))
	}
	return oneLine(fmt.Sprint(v))
}
