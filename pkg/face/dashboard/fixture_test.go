package dashboard

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

var now = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

func ago(minutes int) blackboard.Time {
	return blackboard.TimeOf(now.Add(-time.Duration(minutes) * time.Minute))
}

func past(minutesAgo int, event blackboard.HistoryEvent, agent string) []*blackboard.HistoryEntry {
	return []*blackboard.HistoryEntry{{Time: ago(60), Event: "created", Agent: "planner-1"}, {Time: ago(minutesAgo), Event: event, Agent: agent}}
}

func cents(n blackboard.Amount, runs, unknown int) *blackboard.Usage {
	return &blackboard.Usage{CostCents: n, AgentRuns: runs, UnknownCostRuns: unknown}
}

// busy is a sprint in which nearly everything happens that a person may have to see.
func busy() *blackboard.State {
	full := 100
	return (&blackboard.State{
		Version: "1", Revision: 42,
		Goal:   &blackboard.Goal{ID: "goal-1", Description: "Provide a greeting CLI with tests\nand a manual", SpecRef: "specs/vision.md", Status: blackboard.InProgress, PlanID: "plan-2"},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: ago(62)}, Metrics: &blackboard.Metrics{ReviewVerdictCount: 5, ReviewVerdictApprovals: 5, ReviewVerdictApprovalRatePercent: &full}},
		Usage:  cents(123, 9, 2),
		Agents: map[string]*blackboard.Agent{
			"planner-1":       {Role: blackboard.RolePlanner, Status: blackboard.AgentWaiting, LeaseExpires: ago(-25), Heartbeat: ago(0), CLI: "claude", WaitingFor: "no reason to plan"},
			"coder-1":         {Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, CurrentTask: "task-2", LeaseExpires: ago(-28), Heartbeat: ago(0), CLI: "claude"},
			"coder-2":         {Role: blackboard.RoleCoder, Status: blackboard.AgentIdle, LeaseExpires: ago(10), Heartbeat: ago(40), CLI: "codex"},
			"coder-10":        {Role: blackboard.RoleCoder, Status: blackboard.AgentWaiting, LeaseExpires: ago(-28), Heartbeat: ago(0), CLI: "scripted", WaitingFor: "task-6 waits for task-2 (CLAIMED), task-3 (READY_FOR_REVIEW)"},
			"code-reviewer-1": {Role: blackboard.RoleReviewer, Status: blackboard.AgentReviewing, CurrentTask: "task-3", Generation: "g-3", LeaseExpires: ago(-20), Heartbeat: ago(0), CLI: "claude"},
		},
		Questions: []*blackboard.Question{
			{ID: "q-1", Task: "task-4", Agent: "coder-2", Kind: "blocked", Text: "Which languages?", Options: blackboard.List{"en", "de"}, Status: "open"},
			{ID: "q-2", Agent: "planner-1", Text: "May the CLI read the environment?", Status: "open"},
			{ID: "q-3", Task: "task-4", Text: "An old one?", Status: "answered", Answer: "Yes."},
		},
		Plans: []*blackboard.Plan{
			{ID: "plan-1", Goal: "A greeting script", Status: "superseded", Tasks: blackboard.List{"task-1", "task-0"}, Failure: &blackboard.PlanFailure{Task: "task-9", Reason: "cannot be tested"}, Tried: blackboard.List{"code Old parser: blocked"}},
			{ID: "plan-2", Parent: "plan-1", Root: "plan-1", Goal: "A greeting CLI", Request: "Greet people", Caller: &blackboard.Caller{Name: "ada", Role: "admin"}, Status: "running", Created: ago(50), Tasks: blackboard.List{"task-2", "task-3"}},
		},
		Discovered: []*blackboard.Discovery{{ID: "disc-1", By: "coder-1", During: "task-2", Description: "retry helper swallows errors", Severity: "high"}},
		Programs:   map[string]*blackboard.Program{"codex": {PausedUntil: ago(-5), Reason: "usage limit"}, "old": {PausedUntil: ago(5)}},
		Planner:    &blackboard.Planner{Triggers: map[string]*blackboard.TriggerRecord{}},
	}).With([]*blackboard.Task{
		{ID: "task-1", Title: "Greet the world", Status: blackboard.Merged, AssignedTo: "coder-1", Iteration: 1, Usage: cents(12, 2, 0), History: past(30, "merged", "system"), Plan: "plan-1"},
		{ID: "task-2", Title: "Parse --name", Status: blackboard.Claimed, AssignedTo: "coder-1", Iteration: 2, Usage: cents(40, 3, 1), History: past(5, "claimed", "coder-1"), DependsOn: blackboard.List{"task-1"}},
		{ID: "task-3", Title: "名前のファイルを読む、一行に一つの名前、空の行は飛ばす、とても長い題名です", Status: blackboard.ReadyForReview, AssignedTo: "coder-2", ReviewingBy: "code-reviewer-1", ReviewingGeneration: "g-3",
			ReviewLeaseExpires: ago(-20), Iteration: 1, Usage: cents(0, 2, 2), History: past(2, "ready_for_review", "coder-2"), DependsOn: blackboard.List{"task-1"}},
		{ID: "task-4", Title: "Greet in many languages", Status: blackboard.Blocked, AssignedTo: "coder-2", Iteration: 1, BlockedKind: "question", BlockedReason: "the spec names no languages",
			BlockedQuestions: blackboard.List{"Which languages?"}, History: past(12, "blocked", "coder-2")},
		{ID: "task-5", Title: "Cache greetings", Status: blackboard.Blocked, BlockedKind: "halt", BlockedReason: "cost limit reached: 1012 of 1000", Halt: &blackboard.Halt{Kind: "cost", Value: 1012, Limit: 1000}, Usage: cents(1012, 7, 0),
			History: past(50, "blocked", "system")},
		{ID: "task-6", Title: "Write the manual", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"task-2", "task-3", "gone"}, History: past(60, "finalized", "planner-1")},
		{ID: "task-7", Title: "Version flag", Status: blackboard.Approved, AssignedTo: "coder-1", ApprovedBy: "code-reviewer-1", Iteration: 1, MergeApproval: &blackboard.MergeApproval{Required: true}, History: past(1, "approved", "code-reviewer-1")},
		{ID: "task-8", Title: "Colours", Status: blackboard.Unclaimed, Hold: &blackboard.Hold{By: "ada", Reason: "design first"}, History: past(3, "held", "human")},
		{ID: "task-9", Title: "Old parser", Status: blackboard.Superseded, SupersededBy: blackboard.List{"task-2"}, History: past(40, "superseded", "planner-1")},
		{ID: "task-10", Title: "Exit codes", Status: blackboard.IntegrationFailed, AssignedTo: "coder-1", Iteration: 1, DependsOn: blackboard.List{"task-2"},
			History: []*blackboard.HistoryEntry{{Time: ago(4), Event: "integration_failed", Agent: "system", Reason: "merge conflict", Files: blackboard.List{"hello/cli.py"}}}},
	}...)
}

// crowd is a sprint of many tasks.
func crowd(n int) *blackboard.State {
	s := &blackboard.State{Goal: &blackboard.Goal{Description: "Much", Status: blackboard.InProgress}, Sprint: &blackboard.Sprint{ID: "sprint-7", Status: blackboard.InProgress}}
	for i := range n {
		t := &blackboard.Task{ID: fmt.Sprintf("task-%d", i+1), Title: fmt.Sprintf("Piece %d of the work", i+1), Status: blackboard.Merged, AssignedTo: "coder-1", Iteration: 1, History: past(n-i, "merged", "system")}
		switch {
		case i > n-8:
			t.Status, t.DependsOn = blackboard.Unclaimed, blackboard.List{fmt.Sprintf("task-%d", i)}
		case i%100 == 50:
			t.Status = blackboard.Claimed
		}
		s.AddTasks(t)
	}
	return s
}

func facts() Input {
	return Input{Now: now, Control: []Control{{Name: "PAUSE", Since: now.Add(-7 * time.Minute), Reason: "lunch"}}}
}
