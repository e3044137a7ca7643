package maintain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb/verbtest"
)

// Any recent state can be put back as a new revision. The branch is not restored with it: what is known of it stays.
func TestAnOldStateIsPutBack(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	before := p.State().Revision
	p.AddTask("task-2")
	p.Approved("task-3")
	p.Merge("task-3")
	tip := p.State().Tip()
	d := p.Service("")
	if tasks, problem, err := maintain.Whole(t.Context(), d, before); tasks != 1 || problem != "" || err != nil {
		t.Errorf("the old state has %d tasks, %q, %v", tasks, problem, err)
	}
	if text, err := maintain.Content(t.Context(), d, before); err != nil || !strings.Contains(string(text), "task-1") || strings.Contains(string(text), "task-2") {
		t.Errorf("its text is %s, %v", text, err)
	}
	last := p.State().Revision
	done, err := maintain.Restore(t.Context(), d, before)
	if err != nil || done.From != before || done.Revision <= last || done.Kept != "" {
		t.Fatalf("restored is %+v, %v; the last revision was %d", done, err, last)
	}
	s := p.State()
	if s.Task("task-1") == nil || s.Task("task-2") != nil || s.Tip() != tip || s.Revision != done.Revision {
		t.Errorf("the board has revision %d, tip %.9s, tasks %v", s.Revision, s.Tip(), s.TaskList())
	}
	all, err := maintain.Snapshots(t.Context(), d, true)
	if err != nil || len(all) < 2 || all[0].Revision != s.Revision {
		t.Errorf("the snapshots are %+v, %v", all, err)
	}
	if few, err := maintain.Snapshots(t.Context(), d, false); err != nil || len(few) == 0 || len(few) > len(all) {
		t.Errorf("the short list is %+v, %v", few, err)
	}
}

// A damaged file is kept beside the restored one; a revision that is not kept, and an agent, change nothing.
func TestRestoreOfADamagedFile(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	rev := p.State().Revision
	verbtest.Write(t, p.Project.State(), "version: 1\ntasks: [\n")
	if _, err := maintain.Restore(t.Context(), p.Service("coder-1"), rev); err == nil || !strings.Contains(err.Error(), "coder-1 may not restore the state") {
		t.Errorf("an agent gets %v", err)
	}
	if missing := (*store.NoSnapshotError)(nil); true {
		if _, err := maintain.Restore(t.Context(), p.Service(""), 4711); !errors.As(err, &missing) {
			t.Errorf("a revision that is not kept gives %v", err)
		}
	}
	if got := verbtest.Read(t, p.Project.State()); !strings.HasPrefix(got, "version: 1\ntasks: [") {
		t.Errorf("the file is %q", got)
	}
	done, err := maintain.Restore(t.Context(), p.Service(""), rev)
	if err != nil || done.Kept == "" || !strings.Contains(verbtest.Read(t, done.Kept), "tasks: [") {
		t.Fatalf("restored is %+v, %v", done, err)
	}
	if p.State().Task("task-1") == nil {
		t.Error("the task is not back")
	}
}

// An edit that breaks a rule comes back with the reason, until it is right or given up.
func TestAnEditIsAskedForUntilItIsRight(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	var problems []string
	texts := []func(string) []byte{
		func(s string) []byte { return []byte(strings.Replace(s, "status: UNCLAIMED", "status: CLAIMED", 1)) },
		func(s string) []byte {
			return []byte(strings.NewReplacer("status: CLAIMED", "status: UNCLAIMED", "Write task-1", "Write it").Replace(s))
		},
	}
	n := 0
	done, err := maintain.Edit(t.Context(), p.Service(""), func(text []byte, problem error) ([]byte, error) {
		if problem != nil {
			problems = append(problems, problem.Error())
		}
		n++
		return texts[n-1](string(text)), nil
	})
	if err != nil || n != 2 || len(problems) != 1 || !strings.Contains(problems[0], "V67") {
		t.Fatalf("%+v, %v after %d rounds with %q", done, err, n, problems)
	}
	if s := p.State(); s.Task("task-1").Description != "Write it" || s.Task("task-1").Status != blackboard.Unclaimed {
		t.Errorf("the task is %+v", s.Task("task-1"))
	}
	_, err = maintain.Edit(t.Context(), p.Service(""), func(text []byte, problem error) ([]byte, error) {
		if problem != nil {
			return nil, nil
		}
		return texts[0](string(text)), nil
	})
	if err == nil || p.State().Task("task-1").Status != blackboard.Unclaimed {
		t.Errorf("an edit that was given up ends with %v", err)
	}
	if _, err := maintain.Edit(t.Context(), p.Service("coder-1"), nil); err == nil || !strings.Contains(err.Error(), "coder-1 may not edit the state") {
		t.Errorf("an agent gets %v", err)
	}
}

