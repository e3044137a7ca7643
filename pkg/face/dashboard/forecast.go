package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/team/findings"
)

// Forecast estimates when the present team will have merged the open tasks. Done is empty while that is unknown.
type Forecast struct {
	Done    blackboard.Time `json:"done,omitempty"`
	Seconds int             `json:"seconds,omitempty"` // seconds until then
	Why     string          `json:"why"`               // base of the estimate, or why it is unknown
}

// forecast spreads the open tasks over the working coders, in the order of their dependencies. Each task takes the median
// time of the merged ones from first claim to merge. Tasks that wait for a person, and those that depend on them, are left
// out.
func (b builder) forecast(v View) *Forecast {
	var open, waits []*blackboard.Task
	for t := range b.s.Tasks() {
		switch {
		case t.Status.Terminal():
		case t.Status.Info().Waits || t.Hold != nil || findings.AwaitsMerge(t):
			waits = append(waits, t)
		default:
			open = append(open, t)
		}
	}
	unknown := func(why string) *Forecast { return &Forecast{Why: why} }
	coders, typical, known := b.coders(), b.usual(), 0
	for t := range b.s.Tasks() {
		if _, ok := tookUntilMerge(t); ok {
			known++
		}
	}
	switch {
	case v.Goal.Status != blackboard.InProgress || v.Offline != nil:
		return nil
	case len(v.Tasks) == 0:
		return unknown("there is no task yet")
	case len(open) == 0 && len(waits) == 0:
		return nil
	case len(v.Control) > 0:
		return unknown("the team is stopped")
	case len(open) == 0:
		return unknown("what is open waits for you")
	case known == 0:
		return unknown("no task is merged yet")
	case coders == 0:
		return unknown("no coder is at work")
	}
	end, left := b.spread(open, waits, coders, typical)
	at := b.f.Now.Add(end)
	why := fmt.Sprintf("%s of %s each, %s", prose.Count(len(open)-left, "open task"), age(int(typical/time.Second)), prose.Count(coders, "coder"))
	if n := len(waits) + left; n > 0 {
		why += fmt.Sprintf("; without %d that wait for you", n)
	}
	return &Forecast{Done: blackboard.TimeOf(at), Seconds: int(end / time.Second), Why: why}
}

// spread returns the time until the last of the open tasks is merged, and how many of them depend on waiting ones.
func (b builder) spread(open, waits []*blackboard.Task, coders int, typical time.Duration) (end time.Duration, left int) {
	g := graphOf(append(slices.Clone(open), waits...))
	out := map[int]bool{}
	for _, t := range waits {
		out[g.index[t.ID]] = true
	}
	order := make([]int, 0, len(g.tasks))
	for i := range g.tasks {
		order = append(order, i)
	}
	// What is under way goes on first, then what has the fewest tasks before it.
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(g.depth[x], g.depth[y]), cmp.Compare(begun(g.tasks[y]), begun(g.tasks[x])), cmp.Compare(g.tasks[x].PriorityOf(), g.tasks[y].PriorityOf()))
	})
	free, ends := make([]time.Duration, coders), map[int]time.Duration{}
	for _, i := range order {
		start := time.Duration(0)
		lost := out[i] || g.depth[i] < 0
		for _, d := range g.deps(i) {
			start, lost = max(start, ends[d]), lost || out[d]
		}
		if lost {
			if !out[i] {
				left++
			}
			out[i] = true
			continue
		}
		rest := typical
		if begun(g.tasks[i]) > 0 { // what takes longer than others is not done all the same
			rest = max(typical-time.Duration(seconds(firstClaim(g.tasks[i]), b.f.Now))*time.Second, typical/10)
		}
		if st := g.tasks[i].Status; st == blackboard.ReadyForReview || st == blackboard.Approved { // no coder is needed
			ends[i] = start + rest
		} else {
			who := slices.Index(free, slices.Min(free))
			free[who] = max(free[who], start) + rest
			ends[i] = free[who]
		}
		end = max(end, ends[i])
	}
	return end, left
}

// begun is 1 for a task that was claimed since it is open, else 0.
func begun(t *blackboard.Task) int {
	if t.Status == blackboard.Unclaimed {
		return 0
	}
	return 1
}

// coders counts the coders that take work.
func (b builder) coders() int {
	n := 0
	for id, a := range b.s.Agents {
		if a.Role != blackboard.RoleCoder || b.s.Stopped[id] != nil {
			continue
		}
		if live, _ := b.s.Liveness(id, b.f.Now, b.f.Process); live == blackboard.Alive || live == blackboard.Unknown {
			n++
		}
	}
	return n
}

// usual is how long a merged task took, in the middle of all; 0 without one.
func (b builder) usual() time.Duration {
	var all []time.Duration
	for t := range b.s.Tasks() {
		if d, ok := tookUntilMerge(t); ok {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// tookUntilMerge is the time from the first claim of a task to its merge.
func tookUntilMerge(t *blackboard.Task) (time.Duration, bool) {
	if t.Status != blackboard.Merged {
		return 0, false
	}
	from, begun := firstClaim(t).At()
	to, ended := t.TimeOfLast(blackboard.HistoryMerged).At()
	return to.Sub(from), begun && ended && to.After(from)
}

func firstClaim(t *blackboard.Task) blackboard.Time {
	for _, h := range t.History {
		if h.Event == blackboard.HistoryClaimed {
			return h.Time
		}
	}
	return ""
}

// String returns the forecast on one line: "about 14:30 UTC, in 25m: 3 open tasks of 8m each, 2 coders".
func (f *Forecast) String() string {
	at, ok := f.Done.At()
	if !ok {
		return "unknown: " + f.Why
	}
	format := "15:04 UTC"
	if f.Seconds >= 12*3600 {
		format = "Jan 2, 15:04 UTC"
	}
	return fmt.Sprintf("about %s, in %s: %s", at.UTC().Format(format), age(f.Seconds), f.Why)
}
