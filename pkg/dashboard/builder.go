package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

type builder struct {
	s *blackboard.State
	f Facts
}

// seconds from a time of the file until now, never below 0.
func seconds(from blackboard.Time, now time.Time) int {
	at, ok := from.At()
	if !ok || now.Before(at) {
		return 0
	}
	return int(now.Sub(at) / time.Second)
}

func cost(u *blackboard.Usage) Cost {
	if u == nil {
		return Cost{}
	}
	return Cost{Cents: u.CostCents, Runs: u.AgentRuns, UnknownRuns: u.UnknownCostRuns}
}

// foreign reports whether another vocabulary than Liza's own is asked for.
func (b builder) foreign() bool { return b.f.Vocabulary != "" && b.f.Vocabulary != "liza" }

// reviewIsLive reports whether somebody is reviewing the task now.
func (b builder) reviewIsLive(t *blackboard.Task) bool {
	if t.ReviewingBy == "" {
		return false
	}
	live, _ := b.s.ReviewLiveness(t, b.f.Now, b.f.Process)
	return live == blackboard.Alive || live == blackboard.Unknown
}

// who works on the task, or did last.
func who(t *blackboard.Task) string {
	switch {
	case t.Status == blackboard.ReadyForReview:
		return t.ReviewingBy
	case t.Status == blackboard.Unclaimed && t.Claiming != nil:
		return t.Claiming.By
	}
	return t.AssignedTo
}

// lastChange is the time of the last entry of the task's history.
func lastChange(t *blackboard.Task) blackboard.Time {
	for i := len(t.History) - 1; i >= 0; i-- {
		if h := t.History[i]; h != nil && !h.Time.None() {
			return h.Time
		}
	}
	return t.Created
}

// waitsFor lists what keeps the task from being claimable: "task-1 (CLAIMED)".
func (b builder) waitsFor(t *blackboard.Task) []string {
	var list []string
	for _, id := range t.DependsOn {
		status, _ := b.s.StatusOf(id)
		if status != blackboard.Merged {
			list = append(list, fmt.Sprintf("%s (%s)", id, cmp.Or(string(status), "missing")))
		}
	}
	if len(list) > 0 || !t.AfterPlan || t.Plan == "" {
		return list
	}
	for o := range b.s.Tasks() {
		if o != t && o.Plan == t.Plan && !o.Status.Terminal() {
			list = append(list, fmt.Sprintf("%s (%s)", o.ID, o.Status))
		}
	}
	return list
}

func waitsForMerge(t *blackboard.Task) bool {
	return t.Status == blackboard.Approved && t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == ""
}

// agentIDs are sorted by role, then number.
func (b builder) agentIDs() []string {
	var ids []string
	for id, a := range b.s.Agents {
		if a != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		rx, nx, _ := blackboard.ParseAgentID(x)
		ry, ny, _ := blackboard.ParseAgentID(y)
		switch {
		case rx != ry:
			return strings.Compare(string(rx), string(ry))
		case nx != ny:
			return nx - ny
		}
		return strings.Compare(x, y)
	})
	return ids
}

// compareAgents orders agents as a team is: planners, coders, reviewers, others, each by its number.
func compareAgents(a, b string) int {
	order := []blackboard.Role{blackboard.RolePlanner, blackboard.RoleCoder, blackboard.RoleReviewer}
	rank := func(id string) (place, number int) {
		role, n, _ := blackboard.ParseAgentID(id)
		if place = slices.Index(order, role); place < 0 {
			place = len(order)
		}
		return place, n
	}
	ra, na := rank(a)
	rb, nb := rank(b)
	return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(na, nb), cmp.Compare(a, b))
}
