package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func noted(detail string) []blackboard.Entry {
	return []blackboard.Entry{{Timestamp: "2026-01-19T15:00:00Z", Agent: "coder-1", Action: "note", Detail: detail}}
}

// chained makes a journal of n entries, and the link of the last one.
func chained(t *testing.T, before string, n int) (Journal, Link) {
	t.Helper()
	j := journal(t, before)
	return j, grow(t, j, "", 1, n)
}

// grow appends n entries from revision rev on.
func grow(t *testing.T, j Journal, head Link, rev, n int) Link {
	t.Helper()
	for i := range n {
		var err error
		if head, err = j.Append(rev+i, head, noted(fmt.Sprintf("note %d", rev+i))); err != nil {
			t.Fatal(err)
		}
	}
	return head
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	return slices.Collect(strings.Lines(content(t, path)))
}

func overwrite(t *testing.T, path string, lines []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// told is "file:line message" of the first break, "" when there is none.
func told(t *testing.T, j Journal, head Link, rev int) string {
	t.Helper()
	b, err := j.Broken(head, rev)
	if err != nil {
		t.Fatal(err)
	}
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d %s", b.File, b.Line, b.Message)
}

// rechained are lines whose links somebody without the key computed again.
func rechained(lines []string) []string {
	s, last := &scrubber{mask: func(s string) string { return s }, now: map[Link]Link{}, old: newDigest(), new: newDigest()}, Begins
	var out []string
	for _, l := range lines {
		c := chunk{text: l}
		s.now[c.prev()] = last
		out = append(out, s.entry(c))
		last = chunk{text: out[len(out)-1]}.link()
	}
	return out
}

var forgeries = []struct {
	name  string
	forge func(lines []string) []string
	line  int
	says  string
	later string // what is told after one more write, when that is something else
}{
	{"a byte of an entry", func(l []string) []string { l[3] = strings.Replace(l[3], "note 4", "note 5", 1); return l }, 4, changed, ""},
	{"the first entry", func(l []string) []string { l[0] = strings.Replace(l[0], "coder-1", "coder-2", 1); return l }, 1, changed, ""},
	{"the last entry", func(l []string) []string { l[8] = strings.Replace(l[8], "note 9", "note 8", 1); return l }, 9, changed, ""},
	{"the link of an entry", func(l []string) []string { l[4] = strings.Replace(l[4], `prev: "4-`, `prev: "4-0`, 1); return l }, 5, putIn, ""},
	{"another hash in a link", func(l []string) []string {
		p := string(chunk{text: l[4]}.prev())
		l[4] = strings.Replace(l[4], p, "4-"+strings.Repeat("a", 32), 1)
		return l
	}, 5, changed, ""},
	{"an entry cut", func(l []string) []string { return slices.Delete(l, 4, 5) }, 5, "1 entry is missing before this entry", ""},
	{"three entries cut", func(l []string) []string { return slices.Delete(l, 2, 5) }, 3, "3 entries are missing before this entry", ""},
	{"the first entry cut", func(l []string) []string { return l[1:] }, 1, "what Liza wrote before this entry is missing", ""},
	{"two entries swapped", func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, 3, moved, ""},
	{"an entry moved to the end", func(l []string) []string { return append(slices.Delete(slices.Clone(l), 2, 3), l[2]) }, 3, moved, ""},
	{"a foreign entry at the end", func(l []string) []string { return append(l, line(9, "by hand")) }, 10, putIn, ""},
	{"a foreign entry between", func(l []string) []string { return slices.Insert(l, 5, line(5, "by hand")) }, 6, putIn, ""},
	{"a person's entry of many lines", func(l []string) []string { return append(l, "- timestamp: 2026-01-19T15:00:00Z\n  action: merged\n") }, 10, putIn, ""},
	{"an entry twice", func(l []string) []string { return append(l, l[8]) }, 10, putIn, ""},
	{"a foreign entry that is chained", func(l []string) []string {
		return append(l, strings.Replace(line(9, "by hand"), "}\n", fmt.Sprintf(", prev: %q}\n", chunk{text: l[8]}.link()), 1))
	}, 10, putIn, ""},
	{"the end cut", func(l []string) []string { return l[:7] }, 7, "2 entries are missing after this entry", "8 2 entries are missing before this entry"},
	{"all cut", func([]string) []string { return nil }, 1, "9 entries are missing after this entry", "1 what Liza wrote before this entry is missing"},
	{"rebuilt by somebody without the key", func(l []string) []string {
		l[3] = strings.Replace(l[3], "note 4", "note 5", 1)
		return rechained(l)
	}, 9, changed, ""},
	{"an entry put in and the rest rebuilt", func(l []string) []string {
		return rechained(slices.Insert(l, 3, strings.Replace(l[3], "note 4", "note 99", 1)))
	}, 9, changed, ""},
	{"all links taken away", func(l []string) []string {
		for i, x := range l {
			l[i] = strings.Replace(x, fmt.Sprintf(", prev: %q", chunk{text: x}.prev()), "", 1)
		}
		return l
	}, 9, "9 entries are missing after this entry", "10 9 entries are missing before this entry"},
	{"the first links taken away", func(l []string) []string {
		for i, x := range l[:3] {
			l[i] = strings.Replace(x, fmt.Sprintf(", prev: %q", chunk{text: x}.prev()), "", 1)
		}
		return l
	}, 4, "3 entries are missing before this entry", ""},
	{"a comment instead of an entry", func(l []string) []string { l[4] = "# " + l[4]; return l }, 4, putIn, ""},
}

func TestEachForgeryOfTheJournalIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range forgeries {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, head := chained(t, "", 9)
			if got := told(t, j, head, 9); got != "" {
				t.Fatalf("before: %s", got)
			}
			overwrite(t, j.Path, c.forge(linesOf(t, j.Path)))
			want := fmt.Sprintf("log.yaml:%d %s", c.line, c.says)
			if got := told(t, j, head, 9); got != want {
				t.Errorf("told\n%s\nwant\n%s", got, want)
			}
			head = grow(t, j, head, 10, 2)
			if c.later != "" {
				want = "log.yaml:" + c.later
			}
			if got := told(t, j, head, 11); c.name == "an entry put in and the rest rebuilt" || c.name == "rebuilt by somebody without the key" {
				if got == "" {
					t.Error("two writes later nothing is told")
				}
			} else if got != want {
				t.Errorf("two writes later it tells\n%s\nwant\n%s", got, want)
			}
			acceptAndGoOn(t, j)
		})
	}
}

