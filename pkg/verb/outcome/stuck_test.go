package outcome_test

import (
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/verb/outcome"
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
				due, _ := transition.DueTriggers(s, transition.TriggerFacts{}, planner.Now())
				id, err := planner.Identify()
				if err != nil {
					return err
				}
				return transition.BeginPlanning(s, id.Actor(s), due, planner.Now())
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
