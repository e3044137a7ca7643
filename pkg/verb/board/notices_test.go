package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

func minutes(n int) blackboard.Time {
	return blackboard.TimeOf(noon.Add(time.Duration(n) * time.Minute))
}

func stateOf(tasks ...*blackboard.Task) *blackboard.State {
	s := &blackboard.State{Goal: &blackboard.Goal{ID: "goal-1", Description: "Measure", Status: blackboard.InProgress},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: minutes(-60)}}, Agents: map[string]*blackboard.Agent{}}
	return s.With(tasks...)
}

// Each change of the board tells people what concerns them, once, with its task; everything else tells nothing.
func TestWhatAChangeTellsPeople(t *testing.T) {
	t.Parallel()
	type change = func(*blackboard.State, *blackboard.Task)
	set := func(st blackboard.Status) change {
		return func(_ *blackboard.State, t *blackboard.Task) {
			t.Status = st
			t.History = append(t.History, &blackboard.HistoryEntry{Event: "x"})
		}
	}
	blocked := func(kind blackboard.BlockedKind, halt *blackboard.Halt) change {
		return func(_ *blackboard.State, t *blackboard.Task) {
			t.Status, t.BlockedKind, t.Halt, t.BlockedReason, t.BlockedQuestions = blackboard.Blocked, kind, halt, "no format", blackboard.List{"Which?", "When?"}
		}
	}
	gate := func(required bool, decision blackboard.GateDecision) change {
		return func(_ *blackboard.State, t *blackboard.Task) {
			t.MergeApproval = &blackboard.MergeApproval{Required: required, Decision: decision}
		}
	}
	anomaly := func(kind blackboard.AnomalyKind) change {
		return func(s *blackboard.State, t *blackboard.Task) {
			s.Anomalies = append(s.Anomalies, &blackboard.Anomaly{ID: "a-1", Task: "a", Type: kind, Details: blackboard.Settings{"what": "a loop"}})
		}
	}
	goal := func(status string) change {
		return func(s *blackboard.State, _ *blackboard.Task) { s.Goal.Status = status }
	}
	for _, c := range []struct {
		name   string
		change change
		want   string // event, task, of, content, final
	}{
		{"nothing", func(*blackboard.State, *blackboard.Task) {}, ""},
		{"a claim", set(blackboard.Claimed), ""},
		{"a submission", set(blackboard.ReadyForReview), ""},
		{"an approval", set(blackboard.Approved), ""},
		{"a merge of a task that notifies nobody", set(blackboard.Merged), ""},
		{"a new title of a task", func(_ *blackboard.State, t *blackboard.Task) { t.Title = "Another" }, ""},
		{"a block", blocked(blackboard.BlockedByQuestion, nil), "blocked a BLOCKED#0 no format/Which?/When? false"},
		{"a replan", blocked(blackboard.BlockedForReplan, nil), "replan a BLOCKED#0 no format false"},
		{"a halt", blocked(blackboard.BlockedByHalt, &blackboard.Halt{Kind: "cost"}), "halted a BLOCKED#0 no format false"},
		{"a merge that failed", set(blackboard.IntegrationFailed), "integration_failed a INTEGRATION_FAILED#1 the work does not fit to the integration branch false"},
		{"a merge that failed with a reason", func(_ *blackboard.State, t *blackboard.Task) {
			t.Status = blackboard.IntegrationFailed
			t.History = append(t.History, &blackboard.HistoryEntry{Reason: "conflict in a.go"}, nil)
		}, "integration_failed a INTEGRATION_FAILED#2 conflict in a.go false"},
		{"a merge that notifies", func(_ *blackboard.State, t *blackboard.Task) {
			t.Status, t.Notify, t.Title = blackboard.Merged, true, "Say it"
		}, "output a MERGED#0 Say it true"},
		{"a message that was delivered", func(_ *blackboard.State, t *blackboard.Task) {
			t.Status, t.Notify, t.Output = blackboard.Merged, true, &blackboard.Output{Text: "It is done"}
		}, "output a MERGED#0 It is done true"},
		{"a message before another of its plan", func(s *blackboard.State, t *blackboard.Task) {
			t.Status, t.Notify, t.Output = blackboard.Merged, true, &blackboard.Output{Text: "Half is done"}
			s.Writable(s.Task("b")).Notify = true
		}, "output a MERGED#0 Half is done false"},
		{"a merge that a person has to approve", gate(true, ""), "merge_approval a UNCLAIMED#0 the approved work of a waits for a person: liza approve a false"},
		{"a merge that a person approved", gate(true, "approved"), ""},
		{"a merge that nobody has to approve", gate(false, ""), ""},
		{"a question", func(s *blackboard.State, _ *blackboard.Task) {
			s.Questions = append(s.Questions, &blackboard.Question{ID: "q-1", Task: "a", Text: "Which?", Status: blackboard.QuestionOpen})
		}, "question a q-1 Which? false"},
		{"a question that was answered at once", func(s *blackboard.State, _ *blackboard.Task) {
			s.Questions = append(s.Questions, &blackboard.Question{ID: "q-1", Task: "a", Text: "Which?", Status: blackboard.QuestionAnswered})
		}, ""},
		{"a review that got stuck", anomaly(blackboard.AnomalyReviewStuck), "review_stuck a a-1 a loop false"},
		{"a plan that failed", anomaly(blackboard.AnomalyPlanningFailed), "planning_failed a a-1 a loop false"},
		{"a replan that was stopped", anomaly(blackboard.AnomalyReplanLoop), "replan_stopped a a-1 a loop false"},
		{"a command that was denied", anomaly(blackboard.AnomalyPolicyDenied), "policy_denied a a-1 a loop false"},
		{"another anomaly", anomaly("spec_ambiguity"), ""},
		{"a limit that is near", func(s *blackboard.State, _ *blackboard.Task) {
			s.Record(blackboard.Entry{Action: blackboard.ActionLimitWarning, Task: "a", Detail: "80 of 100 cents", Extra: map[string]any{"limit": "cost_cents"}})
		}, "limit_warning a cost_cents#7 80 of 100 cents false"},
		{"another entry of the journal", func(s *blackboard.State, _ *blackboard.Task) {
			s.Record(blackboard.Entry{Action: "claimed", Task: "a"})
		}, ""},
		{"a checkpoint", func(s *blackboard.State, _ *blackboard.Task) {
			s.Sprint.Checkpoints = append(s.Sprint.Checkpoints, &blackboard.Checkpoint{N: 1, Message: "look at it"})
		}, "checkpoint  sprint-1#1 look at it false"},
		{"the circuit breaker", func(s *blackboard.State, _ *blackboard.Task) {
			s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped, CurrentTrigger: &blackboard.BreakerTrigger{Timestamp: minutes(0), Pattern: "thrash"}}
		}, "breaker  2026-01-19T12:00:00Z thrash false"},
		{"a goal that is reached", goal(blackboard.Completed), "goal_completed  goal-1  Measure false"},
		{"a goal that was given up", goal(blackboard.Aborted), "goal_aborted  goal-1#7 Measure false"},
	} {
		s := stateOf(&blackboard.Task{ID: "a", Plan: "plan-1", Status: blackboard.Unclaimed}, &blackboard.Task{ID: "b", Plan: "plan-1", Status: blackboard.Unclaimed}).Fork() // as a store gives it: a task that changes is copied
		s.Revision = 7
		before := priorStateOf(s)
		c.change(s, s.Task("a"))
		var got []string
		for _, m := range before.told(s) {
			got = append(got, fmt.Sprintf("%s %s %v %s %t", m.Event, m.Task, m.Data["of"], strings.ReplaceAll(m.Content, "\n", "/"), m.Final))
			if m.Goal != "goal-1" || m.Sprint != "sprint-1" || m.Task == "a" && (m.Plan != "plan-1" || m.Type != "code") {
				t.Errorf("%s: the message is of %s, %s, %s and %s; want goal-1, sprint-1 and the task's plan and kind", c.name, m.Goal, m.Sprint, m.Plan, m.Type)
			}
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s tells %q, want %q", c.name, g, c.want)
		}
		next := s.Fork()
		later := priorStateOf(next)
		next.Task("a").Description = "another change"
		if again := later.told(next); len(again) != 0 {
			t.Errorf("%s is told again by the next change: %v", c.name, again)
		}
	}
}
