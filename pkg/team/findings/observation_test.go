package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
)

// raisedOf are the alerts of one kind.
func raisedOf(f Observation, kind blackboard.AlertKind) (lines []string) {
	for _, x := range Alerts(f) {
		if x.Kind == kind {
			lines = append(lines, x.Severity+" "+strings.TrimPrefix(x.Subject+": ", ": ")+x.Line())
		}
	}
	return lines
}

// What each alert says: who is concerned, what is the matter, and the one command that helps.
func TestWhatAnAlertSays(t *testing.T) {
	t.Parallel()
	with := func(st blackboard.Status, changes ...func(*blackboard.Task)) func(*Observation) {
		return func(f *Observation) {
			x := &blackboard.Task{ID: "a", Status: st, Created: ago(time.Hour)}
			for _, c := range changes {
				c(x)
			}
			f.State.AddTasks(x)
		}
	}
	claimed := func(by string, ends time.Duration) func(*blackboard.Task) {
		return func(t *blackboard.Task) { t.AssignedTo, t.LeaseExpires = by, ago(-ends) }
	}
	violation := func(v blackboard.Violation) func(*Observation) {
		return func(f *Observation) { f.Violations = []blackboard.Violation{v} }
	}
	for _, c := range []struct {
		kind blackboard.AlertKind
		make func(*Observation)
		want string // "" for none
	}{
		{blackboard.AlertForgedApproval, violation(blackboard.Violation{Rule: "V66", Subjects: []string{"a"}, Message: "no verb made it"}), "error a: no verb made it; next: liza validate"},
		{blackboard.AlertInvalidState, violation(blackboard.Violation{Rule: "V66", Subjects: []string{"a"}, Message: "no verb made it"}), ""},
		{blackboard.AlertInvalidState, violation(blackboard.Violation{Rule: "V1", Severity: blackboard.SeverityWarning, Subjects: []string{"a"}}), ""},
		{blackboard.AlertJournalBroken, violation(blackboard.Violation{Rule: "V68", Subjects: []string{"log.yaml"}, Line: 7, Message: "an entry was cut"}), "error log.yaml: line 7: an entry was cut; next: liza validate"},
		{blackboard.AlertStateWentBack, violation(blackboard.Violation{Rule: "V58", Message: "revision 7 follows 9"}), "error state.yaml: revision 7 follows 9"},
		{blackboard.AlertReviewLeaseExpired, with(blackboard.ReadyForReview, func(t *blackboard.Task) { t.ReviewingBy, t.ReviewLeaseExpires = "code-reviewer-1", ago(time.Hour) }),
			"warning a: under review by code-reviewer-1: the lease expired at 2026-01-19T11:00:00Z; the next agent that asks for work takes it over; next: liza run"},
		{blackboard.AlertReviewLeaseExpired, with(blackboard.ReadyForReview), ""},
		{blackboard.AlertLeaseExpired, with(blackboard.Claimed, claimed("coder-9", time.Minute)), ""},
		{blackboard.AlertLivenessUnknown, with(blackboard.Claimed, claimed("coder-9", 0), func(t *blackboard.Task) { t.LeaseExpires = "soon" }), "warning coder-9: holds a: "},
		{blackboard.AlertQuorumOpen, with(blackboard.ReadyForReview), ""},
		{blackboard.AlertHypothesisExhausted, with(blackboard.Rejected, func(t *blackboard.Task) { t.FailedBy = blackboard.List{"coder-1", "coder-2"} }),
			`error a: 2 failures, by coder-1, coder-2: it has to be divided again; next: liza abandon a --by ID --reason "TEXT" --root-cause "TEXT"`},
		{blackboard.AlertHypothesisExhausted, with(blackboard.Abandoned, func(t *blackboard.Task) { t.FailedBy = blackboard.List{"coder-1", "coder-2"} }), ""},
		{blackboard.AlertIntegrationFailed, with(blackboard.IntegrationFailed), "warning a: it cannot be merged as it is"},
		{blackboard.AlertIntegrationFailed, with(blackboard.IntegrationFailed, func(t *blackboard.Task) {
			t.History = []*blackboard.HistoryEntry{{Event: blackboard.HistoryIntegrationFailed, Reason: "conflict", Files: blackboard.List{"a.go", "b.go"}, Log: ".liza/logs/merge.log"}}
		}), "warning a: conflict: a.go, b.go, see .liza/logs/merge.log"},
		{blackboard.AlertIntegrationCheckedOut, func(f *Observation) { f.CheckedOutAt = "/home/ada/p"; with(blackboard.Approved)(f) },
			"error a: integration is checked out in /home/ada/p; nothing is merged as long as it is; next: git -C /home/ada/p switch --detach"},
		{blackboard.AlertIntegrationCheckedOut, func(f *Observation) {
			f.CheckedOutAt = "/home/ada/p"
			with(blackboard.Approved, func(t *blackboard.Task) { t.Hold = &blackboard.Hold{By: "ada"} })(f)
		}, ""},
		{blackboard.AlertIntegrationCheckedOut, func(f *Observation) {
			f.CheckedOutAt = "/home/ada/p"
			with(blackboard.Approved, func(t *blackboard.Task) { t.MergeApproval = &blackboard.MergeApproval{Required: true} })(f)
		}, ""},
		{blackboard.AlertSettingsHeld, func(f *Observation) { f.SettingsHeld = []string{"integration.checks", "limits.tokens"} },
			"error .liza/config.yaml: git has put a version into this checkout that is weaker than what the team works with: integration.checks, limits.tokens; the team keeps its own until you set them; next: liza config integration.checks VALUE"},
		{blackboard.AlertFiltersOff, func(f *Observation) { f.FiltersOff = []string{"lfs", "mask"} },
			"error .gitattributes: it names the filter lfs,mask, which git.filters does not allow: it does not run, and a changed file that has it is not merged; next: liza config git.filters lfs,mask"},
		{blackboard.AlertSettingsHeld, func(f *Observation) { f.SettingsHeld = []string{""} },
			"error .liza/config.yaml: this checkout has no file of settings any more; the team keeps those that it had, until the file is back or you write a new one; next: liza config"},
		{blackboard.AlertBaselineRed, func(f *Observation) {
			f.Red = []Red{{"tests", "make test", "1234567890ab", "1\n2\n3\n4\n5\n6\n", ".liza/logs/b.log"}}
		},
			`warning tests: "make test" fails on 123456789 without any change of an agent: 2 / 3 / 4 / 5 / 6; the log is .liza/logs/b.log`},
		{blackboard.AlertReassigned, with(blackboard.Claimed, claimed("coder-1", time.Hour), func(t *blackboard.Task) {
			t.History = []*blackboard.HistoryEntry{{Event: blackboard.HistoryClaimed, PreviousAssignee: "coder-2"}}
		}), "info a: claimed by coder-1; it was coder-2's before"},
		{blackboard.AlertReassigned, with(blackboard.Claimed, claimed("coder-1", time.Hour), func(t *blackboard.Task) {
			t.History = []*blackboard.HistoryEntry{{Event: blackboard.HistoryClaimed, PreviousAssignee: "coder-2"}, {Event: blackboard.HistoryClaimed, PreviousAssignee: "coder-1"}}
		}), ""},
		{blackboard.AlertSpecChanged, func(f *Observation) {
			f.SpecHash = func(string) string { return "sha256:new" }
			with(blackboard.Claimed, claimed("coder-1", time.Hour), func(t *blackboard.Task) { t.SpecRef, t.SpecHash = "specs/vision.md", "sha256:old" })(f)
		}, "warning a: specs/vision.md changed after the task was claimed"},
		{blackboard.AlertSpecChanged, func(f *Observation) {
			f.SpecHash = func(string) string { return "" } // it cannot be read: nothing is said
			with(blackboard.Claimed, claimed("coder-1", time.Hour), func(t *blackboard.Task) { t.SpecHash = "sha256:old" })(f)
		}, ""},
		{blackboard.AlertImmediateDiscovery, func(f *Observation) {
			f.State.Discovered = []*blackboard.Discovery{{ID: "d-1", Urgency: "immediate", Description: "A leak"}}
		},
			`warning d-1: not decided (low, found during no task): A leak; next: liza add TEXT --from d-1, or liza abandon d-1 --later --reason "TEXT"`},
		{blackboard.AlertGaveUp, func(f *Observation) {
			f.GaveUp = []GaveUp{{Agent: "coder-1", At: ago(0), Next: "liza doctor"}}
			f.State.Overrides = blackboard.Settings{"crash_limit": 5}
		},
			"error coder-1: its supervisor gave up at 2026-01-19T12:00:00Z: 5 crashes; next: liza doctor"},
		{blackboard.AlertRoleUnusable, func(f *Observation) { f.Unusable = []Unusable{{"painter", "it is not there"}} }, "error painter: it is not there; next: liza doctor"},
		{blackboard.AlertDiskLow, func(f *Observation) { f.FreeMB, f.MinFreeMB = 9, 10 }, "error disk: only 9 MB are free, 10 are needed (policy.min_free_mb): no program and no worktree is started"},
		{blackboard.AlertDiskLow, func(f *Observation) { f.FreeMB, f.MinFreeMB = 10, 10 }, ""},
		{blackboard.AlertDiskLow, func(f *Observation) { f.FreeMB, f.MinFreeMB = 0, 10 }, ""},
		{blackboard.AlertClockJump, func(f *Observation) { f.Process.ClockJumped, f.ClockJump = true, 90*time.Second }, "warning clock: the clock of this machine jumped by 1m30s; for a while nothing is given away"},
		{blackboard.AlertLockBusy, func(f *Observation) { f.Lock = &Lock{"coder-1 (pid 7)", noon.Add(-6 * time.Second)} }, "warning state.yaml.lock: held by coder-1 (pid 7) since 2026-01-19T11:59:54Z"},
		{blackboard.AlertOrphanProcess, func(f *Observation) {
			a := f.State.Agents["coder-1"]
			a.LeaseExpires, a.Child = ago(2*time.Minute), &blackboard.Child{PID: 7}
		}, "error coder-1: its program, process 7, still runs without its supervisor; it is stopped before anybody gets its work; next: liza doctor"},
		{blackboard.AlertOrphanProcess, func(f *Observation) {
			a := f.State.Agents["coder-1"]
			a.LeaseExpires, a.Child = ago(2*time.Minute), &blackboard.Child{PID: 700} // it has ended
		}, ""},
	} {
		f := board()
		c.make(&f)
		got := strings.Join(raisedOf(f, c.kind), "\n")
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n%q, want\n%q", c.kind, got, c.want)
		}
	}
}

