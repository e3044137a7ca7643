package transition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// historyNames and journalActions are the names of specs/protocol.md#4.6 and specs/protocol.md#3.1.
var (
	historyNames = strings.Fields(`created finalized claimed reclaimed_after_rejection reassigned_after_rejection claimed_for_integration_fix lease_expired
		checkpoint ready_for_review review_claimed approved approval_recorded approval_voided review_asked_again rejected blocked unblocked superseded abandoned merged integration_failed released held unheld handoff`)
	journalActions = strings.Fields(`task_added tasks_finalized claimed claim_failed lease_expired checkpoint ready_for_review review_claimed approved approval_recorded approval_voided review_asked_again rejected
		review_stuck merge_approved merge_rejected merged integration_failed blocked unblocked resubmitted superseded retargeted abandoned released held unheld
		handoff retried run_failed replanned`)
)

func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	numbers := map[string]bool{}
	for i, r := range Rules {
		numbers[r.ID] = true
		name := fmt.Sprintf("rule %d (%s %s)", i, r.ID, r.Event)
		if r.Who == 0 || len(r.Does) == 0 || r.Event == "" {
			t.Errorf("%s lacks an actor, an effect or an event", name)
		}
		if i > 0 && r.ID < Rules[i-1].ID {
			t.Errorf("%s is not in the order of the numbers", name)
		}
		for _, from := range r.From {
			if from.Terminal() {
				t.Errorf("%s leads out of %s", name, from)
			}
		}
		last := ""
		for _, g := range r.guards() {
			if g.Text == "" || g.Check == nil {
				t.Errorf("%s has a guard %q without text or check", name, g.ID)
			}
			if g.ID == "" {
				continue
			}
			if g.ID < last {
				t.Errorf("%s checks %s after %s", name, g.ID, last)
			}
			last = g.ID
		}
		for _, e := range r.Does {
			if e.Text == "" || e.Apply == nil {
				t.Errorf("%s has an effect without text", name)
			}
		}
		for _, h := range r.History {
			if !slices.Contains(historyNames, string(h)) {
				t.Errorf("%s writes the history entry %q, which the protocol does not have", name, h)
			}
		}
		for _, l := range r.Log {
			if !slices.Contains(journalActions, string(l)) {
				t.Errorf("%s writes the journal action %q, which the protocol does not have", name, l)
			}
		}
	}
	for n := 1; n <= 41; n++ {
		if id := fmt.Sprintf("T%02d", n); !numbers[id] && n != 40 { // 40 is free
			t.Errorf("there is no rule %s", id)
		}
	}
}

// Forbidden for all kinds, whatever the event (specs/protocol.md#4.3).
func TestSomeWaysDoNotExist(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]blackboard.Status{{blackboard.Draft, blackboard.Claimed}, {blackboard.Claimed, blackboard.Approved}, {blackboard.Claimed, blackboard.Merged}, {blackboard.Rejected, blackboard.Approved}, {blackboard.ReadyForReview, blackboard.Merged}} {
		for _, r := range Rules {
			if hasStatus(r.From, way[0]) && r.To == way[1] {
				t.Errorf("%s leads from %s to %s", r.ID, way[0], way[1])
			}
		}
	}
}

func TestEachEventHasACommandThatExists(t *testing.T) {
	t.Parallel()
	for _, e := range allEvents() {
		if c := commandOf(e); !slices.Contains(commands, c) {
			t.Errorf("%s is explained by `liza help %s`, which does not exist", e, c)
		}
	}
}

// One condition of several that share event, status and actor has to hold.
func TestConditionsLeaveNoGap(t *testing.T) {
	t.Parallel()
	for _, pair := range [][]*Condition{{sameCoder, otherCoder}, {cyclesLeft, lastCycle}, {nobodyReviews, somebodyReviews},
		{isIntegrationFix, noIntegrationFix}, {verdictStuck, tooManyFailures, reviewGivenUp}} {
		b := team(t)
		b.ready("x", 2)
		b.Task("x").ReviewFailures = 2
		for _, what := range []string{"", "stuck", "failed"} {
			m := &move{state: b.State, task: b.Task("x"), actor: supervisorOf("coder-2"), in: Input{What: what}}
			holding := 0
			for _, c := range pair {
				if c.Holds(m) {
					holding++
				}
			}
			if holding != 1 {
				t.Errorf("%d conditions hold of %q…", holding, pair[0].Text)
			}
		}
	}
}
