package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// started is the entry that begins a sprint.
func started(rev int) string {
	return fmt.Sprintf("- {timestamp: 2026-01-19T14:00:00Z, rev: %d, agent: human, action: sprint_started, task: null, detail: \"sprint\"}\n", rev)
}

var sprintBegan = []blackboard.Entry{{Action: nextSprint}}

func revs(t *testing.T, j Journal, f Filter) string {
	t.Helper()
	entries, err := j.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Rev))
	}
	return strings.Join(out, " ")
}

func TestWhatIsOlderThanTheSprintLeavesALargeJournalAndIsStillRead(t *testing.T) {
	t.Parallel()
	old := byHand + line(1, "one") + line(2, "it says action: sprint_started") + line(3, "three")
	j := journal(t, old+started(4)+line(5, "it says action: sprint_started"))
	before := revs(t, j, Filter{})
	if err := j.rotate(sprintBegan, 10); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(j.archive(), "log-1-3.yaml")); got != old {
		t.Errorf("the archive holds\n%s\nwant\n%s", got, old)
	}
	if got, want := content(t, j.Path), started(4)+line(5, "it says action: sprint_started"); got != want {
		t.Errorf("the journal is\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		f    Filter
		want string
	}{{Filter{}, before}, {Filter{Last: 1}, "5"}, {Filter{Last: 4}, "2 3 4 5"}, {Filter{AfterRev: 3}, "4 5"}, {Filter{AfterRev: 2}, "3 4 5"}, {Filter{Action: "claimed", Last: 3}, "2 3 5"}} {
		if got := revs(t, j, c.f); got != c.want {
			t.Errorf("%+v: read %s, want %s", c.f, got, c.want)
		}
	}
}

func TestRotatingGoesOnAfterACrashAndFromSprintToSprint(t *testing.T) {
	t.Parallel()
	j := journal(t, line(1, "one")+line(2, "two")+started(3)+line(4, "four"))
	if err := os.MkdirAll(j.archive(), 0o755); err != nil {
		t.Fatal(err)
	}
	// Killed between the archive's file and the journal: the entries are in both.
	if err := os.WriteFile(filepath.Join(j.archive(), "log-1-2.yaml"), []byte(line(1, "one")+line(2, "two")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := revs(t, j, Filter{}); got != "1 2 3 4" {
		t.Errorf("after the crash %s", got)
	}
	if err := j.rotate(sprintBegan, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(5, "", []blackboard.Entry{{Timestamp: "2026-01-19T15:00:00Z", Agent: "human", Action: nextSprint}}); err != nil {
		t.Fatal(err)
	}
	if err := j.rotate(sprintBegan, 10); err != nil {
		t.Fatal(err)
	}
	if got := revs(t, j, Filter{}); got != "1 2 3 4 5" {
		t.Errorf("after the second sprint %s", got)
	}
	if got := content(t, filepath.Join(j.archive(), "log-3-4.yaml")); got != started(3)+line(4, "four") {
		t.Errorf("the second file holds %s", got)
	}
}

func TestAJournalOfOneSprintOrOfLittleSizeStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text     string
		appended []blackboard.Entry
		limit    int64
	}{
		"small":                        {line(1, "one") + started(2), sprintBegan, 1 << 20},
		"of one sprint":                {line(1, "one") + line(2, "action: sprint_started"), sprintBegan, 10},
		"nothing before the sprint":    {started(2) + line(3, "three"), sprintBegan, 10},
		"no multiple of the look past": {strings.Repeat(line(1, "one"), 20) + started(2), []blackboard.Entry{{Action: "claimed"}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := journal(t, c.text)
			if err := j.rotate(c.appended, c.limit); err != nil {
				t.Fatal(err)
			}
			if got := content(t, j.Path); got != c.text {
				t.Errorf("the journal became\n%s", got)
			}
			if _, err := os.Stat(j.archive()); err == nil {
				t.Error("an archive was made")
			}
		})
	}
}
