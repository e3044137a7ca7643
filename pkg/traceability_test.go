package pkg_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documentation again")

const (
	caseList         = "../testdata/cases.txt"
	statementList    = "../testdata/statements.txt"
	traceabilityPage = "../specs/traceability.md"
)

// notYet are the cases of the protocol that belong to work that is still to come, and why.
// A case that has a test is not here. Cases of roles and knowledge need no entry.
var notYet = map[string]string{}

// A testCase is one line of the list of cases.
type testCase struct{ id, section, title string }

// readCases reads the list. Whatever is not well-formed is an error.
func readCases(text string) ([]testCase, error) {
	var list []testCase
	seen := map[string]bool{}
	line := regexp.MustCompile(`^([PKLCN]-[0-9]{2,3}) (\S.*)$`)
	section := ""
	for i, l := range strings.Split(text, "\n") {
		m := line.FindStringSubmatch(l)
		switch {
		case strings.HasPrefix(l, "## "):
			section = strings.TrimPrefix(l, "## ")
		case strings.TrimSpace(l) == "" || strings.HasPrefix(l, "# "):
		case m == nil || section == "" || seen[m[1]]:
			return nil, fmt.Errorf("line %d: %q is not a case, is in no section, or is there twice", i+1, l)
		default:
			seen[m[1]] = true
			list = append(list, testCase{m[1], section, m[2]})
		}
	}
	return list, nil
}

// A statement is a line of what the documents ask that Liza comes from.
type statement struct {
	document, text string
	shown          []string // cases, tests by name, script:NAME
}

