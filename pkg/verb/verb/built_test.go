package verb_test

import (
	"testing"

	"liza/pkg/verb/verb/verbtest"
)

// What a task brought are its own commits, not those of tasks before it; their subjects are an agent's words.
func TestBuiltNamesTheCommitsOfEachTaskWithoutSecrets(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Merges(3)
	d := p.Service("")
	s := p.State()
	b := d.Integration.Built(t.Context(), s)
	if len(b.Work) != 3 || b.Commits != 3 {
		t.Fatalf("got %+v, %d commits, want the work of three tasks in three commits and no merges", b.Work, b.Commits)
	}
	for i, w := range b.Work {
		if task := s.Task(w.Task); w.Task != b.Tasks[i] || len(w.Commits) != 1 || w.Commits[0].Hash != task.ReviewCommit || w.Commits[0].Subject != "Work" {
			t.Errorf("%s brought %+v, want %s", w.Task, w.Commits, task.ReviewCommit)
		}
	}

	tip := p.Git(p.Dir, "rev-parse", "integration")
	work := p.Git(p.Dir, "commit-tree", "integration^{tree}", "-p", tip, "-m", "Log in with correct-horse")
	merge := p.Git(p.Dir, "commit-tree", "integration^{tree}", "-p", tip, "-p", work, "-m", "Merge old-2")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", merge)
	p.Secrets.Add("db", "correct-horse")
	s = s.Clone()
	s.Integration.Tip, s.Task("old-2").MergeCommit = merge, merge
	b = d.Integration.Built(t.Context(), s)
	if last := b.Work[len(b.Work)-1]; last.Task != "old-2" || len(last.Commits) != 1 || last.Commits[0].Subject != "Log in with [REDACTED:db]" {
		t.Errorf("got %+v, want the secret masked", last)
	}
}
