package transition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// MayKnow refuses an actor who may not use verb on facts: people may, and with planner set planners too
// (specs/roles-and-knowledge.md#6.1).
func MayKnow(s *blackboard.State, a Actor, verb string, planner bool, now time.Time) error {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return err
	case by.party&ByHuman != 0, planner && by.party&(ByPlanner|SPlanner) != 0:
		admit(s, a, by, now)
		return nil
	case planner:
		return refuse("G03", ExitRefused, "liza facts", "%s may not %s; planner or human may", article(a, by.party), verb)
	}
	return refuse("G03", ExitRefused, "liza facts", "%s may not %s; human may", article(a, by.party), verb)
}

// Learn adds a fact that was checked before. Its number is above all on the board and above archived, the highest one in the
// archive.
func Learn(s *blackboard.State, f blackboard.Fact, archived int, a Actor, now time.Time) *blackboard.Fact {
	for _, x := range s.Facts {
		archived = max(archived, x.Number())
	}
	f.ID, f.Created, f.By = "fact-"+strconv.Itoa(archived+1), blackboard.TimeOf(now), a.name()
	s.Facts = append(s.Facts, &f)
	s.Record(blackboard.Entry{Timestamp: f.Created, Agent: a.ID, Action: blackboard.ActionFactLearned, Task: f.Task, Detail: oneLine(f.ID + " (" + f.Status + "): " + f.Content), Extra: via(a)})
	return &f
}

// UseFacts counts the facts ids as used in one prompt, at now.
func UseFacts(s *blackboard.State, ids []string, now time.Time) {
	for _, f := range s.Facts {
		if slices.Contains(ids, f.ID) {
			f.LastUsed = blackboard.TimeOf(now)
			f.Uses++
		}
	}
}

// ApproveFacts makes the facts active that waited for a person's approval. Active ones stay so.
func ApproveFacts(s *blackboard.State, ids []string, a Actor, now time.Time) error {
	list, err := factsOf(s, ids)
	if err != nil {
		return err
	}
	var approved []string
	for _, f := range list {
		if !f.Active() {
			f.Status = blackboard.FactActive
			approved = append(approved, f.ID)
		}
	}
	if len(approved) == 0 {
		return ErrAlreadyDone
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactApproved, Detail: oneLine(strings.Join(approved, ", ")), Extra: via(a)})
	return nil
}

// RemoveFacts removes facts from the board, all or none, and returns them for the archive.
func RemoveFacts(s *blackboard.State, ids []string, why string, a Actor, now time.Time) ([]*blackboard.Fact, error) {
	list, err := factsOf(s, ids)
	if err != nil {
		return nil, err
	}
	s.Facts = slices.DeleteFunc(s.Facts, func(f *blackboard.Fact) bool { return slices.Contains(list, f) })
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactArchived, Detail: oneLine(strings.Join(ids, ", ") + ": " + why), Extra: via(a)})
	return list, nil
}

func factsOf(s *blackboard.State, ids []string) ([]*blackboard.Fact, error) {
	var list []*blackboard.Fact
	for _, id := range ids {
		var known []string
		var found *blackboard.Fact
		for _, f := range s.Facts {
			known = append(known, f.ID)
			if f.ID == id {
				found = f
			}
		}
		if found == nil {
			return nil, refuse("G05", ExitRefused, "liza facts --all", "no fact '%s'%s", id, didYouMean(id, known))
		}
		if !slices.Contains(list, found) {
			list = append(list, found)
		}
	}
	return list, nil
}

// FactResult is a fact that a summarizer made from several.
type FactResult struct {
	Content string   `json:"content"`
	From    []string `json:"from"`
}

