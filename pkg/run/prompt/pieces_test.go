package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
)

// canaries is a state and an input in which every piece carries a word of its own, for
// each kind of agent.
func canaries(k Kind) Input {
	s := small()
	s.Goal.Summary, s.Secrets = "CANARY-old-summary", []string{"CANARY-secret-name"}
	s.Facts = []*blackboard.Fact{{ID: "fact-1", Content: "CANARY-fact", Status: "active"}, {ID: "fact-2", Content: "CANARY-pending-fact", Status: "pending"}}
	s.SpecChanges = []*blackboard.SpecChange{{Timestamp: at(15), Spec: "specs/vision.md", Change: "CANARY-spec-change"}}
	t := s.Task("task-3")
	s.Goal.Description, s.Plans[0].Goal, s.Plans[0].Request = "x", "CANARY-goal", "CANARY-request"
	s.Plans[0].Failure, s.Plans[0].Tried = &blackboard.PlanFailure{Reason: "CANARY-replan-history"}, blackboard.List{"x"}
	s.Plans[0].Caller = &blackboard.Caller{Name: "CANARY-caller", Role: "user"}
	s.HumanNotes = []*blackboard.Note{
		{ID: "note-1", Timestamp: at(1), Message: "CANARY-old-note", SeenBy: blackboard.List{"planner-1"}, By: "ada"},
		{ID: "note-2", Timestamp: at(2), Message: "CANARY-new-note"},
		{ID: "note-3", Timestamp: at(3), Message: "CANARY-task-note", For: "task-3"},
		{ID: "note-4", Timestamp: at(4), Message: "CANARY-foreign-note", For: "task-2"},
	}
	s.Questions = []*blackboard.Question{{ID: "q-1", Task: "task-3", Text: "a", Status: "answered", Answer: "CANARY-answer"}, {ID: "q-2", Task: "task-2", Text: "b", Status: "answered", Answer: "CANARY-foreign-answer"}}
	s.Handoff = map[string]*blackboard.Handoff{"task-3": {Agent: "coder-1", Summary: "CANARY-coder-handoff"}, "task-2": {Agent: "coder-2", Summary: "CANARY-foreign-handoff"}}
	if k == Reviewer {
		s.Handoff["task-3"] = &blackboard.Handoff{Agent: "code-reviewer-2", Summary: "CANARY-review-handoff"}
	}
	s.Handoff["_planner"] = &blackboard.Handoff{Agent: "planner-1", Summary: "CANARY-planner-handoff"}
	s.Discovered = []*blackboard.Discovery{{ID: "disc-1", Description: "CANARY-discovery-now", Urgency: "immediate"}}
	s.Task("task-1").Description, s.Task("task-1").DoneWhen = "CANARY-replan-completed", "CANARY-foreign-criterion"
	s.AddTasks(&blackboard.Task{ID: "said", Kind: "msg", Status: blackboard.Merged, Output: &blackboard.Output{Text: "CANARY-delivered"}},
		&blackboard.Task{ID: "old", Status: blackboard.Superseded, Title: "old", RescopeReason: "CANARY-replaced"},
		&blackboard.Task{ID: "other", Status: blackboard.Unclaimed, Title: "CANARY-board-title"},
		&blackboard.Task{ID: "busy", Status: blackboard.Claimed, Title: "busy", AssignedTo: "coder-3"})
	s.Task("task-1").LastOutcome.Summary = "CANARY-related"
	s.Task("task-2").Title = "CANARY-session"
	s.Task("task-2").RejectionReason = &blackboard.Rejection{Summary: "CANARY-foreign-rejection", Findings: []*blackboard.Finding{{Message: "CANARY-foreign-finding"}}}
	s.Task("task-2").Attempts = []*blackboard.Attempt{{Seq: 1, Summary: "CANARY-foreign-attempt"}}
	s.Task("task-4").Title, s.Task("task-4").Description = "CANARY-dependent", "CANARY-dependent-description"
	t.Title, t.Scope, t.Supersedes = "CANARY-title", "CANARY-scope", blackboard.List{"old"}
	t.Description, t.DoneWhen, t.AcceptanceCriteria = "CANARY-task", "CANARY-done-when", blackboard.List{"CANARY-criterion"}
	t.LastOutcome, t.ReviewCommit = &blackboard.LastOutcome{Summary: "CANARY-summary", EvidenceFiles: blackboard.List{"CANARY-evidence"}}, work
	t.Review = &blackboard.Review{Checks: []*blackboard.Check{{Name: "CANARY-check", Status: "failed"}}, Reason: "CANARY-verdict"}
	t.RejectionReason = &blackboard.Rejection{Summary: "CANARY-rejection", Findings: []*blackboard.Finding{{Message: "CANARY-finding"}}}
	t.Fixes = []*blackboard.Fix{{N: 1, Detail: "CANARY-fix"}}
	t.Output = &blackboard.Output{Text: "CANARY-output"}
	t.Attempts = []*blackboard.Attempt{{Seq: 1, Agent: "coder-1", Summary: "CANARY-attempt"}}
	t.BlockedReason = "CANARY-blocked"
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(11), Event: "checkpoint", Agent: "coder-1", Checkpoint: &blackboard.Intent{Intent: "CANARY-intent", Validation: "v"}})
	in := Input{Kind: k, State: s, Task: t, Agent: "CANARY-identity", Worktree: "/CANARY-worktree", Root: "/CANARY-root", SpecText: "CANARY-spec", RepoTree: "CANARY-tree", Diff: "CANARY-diff", DiffStat: "CANARY-stat",
		Instructions: "CANARY-instructions", Skills: "CANARY-skill", Relevant: []File{{"CANARY-relevant", "x"}}, Changed: map[string][]string{"busy": {"CANARY-changed-file"}},
		Shorten: &Shorten{Text: "CANARY-compress"}}
	switch k {
	case Planner:
		in.Worktree = in.Root
		t.Status = blackboard.Blocked
		in.Triggers = []transition.Trigger{{Kind: "BLOCKED_TASKS", IDs: []string{"task-3"}}, {Kind: "IMMEDIATE_DISCOVERY", IDs: []string{"disc-1"}}}
	case Messenger:
		in.Task = s.Task("done")
		in.Task.Description = "CANARY-task"
	case Reviewer:
		t.Status = blackboard.ReadyForReview
	}
	return in
}

