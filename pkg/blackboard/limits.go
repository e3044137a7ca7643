package blackboard

import (
	"fmt"
	"time"
)

// applyLimits stores limits of the task: two have fields of their own.
func (t *Task) applyLimits(limits Settings) {
	own := Settings{}
	for k, v := range t.Limits {
		own[k] = v
	}
	for k, v := range limits {
		n, ok := IntegerOf(v)
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

// LimitOf is a limit of the task: its own value, else the configuration's.
func (s *State) LimitOf(t *Task, key string) int {
	if n, ok := IntegerOf(t.Limits[key]); ok {
		return n
	}
	return s.Int(key)
}

func (s *State) maxIterations(t *Task) int {
	if t.MaxIterations > 0 {
		return t.MaxIterations
	}
	return s.Int("max_coder_iterations")
}

func (s *State) maxReviewCycles(t *Task) int {
	if t.MaxReviewCycles > 0 {
		return t.MaxReviewCycles
	}
	return s.Int("max_review_cycles")
}

// IterationsOver reports whether the next iteration would be one too many (specs/protocol.md#4.4).
func (s *State) IterationsOver(t *Task) bool {
	if t.cutShort() { // the next claim goes on with the same iteration
		return t.Iteration > s.maxIterations(t)
	}
	return t.Iteration >= s.maxIterations(t)
}

// cutShort reports whether the last claim was given back because the quota of its program was
// used up: that was not an iteration (specs/protocol.md#13.3).
func (t *Task) cutShort() bool {
	var last *Attempt
	for _, a := range t.Attempts {
		last = a
	}
	return t.Status == Unclaimed && t.Iteration > 0 && last != nil && last.Outcome == "quota" && last.ClaimSeq == t.ClaimSeq
}

// OutOfIterations reports whether a task that waits for a coder gets none any more, because its
// iterations are used up: then T26 comes instead of the claim (4.4). After a release, or when
// its holder is gone, it goes to another coder as long as a live one may try it.
func (s *State) OutOfIterations(t *Task, facts ProcessFacts, now time.Time) bool {
	if !s.IterationsOver(t) {
		return false
	}
	switch t.Status {
	case Rejected, IntegrationFailed:
		return true
	case Claimed:
		if live, _ := s.ClaimLiveness(t, now, facts); live != Expired && live != Dead {
			return false
		}
	case Unclaimed:
	default:
		return false
	}
	last, there := t.lastClaimant(), false
	for _, id := range s.agentIDs() {
		live, _ := s.Liveness(id, now, facts)
		switch role, _, _ := ParseAgentID(id); {
		case role != RoleCoder || live != Alive:
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
func (s *State) IterationsPast(t *Task) bool {
	return t.Status == Claimed && t.Iteration > s.maxIterations(t)
}

// iterationsUsed reports whether a claim by agent would be an iteration too many: another
// coder than the last claimant begins with 1.
func (s *State) iterationsUsed(t *Task, agent string) (used, limit int, over bool) {
	limit = s.maxIterations(t)
	if t.lastClaimant() != agent {
		return 0, limit, false
	}
	return t.Iteration, limit, s.IterationsOver(t)
}

// limitReached is a limit that leaves no room for another run.
type limitReached struct {
	key, kind string
	value     Amount
	limit     int
	enough    int // a limit that leaves room
}

var unitOf = map[string]string{"cost_cents": "cents", "time_minutes": "minutes", "tokens": "tokens", "max_agent_runs": "runs", "max_iterations": "iterations",
	"max_review_cycles": "review cycles"}

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
func (s *State) Reached(t *Task, now time.Time) *Halt {
	return s.reached(t, Spent{}, t.NextCost()).halt(now)
}

// ReachedWhile returns the limit that the task reaches with what its program has used so far
// that is still running, or nil. Nothing is reserved any more, and the run itself has begun.
func (s *State) ReachedWhile(t *Task, running Spent, now time.Time) *Halt {
	l := s.reached(t, running, 0)
	if l != nil && l.key == "max_agent_runs" {
		return nil
	}
	return l.halt(now)
}

func (l *limitReached) halt(now time.Time) *Halt {
	if l == nil {
		return nil
	}
	return &Halt{Kind: l.kind, Value: l.value, Limit: l.limit, At: TimeOf(now)}
}

func (s *State) reached(t *Task, more Spent, reserve Amount) *limitReached {
	u := t.Usage
	if u == nil {
		u = &Usage{}
	}
	for _, x := range []struct {
		key, kind      string
		value, reserve Amount
	}{
		{"cost_cents", "cost", u.CostCents.Plus(more.Cents), reserve},
		{"time_minutes", "time", Amount((u.Seconds + more.Seconds) / 60), 0},
		{"tokens", "cost", Amount(u.TokensIn + u.TokensOut + more.Tokens), 0},
		{"max_agent_runs", "iteration", Amount(u.AgentRuns), 0},
	} {
		limit := s.LimitOf(t, x.key)
		if x.value.reaches(limit, x.reserve) {
			return &limitReached{key: x.key, kind: x.kind, value: x.value, limit: limit, enough: max(2*limit, int(x.value.Plus(x.reserve))+1)}
		}
	}
	return nil
}

// NextCost is the average cost of the task's recorded runs of the kind that comes next:
// a reviewer's for what is ready for review, else a coder's.
func (t *Task) NextCost() Amount {
	kind := RoleCoder
	if t.Status == ReadyForReview {
		kind = RoleReviewer
	}
	var sum Amount
	runs := 0
	for _, a := range t.Attempts {
		if a.CostCents != nil && (a.Kind == string(kind) || a.Kind == "" && kind == RoleCoder) {
			sum = sum.Plus(*a.CostCents)
			runs++
		}
	}
	if runs == 0 {
		return 0
	}
	return AmountOf(float64(sum) / float64(runs))
}

// limitOfHalt tells which limit a halt is about: its kind alone does not say whether it
// counts tokens, or iterations.
func (s *State) limitOfHalt(t *Task, h *Halt) *limitReached {
	key := map[string]string{"cost": "cost_cents", "time": "time_minutes", "iteration": "max_agent_runs"}[h.Kind]
	switch {
	case h.Kind == "iteration" && t.BlockedKind == BlockedByIterations:
		key = "max_iterations"
	case h.Kind == "cost" && h.Limit != s.LimitOf(t, "cost_cents") && h.Limit == s.LimitOf(t, "tokens"):
		key = "tokens"
	}
	return &limitReached{key: key, kind: h.Kind, value: h.Value, limit: h.Limit}
}
