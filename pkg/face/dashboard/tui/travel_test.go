package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestNothingCanBeChangedInThePast(t *testing.T) {
	t.Parallel()
	for _, k := range actKeys() {
		for _, pane := range []string{"1", "2", "3"} {
			f := midSprint()
			m := types(begin(f, 100, 30), "<", pane, k.names[0])
			if m.ask != nil || len(f.calls) > 0 || !m.travel.shown || m.possible(key{group: "Act"}) {
				t.Errorf("in pane %s, %q asks %v and calls %q", pane, k.names[0], m.ask, f.calls)
			}
		}
	}
}

// A key that is held down reads one board at a time, and the last one that was asked for is shown.
func TestAHeldKeyReadsOneEarlierBoardAtATime(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := begin(f, 80, 24)
	var reads []tea.Cmd
	for range 6 {
		next, cmd := m.Update(keyOf("<"))
		m, reads = next.(Model), append(reads, cmd)
	}
	for _, cmd := range reads {
		for _, msg := range results(cmd) {
			m = send(m, msg)
		}
	}
	must(t, plainScreen(m), "revision 35 of 41")
	if len(f.looks) != 2 || f.looks[0] != 40 || f.looks[1] != 35 {
		t.Errorf("it read the boards %v", f.looks)
	}
}

func TestAnEarlierBoardThatComesTooLateIsNotShown(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"T", "esc", "4", "enter"} {
		next, read := begin(midSprint(), 80, 24).Update(keyOf("<"))
		m := types(next.(Model), key)
		for _, msg := range results(read) {
			m = send(m, msg)
		}
		if m.travel.shown || m.travel.asked != 0 || m.travel.reading {
			t.Errorf("after %s: %+v", key, m.travel)
		}
		must(t, plainScreen(types(m, "1", "<")), "revision 40 of 41") // the way is free again
	}
}

func TestAChangeOfTheBoardIsSeenAfterThePast(t *testing.T) {
	t.Parallel()
	f := midSprint()
	m := types(begin(f, 80, 24), "<")
	f.view.Revision = 50
	m = send(send(m, m.reader().readBoard()), tickMsg(noon.Add(1<<40)))
	m = send(m, doingMsg{})
	must(t, plainScreen(m), "revision 40 of 50")
	must(t, plainScreen(m), "4m $2.33") // times stand still
	m = types(m, "esc")
	if m.view.Revision != 50 || strings.Contains(plainScreen(m), "AS IT WAS") {
		t.Errorf("back at revision %d:\n%s", m.view.Revision, plainScreen(m))
	}
}

func TestWhatIsOfNowEndsTheLookAtThePast(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"4"}, {"5"}, {"6"}, {"7"}, {"8"}, {"enter"}, {"d"}, {"o"}, {"t"}, {"2", "down", "enter"}, {"shift+tab"}} {
		m := types(types(begin(midSprint(), 160, 50), "<"), keys...)
		if keys[0] == "t" {
			continue // enter does that here
		}
		if m.travel.shown {
			t.Errorf("%v leaves the past on the screen", keys)
		}
		must(t, plainScreen(m), "this is as it is now")
	}
	m := types(begin(midSprint(), 160, 50), "<", "?", "?", "2", "3", "1", "v", "v")
	must(t, plainScreen(m), "AS IT WAS")
	if len(m.layout()) != 1 {
		t.Error("a page of now is beside a board of the past")
	}
}

func TestARevisionThatIsNotKeptIsShownByTheOneBeforeAndSaysSo(t *testing.T) {
	t.Parallel()
	m := types(write(types(begin(midSprint(), 100, 24), "T"), "8"), "enter")
	must(t, plainScreen(m), "revision 5 of 41 (8 is not kept) · T: now · read only")
	must(t, plainScreen(types(m, ">", ">")), "revision 10 of 41 · T: now")
}
