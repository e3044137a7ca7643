package audit

import (
	"fmt"
	"maps"
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

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// A Rule is one line of the table of specs/protocol.md#9. check reports what breaks it; nil means
// that only the readers of the files can see it (Facts.Decode, Facts.JournalProblems).
type Rule struct {
	ID       string
	Severity string // blackboard.SeverityError or SeverityWarning
	OnWrite  bool   // a write is refused that would create or keep a violation in what it touches (column W)
	Fixable  bool   // Repair mends what is provably safe (mark F)
	Text     string // the condition for a violation
	check    func(*validation)
}

// sectionOrder is the order of state.yaml (specs/protocol.md#2.1).
var sectionOrder = []string{"version", "revision", "goal", "tasks", "agents", "discovered", "handoff", "human_notes",
	"anomalies", "spec_changes", "plans", "facts", "questions", "secrets", "usage", "programs", "stopped", "planner", "integration", "hosts", "requests", "imports", "sprint",
	"circuit_breaker", "config"}

func (v *validation) placeOf(name string) int {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		n, _ := strconv.Atoi(number)
		return n
	}
	return v.place(v.find(name))
}