// Consolidate replaces the active facts by the results. The caller has checked that results and deleted name each active fact
// exactly once. It returns copies of the facts that it removed or reworded (specs/roles-and-knowledge.md#6.3).
func Consolidate(s *blackboard.State, results []FactResult, a Actor, now time.Time) (gone []*blackboard.Fact) {
	old := map[string]*blackboard.Fact{}
	for _, f := range s.ActiveFacts() {
		old[f.ID] = f
	}
	kept := map[string]*blackboard.Fact{}
	for _, r := range results {
		f := merged(r, old)
		kept[f.ID] = f
	}
	var list []*blackboard.Fact
	for _, f := range s.Facts {
		switch now := kept[f.ID]; {
		case !f.Active():
			list = append(list, f)
		case now == nil:
			gone = append(gone, f)
		default:
			if now.Content != f.Content {
				gone = append(gone, f)
			}
			list = append(list, now)
		}
	}
	before := len(old)
	s.Facts = list
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactsConsolidated, Detail: strconv.Itoa(before) + " facts became " + strconv.Itoa(len(results))})
	return gone
}

// merged is the fact that a result makes of its sources: the lowest id, the oldest time,
// all uses.
func merged(r FactResult, old map[string]*blackboard.Fact) *blackboard.Fact {
	first := old[r.From[0]]
	for _, id := range r.From {
		if old[id].Number() < first.Number() {
			first = old[id]
		}
	}
	f := *first
	f.Content, f.From, f.Uses = strings.TrimSpace(r.Content), nil, 0
	same := false
	for _, id := range r.From {
		x := old[id]
		same = same || x.Content == f.Content
		f.Uses += x.Uses
		f.Created, f.LastUsed = earlier(f.Created, x.Created), later(f.LastUsed, x.LastUsed)
		if id != f.ID {
			f.From = append(f.From, id)
		}
	}
	if !same {
		f.Source = "summarizer"
	}
	return &f
}

func earlier(a, b blackboard.Time) blackboard.Time {
	x, okA := a.At()
	y, okB := b.At()
	if !okA || okB && y.Before(x) {
		return b
	}
	return a
}

func later(a, b blackboard.Time) blackboard.Time {
	x, okA := a.At()
	y, okB := b.At()
	if !okA || okB && y.After(x) {
		return b
	}
	return a
}

// Evict removes the least recently used active facts until keep remain, and returns them (specs/roles-and-knowledge.md#6.3).
func Evict(s *blackboard.State, keep int, a Actor, now time.Time) []*blackboard.Fact {
	list := s.ActiveFacts()
	if len(list) <= keep {
		return nil
	}
	slices.SortStableFunc(list, func(x, y *blackboard.Fact) int {
		if c := usedAt(x).Compare(usedAt(y)); c != 0 {
			return c
		}
		return x.Number() - y.Number()
	})
	gone := list[:len(list)-keep]
	s.Facts = slices.DeleteFunc(s.Facts, func(f *blackboard.Fact) bool { return slices.Contains(gone, f) })
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactArchived, Detail: strconv.Itoa(len(gone)) + " facts that were used least recently"})
	return gone
}

// usedAt is when the fact was last used; one that never was counts from its creation.
func usedAt(f *blackboard.Fact) time.Time {
	if at, ok := f.LastUsed.At(); ok {
		return at
	}
	at, _ := f.Created.At()
	return at
}

// Discover records a finding outside of the task at hand (specs/protocol.md#13.10). It changes no task; an immediate one
// wakes the planner.
func Discover(s *blackboard.State, d *blackboard.Discovery, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	switch {
	case by.party&(ByCoder|ByReviewer|ByHuman|SCoder|SReviewer) == 0:
		return refuse("G03", ExitRefused, "liza add TEXT", "%s may not discover; coder, code_reviewer or human may", article(a, by.party))
	case blank(d.Description):
		return refuse("G09", ExitUsage, "liza help discover", "the text is empty")
	case blank(d.During):
		return refuse("G09", ExitUsage, "liza help discover", "--task is empty")
	case s.Find(d.During) == nil:
		return unknownTask(s, d.During)
	case d.Severity != "" && !slices.Contains(blackboard.Severities, d.Severity):
		return refuse("G09", ExitUsage, "liza help discover", "--severity '%s' must be %s", d.Severity, blackboard.OrList(blackboard.Severities))
	case d.Urgency != "" && !slices.Contains(blackboard.Urgencies, d.Urgency):
		return refuse("G09", ExitUsage, "liza help discover", "--urgency '%s' must be %s", d.Urgency, blackboard.OrList(blackboard.Urgencies))
	}
	if err := roomForNote(s, d.During, "discover", by); err != nil {
		return err
	}
	admit(s, a, by, now)
	d.ID = nextID("disc-", s.Discovered, func(d *blackboard.Discovery) string { return d.ID })
	d.By, d.Created = a.ID, blackboard.TimeOf(now)
	if d.Severity == "" {
		d.Severity = "low"
	}
	if d.Urgency == "" {
		d.Urgency = "deferred"
	}
	d.ConvertedToTask, d.Deferred = "", nil
	s.Discovered = append(s.Discovered, d)
	s.Record(blackboard.Entry{Timestamp: d.Created, Agent: a.ID, Action: blackboard.ActionDiscovered, Task: d.During, Detail: oneLine(d.ID + " (" + d.Severity + ", " + d.Urgency + "): " + d.Description), Extra: via(a)})
	return nil
}

