// Package breaker sees loops and thrash in the anomalies that a team records, and says
// whether work should stop for people to look (specs/decisions.md#D17, specs/protocol.md#11).
//
// Analyze looks at one state and returns a Verdict: every pattern of the table Patterns that
// the anomalies of the sprint match, the worst first, with the anomalies that show it. Report
// writes that down for people. Both are pure: they read a state, change nothing, and give the
// same answer to the same state. What follows from a verdict is decided by the table of
// specs/protocol.md#5.4 in package transition and carried out by package verb.
//
// Details of anomalies come from agents and from editors. A missing value, a number in the
// place of a text or a list is not an error: a detail without content matches nothing.
package breaker

import (
	"slices"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Verdict is the result of an analysis.
type Verdict struct {
	Looked  int     // anomalies of the sprint
	Matches []Match // the worst first
}

// Match is a pattern that was found.
type Match struct {
	Pattern *Pattern
	Groups  []Group // groups that each show the pattern alone
}

// Group is a list of anomalies with the same subject, in the order of the state.
type Group struct {
	About     string // their subject, normalised; "" if their type is the subject
	Anomalies []*blackboard.Anomaly
}

// Found returns pattern and severity of each match, for the table of specs/protocol.md#5.4.
func (v Verdict) Found() []transition.BreakerFinding {
	var out []transition.BreakerFinding
	for _, m := range v.Matches {
		out = append(out, transition.BreakerFinding{Pattern: m.Pattern.Name, Severity: m.Pattern.Severity})
	}
	return out
}

// Count returns how many anomalies show the pattern.
func (m Match) Count() int {
	n := 0
	for _, g := range m.Groups {
		n += len(g.Anomalies)
	}
	return n
}

// Tasks returns the tasks of the anomalies, each once, in their order.
func (m Match) Tasks() []string {
	var ids []string
	for _, g := range m.Groups {
		ids = appendTasks(ids, g.Anomalies)
	}
	return ids
}

func appendTasks(ids []string, list []*blackboard.Anomaly) []string {
	for _, a := range list {
		if a.Task != "" && !slices.Contains(ids, a.Task) {
			ids = append(ids, a.Task)
		}
	}
	return ids
}

// Analyze looks for every pattern in the anomalies of the sprint. Acknowledged anomalies alone do not match, but count
// towards the number that a pattern requires (specs/protocol.md#11.2).
func Analyze(s *blackboard.State) Verdict {
	var v Verdict
	if s == nil {
		return v
	}
	all := window(s)
	v.Looked = len(all)
	for i := range Patterns {
		if groups := Patterns[i].groups(all); len(groups) > 0 {
			v.Matches = append(v.Matches, Match{Pattern: &Patterns[i], Groups: groups})
		}
	}
	return v
}

// observed is an anomaly of the window.
type observed struct {
	*blackboard.Anomaly
	fresh bool // it is not acknowledged
}

// window are the anomalies of the current sprint. One without a readable time is inside.
func window(s *blackboard.State) []observed {
	var started time.Time
	if s.Sprint != nil && s.Sprint.Timeline != nil {
		started, _ = s.Sprint.Timeline.Started.At()
	}
	var in []observed
	seen := transition.AcknowledgedAnomalies(s)
	for i, a := range s.Anomalies {
		if at, ok := a.Timestamp.At(); !ok || !at.Before(started) {
			in = append(in, observed{a, i >= seen})
		}
	}
	return in
}

// groups are the anomalies of the pattern's types by their subject, in the order of the list.
func (p *Pattern) groups(all []observed) []Group {
	var list []Group
	fresh := map[string]bool{} // subjects with an anomaly that is not acknowledged
	for _, a := range all {
		about := ""
		if slices.Contains(p.Types, a.Type) {
			about = p.about(a.Anomaly)
		}
		if about == "" {
			continue
		}
		i := slices.IndexFunc(list, func(g Group) bool { return g.About == about })
		if i < 0 {
			i, list = len(list), append(list, Group{About: about})
		}
		list[i].Anomalies = append(list[i].Anomalies, a.Anomaly)
		fresh[about] = fresh[about] || a.fresh
	}
	return slices.DeleteFunc(list, func(g Group) bool {
		n := len(g.Anomalies)
		if p.Tasks {
			n = len(appendTasks(nil, g.Anomalies))
		}
		return n < p.Least || !fresh[g.About]
	})
}
