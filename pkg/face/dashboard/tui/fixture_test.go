package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
	session "liza/pkg/verb/board"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func at(minutes int) blackboard.Time {
	return blackboard.TimeOf(noon.Add(time.Duration(minutes) * time.Minute))
}

func cents(n float64) *blackboard.Amount { a := blackboard.Amount(n); return &a }

// hostile is what a view has to show as text: an escape sequence, zero-width and right-to-left
// characters, a tab, wide characters, and more than fits a line.
const hostile = "\x1b[31mred\x1b[0m\u200b\u202eright\tto left\u2066 \u05e9\u05dc\u05d5\u05dd \U0001F469\u200d\U0001F4BB 漢字"

// fake is a Source and Verbs that remember what was asked of them.
type fake struct {
	view   dashboard.View
	err    error
	pages  map[string]*dashboard.TaskPage
	diffs  map[string]*dashboard.Diff
	log    []dashboard.Happening
	alerts []watch.Alert
	events map[string][]activity.Event
	calls  []string
	refuse error
}

func (f *fake) View(context.Context) (dashboard.View, error) { return f.view, f.err }
func (f *fake) Watch(context.Context) <-chan struct{}        { return nil }
func (f *fake) Task(_ context.Context, id string) (*dashboard.TaskPage, error) {
	return f.pages[id], nil
}
func (f *fake) Diff(_ context.Context, id string) (*dashboard.Diff, error) { return f.diffs[id], nil }
func (f *fake) Log(history.Filter) ([]dashboard.Happening, error)          { return f.log, nil }
func (f *fake) Alerts() ([]watch.Alert, error)                             { return f.alerts, nil }
func (f *fake) Doing(context.Context) map[string]dashboard.Doing           { return nil }
func (f *fake) Output(name string, after int64) ([]activity.Event, int64, error) {
	list := f.events[name]
	return list[min(int(after), len(list)):], int64(len(list)), nil
}

func (f *fake) called(format string, args ...any) error {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.refuse
}

func (f *fake) Pause(_ context.Context, reason string) (sprint.Sprint, error) {
	return sprint.Sprint{}, f.called("pause %s", reason)
}
func (f *fake) Resume(_ context.Context, decision, note string) (sprint.Sprint, error) {
	return sprint.Sprint{}, f.called("resume%s%s", decision, note)
}
func (f *fake) Abort(_ context.Context, reason string, goal bool) (sprint.Sprint, error) {
	return sprint.Sprint{}, f.called("abort %s %t", reason, goal)
}
func (f *fake) Hold(_ context.Context, id, reason string) (session.Done, error) {
	return session.Done{}, f.called("hold %s %s", id, reason)
}
func (f *fake) Unhold(_ context.Context, id string) (session.Done, error) {
	return session.Done{}, f.called("unhold %s", id)
}
func (f *fake) Tell(_ context.Context, in verb.TellInput) (verb.Told, error) {
	return verb.Told{ID: "note-1", Reaches: "coder-1 gets it"}, f.called("tell %s %s", in.To, in.Text)
}
func (f *fake) Comment(_ context.Context, in verb.Comment) (session.Done, error) {
	return session.Done{}, f.called("comment %s %s:%d %s", in.Task, in.Path, in.Line, in.Text)
}
func (f *fake) Answer(_ context.Context, id, answer string) (verb.Answered, error) {
	return verb.Answered{Task: "task-4", Unblocked: true}, f.called("answer %s %s", id, answer)
}
func (f *fake) ApproveMerge(_ context.Context, in verb.MergeDecision) (session.Done, error) {
	return session.Done{}, f.called("approve-merge %s", in.Task)
}
func (f *fake) Pick(_ context.Context, in verb.PickInput) (session.Done, error) {
	return session.Done{Task: in.Task}, f.called("pick %s %s", in.Task, in.Reason)
}

