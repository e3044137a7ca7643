package maintain_test

import (
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
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			head := p.Git(p.Dir, "rev-parse", "HEAD")
			for _, file := range files {
				verbtest.Write(t, filepath.Join(p.Dir, ".git", file), "")
			}
			for range files {
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
		})
	}
}
