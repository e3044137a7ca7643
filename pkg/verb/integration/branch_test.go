package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A commit of a history: its name, the branch that it is on, its parents by their names (main is the first commit of the project), and one
// file, whose content is its name.
type commit struct{ name, branch, subject, from, merge, file string }

// plant makes commits with one process of git, and returns their hashes by name.
func plant(t *testing.T, dir string, commits ...commit) map[string]string {
	t.Helper()
	var in bytes.Buffer
	mark := map[string]int{}
	ref := func(name string) string {
		if n, ok := mark[name]; ok {
			return fmt.Sprint(":", n)
		}
		return name + "^0"
	}
	for i, c := range commits {
		fmt.Fprintf(&in, "commit refs/heads/%s\nmark :%d\ncommitter T <t@localhost> 1768831200 +0000\ndata %d\n%s\nfrom %s\n", c.branch, i+1, len(c.subject), c.subject, ref(c.from))
		if c.merge != "" {
			fmt.Fprintf(&in, "merge %s\n", ref(c.merge))
		}
		if c.file != "" {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", c.file, len(c.name), c.name)
		}
		fmt.Fprintln(&in)
		mark[c.name] = i + 1
	}
	marks := filepath.Join(dir, ".git", "marks")
	cmd := exec.Command("git", "-C", dir, "fast-import", "--quiet", "--force", "--export-marks="+marks)
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	hashes := map[string]string{"main": strings.TrimSpace(verbtest.Read(t, filepath.Join(dir, ".git", "refs", "heads", "main")))}
	for line := range strings.Lines(verbtest.Read(t, marks)) {
		var n int
		var hash string
		if _, err := fmt.Sscanf(line, ":%d %s", &n, &hash); err != nil {
			t.Fatal(err)
		}
		hashes[commits[n-1].name] = hash
	}
	return hashes
}

// The history of these tests: a was merged onto the branch; b changes the same file, c another one. Somebody put x on top, and a merge of c.
var history = []commit{
	{"a1", "task/a", "work of a", "refs/heads/main", "", "a.md"},
	{"ma", "integration", "Merge a: Write a", "refs/heads/main", "a1", "a.md"},
	{"b1", "task/b", "work of b", "refs/heads/main", "", "a.md"},
	{"c1", "task/c", "work of c", "refs/heads/main", "", "c.md"},
	{"x", "foreign", "outside", "ma", "", "x.md"},
	{"mc", "foreign", "Merge c: Write c", "x", "c1", "c.md"},
	{"n1", "next", "news", "refs/heads/main", "", "n.md"},
	{"n2", "next", "more news", "n1", "", "n.md"},
}

// project is a board in memory with that history, on which a is merged.
func project(t *testing.T, tasks ...*blackboard.Task) (*verb.Service, *store.Memory, map[string]string, *blackboard.State) {
	t.Helper()
	s := verbtest.Board(append([]*blackboard.Task{verbtest.Task("a", blackboard.Merged)}, tasks...)...)
	d, _ := verbtest.OnMemory(t, s)
	h := plant(t, d.Board.Project.Root, history...)
	a := s.Task("a")
	a.BaseCommit, a.ReviewCommit, a.MergeCommit, a.ClaimSeq = h["main"], h["a1"], h["ma"], 1
	for x := range s.Tasks() {
		if x.ID != "a" {
			x.BaseCommit = h["main"]
			if x.Status != blackboard.Unclaimed && x.Status != blackboard.Claimed {
				x.ReviewCommit = h[x.ID+"1"]
			}
		}
	}
	s.Integration = &blackboard.Integration{Tip: h["ma"]}
	kept := store.NewMemory(s)
	d = d.With(func(b *board.Session) { b.Store = kept })
	now, err := d.Board.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d, kept, h, now
}

// put moves a branch as a push would.
func put(t *testing.T, d *verb.Service, branch, commit string) {
	t.Helper()
	path := filepath.Join(d.Board.Project.Root, ".git", "refs", "heads", branch)
	if commit == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	verbtest.Write(t, path, commit+"\n")
}

