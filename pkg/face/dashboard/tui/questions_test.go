package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// What a person wants to know takes at most two keys or clicks; the ways are in specs/cli.md#8.
func TestTenQuestionsTakeAtMostTwoKeys(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		question string
		ways     [][]string // keys; "@text" is a click on the row with that text
		shows    string
	}{
		{"what is coder-1 doing?", [][]string{{}, {"2"}}, "Bash go test ./..."},
		{"what does coder-1 say?", [][]string{{"2", "@coder-1"}, {"@task-3", "o"}}, "go test ./..."},
		{"why was task-2 rejected?", [][]string{{}, {"4"}, {"@task-2", "enter"}, {"@task-2", "@task-2"}}, "rejected: greet.go:14"},
		{"what did it cost so far?", [][]string{{}}, "$4.12"},
		{"what must I do?", [][]string{{"3"}}, "m approves the merge, x rejects it"},
		{"what changed in task-2?", [][]string{{"@task-2", "d"}}, `fmt.Println("Hello, " + name)`},
		{"who works on what?", [][]string{{}, {"2"}}, "▸ coder-1         task-3"},
		{"who worked on task-2 when?", [][]string{{"4"}, {"@task-2", "enter"}}, "coder-2"},
		{"what failed?", [][]string{{}, {"3"}}, "Which languages"},
		{"what is still to do?", [][]string{{}}, "1/9 merged"},
		{"what was said at the review?", [][]string{{"@task-2", "enter"}}, "fix: return early"},
		{"is anything stuck?", [][]string{{"3"}}, "BLOCKED task-4 for 10m"},
	} {
		for _, way := range q.ways {
			if len(way) > 2 {
				t.Errorf("%s takes %d keys", q.question, len(way))
			}
			m := begin(midSprint(), 100, 30)
			for _, k := range way {
				if row, click := strings.CutPrefix(k, "@"); click {
					m = clickOn(t, m, row)
				} else {
					m = types(m, k)
				}
			}
			if screen := plainScreen(m); !strings.Contains(screen, q.shows) {
				t.Errorf("%s %q shows\n%s\nwant %q", q.question, way, screen, q.shows)
			}
		}
	}
}

// clickOn clicks on the last row of the screen with a text.
func clickOn(t *testing.T, m Model, text string) Model {
	t.Helper()
	lines := strings.Split(plainScreen(m), "\n")
	for y := len(lines) - 2; y > 0; y-- {
		if strings.Contains(lines[y], text) {
			return send(m, tea.MouseClickMsg{X: 5, Y: y, Button: tea.MouseLeft})
		}
	}
	t.Fatalf("no row with %q", text)
	return m
}
