package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// crashEnv makes this test binary a victim: it performs an operation and kills itself with
// SIGKILL at the named point.
const crashEnv = "CRASH_TEST_VICTIM"

func TestMain(m *testing.M) {
	if plan := os.Getenv(crashEnv); plan != "" {
		victim(plan)
		return
	}
	os.Exit(m.Run())
}

// victim: "operation|point|dir".
func victim(plan string) {
	parts := strings.SplitN(plan, "|", 3)
	p := &verbtest.Place{TB: &fatal{}, Dir: parts[2], Config: verbtest.Config()}
	p.Open()
	die := func(point string) {
		if point == parts[1] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
	ctx := context.Background()
	var err error
	switch parts[0] {
	case "claim":
		d := p.Supervised("coder-1")
		d.Board.At = die
		_, err = d.Claim(ctx, "task-1")
	case "submit":
		d := p.Supervised("coder-1")
		if _, err = d.Claim(ctx, "task-1"); err != nil {
			break
		}
		s := p.State()
		if _, err = d.Worktrees.OpenFolder(ctx, s, s.Task("task-1"), "coder-1", true, true); err != nil {
			break
		}
		p.Commit("task-1")
		die("committed")
		d.Board.At = die
		_, err = d.Submit(ctx, verb.SubmitInput{Task: "task-1"})
	case "secrets":
		d := p.Service("")
		d.Board.At = die
		_, err = d.Board.Vault().KeepFound(ctx, planWithSecret)
	case "plan":
		at := dieAfter(p, "plan.saved", die)
		d := p.Service("")
		d.Board.At = at
		_, err = applyWhole(d)
	case "pick":
		at := dieAfter(p, "pick.saved", die)
		d := p.Supervised("code-reviewer-1")
		if _, err = d.Reviews.ClaimReview(ctx, "task-1"); err != nil {
			break
		}
		d.Board.At = at
		_, err = d.Reviews.Pick(ctx, verb.PickInput{Task: "task-1-2", Reason: pickReason})
	case "vote":
		voting := false // the writes that come before are not the vote's
		p.At = func(point string) {
			if voting {
				die(point)
			}
		}
		p.Config.Review.Quorum = twoReviewers
		p.Open()
		d := p.Supervised("code-reviewer-1")
		if _, err = d.Reviews.ClaimReview(ctx, "task-1"); err != nil {
			break
		}
		voting = true
		_, err = d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Approve})
	case "merge":
		d := p.Service("")
		d.Board.At = die
		_, err = d.Merges.Merge(ctx, "task-1")
	}
	fmt.Fprintln(os.Stderr, "the victim survived:", err)
	os.Exit(3)
}

// dieAfter opens the place with failpoints of the store that count from the point first on: the writes before it are not the operation's.
// It returns the failpoints of the service.
func dieAfter(p *verbtest.Place, first string, die func(point string)) (at func(point string)) {
	begun := false
	p.At = func(point string) {
		if begun {
			die(point)
		}
	}
	p.Open()
	return func(point string) {
		begun = begun || point == first
		die(point)
	}
}

// fatal ends the victim where a test would fail.
type fatal struct{ testing.TB }

func (*fatal) Helper() {}
func (*fatal) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(4)
}

// crash runs a victim until it has killed itself.
func crash(p *verbtest.Place, operation, point string) {
	p.TB.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+operation+"|"+point+"|"+p.Dir)
	out, err := cmd.CombinedOutput()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || ws.Signal() != syscall.SIGKILL {
		p.TB.Fatalf("the victim of %s at %s was to die of SIGKILL: %v\n%s", operation, point, err, out)
	}
}

// TestCrashOfAClaim: killed between any two steps of a claim, the next claim converges (P-052).
func TestCrashOfAClaim(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"claim.reserved", "claim.provided", "claim.confirmed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			crash(p, "claim", point)
			next := p.Supervised("coder-2")
			if _, err := next.Agents.Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
			c, err := next.Claim(context.Background(), "task-1")
			if err != nil {
				t.Fatalf("the task is not claimable after a crash at %s: %v", point, err)
			}
			if c.Agent != "coder-2" {
				t.Errorf("claimed by %s, want coder-2", c.Agent)
			}
			p.Sound("task-1")
			p.Commit("task-1")
			if _, err := next.Submit(context.Background(), verb.SubmitInput{Task: "task-1"}); err != nil {
				t.Errorf("the worktree does not work after a crash at %s: %v", point, err)
			}
		})
	}
}