// readStatements reads the list, in which everything that is said to show a statement exists.
func readStatements(text string, exists func(name string) bool) ([]statement, error) {
	var list []statement
	document := ""
	for i, l := range strings.Split(text, "\n") {
		if name, is := strings.CutPrefix(l, "## "); is {
			document = name
		}
		if strings.TrimSpace(l) == "" || strings.HasPrefix(l, "#") {
			continue
		}
		at := strings.LastIndex(l, ": ")
		if at < 0 || document == "" {
			return nil, fmt.Errorf("line %d: %q is not a statement with its cases, or is in no document", i+1, l)
		}
		s := statement{document, l[:at], strings.Fields(l[at+2:])}
		for _, name := range s.shown {
			if !exists(name) {
				return nil, fmt.Errorf("line %d: there is no case, test or script %s", i+1, name)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// A place is where a case is shown: a test function, or a file.
type place struct{ name, path string }

// mention is the id of a case, or a range of them that may go over the end of a comment line.
var mention = regexp.MustCompile(`\b([PKLCN])-([0-9]{2,3})(?:\s+(?:(?:#|//)\s+)?to\s+(?:(?:#|//)\s+)?[PKLCN]-([0-9]{2,3}))?\b`)

// named is a test that has the id of its case in its name: TestP047TheSameCoderGoesOn.
var named = regexp.MustCompile(`(?m)^func Test([PKLCN])([0-9]{2,3})[A-Z]`)

// mentioned calls found with every id in the text and where it is.
func mentioned(text []byte, found func(id string, offset int)) {
	for _, m := range mention.FindAllSubmatchIndex(text, -1) {
		letter, digits := text[m[2]:m[3]], string(text[m[4]:m[5]])
		first, _ := strconv.Atoi(digits)
		last := first
		if m[6] >= 0 {
			last, _ = strconv.Atoi(string(text[m[6]:m[7]]))
		}
		for n := first; n <= last; n++ {
			found(fmt.Sprintf("%s-%0*d", letter, len(digits), n), m[0])
		}
	}
	for _, m := range named.FindAllSubmatchIndex(text, -1) {
		found(fmt.Sprintf("%s-%s", text[m[2]:m[3]], text[m[4]:m[5]]), m[0])
	}
}

// placesIn finds the cases that a test file or script names.
func placesIn(path string, text []byte) (map[string][]place, error) {
	found := map[string][]place{}
	at := func(int) place { return place{strings.TrimSuffix(filepath.Base(path), ".txtar"), path} }
	if strings.HasSuffix(path, ".go") {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		at = func(offset int) place {
			pos := files.File(f.FileStart).Pos(offset)
			return place{functionAt(f, pos, filepath.Base(path)), path}
		}
	}
	mentioned(text, func(id string, offset int) {
		if p := at(offset); !slices.Contains(found[id], p) {
			found[id] = append(found[id], p)
		}
	})
	return found, nil
}

// functionAt is the test function at that place or below the comment there, else the file.
func functionAt(f *ast.File, pos token.Pos, file string) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		is := strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz") || strings.HasPrefix(fn.Name.Name, "Benchmark")
		if is && from <= pos && pos < fn.End() {
			return fn.Name.Name
		}
	}
	return file
}

// allPlaces looks through the tests and scripts of the repository, but for this file.
func allPlaces(t *testing.T) map[string][]place {
	t.Helper()
	all := map[string][]place{}
	for _, root := range []string{"../cmd", "../pkg", "../protocols", "../testdata/script"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "traceability_test.go" || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := placesIn(filepath.ToSlash(path), text)
			for id, places := range found {
				all[id] = append(all[id], places...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestGeneratedTraceability: every case of the protocol is shown by a test that names it, and
// specs/traceability.md says by which.
func TestGeneratedTraceability(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(caseList)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := readCases(string(text))
	if err != nil {
		t.Fatalf("%s: %v", caseList, err)
	}
	if text, err = os.ReadFile(statementList); err != nil {
		t.Fatal(err)
	}
	tests := testPlaces(t)
	statements, err := readStatements(string(text), func(name string) bool {
		return tests[name].path != "" || slices.ContainsFunc(cases, func(c testCase) bool { return c.id == name })
	})
	if err != nil {
		t.Fatalf("%s: %v", statementList, err)
	}
	places := allPlaces(t)
	for _, wrong := range traceabilityGaps(cases, places, notYet) {
		t.Error(wrong)
	}
	page := append(tracePage(cases, places, notYet), statementPart(statements, places, tests)...)
	if *update {
		if err := os.WriteFile(traceabilityPage, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if there, err := os.ReadFile(traceabilityPage); err != nil || !bytes.Equal(there, page) {
		t.Errorf("specs/traceability.md is not what the tests say (%v); run `make generate` and look at the difference", err)
	}
}

// traceabilityGaps says what is wrong, one sentence each.
func traceabilityGaps(cases []testCase, places map[string][]place, later map[string]string) []string {
	var wrong []string
	known := map[string]bool{}
	for _, c := range cases {
		known[c.id] = true
		shown, reason := len(places[c.id]) > 0, later[c.id]
		switch {
		case shown && reason != "":
			wrong = append(wrong, c.id+" has a test now: take it from the list of what is still to come")
		case !shown && reason == "" && strings.HasPrefix(c.id, "P-"):
			wrong = append(wrong, c.id+" ("+c.title+") has no test that names it")
		}
	}
	for id, where := range places {
		if !known[id] {
			wrong = append(wrong, where[0].path+" names "+id+", which is not a case")
		}
	}
	for id := range later {
		if !known[id] {
			wrong = append(wrong, id+" is still to come, but is not a case")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func tracePage(cases []testCase, places map[string][]place, later map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("# Cases and their tests\n\n<!-- Generated from testdata/cases.txt, testdata/statements.txt and the tests by `make generate`; do not edit. -->\n\n")
	b.WriteString("What Liza promises is written down as cases with numbers: those of the protocol begin with P, those of roles and knowledge with K, L, C and N.\n")
	b.WriteString("A test that shows a case names it; scripts are complete sessions with the real programs.\n")
	section := ""
	for _, c := range cases {
		if c.section != section {
			section = c.section
			fmt.Fprintf(&b, "\n## %s\n\n| case | what has to hold | shown by |\n|---|---|---|\n", section)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.id, c.title, shownBy(places[c.id], later[c.id]))
	}
	return b.Bytes()
}

// statementPart joins what was asked with what shows it.
func statementPart(statements []statement, places map[string][]place, tests map[string]place) []byte {
	var b bytes.Buffer
	b.WriteString("\n# Statements and what shows them\n\nWhat the four documents ask that Liza comes from. A case in brackets has no test yet.\n")
	document := ""
	for _, s := range statements {
		if s.document != document {
			document = s.document
			fmt.Fprintf(&b, "\n## %s\n\n| what is asked | shown by |\n|---|---|\n", document)
		}
		var ids []string
		for _, name := range s.shown {
			p, test := tests[name]
			switch {
			case test:
				name = shownBy([]place{p}, "")
			case len(places[name]) == 0:
				name = "(" + name + ")"
			}
			ids = append(ids, name)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", s.text, strings.Join(ids, ", "))
	}
	return b.Bytes()
}

// testFunction is the head of a test.
var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testPlaces finds every test by its name, and every script as script:NAME.
func testPlaces(t *testing.T) map[string]place {
	t.Helper()
	all := map[string]place{}
	for _, root := range []string{"../pkg", "../protocols", "../testdata/script"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name, script := strings.CutSuffix(d.Name(), ".txtar")
			if script {
				all["script:"+name] = place{name, filepath.ToSlash(path)}
			}
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range testFunction.FindAllSubmatch(text, -1) {
				all[string(m[1])] = place{string(m[1]), filepath.ToSlash(path)}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func shownBy(places []place, reason string) string {
	if len(places) == 0 {
		return strings.TrimSuffix("not yet: "+reason, ": ")
	}
	var links []string
	for _, p := range places {
		link := fmt.Sprintf("[%s](%s)", p.name, p.path)
		if strings.HasSuffix(p.path, ".txtar") {
			link = "script " + link
		}
		links = append(links, link)
	}
	return strings.Join(links, ", ")
}

func TestAStatementNamesWhatExists(t *testing.T) {
	t.Parallel()
	known := func(name string) bool {
		return slices.Contains([]string{"K-01", "P-020", "TestAbove", "script:init"}, name)
	}
	for text, good := range map[string]bool{
		"## Kiso\nfour kinds: of calls: K-01 script:init\n": true,
		"## Kiso\nfour kinds: TestBelow\n":                  false,
		"## Kiso\nfour kinds\n":                             false,
		"## Kiso\nfour kinds: K-02\n":                       false,
		"four kinds: K-01\n":                                false,
	} {
		list, err := readStatements(text, known)
		if (err == nil) != good || good && (len(list) != 1 || list[0].text != "four kinds: of calls" || len(list[0].shown) != 2) {
			t.Errorf("%q: %+v, %v", text, list, err)
		}
	}
}

func TestCasesAreFoundWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	const source = `package x

// P-900: a comment above.
func TestAbove(t *testing.T) {}

func TestInside(t *testing.T) { run("P-901 a name") } // P-902, P-903 to
// P-905

var rows = []string{"P-906", "UP-907", "P-9080"}

func helper() { _ = "K-01" }
`
	found, err := placesIn("x/x_test.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for id, places := range found {
		got = append(got, id+" "+places[0].name)
	}
	slices.Sort(got)
	want := []string{"K-01 x_test.go", "P-900 TestAbove", "P-901 TestInside", "P-902 x_test.go", "P-903 x_test.go", "P-904 x_test.go", "P-905 x_test.go", "P-906 x_test.go"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}

	cases := []testCase{{"P-001", "s", "one"}, {"P-002", "s", "two"}, {"P-003", "s", "three"}, {"K-01", "s", "four"}}
	wrong := traceabilityGaps(cases, map[string][]place{"P-001": {{"TestA", "a"}}, "P-009": {{"TestB", "b"}}}, map[string]string{"P-001": "later", "P-003": "later", "P-010": "later"})
	wanted := []string{"P-001 has a test now: take it from the list of what is still to come", "P-002 (two) has no test that names it",
		"P-010 is still to come, but is not a case", "b names P-009, which is not a case"}
	if !slices.Equal(wrong, wanted) {
		t.Errorf("gaps %q, want %q", wrong, wanted)
	}
	for _, bad := range []string{"P-001 no section", "## s\nP-1 short", "## s\nP-001 a\nP-001 b", "## s\nP-001", "## s\nwords"} {
		if _, err := readCases(bad); err == nil {
			t.Errorf("the list %q is accepted", bad)
		}
	}
}
