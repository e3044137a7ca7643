package audit

import "liza/pkg/blackboard"

// The rules V42 to V45: the registrations.

var agentStatuses = []string{blackboard.AgentStarting, blackboard.AgentIdle, blackboard.AgentWorking, blackboard.AgentReviewing, blackboard.AgentPlanning, blackboard.AgentWaiting, blackboard.AgentHandoff}

func checkAgentIDs(v *validation) {
	for _, id := range v.agents {
		role, _, ok := blackboard.ParseAgentID(id)
		if !ok {
			v.agent(id, "", "the id is malformed; it must be coder-N, code-reviewer-N or planner-N")
		}
		a := v.s.Agents[id]
		if a == nil {
			v.agent(id, "", "the entry is empty")
			continue
		}
		// A state that was not decoded may spell roles as in specs/protocol.md#0.4.
		switch is, known := blackboard.ParseRole(string(a.Role)); {
		case a.Role == "":
			v.agent(id, "role", "there is no role")
		case !known:
			v.agent(id, "role", "unknown role '%s'", a.Role)
		case ok && is != role:
			v.agent(id, "role", "role is %s", a.Role)
		}
	}
}

func checkAgentStatus(v *validation) {
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if a == nil {
			continue
		}
		if !blackboard.List(agentStatuses).Has(a.Status) {
			v.agent(id, "status", "unknown status '%s'%s", a.Status, blackboard.NearestHint(a.Status, agentStatuses)).Lenient(v.agentOfV1(a))
		}
		if a.Status != blackboard.AgentWorking && a.Status != blackboard.AgentReviewing {
			continue
		}
		mild := a.Status == blackboard.AgentReviewing && v.agentOfV1(a)
		if a.CurrentTask == "" {
			v.agent(id, "current_task", "%s without current_task", a.Status).Lenient(mild)
		}
		if a.LeaseExpires.None() {
			v.agent(id, "lease_expires", "%s without lease_expires", a.Status).Lenient(mild)
		}
	}
}

func checkAgentLease(v *validation) {
	if v.facts.Now.IsZero() {
		return
	}
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if a == nil || a.Status != blackboard.AgentWorking && a.Status != blackboard.AgentReviewing && a.Status != blackboard.AgentPlanning {
			continue
		}
		if until, ok := a.LeaseExpires.At(); ok && v.facts.Now.After(until.Add(v.s.Duration("lease_grace"))) {
			v.agent(id, "lease_expires", "lease expired at %s", a.LeaseExpires)
		}
	}
}

func checkCurrentTask(v *validation) {
	for _, id := range v.agents {
		if a := v.s.Agents[id]; a != nil && a.CurrentTask != "" && v.find(a.CurrentTask) == nil {
			v.agent(id, "current_task", "current_task '%s' does not exist", a.CurrentTask).Concerns(a.CurrentTask)
		}
	}
}
