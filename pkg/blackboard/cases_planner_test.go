package blackboard

import (
	"testing"
	"time"
)

// The cases of specs/protocol.md#15 about the planner, completion and decisions.

func TestP131AnUnchangedTriggerLaunchesThePlannerThreeTimes(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.blocked("x")
	a := supervisorOf("planner-1")
	began := b.now
	var launches []time.Duration
	for range 100 {
		due, next := b.DueTriggers(TriggerFacts{}, b.now)
		if len(due) > 0 {
			launches = append(launches, b.now.Sub(began))
			b.must(b.BeginPlanning(a, due, b.now))
			want(t, "the agent", b.Agents["planner-1"].Status, AgentPlanning)
			b.must(b.EndPlanning(a, due, false, false, b.now))
			continue
		}
		if next.IsZero() {
			break
		}
		b.now = next
	}
	if len(launches) != 3 || launches[0] != 0 || launches[1] != time.Minute || launches[2] != 6*time.Minute {
		t.Errorf("launched after %v, want at once, 60 s later, and 300 s after that", launches)
	}
	r := b.Planner.Triggers["BLOCKED_TASKS"]
	want(t, "suppressed", r.Suppressed, true)
	want(t, "outcome", r.Outcome, "no_op")
	wantList(t, "the end of the journal", actions(b.State, "")[len(b.Entries())-2:], []string{"planner_launched", "planner_suppressed"})
	want(t, "completion", b.CompletionOf(CompletionFacts{}, b.now), CompletionOpen)

	t.Run("an answer launches it again", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.Questions[0].Status, c.Questions[0].Answer = "answered", "no"
		due, _ := c.DueTriggers(TriggerFacts{}, c.now)
		want(t, "the number of due triggers", len(due), 1)
	})
	t.Run("a note lifts the suppression", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.must(c.AddNote(&Note{Message: "look again"}, person, c.now))
		due, _ := c.DueTriggers(TriggerFacts{}, c.now)
		if len(due) != 2 || due[0].Kind != "BLOCKED_TASKS" || due[1].Kind != "HUMAN_NOTE" {
			t.Errorf("due are %v", due)
		}
	})
	t.Run("a planner that ends STUCK suppresses at once", func(t *testing.T) {
		b := team(t)
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(a, due, b.now))
		b.must(b.EndPlanning(a, due, false, true, b.now))
		due, next := b.DueTriggers(TriggerFacts{}, b.now.Add(time.Hour))
		want(t, "the number of due triggers", len(due), 0)
		want(t, "nothing is waited for", next.IsZero(), true)
	})
	t.Run("the last launch that resolved it suppresses nothing", func(t *testing.T) {
		b := team(t)
		b.Config["planner_retries"] = 1
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(a, due, b.now))
		b.must(b.Unblock("x", a, Input{Reason: "no"}, b.now))
		b.must(b.EndPlanning(a, due, true, false, b.now))
		want(t, "suppressed", b.Planner.Triggers["BLOCKED_TASKS"].Suppressed, false)
	})
}

func TestOnePlannerPlansAtATime(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "planner-2", "coder-1")
	due, _ := b.DueTriggers(TriggerFacts{}, b.now)
	want(t, "the trigger", due[0].Kind, "INITIAL_PLANNING")
	b.refused("G03", ExitRefused, "coder-1 may not plan", func() error { return b.BeginPlanning(supervisorOf("coder-1"), due, b.now) })
	b.refused("", ExitNothing, "no reason to plan", func() error { return b.BeginPlanning(supervisorOf("planner-1"), nil, b.now) })
	b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
	b.refused("G21", ExitRefused, "planner-1 is planning", func() error { return b.BeginPlanning(supervisorOf("planner-2"), due, b.now) })
	b.after(2 * time.Hour)
	b.must(b.BeginPlanning(supervisorOf("planner-2"), due, b.now))
}

