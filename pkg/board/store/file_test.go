package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// byHand is a state as people and Liza v1 leave it.
const byHand = `# The board of the greeting project.
version: "1.0"
goal:
  id: goal-1
  description: Greeting CLI   # as agreed
  status: PLANNING

owner: ada          # nobody knows this section

tasks:
  # do this first
  - id: task-1
    description: >
      folded
      text
    status:   UNCLAIMED   # free
    x-note: {kept:   "as it is"}
    priority: 1

    history: []
  - id: task-2
    status: UNCLAIMED

agents:
  # the night shift
  coder-1:
    role: Coder
    status: WORKING
    task: task-9        # the old name
    badge: 7
  coder-2: {role: code-reviewer, status: IDLE}

sprint: {id: sprint-1, goal_ref: goal-1}
config:
    lease_duration: 1800  # seconds
    my_own_key: [1,
      2]
# end of file
`

func claim(id, agent string) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		t := s.Task(id)
		if t == nil {
			return fmt.Errorf("no task %s", id)
		}
		t.Status, t.AssignedTo = blackboard.Claimed, agent
		t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T15:00:00Z", Event: "claimed", Agent: agent})
		s.Record(blackboard.Entry{Action: "claimed", Task: id})
		return nil
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAWriteChangesTheLinesOfWhatItTouchesOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(p.path(), byHand)
	f := p.open()
	s, err := f.View(t.Context())
	must(t, err)
	if s.Version != "1" || s.Revision != 0 || s.Goal.Status != blackboard.InProgress || s.Agents["coder-1"].CurrentTask != "task-9" || s.Agents["coder-2"].Role != blackboard.RoleReviewer {
		t.Errorf("the state is read as %+v", s)
	}
	must(t, f.Update(t.Context(), op, claim("task-1", "coder-1")))
	want := strings.NewReplacer(
		"version: \"1.0\"\n", "version: \"1.0\"\nrevision: 1\n",
		"    status:   UNCLAIMED   # free\n", "    status: CLAIMED # free\n",
		"    priority: 1\n", "    priority: 1\n    assigned_to: coder-1\n",
		"    history: []\n", "    history:\n      - {time: 2026-01-19T15:00:00Z, event: claimed, agent: coder-1}\n",
	).Replace(byHand)
	if got := p.read(p.path()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error {
		s.Agents["coder-1"].CurrentTask = "task-1"
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-1", Timestamp: "2026-01-19T15:00:00Z", Message: "hello"})
		return nil
	}))
	want = strings.NewReplacer(
		"revision: 1\n", "revision: 2\n",
		"    task: task-9        # the old name\n", "",
		"    status: WORKING\n", "    status: WORKING\n    current_task: task-1\n",
		"sprint: {id: sprint-1", "human_notes:\n  - {id: note-1, timestamp: 2026-01-19T15:00:00Z, message: hello}\n\nsprint: {id: sprint-1",
	).Replace(want)
	if got := p.read(p.path()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := p.log(), "- {timestamp: 2026-01-19T15:00:00Z, rev: 1, agent: human, action: claimed, task: task-1, detail: \"\"}\n"; got != want {
		t.Errorf("the journal holds\n%s\nwant\n%s", got, want)
	}
}