// cells are the canaries of each row of the matrix. What the matrix says about the row says
// who may see them; only says so for those that fewer kinds see.
var cells = []struct {
	piece    Piece
	canaries string
	only     string // kinds by letter: planner, coder, reviewer, messenger, summarizer
}{
	{piece: "goal", canaries: "goal"},
	{piece: "request", canaries: "request"},
	{piece: "new_message", canaries: "new-note"}, // new to the planner; a message of the conversation for the messenger
	{piece: "messages", canaries: "old-note delivered"},
	{piece: "summary", canaries: "old-summary"},
	{piece: "facts", canaries: "fact"},
	{piece: "skills", canaries: "skill"},
	{piece: "caller_role", canaries: "caller secret-name"},
	{piece: "board", canaries: "board-title"},
	{piece: "wake", canaries: "blocked discovery-now"},
	{piece: "replan", canaries: "replan-history replan-completed verdict"},
	{piece: "task", canaries: "title scope", only: "CR"},
	{piece: "task", canaries: "task"},
	{piece: "criteria", canaries: "done-when criterion"},
	{piece: "spec", canaries: "spec spec-change"},
	{piece: "output", canaries: "summary evidence diff stat output"},
	{piece: "checks", canaries: "check"},
	{piece: "intent", canaries: "intent"},
	{piece: "rejection", canaries: "rejection finding fix"},
	{piece: "prior_attempts", canaries: "attempt"},
	{piece: "session_context", canaries: "session changed-file"},
	{piece: "related_tasks", canaries: "related dependent replaced"},
	{piece: "repo_structure", canaries: "tree"},
	{piece: "relevant_files", canaries: "relevant"},
	{piece: "task_notes", canaries: "task-note"},
	{piece: "answers", canaries: "answer"},
	{piece: "handoff", canaries: "planner-handoff", only: "P"},
	{piece: "handoff", canaries: "coder-handoff", only: "C"},
	{piece: "handoff", canaries: "review-handoff", only: "R"},
	{piece: "custom_instructions", canaries: "instructions"},
	{piece: "compress", canaries: "compress"},
	{piece: "verbs", canaries: ""}, // "## Commands"
	{piece: "run", canaries: "identity root"},
	{piece: "run", canaries: "worktree", only: "CR"},
	{piece: "", only: "-", canaries: "foreign-note foreign-answer foreign-handoff foreign-criterion foreign-rejection foreign-finding foreign-attempt dependent-description pending-fact"},
}

