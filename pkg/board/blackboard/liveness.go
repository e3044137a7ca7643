package blackboard

import (
	"fmt"
	"time"
)

// Liveness is an observer's verdict about the holder of a lease (specs/protocol.md#6.3). Only Expired and Dead let others
// act; Unknown never gives work away.
type Liveness string

// The four verdicts.
const (
	Alive   Liveness = "alive"
	Expired Liveness = "expired"
	Dead    Liveness = "dead"
	Unknown Liveness = "unknown"
)

// farFuture is how far ahead of the observer's clock a heartbeat, or a lease beyond
// its length, may be before the clocks cannot be trusted.
const farFuture = 300 * time.Second

// ProcessFacts is the observer's knowledge of its machine. The zero value knows nothing, so that leases alone decide.
type ProcessFacts struct {
	Host, BootID string

	// Running reports whether the process with this id and start time runs; known is false if that cannot be determined. It
	// is called for the observer's own host and boot only. Nil: nothing is known.
	Running func(pid int, start int64) (running, known bool)

	// Kept reports whether the run with this id goes on without its supervisor, so that another one can adopt it. It
	// is called where Running is. Nil: no run does.
	Kept func(run string) bool

	// ClockJumped reports that the wall clock jumped against the monotonic clock by more than 30 s, less than 2 ×
	// heartbeat_interval ago.
	ClockJumped bool
}

// Liveness judges the registration of an agent, and returns the reason.
func (s *State) Liveness(agentID string, now time.Time, p ProcessFacts) (Liveness, string) {
	a := s.Agents[agentID]
	if a == nil {
		return Unknown, fmt.Sprintf("%s is not registered", agentID)
	}
	if reason := unreadable(a.LeaseExpires); reason != "" {
		return Unknown, reason
	}
	if reason := gone(a, p); reason != "" { // whatever the clocks say
		return Dead, reason
	}
	if reason := s.incredible(a.LeaseExpires, now, p); reason != "" {
		return Unknown, reason
	}
	if beat, ok := a.Heartbeat.At(); ok && beat.Sub(now) > farFuture {
		return Unknown, fmt.Sprintf("the heartbeat %s is in the future", a.Heartbeat)
	}
	return s.byLease(a.LeaseExpires, now)
}

// ClaimLiveness judges the holder of a claimed task: its registration, or the claim's own lease if the entry of that
// registration is gone.
func (s *State) ClaimLiveness(t *Task, now time.Time, p ProcessFacts) (Liveness, string) {
	return s.holderLiveness(t.AssignedTo, t.ClaimGeneration, t.LeaseExpires, now, p)
}

// ReviewLiveness judges the holder of a review claim as ClaimLiveness judges that of a claim.
func (s *State) ReviewLiveness(t *Task, now time.Time, p ProcessFacts) (Liveness, string) {
	return s.holderLiveness(t.ReviewingBy, t.ReviewingGeneration, t.ReviewLeaseExpires, now, p)
}

func (s *State) holderLiveness(id, generation string, lease Time, now time.Time, p ProcessFacts) (Liveness, string) {
	if RegistrationOf(s.Agents[id], generation) {
		return s.Liveness(id, now, p)
	}
	if reason := s.incredible(lease, now, p); reason != "" {
		return Unknown, reason
	}
	return s.byLease(lease, now)
}

// RegistrationOf reports whether the entry is the registration with that generation. A claim of Liza v1 has none and belongs
// to any entry of its agent.
func RegistrationOf(a *Agent, generation string) bool {
	return a != nil && (generation == "" || a.Generation == "" || a.Generation == generation)
}

// unreadable says why a lease is not a time, or "".
func unreadable(lease Time) string {
	switch _, ok := lease.At(); {
	case lease.None():
		return "there is no lease"
	case !ok:
		return fmt.Sprintf("the lease '%s' is not a time", lease)
	}
	return ""
}

// incredible says why nothing may be concluded from a lease, or "".
func (s *State) incredible(lease Time, now time.Time, p ProcessFacts) string {
	until, _ := lease.At()
	switch reason := unreadable(lease); {
	case reason != "":
		return reason
	case until.Sub(now) > s.Duration("lease_duration")+farFuture:
		return fmt.Sprintf("the lease %s is too far in the future", lease)
	case p.ClockJumped:
		return "the clock of this machine jumped"
	}
	return ""
}

// gone says why the process of an entry cannot run any more, or "".
func gone(a *Agent, p ProcessFacts) string {
	if a.PID == 0 || p.Host == "" || a.Host != p.Host {
		return ""
	}
	if a.BootID != p.BootID {
		if a.BootID == "" || p.BootID == "" {
			return ""
		}
		return fmt.Sprintf("%s was restarted since", a.Host)
	}
	if p.Running == nil {
		return ""
	}
	if running, known := p.Running(a.PID, a.PIDStart); known && !running && (a.Child == nil || p.Kept == nil || !p.Kept(a.Child.RunID)) {
		return fmt.Sprintf("process %d is gone", a.PID)
	}
	return ""
}

func (s *State) byLease(lease Time, now time.Time) (Liveness, string) {
	until, _ := lease.At()
	if now.After(until.Add(s.Duration("lease_grace"))) {
		return Expired, fmt.Sprintf("the lease expired at %s", lease)
	}
	return Alive, fmt.Sprintf("the lease holds until %s", lease)
}
