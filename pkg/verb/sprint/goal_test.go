package sprint_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

func TestTheNextGoalPutsTheOneBeforeIntoTheArchive(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := verbtest.New(t)
	p.Merges(2)
	p.AddTask("task-1")
	d := p.Service("")
	first := p.State().Goal.ID
	d.Board.Now = func() time.Time { return time.Now().Add(time.Hour) } // the id of a goal is its second
	if _, err := sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More"}); err == nil || !strings.Contains(err.Error(), "task-1 (UNCLAIMED)") {
		t.Errorf("with an open task: %v", err)
	}
	done, err := sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More", AbandonOpen: true, Reason: "Enough"})
	if err != nil {
		t.Fatal(err)
	}
	if done.Before != first || done.Goal == first || done.Sprint != "sprint-2" || done.Spec != "specs/vision.md" || done.File != ".liza/archive/sprint-1.yaml" || len(done.Warnings) > 0 ||
		strings.Join(done.Abandoned, " ") != "task-1" || strings.Join(done.Archived, " ") != "old-0 old-1 task-1" {
		t.Errorf("got %+v", done)
	}
	s := p.State()
	if s.TaskCount() != 0 || s.Goal.Description != "More" || s.Goal.Status != blackboard.InProgress {
		t.Errorf("%d tasks are left; the goal is %+v", s.TaskCount(), s.Goal)
	}
	goals, err := sprint.Goals(ctx, d)
	if err != nil || len(goals) != 2 {
		t.Fatalf("goals %+v, %v", goals, err)
	}
	if g := goals[0]; g.ID != first || g.Description != "Measure" || g.Present || g.Tasks != 3 || strings.Join(g.Sprints, " ") != "sprint-1" {
		t.Errorf("the first goal is %+v", g)
	}
	if g := goals[1]; g.ID != done.Goal || !g.Present || g.Tasks != 0 || strings.Join(g.Sprints, " ") != "sprint-2" {
		t.Errorf("the present goal is %+v", g)
	}
	if g, err := d.Board.Histories().ArchivedGoal(first); err != nil || g == nil || g.Description != "Measure" {
		t.Errorf("the archive has %+v, %v", g, err)
	}
	if x, err := d.Board.Histories().ArchivedSprint("sprint-1"); err != nil || len(x.Tasks) != 3 || x.Sprint.GoalRef != first {
		t.Errorf("the archive has %+v, %v", x, err)
	}
	if x, _, err := d.Board.Histories().ArchivedTask("task-1"); err != nil || x == nil || x.Status != blackboard.Abandoned {
		t.Errorf("the archive has %+v, %v", x, err)
	}
	if err := d.Board.Histories().Known(ctx, "task-1"); err != nil {
		t.Errorf("a task of the archive is not known: %v", err)
	}
	verbtest.Write(t, p.Project.Archive("sprint-1"), "tasks: [")
	if _, err := sprint.Goals(ctx, d); err == nil || !strings.Contains(err.Error(), "sprint-1.yaml") {
		t.Errorf("an archive that cannot be read: %v", err)
	}
}

func TestAGoalIsNotPutAwayWhoseMergedWorkIsMissing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	before := p.Git(p.Dir, "rev-parse", "integration")
	p.Merges(2)
	p.Git(p.Dir, "update-ref", "refs/heads/integration", before)
	goal := p.State().Goal.ID
	for _, accepted := range []bool{false, true} { // also after somebody decided that the branch is right there
		if accepted {
			p.Accept()
		}
		if _, err := sprint.NextGoal(t.Context(), p.Service(""), sprint.GoalInput{Text: "More"}); err == nil || !strings.Contains(err.Error(), "not complete") {
			t.Errorf("accepted %t: %v", accepted, err)
		}
	}
	if what, err := p.Service("").Integration.MissingWork(t.Context()); err != nil || what != "the work of old-0, old-1 is merged, but not on integration; next: liza merge --again old-0" {
		t.Errorf("missing: %q, %v", what, err)
	}
	if p.State().Goal.ID != goal {
		t.Error("the goal was put away")
	}
}

