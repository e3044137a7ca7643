package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/activity"
	"liza/pkg/team/findings"
)

// Build returns the view of s; nil and missing sections give empty lists.
func Build(s *blackboard.State, f Input) View {
	b := builder{s: s, f: f}
	if s == nil {
		b.s = &blackboard.State{}
	}
	v := View{At: blackboard.TimeOf(f.Now), Revision: b.s.Revision, Offline: f.Offline,
		Control: append([]Control{}, f.Control...), Tasks: []Task{}, Branch: b.f.Branch, Warnings: append([]string{}, f.Warnings...)}
	for i := range v.Control {
		v.Control[i].Since = v.Control[i].Since.UTC().Truncate(time.Second)
	}
	v.Goal, v.Sprint = b.goal(), b.sprint()
	v.Completed = v.Goal.Status == blackboard.Completed
	for t := range b.s.Tasks() {
		v.Tasks = append(v.Tasks, b.task(t))
	}
	v.Counts = b.counts(v.Tasks)
	v.Cost = cost(b.s.Usage)
	v.Agents, v.Hosts = b.agents(), b.hosts()
	waits, warnings := b.board()
	v.Waiting, v.Warnings = waits, append(v.Warnings, warnings...)
	v.Requests = b.requests(nil)
	v.GaveUp, v.Wrong = b.gaveUp(), append(slices.Clone(f.Wrong), findings.UnknownStatuses(b.s)...)
	if len(v.Wrong) > 0 { // no verb is taken before the board is mended
		v.Waiting, v.GaveUp = []Waiting{}, nil
	}
	return v
}

// requests are the pull and merge requests with which work lands, all or those of one task.
func (b builder) requests(t *blackboard.Task) []string {
	var list []string
	for _, r := range b.s.Requests {
		if t == nil || r.ID == t.ID || r.Picked.Has(t.ID) || r.Fixes.Has(t.ID) {
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
		Rejections: t.ReviewCyclesTotal, AgeSeconds: secondsSince(findings.LastChange(t), b.f.Now), Cost: cost(t.Usage)}
	if limit := transition.LimitOf(b.s, t, "cost_cents"); limit > 0 {
		row.CostPercent = int(100 * row.Cost.Cents / blackboard.Amount(limit))
	}
	if t.Status == blackboard.Unclaimed || t.Status == blackboard.Draft {
		row.WaitsFor = b.waitsFor(t)
	}
	row.Hold = findings.OnHold(t)
	if t.Status == blackboard.Blocked {
		row.BlockedKind, row.BlockedReason = string(t.BlockedFor()), t.BlockedReason
	}
	row.Tries = tries(b.s, t)
	if !t.Status.Terminal() && len(b.s.HumanNotes) > 0 {
		for _, n := range b.s.Texts(t.ID) {
			if !n.Liza() {
				row.Told = append(row.Told, n.Receipt.State)
			}
		}
	}
	row.Note = note(t, row)
	if rivals := transition.Rivals(b.s, t); len(rivals) > 0 && row.Note == "" {
		row.Note = fmt.Sprintf("one of %d open attempts at %s", len(rivals)+1, t.AttemptOf)
	}
	if o := transition.Overlaps(b.s, t); len(o) > 0 && row.Note == "" {
		row.Note = o[0].String()
	}
	if d, runs := b.f.Checking[t.ID]; runs && t.Status == blackboard.Approved {
		row.Note, row.merges = "merge: checks run, "+d.Round(time.Second).String(), true
	}
	return row
}

// tries are the attempts at the work of t, none when there is one.
func tries(s *blackboard.State, t *blackboard.Task) (list []Try) {
	if t.AttemptOf == "" {
		return nil
	}
	for o := range s.Tasks() {
		if o.AttemptOf == t.AttemptOf {
			list = append(list, Try{o.ID, o.Status, o.CLI, cost(o.Usage), transition.Pickable(o) && len(transition.Rivals(s, o)) > 0})
		}
	}
	return list
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
	case findings.AwaitsMerge(t):
		return "waits for a person's approval of the merge"
	case t.Status == blackboard.IntegrationFailed:
		if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil {
			return "not merged: " + h.Reason
		}
	case t.Status == blackboard.Rejected && t.RejectionReason != nil:
		return "rejected: " + t.RejectionReason.Summary
	case t.Status == blackboard.Merged && len(t.Unverified) > 0:
		return "merged, not verified: " + strings.Join(t.Unverified, "; ")
	case t.Status == blackboard.Superseded && len(t.SupersededBy) > 0:
		return "replaced by " + strings.Join(t.SupersededBy, ", ")
	}
	return ""
}