func (f *fake) RejectMerge(_ context.Context, in verb.MergeDecision) (session.Done, error) {
	return session.Done{}, f.called("reject-merge %s %s", in.Task, in.Reason)
}
func (f *fake) Release(_ context.Context, in verb.ReleaseInput) (session.Done, error) {
	return session.Done{Status: blackboard.Unclaimed}, f.called("release %s force=%t %s", in.Task, in.Force, in.Reason)
}
func (f *fake) Unblock(_ context.Context, w verb.WayOut) (session.Done, error) {
	return session.Done{}, f.called("unblock %s %s", w.Task, w.Reason)
}
func (f *fake) Abandon(_ context.Context, w verb.WayOut) (session.Done, error) {
	return session.Done{}, f.called("abandon %s %s", w.Task, w.Reason)
}
func (f *fake) AddTask(_ context.Context, n verb.NewTask) (session.Done, error) {
	return session.Done{Task: "task-11"}, f.called("add %s | %s | %s", n.Task.Description, n.Task.DoneWhen, n.Task.Scope)
}
func (f *fake) EditTask(_ context.Context, e verb.TaskEdit) (session.Done, error) {
	if e.Priority != nil {
		return session.Done{}, f.called("edit %s priority %d", e.Task, *e.Priority)
	}
	return session.Done{}, f.called("edit %s title %s", e.Task, e.Title)
}
func (f *fake) open(_ context.Context, agent string, port int) (string, error) {
	return agent + " is at http://127.0.0.1:1/.liza/T until you leave", f.called("open %s %d", agent, port)
}
func (f *fake) StopAgent(_ context.Context, in verb.AgentOrder) (verb.Ordered, error) {
	return verb.Ordered{}, f.called("stop %s %s", in.Agent, in.Reason)
}
func (f *fake) RestartAgent(_ context.Context, in verb.AgentOrder) (verb.Ordered, error) {
	return verb.Ordered{}, f.called("restart %s %s", in.Agent, in.Task)
}
func (f *fake) Finalize(_ context.Context, ids []string) (verb.Finalized, error) {
	return verb.Finalized{}, f.called("finalize %s", strings.Join(ids, " "))
}
func (f *fake) AcceptIntegration(_ context.Context, reason string) (integration.Standing, error) {
	return integration.Standing{}, f.called("accept %s", reason)
}
func (f *fake) RestoreIntegration(_ context.Context, reason string) (integration.Standing, error) {
	return integration.Standing{}, f.called("restore %s", reason)
}

