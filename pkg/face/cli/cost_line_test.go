package cli

import (
	"testing"

	"liza/pkg/board/blackboard"
)

func TestACostThatIsNotKnownIsNotZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usage *blackboard.Usage
		want  string
	}{
		{nil, ""},
		{&blackboard.Usage{AgentRuns: 2, UnknownCostRuns: 2}, "cost:  unknown, 2 runs\n"},
		{&blackboard.Usage{AgentRuns: 2, UnknownCostRuns: 1, CostCents: 120}, "cost:  $1.20 in 2 runs, 1 of them of unknown cost\n"},
		{&blackboard.Usage{AgentRuns: 1, CostCents: 120}, "cost:  $1.20 in 1 run\n"},
	} {
		if got := costLine(c.usage); got != c.want {
			t.Errorf("%+v: %q, want %q", c.usage, got, c.want)
		}
	}
}
