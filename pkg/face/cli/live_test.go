package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/team/assembly"
	"liza/pkg/team/supervisor"
)

func TestTheBlockBelowARunSaysWhatEachAgentDoesAndWhatWaits(t *testing.T) {
	t.Parallel()
	v := dashboard.View{
		Agents: []dashboard.Agent{{ID: "coder-1", Task: "a", Doing: &dashboard.Doing{Kind: "tool", Tool: "bash", Text: "go test", Seconds: 70, TokensIn: 12000}}, {ID: "coder-10", Task: "task-b"}, {ID: "coder-2"}, {ID: "planner-1"}},
		Tasks:  []dashboard.Task{{ID: "a", Status: blackboard.Claimed}, {ID: "b", Status: blackboard.Merged}, {ID: "c", Status: blackboard.Superseded}},
		Cost:   dashboard.Cost{Cents: 120},
		Waiting: []dashboard.Waiting{{Task: "x", Text: "asks", Next: "liza answer"}, {Text: "2", Next: "liza a"}, {Text: "3", Next: "liza b"}, {Text: "4", Next: "liza c"},
			{Text: "5", Next: "liza d"}},
	}
	want := `  coder-1   a       1m, 12k tokens  › bash  go test
  coder-10  task-b
  waiting: coder-2, planner-1
  merged 1 of 2, $1.20, 3m5s
? liza answer  x  asks
? liza a  2
? liza b  3
  and 2 more wait for you: liza status`
	if got := strings.Join(liveLines(v, 185*time.Second, 79, 20), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = `  and 3 more agents…
  merged 1 of 2, $1…
? liza answer  x  a…
? liza a  2
? liza b  3
  and 2 more wait f…`
	if got := strings.Join(liveLines(v, 185*time.Second, 20, 6), "\n"); got != want {
		t.Errorf("in a low and narrow window got\n%s\nwant\n%s", got, want)
	}
}

func TestAWaitIsSaidOnceByATeam(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, calm: map[string]bool{}}
	for _, agent := range []string{"coder-1", "coder-2", "coder-1"} {
		s.line(supervisor.Line{Agent: agent, Kind: supervisor.Waits, Text: "waits: nothing to do"})
	}
	s.line(supervisor.Line{Agent: "coder-2", Kind: supervisor.Waits, Text: "waits: for a person"})
	s.line(supervisor.Line{Agent: "coder-2", Task: "a", Text: "claimed"})
	s.line(supervisor.Line{Agent: "coder-2", Task: "a", Text: "claimed"})
	if n := strings.Count(out.String(), "nothing to do"); n != 1 || strings.Count(out.String(), "for a person") != 1 || strings.Count(out.String(), "claimed") != 2 {
		t.Errorf("got\n%s", out.String())
	}
}

func TestAboveTheBlockStandsWhatMatters(t *testing.T) {
	t.Parallel()
	l := &live{env: &Env{}}
	for kind, want := range map[supervisor.Kind]bool{supervisor.Plain: true, supervisor.Waits: false, supervisor.Ready: false, supervisor.Reviews: false, supervisor.Clean: false, supervisor.Completed: false} {
		if got := l.passes(supervisor.Line{Kind: kind, Text: "waits: this is how the answer of an agent may begin"}); got != want {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
	if !l.passes(supervisor.Line{Kind: supervisor.Waits, Text: "waits: nothing can be claimed until a person answers", Warning: true}) {
		t.Error("a warning is kept from the person")
	}
}

// What any part of a team writes on stderr takes the block away first, and the block is drawn again below it.
func TestWhatIsWrittenOnStderrStandsAboveTheBlock(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	e := &Env{System: assembly.Environment{Now: func() time.Time { return time.Time{} }}}
	s := &screen{out: &terminal, live: &live{env: e, view: dashboard.View{Agents: []dashboard.Agent{{ID: "coder-1", Task: "task-1"}}}}}
	s.live.draw(s.out, "")
	block := terminal.String()
	e.System.Stderr = above{s, &terminal}
	e.System.Log().Warn("the disk is slow")
	if want := block + "\x1b[2A\r\x1b[J" + "warn: the disk is slow\n" + block; terminal.String() != want {
		t.Errorf("the terminal got %q, want %q", terminal.String(), want)
	}
}

// A terminal that becomes narrower shows each line of the block as several rows; all of them are taken away.
func TestTheBlockIsTakenAwayAfterTheWindowBecameNarrower(t *testing.T) {
	t.Parallel()
	lines := []string{strings.Repeat("x", 79), strings.Repeat("y", 40), ""}
	for window, want := range map[int]int{80: 3, 79: 3, 60: 4, 40: 4, 20: 7, 0: 3} {
		if got := rowsOf(lines, window); got != want {
			t.Errorf("window of %d columns: %d rows, want %d", window, got, want)
		}
	}
}