// midSprint is a fake in the middle of a sprint, with something of everything.
func midSprint() *fake {
	f := &fake{pages: map[string]*dashboard.TaskPage{}, diffs: map[string]*dashboard.Diff{}, events: map[string][]activity.Event{}}
	cost := func(n float64, runs int) dashboard.Cost {
		return dashboard.Cost{Cents: blackboard.Amount(n), Runs: runs}
	}
	f.view = dashboard.View{At: at(0), Revision: 41,
		Goal:   dashboard.Goal{ID: "goal-1", Description: "Provide a greeting CLI with tests", Status: "IN_PROGRESS", SpecRef: "specs/vision.md"},
		Sprint: dashboard.Sprint{ID: "sprint-1", Status: "IN_PROGRESS", Started: at(-42), AgeSeconds: 42 * 60},
		Cost:   dashboard.Cost{Cents: 412, Runs: 19, UnknownRuns: 1},
		Tasks: []dashboard.Task{
			{ID: "task-1", Title: "Print a greeting", Status: blackboard.Merged, Who: "coder-1", Iteration: 1, AgeSeconds: 1800, Cost: cost(61, 2)},
			{ID: "task-2", Title: "Greet by name", Status: blackboard.Rejected, Who: "coder-2", Iteration: 2, Rejections: 1, AgeSeconds: 130, Cost: cost(88, 4), CostPercent: 29, Note: "rejected: greet.go:14 panics when the name is empty"},
			{ID: "task-3", Title: "Read names from a file", Status: blackboard.Claimed, Who: "coder-1", Iteration: 1, AgeSeconds: 245, Cost: cost(233, 3), CostPercent: 78},
			{ID: "task-4", Title: "Choose the language", Status: blackboard.Blocked, Who: "coder-2", Iteration: 1, AgeSeconds: 700, Cost: cost(19, 1), BlockedKind: "question", BlockedReason: "Which languages?", Note: "blocked, question: Which languages?"},
			{ID: "task-5", Title: "Write the manual", Status: blackboard.Approved, Who: "coder-3", Iteration: 1, AgeSeconds: 60, Cost: cost(11, 2), Note: "waits for a person's approval of the merge"},
			{ID: "task-6", Title: "Release notes", Status: blackboard.Unclaimed, AgeSeconds: 2500, WaitsFor: []string{"task-4 (BLOCKED)"}, Note: "waits for task-4 (BLOCKED)"},
			{ID: "task-7", Title: "Colours", Status: blackboard.Draft, AgeSeconds: 2500},
			{ID: "task-8", Title: "Tests of the greeting", Status: blackboard.ReadyForReview, Who: "code-reviewer-1", Iteration: 1, AgeSeconds: 20},
			{ID: "task-9", Title: "An old idea", Status: blackboard.Abandoned, AgeSeconds: 9000},
			{ID: "task-10", Title: hostile, Status: blackboard.Unclaimed, AgeSeconds: 2500, Hold: "on hold by human: later", Note: "on hold by human: later"},
		},
		Agents: []dashboard.Agent{
			{ID: "code-reviewer-1", Role: "code_reviewer", Status: "REVIEWING", Liveness: "alive", Task: "task-8", CLI: "codex", Sandbox: "closed", LeaseLeftSeconds: 600, Doing: &dashboard.Doing{Kind: "text", Text: "I read the tests first.", Started: at(0), Seconds: 18}},
			{ID: "coder-1", Role: "coder", Status: "WORKING", Liveness: "alive", Task: "task-3", CLI: "claude", Sandbox: "closed", LeaseLeftSeconds: 1500, Doing: &dashboard.Doing{Kind: "tool", Tool: "Bash", Text: "go test ./...", Started: at(-4), Seconds: 245, TokensIn: 48200, TokensOut: 3100, Cents: cents(233)}},
			{ID: "coder-2", Role: "coder", Status: "IDLE", Liveness: "alive", WaitsFor: "task-4 is blocked", CLI: "claude"},
			{ID: "coder-3", Role: "coder", Status: "WORKING", Liveness: "dead", Why: "process 4121 is gone", Task: "task-5", CLI: "claude"},
			{ID: "planner-1", Role: "planner", Status: "IDLE", Liveness: "alive", WaitsFor: "nothing to plan", CLI: "claude"},
		},
		Waiting: []dashboard.Waiting{
			{Kind: "question", Text: "planner-1 asks", Questions: []dashboard.Question{{ID: "q-2", Text: "Is a config file wanted?", Next: `liza answer q-2 "TEXT"`}}, Next: `liza answer q-2 "TEXT"`},
			{Kind: "blocked", Task: "task-4", Text: "blocked (question): Which languages?", Questions: []dashboard.Question{{ID: "q-1", Text: "Which languages should it speak? [English / all]", Next: `liza answer q-1 "TEXT"`}}, Next: `liza answer q-1 "TEXT"`},
			{Kind: "merge_approval", Task: "task-5", Text: "approved by code-reviewer-1, waits for your approval of the merge", Next: "liza approve task-5"},
			{Kind: "hold", Task: "task-10", Text: "on hold by human: later", Next: "liza resume task-10"},
		},
		GaveUp:   []dashboard.GaveUp{{Agent: "coder-4", Task: "task-2", Why: "5 crashes in a row", At: at(-5), Next: "liza-agent coder"}},
		Warnings: []string{"coder-3 (dead): process 4121 is gone; it holds task-5; liza-agent coder takes it over"},
	}
	f.view.Counts = countsOf(f.view.Tasks)
	f.pages["task-2"] = &dashboard.TaskPage{Task: f.view.Tasks[1], Description: "The program takes a name and greets it.\n\nWithout a name it greets the world.", DoneWhen: "greet Ada prints Hello, Ada!",
		Criteria: []string{"a name with spaces works", "no name greets the world"}, Scope: "greet.go, greet_test.go", SpecRef: "specs/vision.md#names", Spec: "## Names\nThe program greets by name.",
		Intent: []string{"add a flag", "test it"}, DependsOn: []dashboard.Link{{ID: "task-1", Title: "Print a greeting", Status: blackboard.Merged}}, Dependents: []dashboard.Link{{ID: "task-6", Title: "Release notes", Status: blackboard.Unclaimed}},
		Attempts: []dashboard.Attempt{{Seq: 1, Agent: "coder-2", Kind: "work", CLI: "claude", Outcome: "COMPLETED", Summary: "Added the flag.", Ended: at(-10), Seconds: 312, CostCents: cents(44)},
			{Seq: 2, Agent: "code-reviewer-1", Kind: "review", CLI: "codex", Outcome: "COMPLETED", Summary: "Rejected: empty names.", Ended: at(-2), Seconds: 61}},
		Findings:  []dashboard.Remark{{Severity: "error", By: "code-reviewer-1", Path: "greet.go", Line: 14, Text: "panics when the name is empty", Fix: "return early"}, {Severity: "warning", By: "vet", Path: "greet_test.go", Text: hostile}},
		Rejection: "greet.go:14 panics when the name is empty", Checks: []string{"tests: passed, 3 s"}, Commit: "4f2a91c0ffee", Base: "1111111",
		History: []dashboard.Happening{{At: at(-30), Who: "coder-2", Action: "claimed"}, {At: at(-2), Who: "code-reviewer-1", Action: "rejected", Text: "greet.go:14 panics when the name is empty"}}}
	for i, t := range f.view.Tasks {
		if f.pages[t.ID] == nil {
			f.pages[t.ID] = &dashboard.TaskPage{Task: f.view.Tasks[i], Description: t.Title}
		}
	}
	f.diffs["task-2"] = &dashboard.Diff{Base: "1111111", Commit: "4f2a91c0ffee", Added: 4, Removed: 1, Files: []dashboard.DiffFile{
		{Path: "greet.go", Status: "modified", Added: 3, Removed: 1, Patch: "@@ -11,4 +11,6 @@ func main() {\n \tname := flag.Arg(0)\n-\tfmt.Println(\"Hello\")\n+\tif name[0] == ' ' {\n+\t\tname = name[1:]\n+\t}\n+\tfmt.Println(\"Hello, \" + name)\n }\n",
			Findings: []dashboard.Remark{{Severity: "error", By: "code-reviewer-1", Path: "greet.go", Line: 12, Text: "panics when the name is empty", Fix: "return early"}}},
		{Path: "notes.txt", Status: "added", Added: 1, Patch: "@@ -0,0 +1 @@\n+" + hostile + "\n"},
	}, Findings: []dashboard.Remark{{Severity: "warning", By: "vet", Text: "no test of the empty name"}}}
	f.events["coder-1"] = []activity.Event{
		{At: noon.Add(-4 * time.Minute), Kind: activity.Run, Agent: "coder-1", Task: "task-3", Program: "claude", Model: "sonnet"},
		{At: noon.Add(-3 * time.Minute), Kind: activity.Text, Text: "I look at the code first.\nThen I write a test."},
		{At: noon.Add(-2 * time.Minute), Kind: activity.Tool, Tool: "Bash", Text: "go test ./..."},
		{At: noon.Add(-2 * time.Minute), Kind: activity.Result, Text: "ok  greet 0.01s"},
		{At: noon.Add(-time.Minute), Kind: activity.Output, Text: hostile},
	}
	f.events["task-3"], f.events["task-8"] = f.events["coder-1"], f.events["coder-1"][1:2]
	f.log = []dashboard.Happening{{At: at(-30), Rev: 30, Who: "coder-2", Action: "claimed", Task: "task-2"}, {At: at(-4), Rev: 38, Who: "coder-1", Action: "claimed", Task: "task-3"},
		{At: at(-2), Rev: 40, Who: "code-reviewer-1", Action: "rejected", Task: "task-2", Text: "greet.go:14 panics when the name is empty"}, {At: at(-1), Rev: 41, Who: "human", Action: "note", Text: hostile}}
	f.alerts = []watch.Alert{{Kind: "BLOCKED", Subject: "task-4", Severity: findings.Warning, Message: "task-4 is blocked: Which languages?", Since: noon.Add(-10 * time.Minute)}}
	return f
}

