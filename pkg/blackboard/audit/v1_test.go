package blackboard

import "testing"

// v1State is a state of Liza v1 (bash) that its own validation accepts, with all the
// gaps that it does not ask about.
func v1State() *State {
	task := func(id string, status Status) *Task {
		return &Task{ID: id, Status: status, SpecRef: "specs/vision.md", DoneWhen: "it works"}
	}
	held := func(id string, status Status) *Task {
		t := task(id, status)
		t.AssignedTo, t.Worktree, t.BaseCommit, t.LeaseExpires = "coder-1", ".worktrees/"+id, "6f0c0a5", ahead(20)
		return t
	}
	claimed := held("task-1", Claimed)
	claimed.History = []*HistoryEntry{{Time: ago(40), Event: "claimed", Agent: "coder-1"}}

	fixing := held("task-2", Claimed)
	fixing.AssignedTo, fixing.IntegrationFix, fixing.BaseCommit = "coder-2", true, ""

	submitted := task("task-3", ReadyForReview)
	submitted.ReviewCommit, submitted.ReviewingBy = "HEAD", "code-reviewer-1"

	approved := task("task-4", Approved)

	merged := task("task-5", Merged)
	merged.ReviewingBy, merged.ReviewLeaseExpires, merged.ReviewCyclesCurrent = "code-reviewer-1", ago(60), 2

	failed := task("task-6", IntegrationFailed)
	failed.DependsOn = List{"task-5"}

	blocked := task("task-7", Blocked)
	blocked.BlockedReason, blocked.BlockedQuestions = "unclear", List{"a", "b", "c", "d", "e"}

	rejected := held("task-8", Rejected)
	rejected.RejectionReason, rejected.FailedBy = &Rejection{Summary: "no"}, List{"somebody"}

	superseded := task("task-9", Superseded)
	superseded.SupersededBy, superseded.RescopeReason = List{"task-7"}, "too large"

	draft := &Task{ID: "task-10", Status: Draft, Worktree: ".worktrees/task-10"}

	lease := ahead(20)
	return &State{
		Version: "1.0",
		Goal:    &Goal{ID: "goal-1", Description: "Do it", SpecRef: "specs/gone.md", Status: InProgress},
		Tasks:   []*Task{claimed, fixing, submitted, approved, merged, failed, blocked, rejected, superseded, draft},
		Agents: map[string]*Agent{
			"coder-1":         {Role: RoleCoder, Status: AgentWorking, CurrentTask: "task-1", LeaseExpires: lease, Heartbeat: ago(1), Terminal: "/dev/pts/2"},
			"coder-2":         {Role: RoleCoder, Status: AgentWorking, CurrentTask: "task-2", LeaseExpires: lease},
			"code-reviewer-1": {Role: RoleReviewer, Status: AgentReviewing},
			"planner-1":       {Role: RolePlanner, Status: "MONITORING", LeaseExpires: lease},
		},
		Discovered: []*Discovery{{Description: "x", Severity: "major", Urgency: "deferred", ConvertedToTask: "later"}, {ID: "d", Description: "y"}, {ID: "d", Description: "z"}},
		Handoff:    map[string]*Handoff{"task-old": {Summary: "a", NextAction: "b"}},
		Anomalies:  []*Anomaly{{Task: "task-1", Reporter: "planner-1", Type: "spec_ambiguity"}, {Type: "debt_created"}},
		Sprint:     &Sprint{ID: "sprint-1", Timeline: &Timeline{Started: ago(60)}, Scope: &SprintScope{Planned: List{"task-1"}}},
		Config:     Settings{"max_coder_iterations": 10, "heartbeat_interval": 60, "lease_duration": 100, "integration_branch": "integration", "coder_poll_interval": "30"},
	}
}

func v1Facts() Facts {
	f := validFacts()
	f.Archive = nil
	f.SpecExists = func(path string) bool { return path == "specs/vision.md" }
	f.MergedIntoIntegration = func(string) bool { return false }
	f.Worktrees, f.TaskBranches = nil, nil
	return f
}

