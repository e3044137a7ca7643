// Package audit has the rules V01 to V68 that every state must keep, no matter who wrote it: a
// verb, a person in an editor, or Liza v1. Validate reports all violations at once, Repair
// mends those that it can prove to be harmless, and Forgeries finds approvals that no verb
// made.
package audit

import (
	"cmp"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// Validate reports every violation of the rules of specs/protocol.md#9 at once, in the order
// of the file's sections, then of tasks and agents, then of rule ids. prev is the
// state of the last revision, or nil when there is none. Validate never changes s,
// and accepts any state, however damaged.
func Validate(s, prev *blackboard.State, facts Facts) []blackboard.Violation {
	v := newValidation(s, prev, facts)
	for i := range Rules {
		v.rule = &Rules[i]
		if v.rule.check != nil && (v.rule.OnWrite || !facts.Write) {
			v.rule.check(v)
		}
	}
	for _, found := range slices.Concat(facts.Decode, facts.JournalProblems) {
		v.adopt(found)
	}
	v.sort()
	return v.found
}

// adopt takes over a violation that a reader of the file found, unless the rule has
// reported the same place already.
func (v *validation) adopt(found blackboard.Violation) {
	if rule := ruleOf(found.Rule); rule != nil {
		if v.facts.Write && !rule.OnWrite {
			return
		}
		found.Severity = cmp.Or(found.Severity, rule.Severity)
		found.OnWrite, found.Fixable = rule.OnWrite, found.Fixable || rule.Fixable
	}
	for i := range v.found {
		old := &v.found[i]
		if old.Rule == found.Rule && old.Path == found.Path && (found.Path != "" || old.Message == found.Message) {
			old.Line, old.Column = cmp.Or(old.Line, found.Line), cmp.Or(old.Column, found.Column)
			return
		}
	}
	v.found = append(v.found, found)
}

// sort puts the violations into the order that Validate promises. What concerns the
// file as a whole comes first, what lies outside of it last.
func (v *validation) sort() {
	if len(v.found) < 2 {
		return
	}
	agentPlace := make(map[string]int, len(v.agents))
	for i, id := range v.agents {
		agentPlace[id] = i
	}
	type key struct{ section, entry int }
	keys := make(map[string]key, len(v.found))
	for _, found := range v.found {
		name, rest, _ := strings.Cut(found.Path, "[")
		name, _, _ = strings.Cut(name, ".")
		k := key{section: slices.Index(sectionOrder, name)}
		switch {
		case found.Path == "" && found.Rule <= "V04":
			k.section = -1
		case k.section < 0:
			k.section = len(sectionOrder)
		}
		id, _, _ := strings.Cut(rest, "]")
		switch name {
		case "tasks":
			k.entry = v.placeOf(id)
		case "agents":
			k.entry = agentPlace[id]
		}
		keys[found.Path+"\x00"+found.Rule] = k
	}
	slices.SortStableFunc(v.found, func(a, b blackboard.Violation) int {
		x, y := keys[a.Path+"\x00"+a.Rule], keys[b.Path+"\x00"+b.Rule]
		return cmp.Or(cmp.Compare(x.section, y.section), cmp.Compare(x.entry, y.entry), cmp.Compare(a.Rule, b.Rule))
	})
}

func newValidation(s, prev *blackboard.State, facts Facts) *validation {
	if s == nil {
		s = &blackboard.State{}
	}
	v := &validation{s: s, prev: prev, facts: facts, v1: writtenByV1(s), repeated: map[string]bool{}}
	for id := range s.Agents {
		v.agents = append(v.agents, id)
	}
	slices.SortFunc(v.agents, blackboard.CompareAgentIDs)
	if facts.Changed != nil && prev != nil && v.narrow() {
		return v
	}
	v.newIDs, v.newLinks = true, true
	v.all = make([]*blackboard.Task, 0, s.TaskCount())
	v.byID = make(map[string]*blackboard.Task, s.TaskCount())
	v.places = make(map[*blackboard.Task]int, s.TaskCount())
	for i, t := range s.TaskList() {
		if v.places[t] != 0 {
			continue
		}
		v.places[t] = i + 1
		v.all = append(v.all, t)
		if v.byID[t.ID] != nil {
			v.repeated[t.ID] = true
			continue
		}
		v.byID[t.ID] = t
	}
	v.tasks = v.all
	if prev != nil {
		v.before = make(map[string]*blackboard.Task, prev.TaskCount())
		for t := range prev.Tasks() {
			v.before[t.ID] = t
		}
	}
	return v
}
