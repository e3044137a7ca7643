package verb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/code/git"
	"liza/pkg/code/git/gittest"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

var errNoDisk = errors.New("the disk is gone")

// unreliable is a store whose nth use fails.
type unreliable struct {
	store.Store
	nth  int
	used int
	what string // that failed
}

func (u *unreliable) fails(what string) bool {
	u.used++
	if u.used != u.nth {
		return false
	}
	u.what = what
	return true
}

func (u *unreliable) View(ctx context.Context) (*blackboard.State, error) {
	if u.fails("a look at the board") {
		return nil, errNoDisk
	}
	return u.Store.View(ctx)
}

func (u *unreliable) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if u.fails("the write of " + op.Name) {
		return errNoDisk
	}
	return u.Store.Update(ctx, op, change)
}

// repeatable is a verb, who calls it, and what was done before.
type repeatable struct {
	as     string
	before func(p *verbtest.Place)
	board  bool // git has the part that it has in another verb; a merge is broken in package merge
	call   func(ctx context.Context, d *verb.Service) error
}

func drop[T any](_ T, err error) error { return err }

func added(p *verbtest.Place) { p.AddTask("task-1") }

func done(p *verbtest.Place, err error) {
	p.TB.Helper()
	if err != nil {
		p.TB.Fatal(err)
	}
}

func isClaimed(p *verbtest.Place) {
	added(p)
	done(p, drop(p.Service("coder-1").Claim(context.Background(), "task-1")))
}

func hasCommit(p *verbtest.Place) { isClaimed(p); p.Commit("task-1") }

func isSubmitted(p *verbtest.Place) {
	hasCommit(p)
	done(p, drop(p.Service("coder-1").Submit(context.Background(), verb.SubmitInput{Task: "task-1"})))
}

func inReview(p *verbtest.Place) {
	isSubmitted(p)
	done(p, drop(p.Service("code-reviewer-1").Reviews.ClaimReview(context.Background(), "task-1")))
}

func isBlocked(p *verbtest.Place) {
	isClaimed(p)
	done(p, drop(p.Service("coder-1").Block(context.Background(), blockInput)))
}

var blockInput = verb.BlockInput{Task: "task-1", Reason: "The format is not said", Questions: []string{"Which format?"}}

var repeatables = map[string]repeatable{
	"add-task": {call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "task-1", Description: "Write it", SpecRef: "specs/vision.md", DoneWhen: "it is there", Scope: "IN: it", Type: "docs"}}))
	}},
	"claim": {as: "coder-1", before: added, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Claim(ctx, "task-1")) }},
	"submit": {as: "coder-1", before: hasCommit, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	}},
	"claim-review": {as: "code-reviewer-1", before: isSubmitted, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Reviews.ClaimReview(ctx, "task-1")) }},
	"approve": {as: "code-reviewer-1", before: inReview, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve"}))
	}},
	"reject": {board: true, as: "code-reviewer-1", before: inReview, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: "task-1.md:1 has no word"}))
	}},
	"block": {as: "coder-1", before: isClaimed, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Block(ctx, blockInput)) }},
	"release": {as: "coder-1", before: hasCommit, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Release(ctx, verb.ReleaseInput{Task: "task-1", Reason: "It is somebody else's"}))
	}},
	"hold": {before: added, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Hold(ctx, "task-1", "not yet")) }},
	"unblock": {board: true, before: isBlocked, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Unblock(ctx, verb.WayOut{Task: "task-1", Reason: "It is text"}))
	}},
	"abandon": {board: true, before: isBlocked, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Abandon(ctx, verb.WayOut{Task: "task-1", Reason: "Nobody needs it"}))
	}},
	"merge":      {board: true, before: func(p *verbtest.Place) { p.Approved("task-1") }, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Merges.Merge(ctx, "task-1")) }},
	"checkpoint": {before: added, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Checkpoint(ctx, d, "Look at it")) }},
	"pause":      {before: added, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Pause(ctx, d, "Lunch")) }},
	"note": {before: added, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Tell(ctx, verb.TellInput{To: verb.ThePlanner, Text: "Mind the gap", ID: "note-1"}))
	}},
	"accept": {before: func(p *verbtest.Place) { p.Push("word.md", "a word\n") }, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Merges.AcceptIntegration(ctx, "it is mine"))
	}},
	"archive": {before: func(p *verbtest.Place) { p.Merges(2) }, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Archive(ctx, d, time.Hour)) }},
	"unhold": {before: func(p *verbtest.Place) {
		added(p)
		done(p, drop(p.Service("").Hold(context.Background(), "task-1", "not yet")))
	}, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Unhold(ctx, "task-1")) }},
	"finalize": {before: func(p *verbtest.Place) {
		done(p, drop(p.Service("").AddTask(context.Background(), verb.NewTask{Draft: true, Task: aTask})))
	}, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Finalize(ctx, []string{"task-1"})) }},
	"supersede": {board: true, before: func(p *verbtest.Place) { isBlocked(p); p.AddTask("task-2") }, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Supersede(ctx, verb.WayOut{Task: "task-1", Reason: "Two are simpler", By: []string{"task-2"}}))
	}},
	"handoff": {board: true, as: "coder-1", before: hasCommit, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Handoff(ctx, "task-1", blackboard.Handoff{Summary: "Half of it", NextAction: "The other half"}))
	}},
	"intent": {board: true, as: "coder-1", before: isClaimed, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Intent(ctx, "task-1", blackboard.Intent{Intent: "Write a word", Validation: "read it"}))
	}},
	"release a review": {board: true, as: "code-reviewer-1", before: inReview, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Release(ctx, verb.ReleaseInput{Task: "task-1", Reason: "Somebody else", Reviewer: true}))
	}},
	"abort": {before: added, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Abort(ctx, d, "Enough", false)) }},
	"resume": {before: func(p *verbtest.Place) {
		added(p)
		done(p, drop(sprint.Pause(context.Background(), p.Service(""), "Lunch")))
	}, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Resume(ctx, d, "CONTINUE", "")) }},
	"spec-change": {before: added, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.SpecChange(ctx, "specs/vision.md", "It is larger", "task-1"))
	}},
	"sprint next": {before: func(p *verbtest.Place) {
		p.Merges(2)
		done(p, drop(sprint.Abort(context.Background(), p.Service(""), "Enough", false)))
	}, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Next(ctx, d, nil)) }},
	"set a setting": {before: added, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.SetSetting(ctx, "max_review_cycles", "7"))
	}},
	"register": {call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Agents.Register(ctx, verb.RegisterInput{ID: "coder-3"}))
	}},
	"unregister": {before: func(p *verbtest.Place) {
		done(p, drop(p.Service("").Agents.Register(context.Background(), verb.RegisterInput{ID: "coder-1"})))
	}, call: func(ctx context.Context, d *verb.Service) error { return d.Agents.Unregister(ctx, "coder-1", true) }},
	"restore": {before: func(p *verbtest.Place) { p.Push("word.md", "a word\n") }, call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.Merges.RestoreIntegration(ctx, "it is not mine"))
	}},
	"put back": {before: func(p *verbtest.Place) {
		inReview(p)
		verbtest.Write(p.TB, p.Repo.WorktreePath("task-1")+"/late.md", "late\n")
	}, call: func(ctx context.Context, d *verb.Service) error { return drop(d.Worktrees.PutBack(ctx, "task-1", "")) }},
}

