package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// known is a rule for tests: a task's status must be one of the eleven, and the goal
// must not be called bad.
func known(after, _ *blackboard.State) []blackboard.Violation {
	var found []blackboard.Violation
	for t := range after.Tasks() {
		if !t.Status.Known() {
			found = append(found, blackboard.Violation{Rule: "V06", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{t.ID},
				Path: "tasks[" + t.ID + "].status", Message: "task " + t.ID + ": unknown status '" + string(t.Status) + "'"})
		}
		for _, id := range t.DependsOn {
			if after.Task(id) == nil {
				found = append(found, blackboard.Violation{Rule: "V22", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{t.ID},
					Path: "tasks[" + t.ID + "].depends_on", Message: "task " + t.ID + ": depends_on: no task '" + id + "'"})
			}
		}
		if t.Scope == "" {
			found = append(found, blackboard.Violation{Rule: "V29", Severity: blackboard.SeverityWarning, OnWrite: true, Subjects: []string{t.ID}, Message: "missing scope"})
		}
	}
	for _, a := range after.Anomalies {
		if a.Type == "odd" {
			found = append(found, blackboard.Violation{Rule: "V53", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{"anomalies"},
				Path: "anomalies[" + a.ID + "].type", Message: "anomaly " + a.ID + ": unknown type 'odd'"})
		}
	}
	return found
}

func checked(o *store.Options) { o.Validate = known }

func (p *project) edit(old, new string) {
	p.t.Helper()
	text := p.read(p.path())
	if !strings.Contains(text, old) {
		p.t.Fatalf("there is no %q in\n%s", old, text)
	}
	p.write(p.path(), strings.Replace(text, old, new, 1))
}

func TestAHandEditIsTakenInWithAnEntryThatNamesWhatChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(3)
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
	p.edit("  - id: task-2\n", "  - id: task-2\n    title: \"by hand\" # mine\n")
	p.edit("  lease_duration: 1800\n", "  lease_duration: 900\n")
	must(t, f.Update(t.Context(), op, func(*blackboard.State) error { return nil }))
	if s, err := f.View(t.Context()); err != nil || s.Revision != 2 || s.TaskAt(1).Title != "by hand" {
		t.Errorf("before the next write: %+v, %v", s, err)
	}
	must(t, f.Update(t.Context(), op, note("note-2", "y")))
	log := p.log()
	want := "- {timestamp: 2026-01-19T15:00:00Z, rev: 3, agent: human, action: edited_by_hand, task: null, detail: \"state.yaml was edited by hand: config, task-2\"}\n" +
		"- {timestamp: 2026-01-19T15:00:00Z, rev: 3, agent: human, action: note, task: null, detail: \"note-2\"}\n"
	if !strings.HasSuffix(log, want) {
		t.Errorf("the journal is\n%s\nwant it to end with\n%s", log, want)
	}
	if len(p.alert) != 1 || !strings.HasPrefix(p.alert[0], "HAND_EDIT: ") {
		t.Errorf("the alerts are %q", p.alert)
	}
	if text := p.read(p.path()); !strings.Contains(text, "title: \"by hand\" # mine\n") || !strings.Contains(text, "revision: 3\n") {
		t.Errorf("the edit is gone:\n%s", text)
	}
	must(t, f.Update(t.Context(), op, note("note-3", "z")))
	if got := strings.Count(p.read(p.journal()), "edited_by_hand"); got != 1 {
		t.Errorf("the edit is logged %d times", got)
	}
	p.edit("# mine", "# still mine")
	must(t, p.open().Update(t.Context(), op, note("note-4", "z")))
	if log := p.read(p.journal()); !strings.Contains(log, "edited by hand: comments or layout only") {
		t.Errorf("the journal is\n%s", log)
	}
	p.edit("title: \"by hand\"", "title: again")
	must(t, p.open().Update(t.Context(), op, note("note-5", "z")))
	if log := p.read(p.journal()); !strings.Contains(log, "action: edited_by_hand, task: task-2, detail: \"state.yaml was edited by hand: task-2\"") {
		t.Errorf("the journal is\n%s", log)
	}
}

