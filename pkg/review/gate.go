package review

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// File is one changed file of a submission.
type File struct {
	Path       string
	Status     string // A added, M modified, D deleted, R renamed
	AddedLines bool
	Head       []byte // its text, or the beginning of it
	Added      []byte // the text of its added lines; nil: not known, and Head stands in for it
	Tested     bool   // of Go's testdata: the package has a *_test.go, changed or not
}

// Gate is what the test gate sees of a submission (specs/protocol.md#4.7).
type Gate struct {
	Sources []string // changed sources
	Tests   []string // added or modified tests
	Exempt  bool
}

// Passes reports whether changed sources come with changed tests.
func (g Gate) Passes() bool { return g.Exempt || len(g.Sources) == 0 || len(g.Tests) > 0 }

// CountGate sorts the changed files. Generated and vendored files, pure deletions and
// renames are not sources. Go's testdata counts only beside a test of its package.
func CountGate(files []File, taskType string, extraTests []string) Gate {
	var g Gate
	for _, f := range files {
		if f.gone() {
			continue
		}
		switch Classify(f.Path, extraTests) {
		case Test:
			if f.countsAsTest(files, extraTests) {
				g.Tests = append(g.Tests, f.Path)
			}
		case Source:
			if !f.isSource() {
				continue
			}
			g.Sources = append(g.Sources, f.Path)
			if f.hasInlineTest() {
				g.Tests = append(g.Tests, f.Path)
			}
		}
	}
	g.Exempt = exempt(files, taskType, len(g.Sources))
	return g
}

// documents are what a change may consist of without any test.
var documents = []string{"*.md", "*.rst", "*.adoc", "*.txt", "LICENSE*", "*.yaml", "*.yml", "*.toml", "*.ini", "*.json", "*.editorconfig", ".gitignore"}

// codeless are the types of task that change no code.
var codeless = []string{"docs", "config", "spec"}

func exempt(files []File, taskType string, sources int) bool {
	if slices.Contains(codeless, taskType) {
		return sources == 0
	}
	for _, f := range files {
		if !isDocument(f.Path) {
			return false
		}
	}
	return true
}

func isDocument(file string) bool {
	if strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "specs/") {
		return true
	}
	return slices.ContainsFunc(documents, func(glob string) bool {
		ok, _ := path.Match(glob, path.Base(file))
		return ok
	})
}

// gone: a deletion or a rename without a change adds nothing that could be tested.
func (f File) gone() bool { return f.Status == "D" || f.Status == "R" && !f.AddedLines }

func (f File) isSource() bool { return f.AddedLines && !generated(f.Head) }

var generatedMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Code generated .* DO NOT EDIT|@generated`) })

func generated(head []byte) bool {
	lines := bytes.SplitN(head, []byte("\n"), 6)
	return generatedMark().Match(bytes.Join(lines[:min(5, len(lines))], []byte("\n")))
}

func (f File) hasInlineTest() bool {
	if path.Ext(f.Path) != ".rs" {
		return false
	}
	text := f.Added
	if text == nil {
		text = f.Head
	}
	return inlineTest().Match(text)
}

// countsAsTest is true of every test file but testdata of a package without tests.
func (f File) countsAsTest(all []File, extraTests []string) bool {
	pkg, _, inside := strings.Cut("/"+f.Path, "/testdata/")
	if !inside || f.Tested || slices.ContainsFunc(extraTests, func(glob string) bool { return Match(glob, f.Path) }) {
		return true
	}
	return slices.ContainsFunc(all, func(o File) bool {
		return !o.gone() && strings.HasSuffix(o.Path, "_test.go") && path.Dir("/"+o.Path) == path.Clean("/"+pkg)
	})
}