// The command after a validation is the one that helps with all of its errors.
func TestTheNextCommandHelpsWithEveryError(t *testing.T) {
	t.Parallel()
	broken := func(rule string, fixable bool) blackboard.Violation {
		return blackboard.Violation{Rule: rule, Severity: blackboard.SeverityError, Fixable: fixable}
	}
	for want, v := range map[string]maintain.Validated{
		"liza validate --fix":        {File: maintain.BoardName, Violations: []blackboard.Violation{broken("V10", true), broken("V11", true)}},
		maintain.NextSeal:            {File: maintain.BoardName, Violations: []blackboard.Violation{broken(maintain.RuleJournal, false), {Rule: "V25", Severity: blackboard.SeverityWarning}}},
		"edit " + maintain.BoardName: {File: maintain.BoardName, Violations: []blackboard.Violation{broken("V10", true), broken("V08", false)}},
		"edit other.yaml":            {File: "other.yaml", Violations: []blackboard.Violation{broken("V10", true)}},
	} {
		if got := v.Next(); got != want {
			t.Errorf("%+v: %s, want %s", v.Violations, got, want)
		}
	}
}

func TestAViolationIsOneLine(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]blackboard.Violation{
		"ERROR V08 task-3 (line 41): CLAIMED without assigned_to\n": {Rule: "V08", Severity: blackboard.SeverityError, Subjects: []string{"task-3"}, Line: 41, Message: "task task-3: CLAIMED without assigned_to"},
		"ERROR V30 coder-1: no such role\n":                         {Rule: "V30", Severity: blackboard.SeverityError, Subjects: []string{"coder-1"}, Message: "agent coder-1: no such role"},
		"WARNING V25 task-8: waits for ever\n":                      {Rule: "V25", Severity: blackboard.SeverityWarning, Subjects: []string{"task-8"}, Message: "waits for ever"},
		"ERROR V01: cannot parse\n":                                 {Rule: "V01", Severity: blackboard.SeverityError, Message: "cannot parse"},
	} {
		if got := maintain.ViolationLine(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What cannot be read is a violation of its own; a repair mends what is provably safe, in one write, and says what it did.
func TestValidateAndRepair(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	board := func() *maintain.Board { return maintain.BoardOf(p.Service("")) }
	v, err := board().Validate(t.Context())
	if err != nil || !v.Valid || v.File != maintain.BoardName || v.Violations == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	good := verbtest.Read(t, p.Project.State())
	for text, rule := range map[string]string{"tasks: [\n": "V01", strings.Replace(good, "version: 1", "version: 9", 1): "V02", strings.Replace(good, "version: 1\n", "", 1): "V02"} {
		verbtest.Write(t, p.Project.State(), text)
		v, err := board().Validate(t.Context())
		if err != nil || v.Valid || v.Errors == 0 || v.Violations[0].Rule != rule {
			t.Errorf("%.30q: %+v, %v; want %s", text, v, err, rule)
		}
		if again, err := board().Repair(t.Context(), v); err != nil || again.Valid || len(again.Fixed) > 0 {
			t.Errorf("%.30q is repaired: %+v, %v", text, again, err)
		}
	}
	verbtest.Write(t, p.Project.State(), strings.Replace(good, "status: UNCLAIMED", "status: CLAIMED", 1))
	if v, err := board().Validate(t.Context()); err != nil || v.Valid || v.Next() == "" || !strings.Contains(maintain.ViolationLine(v.Violations[0]), "task-1") {
		t.Errorf("%+v, %v", v, err)
	}
}

func observer(p *verbtest.Place) *maintain.Observer {
	d := p.Service("")
	d.Board.Proc.FreeMB = func(string) int { return 5000 }
	return maintain.Observe(d, time.Now())
}

// The observer gathers what alerts are made of; what it cannot find out stays unknown.
func TestTheObserverSeesBoardFilesAndRepository(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	change(p, func(s *blackboard.State) {
		s.Config = blackboard.Settings{"base_ref": "main"}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(time.Now()), Agent: "coder-3", Action: blackboard.ActionAgentGaveUp, Detail: "5 crashes", Extra: map[string]any{"next": "liza doctor"}})
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(time.Now()), Agent: "coder-4", Action: blackboard.ActionUnregistered})
	})
	if err := p.Project.Controls().Set(project.Pause, "lunch", time.Now()); err != nil {
		t.Fatal(err)
	}
	o := observer(p)
	f := o.Facts(t.Context())
	if f.State == nil || f.State.Task("task-1") == nil || len(f.Violations) > 0 || f.Tip != nil || f.Behind.Commits != 0 || f.CheckedOutAt != "" || f.Lock != nil || f.LastActivity.IsZero() || f.Input.Control == "" || f.Input.SpecExists == nil {
		t.Errorf("the facts are %+v", f)
	}
	if len(f.Orders) != 1 || f.Orders[0].Control != project.Pause || f.Orders[0].Reason != "lunch" {
		t.Errorf("the orders are %+v", f.Orders)
	}
	if len(f.GaveUp) != 1 || f.GaveUp[0].Agent != "coder-3" || f.GaveUp[0].Why != "5 crashes" || f.GaveUp[0].Next != "liza doctor" || f.Left[blackboard.RoleCoder].IsZero() {
		t.Errorf("gave up %+v, left %v", f.GaveUp, f.Left)
	}
	change(p, func(s *blackboard.State) {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(time.Now()), Agent: "coder-3", Action: blackboard.ActionRegistered})
	})
	p.Push("new.txt", "new")
	p.Git(p.Dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "x"), "integration")
	verbtest.Write(t, filepath.Join(p.Dir, "more.txt"), "more\n")
	p.Git(p.Dir, "add", "more.txt")
	p.Git(p.Dir, "commit", "-q", "-m", "more")
	f = o.Facts(t.Context())
	if len(f.GaveUp) != 0 {
		t.Errorf("one that came back gave up: %+v", f.GaveUp)
	}
	if f.Tip == nil || *f.Tip != p.Git(p.Dir, "rev-parse", "integration") {
		t.Errorf("the tip is %v", f.Tip)
	}
	if f.Behind.Commits == 0 || !strings.Contains(f.Behind.Text, "of its base branch main") {
		t.Errorf("behind is %+v", f.Behind)
	}
}

// A damaged file is told with the line; alerts go on with the last valid board. What is half written for a moment is not told.
func TestTheObserverOfADamagedBoard(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	o := observer(p)
	verbtest.Write(t, p.Project.State(), "version: 1\ntasks: [\n")
	f := o.Facts(t.Context())
	if len(f.Violations) != 1 || f.Violations[0].Rule != "V01" || f.State == nil || f.State.Task("task-1") == nil {
		t.Errorf("the facts are %+v", f)
	}
	if alerts := findings.Alerts(f); len(alerts) == 0 || alerts[0].Kind != blackboard.AlertInvalidState {
		t.Errorf("the alerts are %+v", alerts)
	}
	if err := os.Remove(p.Project.State()); err != nil {
		t.Fatal(err)
	}
	if f := o.Facts(t.Context()); f.State == nil {
		t.Error("without a file the last valid board is not known")
	}
}