// acceptAndGoOn accepts a journal as it stands, and sees that later edits are told again.
func acceptAndGoOn(t *testing.T, j Journal) {
	t.Helper()
	accepts, after, err := j.Accept()
	if err != nil {
		t.Fatal(err)
	}
	entry := noted("it was me")
	entry[0].Extra = map[string]any{"accepts": accepts}
	head, err := j.Append(12, after, entry)
	if err != nil {
		t.Fatal(err)
	}
	if head = grow(t, j, head, 13, 2); told(t, j, head, 14) != "" {
		t.Errorf("after it was accepted: %s", told(t, j, head, 14))
	}
	before := linesOf(t, j.Path)
	lines := slices.Clone(before)
	lines[0] = strings.Replace(lines[0], "note", "Note", 1)
	overwrite(t, j.Path, lines)
	if told(t, j, head, 14) == "" {
		t.Error("an edit of what was accepted is not told")
	}
	overwrite(t, j.Path, slices.Delete(before, len(before)-1, len(before)))
	if told(t, j, head, 14) == "" {
		t.Error("a cut after it was accepted is not told")
	}
}

func TestWhatStandsBeforeTheChainIsHistory(t *testing.T) {
	t.Parallel()
	old := "# log\n- timestamp: 2025-01-19T15:00:00Z\n  action: note\n  detail: by Liza v1\n" + line(1, "before")
	j, head := chained(t, old, 3)
	if got := told(t, j, head, 3); got != "" {
		t.Error(got)
	}
	text := content(t, j.Path)
	overwrite(t, j.Path, []string{strings.Replace(text, "before", "Before", 1)})
	if got, want := told(t, j, head, 3), "log.yaml:5 "+changed; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	overwrite(t, j.Path, []string{strings.TrimPrefix(text, old)})
	if got := told(t, j, head, 3); !strings.HasPrefix(got, "log.yaml:1 what Liza wrote before") {
		t.Errorf("told %q", got)
	}
}

