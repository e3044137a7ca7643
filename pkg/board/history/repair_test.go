package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// P-014, P-015.
func TestRepairCutsWhatNeverBecameTheStates(t *testing.T) {
	t.Parallel()
	half := "- {timestamp: 2026-01-19T15:00:00Z, rev: 3, agent: co"
	manual := "- timestamp: 2026-01-19T15:00:00Z\n  agent: human\n  action: note\n"
	good := byHand + line(1, "one") + line(2, "two")
	for name, c := range map[string]struct {
		text, want string
		cut, ahead int
		aside      string // what was moved to the file of its own
	}{
		"nothing":                              {good, good, 0, 0, ""},
		"empty":                                {"", "", 0, 0, ""},
		"comments only":                        {"# log\n", "# log\n", 0, 0, ""},
		"an empty list":                        {"# log\n[]\n", "# log\n", 0, 0, ""},
		"half an entry":                        {good + half, good, 1, 0, ""},
		"a few letters":                        {good + "- {t", good, 1, 0, ""},
		"a dash":                               {good + "-", good, 1, 0, ""},
		"half an entry with a line end":        {good + half + "\n", good, 1, 0, ""},
		"zeros of a power loss":                {good + line(3, "x") + "- {timesta\x00\x00\x00\x00", good, 2, 0, ""},
		"zeros alone":                          {good + strings.Repeat("\x00", 200), good, 1, 0, ""},
		"zeros behind the next revision":       {good + line(3, "x") + "\x00\x00", good, 2, 0, ""},
		"nothing but zeros":                    {"\x00\x00", "", 1, 0, ""},
		"entries of the next revision":         {good + line(3, "x") + line(3, "y"), good, 2, 0, ""},
		"and half of one":                      {good + line(3, "x") + half, good, 2, 0, ""},
		"no line end":                          {strings.TrimSuffix(good, "\n"), good, 0, 0, ""},
		"next revision without a line end":     {good + strings.TrimSuffix(line(3, "x"), "\n"), good, 1, 0, ""},
		"entries two ahead":                    {good + line(3, "x") + line(4, "y") + line(5, "z"), good, 1, 2, line(4, "y") + line(5, "z")},
		"a person's entry at the end":          {good + manual, good + manual, 0, 0, ""},
		"a person's entry behind a cut one":    {good + line(3, "x") + manual, good + manual, 1, 0, ""},
		"a person's entry between":             {good + line(3, "x") + manual + line(4, "y"), good + manual, 1, 1, line(4, "y")},
		"half of a person's entry":             {good + "- timestamp: 2026-01-19\n  agent: [hum", good, 0, 1, "- timestamp: 2026-01-19\n  agent: [hum\n"},
		"only entries of the next revision":    {line(3, "x"), "", 1, 0, ""},
		"only entries ahead":                   {"# log\n" + line(9, "x"), "# log\n", 0, 1, line(9, "x")},
		"a broken entry further up":            {line(1, "one") + "- {broken\n" + line(2, "two"), line(1, "one") + "- {broken\n" + line(2, "two"), 0, 0, ""},
		"lines with dashes in a block text":    {"- action: note\n  detail: |\n    - a\n    - b\n" + line(3, "x"), "- action: note\n  detail: |\n    - a\n    - b\n", 1, 0, ""},
		"an entry longer than the first look":  {good + "- {timestamp: 2026-01-19T15:00:00Z, rev: 2, agent: a, action: b, task: null, detail: \"- " + strings.Repeat("long - ", 30<<10) + "\"}\n" + line(3, "x"), good + "- {timestamp: 2026-01-19T15:00:00Z, rev: 2, agent: a, action: b, task: null, detail: \"- " + strings.Repeat("long - ", 30<<10) + "\"}\n", 1, 0, ""},
		"far more entries than the first look": {strings.Repeat(line(2, "two"), 5000) + strings.Repeat(line(3, "x"), 3000), strings.Repeat(line(2, "two"), 5000), 3000, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := journal(t, c.text)
			done, err := j.Repair(2, clock)
			if err != nil {
				t.Fatal(err)
			}
			if got := content(t, j.Path); got != c.want {
				t.Errorf("left\n%.2000s\nwant\n%.2000s", got, c.want)
			}
			if done.Cut != c.cut || done.Ahead != c.ahead || done.Any() != (c.cut+c.ahead > 0) {
				t.Errorf("got %+v, want %d cut, %d ahead", done, c.cut, c.ahead)
			}
			if c.aside != "" {
				if want := filepath.Join(filepath.Dir(j.Path), "log.ahead-20260119T150000Z.yaml"); done.AheadFile != want || content(t, want) != c.aside {
					t.Errorf("put aside %q, want %q", content(t, done.AheadFile), c.aside)
				}
				if !strings.Contains(done.String(), "log.ahead-20260119T150000Z.yaml") {
					t.Errorf("the report is %q", done)
				}
			}
			again, err := j.Repair(2, clock)
			if err != nil || again.Any() || content(t, j.Path) != c.want {
				t.Errorf("a second repair does %+v, %v", again, err)
			}
			if _, err := j.Append(3, "", []blackboard.Entry{{Action: "note"}}); err != nil {
				t.Fatal(err)
			}
			if entries, err := j.Read(Filter{AfterRev: 2}); err != nil || len(entries) != 1 {
				t.Errorf("after appending %d entries are new, %v", len(entries), err)
			}
		})
	}
}

func TestWhatIsPutAsideNeverReplacesAnything(t *testing.T) {
	t.Parallel()
	j := journal(t, line(9, "first"))
	for _, want := range []string{"log.ahead-20260119T150000Z.yaml", "log.ahead-20260119T150000Z-2.yaml"} {
		done, err := j.Repair(2, clock)
		if err != nil || filepath.Base(done.AheadFile) != want {
			t.Fatalf("put aside in %s, %v, want %s", done.AheadFile, err, want)
		}
		if err := os.WriteFile(j.Path, []byte(line(9, "second")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJournalOfAnotherShapeIsNotAppendedTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[{action: note}]\n", "  - action: note\n", "hello\n"} {
		j := journal(t, text)
		if _, err := j.Repair(1, clock); err == nil || !strings.Contains(err.Error(), "cannot repair the journal") {
			t.Errorf("%q: got %v", text, err)
		}
		if got := content(t, j.Path); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if done, err := (Journal{Path: filepath.Join(t.TempDir(), "none")}).Repair(1, clock); err != nil || done.Any() {
		t.Errorf("a missing journal: %+v, %v", done, err)
	}
}
