package dashboard

import (
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func TestAHostIsSilentAfterLeaseAndGrace(t *testing.T) {
	t.Parallel()
	s := busy()
	limit := s.Duration("lease_duration") + s.Duration("lease_grace")
	seen := func(ago time.Duration) *blackboard.Host {
		return &blackboard.Host{Seen: blackboard.TimeOf(now.Add(-ago)), Version: "1.4.0"}
	}
	s.Hosts = map[string]*blackboard.Host{"north": seen(limit), "south": seen(limit + time.Second)}
	s.Agents["coder-1"].Host = "south"
	v := Build(s, Input{Now: now, Process: blackboard.ProcessFacts{Host: "north"}})
	if len(v.Hosts) != 2 || v.Hosts[0].Silent || !v.Hosts[0].Here || !v.Hosts[1].Silent || v.Hosts[1].Here || v.Hosts[1].Agents != 1 {
		t.Fatalf("the hosts are %+v", v.Hosts)
	}
	if text := Text(v, 200, false); !strings.Contains(text, "south: 1 agent, last contact") || !strings.Contains(text, "silent: its claims are free") {
		t.Errorf("the text does not say that south is silent:\n%s", text)
	}
}