func TestFilesOfAnyLayoutKeepTheirContent(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"CRLF": strings.ReplaceAll(byHand, "\n", "\r\n"), "BOM": "\ufeff" + byHand, "marker": "---\n" + byHand,
		"tabs": strings.ReplaceAll(byHand, "   #", "\t#"), "anchor": strings.Replace(byHand, "history: []", "history: &none []\n    attempted: *none", 1),
		"four": strings.NewReplacer("\n  ", "\n    ", "\n    ", "\n        ").Replace(byHand), "no end": strings.TrimSuffix(byHand, "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write(p.path(), text)
			f := p.open()
			before, err := f.View(t.Context())
			must(t, err)
			for i := range 3 {
				must(t, f.Update(t.Context(), op, claim("task-1", fmt.Sprintf("coder-%d", i))))
				must(t, f.Update(t.Context(), op, note(fmt.Sprintf("note-%d", i), "hello")))
			}
			after, err := p.open().View(t.Context())
			must(t, err)
			if after.Revision != 6 || len(after.HumanNotes) != 3 || len(after.TaskAt(0).History) != 3 || after.TaskAt(0).AssignedTo != "coder-2" {
				t.Errorf("after six writes: %+v", after)
			}
			first := func(t *blackboard.Task) bool { return t.ID == "task-1" }
			after.RemoveTasks(first)
			before.RemoveTasks(first)
			after.Revision, after.HumanNotes = 0, nil
			if !yamldoc.Same(before, after) || !yamldoc.Same(before.TaskList(), after.TaskList()) {
				t.Errorf("something else changed:\n%s", p.read(p.path()))
			}
			got := p.read(p.path())
			for _, kept := range []string{"owner: ada", "x-note", "badge: 7", "my_own_key", "# the night shift", "# do this first"} {
				if !strings.Contains(got, kept) {
					t.Errorf("%q is gone from\n%s", kept, got)
				}
			}
			if name == "CRLF" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
				t.Error("line ends changed")
			}
		})
	}
}

func TestCreateWritesAReadableFirstState(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	must(t, store.Create(t.Context(), p.options(), firstState(1),
		store.Comment{Path: "config", Text: "Live settings: a change takes effect at the next decision."},
		store.Comment{Path: "config.lease_duration", Text: "seconds"}))
	got := p.read(p.path())
	for _, want := range []string{
		"version: 1\nrevision: 1\n\ngoal:\n  id: goal-1\n  description: \"Greeting CLI\"\n", "\n\ntasks:\n  - id: task-1\n    description: |\n      Greeting honours --name\n",
		"\n      - {time: 2026-01-19T14:01:00Z, event: created, agent: planner-1}\n", "\n\nagents: {}\n\nsprint:\n",
		"\n\n# Live settings: a change takes effect at the next decision.\nconfig:\n  heartbeat_interval: 60\n  integration_branch: integration\n  lease_duration: 1800 # seconds\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the state does not have\n%s\nbut is\n%s", want, got)
		}
	}
	if got, want := p.log(), "- {timestamp: 2026-01-19T14:00:00Z, rev: 1, agent: human, action: initialized, task: null, detail: \"goal-1\"}\n"; got != want {
		t.Errorf("the journal holds\n%s", got)
	}
	must(t, p.open().Update(t.Context(), op, note("note-1", "first")))
	if len(p.alert) != 0 {
		t.Errorf("alerts after init: %q", p.alert)
	}
	if err := store.Create(t.Context(), p.options(), firstState(0)); err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("a second Create gives %v", err)
	}
}

func TestAnUnreadableFileIsReportedAndTheLastValidStateIsThere(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(2)
	must(t, f.Update(t.Context(), op, note("note-1", "good")))
	good := p.read(p.path())
	for name, c := range map[string]struct{ text, want string }{
		"broken":    {strings.Replace(good, "status: UNCLAIMED", "status: UN: CLAIMED", 1), "mapping values are not allowed in this context at line "},
		"empty":     {"", "the file is empty at line 1, column 1"},
		"two keys":  {good + "version: 1\n", `key "version" is there twice, first in line 1`},
		"documents": {good + "---\nversion: 1\n", "several documents in one file"},
	} {
		p.write(p.path(), c.text)
		_, err := f.View(t.Context())
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), ".liza/state.yaml is not valid: ") || invalid.Next() != "liza validate" {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
			continue
		}
		if v := invalid.Violations[0]; v.Rule != "V01" || v.Line == 0 {
			t.Errorf("%s: the violation is %+v", name, v)
		}
	}
	must(t, os.Remove(p.path()))
	if _, err := f.View(t.Context()); err == nil || !strings.Contains(err.Error(), "the file is missing") {
		t.Errorf("a missing file: %v", err)
	}
	if err := f.Update(t.Context(), op, note("note-2", "never")); err == nil {
		t.Error("a missing file was written")
	}
	s, err := p.open().LastValid(t.Context())
	if err != nil || s.Revision != 2 || len(s.HumanNotes) != 1 {
		t.Errorf("the last valid state is %+v, %v", s, err)
	}
}

func TestAnotherVersionIsNeitherReadNorWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, c := range []struct{ text, want string }{
		{strings.Replace(byHand, `"1.0"`, "2", 1), ".liza/state.yaml: version is 2; this program reads 1"},
		{strings.Replace(byHand, `version: "1.0"`, "x: y", 1), ".liza/state.yaml: version is missing; this program reads 1"},
	} {
		p.write(p.path(), c.text)
		_, err := p.open().View(t.Context())
		var e *store.VersionError
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("View gives %v, want %s", err, c.want)
		}
		if err := p.open().Update(t.Context(), op, note("note-1", "x")); !errors.As(err, &e) || p.read(p.path()) != c.text {
			t.Errorf("Update gives %v", err)
		}
	}
}

func TestAWriterWaitsForAnEditorToFinishSaving(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	good := p.read(p.path())
	p.write(p.path(), good[:len(good)/2]+": [")
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error, 1)
		go func() { done <- f.Update(context.WithoutCancel(t.Context()), op, note("note-1", "late")) }()
		synctest.Wait() // the writer has met the half file, and waits to look again
		select {
		case err := <-done:
			t.Fatalf("the writer did not wait: %v", err)
		default:
		}
		p.write(p.path(), good)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	s, err := f.View(t.Context())
	must(t, err)
	if len(s.HumanNotes) != 1 {
		t.Errorf("the note is not there: %+v", s.HumanNotes)
	}
}

func TestAWriterGivesUpAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	half := p.read(p.path())[:100] + ": ["
	p.write(p.path(), half)
	start := time.Now()
	err := f.Update(t.Context(), op, note("note-1", "never"))
	var invalid *store.InvalidError
	var syntax *yamldoc.SyntaxError
	if !errors.As(err, &invalid) || !errors.As(err, &syntax) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(start); took < 1900*time.Millisecond || took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	if p.read(p.path()) != half {
		t.Error("a person's text was overwritten")
	}
}

// P-016.
func TestTheLockTimeOutNamesTheHolder(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(1)
	unlock, err := safefile.Lock(t.Context(), p.path()+".lock", safefile.Holder{PID: 4121, Host: "mac", Agent: "coder-2", Op: "submit"})
	must(t, err)
	f := p.open(func(o *store.Options) { o.LockTimeout = 50 * time.Millisecond })
	err = f.Update(t.Context(), op, note("note-1", "x"))
	var locked *store.LockedError
	var held *safefile.HeldError
	if !errors.As(err, &locked) || !errors.As(err, &held) || !strings.HasPrefix(err.Error(), "cannot lock .liza/state.yaml: held by coder-2 (pid 4121, host mac, submit) for ") {
		t.Errorf("got %v", err)
	}
	if _, err := f.View(t.Context()); err != nil {
		t.Errorf("a reader waits for the lock: %v", err)
	}
	must(t, unlock())
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
}

func TestALinkIsNotWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(1)
	real := filepath.Join(p.dir, "real.yaml")
	must(t, os.Rename(p.path(), real))
	must(t, os.Symlink(real, p.path()))
	f := p.open()
	if _, err := f.View(t.Context()); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	if err := f.Update(t.Context(), op, note("note-1", "x")); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
}

func TestTheModeOfTheFileStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	must(t, os.Chmod(p.path(), 0o660))
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
	info, err := os.Stat(p.path())
	must(t, err)
	if info.Mode().Perm() != 0o660 {
		t.Errorf("the mode is %v", info.Mode())
	}
}

