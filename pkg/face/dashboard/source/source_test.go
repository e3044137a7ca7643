package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func of(p *verbtest.Place) *source.Source {
	d := p.Service("")
	return &source.Source{Service: d, Facts: func(*blackboard.State) dashboard.Input {
		return dashboard.Input{Now: d.Board.Now(), Process: d.Board.Facts()}
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADiffIsTheTasksOwnChangeBeforeAndAfterItsMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s, ctx := of(p), t.Context()
	if d, err := s.Diff(ctx, "a"); d != nil || err != nil {
		t.Fatalf("no such task: %v, %v", d, err)
	}
	p.AddTask("a")
	_, err := s.Diff(ctx, "a")
	if no := (*transition.Refusal)(nil); !errors.As(err, &no) || no.Next != "liza show a" || no.Exit != transition.ExitRefused {
		t.Fatalf("before its claim: %v", err)
	}
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	_, err = coder.Claim(ctx, "a")
	must(t, err)
	if _, err = s.Diff(ctx, "a"); err == nil {
		t.Fatal("a claim without a commit has a diff")
	}
	commit := p.Commit("a")
	check := func(when string) {
		t.Helper()
		d, err := s.Diff(ctx, "a")
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if d.Commit != commit || len(d.Files) != 1 || d.Added != 1 || d.Removed != 0 {
			t.Fatalf("%s: %+v", when, d)
		}
		if f := d.Files[0]; f.Path != "a.md" || f.Status != "added" || f.Patch != "@@ -0,0 +1 @@\n+a word of a\n" {
			t.Errorf("%s: %+v", when, f)
		}
	}
	check("while the coder works")
	p.Outside("other.md", "of somebody else\n")
	check("after somebody else's merge")
	_, err = coder.Submit(ctx, verb.SubmitInput{Task: "a"})
	must(t, err)
	_, err = reviewer.Reviews.ClaimReview(ctx, "a")
	must(t, err)
	check("under review")
	_, err = reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "a", Verdict: verb.Approve})
	must(t, err)
	check("approved")
	_, err = p.Service("").Merges.Merge(ctx, "a")
	must(t, err)
	check("merged")
	if d, _ := s.Diff(ctx, "a"); !d.Merged {
		t.Error("the diff does not say that it is merged")
	}
}

func TestADiffShowsFindingsAtTheirLinesAndNoSecret(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Secrets.Add("DEPLOY_KEY", "hunter2hunter2")
	s, ctx := of(p), t.Context()
	p.AddTask("a")
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	_, err := coder.Claim(ctx, "a")
	must(t, err)
	p.Shell(p.Repo.WorktreePath("a"), `printf 'one\nkey: hunter2hunter2\nAWS_KEY="AKIAQ7ZD3M5LK2PVXW4T"\n' > a.md; git add -A; git commit -qm a`)
	d, err := s.Diff(ctx, "a")
	must(t, err)
	if patch := d.Files[0].Patch; strings.Contains(patch, "hunter2hunter2") || strings.Contains(patch, "AKIAQ7ZD3M5LK2PVXW4T") || !strings.Contains(patch, "+key: [REDACTED:DEPLOY_KEY]") {
		t.Errorf("a secret is shown: %q", patch)
	}
	p.Shell(p.Repo.WorktreePath("a"), `printf 'one\ntwo\n' > a.md; git add -A; git commit -qm b`)
	_, err = coder.Submit(ctx, verb.SubmitInput{Task: "a"})
	must(t, err)
	_, err = reviewer.Reviews.ClaimReview(ctx, "a")
	must(t, err)
	_, err = reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "a", Verdict: verb.Reject, Reason: "a.md:2 is wrong",
		Findings: []*blackboard.Finding{{Severity: "error", File: "a.md", Line: 2, Message: "not a word", Fix: "write one"}, {Severity: "warning", File: "gone.md", Message: "missing"}}})
	must(t, err)
	d, err = s.Diff(ctx, "a")
	must(t, err)
	if f := d.Files[0].Findings; len(f) != 1 || f[0].Line != 2 || f[0].Text != "not a word" || f[0].Fix != "write one" || f[0].Severity != "error" {
		t.Errorf("at the file: %+v", f)
	}
	if len(d.Findings) != 1 || d.Findings[0].Path != "gone.md" {
		t.Errorf("besides: %+v", d.Findings)
	}
	page, err := s.Task(ctx, "a")
	must(t, err)
	if page.Task.Status != blackboard.Rejected || page.Rejection == "" || len(page.Findings) != 2 || !strings.Contains(page.Spec, "# Vision") {
		t.Errorf("%+v", page)
	}
}

