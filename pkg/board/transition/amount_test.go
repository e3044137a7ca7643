package transition

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestAnAmountIsRoundedOnlyWhenItIsShown(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		cents                float64
		text, dollars, plain string
	}{
		{0, "0", "$0.00", "0"},
		{16.7, "16.7", "$0.17", "16.7"},
		{16.7249, "16.7", "$0.17", "16.7249"},
		{23, "23", "$0.23", "23"},
		{99.96, "100", "$1.00", "99.96"},
		{120, "120", "$1.20", "120"},
		{1_000_000, "1000000", "$10000.00", "1000000"},
		{0.4, "0.4", "$0.004", "0.4"},
		{0.03, "0.03", "$0.0003", "0.03"},
		{0.00001, "0.0001", "$0.000001", "0.0001"}, // above zero stays above zero
		{-0.00001, "0", "$0.00", "0"},
	} {
		a := blackboard.AmountOf(x.cents)
		data, err := json.Marshal(a)
		want(t, "the text", a.String(), x.text)
		want(t, "in dollars", a.Dollars(), x.dollars)
		if string(data) != x.plain || err != nil {
			t.Errorf("%v is written as %s, %v", x.cents, data, err)
		}
	}
}

// A person sees what runs cost, and limits compare with it: both are the sum of what the
// single runs cost, whatever their order.
func TestTheCostOfABoardIsTheSumOfItsRunsInEveryOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b := team(t)
		x := b.add("x")
		b.claim("x", "coder-1")
		exact := 0 // ten-thousandths of a cent
		for range 1 + random.IntN(60) {
			n := random.IntN(300_000)
			exact += n
			cost := blackboard.AmountOf(float64(n) / 1e4)
			b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Cost: &cost, Attempt: blackboard.Attempt{Kind: "coder"}}, b.now))
		}
		for name, sum := range map[string]blackboard.Amount{"task": x.Usage.CostCents, "sprint": b.Usage.CostCents, "day": CostOf(b.Usage, b.now)} {
			if math.Abs(float64(sum)-float64(exact)/1e4) > 1e-6 {
				t.Fatalf("the %s has cost %v, and its runs %d/10000", name, float64(sum), exact)
			}
		}
	}
}

func TestALimitComparesWithFractionsOfACent(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		cost    blackboard.Amount
		reached bool
	}{{33.3, false}, {33.3333, false}, {33.3334, true}, {33.4, true}} {
		b := team(t)
		task := b.add("x")
		task.Limits = blackboard.Settings{"cost_cents": 100}
		b.claim("x", "coder-1")
		for range 3 {
			b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Cost: &x.cost, Attempt: blackboard.Attempt{Kind: "reviewer"}}, b.now))
		}
		h := Reached(b.State, task, b.now)
		if x.reached != (h != nil) || h != nil && h.Value != task.Usage.CostCents {
			t.Errorf("three runs of %v cents: halt %+v, want one: %v", float64(x.cost), h, x.reached)
		}
	}
}

// What the limits of cost leave to a run is the least that one of them does, and 0 where there is none or nothing is left.
func TestTheLeastOfTheLimitsOfCostIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task, sprint, day int
		others            blackboard.Amount
		of                string
		want              blackboard.Amount
	}{
		"no limit":                     {of: "x"},
		"of the task":                  {task: 100, sprint: 1000, of: "x", want: 69.5},
		"of the sprint":                {task: 100, sprint: 50, day: 500, of: "x", want: 19.5},
		"of the day":                   {task: 100, sprint: 500, day: 40, of: "x", want: 9.5},
		"less what others may use":     {task: 100, sprint: 50, others: 12, of: "x", want: 7.5},
		"nothing is left":              {task: 100, sprint: 30, of: "x"},
		"a planner has no task":        {task: 100, sprint: 200, want: 169.5},
		"others do not use the task's": {task: 100, others: 50, of: "x", want: 69.5},
	} {
		b := team(t)
		b.add("x")
		b.Task("x").Limits, b.Task("x").Usage = blackboard.Settings{"cost_cents": c.task}, &blackboard.Usage{CostCents: 30.5}
		b.Config["sprint_cost_cents"], b.Config["day_cost_cents"] = c.sprint, c.day
		b.State.Usage = &blackboard.Usage{CostCents: 30.5, Day: &blackboard.UsageDay{Date: dayOf(b.now), CostCents: 30.5}}
		if got := CostLeft(b.State, b.Task(c.of), Spent{Cents: c.others}, b.now); got != c.want {
			t.Errorf("%s: %s cents are left, want %s", name, got, c.want)
		}
	}
}