// ConvertDiscovery links a discovery to the task, existing or new, that handles it.
func ConvertDiscovery(s *blackboard.State, id, task string, a Actor, now time.Time) error {
	d, by, err := openDiscovery(s, id, "convert", a, now)
	switch {
	case err != nil:
		return err
	case d.ConvertedToTask == task && task != "":
		return ErrAlreadyDone
	case d.ConvertedToTask != "":
		return refuse("G06", ExitRefused, "liza show "+id, "%s was converted to %s", id, d.ConvertedToTask)
	case blank(task):
		return refuse("G09", ExitUsage, "liza help convert", "--task is empty")
	case s.Find(task) == nil:
		return unknownTask(s, task)
	}
	admit(s, a, by, now)
	d.ConvertedToTask = task
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionDiscoveryConverted, Task: task, Detail: oneLine(id + " to " + task + ": " + d.Description), Extra: via(a)})
	return nil
}

// DeferDiscovery defers a discovery, with a reason. It stays in every planner's prompt.
func DeferDiscovery(s *blackboard.State, id, reason string, a Actor, now time.Time) error {
	d, by, err := openDiscovery(s, id, "defer", a, now)
	switch {
	case err != nil:
		return err
	case d.ConvertedToTask != "":
		return refuse("G06", ExitRefused, "liza show "+id, "%s was converted to %s", id, d.ConvertedToTask)
	case blank(reason):
		return refuse("G09", ExitUsage, "liza help defer", "--reason is empty")
	case d.Deferred != nil && d.Deferred.Reason == strings.TrimSpace(reason):
		return ErrAlreadyDone
	}
	admit(s, a, by, now)
	d.Deferred = &blackboard.Deferred{By: a.name(), At: blackboard.TimeOf(now), Reason: strings.TrimSpace(reason)}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionDiscoveryDeferred, Task: d.During, Detail: oneLine(id + ": " + reason), Extra: via(a)})
	return nil
}

func openDiscovery(s *blackboard.State, id, verb string, a Actor, now time.Time) (*blackboard.Discovery, caller, error) {
	by, err := identify(s, a, now)
	if err != nil {
		return nil, by, err
	}
	if by.party&(ByPlanner|SPlanner|ByHuman) == 0 {
		return nil, by, refuse("G03", ExitRefused, "liza status", "%s may not %s; planner or human may", article(a, by.party), verb)
	}
	var ids []string
	for _, d := range s.Discovered {
		if d.ID == id {
			return d, by, nil
		}
		ids = append(ids, d.ID)
	}
	return nil, by, refuse("G05", ExitRefused, "liza status", "no discovery '%s'%s", id, didYouMean(id, ids))
}

