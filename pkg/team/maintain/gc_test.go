package maintain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func collected(p *verbtest.Place, in maintain.CollectInput) (removed, kept []string) {
	p.TB.Helper()
	done, err := maintain.CollectGarbage(p.TB.Context(), p.Service(""), in)
	if err != nil {
		p.TB.Fatal(err)
	}
	line := func(g maintain.Garbage) string {
		return strings.TrimSuffix(g.Kind+" "+g.Name+": "+g.Why+"; next: "+g.Next, "; next: ")
	}
	for _, g := range done.Removed {
		removed = append(removed, line(g))
	}
	for _, g := range done.Kept {
		kept = append(kept, line(g))
	}
	return removed, kept
}

func age(p *verbtest.Place, path string, old time.Duration) {
	p.TB.Helper()
	at := time.Now().Add(-old)
	if err := os.Chtimes(path, at, at); err != nil {
		p.TB.Fatal(err)
	}
}

// Each leftover is removed or kept, with the reason; a dry run says the same and removes nothing.
func TestGarbageIsWhatIsProvenToBeMergedOrSaved(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, removed, kept string
		in                  maintain.CollectInput
		make                func(p *verbtest.Place)
		gone, there         string // a file of the project
	}{
		{name: "a worktree of nobody", removed: "worktree .worktrees/zz: no task has the id zz, and everything is merged or saved", gone: ".worktrees/zz/README.md", make: func(p *verbtest.Place) {
			p.Git(p.Dir, "worktree", "add", "-q", "-b", "task/zz", ".worktrees/zz", "integration")
		}},
		{name: "a branch of nobody", removed: "branch task/xx: no task has the id xx, and everything is merged or saved", make: func(p *verbtest.Place) { p.Git(p.Dir, "branch", "task/xx", "integration") }},
		{name: "a commit that is nowhere else", kept: "worktree .worktrees/yy: no task has the id yy, but this is neither merged nor saved: 1 commit up to ", there: ".worktrees/yy/a.txt", make: func(p *verbtest.Place) {
			p.Git(p.Dir, "worktree", "add", "-q", "-b", "task/yy", ".worktrees/yy", "integration")
			verbtest.Write(p.TB, filepath.Join(p.Dir, ".worktrees", "yy", "a.txt"), "a\n")
			p.Git(filepath.Join(p.Dir, ".worktrees", "yy"), "add", "-A")
			p.Git(filepath.Join(p.Dir, ".worktrees", "yy"), "commit", "-q", "-m", "a")
		}},
		{name: "a file that is not committed", kept: "worktree .worktrees/ww: no task has the id ww, but this is neither merged nor saved: draft.txt; next: git -C .worktrees/ww status", there: ".worktrees/ww/draft.txt", make: func(p *verbtest.Place) {
			p.Git(p.Dir, "worktree", "add", "-q", "-b", "task/ww", ".worktrees/ww", "integration")
			verbtest.Write(p.TB, filepath.Join(p.Dir, ".worktrees", "ww", "draft.txt"), "a\n")
		}},
		{name: "a branch of the person", kept: "worktree .worktrees/mine: it is on branch mine, which is none of Liza's", there: ".worktrees/mine/README.md", make: func(p *verbtest.Place) {
			p.Git(p.Dir, "worktree", "add", "-q", "-b", "mine", ".worktrees/mine", "integration")
		}},
		{name: "a task that is worked on", kept: "worktree .worktrees/task-1: task task-1 is CLAIMED", there: ".worktrees/task-1/README.md", make: func(p *verbtest.Place) {
			p.AddTask("task-1")
			if _, err := p.Service("coder-1").Claim(p.TB.Context(), "task-1"); err != nil {
				p.TB.Fatal(err)
			}
		}},
		{name: "a candidate of nobody", removed: "candidate refs/liza/candidate/gone: no task has the id gone", make: func(p *verbtest.Place) { p.Git(p.Dir, "update-ref", "refs/liza/candidate/gone", "integration") }},
		{name: "a candidate whose work is nowhere else", kept: "candidate refs/liza/candidate/gone: no task has the id gone, but the work in it is nowhere else; next: git log refs/liza/candidate/gone", make: func(p *verbtest.Place) {
			tree := p.Git(p.Dir, "rev-parse", "HEAD^{tree}")
			p.Git(p.Dir, "update-ref", "refs/liza/candidate/gone", p.Git(p.Dir, "commit-tree", tree, "-m", "lone"))
		}},
		{name: "a candidate of work that waits", kept: "candidate refs/liza/candidate/task-1: its merge may be under way; next: liza merge task-1", make: func(p *verbtest.Place) {
			p.Approved("task-1")
			p.Git(p.Dir, "update-ref", "refs/liza/candidate/task-1", "integration")
		}},
		{name: "a folder of nobody", kept: "folder .worktrees/.lost-1: it was in the place of a worktree, and nobody knows whose it is; next: ls -la .worktrees/.lost-1", there: ".worktrees/.lost-1/a", make: func(p *verbtest.Place) {
			verbtest.Write(p.TB, filepath.Join(p.Dir, ".worktrees", ".lost-1", "a"), "a")
		}},
		{name: "saved work", kept: "attic 1 ref under refs/liza/attic: saved work is kept unless it is asked for; next: liza gc --attic --older 30d --dry-run", make: func(p *verbtest.Place) { p.Git(p.Dir, "update-ref", "refs/liza/attic/task-1/1", "integration") }},
		{name: "saved work of no task", in: maintain.CollectInput{Attic: true}, kept: "attic refs/liza/attic/task-1/1: no task has the id task-1; next: git log refs/liza/attic/task-1/1", make: func(p *verbtest.Place) {
			p.Git(p.Dir, "update-ref", "refs/liza/attic/task-1/1", "integration")
		}},
		{name: "saved work of an open task", in: maintain.CollectInput{Attic: true}, kept: "attic refs/liza/attic/task-1/1: task task-1 is UNCLAIMED", make: func(p *verbtest.Place) {
			p.AddTask("task-1")
			p.Git(p.Dir, "update-ref", "refs/liza/attic/task-1/1", "integration")
		}},
		{name: "saved work that is young", in: maintain.CollectInput{Attic: true, Older: 30 * 24 * time.Hour}, kept: "attic refs/liza/attic/task-1/1: it is ", make: func(p *verbtest.Place) {
			p.Abandoned("task-1")
			p.Git(p.Dir, "update-ref", "refs/liza/attic/task-1/1", "integration")
		}},
		{name: "saved work that is old", in: maintain.CollectInput{Attic: true, Older: time.Hour}, removed: "attic refs/liza/attic/task-1/1: older than 1h0m0s", make: func(p *verbtest.Place) {
			p.Abandoned("task-1")
			p.Git(p.Dir, "update-ref", "refs/liza/attic/task-1/1", "integration")
			p.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
		}},
		{name: "a writer that is gone", removed: "file .liza/.state.yaml.tmp-999999999: its writer is gone", gone: ".liza/.state.yaml.tmp-999999999", make: func(p *verbtest.Place) {
			path := filepath.Join(p.Project.Liza, ".state.yaml.tmp-999999999")
			verbtest.Write(p.TB, path, "")
			age(p, path, 2*time.Hour)
		}},
		{name: "a history that is old", removed: "file .liza/history/old: no task has the id old, and history.retention_days is 7", gone: ".liza/history/old/1.json", make: func(p *verbtest.Place) {
			p.Config.History.RetentionDays = 7
			path := filepath.Join(p.Project.HistoryDir("old"), "1.json")
			verbtest.Write(p.TB, path, "{}")
			age(p, path, 8*24*time.Hour)
		}},
		{name: "a history that is young", there: ".liza/history/new/1.json", make: func(p *verbtest.Place) {
			p.Config.History.RetentionDays = 7
			verbtest.Write(p.TB, filepath.Join(p.Project.HistoryDir("new"), "1.json"), "{}")
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			x.make(p)
			dry := x.in
			dry.DryRun = true
			refs := p.Git(p.Dir, "for-each-ref")
			wouldRemove, wouldKeep := collected(p, dry)
			if p.Git(p.Dir, "for-each-ref") != refs {
				t.Error("a dry run removed a ref")
			}
			if _, err := os.Lstat(filepath.Join(p.Dir, x.gone)); x.gone != "" && err != nil {
				t.Errorf("a dry run removed a file: %v", err)
			}
			removed, kept := collected(p, x.in)
			for _, list := range [][]string{wouldRemove, removed} {
				if x.removed != "" && !has(list, x.removed) || x.removed == "" && len(list) > 0 {
					t.Errorf("removed %q, want %q", list, x.removed)
				}
			}
			for _, list := range [][]string{wouldKeep, kept} {
				if x.kept != "" && !has(list, x.kept) || x.kept == "" && len(list) > 0 {
					t.Errorf("kept %q, want %q", list, x.kept)
				}
			}
			if _, err := os.Lstat(filepath.Join(p.Dir, x.gone)); x.gone != "" && err == nil {
				t.Errorf("%s is there", x.gone)
			}
			if _, err := os.Lstat(filepath.Join(p.Dir, x.there)); err != nil {
				t.Errorf("%s is gone: %v", x.there, err)
			}
		})
	}
}

