package worktree_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// empty leaves nothing of a file but its name, as a loss of power does.
func empty(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, path, "")
}

// object is the file of an object that is not packed.
func object(p *verbtest.Place, rev string) string {
	name := p.Git(p.Repo.WorktreePath("task-1"), "rev-parse", rev)
	return filepath.Join(p.Dir, ".git", "objects", name[:2], name[2:])
}

// What a loss of power, or `git gc --prune=now` beside a run, does to work that was not handed in.
var damages = map[string]struct {
	do   func(t *testing.T, p *verbtest.Place)
	kept bool // the commit can still be read
}{
	"the index is empty": {kept: true, do: func(t *testing.T, p *verbtest.Place) { empty(t, filepath.Join(p.Dir, ".git/worktrees/task-1/index")) }},
	"the index is torn": {kept: true, do: func(t *testing.T, p *verbtest.Place) {
		path := filepath.Join(p.Dir, ".git/worktrees/task-1/index")
		text := verbtest.Read(t, path)
		verbtest.Write(t, path, text[:len(text)/2])
	}},
	"HEAD is empty":   {kept: true, do: func(t *testing.T, p *verbtest.Place) { empty(t, filepath.Join(p.Dir, ".git/worktrees/task-1/HEAD")) }},
	"gitdir is empty": {kept: true, do: func(t *testing.T, p *verbtest.Place) { empty(t, filepath.Join(p.Dir, ".git/worktrees/task-1/gitdir")) }},
	"gitdir is torn": {kept: true, do: func(t *testing.T, p *verbtest.Place) {
		path := filepath.Join(p.Dir, ".git/worktrees/task-1/gitdir")
		text, _, _ := strings.Cut(verbtest.Read(t, path), "/task-1/")
		p.Must(nil, os.Remove(path))
		verbtest.Write(t, path, text)
	}},
	"the link is empty":   {kept: true, do: func(t *testing.T, p *verbtest.Place) { empty(t, filepath.Join(p.Repo.WorktreePath("task-1"), ".git")) }},
	"the branch is empty": {do: func(t *testing.T, p *verbtest.Place) { empty(t, filepath.Join(p.Dir, ".git/refs/heads/task/task-1")) }},
	"its commit is empty": {do: func(t *testing.T, p *verbtest.Place) { empty(t, object(p, "HEAD")) }},
	"its commit is empty, and the branch packed": {do: func(t *testing.T, p *verbtest.Place) {
		p.Git(p.Dir, "pack-refs", "--all")
		empty(t, object(p, "HEAD"))
	}},
	"a file of it is empty":  {do: func(t *testing.T, p *verbtest.Place) { empty(t, object(p, "HEAD:task-1.md")) }},
	"its tree was collected": {do: func(t *testing.T, p *verbtest.Place) { p.Must(nil, os.Remove(object(p, "HEAD^{tree}"))) }},
	"a file was collected while git added it": {kept: true, do: func(t *testing.T, p *verbtest.Place) {
		p.Shell(p.Repo.WorktreePath("task-1"), "file=$(echo late | git hash-object -w --stdin) && git gc -q --prune=now && git update-index --add --cacheinfo 100644,$file,late.md")
	}},
}

