package source_test

import (
	"errors"
	"strings"
	"testing"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/dashboard/source"
	"liza/pkg/verb"
	"liza/pkg/verb/verbtest"
)

func of(p *verbtest.Place) *source.Source {
	d := p.Service("")
	return &source.Source{Service: d, Facts: func(*blackboard.State) dashboard.Facts { return dashboard.Facts{Now: d.Now(), Process: d.Facts()} }}
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
	if no := (*blackboard.Refusal)(nil); !errors.As(err, &no) || no.Next != "liza show a" || no.Exit != blackboard.ExitRefused {
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
	_, err = reviewer.ClaimReview(ctx, "a")
	must(t, err)
	check("under review")
	_, err = reviewer.Verdict(ctx, verb.VerdictInput{Task: "a", Verdict: verb.Approve})
	must(t, err)
	check("approved")
	_, err = p.Service("").Merge(ctx, "a")
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
	_, err = reviewer.ClaimReview(ctx, "a")
	must(t, err)
	_, err = reviewer.Verdict(ctx, verb.VerdictInput{Task: "a", Verdict: verb.Reject, Reason: "a.md:2 is wrong",
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
