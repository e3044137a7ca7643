package blackboard

import "time"

// validNow is the time at which validState is looked at.
var validNow = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

// Commits of validState.
const (
	commitBase     = "6f0c0a5b7b6f4c4d8f4a0c8a7f0c9a1d2e3f4a5b"
	commitWork     = "9a1d2e3f4a5b6f0c0a5b7b6f4c4d8f4a0c8a7f0c"
	commitMerge    = "77aa01b2c3d4e5f60718293a4b5c6d7e8f901234"
	commitRejected = "1b2c3d4e5f60718293a4b5c6d7e8f90123456789"
)

// validState is a state without a violation in which every section, every status of
// a task and nearly every field occurs. Each call makes a new one.
func validState() *State {
	return &State{
		Version:        "1",
		Revision:       42,
		Goal:           validGoal(),
		Tasks:          append(validOpenTasks(), validOtherTasks()...),
		Agents:         validAgents(),
		Discovered:     validDiscoveries(),
		Handoff:        map[string]*Handoff{"claimed": {Agent: "coder-2", Timestamp: ago(50), Summary: "Parser done", NextAction: "Implement the writer", ConsumedBy: "coder-1", ConsumedAt: ago(40)}},
		HumanNotes:     []*Note{{ID: "note-1", Timestamp: ago(20), Message: "Keep the flags stable", By: "ada", SeenBy: List{"planner-1"}}},
		Anomalies:      validAnomalies(),
		SpecChanges:    []*SpecChange{{Timestamp: ago(5), Spec: "specs/vision.md#name", Change: "names may contain spaces", TriggeredBy: "human"}},
		Plans:          []*Plan{{ID: "plan-1", Goal: "Greeting CLI", Status: "running", By: "planner-1", Created: ago(60), Tasks: List{"merged", "claimed"}}},
		Facts:          []*Fact{{ID: "fact-1", Content: "Tests run with go test", Status: "active", Source: "reviewer", By: "code-reviewer-1", Created: ago(30), LastUsed: ago(10)}},
		Questions:      []*Question{{ID: "q-1", Task: "blocked", Agent: "coder-2", Kind: "blocked", Type: "input", Text: "Is Windows in scope?", Status: "answered", Answer: "no", Asked: ago(15), AnsweredAt: ago(14)}},
		Secrets:        []string{"github_token"},
		Usage:          &Usage{CostCents: 120, Seconds: 900, AgentRuns: 9, Day: &UsageDay{Date: "2026-01-19", CostCents: 120}},
		Programs:       map[string]*Program{"claude": {PausedUntil: ahead(5), Reason: "rate limit", At: ago(1)}},
		Planner:        validPlanner(),
		Integration:    validIntegration(),
		Sprint:         validSprint(),
		CircuitBreaker: validBreaker(),
		Config:         validConfig(),
	}
}

func validIntegration() *Integration {
	return &Integration{Tip: commitMerge, By: "merge merged", At: ago(5), Base: commitBase,
		Intent: &MoveIntent{Kind: MoveSync, Commit: commitWork, Old: commitMerge, Base: commitRejected, From: "main", At: ago(1), By: Human},
		Moved:  &Moved{Tip: commitRejected, At: ago(1)}}
}

// validFacts are facts under which validState has no violation.
func validFacts() Facts {
	yes := func(string) bool { return true }
	tip := commitMerge
	return Facts{
		Now:                   validNow,
		Processes:             ProcessFacts{Host: "devbox", BootID: "4f0c9a1d", Running: func(int, int64) (bool, bool) { return true, true }},
		SpecExists:            yes,
		WorktreeExists:        yes,
		BranchExists:          yes,
		Worktrees:             []string{".worktrees/claimed", ".worktrees/.check-merging", "../elsewhere"},
		TaskBranches:          []string{"task/claimed", "task/rejected"},
		IntegrationTip:        &tip,
		MergedIntoIntegration: yes,
		ResolveCommit:         func(string) (string, bool) { return commitWork, true },
		Secrets:               func(string) (string, bool) { return "", false },
		Archive:               shelf{"archived": Merged},
		MissingSections:       []string{},
	}
}

// ago and ahead are minutes before and after validNow.
func ago(minutes int) Time   { return TimeOf(validNow.Add(-time.Duration(minutes) * time.Minute)) }
func ahead(minutes int) Time { return TimeOf(validNow.Add(time.Duration(minutes) * time.Minute)) }