// A list of checks is one program, wherever it is run: each command has what those before it have built.
func TestAListOfChecksIsRunAsOneProgram(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	first, second, third := "echo ran >> ../../.liza/count; test -f word.md && echo built > built", "test -f built", "true"
	p := verbtest.New(t)
	p.Outside("word.md", "a word\n")
	p.Config.Review.Mode, p.Config.Review.Baseline = "disabled", true
	p.Config.Integration.Checks = []string{first, second, third}
	at := p.Git(p.Dir, "rev-parse", "integration")
	texts := func(list []checks.BaseCheck, _ string, err error) string {
		var all []string
		for _, c := range list {
			text := "unknown"
			if c.Late {
				text = "late"
			} else if c.Result != nil {
				text = checks.CheckEnd{End: c.Result.End}.Text()
			}
			all = append(all, text)
		}
		return fmt.Sprint(strings.Join(all, "|"), err)
	}
	for name, look := range map[string]func(c *checks.Checks) string{
		"tried": func(c *checks.Checks) string {
			c.Try = time.Hour
			return texts(c.TryChecks(ctx, p.State()))
		},
		"doctor": func(c *checks.Checks) string { return texts(c.BaseChecks(ctx, p.State(), true)) },
		"check": func(c *checks.Checks) string {
			done, err := c.CheckNow(ctx, p.State(), "")
			var all []string
			for _, e := range done.Ends {
				all = append(all, e.Text())
			}
			return fmt.Sprint(strings.Join(all, "|"), err)
		},
		"baseline": func(c *checks.Checks) string {
			end, err := c.OnBase(ctx, nil, at, checks.IntegrationCheck, second)
			return fmt.Sprint(checks.CheckEnd{End: end}.Text(), "||", err)
		},
	} {
		verbtest.Write(t, p.Project.Baseline(), "[]")
		verbtest.Write(t, filepath.Join(p.Project.Liza, "count"), "")
		want := "green here|green here|green here<nil>"
		if name == "baseline" {
			want = "green here||<nil>"
		}
		if got := look(p.Service("").Checks); got != want || verbtest.Read(t, filepath.Join(p.Project.Liza, "count")) != "ran\n" {
			t.Errorf("%s: %s, want %s; the first ran as often as %q", name, got, want, verbtest.Read(t, filepath.Join(p.Project.Liza, "count")))
		}
		// So are those of a review: what builds the tree comes first.
		inList, inReview := p.Config.Integration.Checks, p.Config.Review
		p.Config.Integration.Checks, p.Config.Review.Mode = nil, "hybrid"
		p.Config.Review.Checks = map[string]config.Check{"build_passes": {Enabled: true, Command: first}, "lint_passes": {Enabled: true, Command: second}, "tests_pass": {Enabled: true, Command: third}}
		verbtest.Write(t, p.Project.Baseline(), "[]")
		verbtest.Write(t, filepath.Join(p.Project.Liza, "count"), "")
		if got := look(p.Service("").Checks); got != want || verbtest.Read(t, filepath.Join(p.Project.Liza, "count")) != "ran\n" {
			t.Errorf("%s of a review: %s, want %s; the first ran as often as %q", name, got, want, verbtest.Read(t, filepath.Join(p.Project.Liza, "count")))
		}
		p.Config.Integration.Checks, p.Config.Review = inList, inReview
	}

	// What is red after a red one has no result of its own, and nobody is told of it as of an old failure.
	p.Config.Integration.Checks = []string{"false", second, third}
	d := p.Service("")
	if got := texts(d.Checks.BaseChecks(ctx, p.State(), true)); got != `red here, with exit code 1|no result here: "false", which comes before it, has not passed|green here<nil>` {
		t.Errorf("after a red one: %s", got)
	}
	if red := d.Checks.RedBaseline(ctx); len(red) != 1 || red[0].Command != "false" {
		t.Errorf("red are %+v", red)
	}
	inReview := p.Config.Review
	p.Config.Integration.Checks, p.Config.Review.Mode = nil, "hybrid"
	p.Config.Review.Checks = map[string]config.Check{"build_passes": {Enabled: true, Command: "false"}, "lint_passes": {Enabled: true, Command: "exit 3"}, "tests_pass": {Enabled: true, Command: "exit 4"}}
	if got := texts(d.Checks.BaseChecks(ctx, p.State(), true)); got != `red here, with exit code 1|no result here: "false", which comes before it, has not passed|no result here: "false", which comes before it, has not passed<nil>` {
		t.Errorf("after a red build: %s", got)
	}
	p.Config.Review.Checks = map[string]config.Check{"build_passes": {Enabled: true, Command: "true"}, "lint_passes": {Enabled: true, Command: "exit 3"}, "tests_pass": {Enabled: true, Command: "exit 4"}}
	if got := texts(d.Checks.BaseChecks(ctx, p.State(), true)); got != `green here|red here, with exit code 3|red here, with exit code 4<nil>` {
		t.Errorf("after a red lint, which nothing is built by: %s", got)
	}
	p.Config.Integration.Checks, p.Config.Review = []string{"false", second, third}, inReview

	// What never began is not told as what did not end.
	verbtest.Write(t, p.Project.Baseline(), "[]")
	d.Checks.Try = 1
	if got := texts(d.Checks.TryChecks(ctx, p.State())); got != "late|late|late<nil>" {
		t.Errorf("without time: %s", got)
	}
}

