package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about the planner, completion and decisions.

func TestP131AnUnchangedTriggerLaunchesThePlannerTwice(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.blocked("x")
	a := supervisorOf("planner-1")
	began := b.now
	var launches []time.Duration
	for range 100 {
		due, next := DueTriggers(b.State, TriggerFacts{}, b.now)
		if len(due) > 0 {
			launches = append(launches, b.now.Sub(began))
			b.must(BeginPlanning(b.State, a, due, b.now))
			want(t, "the agent", b.Agents["planner-1"].Status, blackboard.AgentPlanning)
			b.must(EndPlanning(b.State, a, due, false, false, b.now))
			continue
		}
		if next.IsZero() {
			break
		}
		b.now = next
	}
	if len(launches) != 2 || launches[0] != 0 || launches[1] != time.Minute {
		t.Errorf("launched after %v, want at once and 60 s later", launches)
	}
	r := b.Planner.Triggers["BLOCKED_TASKS"]
	want(t, "suppressed", r.Suppressed, true)
	want(t, "outcome", r.Outcome, "no_op")
	wantList(t, "the end of the journal", actions(b.State, "")[len(b.Entries())-2:], []string{"planner_launched", "planner_suppressed"})
	want(t, "completion", CompletionOf(b.State, CompletionFacts{}, b.now), CompletionOpen)

	t.Run("an answer launches it again", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.Questions[0].Status, c.Questions[0].Answer = "answered", "no"
		due, _ := DueTriggers(c.State, TriggerFacts{}, c.now)
		want(t, "the number of due triggers", len(due), 1)
	})
	t.Run("a note lifts the suppression", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.must(AddNote(c.State, &blackboard.Note{Message: "look again"}, person, c.now))
		due, _ := DueTriggers(c.State, TriggerFacts{}, c.now)
		if len(due) != 2 || due[0].Kind != "BLOCKED_TASKS" || due[1].Kind != "HUMAN_NOTE" {
			t.Errorf("due are %v", due)
		}
	})
	t.Run("a planner that ends STUCK suppresses at once", func(t *testing.T) {
		b := team(t)
		b.blocked("x")
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		b.must(BeginPlanning(b.State, a, due, b.now))
		b.must(EndPlanning(b.State, a, due, false, true, b.now))
		due, next := DueTriggers(b.State, TriggerFacts{}, b.now.Add(time.Hour))
		want(t, "the number of due triggers", len(due), 0)
		want(t, "nothing is waited for", next.IsZero(), true)
	})
	t.Run("the last launch that resolved it suppresses nothing", func(t *testing.T) {
		b := team(t)
		b.Overrides = blackboard.Settings{"planner_retries": 1}
		b.blocked("x")
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		b.must(BeginPlanning(b.State, a, due, b.now))
		b.must(Unblock(b.State, "x", a, Input{Reason: "no"}, b.now))
		b.must(EndPlanning(b.State, a, due, true, false, b.now))
		want(t, "suppressed", b.Planner.Triggers["BLOCKED_TASKS"].Suppressed, false)
	})
}

func TestOnePlannerPlansAtATime(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "planner-2", "coder-1")
	due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
	want(t, "the trigger", due[0].Kind, "INITIAL_PLANNING")
	b.refused("G03", ExitRefused, "coder-1 may not plan", func() error { return BeginPlanning(b.State, supervisorOf("coder-1"), due, b.now) })
	b.refused("", ExitNothing, "no reason to plan", func() error { return BeginPlanning(b.State, supervisorOf("planner-1"), nil, b.now) })
	b.must(BeginPlanning(b.State, supervisorOf("planner-1"), due, b.now))
	b.refused("G21", ExitRefused, "planner-1 is planning", func() error { return BeginPlanning(b.State, supervisorOf("planner-2"), due, b.now) })
	b.after(2 * time.Hour)
	b.must(BeginPlanning(b.State, supervisorOf("planner-2"), due, b.now))
}

