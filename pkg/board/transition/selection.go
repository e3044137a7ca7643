package transition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// Candidate is a task that could be given out, with the values that rank it (specs/protocol.md#7.1).
type Candidate struct {
	Task     *blackboard.Task
	Class    int // -1: work meant for the caller; 0: work that the caller began
	Priority int // effective, after aging
	Overlap  bool
	Since    time.Time // time of the submission or approval
	index    int
}

// NextTask returns the task that a coder should claim, or nil and why the coder waits. in has the facts of the guards
// (control, archive, disk). The claim itself refuses a coder that has a task already (G21).
func NextTask(s *blackboard.State, a Actor, in Input, now time.Time) (task *blackboard.Task, why string) {
	in = indexed(s, in)
	busy := filesInWork(s, a.ID)
	may := statusesOf(evClaim, SCoder)
	var list []Candidate
	var refusals []string
	for i, t := range s.EachTask() {
		if !may[t.Status] || len(refusals) >= shownReasons && !nothingToWaitFor(s, t, in) {
			continue
		}
		if t.Prefer != "" && t.Prefer != a.ID && awaits(s, t, now) {
			continue
		}
		if o := waitsForOverlap(s, t, in, now); o != nil {
			if len(refusals) < shownReasons {
				refusals = append(refusals, fmt.Sprintf("%s waits for %s (%s), whose files are its own", t.ID, o.ID, o.Status))
			}
			continue
		}
		if err := claimable(s, t, a, in, now); err != nil {
			if len(refusals) < shownReasons {
				refusals = append(refusals, err.Error())
			}
			continue
		}
		list = append(list, Candidate{Task: t, Class: classFor(t, a.ID), Priority: effectivePriority(s, t, in, now),
			Overlap: overlaps(t, busy), index: i})
	}
	if len(list) == 0 {
		return nil, waitReason(s, in, refusals)
	}
	return slices.MinFunc(list, Candidate.compare).Task, ""
}

// HasWork reports whether a task waits for nothing but a coder.
func HasWork(s *blackboard.State) bool {
	in := indexed(s, Input{})
	for t := range s.Tasks() {
		open := t.Status == blackboard.Unclaimed || t.Status == blackboard.Rejected || t.Status == blackboard.IntegrationFailed
		if open && t.Hold == nil && len(waitsFor(s, t, in)) == 0 {
			return true
		}
	}
	return false
}

// shownReasons is how many tasks a refusal names.
const shownReasons = 3

// statusesOf are the statuses from which the party may cause an event.
func statusesOf(event Event, p Party) map[blackboard.Status]bool {
	may := map[blackboard.Status]bool{}
	for _, st := range blackboard.Statuses {
		may[st] = whoMay(event, p, st)
	}
	return may
}

// nothingToWaitFor reports whether all dependencies of t are merged.
func nothingToWaitFor(s *blackboard.State, t *blackboard.Task, in Input) bool {
	for _, d := range t.DependsOn {
		if st, ok := statusOf(s, d, in); !ok || st != blackboard.Merged {
			return false
		}
	}
	return true
}