// TestCrashOfASubmission: killed before or after a commit was taken over from the git folder of the run, the coder's next
// claim has the commit, once, and submits it.
func TestCrashOfASubmission(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"committed", "taken over"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			crash(p, "submit", point)
			dir := p.Repo.WorktreePath("task-1")
			head := p.Git(dir, "rev-parse", "HEAD") // of the git folder of the run
			next := p.Supervised("coder-1")
			did, err := next.Agents.Recover(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(strings.Join(did, "\n"), "took over commit"); told != (point == "committed") {
				t.Errorf("recover says %q", did)
			}
			if tip := p.Git(p.Dir, "rev-parse", "task/task-1"); tip != head {
				t.Errorf("the branch is at %s, want %s", tip, head)
			}
			if left := p.Repo.LeftFolders(); len(left) > 0 || p.Git(dir, "rev-parse", "--git-common-dir") != filepath.Join(p.Dir, ".git") {
				t.Errorf("left behind: %q", left)
			}
			if _, err := next.Claim(context.Background(), "task-1"); err != nil {
				t.Fatal(err)
			}
			p.Sound("task-1")
			done, err := next.Submit(context.Background(), verb.SubmitInput{Task: "task-1"})
			if err != nil || done.Commit != head {
				t.Errorf("submitted %s, %v; want %s", done.Commit, err, head)
			}
			if n := p.Git(p.Dir, "rev-list", "--count", "integration..task/task-1"); n != "1" {
				t.Errorf("%s commits on the branch", n)
			}
		})
	}
}

// TestCrashOfAMerge: killed between any two steps of a merge, the next merge converges: one
// merged entry, no lost approval, nothing left over (P-115).
func TestCrashOfAMerge(t *testing.T) {
	t.Parallel()
	for n := range 11 {
		point := fmt.Sprintf("M%d", n)
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Integration.Checks = []string{"test -f task-1.md"}
			p.Approved("task-1")
			crash(p, "merge", point)
			d := p.Service("")
			if _, err := d.Agents.Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Merges.Merge(context.Background(), "task-1"); err != nil {
				t.Fatalf("the merge does not converge after a crash at %s: %v", point, err)
			}
			if _, err := d.Agents.Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
			p.Sound()
			s := p.State()
			if st := s.Task("task-1").Status; st != blackboard.Merged {
				t.Errorf("task-1 is %s, want MERGED", st)
			}
			merged := 0
			for _, h := range s.Task("task-1").History {
				if h.Event == "merged" {
					merged++
				}
			}
			if merged != 1 {
				t.Errorf("%d merged entries, want 1", merged)
			}
			if merges := p.Git(p.Dir, "log", "--merges", "--format=%s", "integration"); merges != "Merge task-1: Write task-1" {
				t.Errorf("merges on the branch: %q, want exactly one", merges)
			}
			if text := p.Git(p.Dir, "show", "integration:task-1.md"); text != "a word of task-1" {
				t.Errorf("the branch has %q", text)
			}
		})
	}
}

var twoReviewers = []config.QuorumRule{{Paths: []string{"**"}, Reviewers: 2}}

// TestCrashOfAVote: killed at each step of the first of two approvals, it counts once or not at all, and its reviewer cannot give the
// second.
func TestCrashOfAVote(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9", "W10"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := verbtest.New(t)
			p.Config.Review.Quorum = twoReviewers
			p.AddTask("task-1")
			coder := p.Service("coder-1")
			if _, err := coder.Claim(ctx, "task-1"); err != nil {
				t.Fatal(err)
			}
			p.Commit("task-1")
			if _, err := coder.Submit(ctx, verb.SubmitInput{Task: "task-1"}); err != nil {
				t.Fatal(err)
			}
			crash(p, "vote", point)
			vote := func(reviewer string) error {
				d := p.Supervised(reviewer)
				if _, err := d.Reviews.ClaimReview(ctx, "task-1"); err != nil {
					return err
				}
				_, err := d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Approve})
				return err
			}
			counted := len(p.State().Task("task-1").Approvals)
			if again := vote("code-reviewer-1"); counted > 1 || (again == nil) != (counted == 0) {
				t.Errorf("after the kill %d approvals count; the reviewer's next vote: %v", counted, again)
			}
			if x := p.State().Task("task-1"); x.Status != blackboard.ReadyForReview || len(x.Approvals) != 1 {
				t.Fatalf("one reviewer made it %s: %s", x.Status, x.ApprovalsText())
			}
			if err := vote("code-reviewer-2"); err != nil {
				t.Fatal(err)
			}
			if x := p.State().Task("task-1"); x.Status != blackboard.Approved || len(x.Standing()) != 2 {
				t.Errorf("two reviewers made it %s: %s", x.Status, x.ApprovalsText())
			}
			p.Sound("task-1")
		})
	}
}

const pickReason = "it is shorter"

