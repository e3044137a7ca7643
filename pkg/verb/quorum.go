package verb

import (
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/review"
	"liza/pkg/transition"
)

// quorumRules are those of review.quorum.
func quorumRules(cfg *config.Config) []blackboard.QuorumRule {
	var rules []blackboard.QuorumRule
	for _, r := range cfg.Review.Quorum {
		rules = append(rules, blackboard.QuorumRule{Paths: r.Paths, Reviewers: r.Reviewers, Programs: r.Programs})
	}
	return rules
}

// quorumOf is what review.quorum asks for the change that a merge of the task's commit onto a commit or branch would
// make, nil for one reviewer. Without rules git is not asked.
func (d *Service) quorumOf(ctx context.Context, t *blackboard.Task, onto string) (*blackboard.Quorum, error) {
	rules := quorumRules(d.Config())
	if len(rules) == 0 || !t.ChangesFiles() || t.ReviewCommit == "" {
		return nil, nil
	}
	from, to, err := d.proposal(ctx, t, onto, t.ReviewCommit)
	if err != nil {
		return nil, err
	}
	changes, err := d.Repo.ChangedFiles(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("cannot find what %s changes: %w", t.ID, err)
	}
	var files []string
	for _, c := range changes {
		files = append(files, c.Path)
		if c.OldPath != "" {
			files = append(files, c.OldPath)
		}
	}
	return blackboard.QuorumFor(rules, files, review.Within), nil
}

// quorum puts into the facts of an approval what the change needs.
func (d *Service) quorum(ctx context.Context, s *blackboard.State, t *blackboard.Task, in *transition.Input) (err error) {
	if len(d.Config().Review.Quorum) == 0 && len(t.Approvals) == 0 || !t.ChangesFiles() {
		return nil
	}
	if in.Quorum, err = d.quorumOf(ctx, t, s.IntegrationBranch()); err == nil && in.Review != nil {
		in.Review.Tree, err = d.Repo.TreeOf(ctx, t.ReviewCommit)
	}
	return err
}
