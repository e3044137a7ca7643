package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
)

// replan is the open replan that a planner's plan answers (specs/roles-and-knowledge.md#5.8). nil: the
// plan answers none.
type replan struct {
	tasks []string // BLOCKED, because a reviewer wants another approach
	plans []string // that they belong to
}

// replanOf is the replan that is open. Only a planner's own plan answers it.
func replanOf(s *blackboard.State, party transition.Party) *replan {
	if party&(transition.ByPlanner|transition.SPlanner) == 0 || party&transition.ByHuman != 0 {
		return nil
	}
	r := &replan{}
	for t := range s.Tasks() {
		if t.Status == blackboard.Blocked && t.BlockedKind == blackboard.BlockedForReplan {
			r.tasks = append(r.tasks, t.ID)
			if p := transition.Plan(s, t.Plan); p != nil && !slices.Contains(r.plans, p.ID) {
				r.plans = append(r.plans, p.ID)
			}
		}
	}
	if len(r.tasks) == 0 {
		return nil
	}
	return r
}

func (r *replan) event() string {
	if r == nil {
		return "planning"
	}
	return "replan"
}

// parent is the plan that the new one takes the place of. A chain that was stopped is not
// gone on with: a new one begins.
func (r *replan) parent(s *blackboard.State) *blackboard.Plan {
	if r == nil {
		return nil
	}
	for _, id := range slices.Backward(r.plans) {
		if p := transition.Plan(s, id); p.Status != "failed" {
			return p
		}
	}
	return nil
}

// replaced lists the tasks that become SUPERSEDED: what nobody works on.
func (r *replan) replaced(s *blackboard.State) []string {
	if r == nil {
		return nil
	}
	list := slices.Clone(r.tasks)
	for t := range s.Tasks() {
		if !slices.Contains(r.plans, t.Plan) || slices.Contains(list, t.ID) {
			continue
		}
		switch t.Status {
		case blackboard.Draft, blackboard.Unclaimed, blackboard.Blocked:
			list = append(list, t.ID)
		}
	}
	return list
}

// check refuses an answer without a reason, and one that was tried before (5.9).
func (r *replan) check(b *planBuild, tasks []*blackboard.Task) {
	if r == nil || len(tasks) == 0 {
		return
	}
	if strings.TrimSpace(b.plan.Reason) == "" {
		b.bad("reason: is required, because this plan replaces another one")
	}
	parent := r.parent(b.state)
	if parent == nil {
		return
	}
	now := fingerprints(tasks)
	for _, p := range transition.Chain(b.state, parent) {
		var then []*blackboard.Task
		for _, id := range p.Tasks {
			if t := b.state.Task(id); t != nil {
				then = append(then, t)
			}
		}
		if alike(now, fingerprints(then)) {
			b.circular = true
			b.bad("tasks: they are those of %s again, which failed; plan another way to the goal", p.ID)
			return
		}
	}
}

// enter ends the plans that are replaced, and says what was tried.
func (r *replan) enter(s *blackboard.State, by *blackboard.Plan, now time.Time) {
	if r == nil {
		return
	}
	for _, id := range r.plans {
		p := transition.Plan(s, id)
		p.Tried = tried(s, p)
		if p.Status != "failed" {
			p.Status = "superseded"
		}
		for _, task := range r.tasks {
			if t := s.Task(task); p.Failure == nil && t.Plan == id {
				p.Failure = &blackboard.PlanFailure{Task: task, Reason: t.BlockedReason}
			}
		}
	}
}

// tried is one line for each task of a plan: kind, title, outcome.
func tried(s *blackboard.State, p *blackboard.Plan) blackboard.List {
	var list blackboard.List
	for _, id := range p.Tasks {
		if t := s.Task(id); t != nil {
			list = append(list, fmt.Sprintf("%s %s: %s", t.KindOf(), t.TitleText(), t.Status))
		}
	}
	return list
}

