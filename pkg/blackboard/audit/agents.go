package blackboard

// The rules V42 to V45: the registrations.

var agentStatuses = []string{AgentStarting, AgentIdle, AgentWorking, AgentReviewing, AgentPlanning, AgentWaiting, AgentHandoff}

func checkAgentIDs(v *validation) {
	for _, id := range v.agents {
		role, _, ok := ParseAgentID(id)
		if !ok {
			v.agent(id, "", "the id is malformed; it must be coder-N, code-reviewer-N or planner-N")
		}
		a := v.s.Agents[id]
		if a == nil {
			v.agent(id, "", "the entry is empty")
			continue
		}
		// A state that was not decoded may spell roles as in protocol 0.4.
		switch is, known := ParseRole(string(a.Role)); {
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
		if !List(agentStatuses).Has(a.Status) {
			v.agent(id, "status", "unknown status '%s'%s", a.Status, nearestHint(a.Status, agentStatuses)).lenient(v.agentOfV1(a))
		}
		if a.Status != AgentWorking && a.Status != AgentReviewing {
			continue
		}
		mild := a.Status == AgentReviewing && v.agentOfV1(a)
		if a.CurrentTask == "" {
			v.agent(id, "current_task", "%s without current_task", a.Status).lenient(mild)
		}
		if a.LeaseExpires.None() {
			v.agent(id, "lease_expires", "%s without lease_expires", a.Status).lenient(mild)
		}
	}
}

func checkAgentLease(v *validation) {
	if v.facts.Now.IsZero() {
		return
	}
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if a == nil || a.Status != AgentWorking && a.Status != AgentReviewing && a.Status != AgentPlanning {
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
			v.agent(id, "current_task", "current_task '%s' does not exist", a.CurrentTask).concerns(a.CurrentTask)
		}
	}
}