// onBoard are canaries that the planner sees beside their piece, on the board and among
// the causes: the title, attempts, questions and answers of the tasks that woke it.
var onBoard = strings.Fields("answer attempt session dependent title")

// K-17: every cell of the matrix is as the table says, the negative ones included.
func TestEveryCellOfTheMatrix(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for i, k := range role.Kinds {
		text := build(t, canaries(k)).Text
		letter := "PCRMS"[i : i+1]
		if has, want := strings.Contains(text, "\n## Commands\n"), Piece("verbs").For(k) == role.Given; has != want {
			t.Errorf("a %s has commands: %t, want %t", k, has, want)
		}
		for _, cell := range cells {
			access := cell.piece.For(k)
			for _, canary := range strings.Fields(cell.canaries) {
				known["CANARY-"+canary] = true
				want := access == role.Given || access == role.Optional
				if cell.only != "" {
					want = want && strings.Contains(cell.only, letter)
				}
				switch {
				case k == Planner && slices.Contains(onBoard, canary), k == Messenger && canary == "new-note":
					want = true
				}
				if has := slices.Contains(words(text), "CANARY-"+canary); has != want {
					t.Errorf("%s, piece %s: the canary %s is there: %t, want %t", k, cell.piece, canary, has, want)
				}
			}
		}
		for _, w := range words(text) {
			if strings.HasPrefix(w, "CANARY-") && !known[w] {
				t.Errorf("%s has the canary %s, which belongs to no cell", k, w)
			}
		}
	}
	for _, row := range role.Matrix {
		if !slices.ContainsFunc(cells, func(c struct {
			piece    Piece
			canaries string
			only     string
		}) bool {
			return c.piece == row.Piece
		}) {
			t.Errorf("the piece %s has no canary", row.Piece)
		}
	}
}

// Under pressure pieces go; nothing comes that the kind may not have.
func TestNoPressureGivesAKindWhatItMayNotHave(t *testing.T) {
	t.Parallel()
	for i, k := range role.Kinds {
		for _, limit := range []int{30000, 8000, 100} {
			in := canaries(k)
			in.Instructions, in.MaxChars = strings.Repeat("CANARY-instructions ", 5000), limit
			seen := words(build(t, in).Text)
			for _, cell := range cells {
				for _, canary := range strings.Fields(cell.canaries) {
					denied := cell.piece.For(k) == role.Never || cell.only != "" && !strings.Contains(cell.only, "PCRMS"[i:i+1])
					if denied && slices.Contains(seen, "CANARY-"+canary) && (k != Planner || !slices.Contains(onBoard, canary)) && (k != Messenger || canary != "new-note") {
						t.Errorf("%s, limit %d: the canary %s of the piece %s is there", k, limit, canary, cell.piece)
					}
				}
			}
		}
	}
}

// The same for templates: a field exists for a kind if and only if the matrix gives it the
// field's piece, and no field carries anything else than its piece.
func TestTemplatesGetTheFieldsOfTheirKindOnly(t *testing.T) {
	t.Parallel()
	for i, k := range role.Kinds {
		in := withRole(canaries(k))
		if k == Planner || k == Summarizer {
			in.Task = nil
		}
		data := in.data()
		for _, f := range role.Fields {
			if _, has := data[f.Name]; has != f.For(k) {
				t.Errorf("%s: the field .%s exists: %t", k, f.Name, has)
			}
		}
		all := words(fmt.Sprint(data))
		for _, cell := range cells {
			for _, canary := range strings.Fields(cell.canaries) {
				denied := cell.piece.For(k) == role.Never || cell.only != "" && !strings.Contains(cell.only, "PCRMS"[i:i+1])
				if denied && slices.Contains(all, "CANARY-"+canary) && (k != Planner || !slices.Contains(onBoard, canary)) && (k != Messenger || canary != "new-note") {
					t.Errorf("%s: a template can print the canary %s of the piece %s", k, canary, cell.piece)
				}
			}
		}
	}
}

