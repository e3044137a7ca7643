package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestLinesOfAPatchHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	patch := "@@ -1,4 +1,4 @@ func main() {\n-1\n+one\n 2\n\n--- gone\n+++ come\n@@ -20 +20,2 @@\n+@@ -1 +1 @@\n x\r\n\\ No newline at end of file\n"
	want := []DiffLine{{'@', 0, 0, "@@ -1,4 +1,4 @@ func main() {"}, {'-', 1, 0, "1"}, {'+', 0, 1, "one"}, {' ', 2, 2, "2"}, {' ', 3, 3, ""}, {'-', 4, 0, "-- gone"}, {'+', 0, 4, "++ come"},
		{'@', 0, 0, "@@ -20 +20,2 @@"}, {'+', 0, 20, "@@ -1 +1 @@"}, {' ', 20, 21, "x\r"}, {'\\', 0, 0, " No newline at end of file"}}
	if got := Lines(patch); !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for _, odd := range []string{"", "@@ @@", "text", "@@ -9999999999999999999999 +1 @@\n+x", "\x00\n\xff"} {
		Lines(odd)
	}
	if got := Lines(""); len(got) != 0 {
		t.Errorf("no patch has lines: %v", got)
	}
}

func TestADiffIsShownAsGitDoesWithFindingsBelowTheirLines(t *testing.T) {
	t.Parallel()
	d := &Diff{Base: "aaa", Commit: "bbb", Added: 3, Removed: 2, Cut: true, Files: []DiffFile{
		{Path: "hello.go", Status: "modified", Mode: "100644", Added: 1, Removed: 1, Patch: "@@ -1,2 +1,2 @@ package main\n-old\n+new\x1b[31m\u202e\n same\n"},
		{Path: "new\nname", From: "old \"name\"", Status: "renamed", Mode: "100755", OldMode: "100644"},
		{Path: "gone", Status: "deleted", Mode: "100644", Removed: 1, Patch: "@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"},
		{Path: "picture", Status: "modified", Mode: "100644", Binary: true},
		{Path: "long", Status: "added", Mode: "100644", Added: 2000, Cut: true},
	}}
	d.Place([]Remark{{Severity: "error", By: "lint", Path: "./hello.go", Line: 1, Text: "no\n\x1b[2Jtab", Fix: "add\none"}, {Severity: "warning", By: "code-reviewer-1", Path: "hello.go", Line: 70, Text: "far"},
		{Severity: "error", By: "ada", Person: true, Path: "hello.go", Text: "why?"}, {Severity: "info", By: "scope", Path: "elsewhere.go", Line: 3, Text: "not touched"}, {Severity: "odd", By: "x", Text: "all of it"}})
	golden(t, "diff.txt", DiffText(d, false, true))
	golden(t, "diff_colour.txt", DiffText(d, true, true))
	golden(t, "diff_stat.txt", DiffStat(d, 40, false))
	if raw := DiffText(d, false, false); !strings.Contains(raw, "+new\x1b[31m\u202e\n") {
		t.Error("a pipe does not get the bytes of the file")
	}
}

func TestNothingThatATerminalActsOnGetsThroughADiff(t *testing.T) {
	t.Parallel()
	odd := "\x1b]0;title\a\x07\b\u202eabc\u200b\u2066\u2028\x9b31m\xff\tb"
	d := &Diff{Files: []DiffFile{{Path: "a" + odd, From: odd, Status: "renamed", Patch: "@@ -1 +1 @@ " + odd + "\n+" + odd + "\n", Findings: []Remark{{Severity: odd, By: odd, Path: odd, Line: 1, Text: odd, Fix: odd}}}}}
	for name, text := range map[string]string{"the text": DiffText(d, false, true), "the numbers": DiffStat(d, 80, false)} {
		for _, r := range text {
			if r != '\n' && r != '\t' && (r < 0x20 || r == 0x7f || r == 0x9b || r == 0x202e || r == 0x200b || r == 0x2066 || r == 0x2028 || r == 0x07) {
				t.Errorf("%s has %U: %q", name, r, text)
			}
		}
	}
}

func TestPathsSelectFilesOfADiff(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{"src": "src/a.go src/b/c.go", "./src/": "src/a.go src/b/c.go", "src/a.go": "src/a.go", "*.go": "src/a.go src/b/c.go", "src/*.go": "src/a.go",
		"was.txt": "is.txt", ".": "src/a.go src/b/c.go is.txt", "sr": "", "a.go": "", "[": ""} {
		d := &Diff{Files: []DiffFile{{Path: "src/a.go", Added: 1}, {Path: "src/b/c.go", Added: 2}, {Path: "is.txt", From: "was.txt", Removed: 4}}}
		var got []string
		if d.Only([]string{pattern}) != (want != "") {
			t.Errorf("%s: it says the opposite of %q", pattern, want)
		}
		sum := 0
		for _, f := range d.Files {
			got, sum = append(got, f.Path), sum+f.Added+f.Removed
		}
		if strings.Join(got, " ") != want || sum != d.Added+d.Removed {
			t.Errorf("%s: %v, %d lines of %d", pattern, got, d.Added+d.Removed, sum)
		}
	}
}

// Comments that a rejection tells are not shown a second time.
func TestFindingsAndCommentsOfATask(t *testing.T) {
	t.Parallel()
	s := busy()
	task := s.Task("task-3")
	task.ReviewCommit = "c1"
	note := func(commit, text string, minutes int) *blackboard.Note {
		return &blackboard.Note{For: "task-3", By: "ada", Commit: commit, File: "a.go", Line: 2, Message: text, Timestamp: ago(minutes)}
	}
	s.HumanNotes = []*blackboard.Note{note("c1", "now", 1), note("c0", "of an earlier commit", 50), {For: "task-3", Message: "a note"}, note("c1", "told", 1)}
	told := s.HumanNotes[3].Finding()
	task.Review = &blackboard.Review{By: "code-reviewer-1", Findings: []*blackboard.Finding{{Message: "m", File: "b.go", Line: 1}, nil, told}}
	want := []Remark{{Severity: "warning", By: "code-reviewer-1", Path: "b.go", Line: 1, Text: "m"}, {Severity: "error", By: "ada", Path: "a.go", Line: 2, Text: "told", Person: true},
		{Severity: "error", By: "ada", Path: "a.go", Line: 2, Text: "now", Person: true}}
	if got := FindingsOf(s, task); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