// ChangeSpec records that a person changed a spec (specs/protocol.md#13.10), and wakes the planner. Every task with a
// spec_ref in that file gets the change in its next prompt; affected are the open ones of them.
func ChangeSpec(s *blackboard.State, c *blackboard.SpecChange, task string, a Actor, now time.Time) (affected []string, err error) {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return nil, err
	case by.party&ByHuman == 0:
		return nil, refuse("G03", ExitRefused, "liza anomaly --type spec_changed", "%s may not record a spec change; human may", article(a, by.party))
	case blank(c.Spec):
		return nil, refuse("G09", ExitUsage, "liza help spec-change", "--spec is empty")
	case blank(c.Change):
		return nil, refuse("G09", ExitUsage, "liza help spec-change", "--change is empty")
	case task != "" && s.Find(task) == nil:
		return nil, unknownTask(s, task)
	}
	for _, old := range s.SpecChanges {
		if old.Spec == c.Spec && old.Change == c.Change && old.Hash == c.Hash {
			return nil, ErrAlreadyDone
		}
	}
	c.Timestamp = afterLaunches(s, now)
	if c.TriggeredBy == "" {
		c.TriggeredBy = a.name()
	}
	s.SpecChanges = append(s.SpecChanges, c)
	align(s, "spec_change", oneLine(c.Spec+": "+c.Change), now)
	changed, _, _ := strings.Cut(c.Spec, "#")
	for t := range s.Tasks() {
		if file, _, _ := strings.Cut(t.SpecRef, "#"); file == changed && !t.Status.Terminal() {
			affected = append(affected, t.ID)
		}
	}
	for id, e := range s.Agents {
		if e.Child != nil && slices.Contains(affected, e.Child.Task) {
			TellRun(s, id, "spec", "the spec "+c.Spec+" has changed: "+oneLine(c.Change)+". Read it again", now)
		}
	}
	s.Record(blackboard.Entry{Timestamp: c.Timestamp, Agent: a.ID, Action: blackboard.ActionSpecUpdated, Task: task, Detail: oneLine(c.Spec + ": " + c.Change), Extra: via(a)})
	return affected, nil
}

// afterLaunches returns now, or the second after the planner's latest recorded launch: that launch does not know the present
// change (13.1, SPEC_CHANGED).
func afterLaunches(s *blackboard.State, now time.Time) blackboard.Time {
	if s.Planner != nil {
		for _, r := range s.Planner.Triggers {
			if last, ok := r.Last.At(); ok && !last.Before(now.Truncate(time.Second)) {
				now = last.Add(time.Second)
			}
		}
	}
	return blackboard.TimeOf(now)
}

// commented are findings and the open comments on a task.
func commented(s *blackboard.State, t *blackboard.Task, findings []*blackboard.Finding) []*blackboard.Finding {
	list := slices.Clone(findings)
	for _, n := range s.OpenComments(t) {
		list = append(list, n.Finding())
	}
	return list
}

// mayComment refuses a comment on work that is decided about.
func mayComment(t *blackboard.Task) error {
	switch a := t.MergeApproval; {
	case t.Status.Terminal():
		return refuse("G06", ExitRefused, "liza tell planner TEXT", "task %s is %s: its work has ended", t.ID, t.Status)
	case t.Status == blackboard.Approved && a != nil && a.Decision == blackboard.GateApproved:
		return refuse("G06", ExitRefused, "liza tell planner TEXT", "the merge of %s was approved by %s", t.ID, a.By)
	case t.MergeIntent != nil:
		return refuse("G06", ExitRefused, "liza tell planner TEXT", "%s is being merged", t.ID)
	}
	return nil
}

// seeComments is the reason of a verdict that a person gave in comments alone.
const seeComments = "see the comments"

// TakeNotes marks the new notes of an agent as seen by it, and returns copies of them.
func TakeNotes(s *blackboard.State, agent string, now time.Time) []*blackboard.Note {
	var taken []*blackboard.Note
	for _, n := range s.NewNotes(agent) {
		n.SeenBy = append(n.SeenBy, agent)
		if n.Queued() {
			deliver(s, n, agent, blackboard.ByCommand, s.Agents[agent].Child.RunID, now)
		}
		copied := *n
		taken = append(taken, &copied)
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: agent, Action: blackboard.ActionNoteSeen, Task: n.For, Detail: n.ID})
	}
	return taken
}

// mostNotes is how many discoveries and anomalies agents may record for one task.
const mostNotes = 200
