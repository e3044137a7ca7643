package transition

import (
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// BeginPlanning records the launch of a planner run before it is spawned (A05), so that
// a crash counts as a launch. Only one planner plans at a time.
func BeginPlanning(s *blackboard.State, a Actor, due []Trigger, now time.Time) error {
	e, err := own(s, a, now, func(e *blackboard.Agent) error {
		if role, _, _ := blackboard.ParseAgentID(a.ID); role != blackboard.RolePlanner {
			return refuse("G03", ExitRefused, "liza status", "%s may not plan; planner may", a.ID)
		}
		if len(due) == 0 {
			return refuse("", ExitNothing, "liza note TEXT", "no reason to plan")
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

// EndPlanning records what a planner run did. suppress stops its triggers until they
// change (STUCK, or answers that stay unusable); so does the last launch without change.
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

// CancelPlanning takes back a launch whose program could not do anything: its quota was used
// up, or a limit stopped it. It does not count, and what it was launched for is still to be
// told to the next one.
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

// ReasonGone reports whether everything that a planner at work was launched for is over or has changed: a person has
// answered in the meantime.
func ReasonGone(s *blackboard.State, now time.Time) bool {
	launched := false
	if s.Planner == nil {
		return false
	}
	for kind, r := range s.Planner.Triggers {
		if r == nil || r.Outcome != "" {
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
		}
	}
	for _, q := range s.Questions {
		if sent[q.ID] && q.Status == blackboard.QuestionAnswered {
			q.Status = blackboard.QuestionDelivered
		}
	}
}
