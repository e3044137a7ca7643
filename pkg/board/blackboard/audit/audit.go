// Package audit has the rules V01 to V70 that every state must keep, whether a verb, a person or Liza v1 wrote it. Validate
// reports all violations at once, Repair repairs those for which that is provably safe, and Forgeries finds approvals that no
// verb made.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// Validate returns every violation of the rules of specs/protocol.md#9, in the order of the file's sections, then of tasks
// and agents, then of rule ids. prev is the state of the last revision, or nil. Validate never changes s, and accepts any
// state, however damaged.
func Validate(s, prev *blackboard.State, facts Evidence) []blackboard.Violation {
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

// sort sorts the violations into the order that Validate promises. Those of the file as a whole come first, those outside of
// it last.
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

func newValidation(s, prev *blackboard.State, facts Evidence) *validation {
	if s == nil {
		s = &blackboard.State{}
	}
	v := &validation{s: s, prev: prev, facts: facts, v1: writtenByV1(s), byID: make(map[string]*blackboard.Task, s.TaskCount()), repeated: map[string]bool{}}
	for id := range s.Agents {
		v.agents = append(v.agents, id)
	}
	slices.SortFunc(v.agents, blackboard.CompareAgentIDs)
	part := facts.Write && prev != nil // a write shares with prev the tasks that it does not change
	v.newIDs = part && s.TaskCount() != prev.TaskCount()
	for i, t := range s.EachTask() {
		if v.byID[t.ID] == nil {
			v.byID[t.ID] = t
		} else {
			v.repeated[t.ID] = true
		}
		if part && i < prev.TaskCount() && prev.TaskAt(i) == t {
			continue
		}
		old := v.old(t.ID)
		if part && old == t {
			continue
		}
		v.tasks = append(v.tasks, t)
		v.newIDs = v.newIDs || old == nil
		if old != nil {
			v.newLinks = v.newLinks || !slices.Equal(t.DependsOn, old.DependsOn)
			v.newEnds = v.newEnds || t.Status != old.Status && (t.Status.Terminal() || old.Status.Terminal())
		}
	}
	v.newIDs = v.newIDs || len(v.tasks) == s.TaskCount()
	v.newLinks = v.newLinks || v.newIDs
	return v
}

const (
	asError   = blackboard.SeverityError
	asWarning = blackboard.SeverityWarning
	onWrite   = true
	onDemand  = false
	fixable   = true
)

// Rules are the rules of specs/protocol.md#9 in their order, also for documents and tests.
var Rules = []Rule{
	{"V01", asError, onWrite, !fixable, "the file does not parse, has several documents, duplicate keys, or aliases that expand beyond 10 MB", nil},
	{"V02", asError, onWrite, !fixable, "version missing or not 1", checkVersion},
	{"V03", asError, onWrite, !fixable, "one of goal, tasks, agents, config, sprint missing, or not of its type", checkSections},
	{"V04", asError, onWrite, !fixable, "a field has the wrong type", perTask(checkTypes)},
	{"V05", asError, onWrite, !fixable, "task without id, id not allowed, or id twice (without regard to case, archive included)", checkTaskIDs},
	{"V06", asError, onWrite, !fixable, "status of a task is not one of the eleven", perTask(checkStatus)},
	{"V07", asError, onWrite, !fixable, "DRAFT with assigned_to, worktree or claim_generation", perTask(checkDraft)},
	{"V08", asError, onWrite, !fixable, "CLAIMED without assigned_to", perTask(checkClaimHolder)},
	{"V09", asError, onWrite, !fixable, "CLAIMED, kind other than msg, without worktree", perTask(checkClaimWorktree)},
	{"V10", asError, onWrite, !fixable, "CLAIMED, kind other than msg, without base_commit and without integration_fix", perTask(checkClaimBase)},
	{"V11", asError, onWrite, !fixable, "CLAIMED without lease_expires", perTask(checkClaimLease)},
	{"V12", asError, onDemand, !fixable, "CLAIMED, kind other than msg: the worktree folder does not exist", perTask(checkClaimFolder)},
	{"V13", asError, onWrite, !fixable, "READY_FOR_REVIEW, kind code, without review_commit", perTask(checkSubmission)},
	{"V14", asError, onWrite, !fixable, "APPROVED without approved_by, or kind code without review_commit", perTask(checkApproval)},
	{"V15", asError, onWrite, fixable, "MERGED with worktree", perTask(checkMergedWorktree)},
	{"V16", asError, onWrite, !fixable, "MERGED, kind code, without merge_commit (a warning if the task has no claim_seq)", perTask(checkMergeCommit)},
	{"V17", asError, onWrite, !fixable, "INTEGRATION_FAILED, kind code, without worktree", perTask(checkFailedWorktree)},
	{"V18", asError, onWrite, !fixable, "BLOCKED without blocked_reason, or without 1 to 3 blocked_questions (kind halt: questions optional)", perTask(checkBlocked)},
	{"V19", asError, onWrite, !fixable, "REJECTED without rejection_reason", perTask(checkRejected)},
	{"V20", asError, onWrite, !fixable, "SUPERSEDED without superseded_by or rescope_reason", perTask(checkSuperseded)},
	{"V21", asError, onWrite, !fixable, "superseded_by or supersedes names no task, or a task names itself", perLink(checkReplacements)},
	{"V22", asError, onWrite, !fixable, "depends_on names no task", perLink(checkDependencies)},
	{"V23", asError, onWrite, !fixable, "dependency cycle", checkCycles},
	{"V24", asError, onWrite, !fixable, "CLAIMED, READY_FOR_REVIEW, APPROVED or MERGED with a dependency that is not MERGED", perLink(checkUnmet)},
	{"V25", asWarning, onDemand, !fixable, "UNCLAIMED or DRAFT with an ABANDONED or SUPERSEDED dependency", perLink(checkLostDependency)},
	{"V26", asError, onWrite, !fixable, "an agent is assigned_to more than one CLAIMED task", checkOneClaim},
	{"V27", asError, onWrite, !fixable, "two live agents with the same current_task in the same role, or a task whose holder works on another task", checkOneHolder},
	{"V28", asError, onWrite, !fixable, "integration_fix without a history event integration_failed (a warning where Liza v1 had the task)", perTask(checkIntegrationFix)},
	{"V29", asError, onWrite, !fixable, "DRAFT, SUPERSEDED, ABANDONED excepted: missing done_when, spec_ref or description (scope missing: a warning)", perTask(checkGates)},
	{"V30", asError, onDemand, !fixable, "the file of a spec_ref does not exist (MERGED: a warning)", perTask(checkSpecFile)},
	{"V31", asError, onDemand, !fixable, "the file of goal.spec_ref does not exist", checkGoalSpec},
	{"V32", asError, onWrite, fixable, "failed_by has duplicates or a malformed id", perTask(checkFailedBy)},
	{"V33", asError, onWrite, !fixable, "reviewing_by without review_lease_expires or the reverse; reviewing_by in another status than READY_FOR_REVIEW", perTask(checkReviewClaim)},
	{"V34", asError, onWrite, !fixable, "reviewing_by or approved_by equals assigned_to; approved_by auto on kind code", perTask(checkAuthor)},
	{"V35", asError, onWrite, !fixable, "halt on a task that is not BLOCKED, or of unknown kind", perTask(checkHalt)},
	{"V36", asError, onWrite, !fixable, "hold without by, at or reason; hold on a terminal task", perTask(checkHold)},
	{"V37", asError, onWrite, fixable, "merge_intent on a task that is not APPROVED", perTask(checkMergeIntent)},
	{"V38", asError, onWrite, !fixable, "a counter is negative; review_cycles_current above review_cycles_total; iteration 0 on CLAIMED", checkCounters},
	{"V39", asError, onWrite, !fixable, "a time is not RFC 3339", checkTimes},
	{"V40", asError, onWrite, fixable, "a commit field is not 40 or 64 hex digits (7 or more: a warning)", perTask(checkCommits)},
	{"V41", asError, onWrite, !fixable, "worktree is not .worktrees/<id>", perTask(checkWorktreePath)},
	{"V42", asError, onWrite, !fixable, "agent id malformed, role unknown, or id and role disagree", checkAgentIDs},
	{"V43", asError, onWrite, !fixable, "status of an agent unknown; WORKING or REVIEWING without current_task or lease", checkAgentStatus},
	{"V44", asWarning, onDemand, !fixable, "agent WORKING, REVIEWING or PLANNING whose lease has expired", checkAgentLease},
	{"V45", asError, onWrite, fixable, "current_task names no task", checkCurrentTask},
	{"V46", asError, onWrite, !fixable, "status of goal, sprint, circuit breaker, plan or question unknown", checkStatuses},
	{"V47", asError, onWrite, !fixable, "config: a value not of its type or negative, integration_branch no valid ref name", checkConfig},
	{"V48", asWarning, onDemand, !fixable, "unknown key in config", checkConfigKeys},
	{"V49", asError, onWrite, !fixable, "sprint.goal_ref is not goal.id; timeline.started missing", checkSprint},
	{"V50", asError, onWrite, !fixable, "sprint.scope.planned or stretch names no task (archive counts)", checkSprintScope},
	{"V51", asError, onWrite, !fixable, "handoff entry for no task, or without summary or next_action", checkHandoffs},
	{"V52", asError, onWrite, !fixable, "discovered: urgency or severity unknown; converted_to_task names no task; id twice", checkDiscoveries},
	{"V53", asError, onWrite, !fixable, "anomaly: unknown type (unless x-…), required detail missing, reporter whose role may not report it", checkAnomalies},
	{"V54", asError, onWrite, !fixable, "history of a task shortened or reordered against the last revision", perTask(checkHistoryKept)},
	{"V55", asWarning, onDemand, !fixable, "the last status-setting history event does not lead to the status (tasks with claim_seq)", perTask(checkLastEvent)},
	{"V56", asWarning, onDemand, !fixable, "REJECTED or BLOCKED task whose branch is missing; branch or worktree without task", checkBranches},
	{"V57", asError, onDemand, fixable, "journal: entry with rev above revision, or an entry that does not parse; a warning where a killed writer leaves it, at the end and of the next revision", nil},
	{"V58", asError, onWrite, !fixable, "revision is lower than the committed one and the content differs", checkRevision},
	{"V59", asError, onDemand, !fixable, "MERGED, kind code, with claim_seq: merge_commit is not reachable from the integration branch", perTask(checkMergeReachable)},
	{"V60", asWarning, onDemand, !fixable, "goal COMPLETED with a non-terminal task", checkGoalDone},
	{"V61", asWarning, onDemand, !fixable, "unknown key in a task, agent or section", nil},
	{"V62", asError, onWrite, !fixable, "a registered secret's value occurs in what is written", checkSecrets},
	{"V63", asError, onDemand, !fixable, "integration branch missing, or not where Liza left it", checkIntegrationBranch},
	{"V64", asWarning, onDemand, !fixable, "approval rate of the sprint is above 95 % with at least 5 verdicts", checkApprovalRate},
	{"V65", asError, onWrite, !fixable, "claim_seq, iteration or review_cycles_total lower than in the last revision (iteration: except unblock)", perTask(checkCountersGrow)},
	{"V66", asError, onWrite, !fixable, "APPROVED or MERGED, or who approved what, changed by hand: no seal fits (MERGED when it came onto the board: history)", nil},
	{"V67", asError, onDemand, !fixable, "the status was changed by hand in a way that no verb of a person does on the board alone: the next write puts the task back", nil},
	{"V68", asError, onDemand, !fixable, "journal: an entry was changed, cut, moved or put in since Liza wrote it", nil},
	{"V69", asError, onDemand, !fixable, "UNCLAIMED, claimed by nobody yet, and the gates refuse it (G12): nobody can claim it", perTask(checkClaimable)},
	{"V70", asError, onDemand, !fixable, "git cannot read the main checkout, whose branch names no commit or whose index is torn, or the newest commit of the integration branch", nil},
}

// perTask makes the check of a rule from a check of one task's own fields.
func perTask(check func(*validation, *blackboard.Task)) func(*validation) {
	return func(v *validation) {
		for _, t := range v.tasks {
			check(v, t)
		}
	}
}

// perLink makes the check of a rule from a check of one task's references, which the end of another task can break.
func perLink(check func(*validation, *blackboard.Task)) func(*validation) {
	return func(v *validation) {
		list := v.tasks
		if v.newIDs || v.newEnds {
			list = v.s.TaskList()
		}
		for _, t := range list {
			check(v, t)
		}
	}
}

func ruleOf(id string) *Rule {
	for i := range Rules {
		if Rules[i].ID == id {
			return &Rules[i]
		}
	}
	return nil
}

// Evidence has the facts outside the state that Validate needs. A nil func or pointer and a zero Now mean an unknown fact,
// whose rules are then not checked.
type Evidence struct {
	Now       time.Time
	Processes blackboard.ProcessFacts

	// Write omits the rules that only `liza validate` and alerts evaluate (column W = n), and the checks of single tasks that
	// prev shares: the write did not change them.
	Write bool

	// SkipSpecFiles turns rules V30 and V31 off.
	SkipSpecFiles bool

	SpecExists            func(path string) bool // below the project root, without anchor
	WorktreeExists        func(path string) bool
	BranchExists          func(name string) bool
	Worktrees             []string // folders of linked worktrees, relative to the root
	TaskBranches          []string // names of the branches task/…
	IntegrationTip        *string  // "" if the branch does not exist
	MergedIntoIntegration func(commit string) bool

	// ResolveCommit completes an abbreviated object name.
	ResolveCommit func(short string) (full string, ok bool)

	// Secrets returns the name of a registered secret whose value is in a text.
	Secrets func(text string) (name string, found bool)

	// Archive has the archived tasks.
	Archive blackboard.Archive

	// MissingSections are the required sections that the file lacks.
	MissingSections []string

	// Decode and JournalProblems are the problems that the readers of state.yaml and log.yaml found (V01 to V04, V39, V48,
	// V61, V70; V57, V68). Severity and marks may be empty.
	Decode          []blackboard.Violation
	JournalProblems []blackboard.Violation

	// Line returns the line of a path in the file, or 0. Only messages that name two lines need it.
	Line func(path string) int
}

// validation is one call of Validate.
type validation struct {
	s, prev     *blackboard.State
	facts       Evidence
	tasks       []*blackboard.Task // tasks whose own fields are checked
	agents      []string           // ids, by role and number
	byID        map[string]*blackboard.Task
	places      map[*blackboard.Task]int // position in the file, from 1; made on first use
	repeated    map[string]bool
	newIDs      bool // tasks were added or removed since prev
	newLinks    bool // dependencies may have changed since prev
	newEnds     bool // a task became terminal since prev, or was until then
	v1          bool
	taskArchive map[string]blackboard.Archived
	rule        *Rule
	found       []blackboard.Violation
}

// find returns the task with that id, or nil.
func (v *validation) find(id string) *blackboard.Task { return v.byID[id] }

// old returns the task with that id as it was in prev, or nil.
func (v *validation) old(id string) *blackboard.Task {
	if v.prev == nil {
		return nil
	}
	return v.prev.Find(id)
}

// place returns the position of t in the file, from 1.
func (v *validation) place(t *blackboard.Task) int {
	if v.places == nil {
		v.places = make(map[*blackboard.Task]int, v.s.TaskCount())
		for i, t := range v.s.EachTask() {
			v.places[t] = i + 1
		}
	}
	return v.places[t]
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

// A Rule is one line of the table of specs/protocol.md#9. check reports its violations; nil means that only the readers of
// the files can find them (Evidence.Decode, Evidence.JournalProblems).
type Rule struct {
	ID       string
	Severity string // blackboard.SeverityError or SeverityWarning
	OnWrite  bool   // a violation refuses each write that creates it or touches its subject (column W)
	Fixable  bool   // Repair repairs it where that is provably safe (mark F)
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

// sameScope reports whether sprint.scope is unchanged.
func (v *validation) sameScope() bool {
	was := v.prev.Sprint
	if was == nil || was.Scope == nil {
		return false
	}
	is := v.s.Sprint
	return slices.Equal(is.Scope.Planned, was.Scope.Planned) && slices.Equal(is.Scope.Stretch, was.Scope.Stretch)
}