func TestTheTriggers(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind string
		make func(*board)
		ids  []string
		then func(*board) // changes the fingerprint or ends the trigger
	}{
		{"INITIAL_PLANNING", func(*board) {}, []string{"goal-1"}, func(b *board) { b.add("x") }},
		{"REPLAN", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(b.Replan("x", programOf("code-reviewer-1"), Input{Reason: "another way"}, b.now))
		}, []string{"x"}, func(b *board) { b.Task("x").BlockedReason = "yet another way" }},
		{"BLOCKED_TASKS", func(b *board) { b.blocked("x") }, []string{"x"}, func(b *board) { b.Questions[0].Answer = "no" }},
		{"INTEGRATION_FAILED", func(b *board) { b.failed("x", 2) }, []string{"x"}, func(b *board) { b.Task("x").last().Time = "2026-01-19T18:00:00Z" }},
		{"IMMEDIATE_DISCOVERY", func(b *board) {
			b.add("x")
			b.Discovered = []*Discovery{{ID: "disc-1", Urgency: "immediate"}, {ID: "disc-2", Urgency: "deferred"}, {ID: "disc-3", Urgency: "immediate", ConvertedToTask: "x"}}
		}, []string{"disc-1"}, func(b *board) { b.Discovered[0].Deferred = &Deferred{By: "ada"} }},
		{"HUMAN_NOTE", func(b *board) {
			b.add("x")
			b.must(b.AddNote(&Note{Message: "keep it small"}, person, b.now))
			b.must(b.AddNote(&Note{Message: "for the coder", For: "x"}, person, b.now))
			b.HumanNotes[0].SeenBy = List{"coder-1"}
			b.Questions = []*Question{{ID: "q-1", Agent: "planner-1", Text: "Which?", Status: "answered", Answer: "this"}}
		}, []string{"note-1", "q-1"}, func(b *board) {
			due, _ := b.DueTriggers(TriggerFacts{}, b.now)
			b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
			b.must(b.EndPlanning(supervisorOf("planner-1"), due, true, false, b.now))
		}},
		{"SPEC_CHANGED", func(b *board) {
			b.add("x")
			b.SpecChanges = []*SpecChange{{Timestamp: TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		}, []string{"specs/vision.md@2026-01-19T14:00:00Z"}, func(b *board) { b.Planner = &Planner{LastRun: &PlannerRun{At: TimeOf(b.now)}} }},
		{"SYSTEM_AMBIGUITY", func(b *board) {
			b.add("x")
			b.Anomalies = []*Anomaly{{ID: "an-1", Type: "system_ambiguity", Reporter: "coder-1", Timestamp: TimeOf(b.now)}, {ID: "an-2", Type: "trade_off", Timestamp: TimeOf(b.now)},
				{ID: "an-3", Type: "system_ambiguity", Reporter: "planner-1", Timestamp: TimeOf(b.now)}}
		}, []string{"an-1"}, func(b *board) { b.Planner = &Planner{LastRun: &PlannerRun{At: TimeOf(b.now)}} }},
		{"DRAFTS_PENDING", func(b *board) { b.must(b.Create(codeTask("x"), true, person, Input{}, b.now)) }, []string{"x"}, func(b *board) {
			b.Agents["planner-1"].Status = AgentPlanning
		}},
		{"REVIEW_STUCK", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(b.ReleaseReview("x", supervisorOf("code-reviewer-1"), Input{What: "stuck", Reason: "r"}, b.now))
		}, []string{"x"}, func(b *board) { b.must(b.UnholdTask("x", person, Input{}, b.now)) }},
	} {
		t.Run(x.kind, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.make(b)
			all := b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)
			if len(all) != 1 || all[0].Kind != x.kind {
				t.Fatalf("the triggers are %v", all)
			}
			wantList(t, "the ids", all[0].IDs, x.ids)
			b.after(time.Second)
			b.must(b.Beat(supervisorOf("coder-1"), b.now))
			want(t, "the fingerprint after a heartbeat", b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)[0].Fingerprint, all[0].Fingerprint)
			x.then(b)
			after := b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)
			if len(after) == 1 && after[0].Fingerprint == all[0].Fingerprint {
				t.Error("it is still true unchanged")
			}
		})
	}
	t.Run("all in their order, blocked tasks by priority", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		two := 2
		b.blocked("low").Priority = &two
		b.blocked("high")
		b.must(b.Create(codeTask("draft"), true, person, Input{}, b.now))
		b.must(b.AddNote(&Note{Message: "keep it small"}, person, b.now))
		var kinds []string
		for _, tr := range b.Triggers(TriggerFacts{}, b.now) {
			kinds = append(kinds, tr.Kind)
		}
		wantList(t, "the kinds", kinds, []string{"BLOCKED_TASKS", "HUMAN_NOTE", "DRAFTS_PENDING"})
		wantList(t, "the blocked ones", b.Triggers(TriggerFacts{}, b.now)[0].IDs, []string{"high", "low"})
		b.Goal.Status = Completed
		want(t, "the number of triggers of a completed goal", len(b.Triggers(TriggerFacts{}, b.now)), 0)
	})
	t.Run("with plan.human_review drafts wait for people", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.must(b.Create(codeTask("draft"), true, person, Input{}, b.now))
		want(t, "the number of triggers", len(b.Triggers(TriggerFacts{HumanReview: true}, b.now)), 0)
	})
	t.Run("an archived task is a task", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.UseArchive(taskArchive{"old": Merged})
		want(t, "the number of triggers", len(b.Triggers(TriggerFacts{}, b.now)), 0)
	})
	t.Run("what changes while the planner runs is news", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
		b.after(time.Minute)
		b.SpecChanges = []*SpecChange{{Timestamp: TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		b.after(time.Minute)
		b.must(b.EndPlanning(supervisorOf("planner-1"), due, false, false, b.now))
		all := b.Triggers(TriggerFacts{}, b.now)
		want(t, "the last trigger", all[len(all)-1].Kind, "SPEC_CHANGED")
	})
}

