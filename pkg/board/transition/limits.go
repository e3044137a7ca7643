package transition

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
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

// outOfIterations reports whether a task that waits for a coder gets none any more, because its iterations are used up, with all
// coders together: then T26 comes instead of the claim (4.4).
func outOfIterations(s *blackboard.State, t *blackboard.Task, facts blackboard.ProcessFacts, now time.Time) bool {
	if !IterationsOver(s, t) {
		return false
	}
	switch t.Status {
	case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
		return true
	case blackboard.Claimed:
		live, _ := s.ClaimLiveness(t, now, facts)
		return live == blackboard.Expired || live == blackboard.Dead
	}
	return false
}

// IterationsPast reports whether a claimed task is beyond its last iteration: its next run is not started (4.4).
func IterationsPast(s *blackboard.State, t *blackboard.Task) bool {
	return t.Status == blackboard.Claimed && t.Iteration > maxIterations(s, t)
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

// Reached returns the limit of cost, time, tokens or runs that the task has reached (specs/protocol.md#4.4), or nil. For cost
// it reserves the average of the task's earlier runs of the next kind.
func Reached(s *blackboard.State, t *blackboard.Task, now time.Time) *blackboard.Halt {
	return reached(s, t, Spent{}, NextCost(t)).halt(now)
}

// CostLeft returns what the limits of cost of the task, the sprint and the day leave to the next run, while others use running; 0
// means that there is no such limit, or that it leaves nothing.
func CostLeft(s *blackboard.State, t *blackboard.Task, running Spent, now time.Time) (left blackboard.Amount) {
	limited := false
	all := sprintMeters(s, running, now)
	if t != nil {
		all = append(all, meters(s, t, Spent{})...)
	}
	for _, m := range all {
		if rest := m.value.Left(m.limit); m.limit > 0 && strings.HasSuffix(m.key, "cost_cents") && (!limited || rest < left) {
			left, limited = rest, true
		}
	}
	return left
}

// ReachedWhile returns the limit that the task reaches with running, the usage so far of its present run, or nil. It reserves
// nothing.
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

// haltKindOf names the kind of halt of each limit that ends a task; meters has them first.
var haltKindOf = map[string]string{"cost_cents": "cost", "time_minutes": "time", "tokens": "cost", "max_agent_runs": "iteration"}

func reached(s *blackboard.State, t *blackboard.Task, more Spent, reserve blackboard.Amount) *limitReached {
	for _, m := range meters(s, t, more)[:len(haltKindOf)] {
		if m.key != "cost_cents" {
			reserve = 0
		}
		if m.value.Reaches(m.limit, reserve) {
			return &limitReached{key: m.key, kind: haltKindOf[m.key], value: m.value, limit: m.limit, enough: max(2*m.limit, int(m.value.Plus(reserve))+1)}
		}
	}
	return nil
}

// NextCost returns the average cost of the task's recorded runs of the next kind: of reviewers while it is ready for review,
// else of coders.
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

// limitOfHalt returns the limit of a halt, whose kind alone does not tell tokens from cost, or iterations from runs.
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

// LimitOf returns a limit of the task: its own value, else the configuration's.
func LimitOf(s *blackboard.State, t *blackboard.Task, key string) int {
	if n, ok := blackboard.IntegerOf(t.Limits[key]); ok {
		return n
	}
	return s.Int(key)
}

func maxIterations(s *blackboard.State, t *blackboard.Task) int {
	if t.MaxIterations > 0 {
		return t.MaxIterations
	}
	return s.Int("max_coder_iterations")
}

func maxReviewCycles(s *blackboard.State, t *blackboard.Task) int {
	if t.MaxReviewCycles > 0 {
		return t.MaxReviewCycles
	}
	return s.Int("max_review_cycles")
}

var unitOf = map[string]string{"cost_cents": "cents", "time_minutes": "minutes", "tokens": "tokens", "max_agent_runs": "runs", "max_iterations": "iterations",
	"max_review_cycles": "review cycles"}

// Spent is the usage of runs that are not settled yet.
type Spent struct {
	Cents           blackboard.Amount
	Seconds, Tokens int
}

// Add returns the sum of a and b.
func (a Spent) Add(b Spent) Spent {
	return Spent{Cents: a.Cents.Plus(b.Cents), Seconds: a.Seconds + b.Seconds, Tokens: a.Tokens + b.Tokens}
}

// Overspent is a limit of the sprint or of the day that was reached.
type Overspent struct {
	Key, Unit string
	Value     blackboard.Amount
	Limit     int
}

// String returns the message of the checkpoint (specs/protocol.md#13.3 step 5).
func (o *Overspent) String() string {
	return fmt.Sprintf("limit: %s of %d %s are used (limits.%s)", o.Value, o.Limit, o.Unit, o.Key)
}

// SprintReached returns the limit of the sprint or of the UTC day that running reaches or reserve would exceed, or nil
// (specs/roles-and-knowledge.md#8.1).
func SprintReached(s *blackboard.State, running Spent, reserve blackboard.Amount, now time.Time) *Overspent {
	for _, m := range sprintMeters(s, running, now) {
		_, unit, _ := strings.Cut(m.key, "_")
		more := blackboard.Amount(0)
		if unit == "cost_cents" {
			more = reserve
		}
		if m.value.Reaches(m.limit, more) {
			return &Overspent{Key: m.key, Unit: unitOf[unit], Value: m.value, Limit: m.limit}
		}
	}
	return nil
}

// LimitsSprint reports whether the sprint or the day has a limit.
func LimitsSprint(s *blackboard.State) bool {
	return s.Int("sprint_cost_cents")+s.Int("sprint_time_minutes")+s.Int("sprint_tokens")+s.Int("day_cost_cents") > 0
}

// Reserved returns the cost reserved for the present runs of all agents but except.
func Reserved(s *blackboard.State, except string) blackboard.Amount {
	var sum blackboard.Amount
	for id, e := range s.Agents {
		if id != except {
			sum = sum.Plus(e.ReservedCents)
		}
	}
	return sum
}

func dayOf(t time.Time) string { return t.UTC().Format("2006-01-02") }

// A meter is the used part of one limit of a task or sprint.
type meter struct {
	key   string
	value blackboard.Amount
	limit int
	part  blackboard.Amount // value and limit, unrounded
	whole int
}

func meterOf(key string, value blackboard.Amount, limit int) meter {
	return meter{key, value, limit, value, limit}
}

// meters say how much of each limit of a task is used: by its settled runs, and by more.
func meters(s *blackboard.State, t *blackboard.Task, more Spent) []meter {
	u := cmp.Or(t.Usage, &blackboard.Usage{})
	plain := func(key string, value, limit int) meter { return meterOf(key, blackboard.Amount(value), limit) }
	return []meter{
		meterOf("cost_cents", u.CostCents.Plus(more.Cents), LimitOf(s, t, "cost_cents")),
		minutesOf("time_minutes", u.Seconds+more.Seconds, LimitOf(s, t, "time_minutes")),
		plain("tokens", u.TokensIn+u.TokensOut+more.Tokens, LimitOf(s, t, "tokens")),
		plain("max_agent_runs", u.AgentRuns, LimitOf(s, t, "max_agent_runs")),
		plain("max_iterations", t.Iteration, maxIterations(s, t)),
		plain("max_review_cycles", t.ReviewCyclesCurrent, maxReviewCycles(s, t)),
	}
}

// minutesOf measures seconds against a limit in minutes.
func minutesOf(key string, seconds, limit int) meter {
	return meter{key, blackboard.Amount(seconds / 60), limit, blackboard.Amount(seconds), 60 * limit}
}

func (m meter) near(percent int) bool { return m.limit > 0 && m.part.Is(percent, m.whole) }

// warnOfLimits records a warning for each limit of the task that has come near since before,
// and names the key that changes it (specs/roles-and-knowledge.md#8.2, specs/decisions.md#D27).
func warnOfLimits(s *blackboard.State, t *blackboard.Task, before []meter, now time.Time) {
	if s.WarnPercent <= 0 {
		return
	}
	for i, m := range meters(s, t, Spent{}) {
		if m.near(s.WarnPercent) && !before[i].near(s.WarnPercent) {
			warning(s, t.ID, now, keyOf(s, t, m.key), fmt.Sprintf("%s of %d %s are used; %s changes the limit", m.value, m.limit, unitOf[m.key], keyOf(s, t, m.key)))
		}
	}
}

// sprintMeters returns the meters of the sprint and of the UTC day, with the usage of present runs in running.
func sprintMeters(s *blackboard.State, running Spent, now time.Time) []meter {
	u := cmp.Or(s.Usage, &blackboard.Usage{})
	return []meter{
		meterOf("sprint_cost_cents", u.CostCents.Plus(running.Cents), s.Int("sprint_cost_cents")),
		minutesOf("sprint_time_minutes", u.Seconds+running.Seconds, s.Int("sprint_time_minutes")),
		meterOf("sprint_tokens", blackboard.Amount(u.TokensIn+u.TokensOut+running.Tokens), s.Int("sprint_tokens")),
		meterOf("day_cost_cents", CostOf(u, now).Plus(running.Cents), s.Int("day_cost_cents")),
	}
}

// warnOfSprint records a warning for each limit of the sprint or of the day that has come near since before.
func warnOfSprint(s *blackboard.State, before []meter, now time.Time) {
	if s.WarnPercent <= 0 {
		return
	}
	for i, m := range sprintMeters(s, Spent{}, now) {
		if m.near(s.WarnPercent) && !before[i].near(s.WarnPercent) {
			span, unit, _ := strings.Cut(m.key, "_")
			warning(s, "", now, "limits."+m.key, fmt.Sprintf("%s of %d %s of the %s are used; limits.%s changes the limit", m.value, m.limit, unitOf[unit], span, m.key))
		}
	}
}

// CostOf returns the known cost of the UTC day of now.
func CostOf(u *blackboard.Usage, now time.Time) blackboard.Amount {
	if u == nil || u.Day == nil || u.Day.Date != dayOf(now) {
		return 0
	}
	return u.Day.CostCents
}

// keyOf is where a limit of the task is set.
func keyOf(s *blackboard.State, t *blackboard.Task, key string) string {
	_, own := blackboard.IntegerOf(t.Limits[key])
	switch {
	case own, key == "max_iterations" && t.MaxIterations > 0, key == "max_review_cycles" && t.MaxReviewCycles > 0:
		return "tasks." + t.ID + ".limits." + key
	}
	return "limits." + key
}

// warnOfUnknownCost warns when a cost limit is set, but the agent program reports no cost.
func warnOfUnknownCost(s *blackboard.State, t *blackboard.Task, now time.Time) {
	_, own := blackboard.IntegerOf(t.Limits["cost_cents"])
	if limit := LimitOf(s, t, "cost_cents"); limit > 0 && (own || isSet(s, "cost_cents")) && s.WarnPercent > 0 {
		warning(s, t.ID, now, keyOf(s, t, "cost_cents"), fmt.Sprintf("the agent program tells no cost, so %s (%d cents) cannot be watched; prices in .liza/config.yaml make cost of tokens", keyOf(s, t, "cost_cents"), limit))
	}
}

func isSet(s *blackboard.State, key string) bool {
	for _, level := range []blackboard.Settings{s.Overrides, s.Config, s.Defaults} {
		if _, ok := level[key]; ok {
			return true
		}
	}
	return false
}

// warning records that a limit is near; limit is the key that sets it.
func warning(s *blackboard.State, task string, now time.Time, limit, detail string) {
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionLimitWarning, Task: task, Detail: detail, Extra: map[string]any{"level": "warning", "limit": limit}})
}

// Pause keeps an agent program from starting before until (specs/protocol.md#13.3).
func Pause(s *blackboard.State, program, reason string, until, now time.Time) {
	if s.Programs == nil {
		s.Programs = map[string]*blackboard.Program{}
	}
	endPauses(s, now)
	s.Programs[program] = &blackboard.Program{PausedUntil: blackboard.TimeOf(until), Reason: reason, At: blackboard.TimeOf(now)}
}

// PausedUntil returns until when an agent program may not start, and why; the zero time if it may.
func PausedUntil(s *blackboard.State, program string, now time.Time) (until time.Time, reason string) {
	p := s.Programs[program]
	if p == nil {
		return time.Time{}, ""
	}
	if at, ok := p.PausedUntil.At(); ok && at.After(now) {
		return at, p.Reason
	}
	return time.Time{}, ""
}

// endPauses removes the pauses that are over.
func endPauses(s *blackboard.State, now time.Time) {
	for name, p := range s.Programs {
		if at, ok := p.PausedUntil.At(); ok && !at.After(now) {
			delete(s.Programs, name)
		}
	}
}
