package outcome_test

import (
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A person answers while the planner is ending STUCK over the same block: there is no reason left to stop for.
func TestAStuckPlannerStopsNobodyWhenAPersonHasAnswered(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]bool{"nobody answered": false, "a person answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ctx := verbtest.New(t), t.Context()
			must := func(_ any, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			person, planner := p.Service(""), p.Supervised("planner-1")
			p.AddTask("a")
			must(person.Block(ctx, verb.BlockInput{Task: "a", Reason: "the schema of orders is missing", Questions: []string{"Which columns?"}}))
			must(nil, p.Store.Update(ctx, store.Op{Name: "test"}, func(s *blackboard.State) error {
				due, _ := transition.DueTriggers(s, transition.TriggerFacts{}, planner.Board.Now())
				id, err := planner.Board.Identify()
				if err != nil {
					return err
				}
				return transition.BeginPlanning(s, id.Actor(s), due, planner.Board.Now())
			}))
			if answered {
				must(person.Unblock(ctx, verb.WayOut{Task: "a", Reason: "id and total"}))
			}
			must(nil, outcome.PlannerStuck(ctx, planner, "a has no schema"))
			if at := p.State().Sprint.Status == blackboard.AtCheckpoint; at == answered {
				t.Errorf("at a checkpoint: %t", at)
			}
		})
	}
}

// A planner that is stuck stops the sprint; the answer to the last question that was open then lets it go on.
func TestTheLastAnswerEndsTheCheckpointOfAStuckPlanner(t *testing.T) {
	t.Parallel()
	p, ctx := verbtest.New(t), t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	person := p.Service("")
	p.AddTask("a")
	must(person.Block(ctx, verb.BlockInput{Task: "a", Reason: "the schema of orders is missing", Questions: []string{"Which columns?", "Which keys?"}}))
	must(nil, outcome.PlannerStuck(ctx, p.Supervised("planner-1"), "a has no schema"))
	must(person.Answer(ctx, "q-1", "id and total"))
	if got := p.State().Sprint.Status; got != blackboard.AtCheckpoint {
		t.Errorf("after the first answer the sprint is %s", got)
	}
	done, err := person.Answer(ctx, "q-2", "id")
	must(nil, err)
	s := p.State()
	if _, set := p.Project.Controls().Order(project.Checkpoint); !done.GoesOn || s.Sprint.Status != blackboard.InProgress || set {
		t.Errorf("goes on: %t, the sprint is %s, the file is there: %t", done.GoesOn, s.Sprint.Status, set)
	}
	if c := s.Sprint.Checkpoints[0]; c.Decision != "CONTINUE" || c.DecidedBy == "" {
		t.Errorf("the checkpoint says %+v", c)
	}

	// A checkpoint of a person waits for that person.
	p.AddTask("b")
	must(person.Block(ctx, verb.BlockInput{Task: "b", Reason: "the total has no currency", Questions: []string{"Which currency?"}}))
	must(sprint.Checkpoint(ctx, person, "half time"))
	must(person.Answer(ctx, "q-3", "euro"))
	if got := p.State().Sprint.Status; got != blackboard.AtCheckpoint {
		t.Errorf("the sprint is %s after an answer at a person's checkpoint", got)
	}
}

// What is approved is merged while the planner is stuck (issue 25, 4.5): it waits for no plan. At a checkpoint of a person nothing is.
func TestApprovedWorkIsMergedWhileThePlannerIsStuck(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]blackboard.Status{"the planner is stuck": blackboard.Merged, "a person stopped the sprint": blackboard.Approved} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ctx := verbtest.New(t), t.Context()
			p.Approved("a")
			p.AddTask("b")
			err := outcome.PlannerStuck(ctx, p.Supervised("planner-1"), "b has no schema")
			if want == blackboard.Approved {
				_, err = sprint.Resume(ctx, p.Service(""), "", "")
				if err == nil {
					_, err = sprint.Checkpoint(ctx, p.Service(""), "half time")
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.State().Sprint.Status != blackboard.AtCheckpoint {
				t.Fatalf("the sprint is %s", p.State().Sprint.Status)
			}
			_, _ = p.Service("").Merges.Merger(blackboard.System).All(ctx)
			if got := p.State().Task("a").Status; got != want {
				t.Errorf("a is %s, want %s", got, want)
			}
		})
	}
}