func TestTheBoardIsShownAsItWas(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s, ctx := of(p), t.Context()
	p.AddTask("a")
	first := p.State().Revision
	p.AddTask("b")
	p.AddTask("c")
	last := p.State().Revision
	for rev, tasks := range map[int]int{first: 1, first + 1: 2, last: 3} {
		v, err := s.At(ctx, rev)
		if err != nil || v.Revision != rev || len(v.Tasks) != tasks {
			t.Errorf("at %d: revision %d, %d tasks, %v", rev, v.Revision, len(v.Tasks), err)
		}
	}
	for _, rev := range []int{-1, 0, last + 1} {
		_, err := s.At(ctx, rev)
		if no := (*source.NotKeptError)(nil); !errors.As(err, &no) || no.First != 1 || no.Last != last {
			t.Errorf("at %d: %v", rev, err)
		}
	}
}

// The board keeps ten runs, the history all; both tell of a run under the same number.
func TestAttemptsAreTheRunsThatAreRecordedWithWhatCameOfThem(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Secrets.Add("DEPLOY_KEY", "hunter2hunter2")
	s, ctx := of(p), t.Context()
	p.AddTask("a")
	record := func(agent, id, outcome, event string) {
		t.Helper()
		in := history.Interaction{Timestamp: blackboard.TimeOf(p.Service("").Board.Now()), Liza: history.RunFacts{ID: id, Outcome: outcome, Event: event, Seconds: 3}}
		in.Request.Metadata.Agent, in.Request.Metadata.Kind, in.Request.Prompt, in.Response.RawResponse = agent, "coder", "prompt of "+id, "answer with hunter2hunter2"
		_, err := p.Service("").Board.Histories().Interactions("a").Append(ctx, in)
		must(t, err)
	}
	record("coder-1", "", "", history.Recovery)
	record("coder-1", "g-1-1", "timeout", "")
	record("coder-1", "", "", history.Recovery)
	record("coder-1", "g-1-2", "finished", "")
	record("code-reviewer-1", "g-2-1", "finished", "")
	err := p.Store.Update(ctx, store.Op{Name: "test"}, func(st *blackboard.State) error {
		st.Task("a").Attempts = []*blackboard.Attempt{{Seq: 2, Run: 2, Agent: "coder-1", Kind: "coder", Outcome: "rejected", Sandbox: "closed"}, {Seq: 3, Run: 1, Agent: "code-reviewer-1", Kind: "code_reviewer", Outcome: "rejected"}}
		return nil
	})
	must(t, err)
	short, err := s.Attempts(ctx, "a", false)
	must(t, err)
	if len(short) != 2 || short[0].Seq != 2 || short[0].Prompt != "" {
		t.Errorf("on the board: %+v", short)
	}
	full, err := s.Attempts(ctx, "a", true)
	must(t, err)
	if len(full) != 3 || full[0].Outcome != "timeout" || full[1].Outcome != "rejected" || full[1].Sandbox != "closed" || full[2].Agent != "code-reviewer-1" {
		t.Fatalf("all: %+v", full)
	}
	for i, a := range full {
		if a.Seq != i+1 || !strings.HasPrefix(a.Prompt, "prompt of g-") || a.Answer != "answer with [REDACTED:DEPLOY_KEY]" {
			t.Errorf("%+v", a)
		}
	}
	if none, err := s.Attempts(ctx, "none", true); len(none) != 0 || none == nil || err != nil {
		t.Errorf("no such task: %v, %v", none, err)
	}
}

