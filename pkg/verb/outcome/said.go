package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// A run answers in one way. What a verb says inside it is recorded, and its end applies that, if the program ended by itself and its own
// answer says the same: any process of a run can call a verb, and only the program knows what its model has said.

// agreed returns what the verbs of a run have said and its answer agrees with. problem is what the agent is asked about instead; without
// both, the exit command alone decides.
func agreed(r Run) (said *blackboard.Said, problem string) {
	exit := r.Answer.Exit
	for _, x := range r.Said {
		if said != nil && x.Word != said.Word {
			return nil, fmt.Sprintf("your verbs say both %s and %s, so neither counts; give one answer", said.Word, x.Word)
		}
		said = x
	}
	switch {
	case said == nil && exit == nil:
		return nil, r.Answer.Problem.Error()
	case said == nil:
		return nil, ""
	case exit == nil && (r.ByVerbs && errors.Is(r.Answer.Problem, exitcmd.ErrMissing) || errors.Is(r.Answer.Problem, exitcmd.ErrNoReview)):
		return said, ""
	case exit == nil:
		return nil, fmt.Sprintf("you said %s with `%s`, which counts when your answer says the same: %v", said.Word, said.Verb, r.Answer.Problem)
	case wordOf(r.Kind, exit) != said.Word:
		return nil, fmt.Sprintf("you said %s with `%s`, and your exit command said %s, so neither counts; give one answer", said.Word, said.Verb, wordOf(r.Kind, exit))
	}
	return said, ""
}

// wordOf is what an exit command says, in the words of what verbs have said.
func wordOf(kind string, exit *exitcmd.Exit) string {
	if kind == "code_reviewer" {
		return exit.Verdict()
	}
	return exit.Action
}

// heard reads what a verb was given.
func heard(said *blackboard.Said, into any) error {
	if err := json.Unmarshal([]byte(said.Input), into); err != nil {
		return fmt.Errorf("cannot read what `%s` has said: %v", said.Verb, err)
	}
	return nil
}

// coderSaid submits or blocks as the verb of a run has said; what the exit command adds counts, too.
func coderSaid(ctx context.Context, d *verb.Service, r Run, said *blackboard.Said, out Report) (Report, error) {
	out.Effect = ByVerbs
	if said.Verb == "block" {
		in := verb.BlockInput{}
		if err := heard(said, &in); err != nil {
			return out.reask(err.Error()), nil
		}
		done, err := d.Block(ctx, in)
		out.Status, out.Note = done.Status, "blocked"
		return out, err
	}
	in := verb.SubmitInput{}
	if err := heard(said, &in); err != nil {
		return out.reask(err.Error()), nil
	}
	if exit := r.Answer.Exit; exit != nil {
		in.Summary, in.NoTests = cmp.Or(in.Summary, exit.Summary), cmp.Or(in.NoTests, exit.NoTests)
		in.Evidence = append(in.Evidence, exit.EvidenceFiles...)
	}
	done, err := d.Submit(ctx, in)
	if err != nil {
		return out.OrReask(err)
	}
	out.Status, out.Note = done.Status, "submitted"
	return out, nil
}

// reviewerSaid gives the verdict of a verb; what the exit command adds counts, too.
func reviewerSaid(ctx context.Context, d *verb.Service, r Run, said *blackboard.Said, out Report) (Report, error) {
	in := verb.VerdictInput{}
	if err := heard(said, &in); err != nil {
		return out.reask(err.Error()), nil
	}
	in.Task, in.Supervisor, out.Effect = r.Task, true, ByVerbs
	if exit := r.Answer.Exit; exit != nil && exit.Review != nil {
		more := verdictOf(exit.Review, r.Task)
		in.Learn = append(in.Learn, more.Learn...)
		if len(in.Findings) == 0 {
			in.Findings = more.Findings
		}
	}
	return judge(ctx, d, in, out)
}

// plannerSaid applies the plan of a verb.
func plannerSaid(ctx context.Context, d *verb.Service, r Run, said *blackboard.Said, out Report) (Report, error) {
	in := verb.SaidPlan{}
	if err := heard(said, &in); err != nil {
		return out.reask(err.Error()), nil
	}
	if exit := r.Answer.Exit; exit != nil && exit.Plan != nil && in.Plan != nil {
		one, err := exit.Plan.Hash()
		two, other := in.Plan.Hash()
		if err := errors.Join(err, other); err != nil {
			return out, err
		}
		if one != two {
			return out.reask("the plan that you applied with `plan apply` is not the one of your exit command, so neither counts; give one plan"), nil
		}
	}
	if in.Plan == nil {
		return out.reask("`plan apply` had no plan"), nil
	}
	if in.NoSpecFiles {
		d = d.With(func(s *board.Session) { s.NoSpecFiles = true })
	}
	out.Effect = ByVerbs
	return applyPlan(ctx, d, r, in.Plan, out)
}
