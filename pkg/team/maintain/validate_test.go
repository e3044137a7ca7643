package maintain_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb/verbtest"
)

func TestAnEmptiedEntryOfAWorktreeIsNoTrouble(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Git(p.Dir, "worktree", "add", "-q", "-b", "mine", filepath.Join(t.TempDir(), "mine"))
	verbtest.Write(t, filepath.Join(p.Dir, ".git/worktrees/mine/commondir"), "")
	verbtest.Write(t, filepath.Join(p.Dir, ".git/worktrees/mine/HEAD"), "re") // torn, so that git is asked
	if v, err := maintain.BoardOf(p.Service("")).Validate(t.Context()); err != nil || !v.Valid {
		t.Errorf("%+v, %v", v, err)
	}
	if text := verbtest.Read(t, filepath.Join(p.Dir, ".git/worktrees/mine/commondir")); text != "../..\n" {
		t.Errorf("it says %q", text)
	}
}

// A loss of power may leave the branch or the index of a person's own checkout empty: validate says which command helps, and it does.
func TestAnEmptiedCheckoutIsAFindingWithTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	for what, files := range map[string][]string{"branch": {"refs/heads/main"}, "index": {"index"}, "both": {"refs/heads/main", "index"}} {
		for _, lock := range []string{"", "HEAD.lock", "refs/heads/main.lock", "index.lock"} {
			t.Run(what+", "+lock, func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.AddTask("task-1")
				head := p.Git(p.Dir, "rev-parse", "HEAD")
				for _, file := range files {
					verbtest.Write(t, filepath.Join(p.Dir, ".git", file), "")
				}
				if lock != "" {
					verbtest.Write(t, filepath.Join(p.Dir, ".git", lock), "")
				}
				helped(t, p, len(files), head)
			})
		}
	}
}

// Git does not look at the sum of an index: it would make a commit of what a loss of power left in the middle of one.
func TestAnIndexThatIsTornInTheMiddleIsAFinding(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	file := filepath.Join(p.Dir, ".git/index")
	text, err := os.ReadFile(file)
	p.Must(nil, err)
	for at := 60; at < 70; at++ { // of the first entry's object
		text[at] = 0
	}
	p.Must(nil, os.WriteFile(file, text, 0o644))
	p.Git(p.Dir, "pack-refs", "--all") // the branch has no file then
	p.Git(p.Dir, "ls-files")
	helped(t, p, 1, p.Git(p.Dir, "rev-parse", "HEAD"))
}

// Of a branch whose line end alone is torn nothing is lost, whatever its log says.
func TestABranchWhoseLineEndIsTornKeepsItsCommit(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Git(p.Dir, "commit", "-q", "--allow-empty", "-m", "New")
	head := p.Git(p.Dir, "rev-parse", "HEAD")
	log := filepath.Join(p.Dir, ".git/logs/refs/heads/main")
	text, err := os.ReadFile(log)
	p.Must(nil, err)
	verbtest.Write(t, log, strings.Replace(string(text), " "+head, " "+head[:7], 1))
	verbtest.Write(t, filepath.Join(p.Dir, ".git/refs/heads/main"), head+"\x00")
	helped(t, p, 1, head)
}

// An index cannot be written again from a commit of which a tree is torn: the branch goes to one before it first.
func TestATornIndexOverATornCommitIsMendedInTwoCommands(t *testing.T) {
	t.Parallel()
	for what, tree := range map[string]string{"its tree": "HEAD^{tree}", "a tree below it": "HEAD:part"} {
		for _, emptied := range []string{"index", "refs/heads/main"} {
			t.Run(what+", "+emptied, func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.AddTask("task-1")
				head := p.Git(p.Dir, "rev-parse", "HEAD")
				verbtest.Write(t, filepath.Join(p.Dir, "part/new.txt"), "new\n")
				p.Git(p.Dir, "add", "part")
				p.Git(p.Dir, "commit", "-qm", "New")
				torn := p.Git(p.Dir, "rev-parse", tree)
				file := filepath.Join(p.Dir, ".git/objects", torn[:2], torn[2:])
				if err := os.Chmod(file, 0o644); err != nil {
					t.Fatal(err)
				}
				verbtest.Write(t, file, "")
				verbtest.Write(t, filepath.Join(p.Dir, ".git/index"), "")
				verbtest.Write(t, filepath.Join(p.Dir, ".git", emptied), "")
				helped(t, p, 2, head)
			})
		}
	}
}

// `git gc --prune=now` beside a merge takes the folders of its commit, which no branch has yet: the integration branch is where Liza left it, and cannot be read.
func TestATipThatGitCannotReadIsAFindingWithTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Shell(p.Dir, "git checkout -q -b other integration && echo b > b.txt && git add b.txt && git commit -qm B && "+
		"git checkout -q integration && echo a > a.txt && git add a.txt && git commit -qm A && git merge -q --no-ff -m Merge other && git checkout -q main")
	tree := p.Git(p.Dir, "rev-parse", "integration^{tree}")
	p.Must(nil, os.Remove(filepath.Join(p.Dir, ".git/objects", tree[:2], tree[2:])))
	v, err := maintain.BoardOf(p.Service("")).Validate(t.Context())
	if err != nil || v.Valid || !strings.HasPrefix(v.Next(), "git merge-tree --write-tree ") {
		t.Fatalf("%+v, %v", v, err)
	}
	p.Shell(p.Dir, v.Next())
	p.Git(p.Dir, "ls-tree", "-r", "integration")
	if v, err = maintain.BoardOf(p.Service("")).Validate(t.Context()); err != nil || strings.HasPrefix(v.Next(), "git ") {
		t.Errorf("%+v, %v", v, err)
	}
	p.Git(p.Dir, "update-ref", "refs/heads/integration", "integration^1")
	file := p.Git(p.Dir, "rev-parse", "integration:a.txt")
	p.Must(nil, os.Remove(filepath.Join(p.Dir, ".git/objects", file[:2], file[2:])))
	if v, err = maintain.BoardOf(p.Service("")).Validate(t.Context()); err != nil || v.Next() != "git fsck" {
		t.Errorf("of a commit that merges nothing: %+v, %v", v, err)
	}
}

// helped does what validate says, a number of times, until there is nothing to say.
func helped(t *testing.T, p *verbtest.Place, times int, head string) {
	t.Helper()
	for range times {
		v, err := maintain.BoardOf(p.Service("")).Validate(t.Context())
		if err != nil || v.Valid || v.Errors != 1 || v.Violations[0].Rule != maintain.RuleCheckout || !strings.HasPrefix(v.Next(), "rm .git/") {
			t.Fatalf("%+v, %v", v, err)
		}
		cmd := exec.Command("sh", "-c", v.Next())
		cmd.Dir = p.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", v.Next(), err, out)
		}
	}
	if v, err := maintain.BoardOf(p.Service("")).Validate(t.Context()); err != nil || !v.Valid || p.Git(p.Dir, "rev-parse", "HEAD") != head || p.Git(p.Dir, "diff", "--cached", "HEAD") != "" {
		t.Errorf("%+v, %v", v, err)
	}
}