func countsOf(tasks []dashboard.Task) (list []dashboard.Count) {
	for _, s := range blackboard.Statuses {
		n := 0
		for _, t := range tasks {
			if t.Status == s {
				n++
			}
		}
		if n > 0 {
			list = append(list, dashboard.Count{Status: s, N: n})
		}
	}
	return list
}

// begin is a model of that size that has read its board.
func begin(f *fake, width, height int) Model {
	m := New(context.Background(), Options{Source: f, Verbs: f, Now: func() time.Time { return noon }, Open: f.open, Folder: func(task string) string {
		if task == "task-3" {
			return "/work/task-3"
		}
		return ""
	}, later: func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }, Explain: func(err error) Problem {
		return Problem{Message: err.Error(), Next: "liza validate"}
	}})
	m = send(m, tea.WindowSizeMsg{Width: width, Height: height})
	return send(m, m.reader().readBoard())
}

// send gives the model a message, and what its commands give.
func send(m Model, msg tea.Msg) Model {
	next, cmd := m.Update(msg)
	m = next.(Model)
	for _, msg := range results(cmd) {
		m = send(m, msg)
	}
	return m
}

func results(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		var out []tea.Msg
		for _, c := range batch {
			out = append(out, results(c)...)
		}
		return out
	}
	if msg == nil {
		return nil
	}
	return []tea.Msg{msg}
}

