package transition

import (
	"hash/fnv"
	"slices"
	"strconv"

	"liza/pkg/board/blackboard"
)

// form is what two worlds have in common when the same may happen in both from now on:
// statuses, holders, counters up to their limits, and of each time only whether it is over.
// Texts, histories, commits, ids of registrations and finished tasks are left out. The coders
// are alike, so they count by what they do, not by their numbers.
type form [16]byte

func (w *world) form() form {
	text := w.portrait(false)
	if len(w.size.coders) == 2 {
		if other := w.portrait(true); slices.Compare(other, text) < 0 {
			text = other
		}
	}
	h := fnv.New128a()
	h.Write(text)
	return form(h.Sum(nil))
}

// brush paints the portrait of a world.
type brush struct {
	w    *world
	swap bool // the two coders change places
	out  []byte
}

func (w *world) portrait(swap bool) []byte {
	b := &brush{w: w, swap: swap, out: make([]byte, 0, 256)}
	for t := range w.Tasks() {
		b.task(t)
	}
	coders := w.size.coders
	if swap {
		coders = []string{coders[1], coders[0]}
	}
	for _, id := range slices.Concat(coders, w.size.reviewers) {
		b.agent(id)
	}
	b.text(sprintStatus(w.board.State))
	return b.out
}

func (b *brush) text(s string) { b.out = append(append(b.out, s...), ' ') }
func (b *brush) number(n int)  { b.out = append(strconv.AppendInt(b.out, int64(n), 10), ' ') }

func (b *brush) flags(flags ...bool) {
	for _, f := range flags {
		if f {
			b.out = append(b.out, '+')
		} else {
			b.out = append(b.out, '-')
		}
	}
}

// who names an agent.
func (b *brush) who(agent string) {
	if i := slices.Index(b.w.size.coders, agent); i >= 0 && b.swap {
		agent = b.w.size.coders[1-i]
	}
	b.text(agent)
}

// claim is a holder, whether that registration is still in force, and his lease.
func (b *brush) claim(agent, generation string, lease blackboard.Time) {
	b.who(agent)
	e := b.w.Agents[agent]
	b.flags(generation != "", e != nil && e.Generation == generation)
	b.lease(lease)
}

// lease tells how long ago a lease ended, as far as it makes a difference.
func (b *brush) lease(lease blackboard.Time) {
	at, ok := lease.At()
	switch w := b.w; {
	case !ok:
		b.text("none")
	case w.now.After(at.Add(w.Duration("lease_grace"))):
		b.text("over")
	default:
		b.text("holds")
	}
}

func (b *brush) agent(id string) {
	e := b.w.Agents[id]
	if e == nil {
		b.text("nobody")
		return
	}
	gone := b.w.gone[b.w.nth(id)]
	prepares := slices.ContainsFunc(b.w.TaskList(), func(t *blackboard.Task) bool { return b.w.prepares(t, id) })
	if gone && e.CurrentTask == "" && !prepares {
		b.text("gone") // whatever it left can do nothing
		return
	}
	b.text(e.Status)
	b.text(e.CurrentTask)
	b.flags(e.Child != nil && e.CurrentTask != "", gone)
	b.lease(e.LeaseExpires)
}

func (b *brush) task(t *blackboard.Task) {
	w := b.w
	b.text(t.ID)
	if t.Status.Terminal() && t.Status != blackboard.Merged && !w.neededBy(t.ID) {
		b.text("dropped")
		return
	}
	b.text(string(t.Status))
	if t.Status.Terminal() {
		return
	}
	b.claim(t.AssignedTo, t.ClaimGeneration, t.LeaseExpires)
	b.who(t.LastClaimant())
	b.claim(t.ReviewingBy, t.ReviewingGeneration, t.ReviewLeaseExpires)
	if c := t.Claiming; c != nil && !past(c.Expires, w.now) {
		b.claim(c.By, c.Generation, "")
	}
	b.text(string(t.BlockedKind))
	if t.Hold != nil {
		b.text("held by " + t.Hold.By)
	}
	if a := t.MergeApproval; a != nil {
		b.text("gate " + string(a.Decision))
	}
	if t.Halt != nil {
		b.text("halt " + t.Halt.Kind)
	}
	if h := t.Last(); h != nil && h.Event == "handoff" {
		b.who(h.Agent) // handing off once more is not an event
	}
	b.counts(t)
	rejected, _ := t.TimeOfLast("rejected").At()
	i := slices.Index(w.size.tasks, t.ID)
	b.flags(t.Worktree != "", t.BaseCommit != "", t.RestartFrom != "", t.HandoffPending, t.IntegrationFix, t.FixOnto != "", t.ReviewCommit != "",
		t.ApprovedBy != "", t.MergeIntent != nil, i >= 0 && w.inside[i] != "", t.Status == blackboard.Rejected && w.now.Before(rejected.Add(w.Duration("reassign_after"))))
	for _, d := range t.DependsOn {
		if st, ok := w.StatusOf(d); !ok || st != blackboard.Merged {
			b.text(d)
		}
	}
}

// counts are the counters as far as they make a difference.
func (b *brush) counts(t *blackboard.Task) {
	questions := 0
	for _, q := range b.w.Questions {
		if q.Task == t.ID && q.Status == "open" {
			questions++
		}
	}
	for _, n := range []int{t.Iteration, t.MaxIterations, t.ReviewCyclesCurrent, min(t.ReviewFailures, b.w.Int("max_review_retries")),
		min(t.Failures, 3), min(handoffsSinceClaim(t), b.w.Int("max_handoffs")), questions} {
		b.number(n)
	}
	for _, c := range b.w.size.coders {
		if b.swap {
			c = b.w.size.coders[1-slices.Index(b.w.size.coders, c)]
		}
		b.flags(t.FailedBy.Has(c))
	}
}

func (w *world) neededBy(id string) bool {
	for t := range w.Tasks() {
		if !t.Status.Terminal() && t.DependsOn.Has(id) {
			return true
		}
	}
	return false
}
