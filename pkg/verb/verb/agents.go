package verb

import (
	"cmp"
	"context"
	"errors"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Agents has the verbs about registrations: who is there, who is stopped, and what the dead have left.
type Agents struct{ verbs *Service }

// Registered is the result of a registration. Token is shown once and is in no file.
type Registered struct {
	Agent      string          `json:"agent"`
	Token      string          `json:"token"`
	Generation string          `json:"generation"`
	Lease      blackboard.Time `json:"lease_expires"`
}

// RegisterInput says who registers. PID 0 is a registration without a lasting process.
type RegisterInput struct {
	ID       string // "" takes the lowest free number of Role
	Role     blackboard.Role
	PID      int
	PIDStart int64
	Terminal string
	CLI      string
	Model    string
	Settings map[string]string // that its environment makes, by key

	// Ready chooses the program of a supervisor that begins to work at once; nil: the agent is STARTING (A02).
	Ready func(s *blackboard.State, id string) (program, model string)
}

// Register enters an agent on the board (specs/protocol.md#5.1, A01).
func (g Agents) Register(ctx context.Context, in RegisterInput) (Registered, error) {
	entry, token, err := g.verbs.Board.NewRegistration(in.PID != 0)
	if err != nil {
		return Registered{}, err
	}
	entry.PID, entry.PIDStart, entry.Terminal, entry.CLI, entry.Model, entry.Role = in.PID, in.PIDStart, in.Terminal, in.CLI, in.Model, in.Role
	entry.Settings = in.Settings
	contact, err := g.verbs.Board.Contact()
	if err != nil {
		return Registered{}, err
	}
	var out Registered
	err = g.verbs.Board.Update(ctx, "register", func(s *blackboard.State, a transition.Actor) error {
		id := in.ID
		if id == "" {
			id = transition.FreeAgentID(s, in.Role, g.verbs.Board.Now())
		}
		e := *entry
		a.Via = g.verbs.Board.Caller.As != ""
		if err := transition.Register(s, id, &e, a, g.verbs.Board.Now()); err != nil {
			return err
		}
		if err := transition.NoteContact(s, contact, g.verbs.Board.Now()); err != nil {
			return err
		}
		if in.Ready != nil {
			program, model := in.Ready(s, id)
			own := transition.Actor{ID: id, TokenHash: e.TokenHash, Facts: a.Facts}
			if err := transition.SetReady(s, own, program, model, g.verbs.Board.Now()); err != nil {
				return err
			}
		}
		out = Registered{Agent: id, Token: token, Generation: e.Generation, Lease: e.LeaseExpires}
		return nil
	})
	return out, err
}

// Adopted is a registration that goes on under another process.
type Adopted struct {
	Token, RunToken string
}

// Adopt gives the registration of a supervisor that died to this process, which has its run.
func (g Agents) Adopt(ctx context.Context, in RegisterInput, run string) (out Adopted, err error) {
	by, token, err := g.verbs.Board.NewRegistration(true)
	if err != nil {
		return out, err
	}
	runToken, hash, err := g.NewToken()
	if err != nil {
		return out, err
	}
	by.PID, by.PIDStart, by.Terminal, by.Settings = in.PID, in.PIDStart, in.Terminal, in.Settings
	by.Child = &blackboard.Child{RunID: run, TokenHash: hash}
	err = g.verbs.Board.Update(ctx, "adopt", func(s *blackboard.State, a transition.Actor) error {
		return transition.Adopt(s, in.ID, by, a, g.verbs.Board.Now())
	})
	return Adopted{token, runToken}, err
}

// Attach takes a coder at work over from its supervisor, for a person's terminal: the run ends there, and its registration with the
// claim goes on in this process.
func (g Agents) Attach(ctx context.Context, in RegisterInput) (out Registered, err error) {
	by, token, err := g.verbs.Board.NewRegistration(true)
	if err != nil {
		return out, err
	}
	by.PID, by.PIDStart, by.Terminal, by.Settings = in.PID, in.PIDStart, in.Terminal, in.Settings
	if _, _, err = g.order(ctx, "take over", AgentOrder{Agent: in.ID}, func(s *blackboard.State, a transition.Actor) error {
		return transition.AttachAgent(s, in.ID, a, g.verbs.Board.Now())
	}); err != nil {
		return out, err
	}
	waiting, stop := context.WithTimeout(ctx, attachWait)
	defer stop()
	for changes := g.verbs.Board.Store.Watch(waiting); ; {
		s, err := g.verbs.Board.View(waiting)
		if err != nil || transition.LeftFor(s, in.ID) {
			break
		}
		select {
		case <-changes:
		case <-waiting.Done():
		}
	}
	err = g.verbs.Board.Update(context.WithoutCancel(ctx), "take", func(s *blackboard.State, a transition.Actor) error {
		err := transition.TakeAgent(s, in.ID, by, a, g.verbs.Board.Now())
		if stop := s.Stopped[in.ID]; err != nil && stop != nil && stop.Attach { // it goes on as it was
			delete(s.Stopped, in.ID)
			return nil
		}
		out = Registered{Agent: in.ID, Token: token}
		return err
	})
	if err == nil && out.Token == "" {
		err = transition.Refuse(transition.ExitRefused, "liza status", "the supervisor of %s did not leave its work within %s", in.ID, attachWait)
	}
	return out, err
}

// attachWait is how long a supervisor may take to end its run and leave it.
const attachWait = 2 * time.Minute

// Unregister removes the caller's registration; --as names it for a person.
func (g Agents) Unregister(ctx context.Context, id string, force bool) error {
	caller, err := g.verbs.Board.Identify()
	if err != nil {
		return err
	}
	caller = caller.Unregistered() // nobody is registered in order to be removed
	remove := func() error {
		return g.verbs.Board.UpdateAs(ctx, "unregister", caller, func(s *blackboard.State, a transition.Actor) error {
			return transition.Unregister(s, id, a, force, g.verbs.Board.Now())
		})
	}
	err = remove()
	if r, ok := errors.AsType[*transition.Refusal](err); !ok || r.Guard != "G21" || !force {
		return err
	}
	if err := g.releaseAll(ctx, id, id+" was unregistered with --force"); err != nil {
		return err
	}
	return remove()
}

// releaseAll releases what an agent holds. Its work is kept.
func (g Agents) releaseAll(ctx context.Context, id, reason string) error {
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return err
	}
	for t := range s.Tasks() {
		reviews := t.Status == blackboard.ReadyForReview && t.ReviewingBy == id
		if !reviews && (t.Status != blackboard.Claimed || t.AssignedTo != id) {
			continue
		}
		if _, err := g.verbs.Release(ctx, ReleaseInput{Task: t.ID, Reason: reason, Coder: !reviews, Reviewer: reviews, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// AgentOrder is an order of a person to one agent. Task is what a restarted coder begins with.
type AgentOrder struct {
	Agent  string `json:"agent" arg:"AGENT" help:"id of the agent"`
	Task   string `json:"task,omitempty" word:"ID" help:"what a coder begins with" unset:"the best that can be claimed"`
	Reason string `json:"reason,omitempty" help:"why"`
}

// Ordered is the result of an order to one agent. Task is the work that its run ends under.
type Ordered struct {
	Agent string `json:"agent"`
	Task  string `json:"task,omitempty"`
	Next  string `json:"begins_with,omitempty"`
}

// StopAgent ends the run of an agent and keeps it from work until RestartAgent, on any host: its supervisor saves the
// work and gives the claim back. An agent without a process is released here.
func (g Agents) StopAgent(ctx context.Context, in AgentOrder) (Ordered, error) {
	out, process, err := g.order(ctx, "stop", in, func(s *blackboard.State, a transition.Actor) error {
		stop, e := s.Stopped[in.Agent], s.Agents[in.Agent]
		if stop != nil && !stop.Restart && e != nil && e.PID == 0 && e.CurrentTask != "" {
			return nil // a former call did not come to the release
		}
		return transition.StopAgent(s, in.Agent, in.Reason, a, g.verbs.Board.Now())
	})
	if err != nil || process {
		return out, err
	}
	return out, g.releaseAll(ctx, in.Agent, cmp.Or(in.Reason, in.Agent+" was stopped"))
}

// RestartAgent lets a stopped agent work again, or ends the run under way so that a new one begins.
func (g Agents) RestartAgent(ctx context.Context, in AgentOrder) (Ordered, error) {
	out, _, err := g.order(ctx, "restart", in, func(s *blackboard.State, a transition.Actor) error {
		return transition.RestartAgent(s, in.Agent, in.Task, in.Reason, a, g.verbs.Board.Now())
	})
	out.Next = in.Task
	return out, err
}

func (g Agents) order(ctx context.Context, op string, in AgentOrder, change func(*blackboard.State, transition.Actor) error) (out Ordered, process bool, err error) {
	out.Agent = in.Agent
	if err := g.verbs.Board.Clean(field("--reason", &in.Reason)); err != nil {
		return out, false, err
	}
	err = g.verbs.Board.Update(ctx, op, func(s *blackboard.State, a transition.Actor) error {
		if err := g.verbs.Board.OnlyPerson(s, a, op+" an agent"); err != nil {
			return err
		}
		if err := change(s, a); err != nil {
			return err
		}
		if e := s.Agents[in.Agent]; e != nil {
			out.Task, process = e.CurrentTask, e.PID != 0
		}
		return nil
	})
	return out, process, err
}

// Beat is the result of a heartbeat.
type Beat struct {
	Agent string          `json:"agent"`
	Lease blackboard.Time `json:"lease_expires"`
}

// Heartbeat extends the leases of the caller and of its claim in one write.
func (g Agents) Heartbeat(ctx context.Context) (Beat, error) {
	out, _, err := g.HeartbeatWith(ctx, nil)
	return out, err
}

// HeartbeatWith is Heartbeat, which renews the leases of others of the same process in the same write. renewed has those whose
// registration holds.
func (g Agents) HeartbeatWith(ctx context.Context, others []transition.Actor) (out Beat, renewed []string, err error) {
	contact, err := g.verbs.Board.Contact()
	if err != nil {
		return out, nil, err
	}
	err = g.verbs.Board.Update(ctx, "heartbeat", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.Beat(s, a, g.verbs.Board.Now()); err != nil {
			return err
		}
		if err := transition.NoteContact(s, contact, g.verbs.Board.Now()); err != nil {
			return err
		}
		out, renewed = Beat{Agent: a.ID, Lease: s.Agents[a.ID].LeaseExpires}, nil
		for _, other := range others {
			if other.Facts = a.Facts; transition.Beat(s, other, g.verbs.Board.Now()) == nil {
				renewed = append(renewed, other.ID)
			}
		}
		return nil
	})
	return out, renewed, err
}
