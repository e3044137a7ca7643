package blackboard

import (
	"strconv"
	"strings"
)

// Statuses of a fact on the board; archived ones are in .liza/archive/facts.jsonl.
const (
	FactActive  = "active"
	FactPending = "pending"
)

// FactCategories are what a fact may be about (specs/roles-and-knowledge.md#6.1).
var FactCategories = []string{"project", "user", "tool", "general"}

// Active reports whether prompts may have the fact.
func (f *Fact) Active() bool { return f != nil && (f.Status == "" || f.Status == FactActive) }

// Number is the number of the fact's id, 0 for an id of another form.
func (f *Fact) Number() int {
	rest, _ := strings.CutPrefix(f.ID, "fact-")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// ActiveFacts are the facts that prompts may have, in the order of the board.
func (s *State) ActiveFacts() []*Fact {
	var list []*Fact
	for _, f := range s.Facts {
		if f.Active() {
			list = append(list, f)
		}
	}
	return list
}
