package blackboard

import (
	"fmt"
	"slices"
	"strings"
)

// NewNotes are those for the task of an agent's run that its prompt did not have yet.
func (s *State) NewNotes(agent string) []*Note {
	a := s.Agents[agent]
	if a == nil || a.Child == nil || a.Child.Task == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.HumanNotes), func(n *Note) bool {
		return n == nil || n.For != a.Child.Task || n.SeenBy.Has(agent)
	})
}

// Reaches says who gets a note of a person, and when.
func (s *State) Reaches(n *Note) string {
	if n.For == "" {
		return "the planner gets it with its next run"
	}
	var running []string
	for id, a := range s.Agents {
		if a != nil && a.Child != nil && a.Child.Task == n.For {
			running = append(running, id)
		}
	}
	if len(running) == 0 {
		return fmt.Sprintf("the next run for %s gets it", n.For)
	}
	slices.Sort(running)
	return fmt.Sprintf("%s gets it with its next liza command, else with its next run", strings.Join(running, ", "))
}
