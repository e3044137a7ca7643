package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// team is a board with coders at work and tasks.
func team(coders int, tasks ...*blackboard.Task) (*blackboard.State, time.Time) {
	now := time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)
	s := &blackboard.State{Goal: &blackboard.Goal{Status: blackboard.InProgress}, Agents: map[string]*blackboard.Agent{}}
	for i := range coders {
		s.Agents[fmt.Sprintf("coder-%d", i+1)] = &blackboard.Agent{Role: blackboard.RoleCoder, LeaseExpires: blackboard.TimeOf(now.Add(time.Hour)), Heartbeat: blackboard.TimeOf(now)}
	}
	return s.With(tasks...), now
}

// Agents of one process that ended are one warning, whatever their number; long lists of ids have an end.
func TestWhatHappenedTogetherIsOneWarning(t *testing.T) {
	t.Parallel()
	s, now := team(4, &blackboard.Task{ID: "a", Status: blackboard.Claimed})
	for _, a := range s.Agents {
		a.PID, a.PIDStart, a.Host, a.BootID, a.CurrentTask = 4121, 1, "here", "boot", "a"
		a.LeaseExpires = blackboard.TimeOf(now.Add(time.Minute))
	}
	gone := blackboard.ProcessFacts{Host: "here", BootID: "boot", Running: func(int, int64) (bool, bool) { return false, true }}
	got := Build(s, Input{Now: now, Process: gone}).Warnings
	if n := len(slices.DeleteFunc(slices.Clone(got), func(w string) bool { return !strings.Contains(w, ": dead: ") })); n != 1 || !strings.HasPrefix(got[0], "coder-1, coder-2, coder-3, coder-4: dead: ") ||
		!strings.Contains(got[0], "; they hold a; next: liza run") {
		t.Errorf("the warnings are %q", got)
	}
	var drafts []*blackboard.Task
	for _, id := range strings.Fields("a1 a2 a3 a4 a5 a6 a7") {
		drafts = append(drafts, &blackboard.Task{ID: id, Status: blackboard.Draft})
	}
	s, now = team(0, drafts...)
	waits := Build(s, Input{Now: now, HumanReview: true}).Waiting
	if len(waits) == 0 || waits[0].Text != "7 planned tasks wait for your review: a1, a2, a3, a4, a5 and 2 more" {
		t.Errorf("what waits is %+v", waits)
	}
}

// Nothing is to be decided on a board that no verb writes: the one thing to do is to mend it.
func TestABoardThatIsInvalidAsksForNothingElse(t *testing.T) {
	t.Parallel()
	s, now := team(1, &blackboard.Task{ID: "a", Status: blackboard.Blocked, BlockedReason: "?"})
	if v := Build(s, Input{Now: now, Wrong: []string{"V66 a: APPROVED was not reached by a verb"}}); len(v.Waiting) != 0 || len(v.Wrong) != 1 {
		t.Errorf("waits %+v, wrong %q", v.Waiting, v.Wrong)
	}
}
