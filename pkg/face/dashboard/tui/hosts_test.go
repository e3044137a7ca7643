package tui

import (
	"strings"
	"testing"

	"liza/pkg/face/dashboard"
)

// onHosts is the board of a team on several hosts.
func onHosts() *fake {
	f := midSprint()
	for i := range f.view.Agents {
		f.view.Agents[i].Host = []string{"north", "south"}[i%2]
	}
	f.view.Hosts = []dashboard.Host{{Name: "north", Here: true, Agents: 3, SeenSeconds: 5, Version: "1.4.0", Load: "0.5"},
		{Name: "south", Agents: 2, SeenSeconds: 4000, Silent: true, ClockOffset: 90, ClockOff: true}}
	return f
}

// row is the line of a screen that begins with a word.
func row(t *testing.T, screen, word string) string {
	t.Helper()
	for line := range strings.Lines(screen) {
		if i := strings.Index(line, word); i >= 0 && i < 8 {
			return line
		}
	}
	t.Fatalf("no line begins with %s:\n%s", word, screen)
	return ""
}

func TestAgentsHaveTheirHostWhereThereAreSeveral(t *testing.T) {
	t.Parallel()
	screen := plainScreen(types(begin(onHosts(), 220, 50), "2"))
	must(t, row(t, screen, "coder-1"), "south")
	must(t, row(t, screen, "coder-2"), "north")
	must(t, row(t, screen, "north"), "3 agents, last contact 5s ago, load 0.5, liza 1.4.0, this host")
	must(t, row(t, screen, "✗ south"), "2 agents, last contact 1h ago, silent: its claims are free, clock +")

	narrow := plainScreen(types(begin(onHosts(), 60, 30), "2"))
	must(t, narrow, "coder · south")
	must(t, row(t, narrow, "north"), "3 agents")

	alone := onHosts()
	alone.view.Hosts = alone.view.Hosts[:1]
	if screen := plainScreen(types(begin(alone, 160, 50), "2")); strings.Contains(screen, "north") {
		t.Errorf("the only host is named:\n%s", screen)
	}
}

func TestTheCursorStaysOnAgentsNotOnHosts(t *testing.T) {
	t.Parallel()
	m := types(begin(onHosts(), 220, 50), "2", "end", "down", "down")
	if got := m.picked().agent; got != "planner-1" {
		t.Errorf("the cursor is on %q", got)
	}
}

func TestWithoutConnectionTheBannerSaysHowOldTheBoardIs(t *testing.T) {
	t.Parallel()
	f := onHosts()
	f.view.Offline = &dashboard.Offline{Since: at(-3), Seconds: 180, Why: "no route"}
	for _, width := range []int{60, 120} {
		must(t, plainScreen(begin(f, width, 24)), "NO CONNECTION: the board as of 11:57:00, 3m ago")
	}
	m := begin(f, 120, 24)
	f.view.Offline = nil
	m = send(m, m.reader().readBoard())
	if screen := plainScreen(m); strings.Contains(screen, "NO CONNECTION") {
		t.Errorf("the connection is back:\n%s", screen)
	}
}

// A lost connection tells nothing, so the board is looked at also when nothing changes.
func TestTheBoardIsReadAgainWhenNothingTells(t *testing.T) {
	t.Parallel()
	f := onHosts()
	m := begin(f, 120, 24)
	f.view.Offline = &dashboard.Offline{Since: at(0)}
	for range boardEvery {
		m = send(m, tickMsg(m.now.Add(1e9)))
	}
	must(t, plainScreen(m), "NO CONNECTION")
}
