package transition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// BeginPlanning records the launch of a planner run before it is spawned (A05), so that
// a crash counts as a launch. Only one planner plans at a time.
func BeginPlanning(s *blackboard.State, a Actor, due []Trigger, now time.Time) error {
	e, err := own(s, a, now, func(e *blackboard.Agent) error {
		if role, _, _ := blackboard.ParseAgentID(a.ID); role != blackboard.RolePlanner {
			return refuse("G03", ExitRefused, "liza status", "%s may not plan; planner may", a.ID)
		}
		if len(due) == 0 {
			return refuse("", ExitNothing, "liza tell planner TEXT", "no reason to plan")
		}
		if other := planning(s, a.ID, a.Facts, now); other != "" {
			return refuse("G21", ExitRefused, "liza status", "%s is planning", other)
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.Status, e.CurrentTask, e.WaitingFor, e.LeaseExpires = blackboard.AgentPlanning, "", "", lease(s, now)
	if s.Planner == nil {
		s.Planner = &blackboard.Planner{}
	}
	if s.Planner.Triggers == nil {
		s.Planner.Triggers = map[string]*blackboard.TriggerRecord{}
	}
	var kinds []string
	for _, t := range due {
		r := s.Planner.Triggers[string(t.Kind)]
		if r == nil || r.Fingerprint != t.Fingerprint {
			r = &blackboard.TriggerRecord{Fingerprint: t.Fingerprint}
			s.Planner.Triggers[string(t.Kind)] = r
		}
		r.Launches++
		r.Last, r.Outcome = blackboard.TimeOf(now), ""
		r.Next = blackboard.TimeOf(now.Add(backoff(r.Launches)))
		kinds = append(kinds, string(t.Kind))
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionPlannerLaunched, Detail: strings.Join(kinds, ", "), Extra: via(a)})
	return nil
}

// backoff is the wait before the same fingerprint launches the planner again (13.1).
func backoff(launches int) time.Duration {
	if launches <= 1 {
		return 60 * time.Second
	}
	return 300 * time.Second
}

// EndPlanning records the result of a planner run. suppress stops its triggers until they change (STUCK, or answers that stay
// unusable); so does the last launch without change.
func EndPlanning(s *blackboard.State, a Actor, launched []Trigger, changed, suppress bool, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	e.Status, e.Child = blackboard.AgentIdle, nil
	result := "no_op"
	if changed {
		result = "changed"
	}
	if s.Planner == nil {
		s.Planner = &blackboard.Planner{}
	}
	markSeen(s, launched, a.ID)
	run := &blackboard.PlannerRun{Agent: a.ID, At: blackboard.TimeOf(now), Result: result}
	for _, t := range launched {
		run.Triggers = append(run.Triggers, string(t.Kind))
		r := record(s.Planner, t.Kind)
		if r == nil || r.Fingerprint != t.Fingerprint {
			continue
		}
		r.Outcome = result
		if !r.Last.None() {
			run.At = r.Last // what happened during the run is newer than the run
		}
		spent := r.Launches >= s.Int("planner_retries") && stillTrue(s, t, now)
		if (suppress || spent) && !r.Suppressed {
			r.Suppressed = true
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionPlannerSuppressed, Detail: string(t.Kind)})
		}
	}
	s.Planner.LastRun = run
	return nil
}

// leftToPerson is the outcome of a trigger whose tasks the planner has looked at and left to the person who is asked.
const leftToPerson = "left"

// LeaveToPeople records that a planner left tasks BLOCKED whose questions to a person are open, or reviews on hold. They do not wake
// it again until they change, another task is blocked, or a person writes a note.
func LeaveToPeople(s *blackboard.State, launched []Trigger, now time.Time) {
	for _, t := range launched {
		r := record(s.Planner, t.Kind)
		if t.Kind != TriggerBlockedTasks && t.Kind != TriggerReviewStuck || r == nil || r.Fingerprint != t.Fingerprint || !stillTrue(s, t, now) {
			continue
		}
		if t.Kind == TriggerReviewStuck || !slices.ContainsFunc(t.IDs, func(id string) bool { return !hasOpenQuestion(s, id) }) {
			r.Outcome = leftToPerson
		}
	}
}

func hasOpenQuestion(s *blackboard.State, task string) bool {
	return slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool { return q.Task == task && q.Status == blackboard.QuestionOpen })
}

// CancelPlanning undoes a launch whose program could do nothing, because its quota was used up or a limit stopped it. The
// launch does not count, and the next one gets its triggers.
func CancelPlanning(s *blackboard.State, a Actor, launched []Trigger, now time.Time) error {
	e, err := own(s, a, now, nil)
	if err != nil {
		return err
	}
	e.Status, e.Child = blackboard.AgentIdle, nil
	for _, t := range launched {
		if r := record(s.Planner, t.Kind); r != nil && r.Fingerprint == t.Fingerprint && r.Launches > 0 {
			r.Launches--
			r.Next = ""
		}
	}
	return nil
}