// A person who gives the task away, or gives it up, finds a task that is free, and everything that was there under another name.
func TestAWorktreeThatGitCannotReadIsSetAsideWhole(t *testing.T) {
	t.Parallel()
	release := func(p *verbtest.Place) error {
		_, err := p.Service("").Release(context.Background(), verb.ReleaseInput{Task: "task-1", Force: true, Reason: "the machine went down"})
		return err
	}
	verbs := map[string]func(p *verbtest.Place) error{
		"release": release,
		"claim": func(p *verbtest.Place) error {
			c := claim(p)
			c.Keep = true
			_, err := p.Service("coder-1").Worktrees.Provide(context.Background(), c)
			return err
		},
		"abandon": func(p *verbtest.Place) error {
			_, err := p.Service("").Abandon(context.Background(), verb.WayOut{Task: "task-1", Reason: "nobody needs it"})
			return err
		},
	}
	for what, damage := range damages {
		for name, call := range verbs {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.AddTask("task-1")
				_, commit := worked(p)
				if name == "abandon" {
					p.Must(nil, release(p))
				}
				verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "half.md"), "half a word\n")
				damage.do(t, p)
				if err := call(p); err != nil {
					t.Fatal(err)
				}
				lost, _ := filepath.Glob(filepath.Join(p.Dir, ".worktrees/.lost-task-1-*/half.md"))
				if len(lost) != 1 || verbtest.Read(t, lost[0]) != "half a word\n" {
					t.Errorf("what was not committed is in %v", lost)
				}
				if damage.kept && p.Git(p.Dir, "for-each-ref", "--contains="+commit, "--format=%(refname)", "refs/heads/task", "refs/liza/attic") == "" {
					t.Error("the commit is not kept, and can be read")
				}
				if name != "abandon" {
					if name == "claim" {
						p.Must(nil, p.Service("coder-1").Worktrees.Confirm(t.Context(), claim(p)))
						p.Must(nil, release(p))
					}
					p.Must(p.Service("coder-2").Claim(t.Context(), "task-1"))
					verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "whole.md"), "a whole word\n")
					p.Commit("task-1")
					p.Must(p.Service("coder-2").Submit(t.Context(), verb.SubmitInput{Task: "task-1"}))
					p.Shell(p.Dir, "rm -rf .worktrees/.lost-*")
					p.Sound("task-1")
				}
				p.Shell(p.Dir, "git rev-list --objects --all --reflog | cut -d' ' -f1 | git cat-file --batch >/dev/null")
				if n := strings.Count(verbtest.Read(t, p.Project.Journal()), string(blackboard.ActionWorktreeSetAside)); n > 1 || n == 0 && !strings.Contains(what, "link") && name != "claim" {
					t.Errorf("it is told %d times", n)
				}
			})
		}
	}
}

// The work of a run that was not taken over leaves a branch alone.
func TestABranchThatGitCannotReadIsSetAsideWithoutItsWorktree(t *testing.T) {
	t.Parallel()
	for what, damage := range damages {
		if damage.kept {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			worked(p)
			damage.do(t, p)
			p.Shell(p.Dir, "rm -rf .worktrees .git/worktrees")
			if _, err := p.Service("").Release(t.Context(), verb.ReleaseInput{Task: "task-1", Force: true, Reason: "the machine went down"}); err != nil {
				t.Fatal(err)
			}
			p.Must(p.Service("coder-2").Claim(t.Context(), "task-1"))
			if lost, _ := filepath.Glob(filepath.Join(p.Dir, ".worktrees/.lost-task-1-*")); len(lost) != 1 {
				t.Errorf("what git had of it is in %v", lost)
			}
			p.Shell(p.Dir, "rm -rf .worktrees/.lost-*")
			p.Sound("task-1")
		})
	}
}

// Git writes no object again that has a file: what an agent had begun to add must not stop its task for ever.
func TestAnObjectThatWasTornWhileItWasAddedStopsNothing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	worked(p)
	path := filepath.Join(p.Repo.WorktreePath("task-1"), "half.md")
	verbtest.Write(t, path, "half a word\n")
	p.Shell(filepath.Dir(path), "git hash-object -w half.md")
	name := p.Git(p.Dir, "hash-object", path)
	empty(t, filepath.Join(p.Dir, ".git/objects", name[:2], name[2:]))
	p.Must(p.Service("").Release(t.Context(), verb.ReleaseInput{Task: "task-1", Force: true, Reason: "the machine went down"}))
	p.Must(p.Service("").Abandon(t.Context(), verb.WayOut{Task: "task-1", Reason: "nobody needs it"}))
	saved := strings.Fields(p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/liza/attic"))
	if len(saved) != 1 || p.Git(p.Dir, "show", saved[0]+":half.md") != "half a word" {
		t.Errorf("the work is in %q", saved)
	}
}