func TestP139P140Completion(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.done("x", 2)
	for name, f := range map[string]func(*board){
		"P-140 a REJECTED task":    func(b *board) { b.rejected("y", 3) },
		"P-140 a BLOCKED task":     func(b *board) { b.blocked("y") },
		"P-140 a DRAFT":            func(b *board) { b.must(b.Create(codeTask("y"), true, supervisorOf("planner-1"), Input{}, b.now)) },
		"a note for the planner":   func(b *board) { b.must(b.AddNote(&Note{Message: "one more thing"}, person, b.now)) },
		"a planner that plans":     func(b *board) { b.Agents["planner-1"].Status = AgentPlanning },
		"a sprint at a checkpoint": func(b *board) { b.must(b.CheckpointSprint("look", "f", person, b.now)) },
		"an aborted goal":          func(b *board) { b.must(b.AbortGoal("no", person, b.now)) },
		"no sprint":                func(b *board) { b.Sprint = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := &board{t: t, now: b.now, State: b.State.Clone()}
			f(c)
			got, changed := c.CompleteGoal(CompletionFacts{}, c.now)
			if got != CompletionOpen || changed {
				t.Errorf("completion is %q", got)
			}
		})
	}
	want(t, "with a control file", b.CompletionOf(CompletionFacts{Control: true}, b.now), CompletionOpen)
	b.ClearEntries()
	got, changed := b.CompleteGoal(CompletionFacts{}, b.now)
	if got != CompletionComplete || !changed {
		t.Fatalf("completion is %q", got)
	}
	want(t, "the goal", b.Goal.Status, Completed)
	want(t, "completed_at", b.Goal.CompletedAt, TimeOf(b.now))
	want(t, "the sprint", b.Sprint.Status, Completed)
	want(t, "its end", b.Sprint.Timeline.Ended, TimeOf(b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"goal_completed", "sprint_completed"})
	want(t, "the alignment history", b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1].Event, "completed")
	_, changed = b.CompleteGoal(CompletionFacts{}, b.now)
	want(t, "a second time", changed, false)

	t.Run("a person's new task reopens the goal", func(t *testing.T) {
		c := &board{t: t, now: b.now, State: b.State.Clone()}
		c.refused("G12", ExitUsage, "missing", func() error { return c.Create(&Task{ID: "z"}, false, person, Input{}, c.now) })
		c.must(c.Create(codeTask("z"), false, person, Input{}, c.now))
		want(t, "the goal", c.Goal.Status, InProgress)
		want(t, "completed_at", c.Goal.CompletedAt, "")
		want(t, "the alignment history", c.Goal.AlignmentHistory[len(c.Goal.AlignmentHistory)-1].Event, "reopened")
	})
	t.Run("a closing message alone completes nothing", func(t *testing.T) {
		b := team(t)
		msg := plainTask("final-msg", "msg")
		msg.AfterPlan = true
		b.create(msg)
		b.must(b.Claim("final-msg", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
		b.must(b.Submit("final-msg", supervisorOf("coder-1"), Input{}, b.now))
		got, _ := b.CompleteGoal(CompletionFacts{}, b.now)
		want(t, "completion", got, CompletionNothingMerged)
		want(t, "the goal", b.Goal.Status, InProgress)
		want(t, "the sprint", b.Sprint.Status, Completed)
	})
	t.Run("nothing at all is not completed", func(t *testing.T) {
		b := team(t)
		want(t, "completion", b.CompletionOf(CompletionFacts{}, b.now), CompletionOpen)
		b.UseArchive(taskArchive{"of-another-sprint": Merged})
		want(t, "completion with the archive of another sprint", b.CompletionOf(CompletionFacts{}, b.now), CompletionOpen)
		b.UseArchive(taskArchive{"old": Merged})
		want(t, "completion with an archive", b.CompletionOf(CompletionFacts{}, b.now), CompletionComplete)
	})
}

func TestCheckpointsAndDecisions(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(b.CheckpointSprint("look at it", ".liza/checkpoints/001.md", person, b.now))
	want(t, "the sprint", b.Sprint.Status, AtCheckpoint)
	b.refused("G06", ExitRefused, "the sprint is CHECKPOINT", func() error { return b.CheckpointSprint("again", "", person, b.now) })
	b.refused("G09", ExitUsage, "decision 'MAYBE' is unknown", func() error { return b.ResumeSprint("MAYBE", "", person, b.now) })
	b.CircuitBreaker = &CircuitBreaker{Status: BreakerTripped}
	r := b.refused("G07", ExitRefused, "the circuit breaker is TRIGGERED", func() error { return b.ResumeSprint("", "", person, b.now) })
	want(t, "next", r.Next, "liza ack")
	b.CircuitBreaker.Status = BreakerOK
	b.ClearEntries()
	for _, x := range []struct {
		decision, want string
		journal        []string
	}{
		{"", "CONTINUE", []string{"checkpoint_decision", "sprint_resumed"}},
		{"REPLAN", "REPLAN", []string{"checkpoint_decision", "sprint_resumed", "note"}},
		{"ADJUST_SPECS", "ADJUST_SPECS", []string{"checkpoint_decision", "sprint_resumed"}},
		{"STOP", "STOP", []string{"checkpoint_decision", "goal_aborted", "aborted", "sprint_aborted"}},
	} {
		c := &board{t: t, now: b.now, State: b.State.Clone()}
		c.must(c.ResumeSprint(x.decision, "as agreed", person, c.now))
		want(t, "the decision", c.Sprint.Checkpoints[0].Decision, x.want)
		want(t, "who decided", c.Sprint.Checkpoints[0].DecidedBy, "ada")
		wantList(t, "journal of "+x.want, actions(c.State, ""), x.journal)
		switch x.want {
		case "STOP":
			want(t, "the goal", c.Goal.Status, Aborted)
			want(t, "the sprint", c.Sprint.Status, Aborted)
		case "REPLAN":
			want(t, "the note", c.HumanNotes[0].Message, "REPLAN: as agreed")
		default:
			want(t, "the sprint", c.Sprint.Status, InProgress)
			want(t, "checkpoint_at", c.Sprint.Timeline.CheckpointAt, "")
		}
	}
	t.Run("resume after an abort", func(t *testing.T) {
		b := team(t)
		b.must(b.AbortSprint("fire", person, b.now))
		want(t, "the sprint", b.Sprint.Status, Aborted)
		b.must(b.ResumeSprint("", "", person, b.now))
		want(t, "the sprint", b.Sprint.Status, InProgress)
		want(t, "its end", b.Sprint.Timeline.Ended, "")
		b.must(b.AbortGoal("enough", person, b.now))
		b.refused("G06", ExitRefused, "the goal is ABORTED", func() error { return b.AbortGoal("enough", person, b.now) })
		b.refused("G06", ExitRefused, "the goal is ABORTED and cannot be stopped", func() error { return b.ResumeSprint("STOP", "", person, b.now) })
		b.must(b.ResumeSprint("", "", person, b.now))
		want(t, "the sprint of an aborted goal", b.Sprint.Status, Aborted)
	})
}

func TestNotes(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(b.AddNote(&Note{ID: "mail-1", Message: "keep it small"}, person, b.now))
	b.already("the note", func() error { return b.AddNote(&Note{ID: "mail-1", Message: "other"}, person, b.now) })
	b.refused("G09", ExitUsage, "the note is empty", func() error { return b.AddNote(&Note{Message: " "}, person, b.now) })
	b.refused("G05", ExitRefused, "no task 'x'", func() error { return b.AddNote(&Note{Message: "m", For: "x"}, person, b.now) })
	b.refused("G03", ExitRefused, "notes are for people", func() error { return b.AddNote(&Note{Message: "m"}, programOf("coder-1"), b.now) })
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error { return b.AddNote(&Note{Message: "m"}, Actor{ID: Human, Inside: "coder-1"}, b.now) })
	b.must(b.AddNote(&Note{Message: "next"}, person, b.now))
	want(t, "the next id", b.HumanNotes[1].ID, "note-1")
	want(t, "who wrote it", b.HumanNotes[1].By, "ada")
}
