package history

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

var clock = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

// journal makes a journal with a text.
func journal(t *testing.T, text string) Journal {
	t.Helper()
	j := Journal{Path: filepath.Join(t.TempDir(), "log.yaml")}
	if err := os.WriteFile(j.Path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return j
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// line is an entry as Append writes it.
func line(rev int, detail string) string {
	return fmt.Sprintf("- {timestamp: 2026-01-19T14:00:00Z, rev: %d, agent: coder-1, action: claimed, task: task-3, detail: %q}\n", rev, detail)
}

func TestAnEntryIsOneLine(t *testing.T) {
	t.Parallel()
	j := journal(t, "")
	j.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	_, err := j.Append(7, Begins, []blackboard.Entry{
		{Timestamp: "2026-01-19T14:02:00Z", Agent: "coder-1", Action: "claimed", Task: "task-3", Detail: `attempt 1, "base" 6f0c0a5`},
		{Timestamp: "2026-01-19T14:02:00Z", Rev: 99, Agent: "system", Action: "merged", Task: "null", Detail: "a\nb\x00c\u2028d hunter2",
			Extra: map[string]any{"merge_commit": "77aa01b", "drift_commits": 2, "files": []string{"a b.go", "<x>&hunter2"}, "halt": map[string]any{"kind": "cost"}}},
		{Timestamp: "soon", Action: "note", Detail: strings.Repeat("é", 600)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `- {timestamp: 2026-01-19T14:02:00Z, rev: 7, agent: coder-1, action: claimed, task: task-3, detail: "attempt 1, \"base\" 6f0c0a5", prev: "0-00000000000000000000000000000000"}
- {timestamp: 2026-01-19T14:02:00Z, rev: 7, agent: system, action: merged, task: "null", detail: "a b c d ***", drift_commits: 2, files: ["a b.go","<x>&***"], halt: {"kind":"cost"}, merge_commit: "77aa01b", prev: "1-fce1688a6fad1a256b148f481f2e510e"}
- {timestamp: soon, rev: 7, agent: "", action: note, task: null, detail: "` + strings.Repeat("é", 499) + `…", prev: "2-f8f58fc54403f1ceb134c0c3989d8f47"}
`
	if got := content(t, j.Path); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	entries, err := j.Read(Filter{})
	if err != nil || len(entries) != 3 {
		t.Fatalf("read %d entries, %v", len(entries), err)
	}
	if e := entries[1]; e.Task != "null" || e.Rev != 7 || e.Extra["drift_commits"] != 2 || !reflect.DeepEqual(e.Extra["files"], []any{"a b.go", "<x>&***"}) {
		t.Errorf("the second entry is read as %+v", e)
	}
	if e := entries[2]; e.Task != "" || e.Timestamp != "soon" {
		t.Errorf("the third entry is read as %+v", e)
	}
}

func TestTextsInAnEntryAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "5", "true", "no", "~", "1.5", "a: b", "a #b", "{x}", "[y]", "'", `"`, `\`, "$(x)", "ünï", "😀", "- a", "2026-01-19", "2026-01-19T14:00:00Z"} {
		j := journal(t, "")
		if _, err := j.Append(1, "", []blackboard.Entry{{Timestamp: blackboard.Time(s), Agent: s, Action: blackboard.Action(s), Task: s, Detail: s, Extra: map[string]any{"k": s}}}); err != nil {
			t.Fatal(err)
		}
		entries, err := j.Read(Filter{})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%q: read %v, %v from %s", s, entries, err, content(t, j.Path))
		}
		if e := entries[0]; string(e.Timestamp) != s || e.Agent != s || string(e.Action) != s || e.Task != s || e.Detail != s || e.Extra["k"] != s {
			t.Errorf("%q is read as %+v from %s", s, e, content(t, j.Path))
		}
	}
}

const byHand = `# What happened.
- timestamp: 2026-01-01T00:00:00Z
  agent: human
  action: goal_created
  task: null
  detail: |
    made
    by hand

- timestamp: 2026-01-02T00:00:00Z
  agent: coder-1
  action: claimed
  task: task-1
`

func TestEntriesOfPeopleAndOfLizaV1AreRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"block style":      byHand + line(2, "two"),
		"CRLF":             strings.ReplaceAll(byHand+line(2, "two"), "\n", "\r\n"),
		"a list of lists":  "[{timestamp: 2026-01-01T00:00:00Z, agent: human, action: goal_created, detail: \"made\\nby hand\\n\"}, {agent: coder-1, action: claimed, task: task-1}, {rev: 2, action: claimed, task: task-3, detail: two, agent: coder-1}]",
		"indented":         "  - {timestamp: 2026-01-01T00:00:00Z, agent: human, action: goal_created, detail: \"made\\nby hand\\n\"}\n  - {agent: coder-1, action: claimed, task: task-1}\n  - {rev: 2, action: claimed, task: task-3, detail: two, agent: coder-1}\n",
		"broken in middle": strings.Replace(byHand, "\n- timestamp: 2026-01-02", "\n- {broken: [\n- timestamp: 2026-01-02", 1) + line(2, "two"),
		"half a line":      byHand + line(2, "two") + "- {timestamp: 2026-01-19T15:00:00Z, rev: 3, ag",
	} {
		entries, err := journal(t, text).Read(Filter{})
		if err != nil || len(entries) != 3 {
			t.Errorf("%s: read %d entries, %v", name, len(entries), err)
			continue
		}
		if entries[0].Detail != "made\nby hand\n" || entries[0].Rev != 0 || entries[1].Task != "task-1" || entries[2].Rev != 2 {
			t.Errorf("%s: read %+v", name, entries)
		}
	}
}

func TestAFilterPicksEntries(t *testing.T) {
	t.Parallel()
	j := journal(t, byHand+line(2, "two")+line(3, "three"))
	for i, c := range []struct {
		f    Filter
		want int
	}{
		{Filter{}, 4}, {Filter{Task: "task-3"}, 2}, {Filter{Task: "task"}, 0}, {Filter{Agent: "coder-1"}, 3}, {Filter{Action: "goal_created"}, 1},
		{Filter{Since: clock.Add(-24 * time.Hour)}, 2}, {Filter{AfterRev: 2}, 1}, {Filter{Last: 1}, 1}, {Filter{Last: 3, Agent: "coder-1"}, 3}, {Filter{Last: 9}, 4},
	} {
		entries, err := j.Read(c.f)
		if err != nil || len(entries) != c.want {
			t.Errorf("%d: %+v gives %d entries, %v, want %d", i, c.f, len(entries), err, c.want)
		}
	}
	if entries, err := (Journal{Path: filepath.Join(t.TempDir(), "none")}).Read(Filter{}); err != nil || len(entries) != 0 {
		t.Errorf("a missing journal gives %v, %v", entries, err)
	}
}

func TestCheckFindsWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	text := line(1, "one") + "- {broken\n" + line(2, "two") + line(3, "three") + line(9, "nine") + "- {timestamp: 2026-01-19T15:00:00Z, rev: 3, ag"
	problems, err := journal(t, text).Check(2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprint(p.Line, " ", p.Fixable, " ", strings.SplitN(p.Message, ":", 2)[0]))
	}
	want := []string{"2 false an entry does not parse", "4 true rev 3 > revision 2", "5 false rev 9 > revision 2", "6 true an entry does not parse"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if problems, err := journal(t, byHand+line(2, "")).Check(2); err != nil || len(problems) != 0 {
		t.Errorf("a good journal has %v, %v", problems, err)
	}
}

// Whatever the form of an entry, it is read as the YAML library reads it.
func TestEntriesAreThoseThatAParserReads(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"- {timestamp: 2026-11-28T11:09:46Z, rev: 3, agent: coder-1, action: claimed, task: a, detail: \"attempt 1, iteration 1\", prev: \"2-aa\"}\n",
		"- {timestamp: 2026-11-28T11:09:46Z, rev: 3, agent: human, action: note, task: null, detail: \"\", prev: \"2-aa\"}\n",
		"- {timestamp: 2026-11-28T11:09:46Z, rev: 3, agent: system, action: integration_failed, task: a, detail: \"conflict: \\u00e9\", files: [\"a\", \"b c\"], n: 3, ok: true, level: \"warning\", prev: \"2-aa\"}\n",
		"- timestamp: 2026-11-28T11:09:46Z\n  rev: 3\n  agent: ada\n  action: note\n  task: ~\n  detail: |\n    two\n    lines\n  mine: {a: [1, {b: c}]}\n",
		"- {rev: 3, rev: 4}\n",
		"- {rev: many, agent: [a]}\n",
		"- {timestamp: yesterday, rev: 3}\n",
		"- &a {rev: 3}\n",
		"- {rev: 3}\n- {rev: 4}\n",
		"- {rev: 3\n",
		"- null\n",
		"-\n",
		"- [1]\n",
	} {
		var list []*blackboard.Entry
		wrong := parse(text, &list)
		got, err := chunk{text: text}.entry()
		if bad := wrong != nil || len(list) != 1 || list[0] == nil; bad {
			if err == nil {
				t.Errorf("%q is read as %+v; the library says %v", text, got, wrong)
			}
			continue
		}
		want := *list[0]
		if delete(want.Extra, "prev"); len(want.Extra) == 0 {
			want.Extra = nil
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\nis read as %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}
