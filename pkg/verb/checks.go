package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/review"
	"liza/pkg/transition"
)

// Checked is what the checks found before a review.
type Checked struct {
	Done
	Checks   []*blackboard.Check
	Findings []*blackboard.Finding
	Rejected string // why there is nothing left to judge: the task was rejected without a reviewer
}

// Check does the checks of a submission for the reviewer who has claimed it, on the exact
// commit, and stores what they found (specs/roles-and-knowledge.md#5.5). What came into the worktree
// after the submission is put aside first; work with errors is rejected when
// review.skip_agent_on_error says so.
func (d *Service) Check(ctx context.Context, id string) (Checked, error) {
	out := Checked{Done: Done{Task: id}}
	s, err := d.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || !t.ChangesFiles() || d.Config().Review.Disabled() {
		return out, nil
	}
	out.Status = t.Status
	if _, err := d.PutBack(ctx, id, ""); err != nil {
		return out, err
	}
	if out.Checks, out.Findings, err = d.runChecks(ctx, s, t, false); err != nil {
		return out, err
	}
	err = d.Update(ctx, "checks", func(s *blackboard.State, a transition.Actor) error {
		return transition.RecordChecks(s, id, a, &blackboard.Review{Commit: t.ReviewCommit, At: blackboard.TimeOf(d.Now()), Checks: out.Checks, Findings: out.Findings})
	})
	if err != nil || !d.Config().Review.SkipAgentOnError {
		return out, err
	}
	errs := ErrorsFound(out.Findings)
	if errs == "" {
		return out, nil
	}
	done, err := d.Verdict(ctx, VerdictInput{Task: id, Verdict: Reject, Reason: errs, Supervisor: true, Checks: true})
	out.Done, out.Rejected = done.Done, errs
	return out, err
}

// ErrorsFound names the errors among findings, "" for none.
func ErrorsFound(findings []*blackboard.Finding) string {
	var errs []string
	for _, f := range findings {
		if f.Severity == review.Error {
			errs = append(errs, strings.TrimPrefix(f.File+": "+f.Message, ": "))
		}
	}
	if len(errs) == 0 {
		return ""
	}
	return "the checks found errors: " + strings.Join(errs, "; ")
}

// ForeseeChecks gives a task of a rehearsed board the checks that its next review will see,
// as far as they can be had without running anything. open names those that have to run.
func (d *Service) ForeseeChecks(ctx context.Context, s *blackboard.State, t *blackboard.Task) (open []string, err error) {
	if t == nil || !t.ChangesFiles() || d.Config().Review.Disabled() {
		return nil, nil
	}
	checks, findings, err := d.runChecks(ctx, s, t, true)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if c.Message == review.NotRun {
			open = append(open, c.Name)
		}
	}
	t.Review = &blackboard.Review{Commit: t.ReviewCommit, Checks: checks, Findings: findings}
	return open, nil
}

// runChecks does the checks in a throw-away worktree at the review commit.
func (d *Service) runChecks(ctx context.Context, s *blackboard.State, t *blackboard.Task, lookOnly bool) ([]*blackboard.Check, []*blackboard.Finding, error) {
	fail := func(err error) ([]*blackboard.Check, []*blackboard.Finding, error) {
		return nil, nil, fmt.Errorf("cannot check %s: %w", t.ID, err)
	}
	from, to, err := d.Proposal(ctx, s, t, t.ReviewCommit)
	if err != nil {
		return fail(err)
	}
	sub, err := d.submissionToCheck(ctx, s, t, from, to)
	if err != nil {
		return fail(err)
	}
	files, err := d.Repo.ListCommit(ctx, t.ReviewCommit)
	if err != nil {
		return fail(err)
	}
	b := d.checkEnvironment(ctx, s, t, from, files)
	b.LookOnly = lookOnly
	results, err := sub.Run(ctx, b)
	if !lookOnly {
		if e := d.clearReview(context.WithoutCancel(ctx), t.ID); e != nil {
			d.Progressf("cannot remove the worktree of the checks: %v", e)
		}
	}
	if err != nil {
		return fail(err)
	}
	var checks []*blackboard.Check
	var findings []*blackboard.Finding
	for _, r := range results {
		c := r.Check
		if c.Log != "" {
			c.Log = d.Rel(c.Log)
		}
		if c.Baseline != "" {
			c.Baseline = d.Rel(c.Baseline)
		}
		checks = append(checks, &c)
		findings = append(findings, r.Findings...)
	}
	return checks, findings, nil
}

// submissionToCheck gathers what the checks look at: the change between from and to.
func (d *Service) submissionToCheck(ctx context.Context, s *blackboard.State, t *blackboard.Task, from, to string) (*review.Submission, error) {
	changes, err := review.Changes(ctx, d.Repo, from, to)
	if err != nil {
		return nil, err
	}
	undone, err := d.undone(ctx, t, from, to)
	if err != nil {
		return nil, err
	}
	d.loadSecrets()
	sub := &review.Submission{Task: t, Changes: changes, Undone: undone, Settings: checkSettings(d.Config().Review), Known: d.Secrets.Find}
	if !s.Bool("tests_required") {
		delete(sub.Settings.Checks, review.TestCoverage) // one setting is enough, here as at submit
	}
	if sub.Settings.Checks[review.MergePreview].Enabled {
		if head, err := d.tipHere(ctx, s); err == nil {
			var conflict *git.ConflictError
			if err := d.Repo.TryMerge(ctx, head, t.ReviewCommit); errors.As(err, &conflict) {
				sub.Conflicts = conflict.Files
			}
		}
	}
	return sub, nil
}

// checkEnvironment is where the commands run: detached at the review commit, without secrets.
func (d *Service) checkEnvironment(ctx context.Context, s *blackboard.State, t *blackboard.Task, base string, files []git.Listed) *review.Environment {
	cfg := d.Config()
	b := &review.Environment{Tree: d.treeAt(ctx, t.ReviewCommit, files), Timeout: cfg.Limits.CheckTimeout, Hide: s.Secrets, Setup: cfg.Worktree.Setup, Hooks: cfg.Hooks.PreReview,
		Log: func(check string) string { return d.Project.CheckLog(t.ID, strings.ReplaceAll(check, ":", "-")) }, Mask: d.Secrets.Mask,
		Enclose: d.Enclose, MaskLog: func(w io.Writer) io.WriteCloser { return d.Secrets.Writer(w) },
		Say:      func(text string) { d.Progressf("%s: %s", t.ID, text) },
		Worktree: func(ctx context.Context) (string, error) { return d.openReview(ctx, t) }, Changed: d.Repo.Changed}
	if t.Review != nil {
		b.Before = t.Review.Checks
	}
	if cfg.Review.Baseline {
		b.Base = func(ctx context.Context, check, command string) (review.End, error) {
			return d.onBase(ctx, s.Secrets, base, check, command)
		}
		b.BaseLog = func(stored string) string { return filepath.Join(d.Project.Root, stored) }
		b.Passed = func(command string) { d.passed(ctx, t.ReviewCommit, command) }
	}
	return b
}
