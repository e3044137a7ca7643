package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
)

const (
	base     = "6f0c0a5b7b6f4c4d8f4a0c8a7f0c9a1d2e3f4a5b"
	work     = "9a1d2e3f4a5b6f0c0a5b7b6f4c4d8f4a0c8a7f0c"
	rejected = "1b2c3d4e5f60718293a4b5c6d7e8f90123456789"
)

var start = time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)

func at(minutes int) blackboard.Time {
	return blackboard.TimeOf(start.Add(time.Duration(minutes) * time.Minute))
}

// small is a project with a handful of tasks in the middle of a sprint. Each call makes a
// new one.
func small() *blackboard.State {
	one := 1
	cost := blackboard.Amount(12)
	return (&blackboard.State{
		Version: "1", Revision: 42,
		Goal: &blackboard.Goal{ID: "goal-1", Description: "I want a greeting program with tests.", SpecRef: "specs/vision.md", Created: at(0), Status: blackboard.InProgress, PlanID: "plan-1"},
		Plans: []*blackboard.Plan{{ID: "plan-1", Goal: "A greeting CLI in Python with tests", Request: "I want a greeting program with tests.",
			Caller: &blackboard.Caller{Name: "ada", Role: "admin"}, Status: "running", Created: at(1), Tasks: blackboard.List{"task-1", "task-2", "task-3", "task-4", "done"}}},
		Agents: map[string]*blackboard.Agent{"coder-1": {Role: blackboard.RoleCoder}, "coder-2": {Role: blackboard.RoleCoder}, "planner-1": {Role: blackboard.RolePlanner}},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress},
		Facts: []*blackboard.Fact{{ID: "fact-1", Content: "Tests run with python -m pytest", Status: "active", LastUsed: at(3)},
			{ID: "fact-2", Content: "A fact that nobody approved", Status: "pending"}},
	}).With([]*blackboard.Task{
		{ID: "task-1", Title: "Greet the world", Description: "Print a greeting.", Status: blackboard.Merged, Created: at(1), Plan: "plan-1", Type: "feature",
			LastOutcome: &blackboard.LastOutcome{Action: "COMPLETED", Summary: "The CLI greets the world.", At: at(9)}},
		{ID: "task-2", Title: "Read names from a file", Description: "With --file, greet every name in the file.", Status: blackboard.Claimed, Created: at(1), Plan: "plan-1",
			AssignedTo: "coder-2", Files: blackboard.List{"hello/names.py"}, ClaimSeq: 1, Iteration: 1},
		{ID: "task-3", Title: "Greet by name", Description: "With --name X the CLI prints \"Hello, X!\".\nWithout it, the greeting stays as it is.", Status: blackboard.Claimed, Priority: &one,
			Created: at(1), Type: "feature", Plan: "plan-1", SpecRef: "specs/vision.md#name", DoneWhen: "hello --name Bob prints 'Hello, Bob!' and exits 0",
			AcceptanceCriteria: blackboard.List{"hello --name '' exits 2 and says why"}, Scope: "IN: flag parsing, greeting. OUT: localisation.", Files: blackboard.List{"hello/cli.py", "tests/**"},
			DependsOn: blackboard.List{"task-1"}, AssignedTo: "coder-1", ClaimSeq: 1, Iteration: 1, BaseCommit: base, Worktree: ".worktrees/task-3",
			History: []*blackboard.HistoryEntry{{Time: at(1), Event: "created", Agent: "planner-1"}, {Time: at(10), Event: "claimed", Agent: "coder-1", Iteration: 1, BaseCommit: base}}},
		{ID: "task-4", Title: "Write the manual", Description: "Describe every flag.", Status: blackboard.Unclaimed, Created: at(1), Type: "docs", Plan: "plan-1", DependsOn: blackboard.List{"task-3"}},
		{ID: "done", Kind: "msg", Description: "Tell the user that the greeting CLI works and how to call it.", Status: blackboard.Unclaimed, Created: at(1), Plan: "plan-1", Notify: true, AfterPlan: true,
			Usage: &blackboard.Usage{CostCents: cost}},
	}...)
}

