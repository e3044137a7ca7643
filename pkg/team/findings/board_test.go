package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) blackboard.Time { return blackboard.TimeOf(noon.Add(-d)) }

// board are facts about a sprint under way with one agent at work.
func board(tasks ...*blackboard.Task) Observation {
	s := (&blackboard.State{Revision: 7, Goal: &blackboard.Goal{ID: "goal-1", Status: blackboard.InProgress}, Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress},
		Agents: map[string]*blackboard.Agent{"coder-1": {Role: blackboard.RoleCoder, Host: "here", BootID: "b", PID: 1, LeaseExpires: ago(-20 * time.Minute), Heartbeat: ago(0)}}}).With(tasks...)
	return Observation{Now: noon, State: s, Process: blackboard.ProcessFacts{Host: "here", BootID: "b", Running: func(pid int, _ int64) (bool, bool) { return pid < 100, true }}}
}

func said(list []Finding) (lines []string) {
	for _, f := range list {
		lines = append(lines, strings.TrimPrefix(f.Subject+": ", ": ")+f.Line())
	}
	return lines
}

// What waits for a person is found once, in the order in which it stops things; what an alert says of it is the same sentence.
func TestWhatAViewOfTheBoardShows(t *testing.T) {
	t.Parallel()
	tip := "1234567890abcdef"
	for name, x := range map[string]struct {
		make         func(f *Observation)
		waits, warns []string
		same         blackboard.AlertKind // the alert with the same text
	}{
		"nothing": {make: func(*Observation) {}},
		"paused": {make: func(f *Observation) {
			f.Orders = []project.Order{{Control: project.Pause, Since: noon, Modified: noon, Reason: "lunch"}}
		}, waits: []string{"PAUSE: paused since 2026-01-19T12:00:00Z: lunch; next: liza resume"}},
		"a checkpoint": {make: func(f *Observation) {
			f.Orders = []project.Order{{Control: project.Checkpoint, Since: noon, Modified: noon, Reason: "half time"}}
		}, waits: []string{"CHECKPOINT: at a checkpoint since 2026-01-19T12:00:00Z: half time; next: liza resume"}, same: blackboard.AlertCheckpointOpen},
		"the breaker": {make: func(f *Observation) {
			f.Orders = []project.Order{{Control: project.Checkpoint, Since: noon, Modified: noon}}
			f.State.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped, CurrentTrigger: &blackboard.BreakerTrigger{Pattern: "retry_cluster"}}
		}, waits: []string{"CHECKPOINT: at a checkpoint since 2026-01-19T12:00:00Z; next: liza resume", "circuit_breaker: the circuit breaker was triggered: retry_cluster; next: liza resume"}, same: blackboard.AlertBreaker},
		"the branch moved": {make: func(f *Observation) { f.State.Integration, f.Tip = &blackboard.Integration{Tip: "4f2a91c"}, &tip },
			waits: []string{"integration: integration is at 123456789, which Liza did not make; Liza left it at 4f2a91c; merges wait; next: liza sync --accept, or liza sync --restore"}, same: blackboard.AlertIntegrationMoved},
		"the branch is checked out": {make: func(f *Observation) {
			f.CheckedOutAt = "/home/ada/p"
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Approved})
		}, waits: []string{"a: integration is checked out in /home/ada/p; nothing is merged as long as it is; next: git -C /home/ada/p switch --detach"}, same: blackboard.AlertIntegrationCheckedOut},
		"a blocked task": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Blocked, BlockedKind: "question", BlockedReason: "no key"})
			f.State.Questions = []*blackboard.Question{{ID: "q-1", Task: "a", Text: "Which?", Options: blackboard.List{"x", "y"}, Status: blackboard.QuestionOpen}}
		}, waits: []string{"a: question: no key / Which? [x / y]; next: liza show a"}, same: blackboard.AlertBlocked},
		"a question of the planner": {make: func(f *Observation) {
			f.State.Questions = []*blackboard.Question{{ID: "q-2", Agent: "planner-1", Text: "Windows too?", Status: blackboard.QuestionOpen}}
		}, waits: []string{`q-2: planner-1 asks: Windows too?; next: liza answer q-2 "TEXT"`}, same: blackboard.AlertQuestionOpen},
		"a merge": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Approved, ApprovedBy: "code-reviewer-1", MergeApproval: &blackboard.MergeApproval{Required: true}})
		}, waits: []string{"a: approved by code-reviewer-1, waits for your approval of the merge; next: liza approve a"}, same: blackboard.AlertMergeApproval},
		"nobody reviews": {make: func(f *Observation) {
			f.ReviewMode = blackboard.ReviewDisabled
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.ReadyForReview})
		}, waits: []string{"a: submitted; review.mode is disabled, so you decide; next: liza approve a"}},
		"nobody reviews one of several attempts": {make: func(f *Observation) {
			f.ReviewMode = blackboard.ReviewDisabled
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.ReadyForReview, AttemptOf: "a"}, &blackboard.Task{ID: "a-2", Status: blackboard.Blocked, AttemptOf: "a", BlockedReason: "no key"})
		}, waits: []string{"a: submitted; review.mode is disabled, so you decide; next: liza approve a --reason TEXT", "a-2: question: no key; next: liza show a-2"}},
		"on hold": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Unclaimed, Hold: &blackboard.Hold{By: "ada", Reason: "design"}}, &blackboard.Task{ID: "b", Status: blackboard.Merged, Hold: &blackboard.Hold{By: "ada"}})
		}, waits: []string{"a: on hold by ada: design; next: liza resume a"}},
		"on hold by Liza": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Unclaimed, Hold: &blackboard.Hold{By: blackboard.System, Reason: "three reviews failed"}})
		}, waits: []string{"a: on hold by system: three reviews failed; next: liza resume a"}, same: blackboard.AlertHeldBySystem},
		"plans to review": {make: func(f *Observation) {
			f.HumanReview = true
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Draft}, &blackboard.Task{ID: "b", Status: blackboard.Draft})
		}, waits: []string{"2 planned tasks wait for your review: a, b; next: liza approve a b"}},
		"a check that never passed": {make: func(f *Observation) {
			f.State.Questions = []*blackboard.Question{{ID: "q-1", Kind: blackboard.QuestionUnverified, Check: "make test", Status: blackboard.QuestionAnswered, Answer: blackboard.AnswerStop, By: "ada"}}
		}, waits: []string{`q-1: merges wait until "make test" passes: ada said stop; next: liza answer q-1 'go on'`}},
		"a goal that is reached": {make: func(f *Observation) { f.State.Goal.Status = blackboard.Completed }, waits: []string{`the goal is complete; the work is on integration; next: liza goal "TEXT"`}},
		"first what stops everything": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Unclaimed, Hold: &blackboard.Hold{By: "ada", Reason: "x"}}, &blackboard.Task{ID: "b", Status: blackboard.Blocked, BlockedKind: "stuck", BlockedReason: "y"})
			f.Orders = []project.Order{{Control: project.Pause, Since: noon}}
		}, waits: []string{"PAUSE: paused since 2026-01-19T12:00:00Z; next: liza resume", "a: on hold by ada: x; next: liza resume a", "b: stuck: y; next: liza show b"}},
		"a discovery": {make: func(f *Observation) {
			f.State.Discovered = []*blackboard.Discovery{{ID: "disc-1", Urgency: "immediate", Severity: "high", During: "a", Description: "the API is gone"}}
		}, warns: []string{`disc-1: not decided (high, found during a): the API is gone; next: liza add TEXT --from disc-1, or liza abandon disc-1 --later --reason "TEXT"`}, same: blackboard.AlertImmediateDiscovery},
		"verdicts": {make: func(f *Observation) {
			f.State.Sprint.Metrics = &blackboard.Metrics{ReviewVerdictApprovals: 5, ReviewVerdictCount: 5}
		},
			warns: []string{"sprint-1: 5 of 5 verdicts are approvals: are reviews real?"}, same: blackboard.AlertRubberStamp},
		"a deadline": {make: func(f *Observation) { f.State.Sprint.Timeline = &blackboard.Timeline{Deadline: ago(time.Minute)} },
			warns: []string{"sprint-1: the deadline 2026-01-19T11:59:00Z has passed"}, same: blackboard.AlertSprintDeadline},
		"a clock": {make: func(f *Observation) { f.State.Hosts = map[string]*blackboard.Host{"two": {ClockOffset: -3600}} },
			warns: []string{"two: the clock of host two is 1h0m0s behind that of the board; leases go by the board's, but times in its logs are wrong; next: set it"}, same: blackboard.AlertClockOff},
		"a planner without a plan": {make: func(f *Observation) {
			f.State.Planner = &blackboard.Planner{Triggers: map[string]*blackboard.TriggerRecord{string(transition.TriggerInitialPlanning): {Fingerprint: "of the spec", Launches: 3, Suppressed: true}}}
		}, warns: []string{"INITIAL_PLANNING: the planner was launched 3 times without effect for goal-1; next: liza tell planner TEXT"}, same: blackboard.AlertPlannerStuck},
		"nobody at work, and no program": {make: func(f *Observation) { f.State.Agents, f.NoProgram = nil, true }, warns: []string{"no agent is at work, and no agent program is installed; next: liza doctor"}},
		"nobody at work":                 {make: func(f *Observation) { f.State.Agents = nil }, warns: []string{"no agent is at work; next: liza run, or liza-agent ROLE"}},
		"a crash": {make: func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Unclaimed, Attempts: []*blackboard.Attempt{{Outcome: "finished"}, {Outcome: "crashed"}, {Outcome: "crashed", Agent: "coder-2", Summary: "segmentation fault"}}})
		}, warns: []string{"a: the last 2 runs crashed (coder-2): segmentation fault; next: liza show a"}},
		"a program that pauses": {make: func(f *Observation) {
			f.State.Programs = map[string]*blackboard.Program{"codex": {PausedUntil: ago(-time.Hour), Reason: "usage limit"}, "old": {PausedUntil: ago(time.Hour)}}
		}, warns: []string{"codex: codex is not started before 2026-01-19T13:00:00Z: usage limit"}},
		"a run without a supervisor": {make: func(f *Observation) {
			f.State.Agents["coder-1"].PID, f.State.Agents["coder-1"].Child = 777, &blackboard.Child{PID: 7, Run: 3, RunID: "r-3"}
			f.Process.Kept = func(run string) bool { return run == "r-3" }
		}, warns: []string{"coder-1: its supervisor died; run 3 goes on, and is ended before 2026-01-19T12:20:00Z if no other takes it over; next: liza run"}},
		"an agent that is gone": {make: func(f *Observation) { f.State.Agents["coder-1"].PID, f.State.Agents["coder-1"].CurrentTask = 777, "a" },
			warns: []string{"coder-1: dead: process 777 is gone; it holds a; next: liza run"}},
		"agents that went at different times": {make: func(f *Observation) {
			for i, id := range []string{"coder-1", "coder-2"} {
				f.State.Agents[id] = &blackboard.Agent{Role: blackboard.RoleCoder, CurrentTask: "a", LeaseExpires: ago(time.Duration(i+2) * time.Hour)}
			}
		}, warns: []string{"coder-1, coder-2: expired: their leases have run out; they hold a; next: liza run"}},
		"an agent of which nothing is known": {make: func(f *Observation) {
			f.State.Agents["coder-1"].LeaseExpires, f.State.Agents["coder-1"].CurrentTask = "soon", "a"
		},
			warns: []string{`coder-1: unknown: the lease 'soon' is not a time; it holds a; next: liza retry a --reason "TEXT"`}},
	} {
		f := board()
		x.make(&f)
		waits, warns := Board(f)
		if got := said(waits); !slices.Equal(got, x.waits) {
			t.Errorf("%s: waits %q, want %q", name, got, x.waits)
		}
		if got := said(warns); !slices.Equal(got, x.warns) {
			t.Errorf("%s: warns %q, want %q", name, got, x.warns)
		}
		if x.same == "" {
			continue
		}
		alerts := Alerts(f)
		i := slices.IndexFunc(alerts, func(a Finding) bool { return a.Kind == x.same })
		if i < 0 || !slices.Contains(said(append(waits, warns...)), said(alerts[i : i+1])[0]) {
			t.Errorf("%s: the alerts say %q", name, said(alerts))
		}
	}
}