func TestTheTriggers(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind TriggerKind
		make func(*board)
		ids  []string
		then func(*board) // changes the fingerprint or ends the trigger
	}{
		{"INITIAL_PLANNING", func(*board) {}, []string{"goal-1"}, func(b *board) { b.add("x") }},
		{"REPLAN", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(Replan(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "another way"}, b.now))
		}, []string{"x"}, func(b *board) { b.Task("x").BlockedReason = "yet another way" }},
		{"BLOCKED_TASKS", func(b *board) { b.blocked("x") }, []string{"x"}, func(b *board) { b.Questions[0].Answer = "no" }},
		{"INTEGRATION_FAILED", func(b *board) { b.failed("x", 2); b.after(2 * time.Minute) }, []string{"x"}, func(b *board) { b.Task("x").Last().Time = "2026-01-19T18:00:00Z" }},
		{"IMMEDIATE_DISCOVERY", func(b *board) {
			b.add("x")
			b.Discovered = []*blackboard.Discovery{{ID: "disc-1", Urgency: "immediate"}, {ID: "disc-2", Urgency: "deferred"}, {ID: "disc-3", Urgency: "immediate", ConvertedToTask: "x"}}
		}, []string{"disc-1"}, func(b *board) { b.Discovered[0].Deferred = &blackboard.Deferred{By: "ada"} }},
		{"HUMAN_NOTE", func(b *board) {
			b.add("x")
			b.must(AddNote(b.State, &blackboard.Note{Message: "keep it small"}, person, b.now))
			b.must(AddNote(b.State, &blackboard.Note{Message: "for the coder", For: "x"}, person, b.now))
			b.HumanNotes[0].SeenBy = blackboard.List{"coder-1"}
			b.Questions = []*blackboard.Question{{ID: "q-1", Agent: "planner-1", Text: "Which?", Status: "answered", Answer: "this"}}
		}, []string{"note-1", "q-1"}, func(b *board) {
			due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
			b.must(BeginPlanning(b.State, supervisorOf("planner-1"), due, b.now))
			b.must(EndPlanning(b.State, supervisorOf("planner-1"), due, true, false, b.now))
		}},
		{"SPEC_CHANGED", func(b *board) {
			b.add("x")
			b.SpecChanges = []*blackboard.SpecChange{{Timestamp: blackboard.TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		}, []string{"specs/vision.md@2026-01-19T14:00:00Z"}, func(b *board) {
			b.Planner = &blackboard.Planner{LastRun: &blackboard.PlannerRun{At: blackboard.TimeOf(b.now)}}
		}},
		{"SYSTEM_AMBIGUITY", func(b *board) {
			b.add("x")
			b.Anomalies = []*blackboard.Anomaly{{ID: "an-1", Type: "system_ambiguity", Reporter: "coder-1", Timestamp: blackboard.TimeOf(b.now)}, {ID: "an-2", Type: "trade_off", Timestamp: blackboard.TimeOf(b.now)},
				{ID: "an-3", Type: "system_ambiguity", Reporter: "planner-1", Timestamp: blackboard.TimeOf(b.now)}}
		}, []string{"an-1"}, func(b *board) {
			b.Planner = &blackboard.Planner{LastRun: &blackboard.PlannerRun{At: blackboard.TimeOf(b.now)}}
		}},
		{"DRAFTS_PENDING", func(b *board) { b.must(Create(b.State, codeTask("x"), true, person, Input{}, b.now)) }, []string{"x"}, func(b *board) {
			b.Agents["planner-1"].Status = blackboard.AgentPlanning
		}},
		{"REVIEW_STUCK", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{What: "stuck", Reason: "r"}, b.now))
		}, []string{"x"}, func(b *board) { b.must(UnholdTask(b.State, "x", person, Input{}, b.now)) }},
	} {
		t.Run(string(x.kind), func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.make(b)
			all := Triggers(b.State, TriggerFacts{SpecHash: "sha256:1"}, b.now)
			if len(all) != 1 || all[0].Kind != x.kind {
				t.Fatalf("the triggers are %v", all)
			}
			wantList(t, "the ids", all[0].IDs, x.ids)
			b.after(time.Second)
			b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
			want(t, "the fingerprint after a heartbeat", Triggers(b.State, TriggerFacts{SpecHash: "sha256:1"}, b.now)[0].Fingerprint, all[0].Fingerprint)
			x.then(b)
			after := Triggers(b.State, TriggerFacts{SpecHash: "sha256:1"}, b.now)
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
		b.must(Create(b.State, codeTask("draft"), true, person, Input{}, b.now))
		b.must(AddNote(b.State, &blackboard.Note{Message: "keep it small"}, person, b.now))
		var kinds []string
		for _, tr := range Triggers(b.State, TriggerFacts{}, b.now) {
			kinds = append(kinds, string(tr.Kind))
		}
		wantList(t, "the kinds", kinds, []string{"BLOCKED_TASKS", "HUMAN_NOTE", "DRAFTS_PENDING"})
		wantList(t, "the blocked ones", Triggers(b.State, TriggerFacts{}, b.now)[0].IDs, []string{"high", "low"})
		b.Goal.Status = blackboard.Completed
		want(t, "the number of triggers of a completed goal", len(Triggers(b.State, TriggerFacts{}, b.now)), 0)
	})
	t.Run("with plan.human_review drafts wait for people", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.must(Create(b.State, codeTask("draft"), true, person, Input{}, b.now))
		want(t, "the number of triggers", len(Triggers(b.State, TriggerFacts{HumanReview: true}, b.now)), 0)
	})
	t.Run("an archived task is a task", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.UseArchive(taskArchive{"old": blackboard.Merged})
		want(t, "the number of triggers", len(Triggers(b.State, TriggerFacts{}, b.now)), 0)
	})
	t.Run("what changes while the planner runs is news", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.blocked("x")
		due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
		b.must(BeginPlanning(b.State, supervisorOf("planner-1"), due, b.now))
		b.after(time.Minute)
		b.SpecChanges = []*blackboard.SpecChange{{Timestamp: blackboard.TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		b.after(time.Minute)
		b.must(EndPlanning(b.State, supervisorOf("planner-1"), due, false, false, b.now))
		all := Triggers(b.State, TriggerFacts{}, b.now)
		want(t, "the last trigger", all[len(all)-1].Kind, "SPEC_CHANGED")
	})
}

