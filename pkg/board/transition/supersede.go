package transition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// supersedeRules are the rows of retarget, supersede and abandon.
var supersedeRules = []Rule{
	{ID: "T31", Event: evRetarget, From: open(), Who: BySystem,
		Does: does(retarget), Log: names(blackboard.ActionRetargeted)},
	{ID: "T32", Event: evSupersede, From: open(blackboard.Claimed, blackboard.Approved), To: blackboard.Superseded,
		Who: ByPlanner | ByHuman | BySystem, When: notUnderReview,
		Needs:   needs(textsGiven, rootCauseGiven, replacementsExist, noCycleByReplacement, workSaved),
		Does:    does(clearBlock, endReview, endClaim, closeTask, nameReplacements),
		History: records(blackboard.HistorySuperseded), Log: names(blackboard.ActionSuperseded)},
	{ID: "T33", Event: evAbandon, From: open(blackboard.Claimed, blackboard.Approved), To: blackboard.Abandoned,
		Who: ByPlanner | ByHuman, When: notUnderReview,
		Needs:   needs(textsGiven, rootCauseGiven, workSaved),
		Does:    does(clearBlock, endReview, endClaim, closeTask),
		History: records(blackboard.HistoryAbandoned), Log: names(blackboard.ActionAbandoned)},
	{ID: "T44", Event: evPick, From: open(blackboard.Claimed, blackboard.Approved), To: blackboard.Superseded, Who: ByHuman | SReviewer,
		Needs:   needs(textsGiven, judgesAttempts, workSaved, pickStands),
		Does:    does(clearBlock, endReview, endClaim, closeTask, nameReplacements),
		History: records(blackboard.HistorySuperseded), Log: names(blackboard.ActionSuperseded)},
}

// Supersede replaces a task by others and re-points its dependents (T32, T31).
func Supersede(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return supersede(s, evSupersede, id, a, in.reasoned(), now)
}

func supersede(s *blackboard.State, event Event, id string, a Actor, in Input, now time.Time) error {
	if err := run(s, event, id, a, in, now); err != nil {
		return err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		if t.Status.Terminal() || !t.DependsOn.Has(id) {
			continue
		}
		if err := run(s, evRetarget, t.ID, sys, Input{What: id, By: in.By}, now); err != nil {
			return err
		}
	}
	return nil
}

// Abandon drops a task (T33) and blocks its UNCLAIMED dependents (T28). It returns the DRAFT ones, for a message.
func Abandon(s *blackboard.State, id string, a Actor, in Input, now time.Time) (drafts []string, err error) {
	in = in.reasoned()
	if err := run(s, evAbandon, id, a, in, now); err != nil {
		return nil, err
	}
	sys := SystemActor(a.Facts)
	for t := range s.Tasks() {
		switch {
		case !t.DependsOn.Has(id):
		case t.Status == blackboard.Draft:
			drafts = append(drafts, t.ID)
		case t.Status == blackboard.Unclaimed:
			if err := run(s, evDependencyLost, t.ID, sys, Input{What: id}, now); err != nil {
				return nil, err
			}
		}
	}
	return drafts, nil
}

// A task under review cannot be dropped, unless the review got stuck.
var notUnderReview = &Condition{Text: "it is not READY_FOR_REVIEW, or its review got stuck (hold by system)", Holds: func(m *move) bool {
	return m.task.Status != blackboard.ReadyForReview || m.task.Hold != nil && m.task.Hold.By == blackboard.System
}, Else: &reviewStuck}

var reviewStuck = Guard{"G06", "its review got stuck", func(m *move) error {
	return m.no("G06", ExitRefused, "task %s is %s: it can be dropped only when its review got stuck", m.task.ID, m.task.Status)
}}

var rootCauseGiven = Guard{"G72", "an exhausted task gets a root cause", func(m *move) error {
	if m.task.Exhausted() && blank(m.in.RootCause) {
		return m.no("G72", ExitUsage, "--root-cause is required: task %s was failed by %s", m.task.ID, failures(m.task))
	}
	return nil
}}

var replacementsExist = Guard{"G73", "the replacements exist, and none is the task itself, ABANDONED or SUPERSEDED", func(m *move) error {
	if len(m.in.By) == 0 {
		return m.no("G73", ExitInvalid, "--by names no replacement of %s", m.task.ID)
	}
	for _, id := range m.in.By {
		st, ok := statusOf(m.state, id, m.in)
		switch {
		case !ok:
			return m.no("G73", ExitInvalid, "no task '%s' to replace %s", id, m.task.ID)
		case id == m.task.ID:
			return m.no("G73", ExitInvalid, "task %s cannot replace itself", id)
		case st == blackboard.Abandoned || st == blackboard.Superseded:
			return m.no("G73", ExitInvalid, "task %s is %s and cannot replace %s", id, st, m.task.ID)
		}
	}
	return nil
}}