// New work begins where Liza left the branch, whatever somebody has done to it, as long as that commit is there.
func TestNewWorkBeginsWhereLizaLeftTheBranch(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t)
	ctx := context.Background()
	gone := s.Clone()
	gone.Integration.Tip = strings.Repeat("1", 40)
	unknown := s.Clone()
	unknown.Integration = nil
	for _, c := range []struct {
		name  string
		state *blackboard.State
		at    string
		want  string // commit, or refusal
		known string
	}{
		{"where it was left", s, "ma", "ma", "ma"},
		{"on foreign commits", s, "mc", "ma", "ma"},
		{"put back", s, "main", "ma", "ma"},
		{"removed", s, "", "ma", "ma"},
		{"the known commit is gone", gone, "ma", "4 integration is at " + h["ma"][:9] + ", which Liza did not make; Liza left it at 111111111 (next: liza sync --accept, or liza sync --restore)", "-"},
		{"a board that remembers nothing", unknown, "mc", "mc", "mc"},
		{"neither", unknown, "", "4 the integration branch integration does not exist (next: git branch integration COMMIT)", ""},
	} {
		put(t, d, "integration", h["ma"])
		put(t, d, "integration", h[c.at])
		head, err := d.Integration.IntegrationHead(ctx, c.state)
		want := c.want
		if hash, ok := h[want]; ok {
			want = hash
		}
		if got := head + verbtest.Advice(err); got != want {
			t.Errorf("%s: new work begins at %q, want %q", c.name, got, want)
		}
		if known, err := d.Integration.KnownTip(ctx, c.state); c.known != "-" && (err != nil || known != h[c.known]) {
			t.Errorf("%s: the known tip is %q, %v; want %s", c.name, known, err, c.known)
		}
	}
}

// A person is told what the branch lacks and has too much, and the command that decides.
func TestWhatTheBranchLacksAndHasTooMuch(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t, verbtest.Task("c", blackboard.Approved))
	ctx := context.Background()
	for _, c := range []struct {
		name, at    string
		moved       bool
		lost, ahead string
		what, next  string
	}{
		{"as it was left", "ma", false, "", "", "", ""},
		{"foreign commits, with a merge of Liza's", "mc", true, "", "c", "integration is at " + h["mc"][:9] + ", which Liza did not make; Liza left it at " + h["ma"][:9], "liza sync --accept, or liza sync --restore"},
		{"put back", "main", true, "a", "", "integration is at " + h["main"][:9] + ", which Liza did not make; Liza left it at " + h["ma"][:9], "liza sync --accept, or liza sync --restore"},
		{"removed", "", true, "a", "", "integration does not exist any more; Liza left it at " + h["ma"][:9], "liza sync --restore"},
	} {
		put(t, d, "integration", h["ma"])
		put(t, d, "integration", h[c.at])
		b, err := d.Integration.LookAtIntegration(ctx, s)
		if err != nil || b.Moved != c.moved || strings.Join(b.Lost, " ") != c.lost || strings.Join(b.Ahead, " ") != c.ahead || b.Tip != h[c.at] || b.Known != h["ma"] {
			t.Errorf("%s: %+v, %v; want moved %t, lost %q, ahead %q", c.name, b, err, c.moved, c.lost, c.ahead)
		}
		what, next, err := d.Integration.FindMissingWork(ctx)
		if err != nil || what != c.what || next != c.next {
			t.Errorf("%s: missing %q, next %q, %v; want %q, %q", c.name, what, next, err, c.what, c.next)
		}
	}
	// A board that was put back from elsewhere may name a commit that nobody has: that is said of the tip, and nothing else fails.
	strange := s.Clone()
	strange.Integration.Tip = strings.Repeat("1", 40)
	put(t, d, "integration", h["ma"])
	if b, err := d.Integration.LookAtIntegration(ctx, strange); err != nil || !b.Moved || len(b.Ahead) != 0 {
		t.Errorf("with a known tip that is gone: %+v, %v", b, err)
	}
	// A tip that was accepted without the work of a merged task is told with the verb that brings it back.
	put(t, d, "integration", h["main"])
	if err := d.Board.AsSystem(ctx, func(s *blackboard.State) { s.Integration.Tip = h["main"] }); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Integration.MissingWork(ctx); err != nil || got != "the work of a is merged, but not on integration; next: liza merge --again a" {
		t.Errorf("accepted without a: %q, %v", got, err)
	}
}

