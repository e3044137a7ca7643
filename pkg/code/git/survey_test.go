package git

import (
	"slices"
	"testing"
)

func TestBranchesBelowAFolderAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "task/a")
	f.git("branch", "task/b.1")
	f.git("branch", "taskless")
	f.git("pack-refs", "--all")
	f.git("branch", "task/c/d")
	f.git("branch", "task/e")
	f.git("branch", "-D", "task/e")
	f.git("branch", "-f", "task/a", "main")
	want := []string{"task/a", "task/b.1", "task/c/d"}
	got, err := f.repo.Branches(t.Context(), "task")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Branches: %q, %v; want %q", got, err, want)
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
