package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// holdRules are the rows of hold and unhold.
var holdRules = []Rule{
	{ID: "T34", Event: evHold, From: open(), Who: ByHuman | BySystem,
		Needs:   needs(textsGiven, notOnHold),
		Does:    does(hold),
		History: records(blackboard.HistoryHeld), Log: names(blackboard.ActionHeld)},
	{ID: "T35", Event: evUnhold, From: open(), Who: ByHuman,
		Needs:   needs(onHold),
		Does:    does(unhold),
		History: records(blackboard.HistoryUnheld), Log: names(blackboard.ActionUnheld)},
}

// HoldTask keeps agents and people from claiming the task (T34).
func HoldTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, evHold, id, a, in, now)
}

// UnholdTask ends a hold (T35).
func UnholdTask(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evUnhold, id, a, in, now)
}

var notOnHold = Guard{"G77", "the task is not on hold", func(m *move) error {
	if h := m.task.Hold; h != nil {
		return m.refuseNext("liza resume "+m.task.ID, "G77", ExitRefused, "task %s is on hold already, by %s: %s", m.task.ID, h.By, h.Reason)
	}
	return nil
}}

var onHold = Guard{"G77", "the task is on hold", func(m *move) error {
	if m.task.Hold == nil {
		return m.no("G77", ExitRefused, "task %s is not on hold", m.task.ID)
	}
	return nil
}}

var hold = Effect{"hold", func(m *move) {
	m.task.Hold = &blackboard.Hold{By: m.actor.name(), At: blackboard.TimeOf(m.now), Reason: m.in.Reason}
	m.h.Reason = oneLine(m.in.Reason)
	m.detail = m.in.Reason
}}

var unhold = Effect{"hold null; after a hold by system: review_failures 0", func(m *move) {
	if m.task.Hold.By == blackboard.System {
		m.task.ReviewFailures = 0
	}
	m.task.Hold = nil
}}