// compare is the order of specs/protocol.md#7.1: the smaller one is chosen.
func (c Candidate) compare(d Candidate) int {
	ct, _ := c.Task.Created.At()
	dt, _ := d.Task.Created.At()
	return cmp.Or(cmp.Compare(c.Class, d.Class), cmp.Compare(c.Priority, d.Priority), compareBool(c.Overlap, d.Overlap),
		ct.Compare(dt), cmp.Compare(c.index, d.index))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// claimable says why a claim by the actor would be refused, nil when it would not. A
// candidate is checked for the role of the actor, not for its token.
func claimable(s *blackboard.State, t *blackboard.Task, a Actor, in Input, now time.Time) error {
	return wouldRefuse(s, evClaim, SCoder|ByCoder, t, a, in, now, "G21", "G28", "G75")
}

// wouldRefuse tries an event without the guards that are named.
func wouldRefuse(s *blackboard.State, event Event, p Party, t *blackboard.Task, a Actor, in Input, now time.Time, without ...string) error {
	m := &move{state: s, task: t, actor: a, by: caller{party: p, entry: s.Agents[a.ID]}, party: p, in: in, now: now}
	if err := m.pick(event); err != nil {
		return err
	}
	for _, g := range m.rule.guards() {
		if slices.Contains(without, g.ID) {
			continue
		}
		if err := g.Check(m); err != nil {
			return err
		}
	}
	return nil
}

// classFor returns -1 for work meant for agent, 0 for work that it held last, else 1.
func classFor(t *blackboard.Task, agent string) int {
	if t.Prefer == agent { // a person, or the landing of its work, named it
		return -1
	}
	began := (t.Status == blackboard.Rejected || t.Status == blackboard.Claimed) && t.AssignedTo == agent ||
		t.HandoffPending && t.LastClaimant() == agent
	if began {
		return 0
	}
	return 1
}

// claimableSince is when the task became claimable: its last history entry, or the merge
// of its last dependency.
func claimableSince(s *blackboard.State, t *blackboard.Task, in Input) time.Time {
	since, _ := t.Created.At()
	later := func(h *blackboard.HistoryEntry) {
		if at, ok := h.Time.At(); ok && at.After(since) {
			since = at
		}
	}
	if h := t.Last(); h != nil {
		later(h)
	}
	for _, d := range t.DependsOn {
		dep := in.index.find(d)
		if dep == nil {
			continue
		}
		if h := dep.Last(); h != nil && h.Event == blackboard.HistoryMerged {
			later(h)
		}
	}
	return since
}

func effectivePriority(s *blackboard.State, t *blackboard.Task, in Input, now time.Time) int {
	return aged(s, t, now, func() time.Time { return claimableSince(s, t, in) })
}

// aged returns the priority of a task that has waited since some time.
func aged(s *blackboard.State, t *blackboard.Task, now time.Time, since func() time.Time) int {
	p := t.PriorityOf()
	step := s.Duration("aging_step")
	if p <= 1 || step <= 0 {
		return p
	}
	return max(1, p-int(now.Sub(since())/step))
}

// filesInWork are the files that the claimed tasks of other agents name.
func filesInWork(s *blackboard.State, agent string) blackboard.List {
	var files blackboard.List
	for t := range s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo != agent {
			files = append(files, fileHints(t)...)
		}
	}
	return files
}

// overlaps reports whether the task names files that are in work.
func overlaps(t *blackboard.Task, busy blackboard.List) bool {
	if len(busy) == 0 || t.Status == blackboard.Claimed {
		return false
	}
	return slices.ContainsFunc(fileHints(t), func(a string) bool {
		return slices.ContainsFunc(busy, func(b string) bool { return globsMeet(a, b) })
	})
}

// overlapWait is how long a task waits for others with the same files. What waits is not begun, and what is waited for is, so two never
// wait for each other.
const overlapWait = time.Hour

// waitsForOverlap returns the task that t is left unclaimed for with the setting overlap: wait, because both have the same files, or nil.
func waitsForOverlap(s *blackboard.State, t *blackboard.Task, in Input, now time.Time) *blackboard.Task {
	if s.Text("overlap") != "wait" || t.Status != blackboard.Unclaimed || now.Sub(claimableSince(s, t, in)) >= overlapWait {
		return nil
	}
	begun := blackboard.List{string(blackboard.Claimed), string(blackboard.ReadyForReview), string(blackboard.Rejected), string(blackboard.Approved), string(blackboard.IntegrationFailed)}
	for o := range s.Tasks() {
		reserved := false
		if c := o.Claiming; c != nil {
			until, _ := c.Expires.At()
			reserved = now.Before(until)
		}
		if !sameWork(o, t) && o.Hold == nil && (reserved || begun.Has(string(o.Status))) && overlaps(t, fileHints(o)) {
			return o
		}
	}
	return nil
}

// sameWork reports whether two tasks are one, or attempts at the same work.
func sameWork(a, b *blackboard.Task) bool {
	return a.ID == b.ID || a.AttemptOf != "" && a.AttemptOf == b.AttemptOf
}

// An Overlap names the files that a task in work and earlier work, which is not merged, both change.
type Overlap struct {
	Other *blackboard.Task
	Files blackboard.List
}

