package git

import (
	"slices"
	"strings"
	"testing"
)

func TestBranchesBelowAFolderAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "task/a")
	f.git("branch", "task/b.1")
	f.git("branch", "taskless")
	got, err := f.repo.Branches(t.Context(), "task")
	if err != nil || !slices.Equal(got, []string{"task/a", "task/b.1"}) {
		t.Errorf("Branches: %q, %v; want task/a and task/b.1", got, err)
	}
}

func TestCommitsOutsideOfAHistoryAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := strings.TrimSpace(f.git("rev-parse", "main"))
	f.write("b.txt", "b\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "later")
	later := strings.TrimSpace(f.git("rev-parse", "main"))
	missing := strings.Repeat("ab", 20)
	got, err := f.repo.Uncontained(t.Context(), []string{old, later, missing}, old)
	if err != nil || !slices.Equal(got, []string{missing, later}) {
		t.Errorf("Uncontained: %q, %v; want the missing and the later commit", got, err)
	}
	if got, err := f.repo.Uncontained(t.Context(), []string{old, later}, later); err != nil || len(got) != 0 {
		t.Errorf("Uncontained in a head that has all: %q, %v", got, err)
	}
}

func TestTrackedFilesBelowPathsAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".liza/state.yaml", "version: 1\n")
	f.git("add", "-f", ".liza/state.yaml")
	got, err := f.repo.Tracked(t.Context(), ".liza", ".worktrees")
	if err != nil || !slices.Equal(got, []string{".liza/state.yaml"}) {
		t.Errorf("Tracked: %q, %v; want .liza/state.yaml", got, err)
	}
}