const spec = "# Greeting\n\nA small CLI.\n\n## Name\n\nWith --name the greeting names the person.\nNames may hold blanks.\n\n## File\n\nLater.\n"

const tree = "hello/\n  cli.py\n  names.py\nspecs/\n  vision.md\ntests/\n  test_cli.py\nKey files: README.md, pyproject.toml"

const diff = `diff --git a/hello/cli.py b/hello/cli.py
index 1..2 100644
--- a/hello/cli.py
+++ b/hello/cli.py
@@ -1,3 +1,5 @@
+def greet(name: str | None = None):
+    print(f"Hello, {name or 'world'}!")
diff --git a/tests/test_name.py b/tests/test_name.py
new file mode 100644
--- /dev/null
+++ b/tests/test_name.py
@@ -0,0 +1,2 @@
+def test_name(run):
+    assert run("--name", "Bob") == "Hello, Bob!"
`

func planner() Input {
	return Input{Kind: Planner, State: small(), Agent: "planner-1", Root: "/home/ada/hello", Worktree: "/home/ada/hello", Iteration: 1, SpecText: spec, RepoTree: tree}
}

func firstPlanning() Input {
	in := planner()
	in.State.SetTasks(nil, nil)
	in.State.Plans, in.State.Goal.PlanID = nil, ""
	in.Triggers = []transition.Trigger{{Kind: "INITIAL_PLANNING", IDs: []string{"goal-1"}}}
	return in
}

// woken is a planner that is woken because a task is blocked and a person wrote.
func woken() Input {
	in := planner()
	t := in.State.Task("task-2")
	t.Status, t.BlockedKind, t.BlockedReason = blackboard.Blocked, "stuck", "the spec does not say how names are separated"
	t.Attempted = blackboard.List{"looked for a format in specs/ and tests/"}
	in.State.Questions = []*blackboard.Question{{ID: "q-1", Task: "task-2", Agent: "coder-2", Kind: "blocked", Text: "One name per line?", Status: "answered", Answer: "Yes, and skip empty lines.", By: "ada"}}
	in.State.HumanNotes = []*blackboard.Note{
		{ID: "note-1", Timestamp: at(2), Message: "Keep the flags stable.", By: "ada", SeenBy: blackboard.List{"planner-1"}},
		{ID: "note-2", Timestamp: at(20), Message: "We also need --version.", By: "bob", CallerRole: "user"},
	}
	in.State.Discovered = []*blackboard.Discovery{{ID: "disc-1", By: "coder-1", During: "task-3", Description: "The help text names an old flag.", Severity: "low", Urgency: "deferred"}}
	in.Triggers = []transition.Trigger{{Kind: "BLOCKED_TASKS", IDs: []string{"task-2"}}, {Kind: "HUMAN_NOTE", IDs: []string{"note-2"}}}
	return in
}

func replanned() Input {
	in := planner()
	t := in.State.Task("task-3")
	t.Status, t.BlockedKind, t.BlockedReason = blackboard.Blocked, "replan", "argparse cannot meet the spec"
	t.Review = &blackboard.Review{Status: "replan", Reason: "argparse cannot do what specs/vision.md#name asks"}
	in.State.Goal.PlanID = "plan-2"
	in.State.Plans[0].Status = "superseded"
	in.State.Plans[0].Failure = &blackboard.PlanFailure{Task: "task-0", Reason: "a shell script cannot be tested"}
	in.State.Plans[0].Tried = blackboard.List{"code Greet by shell: blocked"}
	in.State.Plans = append(in.State.Plans, &blackboard.Plan{ID: "plan-2", Parent: "plan-1", Root: "plan-1", Goal: "A greeting CLI in Python", Status: "running", Created: at(5)})
	in.Triggers = []transition.Trigger{{Kind: "REPLAN", IDs: []string{"task-3"}}}
	return in
}

func coder() Input {
	s := small()
	return Input{Kind: Coder, State: s, Task: s.Task("task-3"), Agent: "coder-1", Worktree: "/home/ada/hello/.worktrees/task-3", Root: "/home/ada/hello", Model: "sonnet",
		Relevant: []File{{"hello/cli.py", "named in files"}, {"tests/test_cli.py", "has greet"}}, Changed: map[string][]string{},
		SpecText: spec, RepoTree: tree, Instructions: "Python 3.8 is the oldest version that we support."}
}

