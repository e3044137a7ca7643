package blackboard

import "testing"

func TestTheWeakestLevelOfTheCurrentClaimCounts(t *testing.T) {
	t.Parallel()
	run := func(claim int, level string) *Attempt { return &Attempt{ClaimSeq: claim, Sandbox: level} }
	for _, x := range []struct {
		name string
		runs []*Attempt
		want string
	}{
		{"no runs", nil, ""},
		{"runs of an earlier version", []*Attempt{run(2, "")}, ""},
		{"one", []*Attempt{run(2, "closed")}, "closed"},
		{"the weakest", []*Attempt{run(2, "closed"), run(2, "partial"), run(2, "closed")}, "partial"},
		{"open is weaker than wrap", []*Attempt{run(2, "wrap"), run(2, "open")}, "open"},
		{"an earlier claim does not count", []*Attempt{run(1, "open"), run(2, "closed")}, "closed"},
		{"an unknown word is no level", []*Attempt{run(2, "none"), run(2, "closed")}, "closed"},
	} {
		task := &Task{ClaimSeq: 2, Attempts: x.runs}
		if got := task.WeakestSandbox(); got != x.want {
			t.Errorf("%s: %q, not %q", x.name, got, x.want)
		}
	}
}
