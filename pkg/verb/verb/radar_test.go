package verb_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// same commits one text into the file both.md of a claimed task.
func same(p *verbtest.Place, id, text string) {
	p.TB.Helper()
	dir := p.Repo.WorktreePath(id)
	verbtest.Write(p.TB, filepath.Join(dir, "both.md"), text+"\n")
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", text)
}

// Two tasks begin at the same commit and write the same file: once one is merged, the radar names the other, whatever its status,
// with the file, and nobody else.
func TestTheRadarNamesWhatWouldNotMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx, d := t.Context(), p.Service("")
	for _, id := range []string{"one", "two", "idle"} {
		p.AddTask(id)
		if _, err := p.Service("coder-"+map[string]string{"one": "1", "two": "2", "idle": "3"}[id]).Claim(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	same(p, "one", "hello")
	same(p, "two", "goodbye")
	radar := func(id string) string {
		var list []string
		for _, c := range d.Integration.Radar(ctx, p.State(), id) {
			list = append(list, c.Task+": "+strings.Join(c.Files, " "))
		}
		return strings.Join(list, "; ")
	}
	if got := radar(""); got != "" {
		t.Errorf("before anything is merged it says %q", got)
	}
	if _, err := p.Service("coder-1").Submit(ctx, verb.SubmitInput{Task: "one"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("code-reviewer-1").Reviews.ClaimReview(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("code-reviewer-1").Reviews.Verdict(ctx, verb.VerdictInput{Task: "one", Verdict: verb.Approve}); err != nil {
		t.Fatal(err)
	}
	if got := radar(""); got != "" {
		t.Errorf("before the merge it says %q", got)
	}
	p.Merge("one")
	for id, want := range map[string]string{"": "two: both.md", "two": "two: both.md", "one": "", "idle": ""} {
		if got := radar(id); got != want {
			t.Errorf("of %q it says %q, want %q", id, got, want)
		}
	}
	if _, err := p.Service("coder-2").Submit(ctx, verb.SubmitInput{Task: "two"}); err != nil {
		t.Fatal(err)
	}
	if got := radar(""); got != "two: both.md" {
		t.Errorf("of submitted work it says %q", got)
	}
}

func TestPathsThatGitMayKnow(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"a.go": true, "docs/.liza": true, ".lizard": true, ".worktrees.md": true,
		".liza": false, ".worktrees": false, ".worktrees/task-1": false, ".liza/state.yaml": false, ".liza/log.yaml": false, ".liza/rolesx/a.md": false,
		".liza/config.yaml": true, ".liza/config.json": true, ".liza/instructions.md": true, ".liza/.gitignore": true, ".liza/roles/coder.md": true, ".liza/skills/x/run": true,
	} {
		if got := verb.MayBeTracked(path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

// Without a recorded base the branch that is checked out is taken, but never the integration branch itself.
func TestSyncTakesTheBranchThatIsCheckedOut(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx, d := t.Context(), p.Service("")
	base, integration := p.Git(p.Dir, "branch", "--show-current"), p.State().IntegrationBranch()
	verbtest.Write(t, filepath.Join(p.Dir, "new.md"), "new\n")
	p.Git(p.Dir, "add", "new.md")
	p.Git(p.Dir, "commit", "-q", "-m", "new")
	for name, x := range map[string]struct {
		recorded, checkedOut, refused string
		guessed                       bool
	}{
		"recorded":                   {base, base, "", false},
		"recorded, another is there": {base, "elsewhere", "", false},
		"not recorded":               {"", base, "", true},
		"not recorded, only our own": {"", integration, "base branch is not recorded", false},
		"not recorded, no branch":    {"", "--detach", "base branch is not recorded", false},
	} {
		forget(t, p, x.recorded)
		if x.checkedOut == "elsewhere" {
			p.Git(p.Dir, "switch", "-q", "-C", "elsewhere")
		} else {
			p.Git(p.Dir, "switch", "-q", x.checkedOut)
		}
		out, err := d.Merges.Sync(ctx, "", true)
		p.Git(p.Dir, "switch", "-q", base)
		switch {
		case x.refused == "" && (err != nil || out.Guessed != x.guessed || out.Commits != 1):
			t.Errorf("%s: %+v, %v", name, out, err)
		case x.refused != "" && (err == nil || !strings.Contains(err.Error(), x.refused)):
			t.Errorf("%s: %v, want %q", name, err, x.refused)
		}
	}
}

// What was fetched last is not what the remote has now.
func TestSyncFromABranchOfARemoteAsksTheRemote(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	remote := filepath.Join(t.TempDir(), "upstream.git")
	p.Git(p.Dir, "clone", "-q", "--bare", p.Dir, remote)
	p.Git(p.Dir, "remote", "add", "upstream", remote)
	p.Git(p.Dir, "fetch", "-q", "upstream")
	p.Shell(t.TempDir(), "git clone -q "+remote+" . && echo new > new.md && git add . && git -c user.name=Ada -c user.email=ada@localhost commit -qm new && git push -q origin HEAD:main")
	d, seen := p.Service(""), p.Git(p.Dir, "rev-parse", "upstream/main")
	out, err := d.Merges.Sync(t.Context(), "upstream/main", false)
	if err != nil || out.Commits != 1 || out.Base != p.Git(remote, "rev-parse", "main") {
		t.Fatalf("%+v, %v", out, err)
	}
	if now := p.Git(p.Dir, "rev-parse", "upstream/main"); now != seen {
		t.Errorf("the person's own ref moved to %s", now)
	}
	for from, want := range map[string]string{"upstream/none": "the remote upstream has no branch none", "elsewhere/main": "does not name a commit"} {
		if _, err := d.Merges.Sync(t.Context(), from, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// forget lets the board have another base branch, "" for none.
func forget(t *testing.T, p *verbtest.Place, base string) {
	t.Helper()
	err := p.Service("").Board.Update(context.Background(), "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Config["base_ref"] = base
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An agent without a registration, or one that acts for another, is left to the claim, which says why; one that could take
// nothing is told at once.
func TestALookRefusesOnlyWhatAClaimWouldRefuse(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := t.Context()
	d := p.Supervised("coder-1")
	if err := d.Look(ctx, p.State()); err == nil || !strings.Contains(err.Error(), "no task exists yet") {
		t.Errorf("an empty board: %v", err)
	}
	p.AddTask("task-1")
	if err := d.Look(ctx, p.State()); err != nil {
		t.Errorf("there is a task: %v", err)
	}
	reviewer := p.Supervised("code-reviewer-1")
	if err := reviewer.Look(ctx, p.State()); err == nil {
		t.Error("nothing is to be reviewed, and a look says nothing of it")
	}
	p.Config.Review.Mode = string(blackboard.ReviewDisabled)
	if err := reviewer.Look(ctx, p.State()); err != nil {
		t.Errorf("without reviews: %v", err)
	}
	for _, as := range []string{"", "coder-8"} { // not registered; an agent that acts for another one
		other := p.Service(as)
		other.Board.Caller.AgentID = "coder-7"
		if err := other.Look(ctx, p.State()); err != nil {
			t.Errorf("coder-7 as %q: %v", as, err)
		}
	}
}