func TestAHandEditThatBreaksATaskStopsWritesToThatTaskOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	f := p.open(checked)
	p.edit("  - id: task-2\n", "  - id: task-2\n    depends_on: [gone]\n")
	p.edit("priority: 1\n", "priority: high\n") // of task-1
	before := p.read(p.path())

	for id, want := range map[string]string{
		"task-1": `V04 task task-1: 'priority' must be an integer, is "high"`,
		"task-2": "V22 task task-2: depends_on: no task 'gone'",
	} {
		err := f.Update(t.Context(), op, claim(id, "coder-1"))
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || invalid.Next() != "liza validate" {
			t.Fatalf("claiming %s gives %v, want %s", id, err, want)
		}
		if v := invalid.Violations[0]; v.Line == 0 || !strings.Contains(strings.Split(before, "\n")[v.Line-1], strings.Split(v.Path, ".")[1]) {
			t.Errorf("the violation is said to be in line %d: %+v", v.Line, v)
		}
	}
	if p.read(p.path()) != before || strings.Contains(p.read(p.journal()), "claimed") {
		t.Error("a refused write left a trace")
	}
	must(t, f.Update(t.Context(), op, claim("task-3", "coder-1")))
	must(t, f.Update(t.Context(), op, note("note-1", "others go on")))
	if got := p.read(p.path()); !strings.Contains(got, "priority: high\n") || !strings.Contains(got, "depends_on: [gone]\n") {
		t.Errorf("the person's text is gone:\n%s", got)
	}
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { // who repairs it may touch it
		one := 1
		s.Task("task-1").Priority, s.Task("task-2").DependsOn = &one, nil
		return nil
	}))
}

func TestAChangeThatBreaksSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(2)
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error {
		s.Task(s.TaskAt(1).ID).DependsOn = blackboard.List{"task-1"}
		return nil
	}))
	f = p.open(checked)
	err := f.Update(t.Context(), op, func(s *blackboard.State) error { s.SetTasks(s.TaskList()[1:], nil); return nil })
	if err == nil || !strings.Contains(err.Error(), ".liza/state.yaml would not be valid: line ") || !strings.Contains(err.Error(), "V22 task task-2: depends_on: no task 'task-1'") {
		t.Errorf("removing task-1 gives %v", err)
	}
	if err := f.Update(t.Context(), op, func(s *blackboard.State) error { s.Task(s.TaskAt(0).ID).Status = "ODD"; return nil }); err == nil {
		t.Error("an unknown status was written")
	}
}

func TestABrokenEntryOfAListDoesNotStopNewOnes(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(1)
	p.edit("sprint:\n", "anomalies:\n  - {id: anom-1, type: odd}\n  - just a text\n\nsprint:\n")
	f := p.open(checked)
	add := func(id string, kind blackboard.AnomalyKind) func(*blackboard.State) error {
		return func(s *blackboard.State) error {
			s.Anomalies = append(s.Anomalies, &blackboard.Anomaly{ID: id, Type: kind})
			return nil
		}
	}
	must(t, f.Update(t.Context(), op, add("anom-2", "retry_loop")))
	if got := p.read(p.path()); !strings.Contains(got, "  - {id: anom-1, type: odd}\n  - just a text\n") || !strings.Contains(got, "  - {id: anom-2, ") {
		t.Errorf("the file is\n%s", got)
	}
	if err := f.Update(t.Context(), op, add("anom-3", "odd")); err == nil || !strings.Contains(err.Error(), "anom-3") {
		t.Errorf("got %v", err)
	}
	if err := f.Update(t.Context(), op, func(s *blackboard.State) error { s.Anomalies[0].Task = "task-1"; return nil }); err == nil {
		t.Error("a broken anomaly was written")
	}
}

func TestATextInThePlaceOfASectionIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for _, new := range []string{"agents: to be decided", "agents: [coder-1]", "agents:\n  - coder-1"} {
		p := newProject(t)
		p.create(1)
		p.edit("agents: {}", new)
		before := p.read(p.path())
		err := p.open().Update(t.Context(), op, func(s *blackboard.State) error {
			if s.Agents == nil {
				s.Agents = map[string]*blackboard.Agent{}
			}
			s.Agents["coder-1"] = &blackboard.Agent{Role: blackboard.RoleCoder}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "V03 section 'agents' must be a map, is ") {
			t.Errorf("%s: got %v", new, err)
		}
		if p.read(p.path()) != before {
			t.Errorf("%s: it was overwritten", new)
		}
		must(t, p.open().Update(t.Context(), op, note("note-1", "others go on")))
	}
}

// kept are the two sides of a conflict, person first.
func (p *project) kept() (person, liza string) {
	p.t.Helper()
	both, _ := filepath.Glob(filepath.Join(p.dir, ".git", "liza", "conflict-*"))
	for _, path := range both {
		if strings.HasSuffix(path, "-person.yaml") {
			person = p.read(path)
		} else {
			liza = p.read(path)
		}
	}
	if len(both) != 2 {
		p.t.Errorf("there are %d copies: %q", len(both), both)
	}
	return person, liza
}

// P-171, B06: both changed, in different places.
func TestAnOldCopyThatWasEditedIsMergedWithTheNewerState(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(2)
	old := p.read(p.path())
	must(t, f.Update(t.Context(), op, note("note-1", "newer")))
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { s.Task("task-1").Iteration = 7; return nil }))
	newest := p.read(p.path())
	mine := strings.Replace(old, "  - id: task-2\n", "  - id: task-2\n    title: \"by hand\" # mine\n", 1)
	p.write(p.path(), mine)

	check := func(s *blackboard.State, err error) {
		t.Helper()
		if err != nil || s.Task("task-1").Iteration != 7 || s.Task("task-2").Title != "by hand" || len(s.HumanNotes) == 0 {
			t.Fatalf("%v, %+v", err, s)
		}
	}
	check(f.View(t.Context()))
	check(p.open().View(t.Context()))
	must(t, f.Update(t.Context(), op, note("note-2", "goes on")))
	s, err := p.open().View(t.Context())
	if check(s, err); s.Revision != 4 || len(s.HumanNotes) != 2 {
		t.Errorf("revision %d, notes %+v", s.Revision, s.HumanNotes)
	}
	if text := p.read(p.path()); !strings.Contains(text, "title: \"by hand\" # mine\n") {
		t.Errorf("the comment is lost:\n%s", text)
	}
	if person, liza := p.kept(); person != mine || liza != newest {
		t.Error("the copies are not those of both sides")
	}
	if log := p.read(p.journal()); !strings.Contains(log, "edited_by_hand") || !strings.Contains(log, "task-2") {
		t.Errorf("the journal is\n%s", log)
	}
	if len(p.alert) == 0 || !strings.HasPrefix(p.alert[0], "STATE_WENT_BACK: ") {
		t.Errorf("the alerts are %q", p.alert)
	}
}

// B06: both changed the same value.
func TestAnOldCopyThatCannotBeMergedIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	old := p.read(p.path())
	must(t, f.Update(t.Context(), op, note("note-1", "newer")))
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { s.Task("task-1").Iteration = 7; return nil }))
	newest, log := p.read(p.path()), p.read(p.journal())
	mine := strings.Replace(old, "  - id: task-1\n", "  - id: task-1\n    iteration: 5\n", 1)
	p.write(p.path(), mine)
	for range 2 {
		err := f.Update(t.Context(), op, note("note-3", "never"))
		var back *store.WentBackError
		if !errors.As(err, &back) {
			t.Fatalf("got %v", err)
		}
		if back.Revision != 1 || back.Committed != 3 || back.Next() != "liza restore" || len(back.Conflicts) != 1 ||
			!strings.Contains(err.Error(), "revision 1 is older than 3;\ntasks[task-1].iteration: your edit says 5 (line ") || !strings.Contains(err.Error(), "the newer state 7 (line ") {
			t.Errorf("got %v", err)
		}
	}
	if person, liza := p.kept(); person != mine || liza != newest {
		t.Error("the copies are not those of both sides")
	}
	if p.read(p.path()) != mine || p.read(p.journal()) != log {
		t.Error("something was written")
	}
	if s, err := f.View(t.Context()); err != nil || s.Revision != 3 {
		t.Errorf("who looks sees revision %d, %v; want the newer state", s.Revision, err)
	}
	now, kept, err := f.Restore(t.Context(), op, 3)
	if err != nil || now != 4 || p.read(kept) != mine {
		t.Fatalf("restored as %d, kept %s, %v", now, kept, err)
	}
	must(t, f.Update(t.Context(), op, note("note-3", "again")))
}

