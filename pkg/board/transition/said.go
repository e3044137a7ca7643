package transition

import (
	"slices"
	"time"

	"liza/pkg/board/blackboard"
)

// A run decides nothing while it lasts: what its verbs say is recorded, and its end applies it when the program ended by itself and its
// own answer agrees. So nothing that a program starts, a test for example, decides in its place.

// FromRun reports whether the actor is the run of an agent's program, and not its supervisor.
func FromRun(s *blackboard.State, a Actor) bool {
	e := s.Agents[a.ID]
	return e != nil && e.Child != nil && !a.Via && a.TokenHash != "" && a.TokenHash == e.Child.TokenHash && a.TokenHash != e.TokenHash
}

// Say records what a verb of the run has said. The last words of one kind replace those before.
func Say(s *blackboard.State, a Actor, said blackboard.Said, now time.Time) error {
	c, err := identify(s, a, now)
	if err != nil {
		return err
	}
	if !FromRun(s, a) {
		return refuse("G03", ExitRefused, "liza status", "%s may not do this; a run of its program may", a.ID)
	}
	e := c.entry
	e.Said = append(slices.DeleteFunc(slices.Clone(e.Said), func(x *blackboard.Said) bool { return x == nil || x.Verb == said.Verb && x.Word == said.Word }), &said)
	return nil
}

// Supervised is the actor as its own supervisor: what the end of its run may do is tried with it before it is recorded.
func Supervised(s *blackboard.State, a Actor) Actor {
	if FromRun(s, a) {
		a.TokenHash = s.Agents[a.ID].TokenHash
	}
	return a
}