// attemptsBoard is a project with three attempts at task-1, two of them handed in and one blocked, and a task that depends on them. In the
// folder of each is work that is not committed.
func attemptsBoard(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.Must(p.Service("").AddTask(t.Context(), verb.NewTask{Attempts: 3, Task: blackboard.Task{ID: "task-1", Description: "Write it", SpecRef: "specs/vision.md",
		DoneWhen: "a file contains a word", Scope: "IN: all", Type: "docs"}}))
	p.AddTask("next", "task-1")
	for i, id := range []string{"task-1", "task-1-2", "task-1-3"} {
		coder := p.Service(fmt.Sprintf("coder-%d", i+1))
		p.Must(coder.Claim(t.Context(), id))
		p.Commit(id)
		if id == "task-1-3" {
			p.Must(coder.Block(t.Context(), verb.BlockInput{Task: id, Reason: "the spec names two words", Questions: []string{"Which?"}}))
		} else {
			p.Must(coder.Submit(t.Context(), verb.SubmitInput{Task: id}))
		}
		verbtest.Write(t, filepath.Join(p.Repo.WorktreePath(id), "late.md"), "late work of "+id+"\n")
	}
	return p
}

// TestCrashOfAPick: killed between any two steps of a pick, all of it is done or nothing, and another pick follows (P-188).
func TestCrashOfAPick(t *testing.T) {
	t.Parallel()
	all := []string{"task-1", "task-1-2", "task-1-3"}
	for point, want := range map[string]string{"pick.saved": "open", "W1": "open", "W2": "open", "W3": "open", "W4": "open", "W5": "open", "W6": "", "W7": "", "W8": "", "W9": "",
		"W10": "picked", "pick.applied": "picked", "drop.worktree": "picked"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := attemptsBoard(t)
			crash(p, "pick", point)
			p.Open()
			d := p.Service("")
			p.Must(d.Agents.Recover(t.Context()))
			found := p.State()
			statuses := fmt.Sprintln(found.Task("task-1").Status, found.Task("task-1-2").Status, found.Task("task-1-3").Status, found.Task("next").DependsOn)
			winner, losers := "task-1-2", []string{"task-1", "task-1-3"}
			switch {
			case statuses == "SUPERSEDED READY_FOR_REVIEW SUPERSEDED [task-1-2]\n" && want != "open":
				if done, err := d.Reviews.Pick(t.Context(), verb.PickInput{Task: winner, Reason: "again"}); err != nil || !done.Already || p.State().Revision != found.Revision {
					t.Errorf("the same pick again: %+v, %v", done, err)
				}
			case statuses == "READY_FOR_REVIEW READY_FOR_REVIEW BLOCKED [task-1]\n" && want != "picked":
				p.Sound(all...)
				winner, losers = "task-1", all[1:]
				p.Must(d.Reviews.Pick(t.Context(), verb.PickInput{Task: winner, Reason: pickReason}))
			default:
				t.Fatalf("after a kill at %s there is %s, want all or nothing %s", point, statuses, want)
			}
			p.Must(d.Agents.Recover(t.Context()))
			p.Sound(winner)
			pickedOnce(t, p, winner, losers)
			if _, err := p.Supervised("code-reviewer-2").Reviews.ClaimReview(t.Context(), winner); err != nil {
				t.Errorf("the one that goes on is not reviewed: %v", err)
			}
		})
	}
}

// pickedOnce checks that the pick of winner ended each loser once, and that all work of the losers is in the attic.
func pickedOnce(t *testing.T, p *verbtest.Place, winner string, losers []string) {
	t.Helper()
	s := p.State()
	if x := s.Task(winner); x.Status != blackboard.ReadyForReview || fmt.Sprint(slices.Sorted(slices.Values(x.Supersedes))) != fmt.Sprint(losers) {
		t.Errorf("%s is %s, in the place of %v", winner, x.Status, x.Supersedes)
	}
	if after := s.Task("next").DependsOn; fmt.Sprint(after) != "["+winner+"]" {
		t.Errorf("what depended on the work depends on %v, want %s", after, winner)
	}
	journal := planTraces(t, p)
	for _, id := range losers {
		x, ended := s.Task(id), 0
		for _, h := range x.History {
			if h.Event == blackboard.HistorySuperseded {
				ended++
			}
		}
		if x.Status != blackboard.Superseded || fmt.Sprint(x.SupersededBy) != "["+winner+"]" || x.RescopeReason != pickReason || ended != 1 {
			t.Errorf("%s is %s by %v, %q, ended %d times", id, x.Status, x.SupersededBy, x.RescopeReason, ended)
		}
		if n := strings.Count(journal+"\n", "superseded "+id+"\n"); n != 1 {
			t.Errorf("the journal ends %s %d times", id, n)
		}
		for file, text := range map[string]string{id + ".md": "a word of " + id, "late.md": "late work of " + id} {
			ref := p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "--count=1", "refs/liza/attic/"+id)
			if got := p.Git(p.Dir, "show", ref+":"+file); got != text {
				t.Errorf("%s in the attic of %s is %q", file, id, got)
			}
		}
	}
}