// Each edit is kept, also when the clock says the same second.
func TestTwoEditsOfOneSecondAreBothKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	old := p.read(p.path())
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error { s.Task("task-1").Iteration = 7; return nil }))
	for _, n := range []string{"5", "6"} {
		mine := strings.Replace(old, "  - id: task-1\n", "  - id: task-1\n    iteration: "+n+"\n", 1)
		p.write(p.path(), mine)
		var back *store.WentBackError
		if err := f.Update(t.Context(), op, note("note-1", "never")); !errors.As(err, &back) || p.read(back.Person) != mine {
			t.Fatalf("%s: got %v", n, err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(p.dir, ".git", "liza", "conflict-*-person.yaml")); len(kept) != 2 {
		t.Errorf("kept are %q", kept)
	}
}

// Without the state that the person began with nothing is merged.
func TestAnOldCopyOfAnUnknownStateIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	old := p.read(p.path())
	must(t, f.Update(t.Context(), op, note("note-1", "newer")))
	must(t, os.RemoveAll(filepath.Join(p.dir, ".git", "liza", "snapshots")))
	p.write(p.path(), old+"# my comment\n")
	var back *store.WentBackError
	if err := p.open().Update(t.Context(), op, note("note-3", "never")); !errors.As(err, &back) {
		t.Fatalf("got %v", err)
	}
	if p.read(back.Person) != old+"# my comment\n" || back.Liza != "" {
		t.Errorf("got %+v", back)
	}
}

func TestEntriesFarAheadOfAnOldStateAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	old := p.read(p.path())
	for _, id := range []string{"note-1", "note-2", "note-3"} {
		must(t, f.Update(t.Context(), op, note(id, "x")))
	}
	// An old copy, and nobody remembers: the git dir came from elsewhere.
	must(t, os.RemoveAll(filepath.Join(p.dir, ".git", "liza")))
	p.write(p.path(), old)
	must(t, f.Update(t.Context(), op, note("note-9", "x")))
	aside := p.read(filepath.Join(p.dir, ".liza", "log.ahead-20260119T150000Z.yaml"))
	if strings.Count(aside, "\n") != 2 || !strings.Contains(aside, "rev: 3") || !strings.Contains(aside, "rev: 4") {
		t.Errorf("put aside:\n%s", aside)
	}
	if log := p.read(p.journal()); strings.Count(log, "\n") != 2 || !strings.Contains(log, "note-9") || strings.Contains(log, "note-1") {
		t.Errorf("the journal is\n%s", log)
	}
	if len(p.alert) != 2 || !strings.HasPrefix(p.alert[0], "JOURNAL_REPAIRED: ") || !strings.HasPrefix(p.alert[1], "STATE_WENT_BACK: ") {
		t.Errorf("the alerts are %q", p.alert)
	}
}

