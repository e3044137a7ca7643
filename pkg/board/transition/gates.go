package transition

import (
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
)

var controlsOpen = Guard{"G07", "there is no ABORT, PAUSE or CHECKPOINT", func(m *move) error {
	if why := control(m.state, m.in); why != "" {
		return m.refuseNext("liza resume", "G07", ExitRefused, "%s", why)
	}
	return nil
}}

var sprintRuns = Guard{"G07", "there is no ABORT, PAUSE or CHECKPOINT, the sprint is IN_PROGRESS, and the agent is not stopped", func(m *move) error {
	if err := controlsOpen.Check(m); err != nil {
		return err
	}
	if st := sprintStatus(m.state); st != blackboard.InProgress {
		return m.refuseNext("liza resume", "G07", ExitRefused, "the sprint is %s", st)
	}
	if stop := m.state.Stopped[m.actor.ID]; stop != nil {
		return m.refuseNext("liza resume "+m.actor.ID, "G07", ExitRefused, "%s is %s", m.actor.ID, stop)
	}
	return nil
}}

var notHeld = Guard{"G08", "the task is not on hold", func(m *move) error {
	if h := m.task.Hold; h != nil {
		return m.refuseNext("liza resume "+m.task.ID, "G08", ExitRefused, "task %s is on hold by %s: %s", m.task.ID, h.By, h.Reason)
	}
	return nil
}}

var textsGiven = Guard{"G09", "required texts are not empty", func(m *move) error {
	for _, t := range m.in.Texts {
		if blank(t.Value) {
			return m.no("G09", ExitUsage, "%s is empty", t.Option)
		}
	}
	return nil
}}

var gatesPass = Guard{"G12", "the gates pass: description, spec_ref, done_when, scope, tests included", func(m *move) error {
	missing := m.task.Gates()
	if len(missing) == 0 {
		return nil
	}
	if m.rule.Event == evCreate {
		return refuse("G12", ExitUsage, "liza help add-task", "cannot create %s: %s", m.task.ID, missing)
	}
	return refuse("G12", ExitRefused, "liza show "+m.task.ID, "%s: %s", m.task.ID, missing)
}}

var specExists = Guard{"G13", "the spec file exists", func(m *move) error {
	path, _, _ := strings.Cut(m.task.SpecRef, "#")
	if m.in.SpecExists == nil || path == "" || m.in.SpecExists(path) {
		return nil
	}
	next := "liza help " + commandOf(m.rule.Event)
	if m.rule.Event == evClaim || m.rule.Event == evClaimReview {
		next = "liza edit"
	}
	return m.refuseNext(next, "G13", ExitInvalid, "the spec file %s of %s does not exist in the project", path, m.task.ID)
}}

var workSaved = Guard{"G75", "the work of the worktree was saved", func(m *move) error {
	if m.in.SaveError != "" {
		r := refuse("G75", ExitFailure, "liza doctor", "cannot save the work of %s: %s", m.task.ID, strings.TrimPrefix(m.in.SaveError, "cannot save the work of "+m.task.ID+": "))
		r.Unsaved = m.task.ID
		return r
	}
	return nil
}}

// onlyCode limits a guard to tasks that change files (specs/protocol.md#4.5). A command that could
// have changed some and did not is no such task.
func onlyCode(check func(*move) error) func(*move) error {
	return func(m *move) error {
		f := m.submission()
		unchanged := m.task.KindOf() != blackboard.CodeTask && f.Commit != "" && f.Commit == m.task.BaseCommit && len(f.Dirty) == 0
		if !m.task.ChangesFiles() || unchanged {
			return nil
		}
		return check(m)
	}
}

// mayTake says why the caller's agent program cannot take the task (specs/protocol.md#13.3 step 5).
func (m *move) mayTake(guard string) error {
	if m.in.MayTake != nil {
		if why := m.in.MayTake(m.task); why != "" {
			return m.no(guard, ExitRefused, "%s waits: %s", m.task.ID, why)
		}
	}
	return nil
}

var notExhausted = Guard{"G26", "the task is not exhausted", func(m *move) error {
	if m.task.Exhausted() {
		return m.refuseNext(rescopeCommand(m.task.ID), "G26", ExitRefused, "task %s is exhausted: failed by %s; rescope it", m.task.ID, failures(m.task))
	}
	return nil
}}

// failures says who failed the task, and how often.
func failures(t *blackboard.Task) string {
	if len(t.FailedBy) >= 2 {
		return strings.Join(t.FailedBy, ", ")
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d times", strings.Join(t.FailedBy, ", "), t.Failures))
}

func rescopeCommand(id string) string {
	return "liza abandon " + id + " --by ID --reason T --root-cause T"
}
