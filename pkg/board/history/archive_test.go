package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

const head = "version: 1\nsprint:\n  id: sprint-1\n"

// parsed is the index of a file that a parser makes.
func parsed(text string) ([]header, error) {
	doc, err := archiveReader(nil).Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return headers(doc), nil
}

// item is a task with its text, as the store gives it.
func item(t *testing.T, text string) Item {
	t.Helper()
	tasks, err := parsed(tasksKey + text)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("the test's own text does not parse: %v\n%s", err, text)
	}
	is := &blackboard.Task{ID: tasks[0].ID, Status: tasks[0].Status, Supersedes: tasks[0].Supersedes, AfterPlan: tasks[0].AfterPlan}
	return Item{Task: is, Text: text, Plain: func() string {
		return fmt.Sprintf("  - id: %q\n    status: %s\n", is.ID, is.Status)
	}}
}

func put(t *testing.T, a *Archive, sprint string, texts ...string) {
	t.Helper()
	var items []Item
	for _, text := range texts {
		items = append(items, item(t, text))
	}
	if err := a.Put(sprint, head, items); err != nil {
		t.Fatal(err)
	}
}

const first = `  # kept by ada
  - id: task-1
    status: MERGED # at last
    x-custom:   {a:   1}
    description: |
      Say hello

      # not a comment
`

const second = `  - id: task-2
    title: "two"
    supersedes:
    - task-0
    - 'task-00'
    status: "SUPERSEDED"
    after_plan: true
`

func TestTasksStandInTheArchiveByteForByte(t *testing.T) {
	t.Parallel()
	a := &Archive{Dir: filepath.Join(t.TempDir(), "archive")}
	if len(a.Archived()) != 0 || a.Check() != nil {
		t.Error("an archive that is not there has tasks or is broken")
	}
	put(t, a, "sprint-1", first)
	put(t, a, "sprint-1", second)
	if got, want := content(t, a.path("sprint-1")), head+"tasks:\n"+first+second; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	all := a.Archived()
	if x := all["task-1"]; x.Status != blackboard.Merged || x.Sprint != "sprint-1" {
		t.Errorf("task-1 is %+v", x)
	}
	if x := all["task-2"]; x.Status != blackboard.Superseded || strings.Join(x.Supersedes, " ") != "task-0 task-00" || !x.AfterPlan {
		t.Errorf("task-2 is %+v", x)
	}
	whole, sprint, err := a.Task("task-1")
	if err != nil || sprint != "sprint-1" || whole.Description != "Say hello\n\n# not a comment\n" {
		t.Errorf("task-1 reads as %+v of %s: %v", whole, sprint, err)
	}
	if none, _, err := a.Task("task-3"); none != nil || err != nil {
		t.Errorf("task-3 is %v, %v", none, err)
	}
	if tasks, err := a.Tasks("sprint-1"); err != nil || len(tasks) != 2 || tasks[1].ID != "task-2" {
		t.Errorf("the sprint has %v: %v", tasks, err)
	}
}

// Whatever the form of an archive, its tasks are those that the YAML library finds in it.
func TestTasksOfAnArchiveAreThoseThatAParserFinds(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"as Liza writes it":  head + tasksKey + first + second,
		"at the margin":      "tasks:\n- id: a\n  status: MERGED\n  attempts: []\n- id: b\n  history:\n  - {event: created, by: human}\n",
		"flow style":         "tasks: [{id: a, status: MERGED, done_when: it is}, {id: b, iteration: 3}]\n",
		"anchors":            "tasks:\n  - &a\n    id: a\n    status: MERGED\n  - <<: *a\n    id: b\n",
		"other keys, types":  "tasks:\n  - id: a\n    iteration: many\n    mine: [1, 2]\n  - id: b\n    priority: 2\n",
		"Windows line ends":  strings.ReplaceAll(head+tasksKey+first, "\n", "\r\n"),
		"a person's comment": tasksKey + "  # mine\n" + first + "    # and this\n",
		"empty fields":       "tasks:\n  - id: a\n    supersedes: []\n    blocked_reason: ''\n    history: []\n",
		"none":               "tasks: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Archive{Dir: t.TempDir()}
			if err := os.WriteFile(a.path("sprint-1"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			var want struct{ Tasks []*blackboard.Task }
			var partly *yaml.TypeError // the rest was decoded
			if err := yaml.Unmarshal([]byte(text), &want); err != nil && !errors.As(err, &partly) {
				t.Fatal(err)
			}
			yamldoc.DropEmpty(reflect.ValueOf(&want))
			if got, err := a.Tasks("sprint-1"); err != nil || !reflect.DeepEqual(got, want.Tasks) && len(got)+len(want.Tasks) > 0 {
				t.Errorf("%v; the archive has\n%swant\n%s", err, asYAML(t, got), asYAML(t, want.Tasks))
			}
			for _, w := range want.Tasks {
				if got, _, err := a.Task(w.ID); err != nil || !reflect.DeepEqual(got, w) {
					t.Errorf("%v; task %s is\n%swant\n%s", err, w.ID, asYAML(t, got), asYAML(t, w))
				}
			}
		})
	}
}

