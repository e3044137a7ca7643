package watch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
)

const minute = time.Minute

// situation makes one kind of alert true on facts under which nothing is wrong.
type situation struct {
	kind, subject string
	severity      string   // "": that of the kind
	message       string   // a part of the message
	also          []string // what is true besides, necessarily
	make          func(f *findings.Observation)
}

var situations = []situation{
	{kind: "INVALID_STATE", subject: "task-9", message: "line 41: V08 task task-9: CLAIMED without assigned_to", make: func(f *findings.Observation) {
		f.Violations = []blackboard.Violation{{Rule: "V08", Severity: blackboard.SeverityError, Subjects: []string{"task-9"}, Line: 41, Message: "task task-9: CLAIMED without assigned_to"},
			{Rule: "V25", Severity: blackboard.SeverityWarning, Subjects: []string{"task-8"}, Message: "waits for ever"}}
	}},
	{kind: "FORGED_APPROVAL", subject: "task-9", message: "APPROVED was not reached by a verb", make: func(f *findings.Observation) {
		f.Violations = []blackboard.Violation{{Rule: "V66", Severity: blackboard.SeverityError, Subjects: []string{"task-9"}, Message: "task task-9: APPROVED was not reached by a verb"},
			{Rule: "V66", Severity: blackboard.SeverityWarning, Subjects: []string{"tasks"}, Message: "kept as history: task-1"}}
	}},
	{kind: "JOURNAL_BROKEN", subject: "log.yaml", message: "line 7: this entry was changed", make: func(f *findings.Observation) {
		f.Violations = []blackboard.Violation{{Rule: "V68", Severity: blackboard.SeverityError, Subjects: []string{"log.yaml"}, Line: 7, Message: "this entry was changed"},
			{Rule: "V68", Severity: blackboard.SeverityWarning, Subjects: []string{"log.yaml"}, Message: "nobody can tell"}}
	}},
	{kind: "STATE_WENT_BACK", subject: "state.yaml", message: "revision 40 is older than 42", make: func(f *findings.Observation) {
		f.Violations = []blackboard.Violation{{Rule: "V58", Severity: blackboard.SeverityError, Message: "revision 40 is older than 42; next: liza restore"}}
	}},
	{kind: "LEASE_EXPIRED", subject: "task-1", message: "held by coder-2: the lease expired", make: func(f *findings.Observation) {
		t := add(f, claimed())
		t.AssignedTo, t.LeaseExpires = "coder-2", at(2*minute)
	}},
	{kind: "REVIEW_LEASE_EXPIRED", subject: "task-1", message: "under review by code-reviewer-2", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.ReadyForReview, ReviewingBy: "code-reviewer-2", ReviewLeaseExpires: at(2 * minute)})
	}},
	{kind: "LIVENESS_UNKNOWN", subject: "coder-1", message: "holds task-1: the lease 'soon' is not a time", make: func(f *findings.Observation) {
		add(f, claimed())
		f.State.Agents["coder-1"].LeaseExpires = "soon"
	}},
	{kind: "ORPHAN_PROCESS", subject: "coder-2", message: "process 77, still runs", make: func(f *findings.Observation) {
		f.State.Agents["coder-2"] = &blackboard.Agent{Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, Host: "here", BootID: "boot", PID: 777,
			LeaseExpires: at(5 * minute), Child: &blackboard.Child{PID: 77, PIDStart: 5, Run: 1}}
	}},
	{kind: "BLOCKED", subject: "task-1", message: "question: no key: where is it? / Which key: A or B?; next: liza show task-1", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Blocked, BlockedKind: "question", BlockedReason: "no key: where is it?", BlockedQuestions: blackboard.List{"Which key: A or B?"}})
	}},
	{kind: "QUESTION_OPEN", subject: "q-1", message: "planner-1 asks: Windows too?", make: func(f *findings.Observation) {
		f.State.Questions = []*blackboard.Question{{ID: "q-1", Agent: "planner-1", Text: "Windows too?", Status: "open"}, {ID: "q-2", Text: "Old", Status: "answered"}}
	}},
	{kind: "MERGE_APPROVAL", subject: "task-1", message: "liza approve task-1", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Approved, ApprovedBy: "code-reviewer-1", MergeApproval: &blackboard.MergeApproval{Required: true}})
	}},
	{kind: "QUORUM_OPEN", subject: "task-1", message: "approved by code-reviewer-1 (claude); 1 more: it needs 2 reviewers (auth/**); there is no other reviewer, so you decide; next: liza approve task-1", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.ReadyForReview, ReviewCommit: "c1", Quorum: &blackboard.Quorum{Reviewers: 2, Paths: blackboard.List{"auth/**"}},
			Approvals: []*blackboard.Approval{{Reviewer: "code-reviewer-1", Program: "claude", Commit: "c1"}}})
	}},
	{kind: "ORPHANED_REJECTED", subject: "task-1", message: "no coder is live", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Rejected, AssignedTo: "coder-1"})
		delete(f.State.Agents, "coder-1")
	}},
	{kind: "REVIEW_LOOP", subject: "task-1", message: "4 of 5 review cycles", make: func(f *findings.Observation) {
		add(f, claimed()).ReviewCyclesCurrent = 4
	}},
	{kind: "APPROACHING_LIMIT", subject: "task-1", message: "8 of 10 iterations, 75 of 100 cents, 45 of 60 minutes are used", make: func(f *findings.Observation) {
		t := add(f, claimed())
		t.Iteration, t.Limits, t.Usage = 8, blackboard.Settings{"cost_cents": 100}, &blackboard.Usage{CostCents: 75, Seconds: 45 * 60}
	}},
	{kind: "HYPOTHESIS_EXHAUSTED", subject: "task-1", message: "2 failures, by coder-1, coder-2", also: []string{"BLOCKED task-1"}, make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Blocked, FailedBy: blackboard.List{"coder-1", "coder-2"}})
	}},
	{kind: "INTEGRATION_FAILED", subject: "task-1", message: "conflict: a.go, b.go", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.IntegrationFailed, History: []*blackboard.HistoryEntry{{Time: at(minute), Event: "integration_failed", Reason: "conflict", Files: blackboard.List{"a.go", "b.go"}}}})
	}},
	{kind: "INTEGRATION_CHECKED_OUT", subject: "task-1", message: "integration is checked out in /home/ada/x", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Approved})
		f.CheckedOutAt = "/home/ada/x"
	}},
	{kind: "FILTERS_OFF", subject: ".gitattributes", message: "it names the filter lfs, which git.filters does not allow", make: func(f *findings.Observation) { f.FiltersOff = []string{"lfs"} }},
	{kind: "SETTINGS_HELD", subject: ".liza/config.yaml", message: "this checkout has no file of settings any more", make: func(f *findings.Observation) { f.SettingsHeld = []string{""} }},
	{kind: "INTEGRATION_MOVED", subject: "integration", message: "integration is at 123456789, which Liza did not make; Liza left it at 4f2a91c; merges wait; next: liza sync --accept", make: func(f *findings.Observation) {
		tip := "1234567890"
		f.State.Integration, f.Tip = &blackboard.Integration{Tip: "4f2a91c"}, &tip
	}},
	{kind: "BASELINE_RED", subject: "tests_pass", message: "old.txt is missing; the log is", make: func(f *findings.Observation) {
		f.Red = []findings.Red{{Check: "tests_pass", Command: "sh check.sh", Commit: "4f2a91c", Tail: "running\nold.txt is missing\n", Log: "x.log"}}
	}},
	{kind: "INTEGRATION_STALE", subject: "integration", message: "lacks 51 commits of its base branch main; next: liza sync", make: func(f *findings.Observation) { f.Behind = behind(51) }},
	{kind: "REASSIGNED", subject: "task-1", message: "it was coder-2's before", make: func(f *findings.Observation) {
		t := add(f, claimed())
		t.History = []*blackboard.HistoryEntry{{Time: at(minute), Event: "claimed", Agent: "coder-1", PreviousAssignee: "coder-2"}, {Time: at(minute), Event: "checkpoint", Agent: "coder-1"}}
	}},
	{kind: "STALLED", subject: "sprint-1", message: "nothing happened for 30m", make: func(f *findings.Observation) { f.LastActivity = now.Add(-30 * minute) }},
	{kind: "STALE_DRAFT", subject: "task-1", message: "liza approve task-1", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Draft, Created: at(30 * minute)})
	}},
	{kind: "IMMEDIATE_DISCOVERY", subject: "disc-1", message: "the API is gone", make: func(f *findings.Observation) {
		f.State.Discovered = []*blackboard.Discovery{{ID: "disc-1", Urgency: "immediate", Description: "the API is gone"}, {ID: "disc-2", Urgency: "immediate", ConvertedToTask: "task-0"},
			{ID: "disc-3", Urgency: "immediate", Deferred: &blackboard.Deferred{By: "planner-1"}}, {ID: "disc-4", Urgency: "deferred"}}
	}},
	{kind: "SYSTEM_AMBIGUITY", subject: "an-2", message: "coder-1 found the rules unclear: 4.2: May I rebase?; next: liza tell planner", make: func(f *findings.Observation) {
		f.State.HumanNotes = []*blackboard.Note{{ID: "note-1", Timestamp: at(10 * minute)}}
		unclear := blackboard.Settings{"protocol_section": "4.2", "question": "May I\nrebase?"}
		f.State.Anomalies = []*blackboard.Anomaly{{ID: "an-1", Type: "system_ambiguity", Timestamp: at(20 * minute), Details: unclear},
			{ID: "an-2", Type: "system_ambiguity", Timestamp: at(5 * minute), Reporter: "coder-1", Details: unclear}, {ID: "an-3", Type: "trade_off", Timestamp: at(minute)}}
	}},
	{kind: "OVERLAP", subject: "task-1", message: "changes the same as task-2 (APPROVED): a.txt", make: func(f *findings.Observation) {
		add(f, claimed()).Changes = blackboard.List{"a.txt", "b.txt"}
		add(f, blackboard.Task{ID: "task-2", Status: blackboard.Approved, Changes: blackboard.List{"a.txt"}})
	}},
	{kind: "SPEC_CHANGED", subject: "task-1", message: "specs/vision.md changed", make: func(f *findings.Observation) { add(f, claimed()).SpecHash = "sha256:0" }},
	{kind: "PLANNER_STUCK", subject: "BLOCKED_TASKS", message: "launched 3 times", also: []string{"BLOCKED task-1"}, make: func(f *findings.Observation) { // P-131, its alert
		add(f, blackboard.Task{Status: blackboard.Blocked, BlockedKind: "question"})
		trigger := transition.Triggers(f.State, f.Triggers, f.Now)[0]
		f.State.Planner = &blackboard.Planner{Triggers: map[string]*blackboard.TriggerRecord{string(trigger.Kind): {Fingerprint: trigger.Fingerprint, Launches: 3, Suppressed: true}}}
	}},
	{kind: "NO_AGENT", subject: "coder", message: "task-1 waits for 2m, and no coder is live", make: func(f *findings.Observation) {
		add(f, blackboard.Task{Status: blackboard.Unclaimed, Created: at(2 * minute)})
		delete(f.State.Agents, "coder-1")
	}},
	{kind: "GAVE_UP", subject: "coder-3", message: "exit code 3: segmentation fault", make: func(f *findings.Observation) {
		f.GaveUp = []findings.GaveUp{{Agent: "coder-3", Why: "exit code 3: segmentation fault", At: blackboard.TimeOf(now)}}
	}},
	{kind: "HELD_BY_SYSTEM", subject: "task-1", message: "liza resume task-1", make: func(f *findings.Observation) { // P-091, its alert
		add(f, blackboard.Task{Status: blackboard.ReadyForReview, Hold: &blackboard.Hold{By: blackboard.System, At: at(0), Reason: "three reviews failed"}})
	}},
	{kind: "BREAKER", subject: "circuit_breaker", message: "retry_cluster (ARCHITECTURE_FLAW), see .liza/circuit_breaker_report.md", make: func(f *findings.Observation) {
		f.State.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped,
			CurrentTrigger: &blackboard.BreakerTrigger{Pattern: "retry_cluster", Severity: "ARCHITECTURE_FLAW", ReportFile: ".liza/circuit_breaker_report.md"}}
	}},
	{kind: "CHECKPOINT_OPEN", subject: "CHECKPOINT", message: "half time: look; next: liza resume", make: atCheckpoint(minute)},
	{kind: "CHECKPOINT_STALE", subject: "CHECKPOINT", message: "liza resume", make: atCheckpoint(31 * minute)},
	{kind: "CHECKPOINT_STUCK", subject: "CHECKPOINT", message: "liza resume", also: []string{"CHECKPOINT_STALE CHECKPOINT"}, make: atCheckpoint(2 * time.Hour)},
	{kind: "CHECKPOINT_ABANDONED", subject: "CHECKPOINT", message: "half time", also: []string{"CHECKPOINT_STALE CHECKPOINT", "CHECKPOINT_STUCK CHECKPOINT"}, make: atCheckpoint(8 * time.Hour)},
	{kind: "PAUSE_STALE", subject: "PAUSE", message: "lunch", make: paused(31 * minute)},
	{kind: "PAUSE_FORGOTTEN", subject: "PAUSE", message: "lunch", also: []string{"PAUSE_STALE PAUSE"}, make: paused(2 * time.Hour)},
	{kind: "SPRINT_DEADLINE_NEAR", subject: "sprint-1", message: "the deadline is 2026-01-19T15:06:00Z", make: deadlineIn(6 * minute)},
	{kind: "SPRINT_DEADLINE", subject: "sprint-1", message: "has passed", also: []string{"SPRINT_DEADLINE_NEAR sprint-1"}, make: deadlineIn(0)},
	{kind: "RUBBER_STAMP", subject: "sprint-1", message: "5 of 5 verdicts", make: verdicts(5, 5)},
	{kind: "NOTHING_MERGED", subject: "sprint-1", message: "none was merged", make: func(f *findings.Observation) {
		f.State.TaskAt(0).Status = blackboard.Abandoned
		add(f, blackboard.Task{Status: blackboard.Merged, AfterPlan: true}) // the closing message counts for nothing
	}},
	{kind: "COST", subject: "sprint_cost_cents/75%", message: "75 of 100 cents", make: spent(75)},
	{kind: "COST", subject: "day_cost_cents/75%", message: "75 of 100 cents of the day", make: func(f *findings.Observation) {
		f.State.Config["day_cost_cents"] = 100
		f.State.Usage.Day = &blackboard.UsageDay{Date: f.Now.UTC().Format(time.DateOnly), CostCents: 75}
	}},
	{kind: "COST", subject: "sprint_cost_cents/100%", severity: findings.Error, message: "100 of 100 cents", also: []string{"COST sprint_cost_cents/75%"}, make: spent(100)},
	{kind: "ROLE_UNUSABLE", subject: "fixx", message: "cannot use the role 'fixx' (type): no such role; next: liza doctor", make: func(f *findings.Observation) {
		f.Unusable = []findings.Unusable{{Role: "fixx", Why: "cannot use the role 'fixx' (type): no such role"}}
	}},
	{kind: "DISK_LOW", subject: "disk", message: "1023 MB are free, 1024 are needed", make: func(f *findings.Observation) { f.FreeMB = 1023 }},
	{kind: "CLOCK_OFF", subject: "two", message: "the clock of host two is 1h0m0s ahead of", make: func(f *findings.Observation) {
		f.State.Hosts = map[string]*blackboard.Host{"one": {ClockOffset: -5}, "two": {ClockOffset: 3600}}
	}},
	{kind: "CLOCK_JUMP", subject: "clock", message: "jumped by 2h0m0s", make: func(f *findings.Observation) { f.Process.ClockJumped, f.ClockJump = true, 2*time.Hour }},
	{kind: "LOCK_BUSY", subject: "state.yaml.lock", message: "held by coder-2 (pid 4121)", make: func(f *findings.Observation) {
		f.Lock = &findings.Lock{Holder: "coder-2 (pid 4121)", Since: now.Add(-6 * time.Second)}
	}},
}

