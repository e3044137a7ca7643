package verb

import (
	"context"
	"slices"
	"time"

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
	Cut    bool        // it was tried, and did not end within TryTime
}

// TryTime bounds what trying the checks may take before work begins.
const TryTime = 30 * time.Second

// TryChecks is BaseChecks that tries, within TryTime and once for each head, what has never passed here.
func (d *Service) TryChecks(ctx context.Context, s *blackboard.State) ([]BaseCheck, string, error) {
	checks, head, err := d.BaseChecks(ctx, s, false)
	if err != nil {
		return checks, head, err
	}
	bounded, cancel := context.WithTimeout(ctx, TryTime)
	defer cancel()
	for i := range checks {
		c := &checks[i]
		if c.Result != nil || c.Cut || d.GreenHere(c.Command) {
			continue
		}
		r, err := d.lookAtBase(bounded, s.Secrets, head, c.Check, c.Command)
		switch {
		case err == nil:
			c.Result = &r
		case ctx.Err() != nil:
			return checks, head, ctx.Err()
		case bounded.Err() != nil:
			c.Cut = true
		default:
			return checks, head, err
		}
		if c.Cut || c.Result.End.Setup != "" {
			if err := d.tried(ctx, head, *c); err != nil {
				return checks, head, err
			}
		}
	}
	return checks, head, nil
}

// triedPrefix begins the key under which it is kept that a command was tried on a tree and gave no result.
const triedPrefix = "tried: "

// tried keeps that a command gave no result on a commit, so that it is not tried there again without being asked for.
func (d *Service) tried(ctx context.Context, commit string, c BaseCheck) error {
	key, err := d.baseKey(ctx, commit, c.Command)
	if err != nil {
		return err
	}
	r := BaseResult{Key: triedPrefix + key, Commit: commit, At: blackboard.TimeOf(d.Now())}
	if c.Result != nil {
		r.End, r.Tail = c.Result.End, c.Result.Tail
	}
	return d.changeBaseline(ctx, func(known []BaseResult) []BaseResult { return append(known, r) })
}

// A CheckedTree is what the commands of reviews and merges give on a commit.
type CheckedTree struct {
	Task   string     `json:"task,omitempty"` // whose work is in it; "": the integration branch as it is
	Commit string     `json:"commit"`
	Ends   []CheckEnd `json:"checks"`
	Lacks  []string   `json:"lacks"` // what the person's checkout has, and the worktree of the checks has not
}

// A CheckEnd is what one of them gave.
type CheckEnd struct {
	Check   string     `json:"check"`
	Command string     `json:"command"`
	End     review.End `json:"end"`
	Tail    string     `json:"tail,omitempty"`
}

// CheckNow runs the commands of reviews and merges on the work of a task as it would be merged, or, for "", on the integration branch,
// whatever is known of them. What the branch gives is remembered as its baseline.
func (d *Service) CheckNow(ctx context.Context, s *blackboard.State, task string) (CheckedTree, error) {
	out := CheckedTree{Task: task, Ends: []CheckEnd{}, Lacks: []string{}}
	var err error
	if out.Commit, err = d.toCheck(ctx, s, task); err != nil {
		return out, err
	}
	files, err := d.Repo.ListCommit(ctx, out.Commit)
	if err != nil {
		return out, err
	}
	unlock, err := d.lockBaseline(ctx)
	if err != nil {
		return out, err
	}
	defer func() { _ = unlock() }()
	steps := d.steps(ctx, out.Commit, files)
	for _, hook := range d.Config().Hooks.PreMerge {
		steps = append(steps, review.Step{Check: integrationCheck, Command: hook})
	}
	for _, step := range steps {
		r, err := d.runBase(ctx, s.Secrets, task, out.Commit, step.Check, step.Command)
		if err != nil {
			return out, err
		}
		out.Ends = append(out.Ends, CheckEnd{Check: step.Check, Command: step.Command, End: r.End, Tail: r.Tail})
		for _, l := range r.End.Lacks {
			if !slices.Contains(out.Lacks, l) {
				out.Lacks = append(out.Lacks, l)
			}
		}
		if task == "" && r.End.Setup == "" {
			if err := d.keepBase(ctx, r); err != nil {
				return out, err
			}
		}
	}
	return out, nil
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
		} else if i := slices.IndexFunc(known, func(r BaseResult) bool { return r.Key == triedPrefix+key }); i >= 0 && !run {
			if c.Cut = known[i].End.Setup == ""; !c.Cut {
				c.Result = &known[i]
			}
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
