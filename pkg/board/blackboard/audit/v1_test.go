package audit

import (
	"os"
	"testing"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
)

// v1State is a state of Liza v1 (bash) that its own validation accepts, with all the
// gaps that it does not ask about.
func v1State() *blackboard.State {
	task := func(id string, status blackboard.Status) *blackboard.Task {
		return &blackboard.Task{ID: id, Status: status, SpecRef: "specs/vision.md", DoneWhen: "it works"}
	}
	held := func(id string, status blackboard.Status) *blackboard.Task {
		t := task(id, status)
		t.AssignedTo, t.Worktree, t.BaseCommit, t.LeaseExpires = "coder-1", ".worktrees/"+id, "6f0c0a5", ahead(20)
		return t
	}
	claimed := held("task-1", blackboard.Claimed)
	claimed.History = []*blackboard.HistoryEntry{{Time: ago(40), Event: "claimed", Agent: "coder-1"}}

	fixing := held("task-2", blackboard.Claimed)
	fixing.AssignedTo, fixing.IntegrationFix, fixing.BaseCommit = "coder-2", true, ""

	submitted := task("task-3", blackboard.ReadyForReview)
	submitted.ReviewCommit, submitted.ReviewingBy = "HEAD", "code-reviewer-1"

	approved := task("task-4", blackboard.Approved)

	merged := task("task-5", blackboard.Merged)
	merged.ReviewingBy, merged.ReviewLeaseExpires, merged.ReviewCyclesCurrent = "code-reviewer-1", ago(60), 2

	failed := task("task-6", blackboard.IntegrationFailed)
	failed.DependsOn = blackboard.List{"task-5"}

	blocked := task("task-7", blackboard.Blocked)
	blocked.BlockedReason, blocked.BlockedQuestions = "unclear", blackboard.List{"a", "b", "c", "d", "e"}

	rejected := held("task-8", blackboard.Rejected)
	rejected.RejectionReason, rejected.FailedBy = &blackboard.Rejection{Summary: "no"}, blackboard.List{"somebody"}

	superseded := task("task-9", blackboard.Superseded)
	superseded.SupersededBy, superseded.RescopeReason = blackboard.List{"task-7"}, "too large"

	draft := &blackboard.Task{ID: "task-10", Status: blackboard.Draft, Worktree: ".worktrees/task-10"}

	lease := ahead(20)
	return (&blackboard.State{
		Version: "1.0",
		Goal:    &blackboard.Goal{ID: "goal-1", Description: "Do it", SpecRef: "specs/gone.md", Status: blackboard.InProgress},
		Agents: map[string]*blackboard.Agent{
			"coder-1":         {Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, CurrentTask: "task-1", LeaseExpires: lease, Heartbeat: ago(1), Terminal: "/dev/pts/2"},
			"coder-2":         {Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, CurrentTask: "task-2", LeaseExpires: lease},
			"code-reviewer-1": {Role: blackboard.RoleReviewer, Status: blackboard.AgentReviewing},
			"planner-1":       {Role: blackboard.RolePlanner, Status: "MONITORING", LeaseExpires: lease},
		},
		Discovered: []*blackboard.Discovery{{Description: "x", Severity: "major", Urgency: "deferred", ConvertedToTask: "later"}, {ID: "d", Description: "y"}, {ID: "d", Description: "z"}},
		Handoff:    map[string]*blackboard.Handoff{"task-old": {Summary: "a", NextAction: "b"}},
		Anomalies:  []*blackboard.Anomaly{{Task: "task-1", Reporter: "planner-1", Type: "spec_ambiguity"}, {Type: "debt_created"}},
		Sprint:     &blackboard.Sprint{ID: "sprint-1", Timeline: &blackboard.Timeline{Started: ago(60)}, Scope: &blackboard.SprintScope{Planned: blackboard.List{"task-1"}}},
		Config:     blackboard.Settings{"max_coder_iterations": 10, "heartbeat_interval": 60, "lease_duration": 100, "integration_branch": "integration", "coder_poll_interval": "30"},
	}).With(claimed, fixing, submitted, approved, merged, failed, blocked, rejected, superseded, draft)
}

