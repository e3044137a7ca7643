package transition

import (
	"slices"
	"time"

	"liza/pkg/blackboard"
)

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

// liftSuppression lets the planner be launched again for what it did not resolve.
func liftSuppression(s *blackboard.State) {
	if s.Planner == nil {
		return
	}
	for _, r := range s.Planner.Triggers {
		if r != nil && (r.Suppressed || r.Launches >= s.Int("planner_retries")) {
			r.Suppressed, r.Launches, r.Next = false, 0, ""
		}
	}
}

func isPlanner(agent string) bool {
	role, _, _ := blackboard.ParseAgentID(agent)
	return role == blackboard.RolePlanner
}

func unseen(n *blackboard.Note) bool { return n.For == "" && !slices.ContainsFunc(n.SeenBy, isPlanner) }
