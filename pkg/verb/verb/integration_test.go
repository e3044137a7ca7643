package verb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/verb/verb/verbtest"
)

// A branch that cannot be put back stays as it is, and who asked for it is told what to do first.
func TestABranchThatCannotBeRestoredStaysAndTheWayIsNamed(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(p *verbtest.Place, left string) // before it is to be restored
		next   func(p *verbtest.Place) string
	}{
		"it is checked out": {
			func(p *verbtest.Place, _ string) {
				p.Git(p.Dir, "worktree", "add", "-q", filepath.Join(p.Dir, ".git", "mine"), "integration")
			},
			func(p *verbtest.Place) string {
				return "git -C " + filepath.Join(p.Dir, ".git", "mine") + " switch OTHER"
			},
		},
		"what Liza left is gone": {
			func(p *verbtest.Place, left string) {
				p.Git(p.Dir, "update-ref", "refs/heads/integration", p.Git(p.Dir, "commit-tree", "-m", "mine", "integration^{tree}"))
				p.Must(nil, os.Remove(filepath.Join(p.Dir, ".git/objects", left[:2], left[2:])))
			},
			func(*verbtest.Place) string { return "liza sync --accept" },
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Approved("task-1")
			p.Merge("task-1")
			left := p.State().Tip()
			p.Push("word.md", "a word\n")
			c.change(p, left)
			tip := p.Git(p.Dir, "rev-parse", "integration")
			_, err := p.Service("").Merges.RestoreIntegration(t.Context(), "it is not mine")
			if err == nil || !strings.HasSuffix(verbtest.Advice(err), "(next: "+c.next(p)+")") {
				t.Errorf("restored: %v, next: %s", err, verbtest.Advice(err))
			}
			if now := p.Git(p.Dir, "rev-parse", "integration"); now != tip || p.State().Tip() != left {
				t.Errorf("the branch is at %s, want %s, and the board has %s", now, tip, p.State().Tip())
			}
		})
	}
}
