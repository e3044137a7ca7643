package git

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkGitFolder makes a worktree of 10,000 files with a git folder of its own, and takes over one commit, beside a bare
// `git worktree add` of the same run, by turns. Medians.
func BenchmarkGitFolder(b *testing.B) {
	f := newFixture(b)
	for n := range 10_000 {
		f.write(fmt.Sprintf("d%d/f%d", n%100, n), fmt.Sprintf("file %d\n", n))
	}
	f.git("add", "-A")
	f.git("commit", "-qm", "files")
	f.git("branch", "-f", "integration", "HEAD")
	spent := map[string][]time.Duration{}
	timed := func(name string, do func()) {
		began := time.Now()
		do()
		spent[name] = append(spent[name], time.Since(began))
	}
	for n := 0; b.Loop(); n++ {
		bare := filepath.Join(filepath.Dir(f.dir), fmt.Sprint("bare", n))
		timed("worktree-add", func() { f.git("worktree", "add", "-q", "--detach", bare, "integration") })
		id := fmt.Sprint("t", n)
		x := &run{fixture: f, base: f.integration(), dir: f.repo.WorktreePath(id)}
		timed("provide", func() { f.provide(Provide{ID: id, Base: x.base}) })
		timed("open", func() { x.open(id, "coder-1", true) })
		timed("nothing-new", func() { x.take() })
		x.commit("new.txt", "x\n")
		timed("take-over", func() { x.take() })
		timed("close", func() { x.close() })
		f.git("worktree", "remove", "--force", bare)
		if _, _, err := f.repo.Save(b.Context(), Work{ID: id, Path: x.dir}); err != nil {
			b.Fatal(err)
		}
		if err := f.repo.Remove(b.Context(), id, Proof{Integration: x.base}); err != nil {
			b.Fatal(err)
		}
	}
	median := func(name string) float64 {
		slices.Sort(spent[name])
		return float64(spent[name][len(spent[name])/2].Microseconds()) / 1000
	}
	for name := range spent {
		b.ReportMetric(median(name), name+"-ms")
	}
	b.ReportMetric((median("provide")+median("open"))/median("worktree-add"), "×worktree-add")
}
