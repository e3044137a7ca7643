package verb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func TestAClaimWhoseWorktreeCannotBeSetUpFails(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Config.Worktree.Setup = []string{"true", "exit 3"}
	_, err := p.Service("coder-1").Claim(t.Context(), "task-1")
	if err == nil || !strings.Contains(err.Error(), `"exit 3" ended with exit code 3`) {
		t.Errorf("the claim ended with %v, want the command that failed", err)
	}
	if task := p.State().Task("task-1"); task.Status != blackboard.Unclaimed || task.Claiming != nil {
		t.Errorf("the task is %s, reserved by %+v; want it as it was", task.Status, task.Claiming)
	}
	if _, err := os.Stat(p.Repo.WorktreePath("task-1")); err == nil {
		t.Error("the worktree is still there")
	}
}

// A setup may take longer than a reservation lasts.
func TestAReservationLastsAsLongAsTheSetup(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Config.Timing = map[string]int{"claim_reserve": 1}
	expires := "grep ' expires:' '" + p.Project.State() + "'"
	changes := "was=$(" + expires + "); n=0; until [ \"$(" + expires + ")\" != \"$was\" ]; do n=$((n+1)); [ $n -lt 400 ] || exit 3; sleep 0.05; done"
	p.Config.Worktree.Setup = []string{changes, changes, changes}
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if task := p.State().Task("task-1"); task.Status != blackboard.Claimed || task.Claiming != nil {
		t.Errorf("the task is %s, reserved by %+v", task.Status, task.Claiming)
	}
}

// A claim that takes longer than its reservation may find that another agent has reserved the
// task. When it fails then, that reservation is none of its business.
func TestAFailedClaimLeavesTheReservationOfAnother(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Config.Worktree.Setup = []string{"false"}
	d := p.Service("coder-1")
	d.Board.At = func(point string) {
		if point != "claim.reserved" {
			return
		}
		err := p.Store.Update(t.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			s.Task("task-1").Claiming = &blackboard.Claiming{By: "coder-2", Expires: blackboard.TimeOf(time.Now().Add(time.Minute))}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Claim(t.Context(), "task-1"); err == nil {
		t.Error("the claim was made")
	}
	if c := p.State().Task("task-1").Claiming; c == nil || c.By != "coder-2" {
		t.Errorf("the reservation is %+v, want that of coder-2", c)
	}
}

func TestASpecBehindALinkOutOfTheProjectIsRefused(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	verbtest.Write(t, filepath.Join(root, "specs", "vision.md"), "# Vision\n")
	verbtest.Write(t, filepath.Join(outside, "secret.md"), "not of this project\n")
	for _, hidden := range []string{".git/config", ".liza/secrets/key", ".worktrees/task-2/a.md"} {
		verbtest.Write(t, filepath.Join(root, hidden), "nothing for an agent\n")
	}
	for link, target := range map[string]string{
		"specs/file.md": filepath.Join(outside, "secret.md"), "specs/folder": outside, "specs/inside.md": "vision.md",
		"specs/git.md": "../.git/config"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for ref, taken := range map[string]bool{
		"specs/vision.md": true, "specs/inside.md#part": true, "specs/file.md": false, "specs/folder/secret.md": false,
		"../secret.md": false, filepath.Join(outside, "secret.md"): false, "specs": false, "": false,
		".git/config": false, "specs/git.md": false, ".liza/secrets/key": false, "specs/../.liza/secrets/key": false, ".worktrees/task-2/a.md": false} {
		if path, err := board.SpecFile(root, ref); (err == nil) != taken {
			t.Errorf("SpecFile(%q) gives %q, %v; taken: want %v", ref, path, err, taken)
		}
	}
}

// A run that was under way when its claim ended says nothing about the next claim, though the
// same agent has made it.
func TestTheOutcomeOfAnEarlierClaimIsDropped(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	d := p.Supervised("coder-1")
	claim := func() {
		t.Helper()
		if _, err := d.Claim(t.Context(), "task-1"); err != nil {
			t.Fatal(err)
		}
	}
	claim()
	mark := outcome.MarkOf(d, p.State(), "coder-1", "task-1")
	p.Commit("task-1")
	if _, err := d.Release(t.Context(), verb.ReleaseInput{Task: "task-1", Reason: "once more"}); err != nil {
		t.Fatal(err)
	}
	claim()
	before := p.State().Task("task-1")
	// The history of the first claim is known to the mark, so that the claim's number alone tells.
	mark.History = len(before.History)
	out, err := outcome.Apply(t.Context(), d, outcome.Run{Kind: "coder", Task: "task-1", Before: mark,
		Answer: exitcmd.Read(`{"action": "STUCK", "evidence_files": [], "summary_for_supervisor": "No name is given.", "blocked_questions": ["Which name?"]}`, "coder")})
	if err != nil {
		t.Fatal(err)
	}
	if after := p.State().Task("task-1"); out.Effect != outcome.Dropped || after.Status != blackboard.Claimed {
		t.Errorf("the outcome is %s and the task is %s; want it dropped, and the claim untouched", out.Effect, after.Status)
	}
}