func reject(t *blackboard.Task) {
	t.Iteration, t.ReviewCyclesCurrent, t.ReviewCyclesTotal = 2, 1, 1
	t.RejectionReason = &blackboard.Rejection{Summary: "hello/cli.py:1 needs Python 3.10; the spec wants 3.8.", Findings: []*blackboard.Finding{
		{Severity: "error", Check: "code_quality", File: "hello/cli.py", Line: 1, Message: "str | None needs Python 3.10", Fix: "use Optional[str]", SpecRef: "specs/vision.md#name"},
		{Severity: "warning", File: "tests/test_name.py", Message: "no test for the empty name", Fix: "add one"}}}
	t.Fixes = []*blackboard.Fix{{N: 1, Kind: "code", Detail: "str | None needs Python 3.10", Expect: "use Optional[str]"}}
	t.Attempts = []*blackboard.Attempt{{Seq: 1, ClaimSeq: 1, Agent: "coder-1", Role: "implement", Outcome: "rejected", Summary: "Added the flag and its tests.", Commit: rejected}}
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(20), Event: "ready_for_review", Agent: "coder-1", Commit: rejected},
		&blackboard.HistoryEntry{Time: at(25), Event: "rejected", Agent: "code-reviewer-1", Commit: rejected, Reason: "hello/cli.py:1 needs Python 3.10; the spec wants 3.8."})
}

func rejectedCoder() Input {
	in := coder()
	in.Task.Type = "bug"
	reject(in.Task)
	in.Task.History = append(in.Task.History, &blackboard.HistoryEntry{Time: at(26), Event: "reclaimed_after_rejection", Agent: "coder-1", Iteration: 2})
	in.State.HumanNotes = []*blackboard.Note{{ID: "note-3", Timestamp: at(21), Message: "Bob prefers short greetings.", For: "task-3", By: "ada"}}
	in.State.Questions = []*blackboard.Question{{ID: "q-2", Task: "task-3", Text: "May names hold blanks?", Status: "answered", Answer: "Yes.", By: "ada"}}
	in.State.SpecChanges = []*blackboard.SpecChange{{Timestamp: at(15), Spec: "specs/vision.md#name", Change: "names may hold blanks"}}
	return in
}

func integrationFix() Input {
	in := coder()
	t := in.Task
	t.IntegrationFix, t.FixOnto, t.ApprovedCommit, t.Iteration, t.ClaimSeq = true, rejected, work, 2, 2
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(30), Event: "integration_failed", Agent: "system", Reason: "merge conflict", Files: blackboard.List{"hello/cli.py"}},
		&blackboard.HistoryEntry{Time: at(31), Event: "claimed_for_integration_fix", Agent: "coder-1"})
	in.State.Handoff = map[string]*blackboard.Handoff{"task-3": {Agent: "coder-2", Summary: "Conflict understood", NextAction: "Keep both flags in hello/cli.py"}}
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(32), Event: "handoff", Agent: "coder-2"})
	return in
}

func reviewer() Input {
	in := coder()
	in.Kind, in.Agent, in.RepoTree = Reviewer, "code-reviewer-1", ""
	t := in.Task
	t.Status, t.ReviewCommit, t.ReviewingBy = blackboard.ReadyForReview, work, "code-reviewer-1"
	t.LastOutcome = &blackboard.LastOutcome{Action: "COMPLETED", Summary: "Greets by name. Tests cover blanks.", EvidenceFiles: blackboard.List{"hello/cli.py", "tests/test_name.py"}, At: at(20)}
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(11), Event: "checkpoint", Agent: "coder-1", Checkpoint: &blackboard.Intent{Intent: "Parse --name with argparse", Validation: "python -m pytest",
		Assumptions: blackboard.List{"argparse is allowed"}, FilesToModify: blackboard.List{"hello/cli.py"}}},
		&blackboard.HistoryEntry{Time: at(20), Event: "ready_for_review", Agent: "coder-1", Commit: work})
	t.Review = &blackboard.Review{Checks: []*blackboard.Check{{Name: "tests_pass", Status: "passed", Severity: "error"},
		{Name: "lint_passes", Status: "failed", Severity: "warning", ExitCode: 1, Message: "line too long", Log: ".liza/output/task-3.check-lint_passes.log"}}}
	in.From, in.To = t.BaseCommit, work
	in.Diff, in.DiffStat = diff, " hello/cli.py       | 2 ++\n tests/test_name.py | 2 ++"
	return in
}