func TestTimelineGraphAndFiguresAreThoseOfTheSprint(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s, ctx := of(p), t.Context()
	p.Approved("a")
	p.AddTask("b", "a")
	p.AddTask("c", "b")
	_, err := p.Service("").Merges.Merge(ctx, "a")
	must(t, err)
	_, err = sprint.Archive(ctx, p.Service(""), 0)
	if err != nil && !strings.Contains(err.Error(), "nobody needs") {
		t.Fatal(err)
	}
	tl, err := s.Timeline(ctx)
	must(t, err)
	if i := slices.IndexFunc(tl.Marks, func(m dashboard.Mark) bool { return m.Kind == "merged" && m.Task == "a" }); i < 0 || len(tl.Lanes) != 2 {
		t.Errorf("%+v", tl)
	}
	g, err := s.Graph(ctx)
	must(t, err)
	if strings.Join(g.Critical, " ") != "b c" {
		t.Errorf("%+v", g)
	}
	for want := range 3 {
		f, err := s.Figures(ctx)
		must(t, err)
		if len(f.Spent) != want || len(f.Merged) != 1 {
			t.Errorf("with %d lines in the ledger: %+v", want, f)
		}
		line := fmt.Sprintf(`{"at":%q,"agent":"coder-9","task":"a","cost_cents":2,"seconds":5,"outcome":"finished"}`+"\n", blackboard.TimeOf(p.Service("").Board.Now()))
		must(t, safefile.Append(p.Project.Usage(), []byte(line)))
	}
}

// Further back not every state is kept: the nearest one before is shown, and says which it is.
func TestAStateThatIsNotKeptIsShownByTheOneBefore(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s, ctx := of(p), t.Context()
	for _, id := range []string{"a", "b", "c"} {
		p.AddTask(id)
	}
	last := p.State().Revision
	kept, err := p.Store.Revisions(ctx)
	must(t, err)
	for _, k := range kept { // a chain that ends early, as after a crash
		must(t, os.Truncate(strings.TrimSuffix(k.Path, ".yaml")+".chain", 0))
	}
	v, err := s.At(ctx, last-1)
	must(t, err)
	if v.Revision >= last-1 || v.Revision < 1 {
		t.Errorf("asked for %d, got %d", last-1, v.Revision)
	}
}

// cutOff is the board of a host that has a copy of it.
type cutOff struct {
	store.Store
	last *blackboard.State
	lost time.Time
	gone bool
}

type noConnection struct{}

func (noConnection) Error() string     { return "cannot reach the database" }
func (noConnection) Unreachable() bool { return true }

func (c *cutOff) View(ctx context.Context) (*blackboard.State, error) {
	if c.gone {
		return nil, noConnection{}
	}
	return c.Store.View(ctx)
}
func (c *cutOff) LastValid(context.Context) (*blackboard.State, error) { return c.last, nil }
func (c *cutOff) Copied() (at, lost time.Time)                         { return c.lost.Add(-time.Hour), c.lost }