func v1Facts() Evidence {
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
		s.Agents["coder-3"] = &blackboard.Agent{Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, CurrentTask: c.id, Generation: "g-1", LeaseExpires: ahead(5)}
		task := s.Task(c.id)
		task.IntegrationFix = task.Status == blackboard.IntegrationFailed
		task.Status, task.AssignedTo, task.ClaimGeneration, task.ClaimSeq, task.Iteration = blackboard.Claimed, "coder-3", "g-1", 1, 1
		task.LeaseExpires, task.Worktree = ahead(20), ".worktrees/"+c.id
		task.History = append(task.History, &blackboard.HistoryEntry{Time: ago(0), Event: blackboard.HistoryEvent(c.event), Agent: "coder-3", ClaimSeq: 1})
		if bad := errorsOf(Validate(s, v1State(), v1Facts())); len(bad) > 0 {
			t.Errorf("errors after %s:\n%s", c.event, lines(bad))
		}
	}
}

func TestContradictionsOfALizaV1StateAreErrors(t *testing.T) {
	t.Parallel()
	for rule, change := range map[string]func(s *blackboard.State){
		"V05": func(s *blackboard.State) {
			s.AddTasks(&blackboard.Task{ID: "TASK-1", Status: blackboard.Draft})
		},
		"V08": func(s *blackboard.State) { s.Task("task-1").AssignedTo = "" },
		"V19": func(s *blackboard.State) { s.Task("task-8").RejectionReason = nil },
		"V21": func(s *blackboard.State) { s.Task("task-9").SupersededBy = blackboard.List{"gone"} },
		"V24": func(s *blackboard.State) { s.Task("task-1").DependsOn = blackboard.List{"task-7"} },
		"V27": func(s *blackboard.State) { s.Agents["coder-1"].CurrentTask = "task-8" },
		"V34": func(s *blackboard.State) {
			s.Task("task-4").AssignedTo, s.Task("task-4").ApprovedBy = "coder-1", "coder-1"
		},
		"V39": func(s *blackboard.State) { s.Task("task-1").LeaseExpires = "noon" },
		"V41": func(s *blackboard.State) { s.Task("task-1").Worktree = "/tmp/x" },
		"V42": func(s *blackboard.State) { s.Agents["coder-1"].Role = blackboard.RolePlanner },
		"V45": func(s *blackboard.State) { s.Agents["planner-1"].CurrentTask = "gone" },
		"V46": func(s *blackboard.State) { s.Sprint.Status = "PAUSED" },
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
	own := validState().Task("merging")
	own.ID, own.Worktree, own.ApprovedBy, own.MergeIntent = "own", ".worktrees/own", "", nil
	s.AddTasks(own)
	if bad := errorsOf(Validate(s, nil, v1Facts())); len(bad) != 1 || bad[0].Rule != "V14" {
		t.Errorf("want V14, got\n%s", lines(bad))
	}
}

func TestATaskWithoutAttemptsIsHeldToOurRulesInAFileOfOurs(t *testing.T) {
	t.Parallel()
	s := validState()
	s.AddTasks(&blackboard.Task{ID: "typed", Status: blackboard.Approved, Description: "x", SpecRef: "specs/vision.md", DoneWhen: "x", Scope: "x", ReviewCommit: commitWork})
	if bad := errorsOf(Validate(s, nil, validFacts())); len(bad) != 1 || bad[0].Rule != "V14" {
		t.Errorf("want V14, got\n%s", lines(bad))
	}
}

// A sprint that the version of 2026-11-24 was killed in is read whole, and breaks no rule.
func TestABoardOfAnEarlierVersionHasNoError(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../testdata/former.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var file struct {
		blackboard.State `yaml:",inline"`
		Tasks            []*blackboard.Task `yaml:"tasks"`
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal("a key of that version is not known any more: ", err)
	}
	facts := v1Facts()
	facts.Now, _ = file.Sprint.Timeline.Started.At()
	facts.IntegrationTip = &file.Integration.Tip
	facts.SpecExists = func(string) bool { return true }
	facts.MergedIntoIntegration = func(string) bool { return true }
	if bad := errorsOf(Validate(file.State.With(file.Tasks...), nil, facts)); len(bad) > 0 {
		t.Errorf("errors:\n%s", lines(bad))
	}
}
