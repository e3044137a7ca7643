package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
)

// Build makes the view of a state. Sections that are missing are empty.
func Build(s *blackboard.State, f Facts) View {
	b := builder{s: s, f: f}
	if s == nil {
		b.s = &blackboard.State{}
	}
	v := View{At: blackboard.TimeOf(f.Now), Revision: b.s.Revision, View: cmp.Or(f.Vocabulary, "liza"), Offline: f.Offline,
		Control: append([]Control{}, f.Control...), Tasks: []Task{}, Warnings: append([]string{}, f.Warnings...)}
	for i := range v.Control {
		v.Control[i].Since = v.Control[i].Since.UTC().Truncate(time.Second)
	}
	v.Goal, v.Sprint = b.goal(), b.sprint()
	v.Completed = v.Goal.Status == blackboard.Completed
	for t := range b.s.Tasks() {
		if t != nil {
			v.Tasks = append(v.Tasks, b.task(t))
		}
	}
	v.Counts = b.counts(v.Tasks)
	v.Cost = cost(b.s.Usage)
	v.Agents, v.Hosts = b.agents(), b.hosts()
	v.Waiting = b.waiting()
	v.Forecast = b.forecast(v)
	v.Requests = b.requests(nil)
	v.GaveUp, v.Wrong = b.gaveUp(), append(slices.Clone(f.Wrong), b.wrong()...)
	if len(v.Wrong) > 0 { // no verb is taken before the board is mended
		v.Waiting, v.GaveUp = []Waiting{}, nil
	}
	v.Warnings = append(v.Warnings, b.warnings()...)
	if text := blackboard.UnverifiedText(b.s.TaskList()); text != "" {
		v.Warnings = append(v.Warnings, text+": their checks are red before and after; next: liza check")
	}
	v.Warnings = append(append(v.Warnings, b.crashes()...), b.wrongClocks()...)
	for _, id := range slices.Sorted(maps.Keys(b.s.Stopped)) {
		if stop := b.s.Stopped[id]; stop != nil && b.s.Agents[id] == nil {
			v.Warnings = append(v.Warnings, fmt.Sprintf("%s is %s; next: liza restart %s", id, stop, id))
		}
	}
	return v
}

// requests are the pull and merge requests with which work lands, all or those of one task.
func (b builder) requests(t *blackboard.Task) []string {
	var list []string
	for _, r := range b.s.Requests {
		if r != nil && (t == nil || r.ID == t.ID || r.Picked.Has(t.ID) || r.Fixes.Has(t.ID)) {
			list = append(list, plain(r.Text()))
		}
	}
	return list
}

func (b builder) goal() Goal {
	g := b.s.Goal
	if g == nil {
		return Goal{}
	}
	return Goal{ID: g.ID, Description: g.Description, Status: g.Status, SpecRef: g.SpecRef, Plan: g.PlanID}
}

func (b builder) sprint() Sprint {
	sp := b.s.Sprint
	if sp == nil {
		return Sprint{}
	}
	out := Sprint{ID: sp.ID, Status: sp.Status}
	if tl := sp.Timeline; tl != nil {
		out.Started, out.Deadline, out.Ended = tl.Started, tl.Deadline, tl.Ended
		end := b.f.Now
		if at, ok := tl.Ended.At(); ok {
			end = at
		}
		out.AgeSeconds = seconds(tl.Started, end)
	}
	return out
}

// counts are in the order of a task's life; a status that people invented comes last.
func (b builder) counts(tasks []Task) []Count {
	n := map[blackboard.Status]int{}
	order := slices.Clone(blackboard.Statuses)
	for _, t := range tasks {
		if n[t.Status]++; !slices.Contains(order, t.Status) {
			order = append(order, t.Status)
		}
	}
	out := []Count{}
	for _, st := range order {
		if n[st] > 0 {
			out = append(out, Count{Status: st, N: n[st]})
		}
	}
	return out
}

