package maintain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/verb/verb/verbtest"
)

// told are findings as "severity subject: text; next: command".
func told(list []findings.Finding) string {
	var lines []string
	for _, f := range list {
		lines = append(lines, f.Severity+" "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Whether the team can meet the rules of review.quorum is said before the first change waits for a reviewer that does not exist.
func TestATeamThatCannotMeetItsQuorumIsTold(t *testing.T) {
	t.Parallel()
	rule := func(n int, programs string) []config.QuorumRule {
		return []config.QuorumRule{{Paths: []string{"auth/**"}, Reviewers: n, Programs: programs}}
	}
	for _, c := range []struct {
		name       string
		rules      []config.QuorumRule
		mode       string
		starting   int
		registered map[string]string // reviewers and their programs
		want       string            // a part of it, "" for nothing
	}{
		{"no rules", nil, "", 0, nil, ""},
		{"a rule for one", rule(1, "any"), "", 0, nil, ""},
		{"the usual team has one reviewer", rule(2, "any"), "", 0, nil, "warning review.quorum asks for 2 reviewers (auth/**), and this team has 1: such a change waits for another one, or for you (liza approve); next: liza run --reviewers 2"},
		{"one short", rule(3, "any"), "", 2, nil, "and this team has 2"},
		{"enough are starting", rule(2, "any"), "", 2, nil, ""},
		{"enough are registered", rule(2, "any"), "", 0, map[string]string{"code-reviewer-1": "", "code-reviewer-2": ""}, ""},
		{"enough, but of one program", rule(2, "different"), "", 2, nil, "and reviewers run "},
		{"enough, of two programs", rule(2, "different"), "", 0, map[string]string{"code-reviewer-1": "one", "code-reviewer-2": "two"}, ""},
		{"nobody reviews", rule(2, "any"), "disabled", 5, nil, "in review.mode disabled nobody but you approves; next: liza config review.mode normal"},
	} {
		s := verbtest.Board()
		for id, program := range c.registered {
			s.Agents[id] = &blackboard.Agent{Role: blackboard.RoleReviewer, CLI: program}
		}
		d, _ := verbtest.OnMemory(t, s)
		d.Board.Config().Review.Quorum, d.Board.Config().Review.Mode = c.rules, c.mode
		x := &Doctor{Service: d, State: s, Reviewers: c.starting}
		x.quorum(context.Background(), nil)
		if got := told(x.Found); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestATrainWhoseChecksRunOneAtATimeIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		train, slots int
		want         string
	}{{0, 1, ""}, {1, 1, ""}, {2, 1, "liza config merge.slots 2"}, {4, 1, "liza config merge.slots 4"}, {9, 1, "liza config merge.slots 4"}} {
		d, _ := verbtest.OnMemory(t, verbtest.Board())
		d.Board.Config().Merge.Train, d.Board.Config().Merge.Slots = c.train, c.slots
		x := &Doctor{Service: d}
		if x.train(context.Background(), nil); (len(x.Found) == 0) != (c.want == "") || c.want != "" && x.Found[0].Next != c.want {
			t.Errorf("a train of %d with %d slot: %s, want %q", c.train, c.slots, told(x.Found), c.want)
		}
	}
}

// A file from the future is told when it is more than half a minute ahead: this machine's clock, or another's, is wrong.
func TestFilesFromTheFutureAreTold(t *testing.T) {
	t.Parallel()
	for ahead, wrong := range map[time.Duration]bool{-time.Hour: false, 0: false, 30 * time.Second: false, 31 * time.Second: true, time.Hour: true} {
		dir := t.TempDir()
		p := &project.Project{Root: dir, Liza: filepath.Join(dir, ".liza"), GitDir: dir}
		verbtest.Write(t, p.State(), "version: 1\n")
		if err := os.Chtimes(p.State(), time.Time{}, verbtest.Noon.Add(ahead)); err != nil {
			t.Fatal(err)
		}
		x := &Doctor{Project: p, Now: func() time.Time { return verbtest.Noon }}
		x.clock(context.Background(), p)
		if got := told(x.Found); strings.HasPrefix(got, "warning state.yaml: it is "+ahead.String()+" ahead of this machine's clock") != wrong || !wrong && got != "ok clock: nothing comes from the future" {
			t.Errorf("%s ahead: %q, want a warning: %t", ahead, got, wrong)
		}
	}
}

// A lock is told with its holder; that of the board is a warning when it is held for longer than a verb takes.
func TestALockThatIsHeldIsToldWithItsHolder(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, lockWait, lockWait + time.Second} {
		dir := t.TempDir()
		p := &project.Project{Root: dir, Liza: filepath.Join(dir, ".liza"), GitDir: dir}
		if err := os.MkdirAll(p.Liza, 0o755); err != nil {
			t.Fatal(err)
		}
		unlock, err := safefile.LockIn(context.Background(), p.Lock(), safefile.Holder{PID: os.Getpid(), Agent: "coder-1", Op: "submit"})
		if err != nil {
			t.Fatal(err)
		}
		holder, _ := safefile.CurrentHolder(p.Lock())
		x := &Doctor{Project: p, Now: func() time.Time { return holder.Since.Add(age) }}
		x.locks(context.Background(), p)
		severity := findings.Info
		if age > lockWait {
			severity = findings.Warning
		}
		if f := x.Found[0]; f.Severity != severity || !strings.Contains(f.Text, "coder-1") || f.Next != "liza watch --once" {
			t.Errorf("held for %s: %s, want %s with its holder", age, told(x.Found[:1]), severity)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		x.Found = nil
		if x.locks(context.Background(), p); x.Found[0].Severity != findings.OK || x.Found[0].Text != "free" {
			t.Errorf("given back: %s", told(x.Found[:1]))
		}
	}
}

// Work is garbage when its task is over, archived or on no board, and never before.
func TestWhoseWorkMayGo(t *testing.T) {
	t.Parallel()
	c := &collector{archived: map[string]blackboard.Archived{"old": {Status: blackboard.Merged}}}
	for _, st := range blackboard.Statuses {
		s := verbtest.Board(verbtest.Task("a", st, func(t *blackboard.Task) { t.BaseCommit = "base" }))
		if base, why, over := c.over(s, "a"); over != st.Terminal() || base != "base" || why != "task a is "+string(st) {
			t.Errorf("%s: over %t, because %s, with base %q", st, over, why, base)
		}
	}
	for id, want := range map[string]string{"old": "task old is archived (MERGED)", "nope": "no task has the id nope"} {
		if _, why, over := c.over(verbtest.Board(), id); !over || why != want {
			t.Errorf("%s: over %t, because %q; want because %q", id, over, why, want)
		}
	}
}

// What cannot be removed is kept with the reason, and a dry run removes nothing.
func TestWhatCannotBeRemovedIsKept(t *testing.T) {
	t.Parallel()
	called := 0
	remove := func(err error) func() error { return func() error { called++; return err } }
	c := &collector{}
	c.drop("file", "a", "old", remove(nil))
	c.drop("file", "b", "old", remove(errors.New("it is in use")))
	if len(c.out.Removed) != 1 || c.out.Removed[0].Name != "a" || len(c.out.Kept) != 1 || c.out.Kept[0].Why != "it is in use" || called != 2 {
		t.Errorf("removed %+v, kept %+v", c.out.Removed, c.out.Kept)
	}
	c = &collector{in: CollectInput{DryRun: true}}
	if c.drop("file", "a", "old", remove(nil)); called != 2 || len(c.out.Removed) != 1 {
		t.Errorf("a dry run removed something: %d calls, %+v", called, c.out.Removed)
	}
}

// A place in which a person works stays while the process may be there: unknown is not gone.
func TestThePlaceOfAPersonStays(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	d.Board.Proc.Running = func(pid int, _ int64) (bool, bool) { return pid == 1, pid != 3 }
	c := &collector{Service: d}
	for name, want := range map[string]struct {
		pid  int
		held bool
	}{".here-1": {1, true}, ".here-1@task-1": {1, true}, ".here-2": {2, false}, ".here-3": {3, true}, ".here-x": {0, false}, "task-1": {0, false}, ".base": {0, false}} {
		if pid, held := c.person(name); pid != want.pid || held != want.held {
			t.Errorf("%s: %d, held %t; want %d, %t", name, pid, held, want.pid, want.held)
		}
	}
	d.Board.Proc.Running = nil
	if _, held := c.person(".here-1"); held {
		t.Error("where processes are not known a place is held for ever")
	}
}

// A file of a killed writer goes when it is older than a writer takes.
func TestAStrayFileIsOldEnough(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	c, path := &collector{Service: d}, filepath.Join(t.TempDir(), "x")
	verbtest.Write(t, path, "")
	for age, want := range map[time.Duration]bool{0: false, stray: false, stray + time.Second: true} {
		if err := os.Chtimes(path, time.Time{}, verbtest.Noon.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if got := c.strayed(path); got != want {
			t.Errorf("%s old: %t, want %t", age, got, want)
		}
	}
	if c.strayed(path + ".gone") {
		t.Error("a file that is gone is removed")
	}
}

// The journal says who left and who gave up; what is new in it is read when the board has changed, and all of it when another sprint began.
func TestWhatTheJournalSaysOfThoseWhoLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &project.Project{Root: dir, Liza: filepath.Join(dir, ".liza"), GitDir: dir}
	entry := func(rev, minute int, agent, action, detail string) string {
		return fmt.Sprintf("- {timestamp: %q, rev: %d, agent: %s, action: %s, detail: %q}\n", verbtest.At(minute), rev, agent, action, detail)
	}
	text := entry(1, -90, "coder-9", "unregistered", "") + entry(2, -30, "coder-1", "unregistered", "") + entry(3, -20, "system", "agent_lapsed", "coder-2: process 7 is gone") + entry(4, -10, "code-reviewer-1", "agent_gave_up", "5 crashes")
	verbtest.Write(t, p.Journal(), text)
	s := verbtest.Board()
	s.Revision = 4
	var j journalFacts
	j.read(p, s)
	if at := blackboard.TimeOf(j.left[blackboard.RoleCoder]); at != verbtest.At(-20) {
		t.Errorf("the last coder left at %s, want %s", at, verbtest.At(-20))
	}
	if len(j.gaveUp) != 1 || j.gaveUp[0].Agent != "code-reviewer-1" || j.gaveUp[0].Why != "5 crashes" {
		t.Errorf("who gave up: %+v", j.gaveUp)
	}
	text += entry(5, -5, "code-reviewer-1", "registered", "")
	verbtest.Write(t, p.Journal(), text)
	if j.read(p, s); len(j.gaveUp) != 1 {
		t.Error("an entry counts before its board is there")
	}
	s.Revision = 5
	if j.read(p, s); len(j.gaveUp) != 0 || j.left[blackboard.RoleCoder].IsZero() {
		t.Errorf("after it is back: %+v, the last coder left at %s", j.gaveUp, j.left[blackboard.RoleCoder])
	}
	s.Revision = 6
	verbtest.Write(t, p.Journal(), strings.ReplaceAll(text, "coder-9", "coder-8")+entry(6, -4, "code-reviewer-1", "agent_gave_up", "again"))
	if j.read(p, s); len(j.gaveUp) != 1 || j.gaveUp[0].Why != "again" {
		t.Errorf("after it gave up again: %+v", j.gaveUp)
	}
	s.Sprint.Timeline.Started = verbtest.At(-15)
	if j.read(p, s); !j.left[blackboard.RoleCoder].IsZero() {
		t.Errorf("a coder of the sprint before left at %s in this one", j.left[blackboard.RoleCoder])
	}
}

// What does not parse is shown with its line, cut to what fits a terminal.
func TestABrokenLineIsShown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.yaml")
	verbtest.Write(t, path, "version: 1\n  "+strings.Repeat("ä", 81)+"\n")
	at := func(rule string, line int) []blackboard.Violation {
		return []blackboard.Violation{{Rule: rule, Line: line, Message: "bad"}}
	}
	for _, c := range []struct {
		rule string
		line int
		want string
	}{{"V01", 1, "bad: 'version: 1'"}, {"V01", 2, "bad: '" + strings.Repeat("ä", 80) + "'"}, {"V01", 9, "bad"}, {"V01", 0, "bad"}, {"V08", 1, "bad"}} {
		if got := withExcerpt(path, at(c.rule, c.line))[0].Message; got != c.want {
			t.Errorf("%s in line %d: %q, want %q", c.rule, c.line, got, c.want)
		}
	}
	if got := topOf(".worktrees/a/b"); got != ".worktrees" {
		t.Errorf("the top of a file in a worktree is %q", got)
	}
}

// The doctor sums a validation up in a line for errors and one for warnings, each with the first of them.
func TestTheDoctorSumsUpAValidation(t *testing.T) {
	t.Parallel()
	bad := func(rule, severity string) blackboard.Violation {
		return blackboard.Violation{Rule: rule, Severity: severity, Subjects: []string{"a"}, Message: "bad"}
	}
	for _, c := range []struct {
		list []blackboard.Violation
		want string
	}{
		{nil, "ok state.yaml: revision 7 is valid"},
		{[]blackboard.Violation{bad("V08", blackboard.SeverityError)}, "error state.yaml: the board breaks 1 rule; next: liza validate"},
		{[]blackboard.Violation{bad("V25", blackboard.SeverityWarning), bad("V08", blackboard.SeverityError), bad("V09", blackboard.SeverityError)},
			"error state.yaml: the board breaks 2 rules; next: liza validate\nwarning state.yaml: the board breaks 1 recommendation; next: liza validate"},
	} {
		x := &Doctor{State: &blackboard.State{Revision: 7}}
		v := (&Board{Name: BoardName}).result(c.list)
		x.violations(v)
		if got := told(x.Found); got != c.want {
			t.Errorf("%d violations:\n%s, want\n%s", len(c.list), got, c.want)
		}
		if v.Valid != (v.Errors == 0) || v.Errors+v.Warnings != len(c.list) || v.Violations == nil {
			t.Errorf("%d violations are counted as %+v", len(c.list), v)
		}
		if len(c.list) > 0 && x.Found[0].Evidence != "ERROR V08 a: bad" {
			t.Errorf("the evidence is %q, want the first error", x.Found[0].Evidence)
		}
	}
}