func (o Overlap) String() string {
	return fmt.Sprintf("changes the same as %s (%s): %s", o.Other.ID, o.Other.Status, prose.Few(o.Files, 5))
}

// Overlaps returns the files that t, which a coder has, and earlier work both change: work that another coder claimed before, and work that
// was handed in and is not merged.
func Overlaps(s *blackboard.State, t *blackboard.Task) (list []Overlap) {
	if t.Status != blackboard.Claimed || len(t.Changes) == 0 {
		return nil
	}
	for _, o := range Beside(s, t) {
		if o.Status == blackboard.Claimed && !claimedBefore(o, t) {
			continue
		}
		var both blackboard.List
		for _, f := range o.Changes {
			if t.Changes.Has(f) {
				both = append(both, f)
			}
		}
		if len(both) > 0 {
			list = append(list, Overlap{o, both})
		}
	}
	return list
}

// Beside returns the other tasks that change files, are in work or handed in, and are not merged; none with the setting overlap: off.
func Beside(s *blackboard.State, t *blackboard.Task) (list []*blackboard.Task) {
	if s.Text("overlap") == "off" {
		return nil
	}
	for o := range s.Tasks() {
		if (o.Status == blackboard.Claimed || o.Status == blackboard.ReadyForReview || o.Status == blackboard.Approved) && !sameWork(o, t) && o.ChangesFiles() {
			list = append(list, o)
		}
	}
	return list
}

// claimedBefore reports whether a was claimed before b. Of two claims in one second the one with the smaller id is earlier.
func claimedBefore(a, b *blackboard.Task) bool {
	claimed := func(t *blackboard.Task) time.Time {
		for h := range t.Backwards() {
			if blackboard.IsClaimEvent(h.Event) {
				at, _ := h.Time.At()
				return at
			}
		}
		return time.Time{}
	}
	return cmp.Or(claimed(a).Compare(claimed(b)), cmp.Compare(a.ID, b.ID)) < 0
}

// NoteChanges stores which files tasks in work change, and reports whether the board says otherwise.
func NoteChanges(s *blackboard.State, changes map[string]blackboard.List) (changed bool) {
	const most = 100
	for id, files := range changes {
		files = files[:min(most, len(files))]
		if t := s.Task(id); t != nil && !t.Status.Terminal() && !slices.Equal(t.Changes, files) {
			t.Changes, changed = files, true
		}
	}
	return changed
}

// fileHints returns the task's files and those that it has changed, else the files that its intents name.
func fileHints(t *blackboard.Task) blackboard.List {
	if files := slices.Concat(t.Files, t.Changes); len(files) > 0 {
		return files
	}
	var files blackboard.List
	for _, h := range t.History {
		if h.Checkpoint != nil {
			files = append(files, h.Checkpoint.FilesToModify...)
		}
	}
	return files
}

// globsMeet is a cautious test: two globs meet when the fixed part of one, up to its
// first wildcard, is a prefix of the other's. Two plain paths meet when they are equal or
// one is a folder that the other lies in.
func globsMeet(a, b string) bool {
	x, y := fixedPart(a), fixedPart(b)
	if x == a && y == b {
		x, y = strings.TrimSuffix(x, "/")+"/", strings.TrimSuffix(y, "/")+"/"
	}
	return strings.HasPrefix(x, y) || strings.HasPrefix(y, x)
}

func fixedPart(glob string) string {
	if i := strings.IndexAny(glob, "*?["); i >= 0 {
		return glob[:i]
	}
	return glob
}

