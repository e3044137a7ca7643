package pkg_test

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// A comment `// sometimes: <what happens here>` marks a statement that runs rarely and has to work then. testdata/sometimes.yaml
// names the test that reaches it. The marks cost nothing: the compiler's coverage says which were reached.

// A sometime is a mark, and what the list says of it.
type sometime struct {
	Mark string // what happens there
	Test string `yaml:",omitempty"` // package below pkg and name of the test that reaches it; without a name any of the package
	Debt string `yaml:",omitempty"` // why none does

	file string // below pkg
	line int    // of the statement
}

const (
	someEnv  = "SOMETIMES" // all: every mark; packages: find the packages of marks that have none; record: find the tests, too
	someFile = "../testdata/sometimes.yaml"
	someMark = "// sometimes: "
)

// marksIn finds the marks below the packages, by their text.
func marksIn(t *testing.T) map[string]*sometime {
	t.Helper()
	marks := map[string]*sometime{}
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), someMark) {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			return err
		}
		begins := map[int]bool{} // lines on which a statement begins
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(ast.Stmt); ok {
				begins[files.Position(s.Pos()).Line] = true
			}
			return true
		})
		for i, line := range strings.Split(string(text), "\n") {
			mark, ok := strings.CutPrefix(strings.TrimSpace(line), someMark)
			switch {
			case !ok:
			case !begins[i+2]:
				t.Errorf("%s:%d: no statement begins on the line after the mark %q", name, i+1, mark)
			case marks[mark] != nil:
				t.Errorf("%s:%d: %q is marked in %s, too; say what is different", name, i+1, mark, marks[mark].file)
			default:
				marks[mark] = &sometime{Mark: mark, file: filepath.ToSlash(name), line: i + 2}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// someListed reads the list and joins it with the marks.
func someListed(t *testing.T) (list []*sometime) {
	t.Helper()
	marks := marksIn(t)
	data, err := os.ReadFile(someFile)
	if err == nil {
		err = yaml.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, s := range list {
		switch m := marks[s.Mark]; {
		case m == nil:
			t.Errorf("testdata/sometimes.yaml: nothing is marked %q", s.Mark)
		case listed[s.Mark]:
			t.Errorf("testdata/sometimes.yaml has %q twice", s.Mark)
		case (s.Test == "") == (s.Debt == ""):
			t.Errorf("testdata/sometimes.yaml: %q needs a test or the reason why there is none", s.Mark)
		default:
			s.file, s.line = m.file, m.line
		}
		listed[s.Mark] = true
	}
	for _, m := range slices.Sorted(maps.Keys(marks)) {
		if !listed[m] {
			t.Errorf("%s:%d: %q is not in testdata/sometimes.yaml", marks[m].file, marks[m].line, m)
		}
	}
	return list
}

// byPackage gives the marks of each package whose tests reach some.
func byPackage(list []*sometime) map[string][]*sometime {
	found := map[string][]*sometime{}
	for _, s := range list {
		if dir, _, _ := strings.Cut(s.Test, " "); dir != "" && s.file != "" {
			found[dir] = append(found[dir], s)
		}
	}
	return found
}

// testsIn are the names of the tests in a folder.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	return found
}

func TestEveryRarePlaceHasItsTest(t *testing.T) {
	t.Parallel()
	for dir, marks := range byPackage(someListed(t)) {
		there := testsIn(t, dir)
		for _, s := range marks {
			if _, name, ok := strings.Cut(s.Test, " "); len(there) == 0 || ok && !there[name] {
				t.Errorf("%q is to be reached by %s, which is no test", s.Mark, s.Test)
			}
		}
	}
}

// someSample are packages whose tests are quick; the marks of the others are looked at by `make sometimes`.
var someSample = []string{"board/history", "base/safefile"}

func TestRarePlacesAreReached(t *testing.T) {
	t.Parallel()
	list := someListed(t)
	if t.Failed() {
		return
	}
	packages := byPackage(list)
	var folders []string
	for _, s := range list {
		if dir := path.Dir(s.file); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	run := slices.Sorted(maps.Keys(packages))
	switch os.Getenv(someEnv) {
	case "": // the sample
		run, folders = someSample, someSample
	case "record", "packages":
		record(t, list, folders, os.Getenv(someEnv) == "record")
		return
	}
	for _, dir := range run {
		program := coverable(t, dir, folders)
		marks := slices.DeleteFunc(slices.Clone(packages[dir]), func(s *sometime) bool { return !slices.Contains(folders, path.Dir(s.file)) })
		var names []string
		for _, s := range marks {
			_, name, _ := strings.Cut(s.Test, " ")
			if name = cmp.Or(name, ".*"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		reached, out := coverOf(t, program, dir, "^("+strings.Join(names, "|")+")$")
		missed := 0
		for _, s := range marks {
			if !reached(s) {
				missed++
				t.Errorf("%s:%d: %q was not reached by %s", s.file, s.line, s.Mark, s.Test)
			}
		}
		if missed > 0 {
			t.Logf("%s: %s", dir, out)
		}
		t.Logf("%s: %d of %d marks reached by %d names of tests", dir, len(marks)-missed, len(marks), len(names))
	}
	if run := os.Getenv(someEnv); run == "all" {
		debts := slices.DeleteFunc(slices.Clone(list), func(s *sometime) bool { return s.Debt == "" })
		t.Logf("%d marks, %d of them debts", len(list), len(debts))
	}
}

// coverable builds the tests of a package so that they tell what they reach in the folders.
func coverable(t *testing.T, dir string, folders []string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "covered")
	var covered []string
	for _, f := range folders {
		covered = append(covered, "liza/pkg/"+f)
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-covermode=set", "-coverpkg="+strings.Join(covered, ","), "-o", program, "./"+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// coverOf runs tests and tells of a mark whether they reached it.
func coverOf(t *testing.T, program, dir, run string) (reached func(*sometime) bool, out string) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.CommandContext(t.Context(), program, "-test.run", run, "-test.coverprofile", profile, "-test.timeout", "10m")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), someEnv+"=")
	cmd.WaitDelay = time.Minute
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s %s: %v: %s", dir, run, err, text)
	}
	blocks := map[string][][5]int{}
	if f, err := os.Open(profile); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var b [5]int
			var n int
			name, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "liza/pkg/"), ":")
			if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b[0], &b[1], &b[2], &b[3], &b[4], &n); err == nil && n > 0 {
				blocks[name] = append(blocks[name], b)
			}
		}
	}
	return func(s *sometime) bool {
		return slices.ContainsFunc(blocks[s.file], func(b [5]int) bool { return b[0] <= s.line && s.line <= b[2] && (s.line < b[2] || b[3] > 2) })
	}, string(text)
}

