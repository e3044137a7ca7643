package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inWall runs a shell line where the folder is mounted in the place of git's own, and nothing else of the repository can be
// seen but what the folder names. It runs as the user of the test.
func (x *run) inWall(folder *Folder, dir, line string) (string, error) {
	x.t.Helper()
	args := []string{"--unshare-user", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", dir, dir, "--bind", folder.Git, folder.Target}
	for _, path := range folder.Read {
		args = append(args, "--ro-bind", path, path)
	}
	if dir != x.fixture.dir {
		args = append(args, "--ro-bind", filepath.Join(dir, ".git"), filepath.Join(dir, ".git"))
	}
	cmd := exec.Command("bwrap", append(args, "--chdir", dir, "sh", "-ec", line)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/tmp", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestAFolderIsMountedInThePlaceOfGitsOwn(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("bwrap", "--unshare-user", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: bubblewrap cannot make a wall here: %v %s", err, out)
	}
	f := newFixture(t)
	x := &run{fixture: f, base: f.integration(), dir: f.provide(Provide{ID: "t"}).Path}
	folder, err := f.repo.OpenFolder(t.Context(), FolderSpec{Task: "t", Agent: "coder-1", Keep: true, Known: []string{x.base}})
	if err != nil {
		t.Fatal(err)
	}
	x.folder = folder
	out, err := x.inWall(folder, x.dir, `test -z "$(git status --porcelain)"
		echo x >new.txt; git add -A; git commit -qm new; git commit -q --amend -m amended
		echo y >>new.txt; git stash -q; git stash pop -q; git commit -qam more; git gc -q; git checkout -q -b try; git checkout -q task/t
		git blame -s a.txt >/dev/null; git diff --stat integration; git log --oneline main.. | wc -l
		! touch .git; ! rm .git`)
	if err != nil || !strings.Contains(out, "1 file changed") || !strings.Contains(out, "\n2\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if taken := x.take(); !taken.Moved || f.git("log", "-1", "--format=%s", "task/t") != "more" || len(x.facts().Dirty) > 0 {
		t.Errorf("%+v, %v", taken, x.facts())
	}
	x.close()
	if got := x.in("status", "--porcelain"); got != "" {
		t.Errorf("after the run: %s", got)
	}
	main, err := f.repo.OpenFolder(t.Context(), FolderSpec{Agent: "planner-1"})
	if err != nil {
		t.Fatal(err)
	}
	before := f.git("for-each-ref")
	out, err = x.inWall(main, f.dir, `test -z "$(git status --porcelain)"; git log --oneline integration | wc -l; git diff main >/dev/null
		git branch -f integration HEAD; git config core.hooksPath /evil; ! git commit -q --allow-empty -m mine 2>/dev/null`)
	if err != nil || strings.TrimSpace(out) != "1" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := main.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if now := f.git("for-each-ref"); now != before || strings.Contains(readText(t, f.dir+"/.git/config"), "evil") {
		t.Errorf("refs are %s", now)
	}
	if entries, _ := os.ReadDir(f.dir + "/.git/liza/folders"); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}
