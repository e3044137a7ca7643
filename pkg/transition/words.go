package transition

import (
	"slices"

	"liza/pkg/blackboard"
)

// What refusals and documents read from the table.

func hasStatus(list []blackboard.Status, s blackboard.Status) bool { return slices.Contains(list, s) }

// partiesOf is the union of the actors of an event.
func partiesOf(event Event) Party {
	var p Party
	for _, r := range Rules {
		if r.Event == event {
			p |= r.Who
		}
	}
	return p
}

// whoMay reports whether the actor may cause the event, from one status or, for "", at all.
func whoMay(event Event, p Party, from blackboard.Status) bool {
	for i := range Rules {
		if r := &Rules[i]; r.Event == event && r.Who&p != 0 && (from == "" || hasStatus(r.From, from)) {
			return true
		}
	}
	return false
}

// fromOf names the statuses from which the actor may cause the event.
func fromOf(event Event, p Party) []string {
	var names []string
	for _, st := range blackboard.Statuses {
		if whoMay(event, p, st) {
			names = append(names, string(st))
		}
	}
	return names
}
