package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// In a partial clone git fetches what the person's history lacks, for Liza as for the person; what a run names is not fetched.
func TestAPartialCloneReadsWhatItsRemoteHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("config", "uploadpack.allowFilter", "true")
	f.git("config", "uploadpack.allowAnySHA1InWant", "true")
	f.write("deep/file", "old\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "a file")
	object := f.git("rev-parse", "HEAD:deep/file")
	parent := realTemp(t)
	f.gitIn(parent, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+f.dir, "clone")
	clone := filepath.Join(parent, "clone")
	repo := f.open(clone)
	of := func(env ...string) error {
		_, err := repo.run(t.Context(), call{dir: clone, args: []string{"cat-file", "-e", object}, env: env})
		return err
	}
	if err := of((&incoming{dir: filepath.Join(parent, "run")}).borrowed()...); err == nil {
		t.Error("what a run names was fetched")
	}
	list, err := repo.ListCommit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if last := list[len(list)-1]; last.Path != "deep/file" || last.Size != 4 {
		t.Errorf("the last file is %+v", last)
	}
	if err := of(); err != nil {
		t.Error(err)
	}

	f.gitIn(parent, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+f.dir, "alone")
	alone := filepath.Join(parent, "alone")
	f.gitIn(alone, "remote", "set-url", "origin", "file:///no/such/place")
	if _, err := f.open(alone).ListCommit(t.Context(), "HEAD"); err == nil || !strings.Contains(err.Error(), "/no/such/place") {
		t.Errorf("without its remote: %v", err)
	}
}

// Where commits are missing because a clone is shallow, the message says so, and what brings them.
func TestACutHistoryIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.advance("b.txt", "b\n")
	f.git("commit", "-q", "--allow-empty", "-m", "apart")
	parent := realTemp(t)
	f.gitIn(parent, "clone", "-q", "--depth=1", "--no-single-branch", "file://"+f.dir, "clone")
	repo := f.open(filepath.Join(parent, "clone"))
	_, err := repo.MergeTree(t.Context(), "HEAD", "refs/remotes/origin/integration")
	if err == nil || !strings.Contains(err.Error(), "the history of this clone is cut off; git fetch --unshallow") {
		t.Errorf("it says %v", err)
	}
}

// git 3 has safe.bareRepository=explicit; people set it today.
func TestARepositoryOpensWhereBareOnesMustBeNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	home := filepath.Join(realTemp(t), "gitconfig")
	writeFile(t, home, "[safe]\n\tbareRepository = explicit\n")
	if _, err := Open(t.Context(), f.dir, append(f.env, "GIT_CONFIG_GLOBAL="+home)...); err != nil {
		t.Error(err)
	}
}
