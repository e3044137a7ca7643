package upkeep

import (
	"context"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/blackboard/audit"
	"liza/pkg/git"
	"liza/pkg/verb"
)

// gitFacts adds what git says about branches, worktrees and merges.
func gitFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error), f *audit.Facts) error {
	f.BranchExists = func(name string) bool { _, err := repo.BranchTip(ctx, name); return err == nil }
	f.ResolveCommit = func(short string) (string, bool) { full, err := repo.Resolve(ctx, short); return full, err == nil }
	var err error
	if f.TaskBranches, err = repo.Branches(ctx, "task"); err != nil {
		return err
	}
	worktrees, err := repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range worktrees {
		if rel, err := filepath.Rel(repo.Root(), w.Path); err == nil && !w.Main {
			f.Worktrees = append(f.Worktrees, filepath.ToSlash(rel))
		}
	}
	if err := trackedFacts(ctx, repo, f); err != nil {
		return err
	}
	head, err := verb.IntegrationTip(ctx, repo, s, remote, view)
	if err != nil {
		return err
	}
	if f.IntegrationTip = &head; head == "" {
		return nil
	}
	return mergeFacts(ctx, repo, s, head, f)
}

func mergeFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, head string, f *audit.Facts) error {
	var commits []string
	for t := range s.Tasks() {
		if t == nil {
			continue
		}
		if t.MergeCommit != "" {
			commits = append(commits, t.MergeCommit)
		}
		if t.MergeIntent != nil {
			commits = append(commits, t.MergeIntent.Commit)
		}
	}
	outside, err := repo.Uncontained(ctx, commits, head)
	if err != nil {
		return err
	}
	lost := map[string]bool{}
	for _, c := range outside {
		lost[c] = true
	}
	f.MergedIntoIntegration = func(commit string) bool { return !lost[commit] }
	return nil
}

// trackedFacts warns of files of Liza that are in the index (specs/protocol.md#14, B26).
func trackedFacts(ctx context.Context, repo *git.Repo, f *audit.Facts) error {
	tracked, err := repo.Tracked(ctx, ".liza", ".worktrees")
	if err != nil {
		return err
	}
	for _, path := range tracked {
		if verb.MayBeTracked(path) {
			continue
		}
		f.Decode = append(f.Decode, blackboard.Violation{Rule: "V56", Severity: blackboard.SeverityWarning, Subjects: []string{path},
			Message: path + " is tracked by git; next: git rm --cached -r " + topOf(path)})
	}
	return nil
}

func topOf(path string) string {
	if strings.HasPrefix(path, ".worktrees") {
		return ".worktrees"
	}
	return path
}
