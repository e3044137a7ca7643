package transition

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// EnterPlan records a plan whose tasks are on the board: it becomes the plan in force,
// and the goal's alignment history says so with that event (specs/roles-and-knowledge.md#3.5).
func EnterPlan(s *blackboard.State, p *blackboard.Plan, event, summary string, a Actor, now time.Time) {
	s.Plans = append(s.Plans, p)
	if s.Goal != nil {
		s.Goal.PlanID = p.ID
	}
	align(s, event, oneLine(p.Goal), now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionPlanApplied, Detail: oneLine(summary), Extra: via(a)})
}

// UnseenNotes are the notes for nobody in particular that no planner run has seen.
func UnseenNotes(s *blackboard.State) []*blackboard.Note {
	var list []*blackboard.Note
	for _, n := range s.HumanNotes {
		if unseen(n) {
			list = append(list, n)
		}
	}
	return list
}

// RequestCaller is the person whose request the planner has to answer: who wrote the newest
// note that no planner has seen, else the caller of the plan in force, nil for nobody known.
func RequestCaller(s *blackboard.State) *blackboard.Caller {
	notes := UnseenNotes(s)
	for i := len(notes) - 1; i >= 0; i-- {
		if n := notes[i]; n.By != "" {
			return &blackboard.Caller{Name: n.By, Role: n.CallerRole}
		}
	}
	if s.Goal != nil {
		if p := Plan(s, s.Goal.PlanID); p != nil && p.Caller != nil {
			own := *p.Caller
			return &own
		}
	}
	return nil
}

// CallerOf is the person behind a task, by its plan; nil for nobody known.
func CallerOf(s *blackboard.State, t *blackboard.Task) *blackboard.Caller {
	if p := Plan(s, t.Plan); p != nil {
		return p.Caller
	}
	return nil
}

// Replans counts the replans in the chain of a plan.
func Replans(s *blackboard.State, p *blackboard.Plan) int {
	n := 0
	for _, x := range Chain(s, p) {
		if x.Parent != "" {
			n++
		}
	}
	return n
}

// Chain are the plans that go back to the same first one, oldest first.
func Chain(s *blackboard.State, p *blackboard.Plan) []*blackboard.Plan {
	var list []*blackboard.Plan
	root := cmp.Or(p.Root, p.ID)
	for _, x := range s.Plans {
		if cmp.Or(x.Root, x.ID) == root {
			list = append(list, x)
		}
	}
	return list
}

// StopReplanning ends a chain of plans (specs/roles-and-knowledge.md#5.9): the plan has failed, an
// anomaly says why, and the planner is not launched for the task's replan again, until
// something about it changes, a person writes a note, or the sprint is resumed.
func StopReplanning(s *blackboard.State, p *blackboard.Plan, why string, due Trigger, now time.Time) {
	if p != nil {
		p.Status = "failed"
		if p.Failure == nil {
			p.Failure = &blackboard.PlanFailure{Reason: why}
		}
	}
	task := ""
	if len(due.IDs) > 0 {
		task = due.IDs[0]
	}
	addAnomaly(s, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(now), Task: task, Reporter: blackboard.System, Type: blackboard.AnomalyReplanLoop, Details: blackboard.Settings{"what": oneLine(why)}})
	if s.Planner == nil {
		s.Planner = &blackboard.Planner{}
	}
	if s.Planner.Triggers == nil {
		s.Planner.Triggers = map[string]*blackboard.TriggerRecord{}
	}
	r := s.Planner.Triggers[string(due.Kind)]
	if r == nil || r.Fingerprint != due.Fingerprint {
		r = &blackboard.TriggerRecord{Fingerprint: due.Fingerprint}
		s.Planner.Triggers[string(due.Kind)] = r
	}
	r.Suppressed, r.Last, r.Next, r.Outcome = true, blackboard.TimeOf(now), "", "no_op"
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionPlannerSuppressed, Task: task, Detail: oneLine(string(due.Kind) + ": " + why)})
}

// maxItemOutput is how much of an item's output is on the board.
const maxItemOutput = 2000

// ItemDone stores what an item of a rejection gave. The actor holds the claim.
func ItemDone(s *blackboard.State, id string, a Actor, item, code int, output string, now time.Time) error {
	if _, err := own(s, a, now, nil); err != nil {
		return err
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.Claimed || t.AssignedTo != a.ID {
		return refuse("G31", ExitLeaseLost, "liza show "+id, "the claim of %s on %s ended", a.ID, id)
	}
	if len(output) > maxItemOutput {
		output = strings.ToValidUTF8(output[len(output)-maxItemOutput:], "")
	}
	for _, f := range t.Fixes {
		if f.N == item {
			f.Done, f.ExitCode, f.Output = true, code, output
		}
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionItemDone, Task: id, Detail: fmt.Sprintf("item %d, exit code %d", item, code), Extra: via(a)})
	return nil
}