func TestAStateOfLizaV1HasNoError(t *testing.T) {
	t.Parallel()
	got := Validate(v1State(), nil, v1Facts())
	if bad := errorsOf(got); len(bad) > 0 {
		t.Errorf("errors:\n%s", lines(bad))
	}
	if len(got) == 0 {
		t.Error("its gaps should be warnings")
	}
}

func TestAStateOfLizaV1HasNoErrorAfterOurFirstWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, event string }{
		{"task-6", "claimed_for_integration_fix"}, {"task-8", "reclaimed_after_rejection"},
	} {
		s := v1State()
		s.Revision = 1
		s.Agents["coder-3"] = &Agent{Role: RoleCoder, Status: AgentWorking, CurrentTask: c.id, Generation: "g-1", LeaseExpires: ahead(5)}
		task := s.Task(c.id)
		task.IntegrationFix = task.Status == IntegrationFailed
		task.Status, task.AssignedTo, task.ClaimGeneration, task.ClaimSeq, task.Iteration = Claimed, "coder-3", "g-1", 1, 1
		task.LeaseExpires, task.Worktree = ahead(20), ".worktrees/"+c.id
		task.History = append(task.History, &HistoryEntry{Time: ago(0), Event: c.event, Agent: "coder-3", ClaimSeq: 1})
		if bad := errorsOf(Validate(s, v1State(), v1Facts())); len(bad) > 0 {
			t.Errorf("errors after %s:\n%s", c.event, lines(bad))
		}
	}
}

func TestContradictionsOfALizaV1StateAreErrors(t *testing.T) {
	t.Parallel()
	for rule, change := range map[string]func(s *State){
		"V05": func(s *State) { s.Tasks = append(s.Tasks, &Task{ID: "TASK-1", Status: Draft}) },
		"V08": func(s *State) { s.Task("task-1").AssignedTo = "" },
		"V19": func(s *State) { s.Task("task-8").RejectionReason = nil },
		"V21": func(s *State) { s.Task("task-9").SupersededBy = List{"gone"} },
		"V24": func(s *State) { s.Task("task-1").DependsOn = List{"task-7"} },
		"V27": func(s *State) { s.Agents["coder-1"].CurrentTask = "task-8" },
		"V34": func(s *State) { s.Task("task-4").AssignedTo, s.Task("task-4").ApprovedBy = "coder-1", "coder-1" },
		"V39": func(s *State) { s.Task("task-1").LeaseExpires = "noon" },
		"V41": func(s *State) { s.Task("task-1").Worktree = "/tmp/x" },
		"V42": func(s *State) { s.Agents["coder-1"].Role = RolePlanner },
		"V45": func(s *State) { s.Agents["planner-1"].CurrentTask = "gone" },
		"V46": func(s *State) { s.Sprint.Status = "PAUSED" },
	} {
		s := v1State()
		change(s)
		if bad := errorsOf(Validate(s, nil, v1Facts())); len(bad) != 1 || bad[0].Rule != rule {
			t.Errorf("want one error of %s, got\n%s", rule, lines(bad))
		}
	}
}

func TestOurOwnTasksInAFileOfLizaV1AreHeldToOurRules(t *testing.T) {
	t.Parallel()
	s := v1State()
	own := submittedTask("own", Approved, event(1, "approved", "code-reviewer-1"))
	s.Tasks = append(s.Tasks, own)
	if bad := errorsOf(Validate(s, nil, v1Facts())); len(bad) != 1 || bad[0].Rule != "V14" {
		t.Errorf("want V14, got\n%s", lines(bad))
	}
}

func TestATaskWithoutAttemptsIsHeldToOurRulesInAFileOfOurs(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Tasks = append(s.Tasks, &Task{ID: "typed", Status: Approved, Description: "x", SpecRef: "specs/vision.md", DoneWhen: "x", Scope: "x", ReviewCommit: commitWork})
	if bad := errorsOf(Validate(s, nil, validFacts())); len(bad) != 1 || bad[0].Rule != "V14" {
		t.Errorf("want V14, got\n%s", lines(bad))
	}
}