var noCycleByReplacement = Guard{"G74", "re-pointed dependencies make no cycle", func(m *move) error {
	replace := func(d string) []string {
		if d == m.task.ID {
			return m.in.By
		}
		return []string{d}
	}
	for t := range m.state.Tasks() {
		if t.Status.Terminal() || !t.DependsOn.Has(m.task.ID) {
			continue
		}
		if cycle := cycleThrough(m.state, t.ID, replaceAll(t.DependsOn, replace), replace); cycle != nil {
			return m.refuseNext("liza status --graph", "G74", ExitInvalid, "would make a cycle: %s", strings.Join(cycle, " → "))
		}
	}
	return nil
}}

var retarget = Effect{"depends_on: the superseded id is replaced in its place by its replacements", func(m *move) {
	m.task.DependsOn = replaceAll(m.task.DependsOn, func(d string) []string {
		if d == m.in.What {
			return m.in.By
		}
		return []string{d}
	})
	m.detail = m.in.What + " → " + strings.Join(m.in.By, ", ")
}}

var closeTask = Effect{"E-DROP-WT; rescope_reason, root_cause; hold, integration_fix, approved_by, merge_approval null; goal.alignment_history gets rescope_ID", func(m *move) {
	t := m.task
	m.dropWorktree()
	forgetApproval(t)
	t.RescopeReason, t.RootCause, t.Hold, t.RestartFrom = m.in.Reason, m.in.RootCause, nil, ""
	summary := t.ID + " abandoned: " + oneLine(m.in.Reason)
	if m.rule.Event != evAbandon {
		summary = t.ID + " superseded by " + strings.Join(m.in.By, ", ") + ": " + oneLine(m.in.Reason)
		m.detail = "by " + strings.Join(m.in.By, ", ") + ": " + m.detail
	}
	if !blank(m.in.RootCause) {
		cause := "; root cause: " + oneLine(m.in.RootCause)
		summary += cause
		m.detail += cause
	}
	align(m.state, "rescope_"+t.ID, summary, m.now)
}}

var nameReplacements = Effect{"superseded_by; the replacements' supersedes gets the task; then T31 for its dependents", func(m *move) {
	t := m.task
	t.SupersededBy, m.h.By = nil, nil
	for _, id := range m.in.By {
		if !t.SupersededBy.Has(id) {
			t.SupersededBy = append(t.SupersededBy, id)
		}
		if r := m.state.Task(id); r != nil && !r.Supersedes.Has(t.ID) {
			r.Supersedes = append(r.Supersedes, t.ID)
		}
	}
	m.h.By = clone(t.SupersededBy)
}}

// Several attempts at the same work are tasks like any other, with claims, worktrees and limits of their own. The first has the id of the
// work. One goes on: the others are superseded by it, so what depends on them depends on it (specs/protocol.md#13.16).

// CreateAttempts puts n attempts at a task on the board: the task, and copies with the ids ID-2, ID-3 … clis are the programs of their
// coders, in turn.
func CreateAttempts(s *blackboard.State, t *blackboard.Task, n int, clis []string, draft bool, a Actor, in Input, now time.Time) (made []*blackboard.Task, err error) {
	const most = 5
	if n < 0 || n > most || n > 1 && t.KindOf() != blackboard.CodeTask {
		return nil, refuse("G16", ExitUsage, "liza help add-task", "attempts are 2 to %d, of a task of kind code", most)
	}
	for i := range max(1, n) {
		c := t
		if i > 0 {
			copied := *t
			c = &copied
			c.ID, c.History, c.Supersedes = fmt.Sprintf("%s-%d", t.AttemptOf, i+1), nil, nil
		}
		if n > 1 {
			c.AttemptOf = t.ID
		}
		if len(clis) > 0 {
			c.CLI = clis[i%len(clis)]
		}
		if err := Create(s, c, draft, a, in, now); err != nil {
			return nil, err
		}
		made = append(made, c)
	}
	return made, nil
}

// Rivals returns the other attempts at the work of t that are not over.
func Rivals(s *blackboard.State, t *blackboard.Task) (list []*blackboard.Task) {
	if t.AttemptOf == "" || t.Status.Terminal() {
		return nil
	}
	for o := range s.Tasks() {
		if o.AttemptOf == t.AttemptOf && o.ID != t.ID && !o.Status.Terminal() {
			list = append(list, o)
		}
	}
	return list
}