// record writes into the list who reaches a mark that has nobody: with names the test, which is found by running each on its own, else
// the package.
func record(t *testing.T, list []*sometime, folders []string, names bool) {
	t.Helper()
	for _, dir := range strings.Fields(cmp.Or(os.Getenv("SOMETIMES_PACKAGES"), strings.Join(folders, " "))) {
		program := coverable(t, dir, folders)
		all, _ := coverOf(t, program, dir, ".")
		open := slices.DeleteFunc(slices.Clone(list), func(s *sometime) bool { return s.Test != "" && s.Test != dir || !all(s) })
		for _, s := range open {
			s.Test, s.Debt = dir, ""
			t.Logf("%s reaches %q", dir, s.Mark)
		}
		for _, name := range slices.Sorted(maps.Keys(testsIn(t, dir))) {
			if len(open) == 0 || !names {
				break
			}
			reached, _ := coverOf(t, program, dir, "^"+name+"$")
			open = slices.DeleteFunc(open, func(s *sometime) bool {
				if reached(s) {
					s.Test = dir + " " + name
				}
				return s.Test != dir
			})
		}
	}
	writeSometimes(t, list)
}

func writeSometimes(t *testing.T, list []*sometime) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# The places that are marked `// sometimes: …` in the code, and the test that reaches each (`make sometimes`). A debt says why none does.\n")
	for _, s := range list {
		fmt.Fprintf(&b, "- mark: %s\n", strconv.Quote(s.Mark))
		if s.Test != "" {
			fmt.Fprintf(&b, "  test: %s\n", s.Test)
		} else {
			fmt.Fprintf(&b, "  debt: %s\n", strconv.Quote(s.Debt))
		}
	}
	if err := os.WriteFile(cmp.Or(os.Getenv("SOMETIMES_INTO"), someFile), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
