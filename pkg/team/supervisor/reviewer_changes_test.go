package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

const needsFix = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"one defect","review":{"status":"needs_fix","reason":"greet.py:2 has the wrong word"}}`

// inReview runs a shell line in the worktree during the first run of a review, and gives what came of it.
func inReview(t *testing.T, line string, results ...agent.Result) (p *verbtest.Place, prompts []string, commit string) {
	t.Helper()
	p = submittedGreeter(t, verb.SubmitInput{}, polite)
	commit = p.State().Task("task-1").ReviewCommit
	prompts, _ = reviewedInRuns(t, p, "task-1", func(n int, _ string) {
		if n == 1 {
			p.Shell(p.Repo.WorktreePath("task-1"), line)
		}
	}, results...)
	return p, prompts, commit
}

// atCommit fails unless branch and worktree of task-1 are what the commit is.
func atCommit(t *testing.T, p *verbtest.Place, commit string) {
	t.Helper()
	dir := p.Repo.WorktreePath("task-1")
	if head, tip, on := p.Git(dir, "rev-parse", "HEAD"), p.Git(p.Dir, "rev-parse", "task/task-1"), p.Git(dir, "symbolic-ref", "--short", "HEAD"); head != commit || tip != commit || on != "task/task-1" {
		t.Errorf("HEAD is %s on %s, the branch is at %s, want %s", head, on, tip, commit)
	}
	if dirty := p.Git(dir, "status", "--porcelain", "--untracked-files=all"); dirty != "" {
		t.Errorf("the worktree is not clean: %s", dirty)
	}
}

func typesOf(s *blackboard.State) (types []string) {
	for _, a := range s.Anomalies {
		types = append(types, string(a.Type))
	}
	return types
}

// An approval by a reviewer who changed the work does not count: the changes are saved and undone, and the reviewer judges
// once more what was submitted. The coder's work is not rejected for it.
func TestAReviewerWhoChangedTheWorkJudgesAgain(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ line, saved string }{
		"a commit":              {"echo x >>greet.py && git commit -qam more", "greet.py"},
		"a changed file":        {"echo x >>greet.py", "greet.py"},
		"a staged file":         {"echo x >staged && git add staged", "staged"},
		"an untracked file":     {"mkdir -p a/b && echo x >a/b/new", "a/b/new"},
		"a deleted file":        {"rm greet.py", ""},
		"a commit on no branch": {"git checkout -q --detach && echo x >>greet.py && git commit -qam more", "greet.py"},
		"another branch":        {"git checkout -q -b mine && echo x >>greet.py && git commit -qam more", "greet.py"},
		"a commit taken back":   {"git reset -q --hard HEAD~1", ""},
		"what .gitignore hides": {"echo hidden >.gitignore && echo x >hidden", "hidden"},
		"a merge half done":     {"git checkout -q -b side HEAD~1 && echo y >greet.py && git commit -qam side && git checkout -q task/task-1 && ! git merge -q side", "greet.py"},
		"a lock of git":         {"echo x >>greet.py && touch \"$(git rev-parse --git-dir)/index.lock\"", "greet.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, prompts, commit := inReview(t, x.line, finished(approves))
			s := p.State()
			task := s.Task("task-1")
			if len(prompts) != 2 || task.Status != blackboard.Approved || task.ReviewCyclesTotal != 0 {
				t.Fatalf("%d runs, task-1 is %s after %d rejections", len(prompts), task.Status, task.ReviewCyclesTotal)
			}
			wantPrompt(t, prompts, 2, "you changed the work that you judge")
			atCommit(t, p, commit)
			if len(s.Anomalies) != 1 || s.Anomalies[0].Type != "reviewer_changes" || s.Anomalies[0].Details["agent"] != "code-reviewer-1" {
				t.Errorf("anomalies %+v, want one against the reviewer", s.Anomalies)
			}
			if x.saved != "" {
				saved := ""
				for _, ref := range strings.Fields(p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/liza/attic/task-1")) {
					saved += p.Git(p.Dir, "diff", "--name-only", commit, ref) + "\n"
				}
				if !strings.Contains("\n"+saved, "\n"+x.saved+"\n") {
					t.Errorf("the attic has %q, want %s", saved, x.saved)
				}
			}
			if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err != nil {
				t.Fatal(err)
			}
			if got := p.Git(p.Dir, "rev-parse", "integration^2"); got != commit {
				t.Errorf("%s was merged, want %s", got, commit)
			}
		})
	}
}

// Ignored files, such as caches, are not changes.
func TestIgnoredFilesOfAReviewerAreNoChange(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, map[string]string{"greet.py": polite["greet.py"], "test_greet.py": polite["test_greet.py"], "notes/.gitignore": "*.pyc\n"})
	prompts, _ := reviewedInRuns(t, p, "task-1", func(int, string) { p.Shell(p.Repo.WorktreePath("task-1"), "echo x >notes/a.pyc") }, finished(approves))
	if got := p.State(); len(prompts) != 1 || got.Task("task-1").Status != blackboard.Approved || len(got.Anomalies) != 0 {
		t.Errorf("%d runs, task-1 is %s, %+v", len(prompts), got.Task("task-1").Status, got.Anomalies)
	}
}

// A rejection counts, whatever the reviewer did to the worktree; the coder goes on with its own work.
func TestARejectionLeavesTheCoderItsOwnWork(t *testing.T) {
	t.Parallel()
	p, prompts, commit := inReview(t, "echo x >>greet.py && git commit -qam mine && echo y >new", finished(needsFix))
	if got := p.State().Task("task-1"); len(prompts) != 1 || got.Status != blackboard.Rejected {
		t.Fatalf("%d runs, task-1 is %s", len(prompts), got.Status)
	}
	atCommit(t, p, commit)
}

// A reviewer who changes the work in every run gives no verdict at all.
func TestAReviewerWhoAlwaysChangesTheWorkIsStuck(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	prompts, _ := reviewedInRuns(t, p, "task-1", func(int, string) { p.Shell(p.Repo.WorktreePath("task-1"), "echo x >>greet.py") }, finished(approves))
	task := p.State().Task("task-1")
	if len(prompts) != 1+p.Config.Limits.MaxParseRetries || task.Status != blackboard.ReadyForReview || task.Review.Status != "stuck" || task.Hold == nil {
		t.Errorf("%d runs, task-1 is %s, %+v", len(prompts), task.Status, task.Review)
	}
}

// What came after the submission and before the review is put aside, and what was submitted is judged.
func TestWhatCameAfterTheSubmissionIsPutAside(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"another commit": "git commit -q --allow-empty -m more", "a file": "echo x >>greet.py"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := submittedGreeter(t, verb.SubmitInput{}, polite)
			commit := p.State().Task("task-1").ReviewCommit
			p.Shell(p.Repo.WorktreePath("task-1"), line)
			prompts, _ := reviewed(t, p, "task-1", approves)
			s := p.State()
			if len(prompts) != 1 || s.Task("task-1").Status != blackboard.Approved || !slices.Equal(typesOf(s), []string{"late_work"}) {
				t.Errorf("%d runs, task-1 is %s, anomalies %q", len(prompts), s.Task("task-1").Status, typesOf(s))
			}
			atCommit(t, p, commit)
		})
	}
}

// As long as the coder's program runs, what appears in the worktree is its own late work.
func TestWhatTheCoderStillDoesIsNotTheReviewers(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	err := p.Service("").Board.Update(t.Context(), "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Agents["coder-1"].Child = &blackboard.Child{PID: os.Getpid(), Run: 1, Task: "task-1", Started: blackboard.TimeOf(p.Service("").Board.Now())}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	prompts, _ := reviewedInRuns(t, p, "task-1", func(int, string) { p.Shell(p.Repo.WorktreePath("task-1"), "echo x >>greet.py") }, finished(approves))
	s := p.State()
	if len(prompts) != 1 || s.Task("task-1").Status != blackboard.Approved || !slices.Equal(typesOf(s), []string{"late_work"}) {
		t.Errorf("%d runs, task-1 is %s, anomalies %q", len(prompts), s.Task("task-1").Status, typesOf(s))
	}
}

// A folder that is gone is made again from the branch, no matter who needs it next.
func TestAVanishedWorktreeIsMadeAgain(t *testing.T) {
	t.Parallel()
	gone := func(p *verbtest.Place) {
		if err := os.RemoveAll(p.Repo.WorktreePath("task-1")); err != nil {
			t.Error(err)
		}
	}
	t.Run("before a submission", func(t *testing.T) {
		t.Parallel()
		p := cheater(t, nil)
		dir := p.Repo.WorktreePath("task-1")
		for name, text := range polite {
			verbtest.Write(t, filepath.Join(dir, name), text)
		}
		p.Git(dir, "add", "-A")
		p.Git(dir, "commit", "-q", "-m", "work")
		commit := p.Git(dir, "rev-parse", "HEAD")
		gone(p)
		if done, err := p.Service("coder-1").Submit(t.Context(), verb.SubmitInput{Task: "task-1"}); err != nil || done.Commit != commit {
			t.Fatalf("submitted %s, %v; want %s", done.Commit, err, commit)
		}
		atCommit(t, p, commit)
	})
	t.Run("before a review", func(t *testing.T) {
		t.Parallel()
		p := submittedGreeter(t, verb.SubmitInput{}, polite)
		gone(p)
		prompts, _ := reviewed(t, p, "task-1", approves)
		if got := p.State().Task("task-1"); len(prompts) != 1 || got.Status != blackboard.Approved || got.ReviewCyclesTotal != 0 {
			t.Errorf("%d runs, task-1 is %s", len(prompts), got.Status)
		}
	})
	t.Run("during a review, with its branch", func(t *testing.T) {
		t.Parallel()
		p, prompts, commit := inReview(t, "rm -rf \"$PWD\"; cd ../..; git worktree prune; git update-ref -d refs/heads/task/task-1", finished(approves))
		if got := p.State(); got.Task("task-1").Status != blackboard.Approved || len(prompts) != 1 {
			t.Errorf("%d runs, task-1 is %s", len(prompts), got.Task("task-1").Status)
		}
		atCommit(t, p, commit)
	})
	t.Run("between two runs of a coder", func(t *testing.T) {
		inBubble(t, func(c *clockwork) {
			c.task("task-1")
			var prompts []string
			s := c.supervisor(blackboard.RoleCoder, answers(&prompts, func(n int) {
				if n == 1 {
					gone(c.Place)
				} else if _, err := os.Stat(filepath.Join(c.Repo.WorktreePath("task-1"), ".git")); err != nil {
					t.Error(err)
				}
			}, finished(retries), finished(givesUp)))
			s.Once = true
			if err := s.Run(context.Background(), context.Background()); err != nil || len(prompts) != 2 {
				t.Errorf("%d runs, %v", len(prompts), err)
			}
		})
	})
}
