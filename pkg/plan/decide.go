package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/transition"
)

// decide carries out the plan's decisions and supersedes, each as the verb of its name.
func (b *planBuild) decide(s *blackboard.State, a transition.Actor, in transition.Input, attics map[string]Saved, now time.Time) error {
	decisions := slices.Clone(b.plan.Decisions)
	superseded := map[string][]string{}
	var order []string
	for i, t := range b.plan.Tasks {
		for _, old := range t.Supersedes {
			if superseded[old] == nil {
				order = append(order, old)
			}
			superseded[old] = append(superseded[old], cmp.Or(t.ID, b.record.Tasks[i]))
		}
	}
	for _, old := range order {
		decisions = append(decisions, exitcmd.Decision{Task: old, Do: exitcmd.DoSupersede, By: superseded[old], Reason: cmp.Or(b.plan.Reason, "replaced by a new plan")})
	}
	for i, x := range decisions {
		in := in
		in.Reason, in.RootCause, in.By = x.Reason, x.RootCause, x.By
		if w, ok := attics[x.Task]; ok {
			in.Attic, in.SaveError = w.Attic, w.Problem
		}
		if err := b.decision(s, a, x, in, now); err != nil {
			if _, refused := err.(*transition.Refusal); refused {
				return exitcmd.InvalidPlan("%s (%s %s): %v", b.placeOf(i, x), x.Do, cmp.Or(x.Task, x.Discovery), err)
			}
			return err
		}
	}
	return nil
}

// placeOf names where in the plan the i-th decision is: the last ones are those of the
// tasks that supersede others.
func (b *planBuild) placeOf(i int, x exitcmd.Decision) string {
	if i < len(b.plan.Decisions) {
		return fmt.Sprintf("decisions[%d]", i)
	}
	at := slices.IndexFunc(b.plan.Tasks, func(t exitcmd.PlanTask) bool { return slices.Contains(t.Supersedes, x.Task) })
	return fmt.Sprintf("tasks[%d].supersedes", at)
}

func (b *planBuild) decision(s *blackboard.State, a transition.Actor, x exitcmd.Decision, in transition.Input, now time.Time) error {
	if x.Discovery != "" {
		return decideDiscovery(s, a, x, now)
	}
	switch x.Do {
	case exitcmd.DoUnblock:
		open := 0
		for _, q := range s.Questions {
			if q.Task == x.Task && q.Status == blackboard.QuestionOpen && open < len(x.Answers) {
				q.Status, q.Answer, q.By, q.AnsweredAt = blackboard.QuestionAnswered, x.Answers[open], a.ID, blackboard.TimeOf(now)
				open++
			}
		}
		return transition.Unblock(s, x.Task, a, in, now)
	case exitcmd.DoSupersede:
		return transition.Supersede(s, x.Task, a, in, now)
	case exitcmd.DoAbandon:
		_, err := transition.Abandon(s, x.Task, a, in, now)
		return err
	case exitcmd.DoFinalize:
		return transition.Finalize(s, []string{x.Task}, a, in, now)
	}
	return exitcmd.InvalidPlan("do: '%s' must be unblock, supersede, abandon or finalize", x.Do)
}

// decisionForms checks the form of the decisions; whether each is possible is found out when
// it is carried out.
func (b *planBuild) decisionForms() {
	for i, x := range b.plan.Decisions {
		bad := func(key, format string, args ...any) {
			b.bad("decisions[%d].%s: %s", i, key, fmt.Sprintf(format, args...))
		}
		if x.Discovery != "" { // decideDiscovery looks at its form
			continue
		}
		if x.Task == "" {
			bad("task", "name a task or a discovery")
			continue
		}
		words := []string{exitcmd.DoUnblock, exitcmd.DoSupersede, exitcmd.DoAbandon, exitcmd.DoFinalize}
		if !slices.Contains(words, x.Do) {
			bad("do", "'%s' must be one of %s", x.Do, strings.Join(words, ", "))
			continue
		}
		if strings.TrimSpace(x.Reason) == "" && x.Do != exitcmd.DoFinalize {
			bad("reason", "is missing")
		}
		if len(x.By) == 0 && x.Do == exitcmd.DoSupersede {
			bad("by", "is missing: name what takes its place")
		}
		b.atMost(fmt.Sprintf("decisions[%d].reason", i), x.Reason, "Decision.reason")
	}
}

// decideDiscovery carries out a plan's decision about a discovery. What it is converted to
// may be a task of the same plan.
func decideDiscovery(s *blackboard.State, a transition.Actor, x exitcmd.Decision, now time.Time) error {
	var err error
	switch {
	case x.Task != "":
		return exitcmd.InvalidPlan("it names the task %s too; decide about one of them", x.Task)
	case x.Do == exitcmd.DoConvert && len(x.By) != 1:
		return exitcmd.InvalidPlan("by: must name one task, has %d", len(x.By))
	case x.Do == exitcmd.DoConvert:
		err = transition.ConvertDiscovery(s, x.Discovery, x.By[0], a, now)
	case x.Do == exitcmd.DoDefer:
		err = transition.DeferDiscovery(s, x.Discovery, x.Reason, a, now)
	default:
		return exitcmd.InvalidPlan("do: '%s' must be convert or defer for a discovery", x.Do)
	}
	if transition.IsAlreadyDone(err) {
		return nil
	}
	return err
}
