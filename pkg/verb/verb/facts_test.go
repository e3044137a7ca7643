package verb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// N-24: the filter of facts, one case a row, with statements beside them that pass.
func TestAFactIsOneLastingStatementAboutTheProject(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("login-form")
	d := p.Service("")
	d.Board.Secrets = new(secret.Set)
	d.Board.Secrets.Add("db", "correct-horse")
	for text, want := range map[string]string{
		"Use make":                                                "15 to 500 characters",
		"  Fourteen char  ":                                       "15 to 500 characters",
		strings.Repeat("many words ", 50):                         "15 to 500 characters",
		"Do the tests run with make test?":                        "a question",
		"```\ngo test ./...\n```":                                 "only code",
		"`go test ./... -race`":                                   "only code",
		"Commit 3f2a91bc broke the build":                         "names a commit",
		"coder-2 renamed the package store":                       "a task or an agent",
		"task-12 renamed the package store":                       "a task or an agent",
		"The work of login-form is not done":                      "a task or an agent",
		"The build broke at 14:35 in the night":                   "names a time",
		"The build broke on 2026-01-19 again":                     "names a time",
		"The build broke at 2026-01-19T14:35:00Z":                 "names a time",
		"src/cmd/main.go:123":                                     "only a line",
		"see line 120 of src/main.go":                             "only a line",
		"The code lies in .worktrees/x/src":                       "names a worktree",
		"The packages were installed successfully.":               "how a run went",
		"The server was started successfully":                     "how a run went",
		"All the unit tests passed.":                              "how a run went",
		"The change looks good to me!":                            "how a run went",
		"There are no issues found.":                              "how a run went",
		"The password is correct-horse, as ever":                  "a secret",
		"It is [REDACTED:db] in the whole team":                   "a secret",
		"The key ghp_" + strings.Repeat("a1B2", 9) + " is in use": "a secret",
	} {
		if _, err := d.Knowledge.AddFact(context.Background(), text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	for _, text := range []string{"Tests run with make test, never with go test alone", "Line 1 of every file is the licence", "Python 3.8 is the oldest version that counts",
		"The server listens on localhost:8080", "Names may hold blanks; is that odd? No", "Run `make generate` before a commit", "Defaced facades decide nothing here"} {
		if _, err := d.Knowledge.AddFact(context.Background(), text, ""); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	n := len(p.State().Facts)
	for text, want := range map[string]string{
		"tests run with MAKE test; never with `go test` alone!": "known already as fact-1",
	} {
		if _, err := d.Knowledge.AddFact(context.Background(), text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if err := d.Knowledge.RemoveFacts(context.Background(), []string{"fact-2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Knowledge.AddFact(context.Background(), "Line 1 of every file is the licence.", ""); err == nil || !strings.Contains(err.Error(), "was archived") {
		t.Errorf("an archived fact is learned again: %v", err)
	}
	if got := len(p.State().Facts); got != n-1 {
		t.Errorf("%d facts, want %d", got, n-1)
	}
}

// reviewed brings a task to its review.
func reviewed(t *testing.T, p *verbtest.Place, id string) *verb.Service {
	t.Helper()
	ctx := context.Background()
	p.AddTask(id)
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	if _, err := coder.Claim(ctx, id); err != nil {
		t.Fatal(err)
	}
	p.Commit(id)
	if _, err := coder.Submit(ctx, verb.SubmitInput{Task: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := reviewer.Reviews.ClaimReview(ctx, id); err != nil {
		t.Fatal(err)
	}
	return reviewer
}

// K-13: what a reviewer learned with ok, needs_fix and replan is a fact with source and task;
// a bad one is left out and told, and refuses no verdict. N-24: with facts.review it waits.
func TestEveryVerdictMayBringFacts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	lessons := map[string]string{"approve": "Tests run with make test only", "reject": "Names in the API are camelCase", "replan": "The database has no transactions"}
	for _, verdict := range []string{"approve", "reject", "replan"} {
		r := reviewed(t, p, verdict)
		in := verb.VerdictInput{Task: verdict, Verdict: verb.Verdict(verdict), Reason: verdict + ".md:1 is not as the spec says", Learn: []string{"too short", lessons[verdict], lessons[verdict]}}
		if done, err := r.Reviews.Verdict(ctx, in); err != nil || done.Status == blackboard.ReadyForReview {
			t.Fatalf("%s: %+v, %v", verdict, done, err)
		}
	}
	facts := p.State().Facts
	for i, verdict := range []string{"approve", "reject", "replan"} {
		if len(facts) != 3 {
			t.Fatalf("%d facts, want 3", len(facts))
		}
		if f := facts[i]; f.Content != lessons[verdict] || f.Source != "reviewer" || f.Task != verdict || f.By != "code-reviewer-1" || f.Status != "active" || f.Category != "project" {
			t.Errorf("%s: the fact is %+v", verdict, f)
		}
	}
	refused, err := history.Journal{Path: p.Project.Journal()}.Read(history.Filter{Action: "fact_refused"})
	if err != nil || len(refused) != 6 || !strings.Contains(refused[0].Detail, "15 to 500 characters") || !strings.Contains(refused[1].Detail, "known as fact-1") || refused[0].Extra["level"] != "warning" {
		t.Errorf("refused: %+v, %v", refused, err)
	}

	p.Config.Facts.Review = true
	r := reviewed(t, p, "more")
	if _, err := r.Reviews.Verdict(ctx, verb.VerdictInput{Task: "more", Verdict: "approve", Learn: []string{"Dates are printed in UTC", "Errors go to stderr only", "Colours need a terminal", "Sizes are given in bytes"}}); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	if len(s.Facts) != 6 || s.Facts[3].Status != "pending" || len(s.ActiveFacts()) != 3 {
		t.Errorf("%d facts, %d of them active; want 6 and 3", len(s.Facts), len(s.ActiveFacts()))
	}
	if _, err := p.Service("").Knowledge.ApproveFacts(ctx, []string{"fact-4", "fact-9"}); err == nil || len(p.State().ActiveFacts()) != 3 {
		t.Errorf("some of them were approved: %v", err)
	}
	if _, err := p.Service("coder-1").Knowledge.ApproveFacts(ctx, []string{"fact-4"}); err == nil {
		t.Error("a coder may approve facts")
	}
	if _, err := p.Service("").Knowledge.ApproveFacts(ctx, []string{"fact-4"}); err != nil || len(p.State().ActiveFacts()) != 4 {
		t.Errorf("not approved: %v", err)
	}
}

// know puts n facts on the board, with numbers behind after.
func know(t *testing.T, p *verbtest.Place, after, n int) {
	t.Helper()
	err := p.Store.Update(context.Background(), store.Op{Name: "facts"}, func(s *blackboard.State) error {
		for i := range n {
			transition.Learn(s, blackboard.Fact{Content: fmt.Sprintf("%c%c is a word that people know", 'a'+i/26, 'a'+i%26), Status: "active", Source: "human"}, after, transition.Actor{ID: blackboard.Human}, p.Service("").Board.Now())
		}
		s.Facts[0].Uses, s.Facts[1].Uses = 3, 4
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// partition is an answer of n results that has each of the ids 1 to all exactly once.
func partition(n, all int) string {
	var results []string
	for i := range n {
		var from []string
		for id := i + 1; id <= all; id += n {
			from = append(from, fmt.Sprintf("%q", fmt.Sprintf("fact-%d", id)))
		}
		results = append(results, fmt.Sprintf(`{"content":"Of all words number %d is known best","from":[%s]}`, i+1, strings.Join(from, ",")))
	}
	return answer("COMPLETED", "Fewer.", `,"facts":{"result":[`+strings.Join(results, ",")+`],"delete":[]}`)
}

// K-14: facts beyond the limit become fewer when the answer names each of them exactly once;
// any other answer changes nothing and is told. N-25: nor does one about facts that changed.
func TestFactsBecomeFewerWithoutLosingOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	d := p.Service("")
	know(t, p, 0, 50)
	if job, err := condensing(d); err != nil || job != nil {
		t.Fatalf("fifty facts: %+v, %v", job, err)
	}
	know(t, p, 0, 1)
	job, err := condensing(d)
	if err != nil || job == nil || !job.Facts || strings.Count(job.Text, "\n") != 51 {
		t.Fatalf("fifty-one facts: %+v, %v", job, err)
	}
	good := partition(10, 51)
	before := p.State().Facts
	for name, c := range map[string]struct{ output, want string }{
		"an empty result":     {answer("COMPLETED", "x", `,"facts":{"result":[],"delete":[]}`), "is missing"},
		"an unknown id":       {strings.Replace(good, `"fact-51"`, `"fact-52"`, 1), "fact-52 is not an active fact"},
		"an id twice":         {strings.Replace(good, `"delete":[]`, `"delete":["fact-7"]`, 1), "fact-7 is there twice"},
		"an id missing":       {strings.Replace(good, `"fact-11",`, ``, 1), "fact-11 is missing"},
		"a result of nothing": {strings.Replace(good, `"result":[`, `"result":[{"content":"Nothing comes of nothing","from":[]},`, 1), "comes from no fact"},
		"all deleted":         {answer("COMPLETED", "x", `,"facts":{"result":[],"delete":[`+ids(51)+`]}`), "the result is empty"},
		"as many as before":   {partition(51, 51), "not fewer"},
		"no fact":             {strings.Replace(good, "Of all words number 3 is known best", "too short", 1), "is not a fact"},
		"another key":         {strings.Replace(good, `"delete"`, `"dropped"`, 1), "unknown field"},
		"stuck":               {answer("STUCK", "x", ""), "STUCK"},
		"no answer":           {"I cannot", "no exit command"},
	} {
		refused, err := d.Knowledge.Condensed(ctx, job, summary(c.output))
		if err != nil || !strings.Contains(refused, c.want) {
			t.Errorf("%s: refused with %q, %v; want %q", name, refused, err, c.want)
		}
	}
	if after := p.State().Facts; len(after) != 51 || after[50].Content != before[50].Content {
		t.Error("a refused answer changed the facts")
	}
	told, err := history.Journal{Path: p.Project.Journal()}.Read(history.Filter{Action: "consolidation_refused"})
	if err != nil || len(told) != 11 || told[0].Extra["level"] != "warning" {
		t.Errorf("told %d times, %v; want 11", len(told), err)
	}
	if again, err := condensing(d); err != nil || again != nil {
		t.Errorf("it is tried again at once: %+v, %v", again, err)
	}

	if err := d.Knowledge.RemoveFacts(ctx, []string{"fact-51"}); err != nil { // N-25
		t.Fatal(err)
	}
	if refused, err := d.Knowledge.Condensed(ctx, job, summary(good)); err != nil || !strings.Contains(refused, "no longer those") || len(p.State().Facts) != 50 {
		t.Errorf("refused with %q, %v", refused, err)
	}

	know(t, p, 51, 11) // ten more than at the last refusal
	if job, err = condensing(d); err != nil || job == nil {
		t.Fatalf("not tried again: %v", err)
	}
	good = strings.Replace(partition(10, 62), `"fact-51",`, ``, 1)
	good = strings.Replace(good, `,"fact-51"`, ``, 1)
	if refused, err := d.Knowledge.Condensed(ctx, job, summary(good)); err != nil || refused != "" {
		t.Fatalf("refused with %q, %v", refused, err)
	}
	s := p.State()
	if f := s.Facts[0]; len(s.Facts) != 10 || f.ID != "fact-1" || f.Source != "summarizer" || f.Uses != 3 || len(f.From) < 5 {
		t.Errorf("%d facts, the first is %+v", len(s.Facts), s.Facts[0])
	}
	all, err := d.Knowledge.KnownFacts(ctx, true)
	if err != nil || len(all) != 62 || all[10].Status != "archived" {
		t.Errorf("%d facts are known of, %v; want 62", len(all), err)
	}
	p.Sound()
}

func ids(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"fact-%d"`, i+1))
	}
	return strings.Join(list, ",")
}

// Beyond twice the limit the facts that were used least recently go without any agent.
func TestTheLeastUsedOfVeryManyFactsAreArchived(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Limits.MaxFacts = 2
	know(t, p, 0, 6)
	err := p.Store.Update(context.Background(), store.Op{Name: "use"}, func(s *blackboard.State) error {
		transition.UseFacts(s, []string{"fact-1", "fact-2"}, p.Service("").Board.Now().AddDate(1, 0, 0))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if job, err := condensing(p.Service("")); err != nil || job == nil {
		t.Fatalf("%+v, %v", job, err)
	}
	var left []string
	for _, f := range p.State().Facts {
		left = append(left, f.ID)
	}
	if got := strings.Join(left, " "); got != "fact-1 fact-2 fact-5 fact-6" {
		t.Errorf("left: %s", got)
	}
	data, err := os.ReadFile(filepath.Join(p.Project.ArchiveDir(), "facts.jsonl"))
	if err != nil || strings.Count(string(data), "\n") != 2 || !strings.Contains(string(data), "fact-3") {
		t.Errorf("archived: %s, %v", data, err)
	}
}

// K-15: beyond the threshold the oldest entries, all but the newest ten, are folded into the
// summary, while nothing is claimed or can be.
func TestOldEntriesAreFoldedIntoTheSummary(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	d := p.Service("")
	have := len(transition.RawEntries(p.State()))
	for i := have; i < 30; i++ {
		note(t, d, fmt.Sprintf("Note number %d.", i+1))
	}
	if job, err := condensing(d); err != nil || job != nil {
		t.Fatalf("thirty entries: %+v, %v", job, err)
	}
	note(t, d, "Note number 31.")
	p.AddTask("task-1")
	if job, err := condensing(d); err != nil || job != nil {
		t.Errorf("while a task can be claimed: %+v, %v", job, err)
	}
	if _, err := p.Service("coder-1").Claim(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	if job, err := condensing(d); err != nil || job != nil {
		t.Errorf("while a task is claimed: %+v, %v", job, err)
	}
	if _, err := d.Release(ctx, verb.ReleaseInput{Task: "task-1", Coder: true, Force: true, Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Hold(ctx, "task-1", "later"); err != nil {
		t.Fatal(err)
	}
	job, err := condensing(d)
	if err != nil || job == nil || job.Facts || strings.Count(job.Text, "\n") != 21 || !strings.Contains(job.Text, "Note number 21.") || strings.Contains(job.Text, "Note number 22.") {
		t.Fatalf("thirty-one entries: %+v, %v", job, err)
	}
	if refused, err := d.Knowledge.Condensed(ctx, job, summary(answer("COMPLETED", "x", `,"summary":" "`))); err != nil || refused == "" || p.State().Goal.Summary != "" {
		t.Errorf("an empty summary: refused with %q, %v", refused, err)
	}
	if again, err := condensing(d); err != nil || again != nil {
		t.Errorf("it is tried again at once: %v", err)
	}
	for i := range 10 {
		note(t, d, fmt.Sprintf("Note number %d.", 32+i))
	}
	if job, err = condensing(d); err != nil || job == nil || strings.Count(job.Text, "\n") != 31 {
		t.Fatalf("not tried again: %+v, %v", job, err)
	}
	if refused, err := d.Knowledge.Condensed(ctx, job, summary(answer("COMPLETED", "x", `,"summary":"Summary: much was said."`))); err != nil || refused != "" {
		t.Fatalf("refused with %q, %v", refused, err)
	}
	s := p.State()
	if raw := transition.RawEntries(s); s.Goal.Summary != "Summary: much was said." || len(raw) != 10 || !strings.Contains(raw[0].Text, "Note number 32.") {
		t.Errorf("the summary is %q, and %d entries are left", s.Goal.Summary, len(raw))
	}
	p.Sound("task-1")
}

// Supervisors ask at each step, also while nobody can shorten anything. Of the journal they read what is new, and nothing when nothing is.
func TestWhetherToShortenIsAskedWithoutReadingTheJournalAgain(t *testing.T) {
	t.Parallel()
	p, ctx := verbtest.New(t), t.Context()
	d, known, path := p.Service(""), verb.Refused{}, p.Project.Journal()
	p.Config.Limits.SummarizeThreshold, p.Config.Context.Messages = 30, 10
	for i := range 31 {
		note(t, d, fmt.Sprintf("Note number %d.", i+1))
	}
	s := p.State()
	ask := func(what string, want bool) *verb.Condense {
		t.Helper()
		job, err := d.Knowledge.Condensing(ctx, s, known)
		if err != nil || (job != nil) != want {
			t.Fatalf("%s: %+v, %v", what, job, err)
		}
		return job
	}
	ask("the first look", true)
	text := verbtest.Read(t, path)
	p.Must(nil, os.Rename(path, path+".kept"))
	p.Must(nil, os.Mkdir(path, 0o755)) // a read of it fails
	for range 100 {
		ask("the same revision", true)
	}
	p.Must(nil, os.Remove(path))
	p.Must(nil, os.Rename(path+".kept", path))

	note(t, d, "Note number 32.")
	s = p.State()
	right := verbtest.Read(t, path)
	old := `- {timestamp: 2026-01-01T00:00:00Z, rev: 1, agent: human, action: summary_refused, task: null, detail: "x", n: 1000}` + "\n"
	verbtest.Write(t, path, old+right) // a read of all of it finds this
	job := ask("a later revision", true)
	verbtest.Write(t, path, right)
	if !strings.HasPrefix(right, text) {
		t.Fatal("the journal has not grown")
	}
	for n, end := range []string{`,"summary":" "`, `,"summary":"Summary: much was said."`} {
		if _, err := d.Knowledge.Condensed(ctx, job, summary(answer("COMPLETED", "x", end))); err != nil {
			t.Fatal(err)
		}
		for i := range 31 * n {
			note(t, d, fmt.Sprintf("Another note, number %d.", i+1))
		}
		s = p.State()
		ask("after an answer that was refused, and after a good one", n == 1)
	}
}

func note(t *testing.T, d *verb.Service, text string) {
	t.Helper()
	if _, err := d.Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// condensing asks with the board as it is, and remembers nothing.
func condensing(d *verb.Service) (*verb.Condense, error) {
	ctx := context.Background()
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	return d.Knowledge.Condensing(ctx, s, verb.Refused{})
}

func summary(output string) exitcmd.Answer { return exitcmd.Read(output, "summarizer") }
