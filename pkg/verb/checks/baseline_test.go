package checks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/review"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func head(t *testing.T, d *verb.Service) string {
	t.Helper()
	return strings.TrimSpace(verbtest.Read(t, filepath.Join(d.Board.Project.Root, ".git", "refs", "heads", "integration")))
}

func TestOnlyErrorsKeepAReviewerFromBeingStarted(t *testing.T) {
	t.Parallel()
	f := func(severity, file, message string) *blackboard.Finding {
		return &blackboard.Finding{Severity: severity, File: file, Message: message}
	}
	for want, found := range map[string][]*blackboard.Finding{
		"": {f(review.Warning, "a.go", "odd"), f("info", "", "x")},
		"the checks found errors: a.go: bad; no tests": {f(review.Error, "a.go", "bad"), f(review.Warning, "b.go", "odd"), f(review.Error, "", "no tests")},
	} {
		if got := checks.ErrorsFound(found); got != want {
			t.Errorf("%d findings: %q, want %q", len(found), got, want)
		}
	}
	if got := checks.ErrorsFound(nil); got != "" {
		t.Errorf("no findings: %q", got)
	}
}

// How a command ended is said so that a person knows whether it is the command, the setup or his own checkout.
func TestHowACheckEndedHere(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]review.End{
		"green here":             {},
		"cannot run here: no go": {ExitCode: 127, Unable: "no go"},
		`cannot run here: worktree.setup fails: "npm ci"`:               {Setup: "npm ci", Failed: true, ExitCode: 1},
		"red here, with exit code 2":                                    {Failed: true, ExitCode: 2},
		"red here, without an end within its time limit":                {Failed: true, TimedOut: true},
		"red here: it found no tests":                                   {Failed: true},
		"red here: it was killed":                                       {Failed: true, ExitCode: -1},
		`no result here: "make", which comes before it, has not passed`: {Failed: true, ExitCode: 2, After: "make"},
		"red here, with exit code 1; your checkout has, and the worktree has not: .env (ignored), ../lib": {Failed: true, ExitCode: 1, Lacks: []string{".env (ignored)", "../lib"}},
		"red here, green in your checkout: that has .env":                                                 {Failed: true, ExitCode: 1, GreenInCheckout: true, Lacks: []string{".env"}},
	} {
		if got := (checks.CheckEnd{End: end}).Text(); got != want {
			t.Errorf("%+v: %q, want %q", end, got, want)
		}
	}
}

// Work that no check has verified waits for a person, once asked, and for what he says; settings and a check that has passed decide before him.
func TestWorkThatNothingVerifiedWaitsForAPerson(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const command, waits = "make test", `4 the check "make test" verifies nothing: it fails without the work too, `
	for _, c := range []struct {
		name, setting string
		green, asks   bool
		status        blackboard.QuestionStatus // "" for no question
		answer        string
		want          string
		questions     int
	}{
		{"allowed", "allow", false, true, "", "", "", 0},
		{"refused", "refuse", true, true, "", "", waits + "and integration.unverified refuses that; approved work waits (next: liza check)", 0},
		{"it has passed here at another commit", "ask", true, true, "", "", waits + "and a person is asked; approved work waits (next: liza answer q-1 '" + blackboard.AnswerGoOn + "')", 1},
		{"not asked yet", "ask", false, false, "", "", waits + "and a person has not been asked yet; approved work waits (next: liza merge)", 0},
		{"asked now", "ask", false, true, "", "", waits + "and a person is asked; approved work waits (next: liza answer q-1 '" + blackboard.AnswerGoOn + "')", 1},
		{"asked before", "ask", false, true, blackboard.QuestionOpen, "", waits + "and a person is asked; approved work waits (next: liza answer q-1 '" + blackboard.AnswerGoOn + "')", 1},
		{"told to go on", "ask", false, true, blackboard.QuestionAnswered, blackboard.AnswerGoOn, "", 1},
		{"told to stop", "ask", false, true, blackboard.QuestionAnswered, blackboard.AnswerStop, waits + "and ada said " + blackboard.AnswerStop + "; approved work waits (next: liza answer q-1 '" + blackboard.AnswerGoOn + "')", 1},
	} {
		s := verbtest.Board()
		if c.status != "" {
			s.Questions = []*blackboard.Question{{ID: "q-1", Kind: blackboard.QuestionUnverified, Check: command, Status: c.status, Answer: c.answer, By: "ada"}}
		}
		d, kept := verbtest.OnMemory(t, s)
		d.Board.Config().Integration.Unverified = c.setting
		if c.green {
			d.Checks.Passed(ctx, head(t, d), command)
		}
		if got := verbtest.Advice(d.Checks.Unverified(ctx, command, c.asks)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if now, _ := kept.View(ctx); len(now.Questions) != c.questions {
			t.Errorf("%s: the board has %d questions, want %d", c.name, len(now.Questions), c.questions)
		}
	}
}

// That a command has passed is remembered for every tree; that the checks of a merge passed only for that tree and those commands.
func TestWhatIsRememberedOfChecksThatPassed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, kept := verbtest.OnMemory(t, verbtest.Board())
	at, cfg := head(t, d), d.Board.Config()
	if d.Checks.GreenHere("make test") || d.Checks.PassedBefore(ctx, at) {
		t.Error("something has passed before anything was run")
	}
	if err := d.Board.AsSystem(ctx, func(s *blackboard.State) {
		transition.AskAboutCheck(s, blackboard.QuestionUnverified, "make test", "Merge unchecked?", verbtest.Noon)
	}); err != nil {
		t.Fatal(err)
	}
	d.Checks.Passed(ctx, at, "make test")
	if !d.Checks.GreenHere("make test") || d.Checks.GreenHere("make lint") {
		t.Error("make test is not remembered as passed, or make lint is")
	}
	if s, _ := kept.View(ctx); s.CheckQuestion(blackboard.QuestionUnverified, "make test") != nil {
		t.Errorf("the question about a check that passes now is still %+v", s.CheckQuestion(blackboard.QuestionUnverified, "make test"))
	}
	d.Checks.Passes(ctx, at)
	for _, c := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"the same commands", func() {}, true},
		{"another check", func() { cfg.Integration.Checks = []string{"make test"} }, false},
		{"the first again", func() { cfg.Integration.Checks = nil }, true},
		{"another hook", func() { cfg.Hooks.PreMerge = []string{"make lint"} }, false},
		{"another setup", func() { cfg.Hooks.PreMerge, cfg.Worktree.Setup = nil, []string{"npm ci"} }, false},
	} {
		c.change()
		if got := d.Checks.PassedBefore(ctx, at); got != c.want {
			t.Errorf("with %s: passed before %t, want %t", c.name, got, c.want)
		}
	}
	// A memory that is damaged is begun again; nothing is refused for it.
	verbtest.Write(t, d.Board.Project.Baseline(), "{")
	if d.Checks.GreenHere("make test") {
		t.Error("a damaged memory remembers something")
	}
	if d.Checks.Passed(ctx, at, "make test"); !d.Checks.GreenHere("make test") {
		t.Error("a damaged memory is not begun again")
	}
}