// What a role leaves out of its context_requirements is not gathered; other pieces are.
func TestARoleLeavesOutWhatItDoesNotWant(t *testing.T) {
	t.Parallel()
	in := canaries(Coder)
	in.Role = roleOf(t, "name: own\ndescription: d\ninstructions: i\nllm_model: default\ncontext_requirements: [relevant_files]\n")
	text := build(t, in).Text
	wants(t, text, "CANARY-relevant", "CANARY-task", "CANARY-done-when", "CANARY-rejection", "CANARY-answer", "CANARY-task-note")
	refuses(t, text, "CANARY-tree", "CANARY-fact", "CANARY-session", "CANARY-related", "CANARY-attempt")
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '-' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}

func TestAReplanGetsItsFourBlocksAndOthersDoNot(t *testing.T) {
	t.Parallel()
	in := canaries(Planner)
	in.Task = nil
	blocks := []string{"## Completed", "## Remaining", "## Failure", "## Earlier plans", "CANARY-replan-history", "CANARY-replan-completed", "CANARY-verdict"}
	refuses(t, build(t, in).Text, blocks...)
	for _, kind := range []string{"REPLAN", "HYPOTHESIS_EXHAUSTED"} {
		in.Triggers = []transition.Trigger{{Kind: transition.TriggerKind(kind), IDs: []string{"task-3"}}}
		wants(t, build(t, in).Text, blocks...)
	}
}

func TestEverySectionHasALineInTheMatrixAndBack(t *testing.T) {
	t.Parallel()
	var made []Piece
	for _, s := range sections {
		if s.piece != "" && !slices.ContainsFunc(role.Matrix, func(r role.Row) bool { return r.Piece == s.piece }) {
			t.Errorf("the section %s has the piece %s, which is not in the matrix", s.name, s.piece)
		}
		made = append(made, s.piece)
	}
	for i, r := range role.Matrix {
		if len(r.Access) != len(role.Kinds) || strings.Trim(r.Access, "YOR-") != "" {
			t.Errorf("%s: access %q", r.Piece, r.Access)
		}
		if !slices.Contains(made, r.Piece) {
			t.Errorf("no section gives the piece %s", r.Piece)
		}
		if slices.ContainsFunc(role.Matrix[:i], func(o role.Row) bool { return o.Piece == r.Piece }) {
			t.Errorf("%s stands twice in the matrix", r.Piece)
		}
	}
	for _, q := range squeeze {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == q.section }) {
			t.Errorf("the budget names the section %s, which there is not", q.section)
		}
	}
	if Piece("unheard-of").For(Coder) != role.Never {
		t.Error("a piece that is not in the matrix is given")
	}
}

// Headings of a reviewer's and a coder's prompt in the order of 2.2.
func TestSectionsStandInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"coder-rejected": {"Rules", "Commands", "How to finish", "Project instructions", "Goal", "Known facts", "Repository", "Task", "Done when", "Spec", "Related tasks", "Relevant files", "Who else is at work", "This run"},
		"planner-woken":  {"Rules", "Commands", "How to finish", "Goal", "Known facts", "Repository", "Spec", "This run", "Caller", "New message", "Why you run", "Causes", "Board", "Messages so far"},
	} {
		i := slices.IndexFunc(cases, func(c struct {
			name string
			in   func() Input
		}) bool {
			return c.name == name
		})
		var got []string
		fenced := false
		for _, l := range strings.Split(build(t, cases[i].in()).Text, "\n") {
			fenced = strings.HasPrefix(l, "<<<liza ") || fenced && !strings.HasSuffix(l, " liza>>>")
			if h, ok := strings.CutPrefix(l, "## "); ok && !fenced {
				got = append(got, h)
			}
		}
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: sections %q, want %q first", name, got, want)
		}
	}
}