func (b builder) task(t *blackboard.Task) Task {
	row := Task{ID: t.ID, Title: t.TitleText(), Status: t.Status, Kind: string(t.KindOf()), Priority: t.PriorityOf(), Who: who(t), Iteration: t.Iteration,
		Rejections: t.ReviewCyclesTotal, AgeSeconds: seconds(lastChange(t), b.f.Now), Cost: cost(t.Usage)}
	if limit := transition.LimitOf(b.s, t, "cost_cents"); limit > 0 {
		row.CostPercent = int(100 * row.Cost.Cents / blackboard.Amount(limit))
	}
	if b.foreign() {
		row.ViewStatus = viewStatus(t, b.f.Vocabulary, b.reviewIsLive(t))
	}
	if t.Status == blackboard.Unclaimed || t.Status == blackboard.Draft {
		row.WaitsFor = b.waitsFor(t)
	}
	if t.Hold != nil {
		row.Hold = fmt.Sprintf("on hold by %s: %s", cmp.Or(t.Hold.By, "somebody"), t.Hold.Reason)
	}
	if t.Status == blackboard.Blocked {
		row.BlockedKind, row.BlockedReason = string(t.BlockedFor()), t.BlockedReason
	}
	row.Note = note(t, row)
	return row
}

// note says in one line why the task does not go on.
func note(t *blackboard.Task, row Task) string {
	switch {
	case t.Status == blackboard.Blocked:
		return "blocked, " + strings.ReplaceAll(row.BlockedKind, "_", " ") + ": " + prose.OneLine(t.BlockedReason, reasonInLists)
	case row.Hold != "" && !t.Status.Terminal():
		return row.Hold
	case len(row.WaitsFor) > 3:
		return fmt.Sprintf("waits for %s and %d more", strings.Join(row.WaitsFor[:3], ", "), len(row.WaitsFor)-3)
	case len(row.WaitsFor) > 0:
		return "waits for " + strings.Join(row.WaitsFor, ", ")
	case t.Status == blackboard.ReadyForReview && t.MissingApprovals() > 0:
		return t.ApprovalsText()
	case waitsForMerge(t):
		return "waits for a person's approval of the merge"
	case t.Status == blackboard.IntegrationFailed:
		if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil {
			return "not merged: " + h.Reason
		}
	case t.Status == blackboard.Rejected && t.RejectionReason != nil:
		return "rejected: " + t.RejectionReason.Summary
	case t.Status == blackboard.Merged && len(t.Unverified) > 0:
		return "merged, not verified: red before and after: " + strings.Join(t.Unverified, "; ")
	case t.Status == blackboard.Superseded && len(t.SupersededBy) > 0:
		return "replaced by " + strings.Join(t.SupersededBy, ", ")
	}
	return ""
}

func (b builder) agents() []Agent {
	list := []Agent{}
	for _, id := range b.agentIDs() {
		a := b.s.Agents[id]
		live, why := b.s.Liveness(id, b.f.Now, b.f.Process)
		row := Agent{ID: id, Role: string(a.Role), Status: a.Status, Liveness: string(live), Why: why, Task: a.CurrentTask, CLI: a.CLI, WaitsFor: a.WaitingFor,
			ContextPercent: a.ContextPercent}
		if stop := b.s.Stopped[id]; stop != nil {
			row.Stopped = stop.String()
			row.WaitsFor = row.Stopped + "; next: liza restart " + id
		}
		if a.Child != nil {
			row.Sandbox = a.Child.Sandbox
		}
		if w := a.ProviderWait; w != nil {
			if at, ok := w.Until.At(); ok && at.After(b.f.Now) {
				row.ProviderWait, row.WaitsFor = w, fmt.Sprintf("its provider until %s: %s", at.UTC().Format("15:04:05 UTC"), w.Reason)
			}
		}
		if at, ok := a.LeaseExpires.At(); ok && at.After(b.f.Now) {
			row.LeaseLeftSeconds = int(at.Sub(b.f.Now) / time.Second)
		}
		if d, ok := b.f.Doing[id]; ok && (live == blackboard.Alive || live == blackboard.Unknown) {
			row.Doing = &d
		}
		if b.foreign() {
			row.ViewRole = b.viewRole(a)
		}
		if len(b.s.Hosts) > 0 {
			row.Host = a.Host
		}
		list = append(list, row)
	}
	byHost(list)
	return list
}