// What a check failed with is told until it passes on the branch, and a merge that waits is not told as the branch's own.
func TestWhichChecksAreRedOnTheBranch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	red := func() string {
		var list []string
		for _, r := range d.Checks.RedBaseline(ctx) {
			list = append(list, r.Command)
		}
		return strings.Join(list, " ")
	}
	at := head(t, d)
	verbtest.Write(t, d.Board.Project.Baseline(), fmt.Sprintf(`[{"key": "k1", "command": "lint", "commit": %q, "end": {"failed": true, "exit_code": 1}}, {"key": "k2", "command": "test", "commit": %q, "end": {"failed": true, "exit_code": 1}},
		{"key": "k3", "command": "test", "commit": %q, "end": {}}]`, at, at, at))
	if got := red(); got != "lint" {
		t.Errorf("red are %q; want lint, because the newest result of test is green", got)
	}
	d.Checks.FailedBefore(ctx, at, "build", "build.log", 2)
	if got := red(); got != "lint" {
		t.Errorf("with a merge that waits red are %q, want lint", got)
	}
	if err := d.Checks.WaitsUnverified(ctx, at); err != nil {
		t.Errorf("a candidate without a check of merges waits: %v", err)
	}
	d.Board.Config().Integration.Checks = []string{"build"}
	if err := d.Checks.WaitsUnverified(ctx, at); !strings.Contains(verbtest.Advice(err), `the check "build" verifies nothing`) {
		t.Errorf("a candidate whose check failed with and without it: %v, want it to wait", err)
	}
	d.Checks.Passed(ctx, at, "lint") // a submission mends it, and is on the branch
	if got := red(); got != "" {
		t.Errorf("after lint has passed on a commit of the branch red are %q", got)
	}
	d.Checks.Passed(ctx, at, "build")
	if err := d.Checks.WaitsUnverified(ctx, at); err != nil {
		t.Errorf("once build has passed, what waited for it may be tried again: %v", err)
	}
}

// The memory keeps the newest two hundred results, and that a check was green once outlasts them.
func TestTheMemoryOfChecksIsBounded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, n := range []int{198, 199, 200, 260} {
		d, _ := verbtest.OnMemory(t, verbtest.Board())
		var list []string
		list = append(list, `{"key": "green: make test", "commit": "c", "where": "e3b0c442"}`)
		for i := range n {
			list = append(list, fmt.Sprintf(`{"key": "k%d", "command": "c%d", "end": {"failed": true}}`, i, i))
		}
		verbtest.Write(t, d.Board.Project.Baseline(), "["+strings.Join(list, ",")+"]")
		d.Checks.FailedBefore(ctx, head(t, d), "build", "", 1)
		text := verbtest.Read(t, d.Board.Project.Baseline())
		if got, want := strings.Count(text, `"key"`), min(200, n+2); got != want {
			t.Errorf("of %d results %d are kept, want %d", n+2, got, want)
		}
		if !d.Checks.GreenHere("make test") || !strings.Contains(text, `"build"`) || strings.Contains(text, `"k0"`) != (n+2 <= 200) {
			t.Errorf("of %d results the green one or the newest is gone, or the oldest is kept", n+2)
		}
	}
}

// A person checks work that is there, as it would be merged; anything else is refused with what helps.
func TestWhichWorkCanBeChecked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	s, err := d.Board.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string]string{"nope": "2 no task 'nope' (next: liza status)", "a": "4 task a has no work that could be checked: it is UNCLAIMED (next: liza show a)"} {
		if _, err := d.Checks.OpenPlace(ctx, s, task); verbtest.Advice(err) != want {
			t.Errorf("the work of %s: %q, want %q", task, verbtest.Advice(err), want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(d.Board.Project.Root, ".worktrees", "*")); len(left) != 0 {
		t.Errorf("a refusal left worktrees: %v", left)
	}
	if _, err := os.Stat(d.Board.Project.Baseline()); err == nil {
		t.Error("a refusal wrote the memory of checks")
	}
}
