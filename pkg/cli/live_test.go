package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/supervisor"
)

func TestTheBlockBelowARunSaysWhatEachAgentDoesAndWhatWaits(t *testing.T) {
	t.Parallel()
	v := dashboard.View{
		Agents: []dashboard.Agent{{ID: "coder-1", Task: "a", Doing: &dashboard.Doing{Kind: "tool", Tool: "bash", Text: "go test", Seconds: 70, TokensIn: 12000}}, {ID: "coder-2"}},
		Tasks:  []dashboard.Task{{ID: "a", Status: blackboard.Claimed}, {ID: "b", Status: blackboard.Merged}, {ID: "c", Status: blackboard.Superseded}},
		Cost:   dashboard.Cost{Cents: 120},
		Waiting: []dashboard.Waiting{{Task: "x", Text: "asks", Next: "liza questions"}, {Text: "2", Next: "liza a"}, {Text: "3", Next: "liza b"}, {Text: "4", Next: "liza c"},
			{Text: "5", Next: "liza d"}},
	}
	want := `  coder-1  a  1m, 12k tokens  › bash  go test
  coder-2  waits
  merged 1 of 2, $1.20, 3m5s
? liza questions  x asks
? liza a   2
? liza b   3
  and 2 more wait for you: liza status`
	if got := strings.Join(liveLines(v, 185*time.Second), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAWaitIsSaidOnceByATeam(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, calm: map[string]bool{}}
	for _, agent := range []string{"coder-1", "coder-2", "coder-1"} {
		s.line(supervisor.Line{Agent: agent, Text: "waits: nothing to do"})
	}
	s.line(supervisor.Line{Agent: "coder-2", Text: "waits: for a person"})
	s.line(supervisor.Line{Agent: "coder-2", Task: "a", Text: "claimed"})
	s.line(supervisor.Line{Agent: "coder-2", Task: "a", Text: "claimed"})
	if n := strings.Count(out.String(), "nothing to do"); n != 1 || strings.Count(out.String(), "for a person") != 1 || strings.Count(out.String(), "claimed") != 2 {
		t.Errorf("got\n%s", out.String())
	}
}