func TestP139P140Completion(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.done("x", 2)
	for name, f := range map[string]func(*board){
		"P-140 a REJECTED task": func(b *board) { b.rejected("y", 3) },
		"P-140 a BLOCKED task":  func(b *board) { b.blocked("y") },
		"P-140 a DRAFT": func(b *board) {
			b.must(Create(b.State, codeTask("y"), true, supervisorOf("planner-1"), Input{}, b.now))
		},
		"a note for the planner":   func(b *board) { b.must(AddNote(b.State, &blackboard.Note{Message: "one more thing"}, person, b.now)) },
		"a planner that plans":     func(b *board) { b.Agents["planner-1"].Status = blackboard.AgentPlanning },
		"a sprint at a checkpoint": func(b *board) { b.must(CheckpointSprint(b.State, "", "look", "f", person, b.now)) },
		"an aborted goal":          func(b *board) { b.must(AbortGoal(b.State, "no", person, b.now)) },
		"no sprint":                func(b *board) { b.Sprint = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := &board{t: t, now: b.now, State: b.State.Clone()}
			f(c)
			got, changed := CompleteGoal(c.State, CompletionFacts{}, c.now)
			if got != CompletionOpen || changed {
				t.Errorf("completion is %q", got)
			}
		})
	}
	want(t, "with a control file", CompletionOf(b.State, CompletionFacts{Control: true}, b.now), CompletionOpen)
	b.TakeEntries(0)
	got, changed := CompleteGoal(b.State, CompletionFacts{}, b.now)
	if got != CompletionComplete || !changed {
		t.Fatalf("completion is %q", got)
	}
	want(t, "the goal", b.Goal.Status, blackboard.Completed)
	want(t, "completed_at", b.Goal.CompletedAt, blackboard.TimeOf(b.now))
	want(t, "the sprint", b.Sprint.Status, blackboard.Completed)
	want(t, "its end", b.Sprint.Timeline.Ended, blackboard.TimeOf(b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"goal_completed", "sprint_completed"})
	want(t, "the alignment history", b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1].Event, "completed")
	_, changed = CompleteGoal(b.State, CompletionFacts{}, b.now)
	want(t, "a second time", changed, false)

	t.Run("a person's new task reopens the goal", func(t *testing.T) {
		c := &board{t: t, now: b.now, State: b.State.Clone()}
		c.refused("G12", ExitUsage, "missing", func() error { return Create(c.State, &blackboard.Task{ID: "z"}, false, person, Input{}, c.now) })
		c.must(Create(c.State, codeTask("z"), false, person, Input{}, c.now))
		want(t, "the goal", c.Goal.Status, blackboard.InProgress)
		want(t, "completed_at", c.Goal.CompletedAt, "")
		want(t, "the alignment history", c.Goal.AlignmentHistory[len(c.Goal.AlignmentHistory)-1].Event, "reopened")
	})
	t.Run("a closing message alone completes nothing", func(t *testing.T) {
		b := team(t)
		msg := plainTask("final-msg", "msg")
		msg.AfterPlan = true
		b.create(msg)
		b.must(Claim(b.State, "final-msg", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
		b.must(Submit(b.State, "final-msg", supervisorOf("coder-1"), Input{}, b.now))
		got, _ := CompleteGoal(b.State, CompletionFacts{}, b.now)
		want(t, "completion", got, CompletionNothingMerged)
		want(t, "the goal", b.Goal.Status, blackboard.InProgress)
		want(t, "the sprint", b.Sprint.Status, blackboard.Completed)
	})
	t.Run("nothing at all is not completed", func(t *testing.T) {
		b := team(t)
		want(t, "completion", CompletionOf(b.State, CompletionFacts{}, b.now), CompletionOpen)
		b.UseArchive(taskArchive{"of-another-sprint": blackboard.Merged})
		want(t, "completion with the archive of another sprint", CompletionOf(b.State, CompletionFacts{}, b.now), CompletionOpen)
		b.UseArchive(taskArchive{"old": blackboard.Merged})
		want(t, "completion with an archive", CompletionOf(b.State, CompletionFacts{}, b.now), CompletionComplete)
	})
}

func TestCheckpointsAndDecisions(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(CheckpointSprint(b.State, "", "look at it", ".liza/checkpoints/001.md", person, b.now))
	want(t, "the sprint", b.Sprint.Status, blackboard.AtCheckpoint)
	b.refused("G06", ExitRefused, "the sprint is CHECKPOINT", func() error { return CheckpointSprint(b.State, "", "again", "", person, b.now) })
	b.refused("G09", ExitUsage, "decision 'MAYBE' is unknown", func() error { return ResumeSprint(b.State, "MAYBE", "", person, b.now) })
	b.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped}
	r := b.refused("G07", ExitRefused, "the circuit breaker is TRIGGERED", func() error { return ResumeSprint(b.State, "", "", person, b.now) })
	want(t, "next", r.Next, "liza resume")
	b.CircuitBreaker.Status = blackboard.BreakerOK
	b.TakeEntries(0)
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
		c.must(ResumeSprint(c.State, x.decision, "as agreed", person, c.now))
		want(t, "the decision", c.Sprint.Checkpoints[0].Decision, x.want)
		want(t, "who decided", c.Sprint.Checkpoints[0].DecidedBy, "ada")
		wantList(t, "journal of "+x.want, actions(c.State, ""), x.journal)
		switch x.want {
		case "STOP":
			want(t, "the goal", c.Goal.Status, blackboard.Aborted)
			want(t, "the sprint", c.Sprint.Status, blackboard.Aborted)
		case "REPLAN":
			want(t, "the note", c.HumanNotes[0].Message, "REPLAN: as agreed")
		default:
			want(t, "the sprint", c.Sprint.Status, blackboard.InProgress)
			want(t, "checkpoint_at", c.Sprint.Timeline.CheckpointAt, "")
		}
	}
	t.Run("resume after an abort", func(t *testing.T) {
		b := team(t)
		b.must(AbortSprint(b.State, "fire", person, b.now))
		want(t, "the sprint", b.Sprint.Status, blackboard.Aborted)
		b.must(ResumeSprint(b.State, "", "", person, b.now))
		want(t, "the sprint", b.Sprint.Status, blackboard.InProgress)
		want(t, "its end", b.Sprint.Timeline.Ended, "")
		b.must(AbortGoal(b.State, "enough", person, b.now))
		b.refused("G06", ExitRefused, "the goal is ABORTED", func() error { return AbortGoal(b.State, "enough", person, b.now) })
		b.refused("G06", ExitRefused, "the goal is ABORTED and cannot be stopped", func() error { return ResumeSprint(b.State, "STOP", "", person, b.now) })
		b.must(ResumeSprint(b.State, "", "", person, b.now))
		want(t, "the sprint of an aborted goal", b.Sprint.Status, blackboard.Aborted)
	})
}

func TestNotes(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(AddNote(b.State, &blackboard.Note{ID: "mail-1", Message: "keep it small"}, person, b.now))
	b.already("the note", func() error { return AddNote(b.State, &blackboard.Note{ID: "mail-1", Message: "other"}, person, b.now) })
	b.refused("G09", ExitUsage, "the note is empty", func() error { return AddNote(b.State, &blackboard.Note{Message: " "}, person, b.now) })
	b.refused("G05", ExitRefused, "no task 'x'", func() error { return AddNote(b.State, &blackboard.Note{Message: "m", For: "x"}, person, b.now) })
	b.refused("G03", ExitRefused, "notes are for people", func() error { return AddNote(b.State, &blackboard.Note{Message: "m"}, programOf("coder-1"), b.now) })
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error {
		return AddNote(b.State, &blackboard.Note{Message: "m"}, Actor{ID: blackboard.Human, Inside: "coder-1"}, b.now)
	})
	b.must(AddNote(b.State, &blackboard.Note{Message: "next"}, person, b.now))
	want(t, "the next id", b.HumanNotes[1].ID, "note-1")
	want(t, "who wrote it", b.HumanNotes[1].By, "ada")
}