// A project, or its git folder alone, may be moved while a process writes: nothing is made where it was.
func TestAWriteMakesNoGitFolderWhereOneWas(t *testing.T) {
	t.Parallel()
	for _, done := range []int{0, 1} { // the first write of a process, and a later one
		p := newProject(t)
		f := p.create(1)
		for n := range done {
			must(t, f.Update(t.Context(), op, note(fmt.Sprint("note-", n), "before")))
		}
		git := filepath.Join(p.dir, ".git")
		must(t, os.Rename(git, git+"-elsewhere"))
		_ = f.Update(t.Context(), op, note("last", "after")) // it may fail
		if made, err := os.ReadDir(git); err == nil {
			t.Errorf("after %d writes the git folder is there again, with %v", done, made)
		}
	}
}

// A board of a version that wrote finished tasks in full is read and kept as it is; a task becomes short when it is written.
func TestALongFinishedTaskBecomesShortWhenItIsWritten(t *testing.T) {
	t.Parallel()
	const commit = "1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e"
	p := newProject(t)
	f := p.create(1)
	p.edit("\ntasks:\n", `
tasks:
  - id: long
    description: x
    status: MERGED # by hand
    spec_hash: sha256:aa
    review_commit: `+commit+`
    approved_by: code-reviewer-1
    review:
      status: ok
      by: code-reviewer-1
      commit: `+commit+`
      checks:
        - {name: scope, status: passed, severity: warning, commit: `+commit+`}
        - {name: tests_pass, status: passed, severity: error, seconds: 3, commit: `+commit+`}
    attempts:
      - seq: 1
        agent: coder-1
        kind: coder
        action: COMPLETED
        summary: "It is done."
    last_outcome: {action: COMPLETED, summary: "It is done.", at: 2026-01-19T14:14:00Z}
`)
	before := p.read(p.path())
	must(t, f.Update(t.Context(), op, note("note-1", "x")))
	_, long, _ := strings.Cut(before, "\ntasks:\n")
	long, _, _ = strings.Cut(long, "  - id: task-1\n")
	if !strings.Contains(p.read(p.path()), "\ntasks:\n"+long) {
		t.Errorf("a note changed the task:\n%s", p.read(p.path()))
	}
	must(t, f.Update(t.Context(), op, func(s *blackboard.State) error {
		s.Task("long").Shorten()
		s.Task("long").Attempts[0].Outcome = "merged"
		s.AddTasks(task("new"))
		return nil
	}))
	text := p.read(p.path())
	for _, want := range []string{`
    status: MERGED # by hand
    review_commit: ` + commit + `
    approved_by: code-reviewer-1
    review: {status: ok, passed: [scope, "tests_pass 3s"]}
    attempts:
      - {seq: 1, agent: coder-1, kind: coder, action: COMPLETED, outcome: merged, summary: "It is done."}
`, "\n  - id: new\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "last_outcome") || !regexp.MustCompile(`(?m)^  - id: new\n(    .*\n)+\n`).MatchString(text) {
		t.Errorf("the file is\n%s", text)
	}
}

// A text that cannot be parsed is parsed once, however many ask for it. What replaces it is read.
func TestABrokenTextIsParsedOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	f, whole := p.open(), p.read(p.path())
	p.write(p.path(), whole+"\n\t{")
	long := time.Now().Add(-time.Minute) // its stamp can be trusted
	must(t, os.Chtimes(p.path(), long, long))
	var first error
	for range 2 {
		_, err := f.View(t.Context())
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("a broken text gives %v", err)
		}
		if first == nil {
			first = err
		} else if first != err {
			t.Error("it was parsed again")
		}
	}
	p.write(p.path(), whole)
	if _, err := f.View(t.Context()); err != nil {
		t.Errorf("the mended text is not read: %v", err)
	}
}