// stillTrue reports whether a trigger that the planner was launched for is true unchanged.
func stillTrue(s *blackboard.State, t Trigger, now time.Time) bool {
	if t.Kind == TriggerInitialPlanning { // its fingerprint needs the spec file
		return noTaskYet(s)
	}
	return slices.ContainsFunc(Triggers(s, TriggerFacts{}, now), func(x Trigger) bool {
		return x.Kind == t.Kind && x.Fingerprint == t.Fingerprint
	})
}

// ReasonGone reports whether all triggers of a planner at work are over or have changed, for example because a person has
// answered.
func ReasonGone(s *blackboard.State, now time.Time) bool {
	launched := false
	if s.Planner == nil {
		return false
	}
	for kind, r := range s.Planner.Triggers {
		if r.Outcome != "" {
			continue
		}
		if launched = true; stillTrue(s, Trigger{Kind: TriggerKind(kind), Fingerprint: r.Fingerprint}, now) {
			return false
		}
	}
	return launched
}

// markSeen marks the notes and answers that the launch knew of.
func markSeen(s *blackboard.State, launched []Trigger, planner string) {
	sent := map[string]bool{}
	for _, t := range launched {
		if t.Kind == TriggerHumanNote {
			for _, id := range t.IDs {
				sent[id] = true
			}
		}
	}
	for _, n := range s.HumanNotes {
		if sent[n.ID] && !n.SeenBy.Has(planner) {
			n.SeenBy = append(n.SeenBy, planner)
			if n.Queued() {
				n.Receipt.State, n.Receipt.How = blackboard.TextSeen, blackboard.ByPrompt
			}
		}
	}
	for _, q := range s.Questions {
		if sent[q.ID] && q.Status == blackboard.QuestionAnswered {
			q.Status = blackboard.QuestionDelivered
		}
	}
}

// EnterPlan records a plan whose tasks are on the board: it becomes the plan in force, and the goal's alignment history gets
// an entry with event (specs/roles-and-knowledge.md#3.5).
func EnterPlan(s *blackboard.State, p *blackboard.Plan, event, summary string, a Actor, now time.Time) {
	s.Plans = append(s.Plans, p)
	if s.Goal != nil {
		s.Goal.PlanID = p.ID
	}
	align(s, event, oneLine(p.Goal), now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionPlanApplied, Detail: oneLine(summary), Extra: via(a)})
}

// UnseenNotes returns the notes without a task that no planner run has seen.
func UnseenNotes(s *blackboard.State) []*blackboard.Note {
	var list []*blackboard.Note
	for _, n := range s.HumanNotes {
		if unseen(n) {
			list = append(list, n)
		}
	}
	return list
}

// RequestCaller returns the person whose request the planner has to answer: the writer of the newest note that no planner has
// seen, else the caller of the plan in force, or nil if unknown.
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

// CallerOf returns the person behind the plan of a task, or nil if unknown.
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

// Chain returns the plans with the same root as p, the oldest first.
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

// StopReplanning ends a chain of plans (specs/roles-and-knowledge.md#5.9): the plan has failed, an anomaly gives the reason
// why, and the task's replan does not launch the planner again until something about it changes, a person writes a note, or
// the sprint is resumed.
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

// ItemDone stores exit code and output of one item of a rejection. The actor holds the claim.
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

// planning names the planner that plans now, other than except, or "".
func planning(s *blackboard.State, except string, facts blackboard.ProcessFacts, now time.Time) string {
	for _, id := range s.AgentIDs() {
		if id == except || s.Agents[id].Status != blackboard.AgentPlanning {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == blackboard.Alive || live == blackboard.Unknown {
			return id
		}
	}
	return ""
}

func record(p *blackboard.Planner, kind TriggerKind) *blackboard.TriggerRecord {
	if p == nil {
		return nil
	}
	return p.Triggers[string(kind)]
}

// liftSuppression lets unresolved triggers launch the planner again.
func liftSuppression(s *blackboard.State) {
	if s.Planner == nil {
		return
	}
	for _, r := range s.Planner.Triggers {
		if r.Suppressed || r.Outcome == leftToPerson || r.Launches >= s.Int("planner_retries") {
			r.Suppressed, r.Launches, r.Next = false, 0, ""
			if r.Outcome == leftToPerson {
				r.Outcome = "no_op"
			}
		}
	}
}

func isPlanner(agent string) bool {
	role, _, _ := blackboard.ParseAgentID(agent)
	return role == blackboard.RolePlanner
}

func unseen(n *blackboard.Note) bool { return n.For == "" && !slices.ContainsFunc(n.SeenBy, isPlanner) }
