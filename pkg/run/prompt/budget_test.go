package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"liza/pkg/board/blackboard"
)

// flood makes everything that may be cut large.
func flood(in Input) Input {
	big := func(word string, n int) string { return strings.Repeat(word+" ", n/(len(word)+1)) }
	in.SpecText, in.RepoTree, in.Instructions = big("spec", 50000), big("tree", 50000), big("instruction", 50000)
	in.DiffStat, in.Skills, in.State.Goal.Summary = big("stat", 20000), big("skill", 9000), big("summary", 9000)
	for i := range 90 {
		in.Relevant = append(in.Relevant, File{fmt.Sprintf("file-%d.go", i), "has words"})
		in.State.Facts = append(in.State.Facts, &blackboard.Fact{ID: fmt.Sprintf("fact-%d", i+10), Content: big("fact", 300), Status: "active"})
	}
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "diff --git a/f%d.go b/f%d.go\n%s\n", i, i, strings.Repeat("+line of the diff\n", 20*(i+1)))
	}
	in.Diff = b.String()
	for i := range 40 {
		in.State.AddTasks(&blackboard.Task{ID: fmt.Sprintf("more-%d", i), Status: blackboard.Claimed, Title: big("other", 60), AssignedTo: "coder-9", DependsOn: blackboard.List{"task-3"}})
		in.State.HumanNotes = append(in.State.HumanNotes, &blackboard.Note{ID: fmt.Sprintf("n-%d", i), Message: big("note", 500), SeenBy: blackboard.List{"planner-1"}})
	}
	if t := in.Task; t != nil {
		t.Review = &blackboard.Review{}
		for i := range 30 {
			t.Attempts = append(t.Attempts, &blackboard.Attempt{Seq: i + 2, Agent: "coder-1", Outcome: "retry", Summary: big("attempt", 900)})
			t.Review.Checks = append(t.Review.Checks, &blackboard.Check{Name: fmt.Sprintf("check-%d", i), Status: "failed", Message: big("message", 400)})
		}
		t.History = append(t.History, &blackboard.HistoryEntry{Time: at(40), Event: "checkpoint", Agent: t.AssignedTo, Checkpoint: &blackboard.Intent{Intent: big("intent", 4000)}})
	}
	return in
}

func TestUnderPressureOnlyTheRestGivesWay(t *testing.T) {
	t.Parallel()
	kept := map[string][]string{
		"coder-rejected": {"With --name X the CLI prints", "hello --name Bob prints 'Hello, Bob!' and exits 0", "hello --name '' exits 2", "Scope: IN: flag parsing", "str | None needs Python 3.10", "Bob prefers short",
			"## Rules", "## Commands", "## How to finish", "You are coder-1.", `"job_id":"task-3"`, "May names hold blanks?", closing},
		"reviewer-second": {"With --name X the CLI prints", "hello --name Bob prints", "Scope: IN: flag parsing", "str | None needs Python 3.10", "You are code-reviewer-1.", work, "## How to finish", "- [ ] Security", closing},
		"planner-woken":   {"We also need --version.", "the spec does not say how names are separated", "Yes, and skip empty lines.", "## Rules", "## Commands", "## How to finish", closing},
		"planner-replan":  {"argparse cannot do what", "a shell script cannot be tested", "The CLI greets the world.", closing},
		"coder-reask":     {"With --name X the CLI prints", "hello --name Bob prints", `{"action": "DONE"}`, closing},
	}
	for _, c := range cases {
		if kept[c.name] == nil {
			continue
		}
		for _, limit := range []int{0, 20000, 17000, 12000, 8000, 100} {
			in := flood(c.in())
			in.MaxChars = limit
			p := build(t, in)
			if limit == 0 {
				limit = MaxChars
			}
			if len(p.Text) > limit != p.Over {
				t.Errorf("%s, limit %d: %d bytes, over %t", c.name, limit, len(p.Text), p.Over)
			}
			if limit >= 17000 && p.Over {
				t.Errorf("%s, limit %d: %d bytes", c.name, limit, len(p.Text))
			}
			if len(p.Cuts) == 0 {
				t.Errorf("%s, limit %d: nothing is said about what was cut", c.name, limit)
			}
			if !utf8.ValidString(p.Text) || strings.Contains(p.Text, "\n\n\n") {
				t.Errorf("%s, limit %d: not a proper text", c.name, limit)
			}
			for _, part := range kept[c.name] {
				if !strings.Contains(p.Text, part) {
					t.Errorf("%s, limit %d: %q was dropped", c.name, limit, part)
				}
			}
		}
	}
}

