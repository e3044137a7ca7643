package integration

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
)

// Where the branch is against where Liza left it: what is news, what only a person decides.
func TestWhereTheBranchIsAgainstWhereLizaLeftIt(t *testing.T) {
	t.Parallel()
	intent := &blackboard.MoveIntent{Commit: "bbb", Old: "aaa"}
	for _, c := range []struct {
		name        string
		integration *blackboard.Integration
		tip         string
		moved, news bool
		next        string
	}{
		{"a board that remembers nothing", nil, "aaa", false, true, ""},
		{"neither board nor branch", nil, "", false, false, ""},
		{"where it was left", &blackboard.Integration{Tip: "aaa"}, "aaa", false, false, ""},
		{"elsewhere", &blackboard.Integration{Tip: "aaa"}, "bbb", true, true, "liza sync --accept, or liza sync --restore"},
		{"elsewhere, as was told", &blackboard.Integration{Tip: "aaa", Moved: &blackboard.Moved{Tip: "bbb"}}, "bbb", true, false, "liza sync --accept, or liza sync --restore"},
		{"further, than was told", &blackboard.Integration{Tip: "aaa", Moved: &blackboard.Moved{Tip: "bbb"}}, "ccc", true, true, "liza sync --accept, or liza sync --restore"},
		{"back by itself", &blackboard.Integration{Tip: "aaa", Moved: &blackboard.Moved{Tip: "bbb"}}, "aaa", false, true, ""},
		{"removed", &blackboard.Integration{Tip: "aaa"}, "", true, true, "liza sync --restore"},
		{"at a move that Liza announced", &blackboard.Integration{Tip: "aaa", Intent: intent}, "bbb", false, false, ""},
		{"at a move that was announced from elsewhere", &blackboard.Integration{Tip: "ccc", Intent: intent}, "bbb", true, true, "liza sync --accept, or liza sync --restore"},
	} {
		b, news := New(&board.Session{}).standingAt(&blackboard.State{Integration: c.integration}, c.tip)
		if b.Moved != c.moved || news != c.news || b.Next != c.next || b.Tip != c.tip || (b.Text != "") != c.moved {
			t.Errorf("%s: moved %t, news %t, next %q, text %q; want moved %t, news %t, next %q", c.name, b.Moved, news, b.Next, b.Text, c.moved, c.news, c.next)
		}
	}
}

// log makes a history of "commit parent parent", children first.
func log(lines ...string) (list []git.Logged) {
	for _, line := range lines {
		words := strings.Fields(line)
		list = append(list, git.Logged{Hash: words[0], Parents: words[1:]})
	}
	return list
}

// Each commit belongs to the merge that brought it, once, the oldest first; merges and what no task brought are left out.
func TestWhatEachMergeBrought(t *testing.T) {
	t.Parallel()
	tasks := map[string]string{"m1": "one", "m2": "two", "m3": "three"}
	for _, c := range []struct {
		name string
		log  []git.Logged
		tip  string
		want string
	}{
		{"nothing", nil, "base", ""},
		{"one merge", log("m1 base a2", "a2 a1", "a1 base"), "m1", "one: a1 a2"},
		{"two merges", log("m2 m1 b1", "b1 base", "m1 base a1", "a1 base"), "m2", "one: a1; two: b1"},
		{"work on top of work", log("m2 m1 b1", "b1 m1", "m1 base a1", "a1 base"), "m2", "one: a1; two: b1"},
		{"a task that merged the branch before", log("m2 m1 b2", "b2 b1 m1", "b1 base", "m1 base a1", "a1 base"), "m2", "one: a1; two: b1"},
		{"a sync of the base branch", log("m1 s a1", "a1 base", "s base n1", "n1 base"), "m1", "one: a1"},
		{"the same commit twice", log("m2 m1 a1", "m1 base a1", "a1 base"), "m2", "one: a1"},
		{"a commit without a merge", log("m1 x a1", "a1 base", "x base"), "m1", "one: a1"},
		{"a history that is cut", log("m2 m1 b1"), "m2", ""},
		{"a tip that is not in it", log("m1 base a1", "a1 base"), "other", ""},
		{"a root", log("m1 r a1", "a1 r", "r"), "m1", "one: a1"},
	} {
		var got []string
		for _, b := range broughtBy(c.log, c.tip, tasks) {
			var hashes []string
			for _, x := range b.Commits {
				hashes = append(hashes, x.Hash)
			}
			got = append(got, b.Task+": "+strings.Join(hashes, " "))
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
}

// Work that is to be merged, in the order of its merge: approved first, a claim and a rejection last; everything else is not looked at.
func TestTheWorkThatIsToBeMergedComesInItsOrder(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{}
	for i, st := range blackboard.Statuses {
		s.AddTasks(&blackboard.Task{ID: fmt.Sprint(st, 1), Status: st}, &blackboard.Task{ID: fmt.Sprint("exec", i), Kind: blackboard.ExecTask, Status: st})
	}
	s.AddTasks(&blackboard.Task{ID: "APPROVED2", Status: blackboard.Approved}, &blackboard.Task{ID: "writes", Kind: blackboard.ExecTask, Writes: true, Status: blackboard.Approved})
	for id, want := range map[string]string{"": "APPROVED1 APPROVED2 writes READY_FOR_REVIEW1 CLAIMED1 REJECTED1", "CLAIMED1": "CLAIMED1", "MERGED1": "", "nope": ""} {
		var got []string
		for _, x := range open(s, id) {
			got = append(got, x.ID)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("for %q: %s, want %s", id, g, want)
		}
	}
}

func TestAClashNamesFiveFilesAtMost(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "f1", 4: "f1, f2, f3, f4", 5: "f1, f2, f3, f4, f5", 6: "f1, f2, f3, f4, f5 and 1 more", 7: "f1, f2, f3, f4, f5 and 2 more"} {
		c := Clash{Task: "a"}
		for i := range n {
			c.Files = append(c.Files, fmt.Sprint("f", i+1))
		}
		if got := c.String(); got != "a does not merge with the integration branch as it is now: "+want {
			t.Errorf("%d files: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{1: "integration lacks 1 commit of its base branch main", 2: "integration lacks 2 commits of its base branch main"} {
		if got := (Lag{Branch: "integration", Base: "main", Behind: n}).String(); got != want {
			t.Errorf("%d behind: %q, want %q", n, got, want)
		}
	}
}