func validGoal() *Goal {
	return &Goal{
		ID: "goal-1768831200", Description: "Provide a greeting CLI with tests", SpecRef: "specs/vision.md",
		Created: ago(60), Status: InProgress, PlanID: "plan-1", Summary: "Begun.", SummarizedThrough: ago(60), CompletedAt: "null",
		AlignmentHistory: []*Alignment{{Timestamp: ago(60), Event: "initialization", Summary: "Goal created"}},
	}
}

// validTask is what every task of validState has.
func validTask(id string, status Status, history ...*HistoryEntry) *Task {
	priority := 1
	created := []*HistoryEntry{{Time: ago(60), Event: "created", Agent: "planner-1"}}
	if status != Draft {
		created = append(created, &HistoryEntry{Time: ago(59), Event: "finalized", Agent: "planner-1"})
	}
	return &Task{
		ID: id, Description: "Greeting honours --name\n", Status: status, Priority: &priority, Created: ago(60),
		Kind: "code", Type: "feature", SpecRef: "specs/vision.md#name", DoneWhen: "hello --name Bob prints 'Hello, Bob!'",
		Scope: "IN: flag parsing. OUT: localisation.", History: append(created, history...),
	}
}

// claimedTask is a task that coder-1 has or had, once.
func claimedTask(id string, status Status, history ...*HistoryEntry) *Task {
	claimed := &HistoryEntry{Time: ago(40), Event: "claimed", Agent: "coder-1", Iteration: 1, ClaimSeq: 1, BaseCommit: commitBase}
	t := validTask(id, status, append([]*HistoryEntry{claimed}, history...)...)
	t.AssignedTo, t.ClaimSeq, t.Iteration = "coder-1", 1, 1
	t.Worktree, t.BaseCommit = ".worktrees/"+id, commitBase
	return t
}

// submittedTask is a task of coder-1 that was handed in.
func submittedTask(id string, status Status, history ...*HistoryEntry) *Task {
	submitted := &HistoryEntry{Time: ago(30), Event: "ready_for_review", Agent: "coder-1", Commit: commitWork}
	t := claimedTask(id, status, append([]*HistoryEntry{submitted}, history...)...)
	t.ReviewCommit = commitWork
	return t
}

func event(minutesAgo int, name, agent string) *HistoryEntry {
	return &HistoryEntry{Time: ago(minutesAgo), Event: name, Agent: agent}
}

// validOpenTasks are those on which work goes on.
func validOpenTasks() []*Task {
	draft := validTask("draft", Draft)
	draft.DependsOn = List{"unclaimed"}

	unclaimed := validTask("unclaimed", Unclaimed)
	unclaimed.DependsOn = List{"merged"}
	unclaimed.Claiming = &Claiming{By: "coder-2", Generation: "g-00000002", At: ago(1), Expires: ahead(1), BaseCommit: commitBase}

	claimed := claimedTask("claimed", Claimed)
	claimed.DependsOn = List{"merged"}
	claimed.ClaimGeneration, claimed.LeaseExpires = "g-00000001", ahead(20)
	claimed.History = append(claimed.History, &HistoryEntry{Time: ago(39), Event: "checkpoint", Agent: "coder-1",
		Checkpoint: &Intent{Intent: "Add --name", Assumptions: List{"flag is allowed"}, Validation: "go test ./..."}})
	claimed.LastOutcome = &LastOutcome{Action: "RETRY", Summary: "once more", At: ago(25)}

	reviewed := submittedTask("reviewed", ReadyForReview, event(10, "review_claimed", "code-reviewer-1"))
	reviewed.ReviewingBy, reviewed.ReviewingGeneration, reviewed.ReviewLeaseExpires = "code-reviewer-1", "g-00000003", ahead(20)
	reviewed.NoTests = &NoTests{Reason: "only a document", By: "coder-1", At: ago(30)}

	rejected := submittedTask("rejected", Rejected, event(10, "rejected", "code-reviewer-1"))
	rejected.RejectionReason = &Rejection{Summary: "Python 3.8 is required", Findings: []*Finding{{Severity: "error", Message: "needs 3.10"}}}
	rejected.Fixes = []*Fix{{N: 1, Detail: "use Optional[str]"}}
	rejected.ReviewCyclesCurrent, rejected.ReviewCyclesTotal = 1, 1
	rejected.Attempts = []*Attempt{{Seq: 1, ClaimSeq: 1, Agent: "coder-1", Outcome: "rejected", Commit: commitRejected, Ended: ago(30)}}
	rejected.Review = &Review{Status: "needs_fix", By: "code-reviewer-1", Commit: commitWork, At: ago(10)}

	merging := submittedTask("merging", Approved, event(10, "approved", "code-reviewer-1"))
	merging.ApprovedBy, merging.ApprovedCommit = "code-reviewer-1", commitWork
	merging.MergeApproval = &MergeApproval{Required: true, Decision: "approved", By: "ada", At: ago(8), Reason: "fine"}
	merging.Seal = &Seal{Verdict: "approved", At: ago(8), Key: "k", MAC: "m"}
	merging.MergeIntent = &MergeIntent{Commit: commitMerge, Old: commitBase, At: ago(1), By: "code-reviewer-1"}

	failed := submittedTask("failed", IntegrationFailed, event(20, "approved", "code-reviewer-1"), event(19, "integration_failed", "system"))
	failed.ApprovedCommit = commitWork

	fixing := submittedTask("fixing", Claimed, event(20, "approved", "code-reviewer-1"), event(19, "integration_failed", "system"),
		&HistoryEntry{Time: ago(18), Event: "claimed_for_integration_fix", Agent: "coder-3", ClaimSeq: 2})
	fixing.AssignedTo, fixing.ClaimSeq, fixing.IntegrationFix, fixing.FixOnto = "coder-3", 2, true, commitMerge
	fixing.ClaimGeneration, fixing.LeaseExpires, fixing.ApprovedCommit = "g-00000005", ahead(20), commitWork
	return []*Task{draft, unclaimed, claimed, reviewed, rejected, merging, failed, fixing}
}