func drafted(t *testing.T, in Input) draft {
	t.Helper()
	in = withRole(in)
	d, err := newDraft(&in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEachSectionKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		in := flood(c.in())
		in.MaxChars = 1 << 20
		d := drafted(t, in)
		for _, p := range d.parts {
			if p.limit > 0 && len(p.now) > p.limit {
				t.Errorf("%s: the section %s has %d bytes; %d are allowed", c.name, p.name, len(p.now), p.limit)
			}
			if p.now != p.whole && !strings.Contains(p.now, "bytes left out: ") {
				t.Errorf("%s: the section %s was cut without a word about where the rest is", c.name, p.name)
			}
		}
	}
}

func TestSectionsGiveWayInTheirOrder(t *testing.T) {
	t.Parallel()
	whole := len(build(t, flood(rejectedCoder())).Text)
	in := flood(rejectedCoder())
	in.MaxChars = whole - 300
	d := drafted(t, in)
	before := map[string]string{}
	for _, p := range d.parts {
		before[p.name] = p.now
	}
	d.shrink(in.MaxChars)
	for _, p := range d.parts {
		changed := p.now != before[p.name]
		if changed != (p.name == "session_context") {
			t.Errorf("300 bytes too many: the section %s changed: %t", p.name, changed)
		}
		if p.name == "session_context" && len(p.now) < 500 {
			t.Errorf("session_context was cut to %d bytes although 300 bytes were enough", len(p.now))
		}
	}
}

func TestWhatMayNotBeDroppedKeepsItsFloor(t *testing.T) {
	t.Parallel()
	in := flood(secondReview())
	in.MaxChars = 100
	d := drafted(t, in)
	d.shrink(in.MaxChars)
	for _, p := range d.parts {
		i := slices.IndexFunc(squeeze, func(q struct {
			section string
			floor   int
			drop    bool
		}) bool {
			return q.section == p.name
		})
		switch {
		case i < 0:
			if p.now != p.whole && len(p.whole) <= p.limit {
				t.Errorf("%s was cut", p.name)
			}
		case !squeeze[i].drop && len(p.now) < squeeze[i].floor-100:
			t.Errorf("%s has %d bytes; its floor is %d", p.name, len(p.now), squeeze[i].floor)
		case squeeze[i].drop && len(p.now) > 150:
			t.Errorf("%s was not dropped: %d bytes", p.name, len(p.now))
		}
	}
}

func TestACutNeverSplitsARune(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("äöü€😀", 50)
	for n := range 200 {
		got := cutText(text, n+60, "a/file")
		if !utf8.ValidString(got) || len(got) > n+60 || !strings.HasSuffix(got, ": a/file]") {
			t.Fatalf("cut to %d: %d bytes %q", n+60, len(got), got)
		}
		if end := lastBytes(text, n); !utf8.ValidString(end) {
			t.Fatalf("last %d: %q", n, end)
		}
	}
	if got := cutText("short", 5, "x"); got != "short" {
		t.Errorf("a text that fits was cut: %q", got)
	}
}

func TestADiffKeepsWholeFilesTheSmallestFirst(t *testing.T) {
	t.Parallel()
	file := func(name string, lines int) string {
		return fmt.Sprintf("diff --git a/%s b/%s\n%s", name, name, strings.Repeat("+x\n", lines))
	}
	diff := file("large.go", 500) + file("small.go", 3) + file("medium.go", 50)
	got := fitDiff(nil, diff, 600, "git diff a..b")
	wants(t, got, "b/small.go\n+x\n+x\n+x\n", "b/medium.go\n", "Not shown: large.go", "bytes left out: git diff a..b]")
	refuses(t, got, "a/large.go")
	if strings.Index(got, "small.go") > strings.Index(got, "medium.go") || len(got) > 600 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := fitDiff(nil, diff, 10000, ""); got != diff {
		t.Error("a diff that fits was changed")
	}
	giant := fitDiff(nil, file("only.go", 5000), 600, "git diff")
	if len(giant) > 600 || !strings.HasPrefix(giant, "diff --git a/only.go") || !strings.Contains(giant, "left out: git diff]") {
		t.Errorf("%d bytes: %s", len(giant), giant)
	}
	for _, odd := range []string{"", "no diff at all", strings.Repeat("y", 2000)} {
		if got := fitDiff(nil, odd, 100, ""); len(got) > 100 {
			t.Errorf("fitDiff of %.20q has %d bytes", odd, len(got))
		}
	}
}