// waitReason says why nothing is claimable (specs/protocol.md#7.1, last paragraph). refusals are
// the reasons of the tasks that were tried.
func waitReason(s *blackboard.State, in Input, refusals []string) string {
	if why := closedReason(s, in); why != "" {
		return why
	}
	var waits []string
	n := map[blackboard.Status]int{}
	total, held, open := 0, 0, 0
	for t := range s.Tasks() {
		n[t.Status]++
		total++
		if !t.Status.Terminal() {
			open++
			if t.Hold != nil {
				held++
			}
		}
		if t.Status == blackboard.Unclaimed && t.Hold == nil {
			if w := waitsFor(s, t, in); len(w) > 0 && len(waits) < 3 {
				waits = append(waits, t.ID+" waits for "+strings.Join(w, ", "))
			}
		}
	}
	switch {
	case total == 0:
		return "no task exists yet; the planner has to plan"
	case open == 0:
		return "every task is terminal"
	case held == open:
		return fmt.Sprintf("every open task is on hold (%d)", held)
	case len(waits) > 0:
		return strings.Join(waits, "; ")
	case n[blackboard.Draft] == open:
		return fmt.Sprintf("drafts are not finalized (%d)", n[blackboard.Draft])
	case len(refusals) > 0:
		return strings.Join(refusals[:min(shownReasons, len(refusals))], "; ")
	}
	return "nothing is claimable: " + countLine(s)
}

// closedReason says why nothing new may start at all, or "".
func closedReason(s *blackboard.State, in Input) string {
	switch why := control(s, in); {
	case why != "":
		return why
	case sprintStatus(s) != blackboard.InProgress:
		return "the sprint is " + sprintStatus(s)
	case in.FreeMB > 0 && in.FreeMB < in.MinFreeMB:
		return fmt.Sprintf("the disk is nearly full: %d MB free, %d needed", in.FreeMB, in.MinFreeMB)
	}
	return ""
}

// NextReview returns the task whose review a reviewer should claim, or nil and why the reviewer waits.
func NextReview(s *blackboard.State, a Actor, in Input, now time.Time) (task *blackboard.Task, why string) {
	if in.ReviewMode == blackboard.ReviewDisabled {
		return nil, "review.mode is disabled; people decide with liza approve"
	}
	in = indexed(s, in)
	var list []Candidate
	var refusals []string
	for i, t := range s.EachTask() {
		if t.Status != blackboard.ReadyForReview {
			continue
		}
		if err := wouldRefuse(s, evClaimReview, SReviewer|ByReviewer, t, a, in, now, "G52"); err != nil {
			refusals = append(refusals, err.Error())
			continue
		}
		c := Candidate{Task: t, Class: 1, Priority: effectivePriority(s, t, in, now), index: i}
		c.Since, _ = t.TimeOfLast(blackboard.HistoryReadyForReview, blackboard.HistorySubmittedForReview).At()
		if lastReviewer(t) == a.ID {
			c.Class = 0
		}
		list = append(list, c)
	}
	switch why := closedReason(s, Input{Control: in.Control, Shared: in.Shared}); {
	case len(list) > 0:
		return slices.MinFunc(list, Candidate.compareReview).Task, ""
	case why != "":
		return nil, why
	case len(refusals) > 0:
		return nil, strings.Join(refusals[:min(shownReasons, len(refusals))], "; ")
	}
	return nil, "nothing is ready for review"
}

// compareReview is the order of reviews of specs/protocol.md#7.1.
func (c Candidate) compareReview(d Candidate) int {
	return cmp.Or(cmp.Compare(c.Class, d.Class), cmp.Compare(c.Priority, d.Priority), c.Since.Compare(d.Since), cmp.Compare(c.index, d.index))
}

// ApprovedTasks returns the tasks that can be merged, the oldest approval first (specs/decisions.md#D25), with the time of
// the approval. A person's release (T19) does not change that time.
func ApprovedTasks(s *blackboard.State) []Candidate {
	var list []Candidate
	for i, t := range s.EachTask() {
		if t.Status != blackboard.Approved {
			continue
		}
		c := Candidate{Task: t, index: i}
		for h := range t.Backwards() {
			if h.Event == blackboard.HistoryApproved && (!h.Merge || h.Commit != "") {
				c.Since, _ = h.Time.At()
				break
			}
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return a.Since.Compare(b.Since) })
	return list
}

// MergePriority returns the priority of an approved task in a train of merges; it rises with the wait, as for claims.
func MergePriority(s *blackboard.State, c Candidate, now time.Time) int {
	return aged(s, c.Task, now, func() time.Time { return c.Since })
}

// lastReviewer returns who claimed the review of the present submission, or "".
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

// preferTime is how long a new task waits for its coder to register: a team that begins again registers one after the other.
const preferTime = 30 * time.Second
