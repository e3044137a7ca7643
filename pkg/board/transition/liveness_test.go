package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func TestLivenessIsTheFirstVerdictThatMatches(t *testing.T) {
	t.Parallel()
	const grace, length = 60 * time.Second, 1800 * time.Second
	at := func(d time.Duration) blackboard.Time { return blackboard.TimeOf(validNow.Add(d)) }
	running := func(is, known bool) func(int, int64) (bool, bool) {
		return func(pid int, start int64) (bool, bool) { return is && pid == 41233 && start == 8123345, known }
	}
	here := blackboard.ProcessFacts{Host: "devbox", BootID: "4f0c9a1d", Running: running(true, true)}
	for name, c := range map[string]struct {
		change func(a *blackboard.Agent, p *blackboard.ProcessFacts)
		want   blackboard.Liveness
	}{
		"a lease that holds":               {func(*blackboard.Agent, *blackboard.ProcessFacts) {}, blackboard.Alive},
		"at the end of the grace":          {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = at(-grace) }, blackboard.Alive},
		"a second after the grace":         {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = at(-grace - time.Second) }, blackboard.Expired},
		"no lease":                         {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = "" }, blackboard.Unknown},
		"a malformed lease":                {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = "soon" }, blackboard.Unknown},
		"the longest lease to be believed": {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = at(length + 300*time.Second) }, blackboard.Alive},
		"a longer lease":                   {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = at(length + 301*time.Second) }, blackboard.Unknown},
		"a heartbeat 300 s ahead":          {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.Heartbeat = at(300 * time.Second) }, blackboard.Alive},
		"a heartbeat further ahead":        {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.Heartbeat = at(301 * time.Second) }, blackboard.Unknown},
		"a clock that jumped":              {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) { p.ClockJumped = true }, blackboard.Unknown},
		"a jump does not hide a dead process": {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) {
			p.ClockJumped, p.Running = true, running(false, true)
		}, blackboard.Dead},
		"nor does a lease too far ahead": {func(a *blackboard.Agent, p *blackboard.ProcessFacts) {
			a.LeaseExpires, p.Running = at(24*time.Hour), running(false, true)
		}, blackboard.Dead},
		"a process that is gone":         {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) { p.Running = running(false, true) }, blackboard.Dead},
		"a pid of another start time":    {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.PIDStart++ }, blackboard.Dead},
		"a process nobody can ask about": {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) { p.Running = running(false, false) }, blackboard.Alive},
		"the host was restarted":         {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) { p.BootID = "other" }, blackboard.Dead},
		"an unknown boot says nothing":   {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) { p.BootID = "" }, blackboard.Alive},
		"another host says nothing": {func(_ *blackboard.Agent, p *blackboard.ProcessFacts) {
			p.Host, p.Running = "laptop", running(false, true)
		}, blackboard.Alive},
		"an unknown host says nothing": {func(a *blackboard.Agent, p *blackboard.ProcessFacts) {
			a.Host, p.Host, p.Running = "", "", running(false, true)
		}, blackboard.Alive},
		"no process recorded": {func(a *blackboard.Agent, p *blackboard.ProcessFacts) { a.PID, p.BootID = 0, "other" }, blackboard.Alive},
		"dead comes before expired": {func(a *blackboard.Agent, p *blackboard.ProcessFacts) {
			a.LeaseExpires, p.Running = at(-grace-time.Hour), running(false, true)
		}, blackboard.Dead},
		"a running process with an old lease": {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.LeaseExpires = at(-time.Hour) }, blackboard.Expired},
		"a starting agent has its short lease": {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) {
			a.Status, a.LeaseExpires = blackboard.AgentStarting, at(300*time.Second)
		}, blackboard.Alive},
		"a heartbeat that cannot be read is no": {func(a *blackboard.Agent, _ *blackboard.ProcessFacts) { a.Heartbeat = "noon" }, blackboard.Alive},
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
	if got, why := validState().Liveness("coder-77", validNow, blackboard.ProcessFacts{}); got != blackboard.Unknown || why == "" {
		t.Errorf("got %s (%s)", got, why)
	}
}

func TestAClaimWithoutItsRegistrationIsJudgedByItsOwnLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *blackboard.State){
		"no entry": func(s *blackboard.State) { delete(s.Agents, "coder-1"); delete(s.Agents, "code-reviewer-1") },
		"a new registration": func(s *blackboard.State) {
			s.Agents["coder-1"].Generation, s.Agents["code-reviewer-1"].Generation = "g-new", "g-new"
		},
	} {
		for lease, want := range map[blackboard.Time]blackboard.Liveness{ahead(1): blackboard.Alive, ago(2): blackboard.Expired, "": blackboard.Unknown, "soon": blackboard.Unknown, ahead(600): blackboard.Unknown} {
			s := validState()
			change(s)
			s.Task("claimed").LeaseExpires, s.Task("reviewed").ReviewLeaseExpires = lease, lease
			if got, why := s.ClaimLiveness(s.Task("claimed"), validNow, blackboard.ProcessFacts{}); got != want || why == "" {
				t.Errorf("%s, claim with lease %q: %s (%s), want %s", name, lease, got, why, want)
			}
			if got, _ := s.ReviewLiveness(s.Task("reviewed"), validNow, blackboard.ProcessFacts{}); got != want {
				t.Errorf("%s, review with lease %q: %s, want %s", name, lease, got, want)
			}
		}
	}
}

func TestAClaimIsJudgedByTheEntryOfItsRegistration(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Task("claimed").LeaseExpires, s.Task("reviewed").ReviewLeaseExpires = ago(100), ago(100)
	if got, _ := s.ClaimLiveness(s.Task("claimed"), validNow, blackboard.ProcessFacts{}); got != blackboard.Alive {
		t.Errorf("the claim is %s", got)
	}
	s.Agents["code-reviewer-1"].LeaseExpires = ago(100)
	s.Task("reviewed").ReviewLeaseExpires = ahead(20)
	if got, _ := s.ReviewLiveness(s.Task("reviewed"), validNow, blackboard.ProcessFacts{}); got != blackboard.Expired {
		t.Errorf("the review is %s", got)
	}
}
