package dashboard

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func rejectedTask() *blackboard.State {
	s := busy()
	t := s.TaskAt(1)
	n := blackboard.Amount(7)
	t.Description, t.DoneWhen, t.AcceptanceCriteria, t.Scope = "Parse --name\n\n  with argparse", "hello --name Bob prints 'Hello, Bob!'", blackboard.List{"an empty name exits 2"}, "IN: parsing"
	t.RejectionReason = &blackboard.Rejection{Summary: "needs 3.10", Findings: []*blackboard.Finding{{Severity: "error", File: "hello/cli.py", Line: 3, Message: "str | None", Fix: "Optional"}}, Prior: []*blackboard.Prior{{N: 1, State: "PARTIAL"}}}
	t.Fixes = []*blackboard.Fix{{N: 1, Detail: "use Optional", Expect: "3.8 passes"}}
	t.Attempts = []*blackboard.Attempt{{Seq: 1, Agent: "coder-1", Role: "implement", Outcome: "rejected", Summary: "Added the flag", Seconds: 61, CostCents: &n, Attic: "refs/liza/attic/task-2/1"}, {Seq: 2, Agent: "coder-1", Kind: "coder", Outcome: "crashed"}}
	t.Supersedes, t.SpecRef, t.Limits = blackboard.List{"task-9"}, "specs/vision.md#name", blackboard.Settings{"tokens": 5, "cost_cents": 100}
	t.History = append(t.History, &blackboard.HistoryEntry{Time: ago(4), Event: "checkpoint", Agent: "coder-1", Checkpoint: &blackboard.Intent{Intent: "Add --name", Validation: "pytest"}, Extra: map[string]any{"b": 2, "a": 1}})
	s.Questions = append(s.Questions, &blackboard.Question{ID: "q-4", Task: "task-2", Text: "May names hold blanks?", Status: "answered", Answer: "Yes."})
	return s
}

func TestThingsAreShownAsRecorded(t *testing.T) {
	t.Parallel()
	s := rejectedTask()
	golden(t, "show-task.txt", TaskText(s, "task-2"))
	golden(t, "show-blocked.txt", TaskText(s, "task-4"))
	golden(t, "show-agent.txt", TaskText(s, "coder-1"))
	golden(t, "show-question.txt", TaskText(s, "q-1"))
	golden(t, "show-discovery.txt", TaskText(s, "disc-1"))
	golden(t, "show-plan.txt", TaskText(s, "plan-2"))
	if PlanText(s, "") != TaskText(s, "plan-2") {
		t.Error("the plan in force is not plan-2")
	}
	if got := TaskText(s, "nothing"); got != "" {
		t.Errorf("an id that there is not shows %q", got)
	}
}

// Every field of a task that is set is somewhere in the text, also one that is added later.
func TestEveryFieldOfATaskIsShown(t *testing.T) {
	t.Parallel()
	task := &blackboard.Task{}
	v := reflect.ValueOf(task).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		name := "value of " + v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.String:
			f.SetString(name)
		case reflect.Int:
			f.SetInt(int64(700 + i))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf(blackboard.List{name}))
			}
		}
	}
	task.ID, task.Status = "task-1", blackboard.Blocked
	text := strings.ReplaceAll(TaskText((&blackboard.State{}).With(task), "task-1"), "_", " ") // a kind is shown without underscores
	for i := range v.NumField() {
		f, tag := v.Field(i), strings.Split(v.Type().Field(i).Tag.Get("yaml"), ",")[0]
		want := "value of " + v.Type().Field(i).Name
		switch {
		case tag == "id" || tag == "status":
			continue
		case f.Kind() == reflect.Int:
			want = strings.ReplaceAll(tag, "_", " ")
		case f.Kind() == reflect.Bool:
			want = strings.ReplaceAll(tag, "_", " ")
		case f.Kind() != reflect.String && (f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.String):
			continue
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s is not shown", tag)
		}
	}
}

func TestAnEntryAsJSONHasTheNamesOfTheFile(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(Plain(rejectedTask().TaskAt(1)))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(data), `"id":"task-2"`, `"done_when":"hello --name Bob prints 'Hello, Bob!'"`, `"depends_on":["task-1"]`, `"cost_cents":7`, `"findings":[{"file":"hello/cli.py","fix":"Optional","line":3`,
		`"limits":{"cost_cents":100,"tokens":5}`, `"a":1`, `"checkpoint":{"intent":"Add --name"`)
	if strings.Contains(string(data), "null") || Plain(nil) != nil || Plain((*blackboard.Task)(nil)) != nil {
		t.Errorf("nothing is written as something: %s", data)
	}
}

func TestALineOfTheJournalIsOneLine(t *testing.T) {
	t.Parallel()
	got := LogLine(blackboard.Entry{Timestamp: ago(5), Rev: 31, Agent: "system", Action: "merged", Task: "task-1", Detail: "merge commit\n77aa01b", Extra: map[string]any{"merge_commit": "77aa01b", "drift_commits": 2}})
	want := "2026-01-19T14:55:00Z system          merged             task-1     merge commit 77aa01b  drift_commits=2 merge_commit=77aa01b"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := LogLine(blackboard.Entry{Timestamp: ago(5), Agent: "human", Action: "paused"}); got != "2026-01-19T14:55:00Z human           paused             -" {
		t.Errorf("got %q", got)
	}
}
