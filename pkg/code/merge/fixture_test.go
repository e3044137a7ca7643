package merge_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// must gives a function that takes the results of a verb which has to succeed.
func must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// approve brings a claimable task to APPROVED with one commit for each file.
func approve(t *testing.T, p *verbtest.Place, id string, files ...string) {
	t.Helper()
	ctx := context.Background()
	coder, reviewer := p.Service("coder-9"), p.Service("code-reviewer-9")
	done := must(t)
	done(coder.Claim(ctx, id))
	dir := p.Repo.WorktreePath(id)
	for _, name := range files {
		verbtest.Write(t, filepath.Join(dir, name), "a word of "+id+"\n")
		p.Git(dir, "add", "-A")
		p.Git(dir, "commit", "-q", "-m", name)
	}
	done(coder.Submit(ctx, verb.SubmitInput{Task: id}))
	done(reviewer.Reviews.ClaimReview(ctx, id))
	done(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: "approve"}))
}

// outside commits a file with a mode to the integration branch, as somebody else's push would.
func outside(p *verbtest.Place, name, text string, mode os.FileMode) {
	p.TB.Helper()
	dir := p.Push("", "")
	verbtest.Write(p.TB, filepath.Join(dir, name), text)
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		p.TB.Fatal(err)
	}
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "outside")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", p.Git(dir, "rev-parse", "HEAD"))
	p.Git(p.Dir, "worktree", "remove", "--force", dir)
	p.Accept()
}
