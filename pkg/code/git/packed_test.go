package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A repository can have many thousands of packed refs. They are read once, and not at each question about one.
func TestPackedRefsAreReadOnce(t *testing.T) { // not parallel: it counts allocations
	f := newFixture(t)
	tip := f.integration()
	f.git("pack-refs", "--all")
	packed := &strings.Builder{}
	packed.WriteString(readText(t, f.dir+"/.git/packed-refs"))
	for i := range 5000 {
		fmt.Fprintf(packed, "%s refs/remotes/origin/topic-%05d\n", tip, i)
	}
	f.write(".git/packed-refs", packed.String())
	ask := func() {
		if got, err := f.repo.BranchTip(t.Context(), "integration"); got != tip || err != nil {
			t.Errorf("integration is at %q, %v", got, err)
		}
		if _, err := f.repo.BranchTip(t.Context(), "task/none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a branch that is not there: %v", err)
		}
		if head, err := f.repo.Head(t.Context()); head.Branch != "main" || head.Commit != tip || err != nil {
			t.Errorf("HEAD is %+v, %v", head, err)
		}
	}
	ask()
	if n := testing.AllocsPerRun(3, ask); n > 2000 {
		t.Errorf("three questions about 5,000 packed refs took %v allocations", n)
	}
	f.git("branch", "-D", "-q", "integration")
	if _, err := f.repo.BranchTip(t.Context(), "integration"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a branch that was deleted: %v", err)
	}
}