// Twenty broken entries are told one by one; more are one line, because then something else is the matter.
func TestManyBrokenEntriesAreOneLine(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, mostInvalid - 1, mostInvalid, mostInvalid + 1} {
		f := board()
		for i := range n {
			for range 2 {
				f.Violations = append(f.Violations, blackboard.Violation{Rule: "V1", Subjects: []string{fmt.Sprint("t", i)}, Message: "bad"})
			}
		}
		got, want := raisedOf(f, blackboard.AlertInvalidState), n
		if n > mostInvalid {
			want = 1
		}
		if len(got) != want {
			t.Errorf("%d broken entries are %d alerts, want %d", n, len(got), want)
		}
		if n > mostInvalid && got[0] != "error state.yaml: 21 entries are not valid; next: liza validate" {
			t.Errorf("more than %d: %q", mostInvalid, got[0])
		}
	}
}

// A supervisor that gave up is told until it registers again, with its last reason.
func TestWhoGaveUpAndIsNotBack(t *testing.T) {
	t.Parallel()
	gave := func(agent, why string) blackboard.Entry {
		return blackboard.Entry{Action: blackboard.ActionAgentGaveUp, Agent: agent, Task: "a", Detail: why, Timestamp: ago(0), Extra: map[string]any{"next": "liza doctor"}}
	}
	back := func(agent string) blackboard.Entry {
		return blackboard.Entry{Action: blackboard.ActionRegistered, Agent: agent}
	}
	for _, c := range []struct {
		name    string
		entries []blackboard.Entry
		want    string
	}{
		{"nobody", nil, ""},
		{"one", []blackboard.Entry{gave("coder-1", "x")}, "coder-1 x"},
		{"one twice", []blackboard.Entry{gave("coder-1", "x"), gave("coder-1", "y")}, "coder-1 y"},
		{"one who is back", []blackboard.Entry{gave("coder-1", "x"), back("coder-1")}, ""},
		{"one who came before", []blackboard.Entry{back("coder-1"), gave("coder-1", "x")}, "coder-1 x"},
		{"one of two is back", []blackboard.Entry{gave("coder-2", "x"), gave("coder-1", "y"), back("coder-2")}, "coder-1 y"},
		{"the oldest first", []blackboard.Entry{gave("coder-2", "x"), gave("coder-1", "y")}, "coder-2 x; coder-1 y"},
	} {
		var got []string
		for _, g := range GaveUps(c.entries) {
			got = append(got, g.Agent+" "+g.Why)
			if g.Next != "liza doctor" || g.Task != "a" {
				t.Errorf("%s: %+v", c.name, g)
			}
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
	plain := gave("coder-1", "x")
	plain.Extra = nil
	if got := GaveUps([]blackboard.Entry{plain}); got[0].Next != "liza status" {
		t.Errorf("without a command in the journal: %q, want liza status", got[0].Next)
	}
}

// A jump of the clock is more than 30 s between two looks, either way, and is held as long as was asked.
func TestAJumpOfTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wall time.Duration // between two looks, of which the process measured a minute
		want time.Duration
	}{{time.Minute, 0}, {90 * time.Second, 0}, {91 * time.Second, 31 * time.Second}, {30 * time.Second, 0}, {29 * time.Second, -31 * time.Second}, {time.Hour, 59 * time.Minute}} {
		var clock Clock
		if by := clock.Look(noon, 0, time.Hour); by != 0 {
			t.Errorf("the first look sees a jump by %s", by)
		}
		if by := clock.Look(noon.Add(c.wall), time.Minute, time.Hour); by != c.want {
			t.Errorf("a minute in which the wall clock went by %s is a jump by %s, want %s", c.wall, by, c.want)
		}
	}
	var clock Clock
	clock.Look(noon, 0, time.Minute)
	jumped := noon.Add(time.Hour)
	for after, want := range map[time.Duration]time.Duration{0: time.Hour - time.Second, 58 * time.Second: time.Hour - time.Second} {
		c := clock
		c.Look(jumped, time.Second, time.Minute)
		if by := c.Look(jumped.Add(after), time.Second+after, time.Minute); by != want {
			t.Errorf("%s after the jump it is told as %s, want %s", after, by, want)
		}
	}
	clock.Look(jumped, time.Second, time.Minute)
	if by := clock.Look(jumped.Add(time.Minute), time.Second+time.Minute, time.Minute); by != 0 {
		t.Errorf("a minute after the jump it is told as %s, want nothing", by)
	}
}

