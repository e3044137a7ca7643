package git

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	if err != nil || !slices.Equal(got, []string{later, missing}) {
		t.Errorf("Uncontained: %q, %v; want the later and the missing commit", got, err)
	}
	if got, err := f.repo.Uncontained(t.Context(), []string{old, later}, later); err != nil || len(got) != 0 {
		t.Errorf("Uncontained in a head that has all: %q, %v", got, err)
	}
}

func TestAskingForManyCommitsTakesAHandfulOfProcesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var side []string // commits that are not merges: they are not on the first-parent line
	for i := range 40 {
		f.git("checkout", "-q", "-b", fmt.Sprint("task/", i))
		f.git("commit", "-q", "--allow-empty", "-m", "work")
		side = append(side, f.git("rev-parse", "HEAD"))
		f.git("checkout", "-q", "main")
		f.git("merge", "-q", "--no-ff", "-m", "merge", fmt.Sprint("task/", i))
	}
	merges := strings.Fields(f.git("rev-list", "--first-parent", "main"))
	trace := filepath.Join(t.TempDir(), "trace")
	f.env = append(f.env, "GIT_TRACE2_EVENT="+trace)
	repo := f.open(f.dir)
	started := func() int { return strings.Count(readText(t, trace), `"event":"start"`) }
	ask := func(head string, most int, commits ...string) {
		t.Helper()
		before := started()
		if got, err := repo.Uncontained(t.Context(), commits, head); err != nil || len(got) > 0 {
			t.Errorf("Uncontained: %q, %v; want none", got, err)
		}
		if n := started() - before; n > most {
			t.Errorf("%d commits took %d processes, want at most %d", len(commits), n, most)
		}
	}
	ask(merges[20], 2, merges[20:]...) // one of them reads the configuration, once
	ask(merges[20], 0, merges[20:]...)
	ask(merges[0], 1, merges...) // the branch went on
	ask(merges[0], 2, append(side, merges...)...)
	ask(merges[0], 0, append(side, merges...)...)
}

func TestWhatOneHeadContainedIsForgottenWithAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.git("rev-parse", "main")
	f.git("commit", "-q", "--allow-empty", "-m", "second")
	second := f.git("rev-parse", "main")
	for _, c := range []struct {
		head string
		want []string
	}{{second, nil}, {first, []string{second}}, {second, nil}, {first, []string{second}}} {
		if got, err := f.repo.Uncontained(t.Context(), []string{first, second}, c.head); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("not in %s: %q, %v; want %q", c.head, got, err, c.want)
		}
	}
	short := second[:8]
	if got, err := f.repo.Uncontained(t.Context(), []string{short, "--all", "", "x y"}, second); err != nil || !slices.Equal(got, []string{"--all", "", "x y"}) {
		t.Errorf("short and malformed names: %q, %v", got, err)
	}
}
