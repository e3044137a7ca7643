package dashboard

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

var update = flag.Bool("update", false, "write the golden texts anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from testdata/%s; if that is meant: go test ./pkg/face/dashboard -update\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

func TestTheBoardIsDrawnAsRecorded(t *testing.T) {
	t.Parallel()
	golden(t, "status-80.txt", Text(Build(busy(), facts()), 80, false))
	golden(t, "status-120.txt", Text(Build(busy(), facts()), 120, false))
	golden(t, "status-colour.txt", Text(Build(busy(), facts()), 80, true))
	golden(t, "status-empty.txt", Text(Build(&blackboard.State{}, Input{Now: now}), 80, false))
	golden(t, "status-300.txt", Text(Build(crowd(300), Input{Now: now}), 80, false))
}

func TestTheViewAsJSONIsAsRecorded(t *testing.T) {
	t.Parallel()
	data, err := json.MarshalIndent(Build(busy(), facts()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "status.json", string(data)+"\n")
	if data, _ = json.Marshal(Build(nil, Input{})); strings.Contains(string(data), "null") {
		t.Errorf("an empty view has null instead of an empty list: %s", data)
	}
}

func TestNoLineIsWiderThanThePage(t *testing.T) {
	t.Parallel()
	s := busy()
	s.TaskAt(1).Title = strings.Repeat("very long ", 50)
	s.TaskAt(2).ID = strings.Repeat("i", 64)
	s.TaskAt(2).Title = strings.Repeat("👩‍👩‍👧é漢", 40)
	s.Goal.Description = strings.Repeat("Ziel ", 100)
	s.Agents["coder-1"].CurrentTask = strings.Repeat("i", 64)
	for _, width := range []int{80, 100, 133, 200} {
		for _, l := range strings.Split(Text(Build(s, facts()), width, false), "\n") {
			if command := strings.HasPrefix(l, "    liza "); WidthOf(l) > width && !command {
				t.Errorf("width %d: %d columns in %q", width, WidthOf(l), l)
			}
		}
	}
	if text := Text(Build(s, facts()), 0, false); text == "" {
		t.Error("a page without width is empty")
	}
}

func TestThreeHundredTasksFitOneScreen(t *testing.T) {
	t.Parallel()
	text := Text(Build(crowd(300), Input{Now: now}), 80, false)
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("%d lines", n)
	}
	wants(t, text, "290 MERGED", "CLAIMED", "task-51", "… and 280 more")
}

func TestColoursAreOnlyThereWhenAskedFor(t *testing.T) {
	t.Parallel()
	v := Build(busy(), facts())
	plainText, coloured := Text(v, 80, false), Text(v, 80, true)
	if strings.Contains(plainText, "\x1b") {
		t.Error("a text without colour has escape sequences")
	}
	stripped := coloured
	for _, c := range []colour{faint, red, green, yellow, blue, cyan, bold, "0"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+string(c)+"m", "")
	}
	if stripped != plainText {
		t.Errorf("colours change the text:\n%s\nwant\n%s", stripped, plainText)
	}
}

func TestTextFromOutsideCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2Jb\x07\u202ec\nd\u2028e\xff"
	s := busy()
	for task := range s.Tasks() {
		task.ID, task.Title, task.Description, task.BlockedReason, task.AssignedTo = evil+task.ID, evil, evil, evil, evil
		task.DependsOn, task.SupersededBy = blackboard.List{evil}, blackboard.List{evil}
		for _, h := range task.History {
			h.Reason, h.Agent, h.Event = evil, evil, blackboard.HistoryEvent(evil)
		}
	}
	s.Questions[0].Text, s.Questions[1].Text, s.Questions[1].ID, s.Goal.Description = evil, evil, evil, evil
	s.Agents[evil] = &blackboard.Agent{Role: blackboard.Role(evil), Status: evil, WaitingFor: evil, CLI: evil}
	s.Plans[1].Goal, s.Discovered[0].Description = evil, evil
	f := facts()
	f.Warnings = []string{evil}
	f.Control = append(f.Control, Control{Name: evil, Reason: evil})
	texts := []string{Text(Build(s, f), 80, false), TaskText(s, s.TaskAt(3).ID), TaskText(s, evil), PlanText(s, ""), TaskText(s, "disc-1"),
		LogLine(blackboard.Entry{Agent: evil, Action: blackboard.Action(evil), Task: evil, Detail: evil, Extra: map[string]any{evil: evil}}), GraphText(s), newGraph(s).mermaid()}
	for _, text := range texts {
		if text == "" || strings.ContainsAny(text, "\x1b\x07\u202e\u2028") {
			t.Errorf("control characters reach the terminal: %q", text)
		}
	}
}

func TestMissingSectionsNeverPanic(t *testing.T) {
	t.Parallel()
	odd := (&blackboard.State{
		Agents:    map[string]*blackboard.Agent{"": {}, "odd": {}},
		Questions: []*blackboard.Question{{Status: "open"}}, Plans: []*blackboard.Plan{{ID: "p", Parent: "p"}}, Discovered: []*blackboard.Discovery{{}},
		HumanNotes: []*blackboard.Note{{}}, Anomalies: []*blackboard.Anomaly{{}}, Facts: []*blackboard.Fact{{}}, Planner: &blackboard.Planner{}, Programs: map[string]*blackboard.Program{"x": {}},
		Goal: &blackboard.Goal{Status: blackboard.InProgress, PlanID: "p"}, Sprint: &blackboard.Sprint{Timeline: &blackboard.Timeline{}}, CircuitBreaker: &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped},
	}).With(&blackboard.Task{}, &blackboard.Task{ID: "a", Status: "NEW_STATUS", RejectionReason: &blackboard.Rejection{}}, &blackboard.Task{ID: "a"})
	for _, s := range []*blackboard.State{nil, {}, odd} {
		v := Build(s, Input{})
		Text(v, 80, true)
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
		GraphText(s)
		newGraph(s).mermaid()
		for _, id := range []string{"", "a", "p", "odd", "coder-1", "missing"} {
			TaskText(s, id)
			PlanText(s, id)
		}
	}
	LogLine(blackboard.Entry{})
}

func TestAWidthCountsColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "漢字": 4, "e\u0301": 1, "😀": 2, "✓": 1} {
		if got := WidthOf(text); got != want {
			t.Errorf("WidthOf(%q) = %d, want %d", text, got, want)
		}
	}
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello!", 5, "hell…"}, {"漢字漢字", 5, "漢字…"}, {"漢字漢字", 4, "漢…"}, {"hello", 0, ""}, {"hello", 1, "…"}, {"one two", 5, "one…"}} {
		if got := Fit(tt.text, tt.n); got != tt.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
	for _, l := range wrapText(strings.Repeat("x", 25)+" 漢字漢字漢字 end", 10) {
		if WidthOf(l) > 10 {
			t.Errorf("a wrapped line has %d columns: %q", WidthOf(l), l)
		}
	}
}

func TestACostThatIsNotKnownIsNeverZero(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Cost{"": {}, "$1.05": {Cents: 105, Runs: 1}, "?": {Runs: 2, UnknownRuns: 2}, "≥ $0.40 ?": {Cents: 40, Runs: 3, UnknownRuns: 1}, "$0.00": {Runs: 1}} {
		if got := money(c); got != want {
			t.Errorf("%+v is shown as %q, want %q", c, got, want)
		}
	}
}