func TestTwoTasksOfOneRoleShareTheBeginning(t *testing.T) {
	t.Parallel()
	one, other := coder(), coder()
	other.Task = other.State.Task("task-2")
	other.Agent, other.Worktree, other.Model = "coder-2", "/elsewhere", "opus"
	a, b := build(t, one).Text, build(t, other).Text
	stable := a[:strings.Index(a, "## Task\n")]
	if !strings.HasPrefix(b, stable) {
		t.Errorf("the prompts differ before the task: %s", firstDifference(b, a))
	}
	wants(t, stable, "## Rules", "## Commands", "## How to finish", "## Project instructions", "## Goal", "## Repository")
}

func TestAHandoffIsShownToTheSameKindUntilTheWorkWentOn(t *testing.T) {
	t.Parallel()
	in := integrationFix()
	wants(t, build(t, in).Text, "## Handoff", "Keep both flags")
	in.Task.History = append(in.Task.History, &blackboard.HistoryEntry{Time: at(33), Event: "ready_for_review", Agent: "coder-2"})
	refuses(t, build(t, in).Text, "## Handoff")
	in = integrationFix()
	in.State.Handoff["task-3"].Agent = "code-reviewer-1"
	refuses(t, build(t, in).Text, "## Handoff")
}

func TestAReviewerIsToldAboutAMissingIntent(t *testing.T) {
	t.Parallel()
	in := reviewer()
	wants(t, build(t, in).Text, "The intent was recorded before the work.", "Parse --name with argparse")
	in.IntentLate = true
	wants(t, build(t, in).Text, "after the first commit")
	in.Task.History = slices.DeleteFunc(in.Task.History, func(h *blackboard.HistoryEntry) bool { return h.Event == "checkpoint" })
	wants(t, build(t, in).Text, "No intent was recorded")
	in.State.Config = blackboard.Settings{"pre_execution_checkpoint": "off"}
	refuses(t, build(t, in).Text, "Intent of the coder", "- [ ] Intent")
}

func TestTheChecklistFitsTheTask(t *testing.T) {
	t.Parallel()
	in := reviewer()
	wants(t, build(t, in).Text, "- [ ] Tests:", "- [ ] Patterns:", "- [ ] Security:", "- [ ] Completeness:", "- [ ] Spec:", "- [ ] Scope:", "- [ ] Intent:")
	refuses(t, build(t, in).Text, "- [ ] Prior feedback:", "- [ ] No tests:")
	wants(t, build(t, secondReview()).Text, "- [ ] Prior feedback:", "Review number 2", "judge by what it says now")
	in.Task.NoTests = &blackboard.NoTests{Reason: "only comments change"}
	wants(t, build(t, in).Text, "- [ ] No tests:", "Submitted without tests: only comments change")
	in.Task.Kind, in.Task.Output = "exec", &blackboard.Output{Text: "all 12 tests pass", ExitCode: 0, Path: ".liza/output/task-3.log"}
	text := build(t, in).Text
	wants(t, text, "zero alone is not proof", "all 12 tests pass")
	refuses(t, text, "- [ ] Tests:", "- [ ] Patterns:")
}

func TestPointsOfARejectionAreNumberedAsTheVerdictNamesThem(t *testing.T) {
	t.Parallel()
	in := rejectedCoder()
	wants(t, build(t, in).Text, "1. [error] hello/cli.py:1 code_quality: str | None needs Python 3.10; fix: use Optional[str]; spec: specs/vision.md#name", "- also: [warning] tests/test_name.py")
	in.Task.Fixes = nil
	wants(t, build(t, in).Text, "1. [error] hello/cli.py:1", "2. [warning] tests/test_name.py")
	in.Task.RejectionReason.Findings = nil
	wants(t, build(t, in).Text, "1. hello/cli.py:1 needs Python 3.10")
	in.Task.Fixes = []*blackboard.Fix{{N: 1, Kind: "exec", Detail: "run black", Expect: "no diff", ExitCode: 2, Output: "not found"}}
	wants(t, build(t, in).Text, "1. exec: run black; expected: no diff; ran with exit code 2: not found")
}