// P-018.
func TestAnEditUnderAWriteIsNotLost(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(p *project, text string){
		"in place": func(p *project, text string) { p.write(p.path(), text) },
		"by rename": func(p *project, text string) {
			p.write(p.path()+".swp", text)
			if err := os.Rename(p.path()+".swp", p.path()); err != nil {
				p.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.create(2)
			edits := 2
			f := p.open(func(o *store.Options) {
				o.At = func(point string) {
					if point == "W7" && edits > 0 {
						edits--
						save(p, strings.Replace(p.read(p.path()), "description: \"Greeting CLI", "description: \"Greeting CLI +", 1))
					}
				}
			})
			must(t, f.Update(t.Context(), op, note("note-1", "x")))
			s, err := f.View(t.Context())
			must(t, err)
			if s.Goal.Description != "Greeting CLI + +" || len(s.HumanNotes) != 1 || s.Revision != 2 {
				t.Errorf("the state is %+v, %q", s, s.Goal.Description)
			}
			if log := p.read(p.journal()); strings.Count(log, "note-1") != 1 || strings.Count(log, "edited_by_hand") != 1 {
				t.Errorf("the journal is\n%s", log)
			}
			if left, _ := filepath.Glob(filepath.Join(p.dir, ".liza", ".*")); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestAnEditorThatNeverStopsIsReported(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(1)
	f := p.open(func(o *store.Options) {
		o.At = func(point string) {
			if point == "W7" {
				p.write(p.path(), p.read(p.path())+"# again\n")
			}
		}
	})
	err := f.Update(t.Context(), op, note("note-1", "x"))
	if err == nil || !strings.Contains(err.Error(), "changed 5 times") {
		t.Fatalf("got %v", err)
	}
	if got := p.read(p.path()); strings.Contains(got, "note-1") || strings.Count(got, "# again\n") != 5 {
		t.Errorf("the file is\n%s", got)
	}
	must(t, p.open().Update(t.Context(), op, note("note-2", "x")))
	if log := p.read(p.journal()); strings.Contains(log, "note-1") || !strings.Contains(log, "note-2") {
		t.Errorf("the journal is\n%s", log)
	}
}

func TestInspectTellsWhatDecodingFound(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(p.path(), `version: 1
goal: none
tasks:
  - id: a.b
    status: DRAFT
    staus: DRAFT
    priority: high
    history:
      - {time: [1], event: created}
  - text
agents:
  coder-1: {rule: coder}
  coder-2: {rule: coder}
taks: []
discovered:
  - {id: disc-1, severity: {a: b}}
config: {}
`)
	i, err := p.open().Inspect(t.Context())
	must(t, err)
	var got []string
	for _, v := range i.Decode {
		got = append(got, v.String())
	}
	want := []string{
		`line 2: V03 section 'goal' must be a map, is "none"`,
		"line 6: V61 warning: task a.b: unknown key 'staus'; nearest: status",
		`line 7: V04 task a.b: 'priority' must be an integer, is "high"`,
		"line 9: V04 task a.b: 'time' must be a text, is a list",
		"line 10: V04 task #2: it is not an entry of tasks",
		"line 12: V61 warning: agent coder-1: unknown key 'rule'; nearest: role",
		"line 14: V61 warning: unknown section 'taks'; nearest: tasks",
		"line 16: V04 discovered[disc-1]: 'severity' must be a text, is a map",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(i.Missing) != 1 || i.Missing[0] != "sprint" || i.State.TaskCount() != 1 {
		t.Errorf("missing %q, tasks %v", i.Missing, i.State.TaskList())
	}
	if v := i.Locate([]blackboard.Violation{{Path: "agents[coder-2].role"}}); v[0].Line != 13 {
		t.Errorf("agents[coder-2] is in line %d", v[0].Line)
	}
	if i.Previous != nil {
		t.Error("there is a previous state")
	}
	q := newProject(t)
	q.create(1)
	q.edit("status: UNCLAIMED", "status: DRAFT")
	i, err = q.open().Inspect(t.Context())
	if err != nil || i.Previous == nil || i.Previous.TaskAt(0).Status != blackboard.Unclaimed || i.State.TaskAt(0).Status != blackboard.Unclaimed ||
		len(i.Decode) != 1 || !strings.Contains(i.Decode[0].String(), "V67 task task-1: UNCLAIMED was changed to DRAFT by hand") {
		t.Errorf("after an edit: %+v, %v", i, err)
	}
}
