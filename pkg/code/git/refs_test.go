package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestHeadOfADetachedAndOfAnEmptyRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	start := f.git("rev-parse", "HEAD")
	f.git("checkout", "-q", "--detach")
	if head, err := f.repo.Head(t.Context()); err != nil || head != (Head{"", start}) {
		t.Errorf("detached: %v, %v", head, err)
	}
	f.git("checkout", "-q", "--orphan", "new")
	if head, err := f.repo.Head(t.Context()); err != nil || head != (Head{"new", ""}) {
		t.Errorf("branch without commit: %v, %v", head, err)
	}
	if has, err := f.repo.HasCommit(t.Context()); err != nil || !has {
		t.Errorf("HasCommit is %v, %v; other branches have one", has, err)
	}
	empty := realTemp(t)
	f.gitIn(empty, "init", "-q", "-b", "main")
	repo := f.open(empty)
	if head, err := repo.Head(t.Context()); err != nil || head != (Head{"main", ""}) {
		t.Errorf("empty repository: %v, %v", head, err)
	}
	if has, err := repo.HasCommit(t.Context()); err != nil || has {
		t.Errorf("HasCommit of an empty repository is %v, %v", has, err)
	}
}

func TestNamesResolveToFullHashes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	start := f.git("rev-parse", "HEAD")
	f.git("tag", "-a", "-m", "x", "v1")
	for _, rev := range []string{start, start[:8], "main", "refs/heads/main", "v1", "HEAD", "integration~0"} {
		if got, err := f.repo.Resolve(t.Context(), rev); err != nil || got != start {
			t.Errorf("%s resolved to %q, %v", rev, got, err)
		}
	}
	tree := f.git("rev-parse", "HEAD^{tree}")
	for _, rev := range []string{strings.Repeat("1", 40), "nope", "", "--all", "-h", "HEAD\nmain", tree} {
		if got, err := f.repo.Resolve(t.Context(), rev); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q resolved to %q, %v; want ErrNotFound", rev, got, err)
		}
		if has, err := f.repo.CommitExists(t.Context(), rev); has || err != nil {
			t.Errorf("commit %q exists: %v, %v", rev, has, err)
		}
	}
	if got, err := f.repo.Ref(t.Context(), "refs/heads/main"); err != nil || got != start {
		t.Errorf("the ref is %q, %v", got, err)
	}
	for _, ref := range []string{"refs/heads/nope", "refs/heads", "refs/liza/candidate/x"} {
		if _, err := f.repo.Ref(t.Context(), ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("ref %s: %v; want ErrNotFound", ref, err)
		}
	}
}

func TestBranchNamesAreJudgedAsGitJudgesThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{
		"a", "task/a.b-c", "a.lock", "a..b", "-a", "a/-b", ".a", "a/.b", "a.", "a b", "a~", "a^", "a:b", "a?", "a*", "a[", "a\\b", "@", "a@{b",
		"", "a//b", "/a", "a/", "a\x7f", "ünï", "HEAD", "a.lock/b",
	} {
		err := f.command(f.dir, "check-ref-format", "refs/heads/"+name).Run()
		want := err == nil && name != "HEAD" && !strings.HasPrefix(name, "-") && name != "@"
		if ValidBranchName(name) != want {
			t.Errorf("branch name %q is valid: %v; git says %v", name, !want, err)
		}
	}
}

func TestAncestorsAreFoundNearAndFar(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.repo
	root := f.git("rev-parse", "HEAD")
	var feed strings.Builder
	for i := range walkLimit + 20 {
		fmt.Fprintf(&feed, "commit refs/heads/long\ncommitter T <t@example.org> %d +0000\ndata 1\nx\n", 1_800_000_000+i)
		if i == 0 {
			fmt.Fprintf(&feed, "from %s\n", root)
		}
	}
	cmd := f.command(f.dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(feed.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	long, side := f.git("rev-parse", "long"), f.advance("side.txt", "x\n")
	for _, c := range []struct {
		a, b string
		want bool
	}{{root, long, true}, {long, root, false}, {side, long, false}, {long, long, true}, {f.git("rev-parse", "long~5"), long, true}, {"main", "long", true}} {
		if got, err := r.IsAncestor(t.Context(), c.a, c.b); err != nil || got != c.want {
			t.Errorf("%s in %s: %v, %v; want %v", c.a, c.b, got, err, c.want)
		}
	}
	for _, gone := range []string{strings.Repeat("1", 40), "-x"} {
		if _, err := r.IsAncestor(t.Context(), gone, long); err == nil {
			t.Errorf("an ancestor test of %s gave no error", gone)
		}
	}
	if n, err := r.CountBetween(t.Context(), root, long); err != nil || n != walkLimit+20 {
		t.Errorf("%d commits between, %v", n, err)
	}
	if base, err := r.MergeBase(t.Context(), side, long); err != nil || base != root {
		t.Errorf("the merge base is %s, %v", base, err)
	}
	f.git("checkout", "-q", "--orphan", "alone")
	f.git("commit", "-q", "-m", "alone")
	if _, err := r.MergeBase(t.Context(), "alone", long); !errors.Is(err, ErrNotFound) {
		t.Errorf("the merge base of strangers: %v", err)
	}
}

func TestTheFirstParentThatContainsACommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.repo
	start := f.integration()
	f.git("branch", "one", start)
	one := f.commitOn("one", "one.txt", "1\n")
	two := f.commitOn("one", "two.txt", "2\n")
	f.advance("drift.txt", "x\n")
	merged := f.merge(two)
	later := f.advance("later.txt", "y\n")
	f.git("branch", "three", later)
	three := f.commitOn("three", "three.txt", "3\n")
	f.merge(three)
	head := f.integration()
	for commit, want := range map[string]string{one: merged, two: merged, merged: merged, later: later, start: start, head: head, three: head} {
		if got, err := r.FirstParentContaining(t.Context(), head, commit); err != nil || got != want {
			t.Errorf("the commit that brought in %s is %s, %v; want %s", commit, got, err, want)
		}
	}
	stranger := f.commitOn("main", "z.txt", "z\n")
	if _, err := r.FirstParentContaining(t.Context(), head, stranger); !errors.Is(err, ErrNotFound) {
		t.Errorf("a commit that is not contained: %v", err)
	}
}