// Prompts and outputs stay for the sprint and the one before; those of open tasks stay longer.
func TestTextsOfFormerSprintsGo(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("open")
	old := []string{p.Project.Prompt("done", 1), p.Project.Output("done"), p.Project.Activity("done"), p.Project.Prompt("open", 1)}
	for _, path := range old {
		verbtest.Write(t, path, "text")
		age(p, path, 48*time.Hour)
	}
	if removed, _ := collected(p, maintain.CollectInput{}); len(removed) > 0 {
		t.Errorf("in the first sprint %q is removed", removed)
	}
	change(p, func(s *blackboard.State) {
		for range 2 {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(time.Now().Add(-24 * time.Hour)), Agent: blackboard.Human, Action: blackboard.ActionSprintStarted})
		}
	})
	verbtest.Write(t, p.Project.Prompt("done", 2), "new")
	removed, _ := collected(p, maintain.CollectInput{})
	for _, want := range []string{"file .liza/prompts/done: 1 file: older than the sprint before this one", "file .liza/output: "} {
		if !has(removed, want) {
			t.Errorf("removed is %q, want %q", removed, want)
		}
	}
	for i, path := range append(old, p.Project.Prompt("done", 2)) {
		if _, err := os.Lstat(path); (err == nil) != (i > 2) {
			t.Errorf("%s is there: %t", path, err == nil)
		}
	}
}

