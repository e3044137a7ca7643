package transition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// AddAnomaly records an anomaly that reporter saw (specs/protocol.md#13.9).
func AddAnomaly(s *blackboard.State, task, reporter string, kind blackboard.AnomalyKind, details blackboard.Settings, now time.Time) {
	addAnomaly(s, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(now), Task: task, Reporter: reporter, Type: kind, Details: details})
}

// AddAnomalyOnce records an anomaly that Liza itself saw, unless the board has it already: who noted it may have been killed before the next step.
func AddAnomalyOnce(s *blackboard.State, task string, kind blackboard.AnomalyKind, what string, now time.Time) {
	known := func(a *blackboard.Anomaly) bool { return a.Type == kind && a.Task == task && a.Details["what"] == what }
	if !slices.ContainsFunc(s.Anomalies, known) {
		AddAnomaly(s, task, blackboard.System, kind, blackboard.Settings{"what": what}, now)
	}
}

func addAnomaly(s *blackboard.State, a *blackboard.Anomaly) {
	if at, ok := a.Timestamp.At(); ok {
		settleBreaker(s, at) // a status that was set by hand is about what was there before
	}
	a.ID = nextID("anom-", s.Anomalies, func(a *blackboard.Anomaly) string { return a.ID })
	s.Anomalies = append(s.Anomalies, a)
	notLooked(s, a)
	detail := string(a.Type)
	for _, k := range []string{"what", "reason", "cycles", "failed_by"} {
		if v, ok := a.Details[k]; ok {
			detail += ": " + describe(v)
			break
		}
	}
	s.Record(blackboard.Entry{Timestamp: a.Timestamp, Agent: a.Reporter, Action: blackboard.ActionAnomaly, Task: a.Task, Detail: detail})
}

// ReportAnomaly records an anomaly that an agent or a person reports, and returns it (specs/protocol.md#13.9). An unknown
// type and a missing detail are wrong use; a type of another role is refused.
func ReportAnomaly(s *blackboard.State, task string, kind blackboard.AnomalyKind, details blackboard.Settings, a Actor, now time.Time) (*blackboard.Anomaly, error) {
	by, err := identify(s, a, now)
	if err != nil {
		return nil, err
	}
	known, ok := blackboard.AnomalyTypeOf(kind)
	switch missing := known.Missing(details); {
	case blank(string(kind)):
		return nil, refuse("G09", ExitUsage, "liza help anomaly", "--type is empty")
	case !ok:
		return nil, refuse("G09", ExitUsage, "liza help anomaly", "unknown type '%s'%s; a type of your own begins with x-", kind, blackboard.NearestHint(string(kind), anomalyNames()))
	case len(missing) > 0:
		return nil, refuse("G09", ExitUsage, "liza help anomaly", "%s needs %s", kind, "--detail "+strings.Join(missing, "=… --detail ")+"=…")
	case !known.MayReport(a.ID):
		return nil, refuse("G03", ExitRefused, "liza help anomaly", "%s may not report %s; human or %s may", article(a, by.party), kind, blackboard.OrList(known.Reporters))
	case blank(task):
		return nil, refuse("G09", ExitUsage, "liza help anomaly", "--task is empty")
	case s.Task(task) == nil:
		return nil, unknownTask(s, task)
	}
	if old := recordedLoop(s, task, kind); old != nil && by.party&ByReviewer != 0 {
		return nil, refuse("G03", ExitRefused, "liza show "+task, "a retry_loop of %s is recorded already, as %s; a reviewer records the first one only", task, old.ID)
	}
	if err := roomForNote(s, task, "report anomalies", by); err != nil {
		return nil, err
	}
	admit(s, a, by, now)
	x := &blackboard.Anomaly{Timestamp: blackboard.TimeOf(now), Task: task, Reporter: a.ID, Type: kind, Details: details}
	addAnomaly(s, x)
	entries := s.Entries()
	entries[len(entries)-1].Extra = via(a)
	return x, nil
}

func anomalyNames() []string {
	var names []string
	for _, known := range blackboard.AnomalyTypes {
		names = append(names, string(known.Name))
	}
	return names
}

// recordedLoop is the retry loop that is recorded for a task, nil for none or another type.
func recordedLoop(s *blackboard.State, task string, kind blackboard.AnomalyKind) *blackboard.Anomaly {
	for _, a := range s.Anomalies {
		if kind == blackboard.AnomalyRetryLoop && a.Type == kind && a.Task == task {
			return a
		}
	}
	return nil
}

// noteStillPresent records a retry loop for a finding that a reviewer calls STILL_PRESENT
// for the second time in a row (specs/protocol.md#13.12). A point that stays keeps its number from
// one rejection to the next; one finding is recorded once.
func (m *move) noteStillPresent() {
	t, v := m.task, m.in.Verdict
	if v == nil || t.RejectionReason == nil {
		return
	}
	for _, p := range v.Prior {
		again := slices.ContainsFunc(t.RejectionReason.Prior, func(before *blackboard.Prior) bool { return *before == *p })
		text := point(t, p.N)
		if p.State != blackboard.PriorStillPresent || !again || text == "" || loopOf(m.state, t.ID, text) {
			continue
		}
		addAnomaly(m.state, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(m.now), Task: t.ID, Reporter: m.actor.ID, Type: blackboard.AnomalyRetryLoop,
			Details: blackboard.Settings{"count": t.ReviewCyclesCurrent + 1, "error_pattern": text}})
	}
}

// point is the text of a numbered point of the last rejection: the fixes that were asked
// for, else the findings, else the reason.
func point(t *blackboard.Task, n int) string {
	r := t.RejectionReason
	switch {
	case n < 1:
		return ""
	case len(t.Fixes) > 0:
		for _, f := range t.Fixes {
			if f.N == n {
				return oneLine(f.Detail)
			}
		}
		return ""
	case len(r.Findings) > 0:
		if n > len(r.Findings) {
			return ""
		}
		return oneLine(r.Findings[n-1].Message)
	case n == 1:
		return oneLine(r.Summary)
	}
	return ""
}

func loopOf(s *blackboard.State, task, pattern string) bool {
	for _, a := range s.Anomalies {
		if a.Type == blackboard.AnomalyRetryLoop && a.Task == task && a.Details["error_pattern"] == pattern {
			return true
		}
	}
	return false
}

// anyPlanner is who reports for the planner: the first one, or system when there is none.
func anyPlanner(s *blackboard.State) string {
	for _, id := range s.AgentIDs() {
		if role, _, _ := blackboard.ParseAgentID(id); role == blackboard.RolePlanner {
			return id
		}
	}
	return blackboard.System
}

// describe is a detail of an anomaly in one line.
func describe(v any) string {
	if list, ok := v.([]string); ok {
		return oneLine(strings.Join(list, ", "))
	}
	return oneLine(fmt.Sprint(v))
}

// roomForNote refuses an agent's note when the task has too many discoveries and anomalies. People have no such limit. How much text they
// have is bounded with all other text (TextBound).
func roomForNote(s *blackboard.State, task, verb string, by caller) error {
	if by.party&ByAny == 0 {
		return nil
	}
	count := 1
	for _, d := range s.Discovered {
		if d.During == task {
			count++
		}
	}
	for _, a := range s.Anomalies {
		if a.Task == task {
			count++
		}
	}
	if count > mostNotes {
		return refuse("G03", ExitRefused, "liza show "+task, "agents may not %s any more about %s: at most %d discoveries and anomalies are kept for a task", verb, task, mostNotes)
	}
	return nil
}