// validOtherTasks are those that are done, stopped, or of another kind.
func validOtherTasks() []*Task {
	blocked := claimedTask("blocked", Blocked, event(15, "blocked", "coder-1"))
	blocked.BlockedReason, blocked.BlockedKind, blocked.BlockedQuestions = "The spec is silent", "question", List{"Is Windows in scope?"}
	blocked.FailedBy, blocked.Failures = List{"coder-2"}, 1
	blocked.Hold = &Hold{By: "ada", At: ago(12), Reason: "wait for the customer"}

	halted := validTask("halted", Blocked, &HistoryEntry{Time: ago(50), Event: "claimed", Agent: "coder-2", ClaimSeq: 1, Iteration: 1},
		&HistoryEntry{Time: ago(20), Event: "lease_expired", Agent: "system", Holder: "coder-2", Lease: ago(25)},
		&HistoryEntry{Time: ago(15), Event: "blocked", Agent: "system", Halt: &Halt{Kind: "cost", Value: 120, Limit: 100, At: ago(15)}})
	halted.ClaimSeq, halted.Iteration = 1, 1
	halted.BlockedReason, halted.BlockedKind = "cost limit reached", "halt"
	halted.Halt = &Halt{Kind: "cost", Value: 120, Limit: 100, At: ago(15)}

	merged := submittedTask("merged", Merged, event(20, "approved", "code-reviewer-1"), event(19, "merged", "system"))
	merged.Worktree, merged.ApprovedBy, merged.MergeCommit = "", "code-reviewer-1", commitMerge

	abandoned := validTask("abandoned", Abandoned, event(20, "abandoned", "human"))
	abandoned.RescopeReason = "not wanted any more"

	superseded := validTask("superseded", Superseded, event(20, "superseded", "planner-1"))
	superseded.SupersededBy, superseded.RescopeReason = List{"unclaimed"}, "too large"

	command := submittedTask("command", Approved, event(10, "approved", "system"))
	command.Kind, command.Command, command.ApprovedBy, command.ReviewCommit = "exec", "make docs", "auto", commitBase

	message := claimedTask("message", Claimed)
	message.Kind, message.Worktree, message.BaseCommit, message.AssignedTo = "msg", "", "", "coder-4"
	message.ClaimGeneration, message.LeaseExpires = "g-00000006", ahead(20)
	return []*Task{blocked, halted, merged, abandoned, superseded, command, message}
}

