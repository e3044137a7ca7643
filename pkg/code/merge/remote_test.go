package merge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/verb/verbtest"
)

// onRemote are the refs of the remote but main: names and commits.
func onRemote(p *verbtest.Place, remote string) map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(p.Git(remote, "for-each-ref", "--format=%(refname) %(objectname)")) {
		if name, commit, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && name != "refs/heads/main" {
			refs[name] = commit
		}
	}
	return refs
}

func TestWorkTravelsOverTheRemote(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	remote := p.WithRemote()
	p.Approved("task-1")
	task := p.State().Task("task-1")
	if refs := onRemote(p, remote); refs["refs/heads/task/task-1"] != task.ReviewCommit {
		t.Errorf("the submission is not on the remote: %v", refs)
	}
	r := mustMerge(t, p, "task-1")
	if refs := onRemote(p, remote); len(refs) != 1 || refs["refs/heads/integration"] != r.MergeCommit {
		t.Errorf("after the merge as %s the remote has %v", r.MergeCommit, refs)
	}
	if head(p) != r.MergeCommit || p.State().Tip() != r.MergeCommit {
		t.Errorf("the branch here is at %s, the board says %s, merged as %s", head(p), p.State().Tip(), r.MergeCommit)
	}
	p.Sound()
}

// Wherever a merge over a remote is interrupted, also between the push and the board, the next one ends it from what board
// and remote say, on this host or on another.
func TestAnInterruptedMergeOverARemoteConverges(t *testing.T) {
	t.Parallel()
	points := []string{"P1"}
	for n := range 11 {
		points = append(points, fmt.Sprintf("M%d", n))
	}
	for _, point := range points {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/elsewhere=%t", point, elsewhere), func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				remote := p.WithRemote()
				p.Config.Integration.Checks = []string{"test -f task-1.md"}
				p.Approved("task-1")
				next := p
				if elsewhere {
					next = p.OnHost("other")
					next.Shared = false // what turns add is tested with them
				}
				interrupt(t, merger(p), "task-1", point)
				r := mustMerge(t, next, "task-1")
				if err := merger(p).CleanUp(context.Background()); err != nil {
					t.Fatal(err)
				}
				p.Sound()
				task := p.State().Task("task-1")
				if task.Status != blackboard.Merged || entries(task, "merged") != 1 {
					t.Errorf("task-1 is %s with %d merged entries", task.Status, entries(task, "merged"))
				}
				if refs := onRemote(p, remote); len(refs) != 1 || refs["refs/heads/integration"] != r.MergeCommit {
					t.Errorf("merged as %s; the remote has %v", r.MergeCommit, refs)
				}
				if merges := p.Git(remote, "log", "--merges", "--format=%s", "integration"); merges != "Merge task-1: Write task-1" {
					t.Errorf("merges on the remote: %q, want exactly one", merges)
				}
				if got := p.Git(next.Dir, "for-each-ref", "--format=%(objectname)", "refs/heads/integration"); !r.Already && got != r.MergeCommit {
					t.Errorf("the branch of the host that merged is at %s", got)
				}
				if late := p.State().Anomalies; len(late) > 0 {
					t.Errorf("anomalies %+v", late)
				}
			})
		}
	}
}

func TestARemoteThatRefusesLeavesTheApproval(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"refuses": "echo 'integration is protected' >&2; exit 1", "hangs": "exec tail -f /dev/null"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			remote := p.WithRemote()
			p.Approved("task-1")
			before := head(p)
			p.Hook(remote, "pre-receive", script)
			if name == "hangs" {
				p.Repo.RemoteTimeout = 500 * time.Millisecond
			}
			_, err := merger(p).Task(context.Background(), "task-1")
			said := new(git.RemoteError)
			if !errors.As(err, &said) || said.Refused != (name == "refuses") || said.Late != (name == "hangs") || said.Refused && !strings.Contains(err.Error(), "integration is protected") {
				t.Errorf("the merge said %v", err)
			}
			if task := p.State().Task("task-1"); task.Status != blackboard.Approved || task.ApprovedBy == "" || head(p) != before {
				t.Errorf("task-1 is %s, approved by %q; the branch is at %s, was at %s", task.Status, task.ApprovedBy, head(p), before)
			}
			p.Hook(remote, "pre-receive", "")
			p.Repo.RemoteTimeout = 0
			mustMerge(t, p, "task-1")
			p.Sound()
		})
	}
}

// Two hosts merge at the same moment: the remote takes one of both, and the other one goes on from there.
func TestTheRemoteDecidesWhoMergesFirst(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	remote := p.WithRemote()
	p.Approved("task-1")
	p.Approved("task-2")
	other := p.OnHost("other")
	other.Shared = false
	m := merger(p)
	m.At = func(point string) {
		if point == "M6" && p.State().Task("task-2").Status == blackboard.Approved {
			mustMerge(t, other, "task-2")
		}
	}
	r, err := m.Task(context.Background(), "task-1")
	if err != nil || r.Status != blackboard.Merged {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := p.Git(remote, "log", "--merges", "--first-parent", "--format=%s", "integration"); got != "Merge task-1: Write task-1\nMerge task-2: Write task-2" {
		t.Errorf("merges on the remote: %q", got)
	}
	if err := merger(p).CleanUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.Sound()
}

// What somebody else pushed onto the branch of the remote waits for a person, as it does in a repository alone.
func TestAForeignPushStopsMerges(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	remote := p.WithRemote()
	p.Approved("task-1")
	p.Approved("task-2")
	mustMerge(t, p, "task-1")
	foreign := p.Git(p.Dir, "commit-tree", "-m", "by hand", "-p", head(p), head(p)+"^{tree}")
	p.Git(p.Dir, "push", "-q", remote, foreign+":refs/heads/integration")
	_, err := merger(p).Task(context.Background(), "task-2")
	if refused := new(transition.Refusal); !errors.As(err, &refused) || refused.Guard != "G63" {
		t.Fatalf("a merge onto a foreign push: %v", err)
	}
	p.Accept()
	mustMerge(t, p, "task-2")
	if has := p.Git(remote, "branch", "--contains", foreign, "integration"); has == "" {
		t.Error("what was accepted is not on the branch")
	}
	p.Sound()
}
