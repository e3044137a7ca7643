package blackboard

import (
	"slices"
	"strings"
	"time"
)

// BeginPlanning records the launch of a planner run before it is spawned (A05), so that
// a crash counts as a launch. Only one planner plans at a time.
func (s *State) BeginPlanning(a Actor, due []Trigger, now time.Time) error {
	e, err := s.own(a, now, func(e *Agent) error {
		if role, _, _ := ParseAgentID(a.ID); role != RolePlanner {
			return refuse("G03", ExitRefused, "liza status", "%s may not plan; planner may", a.ID)
		}
		if len(due) == 0 {
			return refuse("", ExitNothing, "liza note TEXT", "no reason to plan")
		}
		if other := s.planning(a.ID, a.Facts, now); other != "" {
			return refuse("G21", ExitRefused, "liza status", "%s is planning", other)
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.Status, e.CurrentTask, e.WaitingFor, e.LeaseExpires = AgentPlanning, "", "", s.lease(now)
	if s.Planner == nil {
		s.Planner = &Planner{}
	}
	if s.Planner.Triggers == nil {
		s.Planner.Triggers = map[string]*TriggerRecord{}
	}
	var kinds []string
	for _, t := range due {
		r := s.Planner.Triggers[t.Kind]
		if r == nil || r.Fingerprint != t.Fingerprint {
			r = &TriggerRecord{Fingerprint: t.Fingerprint}
			s.Planner.Triggers[t.Kind] = r
		}
		r.Launches++
		r.Last, r.Outcome = TimeOf(now), ""
		r.Next = TimeOf(now.Add(backoff(r.Launches)))
		kinds = append(kinds, t.Kind)
	}
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionPlannerLaunched, Detail: strings.Join(kinds, ", "), Extra: via(a)})
	return nil
}

// backoff is the wait before the same fingerprint launches the planner again (13.1).
func backoff(launches int) time.Duration {
	if launches <= 1 {
		return 60 * time.Second
	}
	return 300 * time.Second
}

// planning names the planner that plans now, other than except, or "".
func (s *State) planning(except string, facts ProcessFacts, now time.Time) string {
	for _, id := range s.agentIDs() {
		if id == except || s.Agents[id].Status != AgentPlanning {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == Alive || live == Unknown {
			return id
		}
	}
	return ""
}

// EndPlanning records what a planner run did. suppress stops its triggers until they
// change (STUCK, or answers that stay unusable); so does the last launch without change.
func (s *State) EndPlanning(a Actor, launched []Trigger, changed, suppress bool, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	e.Status, e.Child = AgentIdle, nil
	result := "no_op"
	if changed {
		result = "changed"
	}
	if s.Planner == nil {
		s.Planner = &Planner{}
	}
	s.markSeen(launched, a.ID)
	run := &PlannerRun{Agent: a.ID, At: TimeOf(now), Result: result}
	for _, t := range launched {
		run.Triggers = append(run.Triggers, t.Kind)
		r := s.Planner.record(t.Kind)
		if r == nil || r.Fingerprint != t.Fingerprint {
			continue
		}
		r.Outcome = result
		if !r.Last.None() {
			run.At = r.Last // what happened during the run is newer than the run
		}
		spent := r.Launches >= s.Int("planner_retries") && s.stillTrue(t, now)
		if (suppress || spent) && !r.Suppressed {
			r.Suppressed = true
			s.Record(Entry{Timestamp: TimeOf(now), Agent: System, Action: ActionPlannerSuppressed, Detail: t.Kind})
		}
	}
	s.Planner.LastRun = run
	return nil
}

// CancelPlanning takes back a launch whose program could not do anything: its quota was used
// up, or a limit stopped it. It does not count, and what it was launched for is still to be
// told to the next one.
func (s *State) CancelPlanning(a Actor, launched []Trigger, now time.Time) error {
	e, err := s.own(a, now, nil)
	if err != nil {
		return err
	}
	e.Status, e.Child = AgentIdle, nil
	for _, t := range launched {
		if r := s.Planner.record(t.Kind); r != nil && r.Fingerprint == t.Fingerprint && r.Launches > 0 {
			r.Launches--
			r.Next = ""
		}
	}
	return nil
}

// stillTrue reports whether a trigger that the planner was launched for is true unchanged.
func (s *State) stillTrue(t Trigger, now time.Time) bool {
	if t.Kind == "INITIAL_PLANNING" { // its fingerprint needs the spec file
		return s.noTaskYet()
	}
	return slices.ContainsFunc(s.Triggers(TriggerFacts{}, now), func(x Trigger) bool {
		return x.Kind == t.Kind && x.Fingerprint == t.Fingerprint
	})
}

// markSeen marks the notes and answers that the launch knew of.
func (s *State) markSeen(launched []Trigger, planner string) {
	sent := map[string]bool{}
	for _, t := range launched {
		if t.Kind == "HUMAN_NOTE" {
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
		if sent[q.ID] && q.Status == QuestionAnswered {
			q.Status = QuestionDelivered
		}
	}
}

func (p *Planner) record(kind string) *TriggerRecord {
	if p == nil {
		return nil
	}
	return p.Triggers[kind]
}

// liftSuppression lets the planner be launched again for what it did not resolve.
func (s *State) liftSuppression() {
	if s.Planner == nil {
		return
	}
	for _, r := range s.Planner.Triggers {
		if r != nil && (r.Suppressed || r.Launches >= s.Int("planner_retries")) {
			r.Suppressed, r.Launches, r.Next = false, 0, ""
		}
	}
}
