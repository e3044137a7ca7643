// Package plan turns a planner's answer into tasks: what is wrong with it, all at once, or the tasks, the record and
// what becomes of the tasks that it decides about. It is pure: it changes the state that it is given and looks at
// nothing but the rules of the project.
package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/transition"
)

// Applied is the result of a plan.
type Applied struct {
	Plan     string   `json:"plan"`
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// Apply puts a plan on the board, all or nothing. attics has what was saved of the work that it drops.
func (r *Rules) Apply(s *blackboard.State, a transition.Actor, p *exitcmd.Plan, hash string, attics map[string]Saved, now time.Time) (Applied, error) {
	var out Applied
	party, err := transition.Identify(s, a, now)
	if err != nil {
		return out, err
	}
	if party&(transition.ByHuman|transition.ByPlanner|transition.SPlanner) == 0 {
		return out, &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: a.ID + " may not apply a plan; planner or human may"}
	}
	for _, old := range s.Plans {
		if old.Hash == hash && old.Status == "running" && len(p.FormProblems()) == 0 {
			return out, transition.Refuse(transition.ExitNothing, "liza status", "the plan is already applied as %s", old.ID)
		}
	}
	own := *p // it is applied to a copy first, and its order is set on the way
	b := &planBuild{Rules: r, state: s, plan: &own}
	again := replanOf(s, party)
	tasks := b.build()
	again.check(b, tasks)
	if len(b.problems) > 0 {
		return out, b.refusal()
	}
	if len(tasks) > 0 {
		b.record = b.newRecord(a, hash, again, now)
		b.enter(s, a, tasks, r.Input, now)
		if len(b.problems) > 0 {
			return out, b.refusal()
		}
		out.Plan, out.Warnings = b.record.ID, b.warnings
		again.enter(s, b.record, now)
		transition.EnterPlan(s, b.record, again.event(), b.record.ID+": "+ids(tasks), a, now)
		b.answerNotes()
	}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, t.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if !slices.Contains(s.Secrets, name) {
			s.Secrets = append(s.Secrets, name)
		}
	}
	if err := b.decide(s, a, r.Input, attics, now); err != nil {
		return out, err
	}
	return out, again.supersede(b, a, r.Input, attics, now)
}

// Dropped lists the tasks whose worktree the plan gives up: those that it decides about, and
// what it replaces as the answer to a replan.
func Dropped(p *exitcmd.Plan, s *blackboard.State, party transition.Party) []string {
	set := map[string]bool{}
	for _, x := range p.Decisions {
		if x.Task != "" && x.Do != exitcmd.DoFinalize {
			set[x.Task] = true
		}
	}
	for _, t := range p.Tasks {
		for _, id := range t.Supersedes {
			set[id] = true
		}
	}
	for _, t := range replanOf(s, party).replaced(s) {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Decided lists what the plan's decisions are about.
func Decided(p *exitcmd.Plan) []string {
	var ids []string
	for _, x := range p.Decisions {
		ids = append(ids, cmp.Or(x.Task, x.Discovery))
	}
	return ids
}

func (b *planBuild) refusal() error {
	err := exitcmd.InvalidPlan("the plan cannot be applied: %s", exitcmd.AllOf(b.problems))
	if b.circular {
		return &CircularError{Refusal: err.(*transition.Refusal)}
	}
	return err
}

// newRecord is what the board keeps of the plan.
func (b *planBuild) newRecord(a transition.Actor, hash string, r *replan, now time.Time) *blackboard.Plan {
	p := &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(b.state.Plans)+1), Goal: b.plan.Goal, By: a.ID, Status: "running", Caller: &b.Caller,
		Request: b.request(), Created: blackboard.TimeOf(now), Order: b.plan.Order, Hash: hash, ParseAttempts: b.plan.Answers}
	if parent := r.parent(b.state); parent != nil {
		p.Parent, p.Root = parent.ID, cmp.Or(parent.Root, parent.ID)
	}
	return p
}

// request is what the user said: the goal at first, afterwards the notes that no planner has
// seen, else what the plan before was for.
func (b *planBuild) request() string {
	s := b.state
	var words []string
	for _, n := range transition.UnseenNotes(s) {
		words = append(words, n.Message)
	}
	text := strings.Join(words, "\n")
	switch {
	case s.Goal == nil:
	case s.Goal.PlanID == "":
		text = strings.TrimSpace(s.Goal.Description + "\n" + text)
	case text == "":
		if p := transition.Plan(s, s.Goal.PlanID); p != nil {
			text = p.Request
		}
	}
	if most := exitcmd.LimitOf("Plan.goal").Most; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// answerNotes says in the notes that the planner was given which plan answers them.
func (b *planBuild) answerNotes() {
	if b.Human {
		return // the planner has yet to see them
	}
	for _, n := range transition.UnseenNotes(b.state) {
		n.Plan, n.Outcome = b.record.ID, "planned"
	}
}