// supersede puts the new tasks in the place of what the replan replaces. What a decision of
// the plan has dealt with already is left alone.
func (r *replan) supersede(b *planBuild, a transition.Actor, in transition.Input, attics map[string]Saved, now time.Time) error {
	if r == nil || b.record == nil {
		return nil
	}
	in.Reason, in.RootCause = b.plan.Reason, b.plan.Reason
	for _, id := range b.record.Tasks {
		if b.state.Task(id).KindOf() != blackboard.MessageTask {
			in.By = append(in.By, id)
		}
	}
	if len(in.By) == 0 {
		in.By = b.record.Tasks
	}
	for _, id := range r.replaced(b.state) {
		t := b.state.Task(id)
		if t.Status.Terminal() {
			continue
		}
		in := in
		in.Attic, in.SaveError = attics[id].Attic, attics[id].Problem
		if err := transition.Supersede(b.state, id, a, in, now); err != nil {
			var refused *transition.Refusal
			if errors.As(err, &refused) {
				return exitcmd.InvalidPlan("%s cannot be replaced: %v", id, err)
			}
			return err
		}
	}
	return nil
}

// CircularError refuses a plan that was tried before.
type CircularError struct{ *transition.Refusal }

func (e *CircularError) Unwrap() error { return e.Refusal }

// fingerprints tell tasks apart by their kind and the first five words of what they do.
func fingerprints(tasks []*blackboard.Task) map[string]bool {
	set := map[string]bool{}
	for _, t := range tasks {
		words := significant(t.Description)
		set[string(t.KindOf())+" "+strings.Join(words[:min(5, len(words))], " ")] = true
	}
	return set
}

// alike reports whether more than half of all that is in two sets is in both.
func alike(a, b map[string]bool) bool {
	both := 0
	for x := range a {
		if b[x] {
			both++
		}
	}
	return both > 0 && 2*both > len(a)+len(b)-both
}

var stopWords = strings.Fields("about after again also because been before being both cannot could does done each even every from have here into itself just like made make makes many more most " +
	"much must need needs only other over same should since some such than that their them then there these they this those through under until very want were what when where which while will with " +
	"without would your")

// significant are the words of a text that say something, in their order.
func significant(text string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if utf8.RuneCountInString(w) >= 4 && !slices.Contains(stopWords, w) {
			words = append(words, w)
		}
	}
	return words
}

// sameReason reports whether two reasons share half of the words of the shorter one.
func sameReason(a, b string) bool {
	x, y := map[string]bool{}, map[string]bool{}
	for _, w := range significant(a) {
		x[w] = true
	}
	for _, w := range significant(b) {
		y[w] = true
	}
	least, both := min(len(x), len(y)), 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	return least >= 3 && 2*both >= least
}

// ReplanStop says why the planner is not started for a replan, "" when it is: the chain of
// plans is too long, or the reason was given before (specs/roles-and-knowledge.md#5.9).
func ReplanStop(s *blackboard.State, due transition.Trigger, maxDepth int) string {
	if due.Kind != transition.TriggerReplan {
		return ""
	}
	for _, id := range due.IDs {
		t := s.Task(id)
		if t == nil {
			continue
		}
		p := transition.Plan(s, t.Plan)
		if p == nil || p.Status == "failed" {
			continue // a new chain begins
		}
		reason := t.BlockedReason
		if t.Review != nil {
			reason = cmp.Or(t.Review.Reason, reason)
		}
		n := transition.Replans(s, p)
		if n >= maxDepth {
			return fmt.Sprintf("stuck after %d replans: %s", n, prose.FirstLine(reason))
		}
		for _, old := range transition.Chain(s, p) {
			if old.ID != p.ID && old.Failure != nil && sameReason(reason, old.Failure.Reason) {
				return fmt.Sprintf("stuck after %d replans: the reason is that of %s again: %s", n, old.ID, prose.FirstLine(reason))
			}
		}
	}
	return ""
}