func atCheckpoint(age time.Duration) func(*findings.Observation) {
	return func(f *findings.Observation) {
		f.State.Sprint.Status = blackboard.AtCheckpoint
		f.Orders = order(project.Checkpoint, now.Add(-age), "half time: look")
	}
}

func paused(age time.Duration) func(*findings.Observation) {
	return func(f *findings.Observation) { f.Orders = order(project.Pause, now.Add(-age), "lunch") }
}

// deadlineIn gives the sprint, which began an hour ago, so much time yet.
func deadlineIn(d time.Duration) func(*findings.Observation) {
	return func(f *findings.Observation) { f.State.Sprint.Timeline.Deadline = at(-d) }
}

func verdicts(approvals, all int) func(*findings.Observation) {
	return func(f *findings.Observation) {
		f.State.Sprint.Metrics.ReviewVerdictApprovals, f.State.Sprint.Metrics.ReviewVerdictCount = approvals, all
	}
}

func spent(cents blackboard.Amount) func(*findings.Observation) {
	return func(f *findings.Observation) {
		f.State.Config["sprint_cost_cents"] = 100
		f.State.Usage.CostCents = cents
	}
}

// P-162: true, still true, false, true again: raised, silent, cleared, raised; the message
// keeps its colons. Every kind of specs/protocol.md#10.2 has its situation here, but the one-time
// notices.
func TestEveryKindIsRaisedOnceClearedOnceAndRaisedAgain(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, x := range situations {
		covered[x.kind] = true
		t.Run(x.kind+"_"+x.subject, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := newWatching(dir)
			if open := w.pass(t); len(open) > 0 {
				t.Fatalf("open before: %v", open)
			}
			x.make(&w.facts)
			wrong := w.facts
			open := w.pass(t)
			want := append(slices.Clone(x.also), x.kind+" "+x.subject)
			slices.Sort(want)
			if got := found(open); !slices.Equal(got, want) {
				t.Fatalf("open: %q, want %q", got, want)
			}
			i := slices.IndexFunc(open, func(a watch.Alert) bool { return string(a.Kind) == x.kind && a.Subject == x.subject })
			if a := open[i]; !strings.Contains(a.Message, x.message) || strings.ContainsRune(a.Message, '\n') || a.Severity != severity(x) {
				t.Errorf("%s: %q, want %s with %q", a.Severity, a.Message, severity(x), x.message)
			}
			line := "RAISED " + open[i].String()
			if got := w.sink.take(); len(got) != len(want) || !slices.Contains(got, line) {
				t.Errorf("told %q, want %d lines with %q", got, len(want), line)
			}
			if w.pass(t); len(w.sink.take()) != 0 {
				t.Error("an alert that is still true was told again")
			}
			w.facts = sound()
			w.facts.Now = now.Add(90 * time.Second)
			if open := w.pass(t); len(open) != 0 {
				t.Errorf("still open: %q", found(open))
			}
			if got := w.sink.take(); !slices.Contains(got, "CLEARED "+x.kind+" "+x.subject+" after 1m30s") || len(got) != len(want) {
				t.Errorf("told %q, want that it is cleared", got)
			}
			w.facts = wrong
			if w.pass(t); !slices.Contains(w.sink.take(), line) {
				t.Error("an alert that is true again was not raised again")
			}
			if n := len(logged(t, dir)); n != 3*len(want) {
				t.Errorf("alerts.log has %d lines, want %d:\n%s", n, 3*len(want), strings.Join(logged(t, dir), "\n"))
			}
		})
	}
	for _, k := range findings.Kinds {
		if !covered[string(k.Name)] && !slices.Contains(notices, string(k.Name)) {
			t.Errorf("%s has no situation", k.Name)
		}
	}
}