// An agent removes nothing.
func TestOnlyAPersonCollectsGarbage(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Git(p.Dir, "branch", "task/xx", "integration")
	if _, err := maintain.CollectGarbage(t.Context(), p.Service("coder-1"), maintain.CollectInput{}); err == nil || !strings.Contains(err.Error(), "coder-1 may not remove anything") {
		t.Errorf("an agent gets %v", err)
	}
	if !strings.Contains(p.Git(p.Dir, "branch", "--list", "task/*"), "task/xx") {
		t.Error("the branch is gone")
	}
}

// Uninit lists what it would take away; it does so when the person says yes, and saves what is nowhere else in a bundle.
func TestUninitTakesLizaOutAndLosesNothing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Abandoned("done")
	p.AddTask("task-1")
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	commit := p.Commit("task-1")
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "draft.txt"), "not committed\n")
	d := p.Service("")
	if _, err := maintain.Uninit(t.Context(), d, p.StateHome(), true); err == nil || !strings.Contains(err.Error(), "coder-1 is at work, or may be") {
		t.Fatalf("with an agent at work it says %v", err)
	}
	if _, err := d.Release(t.Context(), verb.ReleaseInput{Task: "task-1", Force: true, Reason: "the end"}); err != nil {
		t.Fatal(err)
	}
	change(p, func(s *blackboard.State) { s.Agents = nil })
	seen, err := maintain.Uninit(t.Context(), d, filepath.Join(p.StateHome(), "liza"), false)
	if err != nil || seen.Done || len(seen.Removed) == 0 {
		t.Fatalf("without yes: %+v, %v", seen, err)
	}
	if _, err := os.Stat(p.Project.State()); err != nil {
		t.Fatalf("the board is gone: %v", err)
	}
	done, err := maintain.Uninit(t.Context(), d, filepath.Join(p.StateHome(), "liza"), true)
	if err != nil || !done.Done {
		t.Fatalf("with yes: %+v, %v", done, err)
	}
	for _, path := range []string{p.Project.Liza, filepath.Join(p.Dir, ".worktrees", "task-1"), filepath.Join(p.Project.GitDir, "liza")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	if refs := p.Git(p.Dir, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("the refs are %s", refs)
	}
	if done.Bundle == "" || !strings.Contains(p.Git(p.Dir, "bundle", "list-heads", done.Bundle), commit) && !slices.ContainsFunc(done.Unmerged, func(s string) bool { return strings.Contains(s, "task-1") }) {
		t.Errorf("the bundle %q lacks %s; unmerged %q", done.Bundle, commit, done.Unmerged)
	}
}