func asYAML(t *testing.T, v any) []byte {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The archive of a long sprint is read while the team works. A tree of it would be thirty times as large as the file.
func TestTasksOfAnArchiveAreReadWithoutATree(t *testing.T) { // not parallel: it counts the memory of the process
	a := &Archive{Dir: t.TempDir()}
	var tasks strings.Builder
	for n := range 300 {
		fmt.Fprintf(&tasks, "  - id: task-%d\n    status: MERGED\n    description: |\n      Say hello\n    history:\n", n)
		for range 20 {
			tasks.WriteString("      - {time: 2026-01-02T03:04:05Z, event: claimed, agent: coder-1, note: \"attempt 1\"}\n")
		}
	}
	if err := os.WriteFile(a.path("sprint-1"), []byte(head+tasksKey+tasks.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	a.Archived()
	runtime.ReadMemStats(&before)
	list, err := a.Tasks("sprint-1")
	runtime.ReadMemStats(&after)
	if ratio := float64(after.TotalAlloc-before.TotalAlloc) / float64(tasks.Len()); err != nil || len(list) != 300 || ratio > 20 {
		t.Errorf("%d tasks, %v, and %.1f bytes of memory for each byte of the file; want at most 20", len(list), err, ratio)
	}
}

func TestATaskThatIsThereAlreadyIsReplaced(t *testing.T) {
	t.Parallel()
	a := &Archive{Dir: t.TempDir()}
	put(t, a, "sprint-1", first, second)
	later := "  - id: task-1\n    status: MERGED\n    attempts: []\n"
	put(t, a, "sprint-1", later)
	if got, want := content(t, a.path("sprint-1")), head+"tasks:\n"+second+later; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

func TestOtherColumnsAndFormsFitTogether(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"at the margin":         "- id: task-3\n  status: MERGED\n  description: |\n    a\n      b\n",
		"flow style":            "  - {id: task-3, status: MERGED}\n",
		"wide dashes":           "  -   id: task-3\n      status: MERGED\n",
		"a text that misleads":  "  - id: task-3\n    description: \"foo\n  - id: task-4\n    bar\"\n    status: MERGED\n",
		"keys in another order": "  - status: MERGED\n    id: task-3\n",
		"a number":              "  - id: 3\n    status: MERGED\n",
		"no value at all":       "  - id: 'null'\n    status: MERGED\n",
		"without a last line":   "  - id: task-3\n    status: MERGED",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Archive{Dir: t.TempDir()}
			put(t, a, "sprint-1", first)
			put(t, a, "sprint-1", text)
			put(t, a, "sprint-1", second)
			if got := a.Archived(); len(got) != 3 || got["task-2"].Status != blackboard.Superseded {
				t.Errorf("the archive has %v:\n%s", got, content(t, a.path("sprint-1")))
			}
			if tasks, err := parsed(content(t, a.path("sprint-1"))); err != nil || len(tasks) != 3 {
				t.Errorf("a parser finds %v, %v", tasks, err)
			}
		})
	}
}

func TestAFileThatAPersonRewroteIsStillRead(t *testing.T) {
	t.Parallel()
	a := &Archive{Dir: t.TempDir()}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(a.path("sprint-1"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("{version: 1, sprint: sprint-1, tasks: [{id: task-1, status: ABANDONED, note: mine}, {status: MERGED}]}\n")
	if got := a.Archived(); len(got) != 1 || got["task-1"].Status != blackboard.Abandoned {
		t.Errorf("the archive has %v", got)
	}
	if whole, _, err := a.Task("task-1"); err != nil || whole == nil || whole.Status != blackboard.Abandoned {
		t.Errorf("task-1 is %v, %v", whole, err)
	}
	write("{version: 1, sprint: sprint-1, tasks: [{id: task-1, status: ABANDONED, note: mine}]}\n")
	put(t, a, "sprint-1", second)
	if got := a.Archived(); len(got) != 2 || !strings.Contains(content(t, a.path("sprint-1")), "note: mine") {
		t.Errorf("the archive has %v:\n%s", got, content(t, a.path("sprint-1")))
	}
	write("tasks: [\n")
	if got := a.Archived(); len(got) != 0 || a.Check() == nil || !strings.Contains(a.Check().Error(), "cannot read the archive of sprint-1") {
		t.Errorf("a broken file has %v, %v", got, a.Check())
	}
	if err := a.Put("sprint-1", head, []Item{item(t, first)}); err == nil {
		t.Error("a broken file was written over")
	}
}

func TestFilesOfAllSprintsCountAndNothingElse(t *testing.T) {
	t.Parallel()
	a := &Archive{Dir: t.TempDir()}
	put(t, a, "sprint-2", "  - id: task-1\n    status: MERGED\n")
	put(t, a, "sprint-10", "  - id: task-1\n    status: ABANDONED\n")
	for _, name := range []string{"log-1-20.yaml", "facts.jsonl", ".sprint-3.yaml.tmp-1"} {
		if err := os.WriteFile(filepath.Join(a.Dir, name), []byte("- id: x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.Archived(); len(got) != 1 || got["task-1"].Sprint != "sprint-10" {
		t.Errorf("the archive has %v; the latest sprint knows best", got)
	}
	if err := os.Remove(a.path("sprint-10")); err != nil {
		t.Fatal(err)
	}
	if got := a.Archived()["task-1"]; got.Sprint != "sprint-2" || a.Check() != nil {
		t.Errorf("after a removal: %v, %v", got, a.Check())
	}
}

func BenchmarkAnArchiveOfTenThousandTasks(b *testing.B) {
	var text strings.Builder
	text.WriteString(head + tasksKey)
	for n := range 10000 {
		fmt.Fprintf(&text, "  - id: task-%d\n    status: MERGED\n    description: |\n%s", n, strings.Repeat("      a line of the description of some length\n", 20))
	}
	a := &Archive{Dir: b.TempDir()}
	if err := os.WriteFile(a.path("sprint-1"), []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n := len((&Archive{Dir: a.Dir}).Archived()); n != 10000 {
			b.Fatal(n)
		}
	}
}
