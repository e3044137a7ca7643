package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

// wantRefusal checks that a call was refused with a text, a next command, and nothing moved.
func wantRefusal(t *testing.T, p *verbtest.Place, err error, head string, texts ...string) {
	t.Helper()
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Exit != transition.ExitRefused || refused.Next == "" {
		t.Fatalf("it was to be refused with a next command: %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error()+refused.Next, text) {
			t.Errorf("the refusal %q (next: %s) does not say %q", err, refused.Next, text)
		}
	}
	if got := p.Git(p.Dir, "rev-parse", "--verify", "--quiet", "integration"); got != head {
		t.Errorf("the branch moved from %s to %s", head, got)
	}
}

// lost is a place whose merged task is no longer on the branch.
func lost(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.Approved("task-1")
	mustMerge(t, p, "task-1")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
	p.Accept()
	return p
}

func TestABranchThatSomebodyHasCheckedOutIsNotMoved(t *testing.T) {
	t.Parallel()
	p := lost(t)
	commit := base(p, "word.md", "a word\n")
	p.Git(p.Dir, "checkout", "-q", "integration")
	before := head(p)
	_, err := merger(p).Sync(context.Background(), "later", commit, false)
	wantRefusal(t, p, err, before, "integration is checked out in "+p.Dir, "switch OTHER")
	_, err = merger(p).Again(context.Background(), "task-1")
	wantRefusal(t, p, err, before, "integration is checked out in "+p.Dir)
	if got, err := merger(p).Sync(context.Background(), "later", commit, true); err != nil || got.Status != merge.SyncWould {
		t.Errorf("a dry run moves nothing and is not refused: %+v, %v", got, err)
	}
	p.Git(p.Dir, "checkout", "-q", "main")
	if got, err := merger(p).Sync(context.Background(), "later", commit, false); err != nil || got.Status != merge.SyncDone {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestABranchThatAnotherMovedIsNotMovedAgain(t *testing.T) {
	t.Parallel()
	p := lost(t)
	commit := base(p, "word.md", "a word\n")
	p.Push("foreign.md", "somebody else's\n")
	before := head(p)
	_, err := merger(p).Sync(context.Background(), "later", commit, false)
	wantRefusal(t, p, err, before, "liza sync --accept, or liza sync --restore")
	_, err = merger(p).Again(context.Background(), "task-1")
	wantRefusal(t, p, err, before, "liza sync --accept, or liza sync --restore")
}

func TestOnlyMergedWorkThatTheBranchLostIsMergedAgain(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.AddTask("task-2")
	before := head(p)
	r, err := merger(p).Again(context.Background(), "task-2")
	if wantRefusal(t, p, err, before, "is UNCLAIMED", "show task-2"); r.Status != blackboard.Unclaimed {
		t.Errorf("the result says %s", r.Status)
	}
	_, err = merger(p).Again(context.Background(), "task-1")
	wantRefusal(t, p, err, before, "is APPROVED", "show task-1")
	_, err = merger(p).Again(context.Background(), "task-9")
	wantRefusal(t, p, err, before, "no task 'task-9'")
	mustMerge(t, p, "task-1")
	_, err = merger(p).Again(context.Background(), "task-1")
	wantRefusal(t, p, err, head(p), "is on integration already")
}

func TestASyncWithNothingNewMovesNothing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	before := head(p)
	got, err := merger(p).Sync(context.Background(), "main", before, false)
	if err != nil || got.Status != merge.SyncUpToDate || got.Commits != 0 || got.Commit != before || head(p) != before {
		t.Errorf("%+v, %v", got, err)
	}
}

// A branch that has nothing of its own is moved to what it is synced with, without a merge commit; with work of its
// own it gets one.
func TestASyncMakesAMergeOnlyWhereThereIsSomethingToMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	commit := base(p, "word.md", "a word\n")
	got, err := merger(p).Sync(context.Background(), "later", commit, false)
	if err != nil || got.Commit != commit || head(p) != commit || got.Commits != 1 {
		t.Errorf("forward: %+v, %v", got, err)
	}
	p = verbtest.New(t)
	p.Outside("own.md", "its own\n")
	old, commit := head(p), base(p, "word.md", "a word\n")
	got, err = merger(p).Sync(context.Background(), "later", commit, false)
	if err != nil || got.Old != old || got.Commit != head(p) || p.Git(p.Dir, "rev-parse", head(p)+"^1", head(p)+"^2") != old+"\n"+commit {
		t.Errorf("merged: %+v, %v", got, err)
	}
	if text := p.Git(p.Dir, "log", "-1", "--format=%B", "integration"); !strings.Contains(text, "Liza-Sync: "+commit) {
		t.Errorf("the message is %q", text)
	}
	if i := p.State().Integration; i.Tip != head(p) || i.Intent != nil {
		t.Errorf("the board remembers %+v", i)
	}
}

// The script of the repository is the check where none is configured, and only if it can be started.
func TestAScriptThatCannotBeStartedIsNoCheck(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o644, 0o755} {
		p := verbtest.New(t)
		outside(p, merge.Script, "#!/bin/sh\necho no; exit 1\n", mode)
		p.Approved("task-1")
		_, err := merger(p).Task(context.Background(), "task-1")
		var failed *merge.FailedError
		if runs := mode == 0o755; errors.As(err, &failed) != runs {
			t.Errorf("with mode %o the merge ended with %v", mode, err)
		}
	}
}

// A configured check takes the place of the script.
func TestAConfiguredCheckTakesThePlaceOfTheScript(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"touch " + filepath.Join(p.Dir, ".git", "checked")}
	outside(p, merge.Script, "#!/bin/sh\nexit 1\n", 0o755)
	p.Approved("task-1")
	mustMerge(t, p, "task-1")
	p.Git(p.Dir, "hash-object", ".git/checked")
}