func TestWhatGitCannotReadIsNotSubmitted(t *testing.T) {
	t.Parallel()
	for what, damage := range damages {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			worked(p)
			damage.do(t, p)
			_, err := p.Service("coder-1").Submit(t.Context(), verb.SubmitInput{Task: "task-1"})
			if err == nil || !strings.HasSuffix(verbtest.Advice(err), "(next: liza retry task-1 --reason T)") || strings.Contains(err.Error(), "(exit ") {
				t.Errorf("submitted: %v, next: %s", err, verbtest.Advice(err))
			}
			if s := p.State().Task("task-1").Status; s != blackboard.Claimed {
				t.Errorf("the task is %s", s)
			}
		})
	}
}

// A person's git does not wait for the disk either: a commit on the integration branch that a loss of power has torn is refused, and put back.
func TestACommitThatGitCannotReadIsNotAccepted(t *testing.T) {
	t.Parallel()
	for what, rev := range map[string]string{"the commit is empty": "integration", "a file is empty": "integration:word.md", "the commit is gone": "integration", "the branch is torn": "integration"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			left := p.State().Tip()
			p.Push("word.md", "a word\n")
			name := p.Git(p.Dir, "rev-parse", rev)
			object := filepath.Join(p.Dir, ".git/objects", name[:2], name[2:])
			if empty(t, object); what == "the commit is gone" {
				p.Must(nil, os.Remove(object))
			} else if what == "the branch is torn" {
				verbtest.Write(t, filepath.Join(p.Dir, ".git/refs/heads/integration"), left[:6])
			}
			_, err := p.Service("").Merges.AcceptIntegration(t.Context(), "it is mine")
			if err == nil || !strings.HasSuffix(verbtest.Advice(err), "(next: liza sync --restore)") || p.State().Tip() != left {
				t.Errorf("accepted: %v, next: %s", err, verbtest.Advice(err))
			}
			p.Must(p.Service("").Merges.RestoreIntegration(t.Context(), "it is torn"))
			if tip := p.Git(p.Dir, "rev-parse", "integration"); tip != left {
				t.Errorf("integration is at %s, want %s", tip, left)
			}
		})
	}
}

// Git writes no object again that has a file: after a loss of power a commit of a person can need an object that was torn before.
func TestACommitThatGitCannotReadIsSyncedAfterTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	for what, revs := range map[string][]string{"a file": {"HEAD:a word.md"}, "its tree": {"HEAD^{tree}"}, "both": {"HEAD:a word.md", "HEAD^{tree}"}, "nothing to write again": {"HEAD"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			verbtest.Write(t, filepath.Join(p.Dir, "a word.md"), "a word\n")
			p.Git(p.Dir, "add", "a word.md")
			p.Git(p.Dir, "commit", "-qm", "New")
			for _, rev := range revs {
				name := p.Git(p.Dir, "rev-parse", rev)
				empty(t, filepath.Join(p.Dir, ".git/objects", name[:2], name[2:]))
			}
			_, err := p.Service("").Merges.Sync(t.Context(), "main", false)
			_, next, ok := strings.Cut(verbtest.Advice(err), "(next: rm -f .git/objects/")
			if what == "nothing to write again" {
				if err == nil {
					t.Error("a torn commit was merged")
				}
				return
			}
			if !ok {
				t.Fatalf("%v, next: %s", err, verbtest.Advice(err))
			}
			p.Shell(p.Dir, "rm -f .git/objects/"+strings.TrimSuffix(next, ")"))
			p.Must(p.Service("").Merges.Sync(t.Context(), "main", false))
			if text := p.Git(p.Dir, "show", "integration:a word.md"); text != "a word" {
				t.Errorf("integration has %q", text)
			}
		})
	}
}
