package dashboard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// Each task of a board where nearly everything happens has a page, and lists are never null.
func TestEachTaskHasAPage(t *testing.T) {
	t.Parallel()
	s := busy()
	v := Build(s, facts())
	for i, task := range s.TaskList() {
		p := BuildTask(s, task, facts())
		if want := v.Tasks[i]; p.Task.ID != want.ID || p.Task.Status != want.Status || p.Task.Note != want.Note {
			t.Errorf("%s: the row of its page is another than that of the board: %+v", task.ID, p.Task)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []string{"criteria", "depends_on", "dependents", "attempts", "findings", "questions", "history", "waits_for_person"} {
			if !strings.Contains(string(data), `"`+list+`":[`) {
				t.Errorf("%s: %s is not a list", task.ID, list)
			}
		}
		if len(p.History) != len(task.History) || p.Archived {
			t.Errorf("%s: %d of %d entries, archived %v", task.ID, len(p.History), len(task.History), p.Archived)
		}
	}
}

func TestAPageTellsWhatIsToBeKnownOfATask(t *testing.T) {
	t.Parallel()
	s := busy()
	x := s.Task("task-2")
	cost := blackboard.Amount(12)
	x.AcceptanceCriteria, x.DoneWhen, x.Scope, x.SpecRef, x.BaseCommit, x.ReviewCommit = blackboard.List{"exits 0"}, "it greets", "IN: cli", "specs/vision.md#name", "b", "c"
	x.RejectionReason = &blackboard.Rejection{Summary: "no test"}
	x.Attempts = []*blackboard.Attempt{{Seq: 4, Agent: "coder-1", Kind: "coder", Outcome: "rejected", CostCents: &cost, Sandbox: "closed"}, {Seq: 5, Agent: "coder-1", Role: "implement", Action: "RETRY"}}
	x.History = append(x.History, &blackboard.HistoryEntry{Time: ago(4), Event: "checkpoint", Agent: "coder-1", Checkpoint: &blackboard.Intent{Intent: "Add --name", Validation: "make test", Assumptions: blackboard.List{"argparse"}, Risks: blackboard.List{"none"}, FilesToModify: blackboard.List{"a", "b"}}},
		&blackboard.HistoryEntry{Time: ago(3), Event: "rejected", Agent: "code-reviewer-1", Via: "human", Reason: "no test", Commit: "0123456789abcdef"})
	p := BuildTask(s, x, facts())
	if want := []string{"Add --name", "checked by: make test", "takes for granted: argparse", "risk: none", "files: a, b"}; !slices.Equal(p.Intent, want) {
		t.Errorf("intent %q", p.Intent)
	}
	if len(p.Attempts) != 2 || p.Attempts[0].Outcome != "rejected" || *p.Attempts[0].CostCents != 12 || p.Attempts[1].Kind != "implement" || p.Attempts[1].CostCents != nil {
		t.Errorf("attempts %+v", p.Attempts)
	}
	if len(p.DependsOn) != 1 || p.DependsOn[0] != (Link{"task-1", "Greet the world", blackboard.Merged}) || len(p.Dependents) != 2 || p.Dependents[1].ID != "task-10" {
		t.Errorf("%+v, %+v", p.DependsOn, p.Dependents)
	}
	if h := p.History[len(p.History)-1]; h.Text != "by a person for code-reviewer-1; no test; commit 012345678" || h.Action != "rejected" || h.Task != "task-2" {
		t.Errorf("history %+v", h)
	}
	if p.Rejection != "no test" || p.Base != "b" || p.Commit != "c" || p.Criteria[0] != "exits 0" {
		t.Errorf("%+v", p)
	}
	if p := BuildTask(s, s.Task("task-4"), facts()); len(p.Questions) != 1 || p.Questions[0].ID != "q-1" || len(p.Waits) != 1 || p.Waits[0].Next != `liza answer q-1 "en"` {
		t.Errorf("questions %+v, waits %+v", p.Questions, p.Waits)
	}
	if p := BuildTask(s, s.Task("task-6"), facts()); p.DependsOn[2] != (Link{ID: "gone"}) {
		t.Errorf("a dependency that is not on the board: %+v", p.DependsOn)
	}
	if p := BuildTask(&blackboard.State{}, finished("old"), facts()); !p.Archived || p.Task.Status != blackboard.Merged {
		t.Errorf("an archived task: %+v", p.Task)
	}
	BuildTask(nil, &blackboard.Task{}, Input{})

	gate := s.Task("task-7")
	gate.ReviewCommit = "c"
	s.HumanNotes = []*blackboard.Note{{For: "task-7", By: "ada", Commit: "c", Message: "why?", Timestamp: ago(0)}}
	if p := BuildTask(s, gate, facts()); len(p.Findings) != 1 || !p.Findings[0].Person || p.Waits[0].Next != "liza reject task-7" || !strings.HasSuffix(p.Waits[0].Text, "1 comment on it open") {
		t.Errorf("with a comment: %+v, %+v", p.Waits, p.Findings)
	}
}
