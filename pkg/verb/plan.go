package verb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
)

// PlanApplied is the result of a plan.
type PlanApplied struct {
	Plan     string   `json:"plan"`
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// ApplyPlan puts a whole plan on the board, all or nothing (roles-and-knowledge 3.5). The
// same plan again is exit 7; an invalid one exit 2 with every problem.
func (d *Desk) ApplyPlan(ctx context.Context, p *exitcmd.Plan) (PlanApplied, error) {
	hash, err := p.Hash()
	if err != nil {
		return PlanApplied{}, err
	}
	var warnings []string
	if len(p.FormProblems()) == 0 { // else the rehearsal refuses it, with all that is wrong
		if warnings, err = d.KeepSecrets(ctx, p); err != nil {
			return PlanApplied{}, err
		}
	}
	attics, err := d.saveForPlan(ctx, p, hash)
	if err != nil {
		return PlanApplied{}, err
	}
	d.at("plan.saved")
	var out PlanApplied
	err = d.Update(ctx, "plan", func(s *blackboard.State, a blackboard.Actor) (err error) {
		out, err = d.applyPlan(s, a, p, hash, attics)
		return err
	})
	if err != nil {
		return out, err
	}
	d.at("plan.applied")
	out.Warnings = append(out.Warnings, warnings...)
	for task := range attics {
		if err := d.DropWorktree(ctx, task); err != nil {
			out.Warnings = append(out.Warnings, err.Error())
		}
	}
	return out, nil
}

// dropped lists the tasks whose worktree the plan gives up: those that it decides about, and
// what it replaces as the answer to a replan.
func dropped(p *exitcmd.Plan, s *blackboard.State, r *replan) []string {
	set := map[string]bool{}
	for _, x := range p.Decisions {
		if x.Task != "" && x.Do != "finalize" {
			set[x.Task] = true
		}
	}
	for _, t := range p.Tasks {
		for _, id := range t.Supersedes {
			set[id] = true
		}
	}
	for _, t := range r.replaced(s) {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// decided lists what the plan's decisions are about.
func decided(p *exitcmd.Plan) []string {
	var ids []string
	for _, x := range p.Decisions {
		ids = append(ids, cmp.Or(x.Task, x.Discovery))
	}
	return ids
}

type saved struct{ attic, problem string }

// saveForPlan saves the work of what the plan drops, once the plan has passed on a copy.
func (d *Desk) saveForPlan(ctx context.Context, p *exitcmd.Plan, hash string) (map[string]saved, error) {
	id, err := d.identify()
	if err != nil {
		return nil, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	a := id.actor(s)
	dropped := dropped(p, s, replanOf(s, d.partyOf(s, a)))
	copied := s.Clone()
	if _, err := d.applyPlan(copied, id.actor(copied), p, hash, nil); err != nil {
		return nil, err
	}
	out := map[string]saved{}
	for _, task := range dropped {
		ref, problem := d.Save(ctx, task, "plan")
		out[task] = saved{ref, problem}
	}
	return out, nil
}

// applyPlan is the one Update of a plan.
func (d *Desk) applyPlan(s *blackboard.State, a blackboard.Actor, p *exitcmd.Plan, hash string, attics map[string]saved) (PlanApplied, error) {
	var out PlanApplied
	now := d.Now()
	party, err := s.Identify(a, now)
	if err != nil {
		return out, err
	}
	if party&(blackboard.ByHuman|blackboard.ByPlanner|blackboard.SPlanner) == 0 {
		return out, &blackboard.Refusal{Guard: "G03", Exit: blackboard.ExitRefused, Next: "liza status", Message: a.ID + " may not apply a plan; planner or human may"}
	}
	for _, old := range s.Plans {
		if old.Hash == hash && old.Status == "running" && len(p.FormProblems()) == 0 {
			return out, nothing("the plan is already applied as " + old.ID)
		}
	}
	in := d.Input()
	if d.NoSpecFiles {
		in.SpecExists = nil
	}
	human := party&blackboard.ByHuman != 0
	b := &planBuild{desk: d, state: s, plan: p, byHuman: human, caller: d.callerOf(s, human), specExists: in.SpecExists}
	again := replanOf(s, party)
	tasks := b.build()
	again.check(b, tasks)
	if len(b.problems) > 0 {
		return out, b.refusal()
	}
	if len(tasks) > 0 {
		b.record = b.newRecord(a, hash, again, now)
		b.enter(s, a, tasks, in, now)
		if len(b.problems) > 0 {
			return out, b.refusal()
		}
		out.Plan, out.Warnings = b.record.ID, b.warnings
		again.enter(s, b.record, now)
		s.EnterPlan(b.record, again.event(), b.record.ID+": "+ids(tasks), a, now)
		b.answerNotes(human)
	}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, t.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if !slices.Contains(s.Secrets, name) {
			s.Secrets = append(s.Secrets, name)
		}
	}
	if err := b.decide(s, a, in, attics, now); err != nil {
		return out, err
	}
	return out, again.supersede(b, a, in, attics, now)
}

// partyOf is what the caller is, 0 when that cannot be told.
func (d *Desk) partyOf(s *blackboard.State, a blackboard.Actor) blackboard.Party {
	party, err := s.Identify(a, d.Now())
	if err != nil {
		return 0
	}
	return party
}

func (b *planBuild) refusal() error {
	err := exitcmd.InvalidPlan("the plan cannot be applied: %s", exitcmd.AllOf(b.problems))
	if b.circular {
		return &CircularPlanError{Refusal: err.(*blackboard.Refusal)}
	}
	return err
}

// newRecord is what the board keeps of the plan.
func (b *planBuild) newRecord(a blackboard.Actor, hash string, r *replan, now timeT) *blackboard.Plan {
	p := &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(b.state.Plans)+1), Goal: b.plan.Goal, By: a.ID, Status: "running", Caller: &b.caller,
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
	for _, n := range s.UnseenNotes() {
		words = append(words, n.Message)
	}
	text := strings.Join(words, "\n")
	switch {
	case s.Goal == nil:
	case s.Goal.PlanID == "":
		text = strings.TrimSpace(s.Goal.Description + "\n" + text)
	case text == "":
		if p := s.Plan(s.Goal.PlanID); p != nil {
			text = p.Request
		}
	}
	if len(text) > maxGoal {
		text = strings.ToValidUTF8(text[:maxGoal], "")
	}
	return text
}

// answerNotes says in the notes that the planner was given which plan answers them.
func (b *planBuild) answerNotes(human bool) {
	if human {
		return // the planner has yet to see them
	}
	for _, n := range b.state.UnseenNotes() {
		n.Plan, n.Outcome = b.record.ID, "planned"
	}
}