func (b builder) agents() []Agent {
	list := []Agent{}
	for _, id := range findings.AgentIDs(b.s) {
		a := b.s.Agents[id]
		live, why := b.s.Liveness(id, b.f.Now, b.f.Process)
		row := Agent{ID: id, Role: string(a.Role), Status: a.Status, Liveness: string(live), Why: why, Task: a.CurrentTask, CLI: a.CLI, WaitsFor: a.WaitingFor,
			ContextPercent: a.ContextPercent}
		if a.Child != nil {
			row.CLI = cmp.Or(accountOf(a.Child.CLI), row.CLI)
		}
		if stop := b.s.Stopped[id]; stop != nil {
			row.Stopped = stop.String()
			row.WaitsFor = row.Stopped + "; next: liza resume " + id
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
		if len(b.s.Hosts) > 0 {
			row.Host = a.Host
		}
		list = append(list, row)
	}
	byHost(list)
	return list
}

type builder struct {
	s *blackboard.State
	f Input
}

// seconds from a time of the file until now, never below 0.
func seconds(from blackboard.Time, now time.Time) int {
	at, _ := from.At()
	return secondsSince(at, now)
}

func secondsSince(at, now time.Time) int {
	if at.IsZero() || now.Before(at) {
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

// waitsFor lists the tasks that keep t from being claimable, with their status: "task-1 (CLAIMED)".
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

// String returns on one line what the program does, without its figures.
func (d Doing) String() string {
	switch activity.Kind(d.Kind) {
	case "":
		return "starts"
	case activity.Tool:
		return strings.TrimSpace("› " + plain(d.Tool) + "  " + plain(d.Text))
	case activity.Wait:
		return "waits for its provider: " + plain(d.Text)
	case activity.Error:
		return "error: " + plain(d.Text)
	}
	if d.Text == "" {
		return "writes"
	}
	return plain(d.Text)
}

// Figures returns time, tokens and cost of the run so far, as far as they are known: "4m, 12k tokens, $0.31".
func (d Doing) Figures() string {
	parts := []string{age(d.Seconds)}
	if n := d.TokensIn + d.TokensOut; n > 0 {
		parts = append(parts, Tokens(n))
	}
	if d.Cents != nil && *d.Cents > 0 {
		parts = append(parts, d.Cents.Dollars())
	}
	return strings.Join(parts, ", ")
}

// Tokens returns a number of tokens for people: "812 tokens", "12k tokens", "1.2M tokens".
func Tokens(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%dk tokens", n/1000)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	}
	return fmt.Sprintf("%d tokens", n)
}

// doings is one line below the table for each agent whose program runs.
func (p *page) doings(agents []Agent) {
	first := true
	for _, a := range agents {
		if a.Doing == nil {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		figures := a.Doing.Figures()
		room := max(minWidth/2, p.width-2-WidthOf(a.ID)-2-2-WidthOf(figures))
		p.line("  " + a.ID + "  " + p.paint(cyan, Fit(a.Doing.String(), room)) + "  " + p.paint(faint, figures))
	}
}

// DoingText returns the section "Now" of an agent or a task.
func DoingText(agent string, d Doing) string {
	return fmt.Sprintf("\nNow\n  %s  %s  (%s)\n  liza output %s -f\n", agent, d, d.Figures(), agent)
}

// hosts are in the order of their names.
func (b builder) hosts() []Host {
	var list []Host
	for name, h := range b.s.Hosts {
		row := Host{Name: name, Here: name == b.f.Process.Host, ClockOffset: h.ClockOffset, ClockOff: b.s.ClockOff(h), Version: h.Version, Load: h.Load}
		if seen, ok := h.Seen.At(); ok {
			ago := b.f.Now.Sub(seen)
			row.SeenSeconds, row.Silent = max(0, int(ago/time.Second)), ago > b.s.Duration("lease_duration")+b.s.Duration("lease_grace")
		}
		for _, a := range b.s.Agents {
			if a.Host == name {
				row.Agents++
			}
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(x, y Host) int { return compareAgents(x.Name, y.Name) })
	return list
}

// Said returns agents, last contact, clock, load and version of the host on one line.
func (h Host) Said() string {
	text := Agents(h.Agents) + ", last contact " + age(h.SeenSeconds) + " ago"
	if h.Silent {
		text += ", silent: its claims are free"
	}
	if h.ClockOffset != 0 {
		text += fmt.Sprintf(", clock %+d s", h.ClockOffset)
	}
	if h.ClockOff {
		text += " (off by more than lease_grace)"
	}
	return text + prose.After(", load ", h.Load) + prose.After(", liza ", h.Version)
}

// Agents returns n with its noun.
func Agents(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}

// byHost puts the agents of one host beside each other.
func byHost(agents []Agent) {
	slices.SortStableFunc(agents, func(x, y Agent) int { return compareAgents(x.Host, y.Host) })
}
