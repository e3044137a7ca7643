package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/face/dashboard"
)

// A keyCase says what the person does, and what has to come of it: a call of a verb, or something on the screen.
type keyCase struct {
	board func(*fake) // what is different from the usual sprint
	keys  []string    // up to the key and after it
	text  string      // that is typed and sent then
	after []string
	call  string // of the verb
	shows string
	hides string
}

func withKind(kind, task string) func(*fake) {
	return func(f *fake) {
		f.view.Waiting = []dashboard.Waiting{{Kind: kind, Task: task, Text: "something happened"}}
	}
}

// keyCases are the cases of each key of the table, under its first name.
var keyCases = map[string][]keyCase{
	"esc":   {{keys: []string{"enter", "esc"}, shows: "⚑", hides: "‹ Task"}, {keys: []string{"/", "a", "d", "a", "enter", "esc"}, hides: "/ada", shows: "task-3"}},
	"enter": {{keys: []string{"enter"}, shows: "‹ Task task-4"}, {keys: []string{"2", "down", "enter"}, shows: "‹ Output coder-1 on task-3"}, {keys: []string{"3", "down", "down", "enter"}, shows: "‹ Task task-4"}, {keys: []string{"3", "end", "up", "enter"}, shows: "‹ Task task-4"}},
	"d":     {{keys: []string{"4", "down", "d"}, shows: "panics when the name is empty → return early"}, {keys: []string{"d"}, shows: "nothing has been changed yet"}},
	"o":     {{keys: []string{"down", "o"}, shows: "go test ./..."}},
	"t":     {{keys: []string{"2", "down", "t"}, shows: "‹ Task task-3"}},
	"a":     {{keys: []string{"a"}, text: "all of them", call: "answer q-1 all of them", shows: "q-1 is answered; task-4 goes on"}, {keys: []string{"3", "down", "a"}, text: "yes", call: "answer q-2 yes"}, {keys: []string{"a", "esc"}, shows: "nothing was done"}},
	"m":     {{keys: []string{"3", "down", "down", "down", "down", "m"}, after: []string{"y"}, call: "approve-merge task-5", shows: "the merge of task-5 is approved"}, {keys: []string{"3", "down", "down", "down", "down", "m"}, after: []string{"n"}, shows: "nothing was done"}},
	"x":     {{keys: []string{"3", "down", "down", "down", "down", "x"}, text: "no tests", call: "reject-merge task-5 no tests"}},
	"c": {{keys: []string{"4", "down", "d", "]", "]", "c"}, text: "why?", call: "comment task-2 greet.go:12 why?", shows: "gets the comment with its next prompt"},
		{keys: []string{"4", "down", "d", "down", "down", "down", "down", "c"}, text: "keep it", call: "comment task-2 greet.go:12 keep it"}, {keys: []string{"4", "down", "d", "c"}, text: "nice", call: "comment task-2 :0 nice"}, {keys: []string{"4", "down", "d", "]", "c"}, text: "split it", call: "comment task-2 greet.go:0 split it"}},
	"w": {{board: func(f *fake) {
		for i := range f.view.Tasks {
			f.view.Tasks[i].Tries = []dashboard.Try{{ID: f.view.Tasks[i].ID, Pick: true}}
		}
	}, keys: []string{"down", "w"}, text: "shorter", call: "pick task-3 shorter", shows: "task-3 goes on"}},
	"U":         {{keys: []string{"U"}, text: "go on", call: "unblock task-4 go on"}},
	"f":         {{keys: []string{"/", "c", "o", "l", "o", "u", "enter", "f"}, call: "finalize task-7"}},
	"i":         {{board: withKind("integration", ""), keys: []string{"i"}, text: "mine", call: "accept mine"}},
	"I":         {{board: withKind("integration", ""), keys: []string{"I"}, text: "not mine", call: "restore not mine"}},
	"r":         {{board: withKind("control", ""), keys: []string{"r"}, call: "resume"}, {board: withKind("breaker", ""), keys: []string{"r"}, text: "seen", call: "resumeseen"}},
	"u":         {{keys: []string{"/", "t", "a", "s", "k", "-", "1", "0", "enter", "u"}, call: "unhold task-10"}},
	"n":         {{keys: []string{"n"}, text: "be brief", call: `tell task-4 be brief`}},
	"N":         {{keys: []string{"N"}, text: "two more tasks", call: `tell planner two more tasks`}},
	"h":         {{keys: []string{"down", "h"}, text: "wait", call: "hold task-3 wait"}},
	"p":         {{keys: []string{"p"}, text: "lunch", call: "pause lunch", shows: "paused; r resumes"}, {keys: []string{"p"}, after: []string{"enter"}, call: "pause liza top"}},
	"O":         {{keys: []string{"down", "O"}, text: "3000", call: "open coder-1 3000", shows: "coder-1 is at http://127.0.0.1:1/.liza/T until you leave"}, {keys: []string{"2", "down", "O"}, after: []string{"enter"}, call: "open coder-1 0"}, {keys: []string{"down", "O"}, text: "web", shows: "'web' is not a port"}},
	"S":         {{keys: []string{"2", "down", "S"}, text: "it loops", call: "stop coder-1 it loops", shows: "coder-1 is stopped; B begins again"}, {keys: []string{"down", "S"}, after: []string{"enter"}, call: "stop coder-1 "}},
	"B":         {{keys: []string{"2", "down", "B"}, text: "task-7", call: "restart coder-1 task-7"}, {board: func(f *fake) { f.view.Agents[2].Stopped = "stopped by ada" }, keys: []string{"2", "down", "down", "B"}, after: []string{"enter"}, call: "restart coder-2 "}, {keys: []string{"2", "B"}, after: []string{"y"}, call: "restart code-reviewer-1 "}},
	"P":         {{keys: []string{"down", "P"}, text: "3", call: "edit task-3 priority 3"}, {keys: []string{"down", "P"}, text: "high", shows: "'high' is not a whole number"}},
	"E":         {{keys: []string{"down", "E"}, text: "!", call: "edit task-3 title Read names from a file!"}},
	"+":         {{keys: []string{"+"}, text: "Say bye", after: []string{"o", "k", "enter", "a", ".", "g", "o", "enter"}, call: "add Say bye | ok | a.go", shows: "task-11 is on the board"}},
	"R":         {{keys: []string{"down", "R"}, text: "wrong model", after: []string{"y"}, call: "release task-3 force=true wrong model"}, {board: func(f *fake) { f.view.Agents[1].Liveness = "dead" }, keys: []string{"down", "R"}, text: "gone", call: "release task-3 force=false gone"}},
	"e":         {{keys: []string{"down"}, shows: "e edit"}},
	"s":         {{keys: []string{"down"}, shows: "s shell"}},
	"D":         {{keys: []string{"D"}, text: "not needed", after: []string{"y"}, call: "abandon task-4 not needed"}, {keys: []string{"D"}, text: "not needed", after: []string{"n"}, shows: "nothing was done"}},
	"A":         {{keys: []string{"A"}, text: "wrong goal", after: []string{"y"}, call: "abort wrong goal false"}, {keys: []string{"A"}, text: "wrong goal", after: []string{"esc"}, shows: "nothing was done"}},
	"up":        {{keys: []string{"down", "up", "enter"}, shows: "‹ Task task-4"}},
	"down":      {{keys: []string{"down", "enter"}, shows: "‹ Task task-3"}, {keys: []string{"4", "down", "enter", "down"}, hides: "attempt 2 · rejected"}},
	"pgup":      {{keys: []string{"4", "down", "enter", "end", "pgup", "pgup", "pgup", "pgup", "pgup"}, shows: "attempt 2 · rejected"}},
	"pgdown":    {{keys: []string{"4", "down", "enter", "pgdown"}, shows: "Plan of the coder", hides: "attempt 2 · rejected"}},
	"home":      {{keys: []string{"end", "home", "enter"}, shows: "‹ Task task-4"}},
	"end":       {{keys: []string{"end", "enter"}, shows: "‹ Task task-9"}},
	"/":         {{keys: []string{"/", "m", "a", "n", "u", "a", "l"}, shows: "task-5", hides: "task-3"}, {keys: []string{"/", "r", "e", "v", "i", "e", "w"}, shows: "task-8", hides: "task-3 coder"}, {keys: []string{"/", "z", "z", "enter"}, shows: "no task matches the filter"}, {keys: []string{"4", "/", "r", "e", "j", "enter"}, shows: "rejected", hides: "claimed"}},
	"tab":       {{keys: []string{"tab"}, shows: "code_reviewer · codex"}},
	"shift+tab": {{keys: []string{"shift+tab"}, shows: "11:58:00"}},
	"1":         {{keys: []string{"4", "1"}, shows: "⚑"}, {keys: []string{"4"}, shows: "11:58:00"}, {keys: []string{"5"}, shows: "⚑"}},
	"]":         {{keys: []string{"4", "down", "d", "]", "]"}, shows: "▌          ▲ error"}},
	"[":         {{keys: []string{"4", "down", "d", "]", "]", "["}, shows: "▌greet.go modified"}},
	"?":         {{keys: []string{"?"}, shows: "‹ Keys"}, {keys: []string{"?", "?"}, hides: "‹ Keys"}, {keys: []string{"?", "a"}, hides: "Answer q"}},
}

