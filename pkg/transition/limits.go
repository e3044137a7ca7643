package transition

import (
	"fmt"
	"time"

	"liza/pkg/blackboard"
)

// applyLimits stores limits of the task: two have fields of their own.
func applyLimits(t *blackboard.Task, limits blackboard.Settings) {
	own := blackboard.Settings{}
	for k, v := range t.Limits {
		own[k] = v
	}
	for k, v := range limits {
		n, ok := blackboard.IntegerOf(v)
		switch {
		case ok && k == "max_iterations":
			t.MaxIterations = n
		case ok && k == "max_review_cycles":
			t.MaxReviewCycles = n
		default:
			own[k] = v
		}
	}
	if len(own) > 0 {
		t.Limits = own
	}
}

// IterationsOver reports whether the next iteration would be one too many (specs/protocol.md#4.4).
func IterationsOver(s *blackboard.State, t *blackboard.Task) bool {
	if cutShort(t) { // the next claim goes on with the same iteration
		return t.Iteration > maxIterations(s, t)
	}
	return t.Iteration >= maxIterations(s, t)
}

// cutShort reports whether the last claim was given back because the quota of its program was
// used up: that was not an iteration (specs/protocol.md#13.3).
func cutShort(t *blackboard.Task) bool {
	var last *blackboard.Attempt
	for _, a := range t.Attempts {
		last = a
	}
	return t.Status == blackboard.Unclaimed && t.Iteration > 0 && last != nil && last.Outcome == "quota" && last.ClaimSeq == t.ClaimSeq
}

// OutOfIterations reports whether a task that waits for a coder gets none any more, because its
// iterations are used up: then T26 comes instead of the claim (4.4). After a release, or when
// its holder is gone, it goes to another coder as long as a live one may try it.
func OutOfIterations(s *blackboard.State, t *blackboard.Task, facts blackboard.ProcessFacts, now time.Time) bool {
	if !IterationsOver(s, t) {
		return false
	}
	switch t.Status {
	case blackboard.Rejected, blackboard.IntegrationFailed:
		return true
	case blackboard.Claimed:
		if live, _ := s.ClaimLiveness(t, now, facts); live != blackboard.Expired && live != blackboard.Dead {
			return false
		}
	case blackboard.Unclaimed:
	default:
		return false
	}
	last, there := t.LastClaimant(), false
	for _, id := range s.AgentIDs() {
		live, _ := s.Liveness(id, now, facts)
		switch role, _, _ := blackboard.ParseAgentID(id); {
		case role != blackboard.RoleCoder || live != blackboard.Alive:
		case id == last:
			there = true
		case !t.FailedBy.Has(id):
			return false
		}
	}
	return there
}

// IterationsPast reports whether the task's claim has more iterations than it may have: its
// next run is not started (4.4).
func IterationsPast(s *blackboard.State, t *blackboard.Task) bool {
	return t.Status == blackboard.Claimed && t.Iteration > maxIterations(s, t)
}

// iterationsUsed reports whether a claim by agent would be an iteration too many: another
// coder than the last claimant begins with 1.
func iterationsUsed(s *blackboard.State, t *blackboard.Task, agent string) (used, limit int, over bool) {
	limit = maxIterations(s, t)
	if t.LastClaimant() != agent {
		return 0, limit, false
	}
	return t.Iteration, limit, IterationsOver(s, t)
}

// limitReached is a limit that leaves no room for another run.
type limitReached struct {
	key, kind string
	value     blackboard.Amount
	limit     int
	enough    int // a limit that leaves room
}

// figures is "120 of 100 cents".
func (l *limitReached) figures() string {
	return fmt.Sprintf("%s of %d %s", l.value, l.limit, unitOf[l.key])
}

func (l *limitReached) String() string {
	if l.kind == "iteration" || l.key == "tokens" {
		return l.figures()
	}
	return l.kind + " " + l.figures()
}

// Reached returns the limit of cost, time, tokens or runs that the task has reached
// (specs/protocol.md#4.4), or nil. For cost the average of its earlier runs of the kind that
// comes next is reserved.
func Reached(s *blackboard.State, t *blackboard.Task, now time.Time) *blackboard.Halt {
	return reached(s, t, Spent{}, NextCost(t)).halt(now)
}

// ReachedWhile returns the limit that the task reaches with what its program has used so far
// that is still running, or nil. Nothing is reserved any more, and the run itself has begun.
func ReachedWhile(s *blackboard.State, t *blackboard.Task, running Spent, now time.Time) *blackboard.Halt {
	l := reached(s, t, running, 0)
	if l != nil && l.key == "max_agent_runs" {
		return nil
	}
	return l.halt(now)
}

func (l *limitReached) halt(now time.Time) *blackboard.Halt {
	if l == nil {
		return nil
	}
	return &blackboard.Halt{Kind: l.kind, Value: l.value, Limit: l.limit, At: blackboard.TimeOf(now)}
}

func reached(s *blackboard.State, t *blackboard.Task, more Spent, reserve blackboard.Amount) *limitReached {
	u := t.Usage
	if u == nil {
		u = &blackboard.Usage{}
	}
	for _, x := range []struct {
		key, kind      string
		value, reserve blackboard.Amount
	}{
		{"cost_cents", "cost", u.CostCents.Plus(more.Cents), reserve},
		{"time_minutes", "time", blackboard.Amount((u.Seconds + more.Seconds) / 60), 0},
		{"tokens", "cost", blackboard.Amount(u.TokensIn + u.TokensOut + more.Tokens), 0},
		{"max_agent_runs", "iteration", blackboard.Amount(u.AgentRuns), 0},
	} {
		limit := LimitOf(s, t, x.key)
		if x.value.Reaches(limit, x.reserve) {
			return &limitReached{key: x.key, kind: x.kind, value: x.value, limit: limit, enough: max(2*limit, int(x.value.Plus(x.reserve))+1)}
		}
	}
	return nil
}

// NextCost is the average cost of the task's recorded runs of the kind that comes next:
// a reviewer's for what is ready for review, else a coder's.
func NextCost(t *blackboard.Task) blackboard.Amount {
	kind := blackboard.RoleCoder
	if t.Status == blackboard.ReadyForReview {
		kind = blackboard.RoleReviewer
	}
	var sum blackboard.Amount
	runs := 0
	for _, a := range t.Attempts {
		if a.CostCents != nil && (a.Kind == string(kind) || a.Kind == "" && kind == blackboard.RoleCoder) {
			sum = sum.Plus(*a.CostCents)
			runs++
		}
	}
	if runs == 0 {
		return 0
	}
	return blackboard.AmountOf(float64(sum) / float64(runs))
}

// limitOfHalt tells which limit a halt is about: its kind alone does not say whether it
// counts tokens, or iterations.
func limitOfHalt(s *blackboard.State, t *blackboard.Task, h *blackboard.Halt) *limitReached {
	key := map[string]string{"cost": "cost_cents", "time": "time_minutes", "iteration": "max_agent_runs"}[h.Kind]
	switch {
	case h.Kind == "iteration" && t.BlockedKind == blackboard.BlockedByIterations:
		key = "max_iterations"
	case h.Kind == "cost" && h.Limit != LimitOf(s, t, "cost_cents") && h.Limit == LimitOf(s, t, "tokens"):
		key = "tokens"
	}
	return &limitReached{key: key, kind: h.Kind, value: h.Value, limit: h.Limit}
}
