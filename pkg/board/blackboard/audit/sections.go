package audit

import (
	"strings"

	"liza/pkg/board/blackboard"
)

// The rules about sections other than tasks and agents: V02, V03, V46, V49 to V53,
// V60, V64.

func checkVersion(v *validation) {
	switch v.s.Version {
	case "1", "1.0":
	case "":
		v.section("version", "", "version is missing; this program reads 1")
	default:
		v.section("version", "", "version is %s; this program reads 1", v.s.Version)
	}
}

func checkSections(v *validation) {
	missing := map[string]bool{"goal": v.s.Goal == nil, "config": v.s.Config == nil, "sprint": v.s.Sprint == nil}
	for _, name := range v.facts.MissingSections {
		missing[name] = true
	}
	for _, name := range sectionOrder {
		if missing[name] {
			v.section(name, "", "missing section '%s'", name)
		}
	}
}

var (
	goalStatuses     = []string{blackboard.InProgress, blackboard.Completed, blackboard.Aborted, "PLANNING"}
	sprintStatuses   = []string{blackboard.InProgress, blackboard.AtCheckpoint, blackboard.Completed, blackboard.Aborted}
	breakerStatuses  = []string{blackboard.BreakerOK, blackboard.BreakerTripped}
	planStatuses     = []string{"running", "done", "failed", "superseded"}
	questionStatuses = []string{"open", "answered", "delivered", "expired"}
)

func checkStatuses(v *validation) {
	look := func(section, field, what, status string, known []string) {
		if !blackboard.List(known).Has(status) {
			v.section(section, field, "%s: unknown status '%s'%s", what, status, blackboard.NearestHint(status, known))
		}
	}
	if g := v.s.Goal; g != nil && g.Status != "" {
		look("goal", ".status", "goal", g.Status, goalStatuses)
	}
	for i, p := range v.s.Plans {
		look("plans", within(p.ID, i, "status"), "plan "+nameOf(p.ID, i), p.Status, planStatuses)
	}
	for i, q := range v.s.Questions {
		look("questions", within(q.ID, i, "status"), "question "+nameOf(q.ID, i), string(q.Status), questionStatuses)
	}
	if s := v.s.Sprint; s != nil && s.Status != "" {
		look("sprint", ".status", "sprint", s.Status, sprintStatuses)
	}
	if b := v.s.CircuitBreaker; b != nil && b.Status != "" {
		look("circuit_breaker", ".status", "circuit_breaker", b.Status, breakerStatuses)
	}
}

func checkSprint(v *validation) {
	s := v.s.Sprint
	if s == nil {
		return
	}
	if g := v.s.Goal; g != nil && s.GoalRef != g.ID {
		v.section("sprint", ".goal_ref", "sprint.goal_ref is %s, goal.id is %s", s.GoalRef, g.ID).
			Concerns("goal").Lenient(v.v1 && s.GoalRef == "")
	}
	if s.Timeline == nil || s.Timeline.Started.None() {
		v.section("sprint", ".timeline.started", "sprint.timeline.started is missing")
	}
}

func checkSprintScope(v *validation) {
	if v.s.Sprint == nil || v.s.Sprint.Scope == nil || !v.newIDs && v.sameScope() {
		return
	}
	look := func(field string, ids blackboard.List) {
		for _, id := range ids {
			if !v.known(id) {
				v.section("sprint", ".scope."+field, "sprint.scope.%s: no task '%s'", field, id).Concerns(id)
			}
		}
	}
	look("planned", v.s.Sprint.Scope.Planned)
	look("stretch", v.s.Sprint.Scope.Stretch)
}

func checkHandoffs(v *validation) {
	for _, id := range sortedKeys(v.s.Handoff) {
		look := func(field, format string, args ...any) *blackboard.Violation {
			return v.section("handoff", within(id, 0, field), "handoff."+strings.ReplaceAll(id, "%", "%%")+": "+format, args...).Concerns(id)
		}
		if !v.known(id) {
			look("", "no task '%s'", id).Lenient(v.v1)
		}
		h := v.s.Handoff[id]
		if blank(h.Summary) {
			look("summary", "missing summary")
		}
		if blank(h.NextAction) {
			look("next_action", "missing next_action")
		}
	}
}

