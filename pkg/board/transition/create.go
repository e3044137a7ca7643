package transition

import (
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// createRules are the rows of draft, create and finalize.
var createRules = []Rule{
	{ID: "T01", Event: evDraft, To: blackboard.Draft, Who: ByPlanner | ByHuman,
		Needs:   needs(idAllowed, idNew, dependenciesExist, dependenciesWanted, fieldsKnown),
		Does:    does(enterScope),
		History: records(blackboard.HistoryCreated), Log: names(blackboard.ActionTaskAdded)},
	{ID: "T02", Event: evCreate, To: blackboard.Unclaimed, Who: ByPlanner | ByHuman,
		Needs:   needs(idAllowed, idNew, gatesPass, specExists, dependenciesExist, dependenciesWanted, fieldsKnown),
		Does:    does(enterScope),
		History: records(blackboard.HistoryCreated, blackboard.HistoryFinalized), Log: names(blackboard.ActionTaskAdded)},
	{ID: "T03", Event: evFinalize, From: from(blackboard.Draft), To: blackboard.Unclaimed, Who: ByPlanner | ByHuman,
		Needs:   needs(noHumanReview, gatesPass, specExists, dependenciesExist, dependenciesWanted),
		Does:    does(nameTitle),
		History: records(blackboard.HistoryFinalized), Log: names(blackboard.ActionTasksFinalized), ByHand: true},
}

// Create puts a new task on the board: DRAFT with draft, else UNCLAIMED (T01, T02).
// With in.HumanReview a planner's task becomes a DRAFT. A person's task reopens a
// completed goal (O03).
func Create(s *blackboard.State, t *blackboard.Task, draft bool, a Actor, in Input, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	event := evCreate
	if draft || in.HumanReview && by.party&ByPlanner != 0 {
		event = evDraft
	}
	m := &move{state: s, task: t, actor: a, by: by, party: by.party, in: in, now: now}
	if err := m.mayCause(event); err != nil {
		return err
	}
	m.rule = ruleOf(event)
	if err := m.check(); err != nil {
		return err
	}
	if by.party&ByHuman != 0 || a.Via {
		reopen(s, "new work", a, now)
	}
	m.apply()
	return nil
}

// Finalize turns drafts into UNCLAIMED tasks, all or none (T03). The gaps of every task
// are reported together.
func Finalize(s *blackboard.State, ids []string, a Actor, in Input, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return refuse("G09", ExitUsage, "liza help finalize", "finalize needs the id of a draft")
	}
	var moves []*move
	var all *Refusal
	var list []string
	for _, id := range ids {
		if slices.Contains(list, id) {
			continue
		}
		list = append(list, id)
		m, err := begin(s, evFinalize, id, a, in, now)
		if err == nil {
			err = m.check()
		}
		r, ok := err.(*Refusal)
		switch {
		case err == nil:
			m.by = by // one registration for all, when a person acts for an agent
			moves = append(moves, m)
		case !ok || r.Guard == "G03":
			return err
		case all == nil:
			all = r
		default:
			all.Message += "; " + r.Message
		}
	}
	if all != nil {
		return all
	}
	for _, m := range moves {
		m.apply()
	}
	align(s, "planning", "finalized "+strings.Join(list, ", "), now)
	return nil
}

var idAllowed = Guard{"G10", "the id may name a task", func(m *move) error {
	if !blackboard.ValidTaskID(m.task.ID) {
		return refuse("G10", ExitUsage, "liza help add-task", "task id '%s' is not allowed: it must match %s, without '..', not ending in '.' or '.lock'", m.task.ID, blackboard.TaskIDPattern())
	}
	return nil
}}

var idNew = Guard{"G11", "the id is new, without regard to case, also in the archive", func(m *move) error {
	for t := range m.state.Tasks() {
		if strings.EqualFold(t.ID, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+t.ID, "task %s exists (%s)", t.ID, t.Status)
		}
	}
	archived := m.state.ArchivedTasks()
	for _, id := range slices.Sorted(maps.Keys(archived)) {
		if strings.EqualFold(id, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+id, "task %s exists in the archive (%s)", id, archived[id].Status)
		}
	}
	return nil
}}

var noHumanReview = Guard{"G03", "with plan.human_review, only a person finalizes", func(m *move) error {
	if m.in.HumanReview && m.party&ByHuman == 0 {
		return m.no("G03", ExitRefused, "a planner may not finalize %s: with plan.human_review a person does", m.task.ID)
	}
	return nil
}}

var fieldsKnown = Guard{"G16", "priority is 0 or more, the kind is known, and the role can be used", func(m *move) error {
	if p := m.task.Priority; p != nil && *p < 0 {
		return refuse("G16", ExitUsage, "liza help add-task", "priority must be an integer of 0 or more, not %d", *p)
	}
	if k := m.task.Kind; k != "" && !blackboard.List(blackboard.Kinds).Has(string(k)) {
		return refuse("G16", ExitUsage, "liza help add-task", "kind '%s' is unknown: it must be %s", k, blackboard.OrList(blackboard.Kinds))
	}
	if m.in.RoleProblem != "" {
		return refuse("G16", ExitUsage, "liza roles", "%s", m.in.RoleProblem)
	}
	return nil
}}

// The effects of specs/protocol.md#4.1 and specs/protocol.md#4.3. What an event is given is copied: the state shares
// nothing with its input, so that an Update may run again.

var enterScope = Effect{"the fields given, created; sprint.scope.planned gets the task, unless it replaces others, is stretch, or is not the first of its attempts", func(m *move) {
	t := m.task
	t.Created = blackboard.TimeOf(m.now)
	m.state.AddTasks(t)
	m.detail = t.TitleText()
	scope := m.state.Sprint.EnsureScope()
	if !scope.Stretch.Has(t.ID) && !scope.Planned.Has(t.ID) && len(t.Supersedes) == 0 && (t.AttemptOf == "" || t.AttemptOf == t.ID) {
		scope.Planned = append(scope.Planned, t.ID)
	}
}}

var nameTitle = Effect{"goal.alignment_history gets planning, one entry for all tasks of a call", func(m *move) { m.detail = m.task.TitleText() }}