// How far the branch is behind the base branch of the project, and when that cannot be said.
func TestHowFarTheBranchIsBehindItsBase(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t)
	ctx := context.Background()
	with := func(ref, synced string) *blackboard.State {
		c := s.Clone()
		if ref != "" {
			c.Config = blackboard.Settings{"base_ref": ref}
		}
		c.Integration.Base = synced
		return c
	}
	for _, c := range []struct {
		name    string
		state   *blackboard.State
		base    string
		guessed bool
		behind  int
	}{
		{"the branch that is checked out is taken", with("", ""), "main", true, 0},
		{"two commits of the base are missing", with("next", ""), "next", false, 2},
		{"it was synced with that commit", with("next", h["n2"]), "next", false, 0},
		{"a commit instead of a branch", with(h["n1"], ""), h["n1"], false, 1},
		{"a base that was renamed", with("gone", ""), "gone", false, 0},
		{"the base is where the branch is", with("integration", ""), "integration", false, 0},
	} {
		l, err := d.Integration.Behind(ctx, c.state)
		if err != nil || l.Base != c.base || l.Guessed != c.guessed || l.Behind != c.behind || l.Branch != "integration" {
			t.Errorf("%s: %+v, %v; want base %s, guessed %t, %d behind", c.name, l, err, c.base, c.guessed, c.behind)
		}
	}
	verbtest.Write(t, filepath.Join(d.Board.Project.Root, ".git", "HEAD"), "ref: refs/heads/integration\n")
	if ref, guessed, err := d.Integration.BaseRef(ctx, s); ref != "" || guessed || err != nil {
		t.Errorf("with the branch itself checked out the base is %q, %t, %v; want none", ref, guessed, err)
	}
}