// quitting are the keys that leave the view, or hand the terminal to others: tested by
// TestKeysThatLeave and in a real terminal.
var quitting = []string{"q", "ctrl+c", "ctrl+z"}

func TestEachKeyDoesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, k := range table() {
		known[k.names[0]] = true
		if cases := keyCases[k.names[0]]; len(cases) == 0 && !slices.Contains(quitting, k.names[0]) {
			t.Errorf("no case tests the key %q (%s)", k.names[0], k.help)
		}
	}
	for name, cases := range keyCases {
		if !known[name] {
			t.Errorf("the table has no key %q", name)
		}
		for _, c := range cases {
			t.Run(name+" "+strings.Join(c.keys, ""), func(t *testing.T) {
				t.Parallel()
				f := midSprint()
				if c.board != nil {
					c.board(f)
				}
				m := types(begin(f, 100, 30), c.keys...)
				if c.text != "" {
					m = types(write(m, c.text), "enter")
				}
				m = types(m, c.after...)
				if got := strings.Join(f.calls, "; "); got != c.call {
					t.Errorf("it called %q, want %q\n%s", got, c.call, plainScreen(m))
				}
				screen := plainScreen(m)
				must(t, screen, c.shows)
				if c.hides != "" && strings.Contains(screen, c.hides) {
					t.Errorf("the screen shows %q:\n%s", c.hides, screen)
				}
			})
		}
	}
}