var aTask = blackboard.Task{ID: "task-1", Description: "Write it", SpecRef: "specs/vision.md", DoneWhen: "it is there", Scope: "IN: it", Type: "docs"}

// seen is what people see of the board and of git when a verb is over.
func seen(p *verbtest.Place) string {
	p.TB.Helper()
	var b strings.Builder
	s := p.State()
	for t := range s.Tasks() {
		fmt.Fprintf(&b, "%s %s assigned %q reviewed by %q held %t claims %d iteration %d history %d worktree %t; ", t.ID, t.Status, t.AssignedTo, t.ReviewingBy, t.Hold != nil, t.ClaimSeq, t.Iteration,
			len(t.History), t.Worktree != "")
	}
	fmt.Fprintf(&b, "sprint %s; goal %s; notes %d; ", s.Sprint.Status, s.Goal.Status, len(s.HumanNotes))
	fmt.Fprintf(&b, "discovered %d, spec changes %d, facts %d, agents %d, max_review_cycles %v; ", len(s.Discovered), len(s.SpecChanges), len(s.Facts), len(s.Agents), s.Config["max_review_cycles"])
	for _, a := range s.Anomalies {
		fmt.Fprintf(&b, "%s; ", a.Type)
	}
	fmt.Fprintf(&b, "tip known %t, its restoration told %t; ", s.Tip() == p.Git(p.Dir, "rev-parse", "integration"), strings.Contains(verbtest.Read(p.TB, p.Project.Journal()), string(blackboard.ActionIntegrationRestored)))
	// A worktree that nobody needs may be left: the next clean-up or claim removes it.
	fmt.Fprintf(&b, "orders %d", len(p.Project.Controls().Orders()))
	return b.String()
}

// attempts calls a verb again and again, with its nth command of git or its nth use of the board
// failing, from the first to the last that it comes to. The place is a new one only after an
// attempt that left something: else the next attempt is the same verb again, as anyone who read the
// error calls it.
func (v repeatable) attempts(t *testing.T, want string, breaks func(b *gittest.Breaker, u *unreliable, n int)) {
	t.Helper()
	n, step := gittest.Stride(t)
	for {
		p := verbtest.New(t)
		if v.before != nil {
			v.before(p)
		}
		b := gittest.NewBreaker(t)
		repo, err := git.Open(t.Context(), p.Dir, b.Env())
		if err != nil {
			t.Fatal(err)
		}
		for start, now := seen(p), ""; now == "" || now == start; n += step {
			d := p.Service(v.as)
			u := &unreliable{Store: p.Store}
			d.Board.Repo, d.Board.Store = repo, u
			breaks(b, u, n)
			err := v.call(t.Context(), d)
			failed := b.Mend() + u.what
			now = seen(p)
			switch {
			case failed == "" && (err != nil || now != want):
				t.Errorf("nothing failed; the verb ended with %v and left\n%s, want\n%s", err, now, want)
				return
			case failed == "":
				return
			case err == nil && now != want:
				t.Errorf("%s failed, the verb said that it is done, and it is\n%s, want\n%s", failed, now, want)
			case err == nil && now == start:
				now = "" // a verb that changes nothing
			case err != nil && now != start:
				err = v.call(t.Context(), p.Service(v.as))
				if now := seen(p); now != want {
					t.Errorf("%s failed; the same verb again ended with %v and left\n%s, want\n%s", failed, err, now, want)
				}
			}
		}
	}
}

// Whichever command of git or use of the board fails in the middle of a verb: either the verb
// says so and the same verb again ends it, or it is done as a whole.
func TestAVerbWhoseGitOrBoardFailsSaysSoAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	for name, v := range repeatables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			if v.before != nil {
				v.before(p)
			}
			if err := v.call(t.Context(), p.Service(v.as)); err != nil {
				t.Fatal(err)
			}
			want := seen(p)
			if !v.board {
				v.attempts(t, want, func(b *gittest.Breaker, _ *unreliable, n int) { b.Break(n) })
			}
			v.attempts(t, want, func(_ *gittest.Breaker, u *unreliable, n int) { u.nth = n })
		})
	}
}
