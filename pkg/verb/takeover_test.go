package verb_test

import (
	"context"
	"testing"

	"liza/pkg/blackboard"
	"liza/pkg/outcome"
	"liza/pkg/verb"
	"liza/pkg/verb/verbtest"
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
	folder, err := d.GitFolder(context.Background(), s, s.Task("task-1"), "coder-1", true, true)
	if err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	head = p.Git(p.Repo.WorktreePath("task-1"), "rev-parse", "HEAD")
	return p, d, head, func() error { return d.CloseGitFolder(context.Background(), folder, "task-1", mark) }
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
			_, err := d.TakeOver(ctx, "task-1")
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