func checkDiscoveries(v *validation) {
	seen := map[string]bool{}
	for i, d := range v.s.Discovered {
		look := func(field, format string, args ...any) *blackboard.Violation {
			args = append([]any{nameOf(d.ID, i)}, args...)
			return v.section("discovered", within(d.ID, i, field), "discovered %s: "+format, args...)
		}
		if d.Urgency != "" && !blackboard.List(blackboard.Urgencies).Has(d.Urgency) {
			look("urgency", "urgency '%s'; it must be %s", d.Urgency, blackboard.OrList(blackboard.Urgencies))
		}
		if d.Severity != "" && !blackboard.List(blackboard.Severities).Has(d.Severity) {
			look("severity", "severity '%s'; it must be %s", d.Severity, blackboard.OrList(blackboard.Severities)).Lenient(v.v1)
		}
		if to := d.ConvertedToTask; to != "" && !v.known(to) {
			look("converted_to_task", "converted_to_task: no task '%s'", to).Concerns(to).Lenient(v.v1)
		}
		if d.ID != "" && seen[d.ID] {
			look("id", "the id appears twice").Lenient(v.v1)
		}
		seen[d.ID] = true
	}
}

func checkAnomalies(v *validation) {
	for i, a := range v.s.Anomalies {
		v.anomaly(i, a)
	}
}

func (v *validation) anomaly(i int, a *blackboard.Anomaly) {
	look := func(field, format string, args ...any) *blackboard.Violation {
		args = append([]any{nameOf(a.ID, i)}, args...)
		return v.section("anomalies", within(a.ID, i, field), "anomaly %s: "+format, args...)
	}
	kind, ok := blackboard.AnomalyTypeOf(a.Type)
	if !ok {
		var names []string
		for _, known := range blackboard.AnomalyTypes {
			names = append(names, string(known.Name))
		}
		look("type", "unknown type '%s'%s", a.Type, blackboard.NearestHint(string(a.Type), names))
		return
	}
	for _, key := range kind.Missing(a.Details) {
		look("details."+key, "%s needs details.%s", a.Type, key).Lenient(!kind.Strict)
	}
	if a.Reporter != "" && !kind.MayReport(a.Reporter) {
		look("reporter", "%s may not report %s", a.Reporter, a.Type).Lenient(true)
	}
}

func checkGoalDone(v *validation) {
	if v.s.Goal == nil || v.s.Goal.Status != blackboard.Completed {
		return
	}
	for t := range v.s.Tasks() {
		if !t.Status.Terminal() {
			v.section("goal", ".status", "goal COMPLETED but %s is %s", v.taskName(t), t.Status).Concerns(v.taskName(t))
		}
	}
}

// The rubber-stamp warning of specs/protocol.md#12.
const (
	manyVerdicts     = 5
	highApprovalRate = 95 // percent
)

func checkApprovalRate(v *validation) {
	if v.s.Sprint == nil || v.s.Sprint.Metrics == nil {
		return
	}
	m := v.s.Sprint.Metrics
	if count := m.ReviewVerdictCount; count >= manyVerdicts && 100*m.ReviewVerdictApprovals/count > highApprovalRate {
		v.section("sprint", ".metrics.review_verdict_approvals", "%d of %d verdicts are approvals: are reviews real?",
			m.ReviewVerdictApprovals, count)
	}
}

// A state that Liza v1 (bash) wrote and accepted has no error here, before and after
// the first write of ours, unless its data contradict each other (specs/protocol.md#9). So
// what v1 did not ask for is a warning where v1 wrote. v1 counted no attempts and
// gave registrations no generation; our entries have both, and our tasks begin with
// the event created.

// writtenByV1 reports whether the file was created by Liza v1: our init always writes
// base_ref, which v1 did not know.
func writtenByV1(s *blackboard.State) bool {
	_, baseRef := s.Config["base_ref"]
	return !baseRef
}

// taskOfV1 reports whether v1 made the task, or had it for some of its attempts.
func (v *validation) taskOfV1(t *blackboard.Task) bool {
	if !v.v1 {
		return false
	}
	made := len(t.History) == 0 || t.History[0].Event != blackboard.HistoryCreated
	return made || t.ClaimSeq == 0 || claimsIn(t.History) > t.ClaimSeq
}

// agentOfV1 reports whether a registration is one of v1's.
func (v *validation) agentOfV1(a *blackboard.Agent) bool { return v.v1 && a.Generation == "" }

func claimsIn(history []*blackboard.HistoryEntry) int {
	n := 0
	for _, e := range history {
		if blackboard.IsClaimEvent(e.Event) {
			n++
		}
	}
	return n
}