// types sends keys as a person types them.
func types(m Model, keys ...string) Model {
	for _, k := range keys {
		m = send(m, keyOf(k))
	}
	return m
}

func keyOf(name string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "backspace": {Code: tea.KeyBackspace}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgup": {Code: tea.KeyPgUp},
		"pgdown": {Code: tea.KeyPgDown}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "space": {Code: tea.KeySpace, Text: " "}, "delete": {Code: tea.KeyDelete},
	}
	if k, ok := special[name]; ok {
		return k
	}
	if c, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(c[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func plainScreen(m Model) string { return strip(m.View().Content) }

// write types a text.
func write(m Model, text string) Model {
	for _, r := range text {
		if r == ' ' {
			m = send(m, keyOf("space"))
		} else {
			m = send(m, keyOf(string(r)))
		}
	}
	return m
}

var errRefused = errors.New("task-10 is not on hold")

func benchBoard(n int) dashboard.View {
	v := midSprint().view
	for i := len(v.Tasks); i < n; i++ {
		s := blackboard.Statuses[i%len(blackboard.Statuses)]
		v.Tasks = append(v.Tasks, dashboard.Task{ID: fmt.Sprintf("task-%d", i+1), Title: fmt.Sprintf("Do part %d of the work", i), Status: s, Who: "coder-1", AgeSeconds: i, Iteration: 1})
	}
	v.Counts = countsOf(v.Tasks)
	return v
}

func must(t *testing.T, screen, want string) {
	t.Helper()
	if !strings.Contains(screen, want) {
		t.Errorf("the screen does not show %q:\n%s", want, screen)
	}
}
