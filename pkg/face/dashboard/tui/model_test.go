package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
)

func TestEveryScreenFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			m := types(begin(midSprint(), 80, 24), s.keys...)
			for _, size := range [][2]int{{20, 6}, {21, 7}, {33, 9}, {40, 12}, {59, 19}, {109, 30}, {110, 30}, {111, 13}, {189, 40}, {190, 40}, {300, 90}, {60, 20}} {
				m = send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				checkSize(t, m.View().Content, size[0], size[1])
			}
		})
	}
}

func TestATerminalThatIsTooSmallIsToldSo(t *testing.T) {
	t.Parallel()
	if got := begin(midSprint(), 15, 3).View().Content; got != "too small for…" {
		t.Errorf("it shows %q", got)
	}
}

// Whatever a task or an agent is called and says, nothing of it reaches the terminal as a command.
func TestHostileTextsAreText(t *testing.T) {
	t.Parallel()
	f := midSprint()
	long := strings.Repeat("long ", 5000) + hostile
	for i := range f.view.Tasks {
		f.view.Tasks[i].Title, f.view.Tasks[i].Note, f.view.Tasks[i].Who = hostile, long, hostile
		f.pages[f.view.Tasks[i].ID] = &dashboard.TaskPage{Description: long, Rejection: hostile, Criteria: []string{hostile}, Findings: []dashboard.Remark{{Severity: hostile, By: hostile, Path: hostile, Text: hostile}},
			Attempts: []dashboard.Attempt{{Agent: hostile, Kind: hostile, Outcome: hostile, Summary: long}}, History: []dashboard.Happening{{Who: hostile, Action: hostile, Text: hostile}}, SpecRef: hostile, Spec: long}
	}
	for i := range f.view.Agents {
		f.view.Agents[i].CLI, f.view.Agents[i].WaitsFor, f.view.Agents[i].Why = hostile, hostile, hostile
		f.view.Agents[i].Doing = &dashboard.Doing{Kind: "tool", Tool: hostile, Text: long}
	}
	f.view.Waiting = append(f.view.Waiting, dashboard.Waiting{Kind: "x", Task: hostile, Text: long, Next: hostile, Questions: []dashboard.Question{{ID: "q-9", Text: hostile}}})
	f.view.Goal.Description, f.view.Sprint.Status = hostile, hostile
	f.view.Control = []dashboard.Control{{Name: "PAUSE", Reason: hostile}}
	f.log = append(f.log, dashboard.Happening{Who: hostile, Action: hostile, Task: hostile, Text: long})
	f.alerts[0].Message, f.alerts[0].Subject, f.view.Warnings = hostile, hostile, []string{hostile}
	f.events["coder-1"] = []activity.Event{{Kind: activity.Tool, Tool: hostile, Text: long}, {Kind: activity.Text, Text: hostile}, {Kind: "?", Text: hostile}}
	f.diffs["task-2"].Files[0].Path, f.diffs["task-2"].Files[0].Patch = hostile, "@@ -1 +1 @@ "+hostile+"\n+"+long+"\n-"+hostile+"\n"
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 50}} {
		for _, s := range screens {
			screen := types(begin(f, size[0], size[1]), s.keys...).View().Content
			checkSize(t, screen, size[0], size[1])
			for _, bad := range []string{"\x1b[31m" + "red", "\u200b", "\u202e", "\u2066", "\u200d", "\t", "\r", "\x07"} {
				if strings.Contains(screen, bad) {
					t.Errorf("%s at %v has %q", s.name, size, bad)
				}
			}
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	f := midSprint()
	f.events["coder-1"] = []activity.Event{{Kind: activity.Tool, Tool: "Bash", Text: "login hunter2"}, {Kind: activity.Text, Text: "hunter2 it is"}}
	f.pages["task-4"].Description = "the key is hunter2"
	m := begin(f, 100, 30)
	m.mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	for _, keys := range [][]string{{"enter"}, {"2", "down", "enter"}} {
		screen := plainScreen(types(m, keys...))
		if strings.Contains(screen, "hunter2") || !strings.Contains(screen, "***") {
			t.Errorf("%v shows\n%s", keys, screen)
		}
	}
}

func TestABrokenBoardShowsTheLastWholeOneAndTheError(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := begin(f, 80, 24)
	f.err, f.view = errors.New("state.yaml line 12: not a list"), dashboard.View{}
	m = send(m, m.reader().readBoard())
	for _, want := range []string{"state.yaml line 12: not a list; the last valid board is shown", "next: liza validate", "task-4"} {
		must(t, plainScreen(m), want)
	}
	f.err, f.view = nil, midSprint().view
	m = send(m, m.reader().readBoard())
	if strings.Contains(plainScreen(m), "line 12") {
		t.Error("the error stays when the board is whole again")
	}
}

func TestTheCursorStaysOnItsTaskWhenTheBoardChanges(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := types(begin(f, 80, 24), "down")
	for i := range f.view.Tasks {
		if f.view.Tasks[i].ID == "task-3" {
			f.view.Tasks[i].Status = blackboard.Merged
		}
	}
	f.view.Revision++
	m = send(m, m.reader().readBoard())
	if got := m.picked().task; got != "task-3" {
		t.Errorf("the cursor is on %s", got)
	}
	must(t, plainScreen(m), "▌✓ task-3")
}

func TestAChangeOfTheBoardIsReadAndSoAreThePagesOnTheScreen(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := types(begin(f, 80, 24), "enter")
	changes := make(chan struct{}, 1)
	changes <- struct{}{}
	f.view.Revision++
	f.view.Tasks = slices.Clone(f.view.Tasks)
	f.pages["task-4"] = &dashboard.TaskPage{Task: f.view.Tasks[3], Description: "Something new"}
	var over context.CancelFunc
	m.ctx, over = context.WithCancel(context.Background())
	change := m.reader().waitFor(changes)()
	over() // nothing waits for the next one
	m = send(m, change)
	must(t, plainScreen(m), "Something new")
}

func TestElapsedTimesGoOnBetweenTwoBoards(t *testing.T) {
	t.Parallel()
	m := send(begin(midSprint(), 100, 30), tickMsg(noon.Add(2*time.Minute)))
	must(t, plainScreen(m), "6m $2.33") // 4 min 5 s before
	must(t, plainScreen(m), "· 44m ·")  // the sprint
	m = send(m, doingMsg{"coder-1": {Kind: "tool", Tool: "Edit", Text: "greet.go", Seconds: 400}})
	must(t, plainScreen(m), "Edit greet.go")
	if strings.Contains(plainScreen(m), "I read the tests first") {
		t.Error("what an agent has ended with stays")
	}
}

func TestOutputIsFollowedUntilThePersonScrollsBack(t *testing.T) {
	t.Parallel()
	f := midSprint()
	say := func(from, to int) {
		for i := from; i < to; i++ {
			f.events["coder-1"] = append(f.events["coder-1"], activity.Event{At: noon, Kind: activity.Output, Text: fmt.Sprintf("line %d", i)})
		}
	}
	say(0, 100)
	m := types(begin(f, 80, 24), "2", "down", "enter")
	must(t, plainScreen(m), "line 99")
	say(100, 110)
	m = send(m, moreMsg{outputPage, "coder-1"})
	must(t, plainScreen(m), "line 109")
	m = types(m, "pgup")
	say(110, 120)
	m = send(m, moreMsg{outputPage, "coder-1"})
	if strings.Contains(plainScreen(m), "line 119") {
		t.Error("it jumps to the end while somebody reads")
	}
	m = types(m, "end")
	must(t, plainScreen(m), "line 119")
	m = send(types(m, "1"), moreMsg{outputPage, "coder-1"})
	if m.busy[want{outputPage, "coder-1"}] {
		t.Error("output is read on that nobody looks at")
	}
}

func TestTheDiffOfARunningTaskIsReadAgain(t *testing.T) {
	t.Parallel()
	f := midSprint()
	open := func(id string) Model { return types(begin(f, 100, 24), "/", id, "enter", "d") }
	add := func(id, line string) {
		f.diffs[id] = &dashboard.Diff{Live: true, Files: []dashboard.DiffFile{{Path: "a.go", Status: "modified", Patch: "@@ -1 +1,2 @@\n x\n+" + line + "\n"}}}
	}
	for id, again := range map[string]bool{"task-3": true, "task-2": false} {
		add(id, "first")
		m := open(id)
		must(t, plainScreen(m), "+first")
		add(id, "second")
		m = send(m, tickMsg(noon.Add(4*time.Second)))
		if strings.Contains(plainScreen(m), "+second") {
			t.Errorf("%s: read each second", id)
		}
		m = send(m, tickMsg(noon.Add(6*time.Second)))
		if strings.Contains(plainScreen(m), "+second") != again {
			t.Errorf("%s:\n%s", id, plainScreen(m))
		}
	}
}

func TestTheMouseSelectsOpensAndScrolls(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := begin(f, 80, 24)
	rowOf := func(text string) int {
		for i, l := range strings.Split(plainScreen(m), "\n") {
			if strings.Contains(l, text) {
				return i
			}
		}
		t.Fatalf("no row with %q", text)
		return 0
	}
	click := func(x, y int) { m = send(m, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	click(10, rowOf("▸ task-3"))
	must(t, plainScreen(m), "▌▸ task-3")
	click(10, rowOf("▸ task-3"))
	must(t, plainScreen(m), "‹ Task task-3")
	click(strings.Index(plainScreenLine(m, 2), "4 Log"), 2)
	must(t, plainScreen(m), "11:58:00")
	m = types(m, "down", "enter")
	m = send(m, tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelDown})
	if strings.Contains(plainScreen(m), "attempt 2 · rejected") {
		t.Error("the wheel does not scroll")
	}
	m = send(m, tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelUp})
	must(t, plainScreen(m), "attempt 2 · rejected")
}

func TestAClickBesideTheListGivesItTheKeys(t *testing.T) {
	t.Parallel()
	m := send(begin(midSprint(), 160, 50), tea.MouseClickMsg{X: 100, Y: 10, Button: tea.MouseLeft})
	if m.focused() != (place{taskPage, "task-4"}) {
		t.Errorf("the keys are for %v", m.focused())
	}
	m = send(m, tea.MouseClickMsg{X: 10, Y: 22, Button: tea.MouseLeft})
	if m.focused() != (place{kind: board}) {
		t.Errorf("the keys are for %v", m.focused())
	}
}

// An update and a key press with 2,000 tasks stay below one frame of a screen.
func TestTwoThousandTasksStayFluid(t *testing.T) {
	f := midSprint()
	f.view = benchBoard(2000)
	m := begin(f, 160, 50)
	best := func(do func()) time.Duration {
		low := time.Hour
		for range 20 {
			began := time.Now()
			do()
			low = min(low, time.Since(began))
		}
		return low
	}
	msg := boardMsg{readAt: noon, view: f.view}
	step := func(msg tea.Msg) func() {
		return func() {
			next, _ := m.Update(msg)
			m = next.(Model)
			_ = m.View()
		}
	}
	const frame = 16 * time.Millisecond
	for _, c := range []struct {
		what string
		took time.Duration
	}{{"an update", best(step(msg))}, {"a key press", best(step(keyOf("down")))}, {"the end of the list", best(step(keyOf("end")))}, {"a tick", best(step(tickMsg(noon)))}} {
		t.Logf("%s with 2,000 tasks at 160x50: %v (floor %v)", c.what, c.took, frame)
		if c.took > frame {
			t.Errorf("%s takes %v, want below %v", c.what, c.took, frame)
		}
	}
}

func BenchmarkUpdate(b *testing.B) { benchmark(b, boardMsg{readAt: noon, view: benchBoard(2000)}) }
func BenchmarkKey(b *testing.B)    { benchmark(b, keyOf("down")) }

func benchmark(b *testing.B, msg tea.Msg) {
	f := midSprint()
	f.view = benchBoard(2000)
	var m tea.Model = begin(f, 160, 50)
	for b.Loop() {
		m, _ = m.Update(msg)
		_ = m.View()
	}
}

func plainScreenLine(m Model, i int) string { return strings.Split(plainScreen(m), "\n")[i] }

func TestKeysWorkBeforeAnythingHasBeenRead(t *testing.T) {
	t.Parallel()
	f := midSprint()
	for _, pane := range []string{"1", "2", "3", "4"} {
		for _, k := range table() {
			m := New(context.Background(), Options{Source: f, Verbs: f, Now: func() time.Time { return noon }, Folder: func(string) string { return "" }})
			for _, msg := range []tea.Msg{tea.WindowSizeMsg{Width: 80, Height: 24}, keyOf(pane), keyOf(k.names[0]), keyOf("d"), keyOf(k.names[0])} {
				next, _ := m.Update(msg) // what it asks for does not come
				m = next.(Model)
			}
			checkSize(t, m.View().Content, 80, 24)
			m = begin(f, 80, 24)
			for _, msg := range []tea.Msg{keyOf(pane), keyOf(k.names[0]), keyOf("d"), keyOf(k.names[0])} {
				next, _ := m.Update(msg)
				m = next.(Model)
			}
			checkSize(t, m.View().Content, 80, 24)
		}
	}
}

// Each change of the board begins a read, and a read may take longer than the next one.
func TestABoardThatWasReadEarlierDoesNotReplaceALaterOne(t *testing.T) {
	t.Parallel()
	m := begin(midSprint(), 100, 30)
	newer, older := m.view, m.view
	newer.Revision, older.Revision = m.view.Revision+2, m.view.Revision+1
	m = send(m, boardMsg{readAt: noon.Add(2 * time.Second), view: newer})
	m = send(m, boardMsg{readAt: noon.Add(time.Second), view: older})
	if m.view.Revision != newer.Revision {
		t.Errorf("revision %d is shown, want %d", m.view.Revision, newer.Revision)
	}
}