// A tip that somebody made is written down once, and the work that Liza left is kept from git's garbage collection.
func TestAMovedBranchIsWrittenDownOnce(t *testing.T) {
	t.Parallel()
	d, kept, h, _ := project(t)
	ctx := context.Background()
	see := func() (moved bool, revision int) {
		t.Helper()
		s, err := d.Board.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Integration.SeeIntegration(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := kept.View(ctx)
		return b.Moved, now.Revision
	}
	if moved, revision := see(); moved || revision != 1 {
		t.Errorf("as it was left: moved %t, revision %d; want nothing written", moved, revision)
	}
	put(t, d, "integration", h["main"])
	// While somebody merges nothing is concluded: the next look sees it.
	unlock, err := safefile.LockIn(ctx, d.Board.Project.MergeLock(), safefile.Holder{PID: 1, Op: "merge"})
	if err != nil {
		t.Fatal(err)
	}
	if moved, revision := see(); !moved || revision != 1 {
		t.Errorf("during a merge: moved %t, revision %d; want nothing written", moved, revision)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if moved, revision := see(); !moved || revision != 2 {
			t.Errorf("after it: moved %t, revision %d; want one write, also at the second look", moved, revision)
		}
	}
	s, _ := kept.View(ctx)
	if m := s.Integration.Moved; m == nil || m.Tip != h["main"] || s.Integration.Tip != h["ma"] {
		t.Errorf("the board has %+v; want the foreign tip beside the known one", s.Integration)
	}
	refs, err := exec.Command("git", "-C", d.Board.Project.Root, "for-each-ref", "--format=%(objectname)", "refs/liza/attic").Output()
	if err != nil || !strings.Contains(string(refs), h["ma"]) {
		t.Errorf("the attic has %s, %v; want the work that was left, %s", refs, err, h["ma"])
	}
	put(t, d, "integration", h["ma"])
	if moved, _ := see(); moved {
		t.Error("a branch that is back is told as moved")
	}
	if s, _ := kept.View(ctx); s.Integration.Moved != nil {
		t.Errorf("a branch that is back is on the board as moved: %+v", s.Integration.Moved)
	}
}

func TestABoardThatRemembersNoTipTakesTheBranchAsItIs(t *testing.T) {
	t.Parallel()
	d, kept, h, _ := project(t)
	ctx := context.Background()
	if err := d.Board.AsSystem(ctx, func(s *blackboard.State) { s.Integration = nil }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, _ := d.Board.View(ctx)
		if err := d.Integration.AdoptTip(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	if s, _ := kept.View(ctx); s.Tip() != h["ma"] || s.Revision != 3 {
		t.Errorf("the board remembers %q in revision %d; want %s, written once", s.Tip(), s.Revision, h["ma"])
	}
}

// A snapshot is older than the look at the branch: what a merge left meanwhile is not foreign.
func TestWhatWasMergedMeanwhileIsNotForeign(t *testing.T) {
	t.Parallel()
	d, _, h, before := project(t)
	ctx := context.Background()
	put(t, d, "integration", h["x"])
	if tip, err := d.Integration.TipOf(ctx, before); err != nil || tip != h["x"] {
		t.Errorf("nobody merged: %s, %v; want the foreign tip", tip, err)
	}
	if err := d.Board.AsSystem(ctx, func(s *blackboard.State) { s.Integration.Tip = h["x"] }); err != nil {
		t.Fatal(err)
	}
	if tip, err := d.Integration.TipOf(ctx, before); err != nil || tip != h["ma"] {
		t.Errorf("Liza left it there meanwhile: %s, %v; want the snapshot's own tip %s", tip, err, h["ma"])
	}
}

// The two sides of a change, or why there are none.
func TestTheChangeOfATask(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t, verbtest.Task("b", blackboard.ReadyForReview), verbtest.Task("c", blackboard.Claimed), verbtest.Task("fresh", blackboard.Unclaimed),
		verbtest.Task("lost", blackboard.Approved), verbtest.Task("empty", blackboard.Rejected), verbtest.Task("run", blackboard.Unclaimed, func(t *blackboard.Task) { t.Kind = blackboard.ExecTask }))
	ctx := context.Background()
	s.Task("lost").ReviewCommit, s.Task("empty").ReviewCommit = strings.Repeat("1", 40), ""
	for id, want := range map[string]string{
		"a": "a.md", "c": "c.md",
		"fresh": "4 fresh has no change: nothing of it was handed in yet (UNCLAIMED) (next: liza show fresh)",
		"empty": "4 empty has no change: nothing of it was handed in yet (REJECTED) (next: liza show empty)",
		"lost":  "4 lost has no change: its commit 111111111 is not in the repository (next: liza show lost)",
		"run":   "4 run has no change: work of kind exec changes no files (next: liza show run)",
	} {
		base, commit, err := d.Integration.ChangeOf(ctx, s, s.Task(id))
		got := verbtest.Advice(err)
		if err == nil {
			out, err := exec.Command("git", "-C", d.Board.Project.Root, "diff", "--name-only", base, commit).Output()
			if got = strings.TrimSpace(string(out)); err != nil {
				t.Errorf("%s: git diff %s %s: %v", id, base, commit, err)
			}
		}
		if got != want {
			t.Errorf("%s changes %q, want %q", id, got, want)
		}
	}
	for _, c := range []struct {
		base, commit string
		want         bool
	}{{"", "ma", true}, {"main", "ma", true}, {"a1", "ma", true}, {"b1", "ma", false}, {"gone", "ma", true}} {
		base := h[c.base]
		if c.base == "gone" {
			base = strings.Repeat("1", 40)
		}
		if got, err := d.Integration.ContainsBase(ctx, base, h[c.commit]); err != nil || got != c.want {
			t.Errorf("%s contains %q: %t, %v; want %t", c.commit, c.base, got, err, c.want)
		}
	}
}

// Open work that does not merge with the branch is told before its merge fails, with the files.
func TestTheRadarTellsWhatWillNotMerge(t *testing.T) {
	t.Parallel()
	d, kept, h, s := project(t, verbtest.Task("b", blackboard.Claimed), verbtest.Task("c", blackboard.Approved), verbtest.Task("nothing", blackboard.Claimed))
	ctx := context.Background()
	for id, want := range map[string]string{"": "b a.md", "b": "b a.md", "c": "", "nothing": "", "nope": ""} {
		var got []string
		for _, c := range d.Integration.Radar(ctx, s, id) {
			got = append(got, c.Task+" "+strings.Join(c.Files, " "))
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("the radar for %q tells %q, want %q", id, g, want)
		}
	}
	s.Task("b").BaseCommit = h["ma"]
	if got := d.Integration.Radar(ctx, s, "b"); got != nil {
		t.Errorf("a task that began at the head of the branch: %v, want nothing, because nobody else came between", got)
	}
	if now, _ := kept.View(ctx); now.Revision != 1 {
		t.Errorf("the radar wrote revision %d", now.Revision)
	}
}

// A person's decision moves the branch only from where he saw it.
func TestTheBranchMovesOnlyFromWhereItWasSeen(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t)
	ctx := context.Background()
	if err := d.Integration.PutBranch(ctx, "integration", h["main"], h["x"]); err == nil {
		t.Error("the branch was moved although it was elsewhere")
	}
	if tip, _ := d.Integration.TipHere(ctx, s); tip != h["ma"] {
		t.Errorf("a refused move left it at %s", tip)
	}
	if err := d.Integration.PutBranch(ctx, "integration", h["main"], h["ma"]); err != nil {
		t.Error(err)
	}
	if tip, _ := d.Integration.TipHere(ctx, s); tip != h["main"] || d.Integration.ProvenTip(ctx, s) != h["main"] {
		t.Errorf("after the move it is at %s, want %s", tip, h["main"])
	}
}

// What the goal has built: the merged work that the base branch lacks, and how to look at it and to take it over.
func TestWhatTheGoalHasBuilt(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t, verbtest.Task("c", blackboard.Approved))
	ctx := context.Background()
	b := d.Integration.Built(ctx, s)
	if strings.Join(b.Tasks, " ") != "a" || b.Tip != h["ma"] || b.Commits != 1 || b.Look != "git diff main...integration" || b.TakeOver != "git switch main && git merge integration" || !strings.HasPrefix(b.Stat, "1 file changed") {
		t.Errorf("built %+v; want a, 1 commit, and the commands", b)
	}
	if len(b.Work) != 1 || b.Work[0].Task != "a" || len(b.Work[0].Commits) != 1 || b.Work[0].Commits[0].Hash != h["a1"] {
		t.Errorf("a brought %+v; want its own commit alone", b.Work)
	}
	nothing := s.Clone()
	nothing.Task("a").Status = blackboard.Abandoned
	if b := d.Integration.Built(ctx, nothing); len(b.Tasks) != 0 || b.Tip != "" || b.Look != "" {
		t.Errorf("nothing was merged, and built is %+v", b)
	}
}