func secondReview() Input {
	in := reviewer()
	checkpoint := in.Task.History[2]
	reject(in.Task)
	in.Task.History = append(in.Task.History, &blackboard.HistoryEntry{Time: at(26), Event: "reclaimed_after_rejection", Agent: "coder-1"}, checkpoint)
	in.IntentLate = true
	in.Task.SpecHash, in.Task.ReviewSpecHash = "sha256:1", "sha256:2"
	return in
}

func messenger() Input {
	s := small()
	s.HumanNotes = []*blackboard.Note{{ID: "note-1", Timestamp: at(2), Message: "Tell me when --name works.", By: "ada", SeenBy: blackboard.List{"planner-1"}}}
	return Input{Kind: Messenger, State: s, Task: s.Task("done")}
}

func summarizing() Input {
	s := small()
	s.Goal.Summary = "Summary: a greeting CLI is wanted."
	return Input{Kind: Summarizer, State: s, Shorten: &Shorten{Text: "- ada: Names may hold blanks.\n- task-1: The CLI greets the world."}}
}

func consolidating() Input {
	in := summarizing()
	in.Shorten = &Shorten{Facts: true, Text: "fact-1: Tests run with pytest.\nfact-2: Run tests with pytest -q."}
	return in
}

func reask() Input {
	in := coder()
	in.Reask = &Reask{Broken: "All done!\n{\"action\": \"DONE\"}", Errors: "action 'DONE' must be COMPLETED, STUCK or RETRY; evidence_files is missing (it may be empty)", Attempt: 1, Max: 3}
	return in
}

func resumed() Input {
	in := reask()
	in.Reask.Resumed = true
	return in
}

// cases are one prompt of every kind and of every turn that work takes.
var cases = []struct {
	name string
	in   func() Input
}{
	{"planner-first", firstPlanning}, {"planner-woken", woken}, {"planner-replan", replanned},
	{"coder", coder}, {"coder-rejected", rejectedCoder}, {"coder-integration-fix", integrationFix}, {"coder-reask", reask}, {"coder-reask-resumed", resumed},
	{"reviewer", reviewer}, {"reviewer-second", secondReview}, {"messenger", messenger},
	{"summarizer-summary", summarizing}, {"summarizer-facts", consolidating},
}

// roleSettings choose the roles of the fixtures, as the settings of a new project do.
var roleSettings = role.Settings{
	Default:     "implement",
	TypeMapping: map[string]string{"bug": "fix", "refactor": "refactor", "test": "test"},
	ByKind:      map[string]string{"planner": "planner", "code_reviewer": "review", "messenger": "messenger", "summarizer": "summarizer"},
	Program:     "claude",
}

// withRole gives the input the built-in role that its task resolves to.
func withRole(in Input) Input {
	if in.Role == nil {
		if used, err := role.Builtin().Resolve(in.Kind, in.Task, roleSettings); err == nil {
			in.Role = used.Role
		}
	}
	return in
}

// text is a role file, for the roles of tests.
func roleOf(t *testing.T, text string) *role.Role { return roleIn(t, "own", text) }

// roleIn is the role of that name when a project has the text as its file.
func roleIn(t *testing.T, name, text string) *role.Role {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := role.Load(dir)
	r, err := l.Get(name)
	if err != nil {
		t.Fatalf("%v; %v", err, l.Findings())
	}
	return r
}

func build(t *testing.T, in Input) Prompt {
	t.Helper()
	p, err := Build(withRole(in))
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return p
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
}

func refuses(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q must not be there", part)
		}
	}
}
