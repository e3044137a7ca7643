package blackboard

import (
	"testing"
	"time"
)

func TestLivenessIsTheFirstVerdictThatMatches(t *testing.T) {
	t.Parallel()
	const grace, length = 60 * time.Second, 1800 * time.Second
	at := func(d time.Duration) Time { return TimeOf(validNow.Add(d)) }
	running := func(is, known bool) func(int, int64) (bool, bool) {
		return func(pid int, start int64) (bool, bool) { return is && pid == 41233 && start == 8123345, known }
	}
	here := ProcessFacts{Host: "devbox", BootID: "4f0c9a1d", Running: running(true, true)}
	for name, c := range map[string]struct {
		change func(a *Agent, p *ProcessFacts)
		want   Liveness
	}{
		"a lease that holds":               {func(*Agent, *ProcessFacts) {}, Alive},
		"at the end of the grace":          {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = at(-grace) }, Alive},
		"a second after the grace":         {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = at(-grace - time.Second) }, Expired},
		"no lease":                         {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = "" }, Unknown},
		"a malformed lease":                {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = "soon" }, Unknown},
		"the longest lease to be believed": {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = at(length + 300*time.Second) }, Alive},
		"a longer lease":                   {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = at(length + 301*time.Second) }, Unknown},
		"a heartbeat 300 s ahead":          {func(a *Agent, _ *ProcessFacts) { a.Heartbeat = at(300 * time.Second) }, Alive},
		"a heartbeat further ahead":        {func(a *Agent, _ *ProcessFacts) { a.Heartbeat = at(301 * time.Second) }, Unknown},
		"a clock that jumped":              {func(_ *Agent, p *ProcessFacts) { p.ClockJumped = true }, Unknown},
		"a jump hides a dead process":      {func(_ *Agent, p *ProcessFacts) { p.ClockJumped, p.Running = true, running(false, true) }, Unknown},
		"a process that is gone":           {func(_ *Agent, p *ProcessFacts) { p.Running = running(false, true) }, Dead},
		"a pid of another start time":      {func(a *Agent, _ *ProcessFacts) { a.PIDStart++ }, Dead},
		"a process nobody can ask about":   {func(_ *Agent, p *ProcessFacts) { p.Running = running(false, false) }, Alive},
		"the host was restarted":           {func(_ *Agent, p *ProcessFacts) { p.BootID = "other" }, Dead},
		"an unknown boot says nothing":     {func(_ *Agent, p *ProcessFacts) { p.BootID = "" }, Alive},
		"another host says nothing":        {func(_ *Agent, p *ProcessFacts) { p.Host, p.Running = "laptop", running(false, true) }, Alive},
		"an unknown host says nothing":     {func(a *Agent, p *ProcessFacts) { a.Host, p.Host, p.Running = "", "", running(false, true) }, Alive},
		"no process recorded":              {func(a *Agent, p *ProcessFacts) { a.PID, p.BootID = 0, "other" }, Alive},
		"dead comes before expired": {func(a *Agent, p *ProcessFacts) {
			a.LeaseExpires, p.Running = at(-grace-time.Hour), running(false, true)
		}, Dead},
		"a running process with an old lease":   {func(a *Agent, _ *ProcessFacts) { a.LeaseExpires = at(-time.Hour) }, Expired},
		"a starting agent has its short lease":  {func(a *Agent, _ *ProcessFacts) { a.Status, a.LeaseExpires = AgentStarting, at(300*time.Second) }, Alive},
		"a heartbeat that cannot be read is no": {func(a *Agent, _ *ProcessFacts) { a.Heartbeat = "noon" }, Alive},
	} {
		s, p := validState(), here
		c.change(s.Agents["coder-1"], &p)
		got, why := s.Liveness("coder-1", validNow, p)
		if got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
		if claim, _ := s.ClaimLiveness(s.Task("claimed"), validNow, p); claim != c.want {
			t.Errorf("%s: the claim is %s, want %s", name, claim, c.want)
		}
	}
}

func TestAnAgentWithoutEntryIsUnknown(t *testing.T) {
	t.Parallel()
	if got, why := validState().Liveness("coder-77", validNow, ProcessFacts{}); got != Unknown || why == "" {
		t.Errorf("got %s (%s)", got, why)
	}
}

func TestAClaimWithoutItsRegistrationIsJudgedByItsOwnLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *State){
		"no entry": func(s *State) { delete(s.Agents, "coder-1"); delete(s.Agents, "code-reviewer-1") },
		"a new registration": func(s *State) {
			s.Agents["coder-1"].Generation, s.Agents["code-reviewer-1"].Generation = "g-new", "g-new"
		},
	} {
		for lease, want := range map[Time]Liveness{ahead(1): Alive, ago(2): Expired, "": Unknown, "soon": Unknown, ahead(600): Unknown} {
			s := validState()
			change(s)
			s.Task("claimed").LeaseExpires, s.Task("reviewed").ReviewLeaseExpires = lease, lease
			if got, why := s.ClaimLiveness(s.Task("claimed"), validNow, ProcessFacts{}); got != want || why == "" {
				t.Errorf("%s, claim with lease %q: %s (%s), want %s", name, lease, got, why, want)
			}
			if got, _ := s.ReviewLiveness(s.Task("reviewed"), validNow, ProcessFacts{}); got != want {
				t.Errorf("%s, review with lease %q: %s, want %s", name, lease, got, want)
			}
		}
	}
}

func TestAClaimIsJudgedByTheEntryOfItsRegistration(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Task("claimed").LeaseExpires, s.Task("reviewed").ReviewLeaseExpires = ago(100), ago(100)
	if got, _ := s.ClaimLiveness(s.Task("claimed"), validNow, ProcessFacts{}); got != Alive {
		t.Errorf("the claim is %s", got)
	}
	s.Agents["code-reviewer-1"].LeaseExpires = ago(100)
	s.Task("reviewed").ReviewLeaseExpires = ahead(20)
	if got, _ := s.ReviewLiveness(s.Task("reviewed"), validNow, ProcessFacts{}); got != Expired {
		t.Errorf("the review is %s", got)
	}
}