// With a remote the branch is where Liza left it there; a repository that joins gives or gets it, and a foreign move is left to a person.
func TestTheBranchTravelsOverTheRemote(t *testing.T) {
	t.Parallel()
	d, _, h, s := project(t)
	ctx := context.Background()
	remote := filepath.Join(t.TempDir(), "origin.git")
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", d.Board.Project.Root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "--bare", "-b", "main", "--template=", remote)
	git("remote", "add", "origin", remote)
	d.Board.Config().Git.Remote = "origin"
	there := func() string { return git("ls-remote", "origin", "refs/heads/integration") }
	if err := d.Integration.FollowRemote(ctx, s); err != nil || !strings.HasPrefix(there(), h["ma"]) {
		t.Errorf("a remote without the branch: %v, it has %q; want it given %s", err, there(), h["ma"])
	}
	// Another host has merged: the board knows it, and the commits and the branch follow.
	git("push", "-q", "origin", h["x"]+":refs/heads/integration")
	s.Integration.Tip = h["x"]
	if err := d.Integration.FollowRemote(ctx, s); err != nil || git("rev-parse", "integration") != h["x"] {
		t.Errorf("after a merge on another host: %v, the branch is at %s; want %s", err, git("rev-parse", "integration"), h["x"])
	}
	if tip, err := d.Integration.AskedTip(ctx, s); err != nil || tip != h["x"] {
		t.Errorf("asked, the remote is at %s, %v", tip, err)
	}
	// Somebody pushed: what is asked tells, new work keeps to the known tip, and a decision moves the remote.
	git("push", "-q", "origin", h["mc"]+":refs/heads/integration")
	if tip, err := d.Integration.AskedTip(ctx, s); err != nil || tip != h["mc"] || !s.ForeignTip(tip) {
		t.Errorf("after a foreign push the remote is at %s, %v; want %s", tip, err, h["mc"])
	}
	if head, err := d.Integration.IntegrationHead(ctx, s); err != nil || head != h["x"] {
		t.Errorf("new work begins at %s, %v; want the known tip", head, err)
	}
	if err := d.Integration.FollowRemote(ctx, s); err != nil || git("rev-parse", "integration") != h["x"] {
		t.Errorf("the foreign tip was followed: %v", err)
	}
	if err := d.Integration.PutBranch(ctx, "integration", h["x"], h["ma"]); err == nil {
		t.Error("the remote was moved from where it was not")
	}
	if err := d.Integration.PutBranch(ctx, "integration", h["x"], h["mc"]); err != nil || !strings.HasPrefix(there(), h["x"]) {
		t.Errorf("put back: %v, the remote has %s", err, there())
	}
	rehearsal := d.With(func(b *board.Session) { b.Rehearsal = true })
	s.Integration.Tip = h["ma"]
	if err := rehearsal.Integration.FollowRemote(ctx, s); err != nil {
		t.Errorf("a rehearsal asks the remote: %v", err)
	}
}
