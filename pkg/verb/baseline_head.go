package verb

import (
	"context"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/merge"
	"liza/pkg/review"
)

// A BaseCheck is a command that reviews or merges run, and what it gave on the head of the
// integration branch.
type BaseCheck struct {
	review.Step
	Result *BaseResult // nil: it has not been run there
}

// BaseChecks lists the commands of the checks, configured or detected, and what is known of them
// on the head of the integration branch. With run, those that have not been run there are run.
// Without, nothing is started.
func (d *Service) BaseChecks(ctx context.Context, s *blackboard.State, run bool) (checks []BaseCheck, head string, err error) {
	if head, err = d.tipHere(ctx, s); err != nil {
		return nil, "", err
	}
	files, err := d.Repo.ListCommit(ctx, head)
	if err != nil {
		return nil, head, err
	}
	known, err := d.readBaseline()
	if err != nil {
		return nil, head, err
	}
	for _, step := range d.steps(ctx, head, files) {
		c := BaseCheck{Step: step}
		key, err := d.baseKey(ctx, head, step.Command)
		if err != nil {
			return nil, head, err
		}
		if i := slices.IndexFunc(known, func(r BaseResult) bool { return r.Key == key }); i >= 0 {
			c.Result = &known[i]
		} else if run {
			r, err := d.lookAtBase(ctx, s.Secrets, head, step.Check, step.Command)
			if err != nil {
				return checks, head, err
			}
			c.Result = &r
		}
		checks = append(checks, c)
	}
	return checks, head, nil
}

// steps are the commands of reviews and merges for a commit, each once.
func (d *Service) steps(ctx context.Context, commit string, files []git.Listed) []review.Step {
	var steps []review.Step
	add := func(s review.Step) {
		if !slices.ContainsFunc(steps, func(x review.Step) bool { return x.Command == s.Command }) {
			steps = append(steps, s)
		}
	}
	cfg := d.Config()
	if !cfg.Review.Disabled() {
		for _, s := range checkSettings(cfg.Review).Steps(d.treeAt(ctx, commit, files)) {
			add(s)
		}
	}
	commands := cfg.Integration.Checks
	if len(commands) == 0 && slices.ContainsFunc(files, func(f git.Listed) bool { return f.Path == merge.Script && f.Runs }) {
		commands = []string{"./" + merge.Script}
	}
	for _, command := range commands {
		add(review.Step{Check: integrationCheck, Command: command})
	}
	return steps
}