var notices = []string{"WORK_NOT_SAVED", "GIT_LOCK_REMOVED", "JOURNAL_REPAIRED", "HAND_EDIT", "NO_EVENTS", "MIRROR", "SETTINGS_CHANGED", "CHECKOUT_CHANGED", "REMOTE_TROUBLE"}

func severity(x situation) string {
	for _, k := range findings.Kinds {
		if string(k.Name) == x.kind && x.severity == "" {
			return k.Severity
		}
	}
	return x.severity
}

// Each threshold, one step before and at it. P-163: the ages of a CHECKPOINT file. P-169:
// 5 approvals of 5 are a rubber stamp, 4 of 4 are none.
func TestThresholds(t *testing.T) {
	t.Parallel()
	second := time.Second
	draft := func(age time.Duration) func(*findings.Observation) {
		return func(f *findings.Observation) { add(f, blackboard.Task{Status: blackboard.Draft, Created: at(age)}) }
	}
	rejected := func(age time.Duration) func(*findings.Observation) {
		return func(f *findings.Observation) {
			add(f, blackboard.Task{Status: blackboard.Rejected, History: []*blackboard.HistoryEntry{{Time: at(age), Event: "rejected"}}})
		}
	}
	lease := func(age time.Duration) func(*findings.Observation) {
		return func(f *findings.Observation) {
			t := add(f, claimed())
			t.AssignedTo, t.LeaseExpires = "coder-2", at(age)
		}
	}
	task := func(change func(*blackboard.Task)) func(*findings.Observation) {
		return func(f *findings.Observation) { change(add(f, claimed())) }
	}
	quiet := func(age time.Duration) func(*findings.Observation) {
		return func(f *findings.Observation) { f.LastActivity = now.Add(-age) }
	}
	lonely := func(age time.Duration) func(*findings.Observation) {
		return func(f *findings.Observation) {
			add(f, blackboard.Task{Status: blackboard.Unclaimed, Created: at(age)})
			delete(f.State.Agents, "coder-1")
		}
	}
	tests := []struct {
		kind           string
		silent, raised func(*findings.Observation)
	}{
		{"CHECKPOINT_STALE", atCheckpoint(30*minute - second), atCheckpoint(30 * minute)},
		{"CHECKPOINT_STUCK", atCheckpoint(2*time.Hour - second), atCheckpoint(2 * time.Hour)},
		{"CHECKPOINT_ABANDONED", atCheckpoint(8*time.Hour - second), atCheckpoint(8 * time.Hour)},
		{"PAUSE_STALE", paused(30*minute - second), paused(30 * minute)},
		{"PAUSE_FORGOTTEN", paused(2*time.Hour - second), paused(2 * time.Hour)},
		{"STALLED", quiet(30*minute - second), quiet(30 * minute)},
		{"STALLED", func(f *findings.Observation) { quiet(time.Hour)(f); paused(second)(f) }, quiet(time.Hour)},
		{"STALLED", func(f *findings.Observation) { f.LastActivity = time.Time{} }, quiet(time.Hour)},
		{"STALE_DRAFT", draft(30*minute - second), draft(30 * minute)},
		{"ORPHANED_REJECTED", rejected(30*minute - second), rejected(30 * minute)},
		{"LEASE_EXPIRED", lease(60 * second), lease(61 * second)},
		{"LEASE_EXPIRED", task(func(*blackboard.Task) {}), func(f *findings.Observation) { add(f, claimed()); f.State.Agents["coder-1"].PID = 777 }},
		{"NO_AGENT", lonely(119 * second), lonely(120 * second)},
		{"NO_AGENT", func(f *findings.Observation) {
			lonely(time.Hour)(f)
			f.Left = map[blackboard.Role]time.Time{blackboard.RoleCoder: now.Add(-119 * second)}
		}, lonely(time.Hour)},
		{"NO_AGENT", func(f *findings.Observation) { lonely(time.Hour)(f); f.Input.Control = "paused"; paused(second)(f) }, lonely(time.Hour)},
		{"NO_AGENT", func(f *findings.Observation) { delete(f.State.Agents, "planner-1") }, func(f *findings.Observation) {
			f.State.SetTasks(nil, nil) // INITIAL_PLANNING since the goal was made
			delete(f.State.Agents, "planner-1")
		}},
		{"NO_AGENT", task(func(t *blackboard.Task) { t.Status = blackboard.ReadyForReview }), func(f *findings.Observation) {
			add(f, blackboard.Task{Status: blackboard.ReadyForReview, AssignedTo: "coder-1", ReviewCommit: "1234567", Created: at(time.Hour)})
			delete(f.State.Agents, "code-reviewer-1")
		}},
		{"APPROACHING_LIMIT", task(func(t *blackboard.Task) { t.Iteration = 7 }), task(func(t *blackboard.Task) { t.Iteration = 8 })},
		{"APPROACHING_LIMIT", task(func(t *blackboard.Task) { t.Iteration, t.MaxIterations = 15, 20 }), task(func(t *blackboard.Task) { t.Iteration, t.MaxIterations = 3, 3 })},
		{"APPROACHING_LIMIT", task(func(t *blackboard.Task) { t.Usage = &blackboard.Usage{CostCents: 749} }), task(func(t *blackboard.Task) { t.Usage = &blackboard.Usage{CostCents: 750} })},
		{"REVIEW_LOOP", task(func(t *blackboard.Task) { t.ReviewCyclesCurrent = 3 }), task(func(t *blackboard.Task) { t.ReviewCyclesCurrent = 4 })},
		{"REVIEW_LOOP", task(func(t *blackboard.Task) { t.MaxReviewCycles = 1 }), task(func(t *blackboard.Task) { t.ReviewCyclesCurrent, t.MaxReviewCycles = 1, 2 })},
		{"RUBBER_STAMP", verdicts(4, 4), verdicts(5, 5)},
		{"RUBBER_STAMP", verdicts(19, 20), verdicts(20, 20)},
		{"COST", spent(74), spent(75)},
		{"INTEGRATION_STALE", func(f *findings.Observation) { f.Behind = behind(50) }, func(f *findings.Observation) { f.Behind = behind(51) }},
		{"DISK_LOW", func(f *findings.Observation) { f.FreeMB = 1024 }, func(f *findings.Observation) { f.FreeMB = 1 }},
		{"DISK_LOW", func(f *findings.Observation) { f.FreeMB = 0 /* unknown */ }, func(f *findings.Observation) { f.FreeMB = 1023 }},
		{"LOCK_BUSY", func(f *findings.Observation) { f.Lock = &findings.Lock{Since: now.Add(-5 * second)} }, func(f *findings.Observation) { f.Lock = &findings.Lock{Since: now.Add(-6 * second)} }},
		{"SPRINT_DEADLINE_NEAR", deadlineIn(7 * minute), deadlineIn(6*minute + 40*second)},
		{"SPRINT_DEADLINE", deadlineIn(second), deadlineIn(0)},
		{"SPRINT_DEADLINE", func(f *findings.Observation) { deadlineIn(0)(f); f.State.Sprint.Status = blackboard.AtCheckpoint }, deadlineIn(-time.Hour)},
		{"NOTHING_MERGED", func(f *findings.Observation) { f.State.SetTasks(nil, nil) }, func(f *findings.Observation) { f.State.TaskAt(0).Status = blackboard.Superseded }},
		{"HYPOTHESIS_EXHAUSTED", task(func(t *blackboard.Task) { t.FailedBy = blackboard.List{"coder-2"} }), task(func(t *blackboard.Task) { t.Failures = 3 })},
		{"QUESTION_OPEN", func(f *findings.Observation) {
			add(f, blackboard.Task{Status: blackboard.Blocked})
			f.State.Questions = []*blackboard.Question{{ID: "q-1", Task: "task-1", Status: "open"}}
		}, func(f *findings.Observation) {
			f.State.Questions = []*blackboard.Question{{ID: "q-1", Task: "task-0", Status: "open"}}
		}},
	}
	for i, x := range tests {
		for _, side := range []struct {
			make func(*findings.Observation)
			want bool
		}{{x.silent, false}, {x.raised, true}} {
			f := sound()
			side.make(&f)
			got := findings.Alerts(f)
			if is := slices.ContainsFunc(got, func(a findings.Finding) bool { return string(a.Kind) == x.kind }); is != side.want {
				t.Errorf("%d %s: raised is %t, want %t; all: %q", i, x.kind, is, side.want, raised(f))
			}
		}
	}
}