// The doctor says of a board what the next recovery does about it.
func TestWhatTheDoctorSaysOfABoard(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		make func(f *Observation)
		want []string
	}{
		"all is well":  {func(*Observation) {}, []string{"ok registration agents: 1 agent alive"}},
		"nobody there": {func(f *Observation) { f.State.Agents = nil }, []string{"ok registration agents: 0 agents alive"}},
		"a claim of an agent that is dead": {func(f *Observation) {
			f.State.Agents["coder-1"].PID, f.State.Agents["coder-1"].Generation = 777, "g"
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Claimed, AssignedTo: "coder-1", ClaimGeneration: "g", LeaseExpires: ago(-time.Hour)})
		}, []string{"warning claim a: held by coder-1: process 777 is gone; the next agent that asks for work takes it over; next: liza run", "warning registration coder-1: dead: process 777 is gone; next: liza run"}},
		"a reservation": {func(f *Observation) {
			f.State.AddTasks(&blackboard.Task{ID: "a", Status: blackboard.Unclaimed, Claiming: &blackboard.Claiming{By: "coder-2", Expires: ago(time.Minute)}})
		}, []string{"ok registration agents: 1 agent alive", "info claim a: the reservation of coder-2 was never confirmed; the next claim overwrites it; next: liza run"}},
		"a heartbeat of tomorrow": {func(f *Observation) { f.State.Agents["coder-1"].Heartbeat = ago(-2 * time.Hour) },
			[]string{"warning registration coder-1: unknown: the heartbeat 2026-01-19T14:00:00Z is in the future; next: liza show coder-1", "warning clock coder-1: its heartbeat is 2h0m0s ahead of this machine's clock; next: date"}},
		"a program that still runs": {func(f *Observation) { gone(f, "here", "b", 7) }, []string{"warning registration coder-1: dead: process 777 is gone; next: liza run",
			"warning process coder-1: its program, process 7, still runs without its supervisor; it is stopped before anybody gets its work; next: liza run"}},
		"a program that has ended": {func(f *Observation) { gone(f, "here", "b", 700) }, []string{"warning registration coder-1: dead: process 777 is gone; next: liza run",
			"info process coder-1: process 700 has ended; the next recovery takes it off the board; next: liza run"}},
	} {
		f := board()
		x.make(&f)
		var got []string
		for _, one := range Examined(f) {
			got = append(got, one.Severity+" "+one.Check+" "+said([]Finding{one})[0])
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// gone has a supervisor that ended, and the program that it had started.
func gone(f *Observation, host, boot string, pid int) {
	a := f.State.Agents["coder-1"]
	a.PID, a.Host, a.BootID, a.Child = 777, host, boot, &blackboard.Child{PID: pid, PIDStart: 1, Run: 1}
}

// Only a supervisor that has not come back gave up; the newest reason counts.
func TestWhoGaveUp(t *testing.T) {
	t.Parallel()
	entry := func(agent string, action blackboard.Action, detail string) blackboard.Entry {
		return blackboard.Entry{Agent: agent, Action: action, Detail: detail, Timestamp: ago(0)}
	}
	got := GaveUps([]blackboard.Entry{entry("coder-1", blackboard.ActionAgentGaveUp, "one"), entry("coder-2", blackboard.ActionAgentGaveUp, "two"), entry("coder-1", blackboard.ActionRegistered, ""),
		entry("coder-3", blackboard.ActionAgentGaveUp, "three"), entry("coder-2", blackboard.ActionAgentGaveUp, "again"), {Agent: "coder-4", Action: blackboard.ActionAgentGaveUp, Extra: map[string]any{"next": "liza doctor"}}})
	var lines []string
	for _, g := range got {
		lines = append(lines, g.Agent+" "+g.Why+" "+g.Next)
	}
	if want := []string{"coder-3 three liza status", "coder-2 again liza status", "coder-4  liza doctor"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// A status that Liza does not know is named with the one that was meant.
func TestUnknownStatusesAreNamed(t *testing.T) {
	t.Parallel()
	f := board(&blackboard.Task{ID: "a", Status: "UNCLAIMD"}, &blackboard.Task{ID: "b", Status: blackboard.Merged})
	f.State.Goal.Status, f.State.Sprint.Status = "DONE", "CHEKPOINT"
	got := UnknownStatuses(f.State)
	if len(got) != 3 || got[0] != "task a has the unknown status 'UNCLAIMD'; nearest: UNCLAIMED" || !strings.HasPrefix(got[1], "the goal has the unknown status 'DONE'") || got[2] != "the sprint has the unknown status 'CHEKPOINT'; nearest: CHECKPOINT" {
		t.Errorf("%q", got)
	}
	if got := UnknownStatuses(&blackboard.State{}); len(got) != 0 {
		t.Errorf("an empty board: %q", got)
	}
}