func TestADurationForPeople(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0s", 59*time.Second + 400*time.Millisecond: "59s", 59*time.Second + 600*time.Millisecond: "1m", time.Minute: "1m", 31*time.Minute + 20*time.Second: "31m", time.Hour: "1h", 2*time.Hour + 5*time.Minute: "2h5m", 30 * time.Hour: "30h"} {
		if got := Short(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// The sprint is stopped once for its deadline; one that waits already, or was stopped for it, is left alone.
func TestWhenADeadlineStopsTheSprint(t *testing.T) {
	t.Parallel()
	at := func(c project.Control) []project.Order { return []project.Order{{Control: c}} }
	stop := func(cause string, when time.Duration) []*blackboard.Checkpoint {
		return []*blackboard.Checkpoint{{Cause: cause, Message: "deadline", At: ago(when)}}
	}
	for _, c := range []struct {
		name     string
		deadline time.Duration // before noon
		status   string
		orders   []project.Order
		points   []*blackboard.Checkpoint
		want     bool
	}{
		{"a second before", -time.Second, "IN_PROGRESS", nil, nil, false},
		{"at the deadline", 0, "IN_PROGRESS", nil, nil, true},
		{"after it", time.Hour, "IN_PROGRESS", nil, nil, true},
		{"a sprint that is over", time.Hour, blackboard.Completed, nil, nil, false},
		{"one that waits at a checkpoint", time.Hour, blackboard.AtCheckpoint, nil, nil, false},
		{"a checkpoint is ordered", time.Hour, "IN_PROGRESS", at(project.Checkpoint), nil, false},
		{"it is aborted", time.Hour, "IN_PROGRESS", at(project.Abort), nil, false},
		{"a pause stops nobody for good", time.Hour, "IN_PROGRESS", at(project.Pause), nil, true},
		{"stopped for it before", time.Hour, "IN_PROGRESS", nil, stop(blackboard.CauseDeadline, 30*time.Minute), false},
		{"stopped for a deadline that was put off", time.Hour, "IN_PROGRESS", nil, stop(blackboard.CauseDeadline, 2*time.Hour), true},
		{"stopped for something else", time.Hour, "IN_PROGRESS", nil, stop("", 30*time.Minute), true},
	} {
		f := board()
		f.State.Sprint = &blackboard.Sprint{Status: c.status, Timeline: &blackboard.Timeline{Started: ago(9 * time.Hour), Deadline: ago(c.deadline)}, Checkpoints: c.points}
		f.Orders = c.orders
		if got := DeadlineDue(f); got != c.want {
			t.Errorf("%s: due %t, want %t", c.name, got, c.want)
		}
	}
	f := board()
	if DeadlineDue(f) {
		t.Error("a sprint without a deadline is due")
	}
}

// The text of an escalation names every question that a person can answer, those of the list and those that only a task has.
func TestAnEscalationNamesWhatWaits(t *testing.T) {
	t.Parallel()
	f := board(&blackboard.Task{ID: "a", Status: blackboard.Blocked, BlockedQuestions: blackboard.List{"Which?"}}, &blackboard.Task{ID: "b", Status: blackboard.Blocked, BlockedQuestions: blackboard.List{"Old?"}},
		&blackboard.Task{ID: "c", Status: blackboard.Unclaimed, BlockedQuestions: blackboard.List{"Gone?"}})
	f.State.Questions = []*blackboard.Question{{ID: "q-1", Task: "b", Text: "New?", Status: blackboard.QuestionOpen}, {ID: "q-2", Task: "b", Text: "Done?", Status: blackboard.QuestionAnswered}, {ID: "q-3", Text: "Windows?", Status: blackboard.QuestionOpen}}
	for age, told := range map[time.Duration]bool{time.Hour: false, 2*time.Hour - time.Second: false, 2 * time.Hour: true, 9 * time.Hour: true} {
		f.Orders = []project.Order{{Control: project.Checkpoint, Modified: noon.Add(-age), Reason: "look\nat it"}}
		got := Escalation(f)
		if (got != "") != told {
			t.Errorf("after %s: %q, want an escalation: %t", age, got, told)
		}
		if want := "time: 2026-01-19T12:00:00Z\nage: " + Short(age) + "\nmessage: look at it\nopen questions:\n- q-1 (b): New?\n- q-3 (planner): Windows?\n- a: Which?\nnext: liza resume\n"; told && got != want {
			t.Errorf("after %s:\n%s\nwant\n%s", age, got, want)
		}
	}
	f.Orders = []project.Order{{Control: project.Pause, Modified: noon.Add(-9 * time.Hour)}}
	if got := Escalation(f); got != "" {
		t.Errorf("a pause escalates: %q", got)
	}
}

func TestAStatusThatLizaDoesNotKnowIsNamedWithTheNearest(t *testing.T) {
	t.Parallel()
	f := board(&blackboard.Task{ID: "a", Status: "CLAIMD"}, &blackboard.Task{ID: "b", Status: blackboard.Merged}, &blackboard.Task{ID: "c", Status: "XYZZY"})
	f.State.Goal.Status, f.State.Sprint.Status = "COMPLETE", blackboard.AtCheckpoint
	want := "task a has the unknown status 'CLAIMD'; nearest: CLAIMED\ntask c has the unknown status 'XYZZY'\nthe goal has the unknown status 'COMPLETE'; nearest: COMPLETED"
	if got := strings.Join(UnknownStatuses(f.State), "\n"); got != want {
		t.Errorf("unknown:\n%s\nwant\n%s", got, want)
	}
	if got := UnknownStatuses(board().State); got != nil {
		t.Errorf("a board as it should be: %v", got)
	}
}

func TestAgentsAreInTheOrderOfRoleAndNumber(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{Agents: map[string]*blackboard.Agent{}}
	for _, id := range []string{"coder-10", "coder-9", "planner-1", "code-reviewer-2", "code-reviewer-10", "odd"} {
		s.Agents[id] = &blackboard.Agent{}
	}
	got := AgentIDs(s)
	if i, j := slices.Index(got, "coder-9"), slices.Index(got, "coder-10"); i > j || slices.Index(got, "code-reviewer-2") > slices.Index(got, "code-reviewer-10") || len(got) != 6 {
		t.Errorf("the order is %v", got)
	}
}

// The time of the last change is that of the newest entry that has one, else of the creation.
func TestWhenATaskChangedLast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task blackboard.Task
		want blackboard.Time
	}{
		"the newest entry":           {blackboard.Task{Created: ago(9 * time.Hour), History: []*blackboard.HistoryEntry{{Time: ago(3 * time.Hour)}, {Time: ago(2 * time.Hour)}}}, ago(2 * time.Hour)},
		"one without a time is left": {blackboard.Task{Created: ago(9 * time.Hour), History: []*blackboard.HistoryEntry{{Time: ago(3 * time.Hour)}, {Time: "?"}}}, ago(3 * time.Hour)},
		"no history":                 {blackboard.Task{Created: ago(9 * time.Hour)}, ago(9 * time.Hour)},
	} {
		if got := blackboard.TimeOf(LastChange(&c.task)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := LastChange(&blackboard.Task{}); !got.IsZero() {
		t.Errorf("a task without any time changed at %s", got)
	}
}

// A view of the board names a task that is on hold by what decides about it first.
func TestAHoldIsShownWhereItDecides(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"ada", blackboard.System} {
		for _, st := range blackboard.Statuses {
			f := board(&blackboard.Task{ID: "a", Status: st, Hold: &blackboard.Hold{By: by, Reason: "wait"}})
			waits, _ := Board(f)
			shown := slices.ContainsFunc(waits, func(x Finding) bool { return x.Subject == "a" && x.Wait() == "hold" })
			if want := !st.Terminal() && st != blackboard.Blocked; shown != want {
				t.Errorf("%s on hold by %s: shown as held %t, want %t", st, by, shown, want)
			}
			if alerted := len(raisedOf(f, blackboard.AlertHeldBySystem)) == 1; alerted != (by == blackboard.System) {
				t.Errorf("%s on hold by %s: an alert %t, want %t", st, by, alerted, by == blackboard.System)
			}
		}
	}
}
