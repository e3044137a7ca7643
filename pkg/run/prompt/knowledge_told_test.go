package prompt

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// What was found on the way is in every planner's prompt until it is decided, what is
// put off too; what woke the planner is with the causes (specs/protocol.md#13.10).
func TestDiscoveriesThatAreNotDecidedAreInEveryPlannersPrompt(t *testing.T) {
	t.Parallel()
	in := woken()
	in.State.Discovered = []*blackboard.Discovery{
		{ID: "disc-1", During: "task-2", Description: "WAKES", Severity: "high", Urgency: "immediate", Recommendation: "at once"},
		{ID: "disc-2", Description: "IMMEDIATE-BEFORE", Urgency: "immediate", Recommendation: "look"},
		{ID: "disc-3", Description: "CAN-WAIT", Severity: "medium", Urgency: "deferred"},
		{ID: "disc-4", Description: "PUT-OFF", Urgency: "immediate", Deferred: &blackboard.Deferred{By: "ada", Reason: "next sprint"}},
		{ID: "disc-5", Description: "DECIDED", Urgency: "immediate", ConvertedToTask: "task-2"}}
	in.Triggers = append(in.Triggers, transition.Trigger{Kind: "IMMEDIATE_DISCOVERY", IDs: []string{"disc-1"}})
	text := build(t, in).Text
	wants(t, text, "- disc-1 (high, during task-2): WAKES; recommended: at once", "- discovery disc-2 (low): IMMEDIATE-BEFORE; recommended: look",
		"- discovery disc-3 (medium): CAN-WAIT", "- discovery disc-4 (low) deferred, next sprint: PUT-OFF")
	refuses(t, text, "DECIDED", "discovery disc-1")
	if n := strings.Count(text, "WAKES"); n != 1 {
		t.Errorf("what woke the planner is told %d times", n)
	}
}

func TestAPlannerWokenByASpecChangeKnowsWhatChanged(t *testing.T) {
	t.Parallel()
	in := woken()
	elsewhere := &blackboard.SpecChange{Timestamp: at(15), Spec: "specs/other.md#b", Change: "ELSEWHERE"}
	in.State.SpecChanges = []*blackboard.SpecChange{elsewhere, {Timestamp: at(16), Spec: "specs/third.md", Change: "NOT-YET"}}
	in.Triggers = append(in.Triggers, transition.Trigger{Kind: "SPEC_CHANGED", IDs: []string{transition.ID(elsewhere)}})
	text := build(t, in).Text
	wants(t, text, "- spec changed: specs/other.md#b: ELSEWHERE")
	refuses(t, text, "NOT-YET")
}

// P-093: the reviewer's prompt says that the spec is another one than at the claim; a coder's
// and an unchanged one say nothing.
func TestAReviewerIsToldThatTheSpecChanged(t *testing.T) {
	t.Parallel()
	in := secondReview()
	in.Task.SpecHash, in.Task.ReviewSpecHash = "sha256:0123456789abcdef0123", "sha256:fedcba9876543210fedc"
	wants(t, build(t, in).Text, "changed after the task was claimed (sha256:0123456789ab at the claim, sha256:fedcba987654 now): judge by what it says now")
	in.Task.ReviewSpecHash = in.Task.SpecHash
	refuses(t, build(t, in).Text, "changed after the task was claimed")
}

// P-150: the successor's prompt has what the agent before it left; one of another role does not.
func TestTheSuccessorsPromptHasTheHandoff(t *testing.T) {
	t.Parallel()
	in := coder()
	in.State.Handoff = map[string]*blackboard.Handoff{in.Task.ID: {Agent: "coder-1", Summary: "PARSER-DONE", NextAction: "WRITE-WRITER", NextSteps: blackboard.List{"THEN-TESTS"}}}
	in.Task.History = append(in.Task.History, &blackboard.HistoryEntry{Time: at(30), Event: "handoff", Agent: "coder-1"})
	text := build(t, in).Text
	wants(t, text, "PARSER-DONE", "WRITE-WRITER", "THEN-TESTS", "ran out of context")
	in.State.Handoff[in.Task.ID].Agent = "code-reviewer-1"
	refuses(t, build(t, in).Text, "PARSER-DONE", "ran out of context")
}

// The root cause of an exhausted task is in its replacement's prompt (specs/protocol.md#13.8).
func TestAReplacementsPromptHasTheRootCause(t *testing.T) {
	t.Parallel()
	in := coder()
	in.State.AddTasks(&blackboard.Task{ID: "old", Title: "One big step", Status: blackboard.Superseded, RescopeReason: "two formats in one task",
		RootCause: "LIBFOO-HAS-NO-STREAMING", SupersededBy: blackboard.List{in.Task.ID}})
	in.Task.Supersedes = blackboard.List{"old"}
	wants(t, build(t, in).Text, "- replaces old One big step: two formats in one task; root cause: LIBFOO-HAS-NO-STREAMING")
}
