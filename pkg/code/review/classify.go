package review

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is the kind of a changed file in a review.
type Kind string

// Sources are code, tests exercise it, others are neither.
const (
	Source  Kind = "source"
	Test    Kind = "test"
	Neither Kind = "other"
)

// A language has the patterns of its sources and tests.
type language struct {
	sources []string // extensions
	more    []string // extensions of files that are either tests or ignored
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

// Classify returns the kind of the file at that path. extraTests are globs of further tests (review.test_paths).
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

// Match reports whether a path matches a glob in which ** stands for any number of folders.
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

// Tree is the input of detection: the files of the commit, the texts of those at its root, and the tools of this machine.
type Tree struct {
	Files []string // paths from the root, all of the commit
	Read  func(file string) string
	Tool  func(name string) bool
}

// has reports whether a file that fits the glob is at the root.
func (t Tree) has(globs ...string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			ok, _ := path.Match(glob, file)
			return ok
		})
	})
}

// hasFolder reports whether anything is in the folder.
func (t Tree) hasFolder(name string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool { return strings.HasPrefix(file, name+"/") })
}

// A sign is a file that identifies a kind of project, with the commands of its checks.
type sign struct {
	globs              []string
	build, lint, tests func(Tree) string // each may return "" for no such command
}

func always(command string) func(Tree) string { return func(Tree) string { return command } }

// signs is the table of specs/roles-and-knowledge.md#5.5, in its order.
var signs = []sign{
	{[]string{"go.mod"}, always("go build ./..."), goLint, always("go test ./...")},
	{[]string{"package.json"}, script("build"), script("lint"), script("test")},
	{[]string{"Cargo.toml"}, always("cargo build --quiet"), always("cargo clippy --quiet -- -D warnings"), always("cargo test --quiet")},
	{[]string{"pyproject.toml", "setup.py", "requirements.txt"}, always("python3 -m compileall -q ."), ruff, always(`PATH="$PWD/.venv/bin:$PATH" python3 -m pytest -q`)},
	{[]string{"pom.xml"}, always("mvn -q -DskipTests compile"), always(""), always("mvn -q test")},
	{[]string{"build.gradle", "build.gradle.kts"}, always("./gradlew -q classes"), always(""), always("./gradlew -q test")},
	{[]string{"*.sln", "*.csproj"}, always("dotnet build -clp:ErrorsOnly"), always("dotnet format --verify-no-changes"), always("dotnet test")},
	{[]string{"Gemfile"}, always(""), rubocop, rspec},
	{[]string{"composer.json"}, always("composer validate --no-check-publish"), always(""), always("vendor/bin/phpunit")},
}

// Detect returns the commands of build_passes, lint_passes and tests_pass.
func Detect(t Tree) map[string][]string {
	found := map[string][]string{}
	add := func(check, command string) {
		if command != "" {
			found[check] = append(found[check], command)
		}
	}
	matched := false
	for _, s := range signs {
		if t.has(s.globs...) {
			matched = true
			add(Build, s.build(t))
			add(Lint, s.lint(t))
			add(Tests, s.tests(t))
		}
	}
	if !matched {
		for _, m := range [][2]string{{Build, "build"}, {Lint, "lint"}, {Tests, "test"}} {
			if t.hasTarget(m[1]) {
				add(m[0], "make "+m[1])
			}
		}
	}
	return found
}

func goLint(t Tree) string {
	if t.has(".golangci.*") && t.Tool("golangci-lint") {
		return "golangci-lint run"
	}
	return "go vet ./..."
}

// ruff runs when the project configures it, or the machine has it.
func ruff(t Tree) string {
	if t.has("ruff.toml", ".ruff.toml") || strings.Contains(t.Read("pyproject.toml"), "[tool.ruff") || t.Tool("ruff") {
		return "ruff check ."
	}
	return ""
}

func rubocop(t Tree) string {
	if t.has(".rubocop.yml") {
		return "bundle exec rubocop"
	}
	return ""
}

func rspec(t Tree) string {
	if t.hasFolder("spec") {
		return "bundle exec rspec"
	}
	return "bundle exec rake test"
}

// npmPlaceholder is the text that npm init writes for a project without tests.
const npmPlaceholder = "no test specified"

// script is a script of package.json, run by the package manager of the lock file.
func script(name string) func(Tree) string {
	return func(t Tree) string {
		var manifest struct {
			Scripts map[string]string `json:"scripts"`
		}
		if json.Unmarshal([]byte(t.Read("package.json")), &manifest) != nil {
			return ""
		}
		text := manifest.Scripts[name]
		if strings.TrimSpace(text) == "" || name == "test" && strings.Contains(text, npmPlaceholder) {
			return ""
		}
		switch {
		case t.has("pnpm-lock.yaml"):
			return "pnpm run " + name
		case t.has("yarn.lock"):
			return "yarn run " + name
		case t.has("bun.lock", "bun.lockb"):
			return "bun run " + name
		}
		return "npm run " + name
	}
}

// hasTarget reports whether the Makefile has a rule for the target.
func (t Tree) hasTarget(name string) bool {
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if t.has(file) {
			return regexp.MustCompile(`(?m)^(?:[\w./%\-]+[ \t]+)*` + name + `(?:[ \t]+[\w./%\-]+)*[ \t]*::?(?:[^=:]|$)`).MatchString(t.Read(file))
		}
	}
	return false
}