func validAgents() map[string]*Agent {
	agent := func(role Role, status, task, generation string) *Agent {
		return &Agent{Role: role, Status: status, CurrentTask: task, Generation: generation, TokenHash: "sha256:2c26",
			LeaseExpires: ahead(20), Heartbeat: ago(1), Started: ago(60), Host: "devbox", BootID: "4f0c9a1d", PID: 41233, PIDStart: 8123345}
	}
	agents := map[string]*Agent{
		"coder-1":         agent(RoleCoder, AgentWorking, "claimed", "g-00000001"),
		"coder-2":         agent(RoleCoder, AgentIdle, "", "g-00000002"),
		"code-reviewer-1": agent(RoleReviewer, AgentReviewing, "reviewed", "g-00000003"),
		"planner-1":       agent(RolePlanner, AgentPlanning, "", "g-00000004"),
		"coder-3":         agent(RoleCoder, AgentWorking, "fixing", "g-00000005"),
		"coder-4":         agent(RoleCoder, AgentWorking, "message", "g-00000006"),
	}
	agents["coder-4"].ProviderWait = &ProviderWait{Reason: "429 rate_limit", Until: ahead(1)}
	agents["coder-1"].Crashes = []Time{ago(45)}
	agents["coder-1"].Child = &Child{PID: 41301, PIDStart: 8124001, PGID: 41301, Run: 4, Started: ago(30), Task: "claimed"}
	return agents
}

func validDiscoveries() []*Discovery {
	return []*Discovery{
		{ID: "disc-1", By: "coder-1", During: "claimed", Description: "retry helper swallows errors", Severity: "high", Urgency: "immediate", Created: ago(5), ConvertedToTask: "draft"},
		{ID: "disc-2", By: "coder-1", Description: "no colours", Created: ago(4), Deferred: &Deferred{By: "planner-1", At: ago(3), Reason: "later"}},
	}
}

func validAnomalies() []*Anomaly {
	return []*Anomaly{
		{ID: "anom-1", Timestamp: ago(3), Task: "claimed", Reporter: "coder-1", Type: "retry_loop", Details: Settings{"count": 3, "error_pattern": "undefined: Parse"}},
		{ID: "anom-2", Timestamp: ago(2), Task: "reviewed", Reporter: "code-reviewer-1", Type: "workaround", Details: Settings{"what": "sleeps"}},
		{ID: "anom-3", Timestamp: ago(1), Reporter: "planner-1", Type: "x-weather"},
	}
}

func validPlanner() *Planner {
	return &Planner{
		Triggers: map[string]*TriggerRecord{"BLOCKED_TASKS": {Fingerprint: "sha256:ab12", Launches: 1, Last: ago(5), Next: ahead(5), Outcome: "changed"}},
		LastRun:  &PlannerRun{Agent: "planner-1", At: ago(5), Triggers: List{"BLOCKED_TASKS"}, Result: "changed"},
	}
}

func validSprint() *Sprint {
	return &Sprint{
		ID: "sprint-1", GoalRef: "goal-1768831200", Status: InProgress,
		Scope:       &SprintScope{Planned: List{"draft", "unclaimed", "claimed"}, Stretch: List{"message"}},
		Timeline:    &Timeline{Started: ago(60), Deadline: ahead(600), CheckpointAt: ago(30)},
		Checkpoints: []*Checkpoint{{N: 1, At: ago(30), By: "ada", Decision: "CONTINUE", DecidedBy: "ada", DecidedAt: ago(29)}},
		Metrics:     &Metrics{ReviewVerdictApprovals: 4, ReviewVerdictRejections: 1, ReviewVerdictCount: 5},
	}
}

func validBreaker() *CircuitBreaker {
	return &CircuitBreaker{
		LastCheck: ago(2), Status: BreakerTripped, Watermark: "anom-1",
		CurrentTrigger: &BreakerTrigger{Timestamp: ago(2), Pattern: "retry_cluster", Severity: "high"},
		History:        []*BreakerRecord{{Timestamp: ago(40), Pattern: "retry_cluster", Result: "TRIGGERED", ResolvedAt: ago(35), ResolvedBy: "ada"}},
	}
}

func validConfig() Settings {
	return Settings{
		"max_coder_iterations": 10, "max_review_cycles": 5, "heartbeat_interval": 60, "lease_duration": 1800, "lease_grace": 60,
		"integration_branch": "integration", "base_ref": "main", "tests_required": true, "pre_execution_checkpoint": "off",
	}
}
