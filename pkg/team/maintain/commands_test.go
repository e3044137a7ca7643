package maintain_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/git"
	"liza/pkg/code/git/gittest"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// counted is a place with merged tasks whose git commands are counted.
func counted(t *testing.T, merged int) (*verbtest.Place, *gittest.Breaker) {
	t.Helper()
	p := verbtest.New(t)
	p.Merges(merged)
	b := gittest.NewBreaker(t)
	repo, err := git.Open(t.Context(), p.Dir, b.Env())
	if err != nil {
		t.Fatal(err)
	}
	p.Repo = repo
	return p, b
}

// What Liza does again and again asks git no more often on a board with many merged tasks than on
// one with few: a command for each task would make a large board slow.
func TestGitIsAskedNoMoreOftenForALargeBoard(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name string
		do   func(p *verbtest.Place)
	}{
		{"validate", func(p *verbtest.Place) {
			v, err := maintain.BoardOf(p.Service("")).Validate(ctx)
			if must(err); !v.Valid {
				t.Errorf("the board is invalid: %+v", v.Violations)
			}
		}},
		{"watch", func(p *verbtest.Place) {
			d := p.Service("")
			d.Board.Proc.FreeMB = func(string) int { return 1000 }
			maintain.Observe(d, time.Now()).Facts(ctx)
		}},
		{"add a task", func(p *verbtest.Place) { p.AddTask("task-1") }},
		{"claim", func(p *verbtest.Place) { _, err := p.Service("coder-1").Claim(ctx, "task-1"); must(err) }},
		{"submit", func(p *verbtest.Place) {
			p.Commit("task-1")
			_, err := p.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"})
			must(err)
		}},
		{"claim a review", func(p *verbtest.Place) {
			_, err := p.Service("code-reviewer-1").Reviews.ClaimReview(ctx, "task-1")
			must(err)
		}},
		{"approve", func(p *verbtest.Place) {
			_, err := p.Service("code-reviewer-1").Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve"})
			must(err)
		}},
		{"merge", func(p *verbtest.Place) { _, err := p.Service("").Merges.Merger("human").Task(ctx, "task-1"); must(err) }},
		{"clean up", func(p *verbtest.Place) { must(p.Service("").Merges.Merger("human").CleanUp(ctx)) }},
	}
	// A command or two may be for what a short history is searched for without git.
	few, fewCommands := counted(t, 3)
	many, manyCommands := counted(t, 60)
	all := 0
	for _, step := range steps {
		a := fewCommands.Commands(func() { step.do(few) })
		b := manyCommands.Commands(func() { step.do(many) })
		if all += len(a); len(b) > len(a)+2 {
			t.Errorf("%s: %d commands of git with 3 merged tasks, %d with 60:\n%s", step.name, len(a), len(b), strings.Join(b, "\n"))
		}
	}
	if all < 10 {
		t.Errorf("%d commands of git in all: they are not counted", all)
	}
}
