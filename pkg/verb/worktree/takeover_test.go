package worktree_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// inFolder is a task that coder-1 has claimed and whose run has committed to a git folder of its own. close ends the use of it.
func inFolder(t *testing.T) (p *verbtest.Place, d *verb.Service, head string, end func() error) {
	t.Helper()
	p = verbtest.New(t)
	p.AddTask("task-1")
	d = p.Service("coder-1")
	if _, err := d.Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	mark := outcome.MarkOf(d, s, "coder-1", "task-1")
	folder, err := d.Worktrees.OpenFolder(context.Background(), s, s.Task("task-1"), "coder-1", true, true)
	if err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	head = p.Git(p.Repo.WorktreePath("task-1"), "rev-parse", "HEAD")
	return p, d, head, func() error { return d.Worktrees.CloseFolder(context.Background(), folder, "task-1", mark) }
}

func TestEachWayToEndWorkTakesItsCommitsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, act := range map[string]func(d *verb.Service) error{
		"submit": func(d *verb.Service) error {
			_, err := d.Submit(ctx, verb.SubmitInput{Task: "task-1"})
			return err
		},
		"block": func(d *verb.Service) error {
			_, err := d.Block(ctx, verb.BlockInput{Task: "task-1", Reason: "the words are not decided", Questions: []string{"Which words?"}})
			return err
		},
		"handoff": func(d *verb.Service) error {
			_, err := d.Handoff(ctx, "task-1", blackboard.Handoff{Summary: "half of it is written", NextAction: "write the other half"})
			return err
		},
		"release": func(d *verb.Service) error {
			_, err := d.Release(ctx, verb.ReleaseInput{Task: "task-1", Reason: "somebody else is better at it"})
			return err
		},
		"the end of the run": func(d *verb.Service) error {
			s, err := d.Board.View(ctx)
			if err == nil {
				_, err = d.Worktrees.TakeOver(ctx, s, s.Task("task-1"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, d, head, end := inFolder(t)
			if err := act(d); err != nil {
				t.Fatal(err)
			}
			if tip := p.Git(p.Dir, "rev-parse", "task/task-1"); tip != head {
				t.Errorf("the branch is at %s, want %s", tip, head)
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			p.Sound("task-1")
		})
	}
}

func TestACommitAfterTheSubmissionIsLateWork(t *testing.T) {
	t.Parallel()
	p, d, head, end := inFolder(t)
	if _, err := d.Submit(context.Background(), verb.SubmitInput{Task: "task-1"}); err != nil {
		t.Fatal(err)
	}
	dir := p.Repo.WorktreePath("task-1")
	p.Git(dir, "commit", "-q", "--allow-empty", "-m", "late")
	late := p.Git(dir, "rev-parse", "HEAD")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if tip := p.Git(p.Dir, "rev-parse", "task/task-1"); tip != head {
		t.Errorf("the branch is at %s, want %s", tip, head)
	}
	if saved := p.Git(p.Dir, "rev-parse", "refs/liza/attic/task-1/1"); saved != late {
		t.Errorf("saved is %s, want %s", saved, late)
	}
	if a := p.State().Anomalies; len(a) != 1 || a[0].Type != "late_work" {
		t.Errorf("anomalies: %v", a)
	}
}

// forged is inFolder whose supervisor was killed, and whose run has put another commit under the name of its own.
func forged(t *testing.T) *verbtest.Place {
	t.Helper()
	p, _, head, _ := inFolder(t)
	dir := p.Repo.WorktreePath("task-1")
	other := p.Git(dir, "commit-tree", "-m", "another", "HEAD^{tree}", "-p", "HEAD~")
	object := func(name string) string {
		return filepath.Join(p.Project.GitDir, "liza", "folders", "task-1@coder-1", "git", "objects", name[:2], name[2:])
	}
	if err := os.Rename(object(other), object(head)); err != nil {
		t.Fatal(err)
	}
	p.Shell(p.Project.GitDir, "cd liza/folders && cp -a task-1@coder-1 copy && rm -rf task-1@coder-1 && mv copy task-1@coder-1") // nobody holds this lock
	return p
}

// 2.1: an object under a name that is not its own kept a task from everybody: each verb failed with the supervisor.
func TestATaskWithAForgedObjectIsFreedByEachWayOut(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, act := range map[string]func(d *verb.Service) error{
		"release --force": func(d *verb.Service) error {
			_, err := d.Release(ctx, verb.ReleaseInput{Task: "task-1", Force: true, Reason: "its objects are forged"})
			return err
		},
		"the recovery": func(d *verb.Service) error {
			d.Worktrees.Recover(ctx, true)
			_, err := d.Release(ctx, verb.ReleaseInput{Task: "task-1", Force: true, Reason: "its objects are forged"})
			return err
		},
		"gc": func(d *verb.Service) error {
			if _, err := d.Release(ctx, verb.ReleaseInput{Task: "task-1", Force: true, Reason: "its objects are forged"}); err != nil {
				return err
			}
			if _, err := d.Abandon(ctx, verb.WayOut{Task: "task-1", Reason: "its objects are forged"}); err != nil {
				return err
			}
			done, err := maintain.CollectGarbage(ctx, d, maintain.CollectInput{})
			for _, g := range done.Kept {
				if strings.Contains(g.Name, "task-1") && g.Kind == "worktree" {
					t.Errorf("gc keeps %s: %s", g.Name, g.Why)
				}
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := forged(t)
			if err := act(p.Service("")); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(filepath.Join(p.Project.GitDir, "liza", "folders", "*")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			if name == "gc" {
				return
			}
			if _, err := p.Service("coder-2").Claim(ctx, "task-1"); err != nil {
				t.Errorf("the next claim: %v", err)
			}
			p.Git(p.Dir, "fsck", "--full", "--strict")
		})
	}
}

// 2.1: doctor names the way out.
func TestDoctorNamesTheWayOutOfCommitsThatWereRefused(t *testing.T) {
	t.Parallel()
	p := forged(t)
	d := p.Service("")
	d.Worktrees.Recover(t.Context(), true)
	examine := func() []findings.Finding {
		x := &maintain.Doctor{Project: p.Project, Service: d, State: p.State(), Now: time.Now, Say: func(string) {}}
		if err := x.Examine(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(x.Found, func(f findings.Finding) bool { return f.Check != "git" || f.Subject != "task-1" })
	}
	found := examine()
	if len(found) != 1 || found[0].Subject != "task-1" || !strings.HasPrefix(found[0].Next, "liza retry task-1 --force") || !strings.Contains(found[0].Text, "not taken over") {
		t.Errorf("doctor finds %+v", found)
	}
	if _, err := d.Release(t.Context(), verb.ReleaseInput{Task: "task-1", Force: true, Reason: "its objects are forged"}); err != nil {
		t.Fatal(err)
	}
	if found := examine(); len(found) != 1 || found[0].Next != "liza abandon task-1 --reason TEXT" {
		t.Errorf("after the release it finds %+v", found)
	}
	if _, err := d.Abandon(t.Context(), verb.WayOut{Task: "task-1", Reason: "not wanted any more"}); err != nil {
		t.Fatal(err)
	}
	if found := examine(); len(found) > 0 {
		t.Errorf("of a task that has ended it says %+v", found)
	}
}
