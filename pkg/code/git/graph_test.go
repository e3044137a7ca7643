package git

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is found without a process is what git says: of a graph with merges, with clocks that differ, and of changes of every kind.
func TestWhatIsFoundWithoutGitIsWhatGitSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	var commits []string
	parent := func() string {
		return commits[max(0, len(commits)-1-random.IntN(6))]
	}
	for i := range 30 {
		f.git("read-tree", "--empty")
		var args []string
		if i > 0 {
			p := parent()
			f.git("read-tree", p)
			if args = append(args, "-p", p); random.IntN(3) == 0 {
				if q := parent(); q != p {
					args = append(args, "-p", q)
				}
			}
		}
		for range 1 + random.IntN(2) {
			name := []string{"a", "b", "dir/c", "dir/d", "dir.e", "dir/sub/f", "q\"uote"}[random.IntN(7)]
			if i > 2 && random.IntN(5) == 0 {
				f.git("rm", "-q", "--cached", "-r", "--ignore-unmatch", name)
				continue
			}
			f.write("blob", strings.Repeat(fmt.Sprintf("%d\n", random.IntN(9)), 9))
			mode := []string{"100644", "100755", "120000"}[random.IntN(3)]
			f.git("update-index", "--add", "--replace", "--cacheinfo", mode+","+f.git("hash-object", "-w", "blob")+","+name)
		}
		at := fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", someTime.Add(time.Duration(i+random.IntN(5)-2)*time.Second).Unix())
		commits = append(commits, f.gitAt(at, slices.Concat([]string{"commit-tree", f.git("write-tree"), "-m", fmt.Sprint(i)}, args)))
	}
	repo := f.open(f.dir)
	found := map[string]int{}
	for _, a := range commits {
		for _, b := range commits[max(0, len(commits)-8):] {
			looked(t, f, repo, a, b, found)
		}
	}
	for _, what := range []string{"base", "changes", "apart"} {
		if found[what] < 15 {
			t.Errorf("%s was found without git %d times", what, found[what])
		}
	}
}

// gitAt runs git with a variable, and returns what it says.
func (f *fixture) gitAt(variable string, args []string) string {
	f.t.Helper()
	cmd := f.command(f.dir, args...)
	cmd.Env = append(cmd.Env, variable)
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatal(args, err)
	}
	return strings.TrimSpace(string(out))
}

// whole is what git says, with the space at its ends.
func (f *fixture) whole(args ...string) string {
	f.t.Helper()
	out, err := f.command(f.dir, args...).Output()
	if err != nil {
		f.t.Fatal(args, err)
	}
	return string(out)
}

// looked compares what is found of two commits with what git says.
func looked(t *testing.T, f *fixture, repo *Repo, a, b string, found map[string]int) {
	ctx := context.Background()
	if fork, err := repo.forkOf(ctx, a, b); err != nil {
		t.Errorf("%s and %s: %v", a, b, err)
	} else {
		if all := fork.bases(); len(all) == 1 {
			found["base"]++
			if says := f.git("merge-base", "--all", a, b); all[0] != says {
				t.Errorf("base of %s and %s: %s, git says %s", a, b, all[0], says)
			}
		}
		if says := f.git("rev-list", "--count", b, "^"+a); fmt.Sprint(fork.ahead()) != says {
			t.Errorf("%s has %d more than %s, git says %s", b, fork.ahead(), a, says)
		}
	}
	if changes, err := repo.compare(ctx, a, b); err == nil {
		found["changes"]++
		out, err := repo.diffTree(ctx, a, b, nil, 0, "--raw", "-z")
		if says, _ := parseRaw(out); err != nil || !slices.Equal(changes, says) {
			t.Errorf("from %s to %s: %v, git says %v, %v", a, b, changes, says, err)
		}
	}
	if repo.apart(ctx, a, b) {
		found["apart"]++
		if _, err := repo.MergeTree(ctx, a, b); err != nil {
			t.Errorf("%s and %s are apart: %v", a, b, err)
		}
	}
	if found["compared"]++; found["compared"]%4 > 0 {
		return
	}
	if whole, err := repo.Diff(ctx, a, b); err != nil || whole != f.whole("diff-tree", "-r", "--find-renames", "--patch", a, b) {
		t.Errorf("the difference of %s and %s is another one: %v", a, b, err)
	}
	if stat, err := repo.DiffStat(ctx, a, b); err != nil || stat != f.whole("diff-tree", "-r", "--find-renames", "--stat=120", a, b) {
		t.Errorf("the summary of %s and %s is another one: %v", a, b, err)
	}
}

// A fetch may give a shallow repository the parents that its commits lack: nothing is found there, and nothing remembered.
func TestAShallowRepositoryIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base, commit := f.integration(), committed(f)
	if err := os.WriteFile(filepath.Join(f.dir, ".git", "shallow"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	repo := f.open(f.dir)
	if _, err := repo.forkOf(t.Context(), base, commit); err != errFar {
		t.Error(err)
	}
	if _, err := repo.bases(t.Context(), base, commit); err != nil {
		t.Error(err)
	}
	if _, known := repo.answers.get("bases " + base + " " + commit); known {
		t.Error("it is remembered")
	}
}
