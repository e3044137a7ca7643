package prompt

import (
	"slices"
	"strings"
	"testing"

	"liza/pkg/blackboard"
)

// canaries is a state and an input in which every piece carries a word of its own, for
// each kind of agent.
func canaries(k Kind) Input {
	s := small()
	t := s.Task("task-3")
	s.Goal.Description, s.Plans[0].Goal, s.Plans[0].Request = "CANARY-description", "CANARY-goal", "CANARY-request"
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
	s.Task("task-1").Description, s.Task("task-1").DoneWhen = "CANARY-merged-description", "CANARY-foreign-criterion"
	s.Task("task-1").LastOutcome.Summary = "CANARY-related"
	s.Task("task-2").Title = "CANARY-session"
	s.Task("task-2").RejectionReason = &blackboard.Rejection{Summary: "CANARY-foreign-rejection", Findings: []*blackboard.Finding{{Message: "CANARY-foreign-finding"}}}
	s.Task("task-2").Attempts = []*blackboard.Attempt{{Seq: 1, Summary: "CANARY-foreign-attempt"}}
	s.Task("task-4").Title, s.Task("task-4").Description = "CANARY-dependent", "CANARY-dependent-description"
	t.Description, t.DoneWhen, t.AcceptanceCriteria = "CANARY-task", "CANARY-done-when", blackboard.List{"CANARY-criterion"}
	t.LastOutcome, t.ReviewCommit = &blackboard.LastOutcome{Summary: "CANARY-summary", EvidenceFiles: blackboard.List{"CANARY-evidence"}}, work
	t.Review = &blackboard.Review{Checks: []*blackboard.Check{{Name: "CANARY-check", Status: "failed"}}, Reason: "CANARY-verdict"}
	t.RejectionReason = &blackboard.Rejection{Summary: "CANARY-rejection"}
	t.Attempts = []*blackboard.Attempt{{Seq: 1, Agent: "coder-1", Summary: "CANARY-attempt"}}
	t.BlockedReason = "CANARY-blocked"
	t.History = append(t.History, &blackboard.HistoryEntry{Time: at(11), Event: "checkpoint", Agent: "coder-1", Checkpoint: &blackboard.Intent{Intent: "CANARY-intent", Validation: "v"}})
	in := Input{Kind: k, State: s, Task: t, Agent: "CANARY-identity", Worktree: "/CANARY-worktree", Root: "/CANARY-root", SpecText: "CANARY-spec", RepoTree: "CANARY-tree", Diff: "CANARY-diff", DiffStat: "CANARY-stat",
		Instructions: "CANARY-instructions"}
	switch k {
	case Planner:
		t.Status = blackboard.Blocked
		in.Triggers = []blackboard.Trigger{{Kind: "BLOCKED_TASKS", IDs: []string{"task-3"}}}
	case Messenger:
		in.Task = s.Task("done")
		in.Task.Description = "CANARY-task"
	case Reviewer:
		t.Status = blackboard.ReadyForReview
	}
	return in
}

// givenTo says which kinds may see a canary; P, C, R, M stand for Kinds.
var givenTo = map[string]string{
	"goal": "PCR", "request": "R", "description": "", "old-note": "PM", "new-note": "PM", "task-note": "CR", "foreign-note": "", "caller": "P", "answer": "PC", "foreign-answer": "",
	"coder-handoff": "C", "review-handoff": "R", "foreign-handoff": "", "merged-description": "", "foreign-criterion": "", "related": "C", "session": "PC", "foreign-rejection": "", "foreign-finding": "",
	"foreign-attempt": "", "dependent": "PC", "dependent-description": "", "task": "CRM", "done-when": "CR", "criterion": "CR", "summary": "R", "evidence": "R", "check": "R", "verdict": "", "rejection": "CR",
	"attempt": "PC", "blocked": "P", "intent": "R", "identity": "PCR", "worktree": "CR", "root": "PCR", "spec": "PCR", "tree": "PC", "diff": "R", "stat": "R", "instructions": "PCRM", "replan-history": "",
}

func TestEveryKindGetsItsPiecesAndNoOthers(t *testing.T) {
	t.Parallel()
	for i, k := range Kinds {
		text := build(t, canaries(k)).Text
		for canary, kinds := range givenTo {
			has := slices.Contains(words(text), "CANARY-"+canary)
			if want := strings.Contains(kinds, "PCRM"[i:i+1]); has != want {
				t.Errorf("the prompt of a %s has the canary %s: %t, want %t", k, canary, has, want)
			}
		}
	}
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '-' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}

func TestAReplanGetsItsFourBlocksAndOthersDoNot(t *testing.T) {
	t.Parallel()
	in := canaries(Planner)
	in.Task = nil
	blocks := []string{"## Completed", "## Remaining", "## Failure", "## Earlier plans", "CANARY-replan-history", "CANARY-merged-description", "CANARY-verdict"}
	refuses(t, build(t, in).Text, blocks...)
	for _, kind := range []string{"REPLAN", "HYPOTHESIS_EXHAUSTED"} {
		in.Triggers = []blackboard.Trigger{{Kind: kind, IDs: []string{"task-3"}}}
		wants(t, build(t, in).Text, blocks...)
	}
}

func TestEverySectionHasALineInTheMatrixAndBack(t *testing.T) {
	t.Parallel()
	var made []Piece
	for _, s := range sections {
		if !slices.ContainsFunc(Matrix, func(r Row) bool { return r.Piece == s.piece }) {
			t.Errorf("the section %s has the piece %s, which is not in the matrix", s.name, s.piece)
		}
		made = append(made, s.piece)
	}
	for i, r := range Matrix {
		if len(r.Access) != len(Kinds) || strings.Trim(r.Access, "YR-") != "" {
			t.Errorf("%s: access %q", r.Piece, r.Access)
		}
		if !slices.Contains(made, r.Piece) {
			t.Errorf("no section gives the piece %s", r.Piece)
		}
		if slices.ContainsFunc(Matrix[:i], func(o Row) bool { return o.Piece == r.Piece }) {
			t.Errorf("%s stands twice in the matrix", r.Piece)
		}
	}
	for _, q := range squeeze {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == q.section }) {
			t.Errorf("the budget names the section %s, which there is not", q.section)
		}
	}
	if Piece("unheard-of").For(Coder) != Never {
		t.Error("a piece that is not in the matrix is given")
	}
}

// Headings of a reviewer's and a coder's prompt in the order of 2.2.
func TestSectionsStandInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"coder-rejected": {"Rules", "Commands", "How to finish", "Project instructions", "Goal", "Repository", "Task", "Done when", "Spec", "Related tasks", "Who else is at work", "This run"},
		"planner-woken":  {"Rules", "Commands", "How to finish", "Goal", "Repository", "Spec", "This run", "Caller", "New message", "Why you run", "Causes", "Board", "Messages so far"},
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
	wants(t, text, "zero alone is no proof", "all 12 tests pass")
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
