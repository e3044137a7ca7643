// Package audit has the rules V01 to V68 that every state must keep, no matter who wrote it: a
// verb, a person in an editor, or Liza v1. Validate reports all violations at once, Repair
// mends those that it can prove to be harmless, and Forgeries finds approvals that no verb
// made.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// Facts is what Validate needs to know and the state cannot say. A nil func or
// pointer and a zero Now mean that the fact is not known: what needs it is then not
// checked.
type Facts struct {
	Now       time.Time
	Processes blackboard.ProcessFacts

	// Write leaves out the rules that only `liza validate` and alerts evaluate
	// (column W = n): the fast path of writers.
	Write bool

	// Changed are the ids of the tasks and agents that a write changed since prev; then
	// only rules about them, and about what they relate to, are checked. nil: all.
	Changed map[string]bool

	// SkipSpecFiles switches rule V30 and V31 off.
	SkipSpecFiles bool

	SpecExists            func(path string) bool // below the project root, without anchor
	WorktreeExists        func(path string) bool
	BranchExists          func(name string) bool
	Worktrees             []string // folders of linked worktrees, relative to the root
	TaskBranches          []string // names of the branches task/…
	IntegrationTip        *string  // "" when the branch does not exist
	MergedIntoIntegration func(commit string) bool

	// ResolveCommit completes an abbreviated object name.
	ResolveCommit func(short string) (full string, ok bool)

	// Secrets finds the value of a registered secret in a text and names it.
	Secrets func(text string) (name string, found bool)

	// Archive has the tasks that have left the board.
	Archive blackboard.Archive

	// MissingSections are the required sections that the file does not have.
	MissingSections []string

	// Decode and JournalProblems are what the readers of state.yaml and log.yaml
	// found (V01 to V04, V39, V48, V61; V57, V68). Severity and marks may be left empty.
	Decode          []blackboard.Violation
	JournalProblems []blackboard.Violation

	// Line tells the line of a path in the file, 0 when it is not known. It is
	// needed only for messages that name two lines.
	Line func(path string) int
}

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

// validation is one call of Validate.
type validation struct {
	s, prev     *blackboard.State
	facts       Facts
	all         []*blackboard.Task // without empty entries
	tasks       []*blackboard.Task // those of all that are to be checked
	agents      []string           // ids, by role and number
	byID        map[string]*blackboard.Task
	places      map[*blackboard.Task]int // position in the file, from 1
	repeated    map[string]bool
	before      map[string]*blackboard.Task // tasks of prev
	newIDs      bool                        // tasks came or went since prev
	newLinks    bool                        // and dependencies may have changed
	v1          bool
	taskArchive map[string]blackboard.Archived
	rule        *Rule
	found       []blackboard.Violation
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

// find returns the task with that id, or nil.
func (v *validation) find(id string) *blackboard.Task {
	if v.byID != nil {
		return v.byID[id]
	}
	return v.s.Find(id)
}

// old is what the task was before.
func (v *validation) old(id string) *blackboard.Task {
	switch {
	case v.before != nil:
		return v.before[id]
	case v.prev != nil:
		return v.prev.Find(id)
	}
	return nil
}

// place is the task's position in the file, from 1.
func (v *validation) place(t *blackboard.Task) int {
	if v.places != nil {
		return v.places[t]
	}
	return slices.Index(v.s.TaskList(), t) + 1
}

// known reports whether an id names a task, archived ones included.
func (v *validation) known(id string) bool {
	_, ok := v.status(id)
	return ok
}

// status of a task, archived ones included; ok is false when there is none.
func (v *validation) status(id string) (status blackboard.Status, ok bool) {
	if t := v.find(id); t != nil {
		return t.Status, true
	}
	if status, ok = v.s.Leaving(id); ok {
		return status, true
	}
	a, ok := v.archived()[id]
	return a.Status, ok
}

// archived are the tasks of the archive, which is asked once, and only when needed.
func (v *validation) archived() map[string]blackboard.Archived {
	if v.taskArchive == nil && v.facts.Archive != nil {
		if v.taskArchive = v.facts.Archive.Archived(); v.taskArchive == nil {
			v.taskArchive = map[string]blackboard.Archived{}
		}
	}
	return v.taskArchive
}

// report adds a violation of the rule that is being checked. The result may be
// changed until the next report.
func (v *validation) report(path, format string, args ...any) *blackboard.Violation {
	v.found = append(v.found, blackboard.Violation{Rule: v.rule.ID, Severity: v.rule.Severity, OnWrite: v.rule.OnWrite,
		Fixable: v.rule.Fixable, Path: path, Message: fmt.Sprintf(format, args...)})
	return &v.found[len(v.found)-1]
}

// task reports a violation of a task; field may be "".
func (v *validation) task(t *blackboard.Task, field, format string, args ...any) *blackboard.Violation {
	return v.report(v.taskPath(t, field), "task %s: %s", v.taskName(t), fmt.Sprintf(format, args...)).Concerns(v.taskName(t))
}

// agent reports a violation of an agent; field may be "".
func (v *validation) agent(id, field, format string, args ...any) *blackboard.Violation {
	return v.report(agentPath(id, field), "agent %s: %s", id, fmt.Sprintf(format, args...)).Concerns(id)
}

// section reports a violation in another section: field is the path below it.
func (v *validation) section(name, field, format string, args ...any) *blackboard.Violation {
	return v.report(name+field, format, args...).Concerns(name)
}

func (v *validation) taskName(t *blackboard.Task) string {
	if t.ID == "" {
		return position(v.place(t) - 1)
	}
	return t.ID
}

func (v *validation) taskPath(t *blackboard.Task, field string) string {
	name := v.taskName(t)
	if v.repeated[t.ID] {
		name = position(v.place(t) - 1)
	}
	return entryPath("tasks", name, field)
}

func agentPath(id, field string) string { return entryPath("agents", id, field) }

func entryPath(section, name, field string) string {
	if field == "" {
		return section + "[" + name + "]"
	}
	return section + "[" + name + "]." + field
}

// within is the path of entry i of a list below its section: by id, or by position.
func within(id string, i int, field string) string {
	if id == "" {
		id = position(i)
	}
	return entryPath("", id, field)
}

// position names entry i of a list when it has no usable id; ids have no "#".
func position(i int) string { return "#" + strconv.Itoa(i+1) }

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

// sectionOrder is the order of state.yaml (specs/protocol.md#2.1).
var sectionOrder = []string{"version", "revision", "goal", "tasks", "agents", "discovered", "handoff", "human_notes",
	"anomalies", "spec_changes", "plans", "facts", "questions", "secrets", "usage", "programs", "planner", "integration", "hosts", "requests", "imports", "sprint",
	"circuit_breaker", "config"}

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

func (v *validation) placeOf(name string) int {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		n, _ := strconv.Atoi(number)
		return n
	}
	return v.place(v.find(name))
}
