package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// silence lets the leases of an agent run out, as if nothing had been heard of its host.
func silence(t *testing.T, p *verbtest.Place, id string) {
	t.Helper()
	err := p.Store.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		past := blackboard.TimeOf(time.Now().Add(-time.Hour))
		s.Agents[id].LeaseExpires = past
		s.Task(s.Agents[id].CurrentTask).LeaseExpires = past
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWorkIsReviewedAndMergedOnOtherHosts(t *testing.T) {
	t.Parallel()
	one, two, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	commit := one.Commit("task-1")
	done(one.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	if host := one.State().Task("task-1").Host; host != "one" {
		t.Errorf("the worktree is said to be on %q", host)
	}
	reviewer := two.Service("code-reviewer-1")
	claimed, err := reviewer.Reviews.ClaimReview(ctx, "task-1")
	done(claimed, err)
	done(reviewer.Worktrees.PutBack(ctx, "task-1", ""))
	if head := two.Git(two.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != commit || claimed.Commit != commit {
		t.Errorf("the reviewer has %s, submitted was %s", head, commit)
	}
	done(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Approve}))
	done(two.Service("").Merges.Merge(ctx, "task-1"))
	task := one.State().Task("task-1")
	if tip := one.Git(remote, "rev-parse", "integration"); task.Status != blackboard.Merged || tip != task.MergeCommit {
		t.Errorf("task-1 is %s as %s, the remote is at %s", task.Status, task.MergeCommit, tip)
	}
	for _, p := range []*verbtest.Place{one, two} {
		if err := p.Service("").Integration.FollowRemote(ctx, p.State()); err != nil {
			t.Fatal(err)
		}
		done(p.Service("").Agents.Recover(ctx))
		if refs := p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/heads/task", "refs/liza"); refs != "" {
			t.Errorf("host %s still has %s", p.Host, refs)
		}
		if tip := p.Git(p.Dir, "rev-parse", "integration"); tip != task.MergeCommit {
			t.Errorf("the branch of host %s is at %s", p.Host, tip)
		}
	}
	if len(one.State().Anomalies) > 0 {
		t.Errorf("anomalies %+v", one.State().Anomalies)
	}
}

// 3.4: a host that was down while its task was merged and archived kept worktree and branch for ever.
func TestAHostThatWasDownRemovesWhatIsLeftOfArchivedTasks(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	one.Commit("task-1")
	done(one.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	verbtest.Write(t, filepath.Join(one.Repo.WorktreePath("task-1"), "late.md"), "late\n")
	done(two.Service("code-reviewer-1").Reviews.ClaimReview(ctx, "task-1"))
	done(two.Service("code-reviewer-1").Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Approve}))
	done(two.Service("").Merges.Merge(ctx, "task-1"))
	done(sprint.Archive(ctx, two.Service(""), 0))
	for range 2 {
		done(one.Service("").Agents.Recover(ctx))
		if refs := one.Git(one.Dir, "for-each-ref", "--format=%(refname)", "refs/heads/task"); refs != "" || one.Repo.WorktreeOf("task-1") != "" {
			t.Errorf("the host that was down still has %q", refs)
		}
	}
	if text := one.Git(one.Dir, "show", "refs/liza/attic/task-1/1:late.md"); text != "late" {
		t.Errorf("what was not committed is %q", text)
	}
}