// A key that stands for something has one meaning at a place, and no key is named twice.
func TestNoKeyIsInTheTableTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range table() {
		for _, n := range k.names {
			if seen[n] {
				t.Errorf("%q is there twice", n)
			}
			seen[n] = true
		}
		if k.help == "" || len(k.label()) > 12 {
			t.Errorf("%v has the help %q and the label %q", k.names, k.help, k.label())
		}
	}
}

func TestKeysOfAnActAreOfferedOnlyWhereItIsPossible(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"task-1": "n p +", "task-2": "n h p P E + D", "task-3": "n h p R e s O S B P E +", "task-4": "a U n h p P E + D", "task-5": "m x n h p O S B P E +", "task-6": "n h p P E + D", "task-7": "f n h p P E + D", "task-8": "n h p R O S B P E +", "task-9": "n p +", "task-10": "u n p P E + D",
	} {
		m := begin(midSprint(), 100, 30)
		m = m.opened(place{taskPage, task})
		var got []string
		for _, k := range table() {
			if k.group == "Act" && m.possible(k) && k.names[0] != "N" && k.names[0] != "A" {
				got = append(got, k.names[0])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s offers %q, want %q", task, strings.Join(got, " "), want)
		}
	}
}

func TestARefusalIsShownWithTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	f := midSprint()
	f.refuse = errRefused
	m := types(begin(f, 80, 24), "/", "t", "a", "s", "k", "-", "1", "0", "enter", "u")
	must(t, plainScreen(m), "task-10 is not on hold")
	must(t, plainScreen(m), "next: liza validate")
	if m = types(m, "down"); strings.Contains(plainScreen(m), "not on hold") {
		t.Error("the message stays after the next key")
	}
}

func TestKeysThatLeave(t *testing.T) {
	t.Parallel()
	for _, k := range quitting {
		next, cmd := begin(midSprint(), 80, 24).Update(keyOf(k))
		if len(results(cmd)) != 1 || next.(Model).interrupted != (k == "ctrl+c") {
			t.Errorf("%s gives %v, interrupted %t", k, results(cmd), next.(Model).interrupted)
		}
	}
}

func TestATextIsEditedAsInAShell(t *testing.T) {
	t.Parallel()
	m := write(types(begin(midSprint(), 80, 24), "N"), "hello worxld")
	m = types(m, "left", "left", "left", "backspace", "end", "ctrl+w")
	m = send(types(m, "ctrl+a"), tea.PasteMsg{Content: "one\ntwo\x1b "})
	must(t, plainScreen(m), "note: one two hello")
	m = types(m, "delete", "ctrl+k", "enter")
	f := m.o.Verbs.(*fake)
	if got := strings.Join(f.calls, ";"); got != `tell planner one two` {
		t.Errorf("it called %q", got)
	}
}

func TestAnEmptyReasonIsNotSent(t *testing.T) {
	t.Parallel()
	f := midSprint()
	types(begin(f, 80, 24), "U", "enter", "space", "enter")
	if len(f.calls) > 0 {
		t.Errorf("it called %q", f.calls)
	}
}