// A check of the review has its name where merges run its command too; what cannot run is not remembered.
func TestWhatABaseGivesIsRememberedUnderTheNameOfItsCheck(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := verbtest.New(t)
	p.Config.Review.Baseline = true
	p.Config.Review.Checks = map[string]config.Check{"tests_pass": {Enabled: true, Command: "echo 'no tests ran'"}}
	p.Config.Integration.Checks = []string{"true", "echo 'no tests ran'", "no-such-program"}
	at := p.Git(p.Dir, "rev-parse", "integration")
	want := "tests_pass: red here: it found no tests"
	for name, look := range map[string]func(c *checks.Checks) error{
		"merge": func(c *checks.Checks) error {
			_, err := c.OnBase(ctx, nil, at, checks.IntegrationCheck, "no-such-program")
			return err
		},
		"doctor": func(c *checks.Checks) error {
			_, _, err := c.BaseChecks(ctx, p.State(), true)
			return err
		},
		"check": func(c *checks.Checks) error {
			_, err := c.CheckNow(ctx, p.State(), "")
			return err
		},
	} {
		verbtest.Write(t, p.Project.Baseline(), "[]")
		c := p.Service("").Checks
		err := look(c)
		got := ""
		for _, r := range c.RedBaseline(ctx) {
			got += r.Check + ": " + checks.CheckEnd{End: r.End}.Text()
		}
		if err != nil || got != want {
			t.Errorf("%s: red are %q, %v; want %q", name, got, err, want)
		}
		if c.GreenHere("no-such-program") || strings.Contains(verbtest.Read(t, p.Project.Baseline()), "no-such-program") || !c.GreenHere("true") {
			t.Errorf("%s: that a command cannot run is remembered as a result", name)
		}
	}
}

func TestACheckIsRunOnTheBaseOnceAndRedUntilItIsMended(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := verbtest.New(t)
	p.Config.Review.Mode = "disabled"
	p.Config.Integration.Checks = []string{"echo ran >> ../../count; test -f word.md", "true"}
	d := p.Service("")
	look := func(run bool) string {
		t.Helper()
		checks, head, err := d.Checks.BaseChecks(ctx, p.State(), run)
		if err != nil || head != p.Git(p.Dir, "rev-parse", "integration") || len(checks) != 2 {
			t.Fatalf("%+v at %s, %v", checks, head, err)
		}
		var ends []string
		for _, c := range checks {
			end := "unknown"
			if c.Result != nil {
				end = map[bool]string{true: "red", false: "green"}[c.Result.End.Failed]
			}
			ends = append(ends, end)
		}
		return strings.Join(ends, " ")
	}
	red := func() string {
		var commands []string
		for _, r := range d.Checks.RedBaseline(ctx) {
			commands = append(commands, r.Command)
		}
		text, _ := json.Marshal(commands)
		return string(text)
	}
	if got := look(false); got != "unknown unknown" || red() != "null" {
		t.Errorf("before a run: %s, red %s", got, red())
	}
	if first, again, known := look(true), look(true), look(false); first != "red green" || again != first || known != first {
		t.Errorf("the first run %s, the second %s, without one %s", first, again, known)
	}
	if left := p.Git(p.Dir, "worktree", "list"); strings.Count(left, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", left)
	}
	if !strings.Contains(red(), "test -f word.md") || strings.Contains(red(), `"true"`) {
		t.Errorf("red are %s", red())
	}
	p.Outside("word.md", "a word\n")
	if got := look(true); got != "green green" || red() != "null" {
		t.Errorf("after it was mended: %s, red %s", got, red())
	}
	verbtest.Write(t, p.Project.Baseline(), "{")
	if got := look(false); got != "unknown unknown" {
		t.Errorf("with a file that is no list: %s", got)
	}
}
