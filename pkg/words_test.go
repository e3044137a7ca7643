package pkg_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notYetPlain are the packages whose comments and texts are still to be gone through.
var notYetPlain []string

// A word is one line of testdata/words.txt.
type word struct {
	pattern, unless *regexp.Regexp
	instead         string
}

// around is how much of the text before and behind a word is looked at for what excuses it.
const around = 24

func readWords(text string) (list []word, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, rest, found := strings.Cut(line, " => ")
		instead, unless, excused := strings.Cut(rest, ", unless ")
		if !found || instead == "" {
			return nil, fmt.Errorf("line %d says not what to say instead", i+1)
		}
		w := word{instead: instead}
		if w.pattern, err = regexp.Compile(pattern); err == nil && excused {
			w.unless, err = regexp.Compile(unless)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		list = append(list, w)
	}
	return list, nil
}

// said lists what a text should say in other words, with the number of the line.
func said(list []word, text string, from int) (wrong []string) {
	for _, w := range list {
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			if w.unless != nil && w.excused(text, at) {
				continue
			}
			line := from + strings.Count(text[:at[0]], "\n")
			wrong = append(wrong, fmt.Sprintf("%d: say %s instead of %q", line, w.instead, text[at[0]:at[1]]))
		}
	}
	return wrong
}

func (w word) excused(text string, at []int) bool {
	begin, end := max(0, at[0]-around), min(len(text), at[1]+around)
	for _, e := range w.unless.FindAllStringIndex(text[begin:end], -1) {
		if begin+e[0] <= at[0] && at[0] < begin+e[1] {
			return true
		}
	}
	return false
}

// saidInGo looks at comments and, outside of tests, at the texts of a Go file.
func saidInGo(list []word, name, source string) (wrong []string) {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return wrong
		case tok == token.COMMENT, tok == token.STRING && !strings.HasSuffix(name, "_test.go"):
			wrong = append(wrong, said(list, lit, file.Line(pos))...)
		}
	}
}

// madeFiles are written by `make generate` or by go; nobody reads them line by line.
var madeFiles = []string{"specs/commands.md", "specs/exit-codes.md", "specs/state-machines.md", "specs/config.schema.json",
	"specs/schemas/*", "man/*", "go.sum"}

// madeParts are generated: their sources are looked at.
var madeParts = regexp.MustCompile(`(?s)<!-- Generated from .*?do not edit from here.*?-->.*?<!-- … to here\. -->`)

// Texts are plain English: what testdata/words.txt lists is in none of them. A rule of style stops no work, so only `make words` asks.
func TestTextsUsePlainWords(t *testing.T) {
	t.Parallel()
	if os.Getenv("WORDS") == "" {
		t.Skip("make words runs it")
	}
	text, err := os.ReadFile("../testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readWords(string(text))
	if err != nil || len(list) < 5 {
		t.Fatalf("the list of words has %d lines: %v", len(list), err)
	}
	looked := 0
	err = filepath.WalkDir("..", func(file string, e fs.DirEntry, err error) error {
		page := strings.TrimPrefix(filepath.ToSlash(file), "../")
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != ".." && (strings.HasPrefix(e.Name(), ".") || page == "bin" || page == "dist" || page == "man" || strings.HasSuffix(page, "/testdata") && page != "testdata"):
			return fs.SkipDir // fixtures speak as other programs do
		case e.IsDir(), page == "testdata/words.txt", slices.Contains(madeFiles, page), slices.ContainsFunc(notYetPlain, func(p string) bool { return path.Dir(page) == p }):
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var wrong []string
		switch path.Ext(page) {
		case ".go":
			wrong = saidInGo(list, page, string(source))
		case ".md", ".txt", ".txtar", ".yaml", ".tmpl", "":
			wrong = said(list, madeParts.ReplaceAllStringFunc(string(source), func(part string) string { return strings.Repeat("\n", strings.Count(part, "\n")) }), 1)
		default:
			return nil
		}
		looked++
		for _, w := range wrong {
			t.Errorf("%s:%s", page, w)
		}
		return nil
	})
	if err != nil || looked < 100 {
		t.Errorf("looked at %d files: %v", looked, err)
	}
}

func TestWordsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	list, err := readWords("# a comment\n\\bstands\\b => is, unless \\bstands for\\b\n\\bis no [a-z] => is not a, unless \\b[Tt]here is no\\b\n")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"what stands here":             `1: say is instead of "stands"`,
		"what stands for it":           "",
		"there is no way":              "",
		"one\nit is no way":            `2: say is not a instead of "is no w"`,
		"there is no way, it is no go": `1: say is not a instead of "is no g"`,
	} {
		if got := strings.Join(said(list, text, 1), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	source := "package p\n\n// It stands here.\nvar stands = \"it stands\"\n"
	if got, want := strings.Join(saidInGo(list, "p.go", source), "; "), `3: say is instead of "stands"; 4: say is instead of "stands"`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := saidInGo(list, "p_test.go", source); len(got) != 1 {
		t.Errorf("in a test: %q", got)
	}
	if _, err := readWords("pattern without advice\n"); err == nil {
		t.Error("a line without advice was taken")
	}
}
