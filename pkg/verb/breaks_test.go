package verb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/git/gittest"
	"liza/pkg/store"
	"liza/pkg/verb"
	"liza/pkg/verb/verbtest"
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
	call   func(ctx context.Context, d *verb.Desk) error
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
	done(p, drop(p.Desk("coder-1").Claim(context.Background(), "task-1")))
}

func hasCommit(p *verbtest.Place) { isClaimed(p); p.Commit("task-1") }

func isSubmitted(p *verbtest.Place) {
	hasCommit(p)
	done(p, drop(p.Desk("coder-1").Submit(context.Background(), verb.SubmitInput{Task: "task-1"})))
}

func inReview(p *verbtest.Place) {
	isSubmitted(p)
	done(p, drop(p.Desk("code-reviewer-1").ClaimReview(context.Background(), "task-1")))
}

func isBlocked(p *verbtest.Place) {
	isClaimed(p)
	done(p, drop(p.Desk("coder-1").Block(context.Background(), blockInput)))
}

var blockInput = verb.BlockInput{Task: "task-1", Reason: "The format is not said", Questions: []string{"Which format?"}, ByVerb: true}

var repeatables = map[string]repeatable{
	"add-task": {call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "task-1", Description: "Write it", SpecRef: "specs/vision.md", DoneWhen: "it is there", Scope: "IN: it", Type: "docs"}}))
	}},
	"claim": {as: "coder-1", before: added, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Claim(ctx, "task-1")) }},
	"submit": {as: "coder-1", before: hasCommit, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	}},
	"claim-review": {as: "code-reviewer-1", before: isSubmitted, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.ClaimReview(ctx, "task-1")) }},
	"approve": {as: "code-reviewer-1", before: inReview, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve"}))
	}},
	"reject": {as: "code-reviewer-1", before: inReview, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: "task-1.md:1 has no word"}))
	}},
	"block": {as: "coder-1", before: isClaimed, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Block(ctx, blockInput)) }},
	"release": {as: "coder-1", before: hasCommit, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Release(ctx, verb.ReleaseInput{Task: "task-1", Reason: "It is somebody else's"}))
	}},
	"hold": {before: added, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Hold(ctx, "task-1", "not yet")) }},
	"unblock": {before: isBlocked, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Unblock(ctx, verb.WayOut{Task: "task-1", Reason: "It is text"}))
	}},
	"abandon": {before: isBlocked, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Abandon(ctx, verb.WayOut{Task: "task-1", Reason: "Nobody needs it"}))
	}},
	"merge":      {before: func(p *verbtest.Place) { p.Approved("task-1") }, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Merge(ctx, "task-1")) }},
	"checkpoint": {before: added, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Checkpoint(ctx, "Look at it")) }},
	"pause":      {before: added, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Pause(ctx, "Lunch")) }},
	"note": {before: added, call: func(ctx context.Context, d *verb.Desk) error {
		return drop(d.Note(ctx, verb.NoteInput{Text: "Mind the gap", ID: "note-1"}))
	}},
	"accept":        {before: func(p *verbtest.Place) { p.Push("word.md", "a word\n") }, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.AcceptIntegration(ctx, "it is mine")) }},
	"archive":       {before: func(p *verbtest.Place) { p.Merges(2) }, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.Archive(ctx, time.Hour)) }},
	"worktree make": {before: isClaimed, call: func(ctx context.Context, d *verb.Desk) error { return drop(d.CreateWorktree(ctx, "task-1")) }},
}

// seen is what people see of the board and of git when a verb is over.
func seen(p *verbtest.Place) string {
	p.TB.Helper()
	var b strings.Builder
	s := p.State()
	for _, t := range s.Tasks {
		fmt.Fprintf(&b, "%s %s assigned %q reviewed by %q held %t claims %d iteration %d history %d worktree %t; ", t.ID, t.Status, t.AssignedTo, t.ReviewingBy, t.Hold != nil, t.ClaimSeq, t.Iteration,
			len(t.History), t.Worktree != "")
	}
	fmt.Fprintf(&b, "sprint %s; goal %s; notes %d; ", s.Sprint.Status, s.Goal.Status, len(s.HumanNotes))
	fmt.Fprintf(&b, "tip known %t; ", s.Tip() == p.Git(p.Dir, "rev-parse", "integration"))
	// A worktree that nobody needs may be left: the next clean-up or claim removes it.
	fmt.Fprintf(&b, "orders %d", len(p.Project.Orders()))
	return b.String()
}

// brokenVerb calls a verb on a fresh place whose git and store break as told. It returns what
// failed, "" for nothing.
func brokenVerb(t *testing.T, v repeatable, want string, gitNth, storeNth int) (failed, now string) {
	t.Helper()
	p := verbtest.New(t)
	if v.before != nil {
		v.before(p)
	}
	b := gittest.NewBreaker(t)
	repo, err := git.Open(t.Context(), p.Dir, b.Env())
	if err != nil {
		t.Fatal(err)
	}
	d := p.Desk(v.as)
	u := &unreliable{Store: p.Store, nth: storeNth}
	d.Repo, d.Store = repo, u
	b.Break(gitNth)
	err = v.call(t.Context(), d)
	failed = b.Mend()
	if failed == "" {
		failed = u.what
	}
	now = seen(p)
	if failed == "" && err != nil {
		t.Fatalf("nothing failed, and the verb says %v", err)
	}
	if failed != "" && err == nil && now != want {
		t.Errorf("%s failed, the verb said that it is done, and it is\n%s, want\n%s", failed, now, want)
	}
	if err == nil {
		return failed, now
	}
	// The same again, as whoever read the error does.
	err = v.call(t.Context(), p.Desk(v.as))
	if now := seen(p); now != want {
		t.Errorf("%s failed; the same verb again ended with %v and left\n%s, want\n%s", failed, err, now, want)
	}
	return failed, now
}

// Whichever command of git or use of the board fails in the middle of a verb: either the verb
// says so and the same verb again ends it, or it is done as a whole.
func TestAVerbWhoseGitOrBoardFailsSaysSoAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	for name, v := range repeatables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, want := brokenVerb(t, v, "", 0, 0)
			// What git does in a merge is broken in the tests of package merge.
			for n, failed := 1, "-"; failed != "" && name != "merge"; n++ {
				failed, _ = brokenVerb(t, v, want, n, 0)
			}
			for n, failed := 1, "-"; failed != ""; n++ {
				failed, _ = brokenVerb(t, v, want, 0, n)
				if n == 1 && failed == "" {
					t.Error("the verb used no board")
				}
			}
		})
	}
}
