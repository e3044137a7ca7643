package transition

import (
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// Discover records something that was found on the way and is not part of the task
// (specs/protocol.md#13.10). It changes no task; an immediate one wakes the planner.
func Discover(s *blackboard.State, d *blackboard.Discovery, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	switch {
	case by.party&(ByCoder|ByReviewer|ByHuman|SCoder|SReviewer) == 0:
		return refuse("G03", ExitRefused, "liza add-task", "%s may not discover; coder, code_reviewer or human may", article(a, by.party))
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
	if err := roomForNote(s, d.During, "discover", by, len(d.Description)+len(d.Recommendation)); err != nil {
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

// ConvertDiscovery says which task, an existing or a new one, came of a discovery.
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

// DeferDiscovery puts a discovery off, with a reason. It stays in every planner's prompt.
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
	hint := ""
	if near := blackboard.Nearest(id, ids); near != "" {
		hint = "; did you mean '" + near + "'?"
	}
	return nil, by, refuse("G05", ExitRefused, "liza status", "no discovery '%s'%s", id, hint)
}

// ChangeSpec records that a person changed a spec (specs/protocol.md#13.10). Every task whose
// spec_ref is in that file has it in its next prompt, and the planner is woken; affected
// are those that are not terminal.
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
	s.Record(blackboard.Entry{Timestamp: c.Timestamp, Agent: a.ID, Action: blackboard.ActionSpecUpdated, Task: task, Detail: oneLine(c.Spec + ": " + c.Change), Extra: via(a)})
	return affected, nil
}

// afterLaunches is now, or the second after the latest launch of the planner that is
// recorded: that launch did not know of what is entered now (13.1, SPEC_CHANGED).
func afterLaunches(s *blackboard.State, now time.Time) blackboard.Time {
	if s.Planner != nil {
		for _, r := range s.Planner.Triggers {
			if r == nil {
				continue
			}
			if last, ok := r.Last.At(); ok && !last.Before(now.Truncate(time.Second)) {
				now = last.Add(time.Second)
			}
		}
	}
	return blackboard.TimeOf(now)
}