// DecisionOn returns the command by which a person lets t go on: a pick while another attempt at its work is open, else a merge approval.
func DecisionOn(s *blackboard.State, t *blackboard.Task) string {
	if len(Rivals(s, t)) > 0 {
		return "liza approve " + t.ID + " --reason TEXT"
	}
	return "liza approve " + t.ID
}

// Pickable reports whether an attempt can be picked: it was handed in and is not on hold.
func Pickable(t *blackboard.Task) bool {
	return t.Status == blackboard.ReadyForReview && t.Hold == nil
}

// Checked reports whether the checks of what was handed in have run.
func Checked(t *blackboard.Task) bool { return t.Review != nil && t.Review.Commit == t.ReviewCommit }

// Pick lets the attempt id go on, and ends the attempts losers (T44). The one under review ends last: with it ends the review claim by which a
// supervisor may pick.
func Pick(s *blackboard.State, id string, losers []string, a Actor, saved map[string]Input, in Input, now time.Time) error {
	in = in.reasoned()
	in.By = blackboard.List{id}
	reviewed := func(id string) int {
		if t := s.Find(id); t != nil && t.ReviewingBy != "" {
			return 1
		}
		return 0
	}
	for _, loser := range slices.SortedStableFunc(slices.Values(losers), func(a, b string) int { return reviewed(a) - reviewed(b) }) {
		own := in
		own.Attic, own.SaveError = saved[loser].Attic, saved[loser].SaveError
		if err := supersede(s, evPick, loser, a, own, now); err != nil {
			return err
		}
	}
	return nil
}

var pickStands = Guard{"G81", "the task in its place is another attempt at the same work that is READY_FOR_REVIEW and not on hold", func(m *move) error {
	for _, id := range m.in.By {
		t := m.state.Task(id)
		switch {
		case t == nil || m.task.AttemptOf == "" || t.AttemptOf != m.task.AttemptOf || id == m.task.ID:
			return m.no("G81", ExitRefused, "%s and %s are not attempts at the same work", id, m.task.ID)
		case !Pickable(t):
			return m.refuseNext("liza show "+id, "G81", ExitRefused, "attempt %s is %s and cannot be picked; it has to be READY_FOR_REVIEW and not on hold", id, t.Status)
		}
	}
	return nil
}}

var judgesAttempts = Guard{"G53", "a supervisor has the review claim of one of the attempts", func(m *move) error {
	if m.party&SReviewer == 0 {
		return nil
	}
	for t := range m.state.Tasks() {
		if t.AttemptOf == m.task.AttemptOf && t.ReviewingBy == m.actor.ID && blackboard.RegistrationOf(m.me(), t.ReviewingGeneration) {
			return nil
		}
	}
	return m.no("G53", ExitLeaseLost, "%s has no review claim on the attempts at %s", m.actor.ID, m.task.AttemptOf)
}}

// attemptsIn keeps a review from beginning before all attempts are handed in or BLOCKED. One of them is reviewed at a time, those whose checks
// have not run first.
var attemptsIn = Guard{"G82", "the other attempts at its work are READY_FOR_REVIEW, BLOCKED or over; none of them is on hold or under review, and its checks have not run before theirs", func(m *move) error {
	for _, o := range Rivals(m.state, m.task) {
		switch {
		case o.Hold != nil:
			return m.no("G82", ExitRefused, "%s waits for the other attempt %s, which is on hold", m.task.ID, o.ID)
		case o.Status != blackboard.ReadyForReview && o.Status != blackboard.Blocked:
			return m.no("G82", ExitRefused, "%s waits for the other attempt %s, which is %s", m.task.ID, o.ID, o.Status)
		case o.ReviewingBy != "":
			return m.no("G82", ExitRefused, "%s waits for the review of the other attempt %s", m.task.ID, o.ID)
		case Pickable(o) && Checked(m.task) && !Checked(o):
			return m.no("G82", ExitRefused, "%s is checked; the other attempt %s comes first", m.task.ID, o.ID)
		}
	}
	return nil
}}

var picked = Guard{"G83", "no other attempt at its work is open", func(m *move) error {
	if r := Rivals(m.state, m.task); len(r) > 0 {
		return m.refuseNext(DecisionOn(m.state, m.task), "G83", ExitRefused, "%s is one of several attempts, and %s is open (%s): one has to be picked first", m.task.ID, r[0].ID, r[0].Status)
	}
	return nil
}}