func TestTheChainGoesOnInWhatWasRotatedAway(t *testing.T) {
	t.Parallel()
	make := func(t *testing.T) (Journal, Link) {
		j, head := chained(t, "", 4)
		head, err := j.Append(5, head, []blackboard.Entry{{Timestamp: "2026-01-19T15:00:00Z", Agent: "human", Action: nextSprint}})
		if err != nil {
			t.Fatal(err)
		}
		head = grow(t, j, head, 6, 2)
		if err := j.rotate(sprintBegan, 10); err != nil {
			t.Fatal(err)
		}
		if n := len(linesOf(t, j.Path)); n != 3 {
			t.Fatalf("%d lines stayed", n)
		}
		return j, head
	}
	for name, c := range map[string]struct {
		forge func(t *testing.T, j Journal, old string)
		want  string
	}{
		"nothing": {func(*testing.T, Journal, string) {}, ""},
		"an edit": {func(t *testing.T, _ Journal, old string) {
			overwrite(t, old, []string{strings.Replace(content(t, old), "note 2", "note 3", 1)})
		}, "archive/log-1-4.yaml:2 " + changed},
		"its last entry": {func(t *testing.T, _ Journal, old string) {
			overwrite(t, old, []string{strings.Replace(content(t, old), "note 4", "note 3", 1)})
		}, "archive/log-1-4.yaml:4 " + changed},
		"its end cut": {func(t *testing.T, _ Journal, old string) { overwrite(t, old, linesOf(t, old)[:3]) }, "log.yaml:1 1 entry is missing before this entry"},
		"removed":     {func(t *testing.T, _ Journal, old string) { _ = os.Remove(old) }, "log.yaml:1 what Liza wrote before this entry is missing"},
		"in both": {func(t *testing.T, j Journal, old string) { // Rotate was killed
			overwrite(t, j.Path, append(linesOf(t, old), linesOf(t, j.Path)...))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, head := make(t)
			c.forge(t, j, filepath.Join(j.archive(), "log-1-4.yaml"))
			if got := told(t, j, head, 7); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// Random appends, rotations, scrubs that may be killed between two files, and breaks that are
// accepted: what Liza does by itself always leaves a chain that holds.
func TestTheChainHoldsWhateverLizaDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		j := journal(t, []string{"", line(0, "before"), "- action: note\n  detail: v1\n"}[rng.IntN(3)])
		head, rev := Link(""), 0
		secrets := 0
		j.Mask = func(s string) string {
			for i := range secrets {
				s = strings.ReplaceAll(s, fmt.Sprintf("secret%d.", i), "*.")
			}
			return s
		}
		for step := range 60 {
			rev++
			var err error
			switch rng.IntN(8) {
			case 0:
				head, err = j.Append(rev, head, []blackboard.Entry{{Timestamp: "2026-01-19T15:00:00Z", Agent: "human", Action: nextSprint}})
				if err == nil {
					err = j.rotate(sprintBegan, 10)
				}
			case 1:
				secrets++
				var done *Scrubbed
				if done, err = j.Scrub(rev, head, noted("scrubbed")[0]); done != nil {
					head = done.End
					if rng.IntN(3) == 0 { // killed after the first file
						f := done.files[len(done.files)-1]
						overwrite(t, f.path, []string{f.text})
						if done, err = j.Scrub(rev, head, noted("scrubbed")[0]); done != nil {
							head = done.End
						}
					}
					if done != nil {
						err = done.Write()
					}
				}
			case 2: // killed before the state was in place
				if _, err = j.Append(rev+1, head, noted("never")); err == nil {
					_, err = j.Repair(rev, clock)
				}
			case 3:
				var accepts string
				if accepts, head, err = j.Accept(); err == nil {
					e := noted("sealed")
					e[0].Extra = map[string]any{"accepts": accepts}
					head, err = j.Append(rev, head, e)
				}
			default:
				head, err = j.Append(rev, head, append(noted(fmt.Sprintf("a secret%d. b", rng.IntN(9))), noted("x")...))
			}
			if err != nil {
				t.Fatal(err)
			}
			if end, err := j.End(); err != nil || end != head && head != "" {
				t.Fatalf("seed %d, step %d: the end is %s, want %s, %v", seed, step, end, head, err)
			}
			if b := told(t, j, head, rev); b != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, b)
			}
		}
	}
}

func TestScrubbingHealsNoBreak(t *testing.T) {
	t.Parallel()
	for _, c := range forgeries {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, head := chained(t, "", 9)
			overwrite(t, j.Path, c.forge(linesOf(t, j.Path)))
			j.Mask = func(s string) string { return strings.ReplaceAll(s, "note", "***") }
			done, err := j.Scrub(9, head, noted("masked")[0])
			if err != nil {
				t.Fatal(err)
			}
			if done == nil { // nothing is left to mask
				return
			}
			if err := done.Write(); err != nil {
				t.Fatal(err)
			}
			if told(t, j, done.End, 9) == "" {
				t.Errorf("nothing is told:\n%s", content(t, j.Path))
			}
		})
	}
}

func TestEntriesWhoseWriterDidNotComeToSaySoAreFollowed(t *testing.T) {
	t.Parallel()
	j, head := chained(t, "", 3)
	end := grow(t, j, head, 4, 2)
	if got, err := j.Follow(head, 3); err != nil || got != end {
		t.Errorf("followed to %s, %v, want %s", got, err, end)
	}
	if got := told(t, j, head, 3); got != "" {
		t.Errorf("told %s", got)
	}
	if got, err := j.Follow(head, 4); err != nil || got != head {
		t.Errorf("followed entries of old revisions to %s, %v, want %s", got, err, head)
	}
}

func TestOneWordAmongAHundredThousandEntriesIsFound(t *testing.T) {
	t.Parallel()
	const n = 100_000
	j := journal(t, "")
	all := make([]blackboard.Entry, n)
	for i := range all {
		all[i] = noted("as long as they usually are, with a commit 6f0c0a5b7 and some words")[0]
	}
	head, err := j.Append(1, "", all)
	if err != nil {
		t.Fatal(err)
	}
	lines := linesOf(t, j.Path)
	lines[n/2] = strings.Replace(lines[n/2], "coder-1", "coder-2", 1)
	overwrite(t, j.Path, lines)
	began := time.Now()
	if got, want := told(t, j, head, 1), fmt.Sprintf("log.yaml:%d %s", n/2+1, changed); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	t.Logf("%d entries in %v", n, time.Since(began))
}
