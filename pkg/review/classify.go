package review

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// Kind is what a changed file is to a review.
type Kind string

// Sources are code, tests exercise it, others are neither.
const (
	Source  Kind = "source"
	Test    Kind = "test"
	Neither Kind = "other"
)

// A language says which files are its sources and which of them are tests.
type language struct {
	extensions []string
	tests      []string // globs of base names, or of folders when they end in /
	inline     *regexp.Regexp
}

// languages is the table of roles-and-knowledge 5.5.
var languages = []language{
	{extensions: []string{".go"}, tests: []string{"*_test.go", "testdata/"}},
	{extensions: []string{".py"}, tests: []string{"test_*.py", "*_test.py", "conftest.py", "tests/", "test/"}},
	{extensions: []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte"}, tests: []string{"*.test.*", "*.spec.*", "__tests__/", "test/", "tests/"}},
	{extensions: []string{".rs"}, tests: []string{"tests/"}, inline: regexp.MustCompile(`#\[(test|cfg\(test\)|tokio::test)\]`)},
	{extensions: []string{".java", ".kt", ".scala", ".groovy"}, tests: []string{"src/test/", "*Test.*", "*Tests.*", "*Spec.*"}},
	{extensions: []string{".cs"}, tests: []string{"*Test.cs", "*Tests.cs", "*.Tests/"}},
	{extensions: []string{".c", ".h", ".cc", ".cpp", ".hpp", ".cxx"}, tests: []string{"test/", "tests/", "*_test.*", "test_*.*"}},
	{extensions: []string{".rb"}, tests: []string{"spec/", "test/"}},
	{extensions: []string{".php"}, tests: []string{"tests/", "*Test.php"}},
	{extensions: []string{".swift"}, tests: []string{"Tests/", "*Tests.swift"}},
	{extensions: []string{".ex", ".exs", ".dart", ".lua"}, tests: []string{"test/", "*_test.exs", "*_test.dart", "*_spec.lua"}},
	{extensions: []string{".sh", ".bash", ".bats"}, tests: []string{"*.bats", "test/", "tests/"}},
	{extensions: []string{".erl", ".hs", ".ml", ".pl", ".zig", ".m", ".t"}, tests: []string{"test/", "tests/", "t/", "*_SUITE.erl", "*Spec.hs", "*_test.*"}},
}

// vendored folders hold nobody's own work.
var vendored = []string{"vendor", "node_modules", "third_party"}

// Classify says what the file at that path is. extraTests are globs of further tests
// (review.test_paths).
func Classify(file string, extraTests []string) Kind {
	for _, dir := range strings.Split(path.Dir(file), "/") {
		for _, v := range vendored {
			if dir == v {
				return Neither
			}
		}
	}
	for _, glob := range extraTests {
		if Match(glob, file) {
			return Test
		}
	}
	for _, l := range languages {
		if !l.owns(file) {
			continue
		}
		for _, t := range l.tests {
			if isTest(t, file) {
				return Test
			}
		}
		return Source
	}
	if strings.Contains("/"+file, "/testdata/") {
		return Test
	}
	return Neither
}

func (l language) owns(file string) bool {
	for _, e := range l.extensions {
		if strings.HasSuffix(file, e) {
			return true
		}
	}
	return false
}

// isTest matches a glob with the base name, or with a folder of the path for "dir/".
func isTest(glob, file string) bool {
	if !strings.HasSuffix(glob, "/") {
		ok, _ := path.Match(glob, path.Base(file))
		return ok
	}
	dir := strings.TrimSuffix(glob, "/")
	if strings.ContainsAny(dir, "*") {
		for _, part := range strings.Split(path.Dir(file), "/") {
			if ok, _ := path.Match(dir, part); ok {
				return true
			}
		}
		return false
	}
	return strings.Contains("/"+file, "/"+dir+"/")
}

// Match tells whether a path fits a glob in which ** stands for any number of folders.
func Match(glob, file string) bool { return match(strings.Split(glob, "/"), strings.Split(file, "/")) }

func match(glob, file []string) bool {
	switch {
	case len(glob) == 0:
		return len(file) == 0
	case glob[0] == "**":
		for i := 0; i <= len(file); i++ {
			if match(glob[1:], file[i:]) {
				return true
			}
		}
		return false
	case len(file) == 0:
		return false
	}
	ok, err := path.Match(glob[0], file[0])
	return err == nil && ok && match(glob[1:], file[1:])
}

// File is one changed file of a submission.
type File struct {
	Path       string
	Status     string // A added, M modified, D deleted, R renamed
	AddedLines bool
	Head       []byte // its text, or the beginning of it
}

// Gate is what the test gate sees of a submission (protocol 4.7).
type Gate struct {
	Sources []string // changed sources
	Tests   []string // added or modified tests
	Exempt  bool
}

// Passes tells whether changed sources come with changed tests.
func (g Gate) Passes() bool { return g.Exempt || len(g.Sources) == 0 || len(g.Tests) > 0 }

// CountGate sorts the changed files. Generated and vendored files, pure deletions and
// renames are no sources. Go's testdata counts only beside a test of the package.
func CountGate(files []File, taskType string, extraTests []string) Gate {
	var g Gate
	var data []string
	for _, f := range files {
		if f.Status == "D" || f.Status == "R" && !f.AddedLines {
			continue
		}
		switch Classify(f.Path, extraTests) {
		case Test:
			if goTestdata(f.Path) {
				data = append(data, f.Path)
				continue
			}
			g.Tests = append(g.Tests, f.Path)
		case Source:
			if !f.AddedLines || generated(f.Head) {
				continue
			}
			g.Sources = append(g.Sources, f.Path)
			if strings.HasSuffix(f.Path, ".rs") && languages[3].inline.Match(f.Head) {
				g.Tests = append(g.Tests, f.Path)
			}
		}
	}
	if len(g.Tests) > 0 {
		g.Tests = append(g.Tests, data...)
	}
	g.Exempt = exempt(files, taskType, g)
	return g
}

func goTestdata(file string) bool { return strings.Contains("/"+file, "/testdata/") }

var generatedMark = regexp.MustCompile(`Code generated .* DO NOT EDIT|@generated`)

func generated(head []byte) bool {
	lines := bytes.SplitN(head, []byte("\n"), 6)
	return generatedMark.Match(bytes.Join(lines[:min(5, len(lines))], []byte("\n")))
}

// documents are what a change may consist of without any test.
var documents = []string{"*.md", "*.rst", "*.adoc", "*.txt", "LICENSE*", "*.yaml", "*.yml", "*.toml", "*.ini", "*.json", "*.editorconfig", ".editorconfig", ".gitignore"}

// exempt applies the exemptions of roles-and-knowledge 5.5: a type without code, unless a
// source changed, or nothing but documents and configuration.
func exempt(files []File, taskType string, g Gate) bool {
	if taskType == "docs" || taskType == "config" || taskType == "spec" {
		return len(g.Sources) == 0
	}
	for _, f := range files {
		if strings.HasPrefix(f.Path, "docs/") || strings.HasPrefix(f.Path, "specs/") {
			continue
		}
		known := false
		for _, d := range documents {
			if ok, _ := path.Match(d, path.Base(f.Path)); ok {
				known = true
			}
		}
		if !known {
			return false
		}
	}
	return true
}
