package transition

import (
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// Actor is who asks for an event. The zero value of a field means "not known".
type Actor struct {
	ID        string                  // "human", "system" or an agent id
	Name      string                  // the person's name, for hold.by and notes
	TokenHash string                  // "sha256:…" of the token that the caller presented
	Via       bool                    // a person acts for the agent ID (--as)
	Inside    string                  // the agent inside whose run the caller is, or NoAgent (G04)
	Register  *blackboard.Agent       // the registration to make when Via and the agent has no live one
	Facts     blackboard.ProcessFacts // what is known about processes, for liveness
}

// NoAgent is the value of Actor.Inside for a process below a supervisor that belongs to no run of an agent: a check, a hook,
// the command of a task, a messenger.
const NoAgent = "a command"

// elsewhere is why an actor inside a run may not act as anybody else.
func (a Actor) elsewhere() error {
	if a.Inside == NoAgent {
		return refuse("G04", ExitRefused, "liza status", "this process runs inside a command that Liza started, and such a command acts for nobody")
	}
	return refuse("G04", ExitRefused, "liza status", "this process runs inside %s and can only act as %s", a.Inside, a.Inside)
}

// SystemActor performs deterministic and time-driven work.
func SystemActor(facts blackboard.ProcessFacts) Actor {
	return Actor{ID: blackboard.System, Facts: facts}
}

// name returns the text for "by" fields: a person's own name, else the id.
func (a Actor) name() string {
	if a.ID == blackboard.Human && a.Name != "" {
		return a.Name
	}
	return a.ID
}

// Party is a set of kinds of actors, column "actor" of specs/protocol.md#4.3.
type Party uint16

// The kinds of actors. S… is the supervisor of an agent of that role: the holder of
// the registration token. A person acting with --as counts as agent and supervisor.
const (
	ByHuman Party = 1 << iota
	BySystem
	ByPlanner
	ByCoder
	ByReviewer
	SPlanner
	SCoder
	SReviewer

	SAny  = SPlanner | SCoder | SReviewer
	ByAny = ByPlanner | ByCoder | ByReviewer
)

var partyNames = []struct {
	party Party
	name  string
}{
	{ByHuman, "human"}, {BySystem, "system"}, {ByPlanner, "planner"}, {ByCoder, "coder"}, {ByReviewer, "code_reviewer"},
	{SPlanner, "S(planner)"}, {SCoder, "S(coder)"}, {SReviewer, "S(code_reviewer)"},
}

func agentParty(r blackboard.Role) Party {
	switch r {
	case blackboard.RolePlanner:
		return ByPlanner
	case blackboard.RoleCoder:
		return ByCoder
	case blackboard.RoleReviewer:
		return ByReviewer
	}
	return 0
}

func supervisorParty(r blackboard.Role) Party {
	switch r {
	case blackboard.RolePlanner:
		return SPlanner
	case blackboard.RoleCoder:
		return SCoder
	case blackboard.RoleReviewer:
		return SReviewer
	}
	return 0
}

// caller is who asks, once G01, G02 and G04 have let him pass.
type caller struct {
	party Party
	entry *blackboard.Agent // the registration; nil for human and system
	fresh bool              // the event adds entry to the board
}

// identify is Identify without a change, so that a refused event leaves no registration behind (specs/decisions.md#D24). G04
// comes first: where a process runs says more than what it calls itself.
func identify(s *blackboard.State, a Actor, now time.Time) (caller, error) {
	switch {
	case a.Inside != "" && a.ID != a.Inside:
		return caller{}, a.elsewhere()
	case a.Inside != "" && a.Via:
		return caller{}, refuse("G04", ExitRefused, "liza status",
			"this process runs inside %s, and an agent may not use --as", a.Inside)
	case a.ID == blackboard.Human && !a.Via:
		return caller{party: ByHuman}, nil
	case a.ID == blackboard.System && !a.Via:
		return caller{party: BySystem}, nil
	}
	role, _, ok := blackboard.ParseAgentID(a.ID)
	if !ok {
		return caller{}, refuse("G01", ExitRefused, "liza help register", "agent id '%s' is malformed: it must be coder-N, code-reviewer-N or planner-N", a.ID)
	}
	if a.Via {
		return identifyVia(s, a, role, now)
	}
	entry := s.Agents[a.ID]
	if entry == nil {
		return caller{}, refuse("G01", ExitRefused, "liza help register", "agent '%s' is not registered", a.ID)
	}
	party, err := authenticate(a, entry, role)
	return caller{party: party, entry: entry}, err
}

func authenticate(a Actor, entry *blackboard.Agent, role blackboard.Role) (Party, error) {
	switch {
	case a.TokenHash == "":
		return 0, refuse("G02", ExitRefused, "liza help register", "LIZA_AGENT_TOKEN is missing: it must be the token of %s", a.ID)
	case a.TokenHash == entry.TokenHash:
		return agentParty(role) | supervisorParty(role), nil
	case entry.Child != nil && a.TokenHash == entry.Child.TokenHash:
		return agentParty(role), nil
	}
	return 0, refuse("G02", ExitLeaseLost, "liza status",
		"the registration of %s was replaced%s, or its run is over; this process is no longer %s", a.ID, since(entry.Started), a.ID)
}

func since(t blackboard.Time) string {
	if t.None() {
		return ""
	}
	return " at " + string(t)
}

// identifyVia lets a person act for an agent. Unknown is not dead: only a registration
// that is verifiably over is replaced.
func identifyVia(s *blackboard.State, a Actor, role blackboard.Role, now time.Time) (caller, error) {
	c := caller{party: agentParty(role) | supervisorParty(role), entry: s.Agents[a.ID]}
	if c.entry != nil {
		if live, _ := s.Liveness(a.ID, now, a.Facts); live != blackboard.Expired && live != blackboard.Dead {
			return c, nil
		}
	}
	if a.Register == nil {
		return caller{}, refuse("G01", ExitRefused, "liza register --as "+a.ID, "agent '%s' is not registered", a.ID)
	}
	entry := *a.Register
	if old := c.entry; old != nil && old.PID == 0 && old.Generation != "" {
		// A person's own registration that merely ran out: the claims stay the person's.
		entry.Generation = old.Generation
		entry.CurrentTask = old.CurrentTask
	}
	entry.Role = role
	start(&entry, now)
	c.entry, c.fresh = &entry, true
	return c, nil
}

// article names the actor in a refusal.
func article(a Actor, p Party) string {
	role, _, ok := blackboard.ParseAgentID(a.ID)
	switch {
	case !ok:
		return a.ID
	case p&supervisorParty(role) == 0 || a.Via:
		return "a " + string(role)
	}
	return "the supervisor of a " + string(role)
}

// words names the kinds of actors for people: a role stands for its supervisor too.
func (p Party) words() []string {
	var out []string
	for _, x := range partyNames {
		name := x.name
		if role, ok := strings.CutPrefix(name, "S("); ok {
			role = strings.TrimSuffix(role, ")")
			if p&agentParty(blackboard.Role(role)) != 0 {
				continue
			}
			name = "the supervisor of a " + role
		}
		if p&x.party != 0 {
			out = append(out, name)
		}
	}
	return out
}

func via(a Actor) map[string]any {
	if a.Via {
		return map[string]any{"via": blackboard.Human}
	}
	return nil
}

// start sets status, lease and times of a new registration.
func start(a *blackboard.Agent, now time.Time) {
	a.Status, a.Child, a.Said, a.ProviderWait = blackboard.AgentStarting, nil, nil, nil
	if a.CurrentTask != "" {
		a.Status = blackboard.AgentWorking
		if a.Role == blackboard.RoleReviewer {
			a.Status = blackboard.AgentReviewing
		}
	}
	a.LeaseExpires, a.Heartbeat, a.Started = blackboard.TimeOf(now.Add(startingLease)), blackboard.TimeOf(now), blackboard.TimeOf(now)
	if a.Terminal == "" {
		a.Terminal = "unknown"
	}
}

const startingLease = 300 * time.Second

// lease is the end of a lease that is granted now.
func lease(s *blackboard.State, now time.Time) blackboard.Time {
	return blackboard.TimeOf(now.Add(s.Duration("lease_duration")))
}
