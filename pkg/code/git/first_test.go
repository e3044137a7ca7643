package git

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFirstCommitTimeIsThatOfTheOldestOwnCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.integration()
	dir := f.provide(Provide{ID: "task-1"}).Path
	var commits []string
	for i, at := range []string{"2026-01-19T14:00:00Z", "2026-01-19T15:00:00Z", "2026-01-19T14:30:00Z"} {
		writeFile(t, dir+"/b.txt", strings.Repeat("line\n", i+1))
		f.gitIn(dir, "add", "-A")
		cmd := f.command(dir, "commit", "-q", "-m", "work")
		cmd.Env = append(cmd.Env, "GIT_COMMITTER_DATE="+at, "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git commit: %v\n%s", err, out)
		}
		commits = append(commits, strings.TrimSpace(f.gitIn(dir, "rev-parse", "HEAD")))
	}
	gone := strings.Repeat("1", 40)
	for _, c := range []struct {
		what   string
		others []string
		want   string
	}{
		{"since the base", []string{base}, "2026-01-19T14:00:00Z"},
		{"since an earlier attempt", []string{base, commits[0]}, "2026-01-19T14:30:00Z"},
		{"with a commit that is gone", []string{base, gone}, "2026-01-19T14:00:00Z"},
		{"nothing of its own", []string{commits[2]}, ""},
	} {
		at, ok, err := f.repo.FirstCommitTime(t.Context(), commits[2], c.others...)
		if got := at.UTC().Format(time.RFC3339); err != nil || ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s, %v, %v; want %s", c.what, got, ok, err, c.want)
		}
	}
	if _, _, err := f.repo.FirstCommitTime(t.Context(), "-x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an option as commit gives %v", err)
	}
	if _, ok, err := f.repo.FirstCommitTime(t.Context(), gone); ok || err != nil {
		t.Errorf("a commit that is gone gives %v, %v", ok, err)
	}
}
