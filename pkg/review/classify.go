package review

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	sources []string // extensions
	more    []string // extensions of files that are tests or nothing
	tests   []string // globs of base names, or of folders when they end in /
}

// languages is the table of specs/roles-and-knowledge.md#5.5. Go's testdata and Rust's inline
// tests are seen to elsewhere: goTestdata, inlineTest.
var languages = []language{
	{sources: []string{".go"}, tests: []string{"*_test.go"}},
	{sources: []string{".py"}, tests: []string{"test_*.py", "*_test.py", "conftest.py", "tests/", "test/"}},
	{sources: []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte"}, tests: []string{"*.test.*", "*.spec.*", "__tests__/", "test/", "tests/"}},
	{sources: []string{".rs"}, tests: []string{"tests/"}},
	{sources: []string{".java", ".kt", ".scala", ".groovy"}, tests: []string{"src/test/", "*Test.*", "*Tests.*", "*Spec.*"}},
	{sources: []string{".cs"}, tests: []string{"*Test.cs", "*Tests.cs", "*.Tests/"}},
	{sources: []string{".c", ".h", ".cc", ".cpp", ".hpp", ".cxx"}, tests: []string{"test/", "tests/", "*_test.*", "test_*.*"}},
	{sources: []string{".rb"}, tests: []string{"spec/", "test/"}},
	{sources: []string{".php"}, tests: []string{"tests/", "*Test.php"}},
	{sources: []string{".swift"}, tests: []string{"Tests/", "*Tests.swift"}},
	{sources: []string{".ex", ".dart", ".lua"}, more: []string{".exs"}, tests: []string{"test/", "*_test.exs", "*_test.dart", "*_spec.lua"}},
	{sources: []string{".sh", ".bash"}, more: []string{".bats"}, tests: []string{"*.bats", `*[_.\-]test.*`, `*[_.\-]tests.*`, `test[_\-]*.*`, "test.*", "tests.*", "test/", "tests/"}},
	{sources: []string{".erl", ".hs", ".ml", ".pl", ".zig", ".m"}, more: []string{".t"}, tests: []string{"test/", "tests/", "t/", "*_SUITE.erl", "*Spec.hs", "*_test.*"}},
}

// vendored folders hold nobody's own work.
var vendored = []string{"vendor", "node_modules", "third_party"}

// Classify says what the file at that path is. extraTests are globs of further tests
// (review.test_paths).
func Classify(file string, extraTests []string) Kind {
	if slices.ContainsFunc(folders(file), func(dir string) bool { return slices.Contains(vendored, dir) }) {
		return Neither
	}
	if slices.ContainsFunc(extraTests, func(glob string) bool { return Match(glob, file) }) || goTestdata(file) {
		return Test
	}
	for _, l := range languages {
		source := slices.Contains(l.sources, path.Ext(file))
		switch {
		case !source && !slices.Contains(l.more, path.Ext(file)):
			continue
		case slices.ContainsFunc(l.tests, func(glob string) bool { return isTest(glob, file) }):
			return Test
		case source:
			return Source
		}
	}
	return Neither
}

func folders(file string) []string { return strings.Split(path.Dir(file), "/") }

// isTest matches a glob with the base name, or with the folders of the path for "dir/".
func isTest(glob, file string) bool {
	dir, isDir := strings.CutSuffix(glob, "/")
	if !isDir {
		ok, _ := path.Match(glob, path.Base(file))
		return ok
	}
	if strings.Contains(dir, "/") {
		return strings.Contains("/"+file, "/"+dir+"/")
	}
	return slices.ContainsFunc(folders(file), func(part string) bool {
		ok, _ := path.Match(dir, part)
		return ok
	})
}

// goTestdata reports whether a file is data of Go tests, whatever its language.
func goTestdata(file string) bool { return slices.Contains(folders(file), "testdata") }

// Match reports whether a path fits a glob in which ** stands for any number of folders.
func Match(glob, file string) bool { return match(strings.Split(glob, "/"), strings.Split(file, "/")) }

func match(glob, file []string) bool {
	switch {
	case len(glob) == 0:
		return len(file) == 0
	case glob[0] == "**":
		for i := range len(file) + 1 {
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

// inlineTest is how a Rust source carries its own tests.
var inlineTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#\[(test|cfg\(test\)|tokio::test)\]`) })