func TestWithoutConnectionTheCopyIsShownWithItsAge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("a")
	s, ctx := of(p), t.Context()
	board := &cutOff{Store: s.Service.Board.Store, last: p.State(), lost: s.Service.Board.Now().Add(-90 * time.Second)}
	s.Service.Board.Store = board
	p.AddTask("b")
	board.gone = true
	v, err := s.View(ctx)
	if err != nil || v.Offline == nil || v.Offline.Seconds != 90 || v.Offline.Since != blackboard.TimeOf(board.lost) || v.Offline.Why != "cannot reach the database" {
		t.Fatalf("%+v: %v", v.Offline, err)
	}
	if len(v.Tasks) != 1 {
		t.Errorf("it shows %d tasks, the copy has 1", len(v.Tasks))
	}
	if page, err := s.Task(ctx, "a"); err != nil || page.Task.ID != "a" {
		t.Errorf("the page of a task of the copy: %v", err)
	}
	board.gone = false
	if v, err := s.View(ctx); err != nil || v.Offline != nil || len(v.Tasks) != 2 {
		t.Errorf("with the connection back: %+v, %d tasks, %v", v.Offline, len(v.Tasks), err)
	}
}

// A hostile worktree: what its git folder, its attributes and its index name as programs is not started.
func TestADiffOfAClaimedTaskIsThatOfItsWorktree(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Outside("kept.md", "one\ntwo\n")
	p.Outside("gone.md", "one\n")
	p.Secrets.Add("DEPLOY_KEY", "hunter2hunter2")
	s, ctx := of(p), t.Context()
	p.AddTask("a")
	_, err := p.Service("coder-1").Claim(ctx, "a")
	must(t, err)
	dir := p.Repo.WorktreePath("a")
	want := func(when string, files ...string) *dashboard.Diff {
		t.Helper()
		d, err := s.Diff(ctx, "a")
		must(t, err)
		var got []string
		for _, f := range d.Files {
			got = append(got, fmt.Sprintf("%s %s +%d -%d", f.Status, f.Path, f.Added, f.Removed))
		}
		if !d.Live || !slices.Equal(got, files) {
			t.Errorf("%s: live %v, %v", when, d.Live, got)
		}
		return d
	}
	p.Shell(dir, `echo more >> kept.md; rm gone.md; echo "key: hunter2hunter2" > "it's new.md"; echo ignored > .gitignore; echo x > ignored`)
	d := want("nothing is committed", "added .gitignore +1 -0", "deleted gone.md +0 -1", "added it's new.md +1 -0", "modified kept.md +1 -0")
	if patch := d.Files[2].Patch; patch != "@@ -0,0 +1 @@\n+key: [REDACTED:DEPLOY_KEY]\n" {
		t.Errorf("%q", patch)
	}
	tell := filepath.Join(t.TempDir(), "started")
	p.Shell(dir, `git add -A; git commit -qm "Half of it"; echo later > later.md; git rm -q --cached kept.md
		for key in core.fsmonitor filter.x.clean filter.x.process diff.x.textconv diff.x.command diff.external core.pager; do git config "$key" "touch `+tell+`"; done
		echo '* filter=x diff=x' > .gitattributes`)
	hostile := []string{"added .gitattributes +1 -0", "added .gitignore +1 -0", "deleted gone.md +0 -1", "added it's new.md +1 -0", "modified kept.md +1 -0", "added later.md +1 -0"}
	want("half is committed", hostile...)
	p.Shell(dir, `echo junk > "$(GIT_CONFIG_COUNT=0 git rev-parse --absolute-git-dir)/index"`)
	want("a broken index", hostile...)
	if _, err := os.Stat(tell); err == nil {
		t.Error("a program of the worktree was started")
	}
	p.Shell(dir, `git reset -q --hard; for i in 1 2 3; do yes | head -c 3000000 > "$i.txt"; done`)
	d, err = s.Diff(ctx, "a")
	must(t, err)
	if n := len(d.Files); !d.Live || !d.Cut || n == 0 || !d.Files[n-1].Cut {
		t.Errorf("9 MB: %d files, live %v, cut %v", n, d.Live, d.Cut)
	}
	p.Shell(dir, `rm -rf ./* .gitignore .gitattributes`)
	want("all is deleted", "deleted README.md +0 -1", "deleted gone.md +0 -1", "deleted kept.md +0 -2", "deleted specs/vision.md +0 -1")
}
