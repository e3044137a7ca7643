package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/git/gittest"
)

// TestMain doubles as a program that opens a repository, for tests that need another PATH.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LIZA_GIT_TEST_OPEN"); dir != "" {
		_, err := Open(context.Background(), dir)
		fmt.Println(errors.Is(err, ErrVersion), err)
		os.Exit(0)
	}
	// An identity in the environment would go before the configuration that the tests set.
	for _, name := range []string{"AUTHOR_NAME", "AUTHOR_EMAIL", "AUTHOR_DATE", "COMMITTER_NAME", "COMMITTER_EMAIL", "COMMITTER_DATE"} {
		_ = os.Unsetenv("GIT_" + name)
	}
	_ = os.Unsetenv("EMAIL")
	os.Exit(gittest.Main(m))
}

var someTime = time.Unix(1_700_000_000, 0)

// A fixture is a repository with a main checkout on branch main and a branch integration at its commit.
type fixture struct {
	t    testing.TB
	dir  string
	env  []string
	repo *Repo
}

// isolated keeps the configuration of anyone who runs the tests out of them, identities included.
func isolated(t testing.TB) []string {
	t.Helper()
	return []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
}

var startFiles = map[string]string{"a.txt": "one\ntwo\nthree\n", ".gitignore": "*.log\n"}

var start = gittest.Template(startFiles, []string{"add", "-A"},
	[]string{"-c", "user.name=Tester", "-c", "user.email=t@example.org", "commit", "-q", "-m", "start"}, []string{"branch", "integration"})

func newFixture(t testing.TB, initOptions ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: filepath.Join(realTemp(t), "project"), env: isolated(t)}
	if len(initOptions) == 0 {
		if err := start(f.dir); err != nil {
			t.Fatal(err)
		}
	} else {
		f.gitIn(filepath.Dir(f.dir), append([]string{"init", "-q", "-b", "main", "project"}, initOptions...)...)
		for name, text := range startFiles {
			f.write(name, text)
		}
		f.git("add", "-A")
		f.git("commit", "-q", "-m", "start")
		f.git("branch", "integration")
	}
	f.repo = f.open(f.dir)
	if err := f.repo.AddExclude(t.Context(), "/.worktrees/"); err != nil {
		t.Fatal(err)
	}
	return f
}

func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (f *fixture) open(dir string, env ...string) *Repo {
	f.t.Helper()
	repo, err := Open(f.t.Context(), dir, slices.Concat(f.env, env)...)
	if err != nil {
		f.t.Fatal(err)
	}
	return repo
}

func (f *fixture) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Tester", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Env = append(environment(nil), f.env...)
	return cmd
}

func (f *fixture) gitIn(dir string, args ...string) string {
	f.t.Helper()
	out, err := f.command(dir, args...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fixture) git(args ...string) string {
	f.t.Helper()
	return f.gitIn(f.dir, args...)
}

func (f *fixture) write(name, content string) {
	f.t.Helper()
	writeFile(f.t, filepath.Join(f.dir, name), content)
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// integration is the head of the branch integration.
func (f *fixture) integration() string {
	f.t.Helper()
	return f.git("rev-parse", "integration")
}

// advance puts a commit with one file onto integration, without a checkout.
func (f *fixture) advance(name, content string) string {
	f.t.Helper()
	return f.commitOn("integration", name, content)
}

// commitOn puts a commit with one changed file onto a branch, without a checkout.
func (f *fixture) commitOn(branch, name, content string) string {
	f.t.Helper()
	index := filepath.Join(f.t.TempDir(), "index")
	plumb := func(stdin string, args ...string) string {
		cmd := f.command(f.dir, args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			f.t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	plumb("", "read-tree", branch)
	blob := plumb(content, "hash-object", "-w", "--stdin")
	plumb("", "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	commit := plumb("", "commit-tree", plumb("", "write-tree"), "-p", branch, "-m", "change "+name)
	f.git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// provide makes a fresh or kept worktree, confirms it, and fails the test when that does not work.
func (f *fixture) provide(p Provide) Provided {
	f.t.Helper()
	got := f.claim(p)
	if err := f.repo.UnlockWorktree(f.t.Context(), p.ID); err != nil {
		f.t.Fatal(err)
	}
	return got
}

// claim is provide without the confirmation.
func (f *fixture) claim(p Provide) Provided {
	f.t.Helper()
	got, err := f.repo.ProvideWorktree(f.t.Context(), f.filled(p))
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

func (f *fixture) filled(p Provide) Provide {
	if p.Base == "" {
		p.Base = f.integration()
	}
	if p.Nonce == "" {
		p.Nonce = "n1"
	}
	p.Now = someTime
	return p
}

// commitIn commits one file in a worktree.
func (f *fixture) commitIn(dir, name, content string) string {
	f.t.Helper()
	writeFile(f.t, filepath.Join(dir, name), content)
	f.gitIn(dir, "add", "-A")
	f.gitIn(dir, "commit", "-q", "-m", "change "+name)
	return f.gitIn(dir, "rev-parse", "HEAD")
}

func (f *fixture) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(f.dir, name))
	return err == nil
}

func (f *fixture) attics(id string) []Attic {
	f.t.Helper()
	all, err := f.repo.AtticRefs(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q, and does not say %q", err, text)
		}
	}
}

// checkout is everything that belongs to the user: files, index, HEAD, configuration, stash, with modes and times.
func (f *fixture) checkout() []string {
	f.t.Helper()
	var all []string
	err := filepath.WalkDir(f.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(f.dir, path)
		if entry.IsDir() {
			if name == ".worktrees" || name == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		all = append(all, fileState(f.t, path, name))
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, name := range []string{"index", "HEAD", "ORIG_HEAD", "config", "logs/HEAD", "refs/stash", "logs/refs/stash", "refs/heads/main"} {
		if f.exists(".git/" + name) {
			all = append(all, fileState(f.t, filepath.Join(f.dir, ".git", name), ".git/"+name))
		}
	}
	slices.Sort(all)
	return all
}

func fileState(t testing.TB, path, name string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %v %d %s", name, info.Mode(), info.ModTime().UnixNano(), readText(t, path))
}
