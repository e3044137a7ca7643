package verb_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

// A merge makes a task claimable after the claim has looked at the integration branch: the
// worktree begins with what was merged, not with what the branch was before.
func TestAClaimBeginsWithTheMergeThatMadeItPossible(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("first")
	p.AddTask("second", "first")
	d := p.Service("coder-1")
	d.Board.At = func(point string) {
		if point != "claim.looked" {
			return
		}
		if _, err := p.Service("").Merges.Merge(context.Background(), "first"); err != nil {
			t.Error(err)
		}
	}
	c, err := d.Claim(context.Background(), "second")
	if err != nil {
		t.Fatal(err)
	}
	if merged := p.State().Task("first"); merged.Status != blackboard.Merged || c.BaseCommit != merged.MergeCommit {
		t.Errorf("first is %s, merged as %s; second begins at %s", merged.Status, merged.MergeCommit, c.BaseCommit)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, c.Worktree, "first.md")); err != nil {
		t.Errorf("the worktree lacks what second depends on: %v", err)
	}
}