func TestADamagedBoardIsLookedAtWithoutHarm(t *testing.T) {
	t.Parallel()
	for _, s := range []*blackboard.State{nil, {}, (&blackboard.State{Agents: map[string]*blackboard.Agent{"coder-1": {}}, Sprint: &blackboard.Sprint{}}).With(&blackboard.Task{})} {
		f := findings.Observation{Now: now, State: s, Violations: []blackboard.Violation{{Rule: "V01", Severity: blackboard.SeverityError, Subjects: []string{"file"},
			Message: "cannot parse: did not find expected key at line 3, column 5: 'goal: x'"}}}
		if got := raised(f); len(got) == 0 || got[0] != "INVALID_STATE state.yaml: V01 cannot parse: did not find expected key at line 3, column 5: 'goal: x'; next: liza validate" {
			t.Errorf("%v", got)
		}
	}
}

func TestManyInvalidEntriesAreOneAlert(t *testing.T) {
	t.Parallel()
	f := sound()
	for i := range 21 {
		f.Violations = append(f.Violations, blackboard.Violation{Rule: "V08", Severity: blackboard.SeverityError, Subjects: []string{"task-" + string(rune('a'+i))}, Message: "x"})
	}
	if got := raised(f); len(got) != 1 || got[0] != "INVALID_STATE state.yaml: 21 entries are not valid; next: liza validate" {
		t.Errorf("%v", got)
	}
}

// P-146, its observer: a suspended machine's wall clock runs ahead of the monotonic one.
func TestAClockThatJumpsIsNoticedForAWhile(t *testing.T) {
	t.Parallel()
	var c findings.Clock
	hold := 2 * time.Minute
	for i, x := range []struct {
		wall, elapsed, want time.Duration
	}{
		{0, 0, 0},
		{30 * time.Second, 30 * time.Second, 0},
		{90 * time.Second, 61 * time.Second, 0}, // 29 s
		{90*time.Second + 2*time.Hour, 62 * time.Second, 2*time.Hour - time.Second}, // suspended
		{2*time.Hour + 3*time.Minute, 152 * time.Second, 2*time.Hour - time.Second},
		{2*time.Hour + 3*time.Minute + 30*time.Second, 182 * time.Second, 0},                                     // over
		{time.Hour, 183 * time.Second, time.Hour - (2*time.Hour + 3*time.Minute + 30*time.Second) - time.Second}, // put back
	} {
		if got := c.Look(now.Add(x.wall), x.elapsed, hold); got != x.want {
			t.Errorf("%d: jump of %s, want %s", i, got, x.want)
		}
	}
}
