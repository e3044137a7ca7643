package git

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func (f *fixture) unsound(id, commit string) string {
	f.t.Helper()
	why, err := f.repo.Unsound(f.t.Context(), Line{ID: id, Commit: commit, Known: []string{f.git("merge-base", "main", "integration"), f.integration(), ""}})
	if err != nil {
		f.t.Fatal(err)
	}
	return why
}

func TestOnlyATasksOwnCommitsAreSound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.integration()
	f.git("branch", "task/a", base)
	f.git("branch", "task/b", base)
	own := f.commitOn("task/a", "own.txt", "x\n")
	theirs := f.commitOn("task/b", "theirs.txt", "x\n")
	if why := f.unsound("a", own); why != "" {
		t.Errorf("a commit of its own: %s", why)
	}
	tree := f.git("rev-parse", own+"^{tree}")
	merged := f.advance("later.txt", "x\n")
	for name, c := range map[string]struct {
		parents []string
		want    string
	}{
		"a merge of the integration branch": {[]string{own, merged}, ""},
		"a neighbour's commit as second":    {[]string{own, theirs}, fmt.Sprintf("commit %.9s came in by a merge", theirs)},
		"a neighbour's commit as third":     {[]string{own, merged, theirs}, fmt.Sprintf("commit %.9s came in by a merge", theirs)},
	} {
		args := []string{"commit-tree", tree, "-m", name}
		for _, p := range c.parents {
			args = append(args, "-p", p)
		}
		commit := f.git(args...)
		if why := f.unsound("a", commit); c.want == "" && why != "" || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}

func TestATreeThatGitsOwnCheckRefusesIsUnsound(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"..", ".", ".git", ".GIT", "a/b", ""} {
		f := newFixture(t)
		blob, err := hex.DecodeString(f.git("rev-parse", "HEAD:a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, f.dir+"/tree", "100644 "+entry+"\x00"+string(blob))
		tree := f.git("hash-object", "-t", "tree", "-w", "--literally", "tree")
		commit := f.git("commit-tree", tree, "-p", f.integration(), "-m", "odd")
		if why := f.unsound("a", commit); !strings.Contains(why, "git's check") {
			t.Errorf("a tree with the entry %q: %q", entry, why)
		}
	}
}