// Whether a submission is accepted may change between a look at the board and the write: what is accepted has been pushed.
func TestASubmissionThatIsAcceptedAfterAllIsPushed(t *testing.T) {
	t.Parallel()
	one, _, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	supervisor := one.Supervised("coder-1")
	done(supervisor.Claim(ctx, "task-1"))
	commit := one.Commit("task-1")
	token, hash, err := supervisor.Agents.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	program := one.Service("")
	program.Board.Caller = board.Caller{AgentID: "coder-1", Token: token}
	program.Board.At = func(point string) {
		if point != "submit.published" {
			return
		}
		err := supervisor.Board.Update(ctx, "spawn", func(s *blackboard.State, a transition.Actor) error {
			return transition.Spawned(s, a, blackboard.Child{PID: os.Getpid(), Run: 1, RunID: "g-1", TokenHash: hash, Task: "task-1"}, time.Now())
		})
		if err != nil {
			t.Error(err)
		}
	}
	done(program.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	if at := one.Git(remote, "rev-parse", "task/task-1"); at != commit {
		t.Errorf("the remote has %s, want %s", at, commit)
	}
}

func TestWorkThatIsNotOnTheRemoteIsNamedToAReviewerElsewhere(t *testing.T) {
	t.Parallel()
	one, two, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	one.Commit("task-1")
	done(one.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	one.Git(remote, "update-ref", "-d", "refs/heads/task/task-1")
	one.Git(remote, "prune", "--expire=now")
	done(two.Service("code-reviewer-1").Reviews.ClaimReview(ctx, "task-1"))
	_, err := two.Service("code-reviewer-1").Reviews.Check(ctx, "task-1")
	if refused := new(transition.Refusal); !errors.As(err, &refused) || !strings.Contains(err.Error(), "host one has not pushed it") || refused.Next != "git push origin task/task-1, on host one" {
		t.Errorf("the check on host two says %v", err)
	}
	one.Git(one.Dir, "push", "-q", "origin", "task/task-1")
	done(two.Service("code-reviewer-1").Reviews.Check(ctx, "task-1"))
}

// Others merge all the time: what they merged may be on the board and not here yet when work is taken over and handed in.
func TestWorkIsHandedInWhileAnotherHostMerges(t *testing.T) {
	t.Parallel()
	one, two, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	one.Commit("task-1")
	one.Approved("task-2")
	done(two.Service("").Merges.Merge(ctx, "task-2"))
	merged := one.State().Task("task-2").MergeCommit
	if there, err := one.Repo.CommitExists(ctx, merged); there || err != nil {
		t.Fatalf("host one has the merge of host two already: %v", err)
	}
	away := remote + ".away"
	one.Shell(one.Dir, "mv "+remote+" "+away) // without the remote, what is here has to do
	folder, err := one.Service("coder-1").Worktrees.OpenFolder(ctx, one.State(), one.State().Task("task-1"), "coder-1", true, false)
	if err != nil {
		t.Fatal(err)
	}
	one.Shell(one.Dir, "mv "+away+" "+remote)
	if _, err := folder.Close(ctx, false); err != nil {
		t.Fatal(err)
	}
	done(one.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	if there, err := one.Repo.CommitExists(ctx, merged); !there || err != nil {
		t.Errorf("the merge of host two did not come here: %v", err)
	}
}

// A host falls silent: another one goes on with what was pushed. When it comes back its late writes are refused, and what it
// had not pushed is saved, here and on the remote, and told with the task.
func TestASilentHostLosesItsClaimAndNoWork(t *testing.T) {
	t.Parallel()
	one, two, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	one.Commit("task-1")
	done(one.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	pushed := one.State().Task("task-1").ReviewCommit
	done(two.Service("code-reviewer-1").Reviews.ClaimReview(ctx, "task-1"))
	done(two.Service("code-reviewer-1").Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Reject, Reason: "one word is missing",
		Findings: []*blackboard.Finding{{Severity: "error", File: "task-1.md", Line: 1, Message: "a word is missing"}}}))
	coder := one.Service("coder-1")
	done(coder.Claim(ctx, "task-1"))
	dir := one.Repo.WorktreePath("task-1")
	verbtest.Write(t, filepath.Join(dir, "late.md"), "late\n")
	one.Git(dir, "add", "-A")
	one.Git(dir, "commit", "-q", "-m", "late")
	verbtest.Write(t, filepath.Join(dir, "dirty.md"), "dirty\n")

	silence(t, one, "coder-1")
	done(two.Service("coder-2").Claim(ctx, "task-1"))
	if head := two.Git(two.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != pushed {
		t.Errorf("host two began at %s, pushed was %s", head, pushed)
	}
	if host := one.State().Task("task-1").Host; host != "two" {
		t.Errorf("the worktree is said to be on %q", host)
	}

	_, err := coder.Submit(ctx, verb.SubmitInput{Task: "task-1"})
	if refused := new(transition.Refusal); !errors.As(err, &refused) || refused.Exit != transition.ExitLeaseLost {
		t.Errorf("a late submission: %v", err)
	}
	if tip := one.Git(remote, "rev-parse", "task/task-1"); tip != pushed {
		t.Errorf("the late submission is on the remote: %s", tip)
	}
	done(one.Service("").Agents.Recover(ctx))
	if there := one.Git(remote, "for-each-ref", "--format=%(refname)", "refs/liza/attic"); !strings.HasPrefix(there, "refs/liza/attic/task-1/one-") {
		t.Errorf("the attic of the remote has %q", there)
	} else if text := one.Git(remote, "show", strings.Fields(there)[0]+":dirty.md"); text != "dirty" {
		t.Errorf("what was not committed is %q", text)
	}
	if list := one.State().Anomalies; len(list) != 1 || list[0].Type != "unpushed_work" || list[0].Task != "task-1" {
		t.Errorf("anomalies %+v, want one of unpushed work", list)
	}
	if refs := one.Git(one.Dir, "for-each-ref", "refs/heads/task"); refs != "" {
		t.Errorf("host one still has %s", refs)
	}
	done(one.Service("").Agents.Recover(ctx)) // nothing is left to do
	dir = two.Repo.WorktreePath("task-1")
	verbtest.Write(t, filepath.Join(dir, "more.md"), "more\n")
	two.Git(dir, "add", "-A")
	two.Git(dir, "commit", "-q", "-m", "more")
	done(two.Service("coder-2").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
}

// What a host that fell silent had not pushed at all is not there for others: they begin at the integration branch.
func TestWithoutAPushTheNextHostBeginsAfresh(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	commit := one.Commit("task-1")
	silence(t, one, "coder-1")
	done(two.Service("coder-2").Claim(ctx, "task-1"))
	if head := two.Git(two.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != two.State().Tip() {
		t.Errorf("host two began at %s", head)
	}
	done(one.Service("").Agents.Recover(ctx))
	if there := one.Git(one.Dir, "for-each-ref", "--format=%(objectname)", "refs/liza/attic/task-1"); there != commit {
		t.Errorf("the attic of host one has %q, want %s", there, commit)
	}
}

// A remote that refuses what a host has saved keeps nobody from going on: the work stays in the attic of that host, and the task says why.
func TestSavedWorkThatTheRemoteRefusesIsNamedAndStays(t *testing.T) {
	t.Parallel()
	one, two, remote := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	commit := one.Commit("task-1")
	silence(t, one, "coder-1")
	done(two.Service("coder-2").Claim(ctx, "task-1"))
	one.Hook(remote, "pre-receive", "echo no room >&2; exit 1")
	done(one.Service("").Agents.Recover(ctx))
	if there := one.Git(one.Dir, "for-each-ref", "--format=%(objectname)", "refs/liza/attic/task-1"); there != commit || one.Repo.WorktreeOf("task-1") != "" {
		t.Errorf("the attic of host one has %q, want %s", there, commit)
	}
	found := one.State().Anomalies
	if len(found) != 1 || found[0].Type != blackboard.AnomalyUnpushedWork || !strings.Contains(fmt.Sprint(found[0].Details), "could not be pushed: ") {
		t.Errorf("anomalies %+v", found)
	}
}

// A claim that began afresh at a newer base has no work yet. What an earlier claim recorded is older than that base: who went on there
// could not hand in.
func TestWorkOfAnEarlierBaseIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	done(one.Service("coder-1").Claim(ctx, "task-1"))
	started := one.State().Task("task-1").BaseCommit
	if err := one.Store.Update(ctx, store.Op{Name: "test"}, func(s *blackboard.State) error {
		task := s.Task("task-1")
		task.Attempts = append(task.Attempts, &blackboard.Attempt{Seq: 1, ClaimSeq: 1, Agent: "coder-1", Kind: "coder", Outcome: "crashed", Commit: started, Ended: blackboard.TimeOf(time.Now())})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	silence(t, one, "coder-1")
	one.Approved("task-2")
	done(two.Service("").Merges.Merge(ctx, "task-2"))
	done(two.Service("coder-2").Claim(ctx, "task-1"))
	base := two.State().Task("task-1").BaseCommit
	if base == started {
		t.Fatal("the second claim has no newer base")
	}
	silence(t, two, "coder-2")
	done(one.Service("coder-3").Claim(ctx, "task-1"))
	one.Git(one.Dir, "merge-base", "--is-ancestor", one.State().Task("task-1").BaseCommit, "task/task-1")
	one.Commit("task-1")
	done(one.Service("coder-3").Submit(ctx, verb.SubmitInput{Task: "task-1"}))
}
