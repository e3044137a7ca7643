package review

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/board/blackboard"
)

// The expressions below see one line at a time and know no grammar: they are made to ask a
// reviewer to look, not to judge. They are compiled when the first diff is looked at.

// testHead is the line that begins a test; one of its groups is the name.
var testHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:` + strings.Join([]string{
		`func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Benchmark|Example)\w*)\s*\(`, // Go
		`(?:async\s+)?def\s+(test\w*)\s*[(\s]?`,                             // Python, Ruby
		`(?:\w+\s+)*function\s+(test\w*)\s*\(`,                              // PHP
		`func\s+(test\w*)\s*\(`,                                             // Swift
		`(?:x|f)?(?:it|test|specify|scenario|testWidgets)(?:\.\w+)*\s*\(?\s*['"` + "`" + `]([^'"` + "`" + `]+)['"` + "`" + `]`, // JavaScript, Ruby, Elixir, Dart
		`@test\s+["']([^"']+)["']`,                       // bats
		`test\s+"([^"]+)"\s*\{`,                          // Zig
		`(?:pub\s+)?(?:async\s+)?fn\s+(\w*test\w*)\s*\(`, // Rust
		`(?:@Test\s+)?(?:public\s+|internal\s+)?(?:async\s+)?(?:void|Task|fun)\s+(\w+)\s*\(`, // Java, Kotlin, C#
		`TEST(?:_F|_P)?\s*\(\s*(\w+\s*,\s*\w+)\s*\)`,                                         // C++
	}, `|`) + `)`)
})

// condition is a line of a shell script that looks like a named test: test "$(greet)" = "Hello!"
var condition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*test\s+(?:"[^"]*"|'[^']*'|"\$\(.*\)")\s+(?:=|==|!=|-[a-z]{1,2})\s`)
})

// testName is the name of the test that a line begins, "" when it begins none.
func testName(line string) string {
	if condition().MatchString(line) {
		return ""
	}
	m := testHead().FindStringSubmatch(line)
	for _, name := range m[min(1, len(m)):] {
		if name != "" {
			return name
		}
	}
	return ""
}

// mark finds an attribute that makes a function a test.
var mark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:#\[(?:\w+::)?test\b|@(?:Parameterized|Repeated)?Test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b)`)
})

// skip finds a statement that keeps a test, or all others, from running.
var skip = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`\b[tb]\.Skip(?:f|Now)?\(`, `//go:build\s+(?:ignore|never)\b`,
		`@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|xfail|skipIf|skipUnless|expectedFailure)\b`, `\bpytest\.(?:skip|xfail)\(`, `\bself\.skipTest\(`, `\braise\s+(?:unittest\.)?SkipTest`,
		`\b(?:it|test|describe|context|suite)\.(?:skip|only|todo|fails|failing)\b`, `^\s*(?:xit|xtest|xdescribe|xcontext|fit|fdescribe|fcontext)\s*\(?\s*['"` + "`" + `(]`, `\bthis\.skip\(\)`,
		`#\[ignore\b`, `@(?:Ignore|Disabled|Tag\("skip)\b`, `\[(?:Ignore|Explicit)\b`, `\[(?:Fact|Theory|Test)\s*\(\s*(?:Skip|Ignore)\s*=`, `\bAssume\.|\bassumeTrue\(false`,
		`\bmarkTest(?:Skipped|Incomplete)\(`, `\bXCTSkip`, `\bGTEST_SKIP\(`, `\bDISABLED_\w`, `@tag\s+:skip`, `^\s*(?:skip|pending)\b(?:\s|$)`, `\bskip:\s*true`,
	}, `|`))
})

// assertion is a line that can make a test fail.
var assertion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bassert|assert\w*[!(\s]|\bexpect\w*[(!.\s]|\bexpect$|\bshould\b|\.should|\brequire\.\w+\(|\bt\.(?:error|fatal|fail)|\bb\.(?:error|fatal|fail)|\bverify\w*\(|\bfail(?:ed)?\w*\(|` +
		`\bcheck\w*\(|\bwant\w*\(|\bmust\w*\(|\braises\b|\bpanic!|\.unwrap\(\)|\bXCT\w+\(|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)\w*\s*\(|\bthrow\b|\bcmp\.Diff\(|\breflect\.DeepEqual\(|^\s*\[\[?\s|\bif\s.*(?:!=|==|!)|\b(?:is|ok|like|is_deeply)\s*\(|\?=|=:=`)
})

// exact is an assertion that wants one value, loose one that many values pass.
var exact = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)equal|\bsame\b|==|!=|\btoBe\(|toStrict|toMatchSnapshot|assert_eq|\beq\(|\beql?\b|\bis\(|isEqualTo|DeepEqual|cmp\.Diff|_EQ\b|\bshould\s+be\b`)
})

var loose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)not_?nil|not_?null|not_?none|!=\s*(?:nil|null|undefined|None|""|''|0)\b|!=\s*(?:""|'')|is\s+not\s+None|truthy|toBeDefined|toBeUndefined|not_?empty|not_?equal|assert\w*True\s*\(\s*true|contains?\b|\bin\b|>=|<=|\bany\(|isinstance|is_ok|is_some|err\s*[!=]=\s*nil`)
})

// trivial is an assertion that nothing can make fail.
var trivial = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bassert\s+(?:True|1)\b|\bassert\w*\(\s*(?:true|1\s*==\s*1)\s*[,)]|\bassert\w*\(\s*t\s*,\s*true\s*[,)]|\bexpect\(\s*(true|1|"")\s*\)\s*\.\s*to(?:Be|Equal|StrictEqual)(?:Truthy)?\(\s*(?:true|1|"")?\s*\)|\bassert!?\(\s*true\s*\)|\bif\s+(?:false|1\s*!=\s*1)\b`)
})

func isAssertion(line string) bool {
	return assertion().MatchString(line) && !trivial().MatchString(line)
}

func isExact(line string) bool {
	return isAssertion(line) && exact().MatchString(line) && !loose().MatchString(line)
}

// weakened: the tests require at least as much as before.
func (s *Submission) weakened() Result {
	var r Result
	add := func(severity, file string, line int, message string) {
		r.Findings = append(r.Findings, &blackboard.Finding{Severity: severity, File: file, Line: line, Message: message})
	}
	severity := s.severity(Weakened)
	everywhere := map[string]bool{}
	for _, c := range s.tests() {
		for _, l := range c.added() {
			if name := testName(l.Text); name != "" {
				everywhere[name] = true
			}
		}
	}
	for _, c := range s.tests() {
		if c.Status == "D" {
			if gone := namesGone(c, everywhere); len(gone) > 0 || !named(c) {
				add(s.ofDeletion(severity), c.Path, 0, "was deleted, and its tests with it"+after(": ", listed(gone))+s.whyDeleted())
			}
			continue
		}
		if gone := namesGone(c, everywhere); emptied(c) && len(gone) > 0 {
			add(s.ofDeletion(severity), c.Path, 0, "was emptied: no test is left in it: "+listed(gone)+s.whyDeleted())
			continue
		}
		for _, l := range c.added() {
			if skip().MatchString(l.Text) {
				add(severity, c.Path, l.N, "a test is skipped, or others are because of it")
			}
		}
		for _, name := range namesGone(c, everywhere) {
			add(severity, c.Path, 0, "the test "+name+" is gone")
		}
		s.fewer(c, severity, add)
		for _, e := range emptyTests(c) {
			add(severity, c.Path, e.N, "the test "+e.Text+" checks nothing: it cannot fail")
		}
	}
	r.Findings = append(r.Findings, s.specialCases()...)
	return r
}

// ofDeletion is the severity of a test file that is gone: nobody deletes tests by accident. A
// reason in the task (legacy_tests), which a planner or a person gave, leaves it to the reviewer.
func (s *Submission) ofDeletion(severity string) string {
	if strings.TrimSpace(s.Task.LegacyTests) != "" {
		return severity
	}
	return Error
}

func (s *Submission) whyDeleted() string {
	if why := strings.TrimSpace(s.Task.LegacyTests); why != "" {
		return "; the task says why: " + why
	}
	return ""
}

// emptied reports whether a test file that had tests has none any more.
func emptied(c Changed) bool {
	if c.Head == nil || len(c.Head) > 32<<10 { // not known, or not known to its end
		return false
	}
	for line := range strings.Lines(string(c.Head)) {
		if testName(line) != "" {
			return false
		}
	}
	return named(c)
}

// fewer compares the assertions that a test file loses and gains.
func (s *Submission) fewer(c Changed, severity string, add func(severity, file string, line int, message string)) {
	count := func(lines []Line, is func(string) bool) (n, first int) {
		for _, l := range lines {
			if is(l.Text) {
				if n++; n == 1 {
					first = l.N
				}
			}
		}
		return n, first
	}
	lost, at := count(c.removed(), isAssertion)
	gained, _ := count(c.added(), isAssertion)
	exactLost, exactAt := count(c.removed(), isExact)
	exactGained, _ := count(c.added(), isExact)
	marksLost, markAt := count(c.removed(), mark().MatchString)
	marksGained, _ := count(c.added(), mark().MatchString)
	if marksLost > marksGained {
		add(severity, c.Path, markAt, fmt.Sprintf("%d marks of tests were removed and %d added: tests are gone", marksLost, marksGained))
	}
	switch {
	case lost > gained:
		add(severity, c.Path, at, fmt.Sprintf("%d assertions were removed and %d added", lost, gained))
	case exactLost > exactGained:
		add(severity, c.Path, exactAt, fmt.Sprintf("assertions of exact values became looser: %d before, %d now", exactLost, exactGained))
	}
}

// tests are the changed files with tests: test files, and Rust sources with their own.
func (s *Submission) tests() []Changed {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c Changed) bool {
		if !c.textual() || goTestdata(c.Path) && path.Ext(c.Path) != ".go" {
			return true
		}
		if s.kind(c.Path) == Test || c.OldPath != "" && s.kind(c.OldPath) == Test {
			return false
		}
		return path.Ext(c.Path) != ".rs" || !slices.ContainsFunc(c.Lines, func(l Line) bool { return inlineTest().MatchString(l.Text) })
	})
}

// namesGone are the tests that a file loses and no file gains.
func namesGone(c Changed, everywhere map[string]bool) []string {
	var gone []string
	for _, l := range c.removed() {
		if name := testName(l.Text); name != "" && !everywhere[name] && !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
	}
	return gone
}

// named reports whether a deleted file had tests with names; of one without, nobody can see
// where they went.
func named(c Changed) bool {
	return slices.ContainsFunc(c.removed(), func(l Line) bool { return testName(l.Text) != "" })
}

// emptyTests are the tests that a change adds, or changes, and that demand nothing: their
// names, with the lines where they begin.
func emptyTests(c Changed) []Line {
	touched := map[int]bool{}
	for _, l := range c.Lines {
		touched[l.N] = true
	}
	lines := strings.Split(string(c.Head), "\n")
	var empty []Line
	for i, head := range lines {
		name := testName(head)
		if name == "" || strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Example") {
			continue
		}
		end := bodyEnd(lines, i)
		body := lines[i+1 : end]
		changed := false
		for n := i + 1; n <= end; n++ {
			changed = changed || touched[n]
		}
		if changed && demandsNothing(c.Path, head, body) {
			empty = append(empty, Line{N: i + 1, Text: name})
		}
	}
	return empty
}

// bodyEnd is where a test ends: before the next line that is as far to the left as its
// head and closes or begins something.
func bodyEnd(lines []string, head int) int {
	depth := indent(lines[head])
	for i := head + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "" && indent(lines[i]) <= depth {
			return i
		}
	}
	return len(lines)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// goTesting finds the value through which a Go test fails.
var goTesting = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[tfb]\b`) })

func demandsNothing(file, head string, body []string) bool {
	for _, line := range append(slices.Clone(body), oneLineBody(head)) {
		code := strings.TrimSpace(line)
		if code == "" || strings.HasPrefix(code, "//") || strings.HasPrefix(code, "#") && path.Ext(file) != ".rs" || trivial().MatchString(code) || code == "t.Parallel()" {
			continue
		}
		if path.Ext(file) == ".go" && goTesting().MatchString(code) || isAssertion(code) {
			return false
		}
	}
	return true
}

// oneLineBody returns the text on the line of the head after its arguments.
func oneLineBody(head string) string {
	for _, begin := range []string{"{", "=>", "):"} {
		if _, body, ok := strings.Cut(head, begin); ok {
			return body
		}
	}
	return ""
}

func after(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// literal is a string or a longer number in code.
var literal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"([^"\\]{2,})"|'([^'\\]{2,})'|\b(\d{2,})\b`)
})

// chooses is code that acts on one value, answers code that gives one back.
var chooses = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:if|elif|else if|case|when|match)\b.*|==|=>`)
})

var answers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\breturn\b|\bprint|\becho\b|=>|=\s`) })

// specialCases finds code that depends on the tests: it compares with a value of the tests and returns another one, on that
// line or one of the next two. Other ways to write an expected value into the code look like honest work here; the reviewer
// has to see them.
func (s *Submission) specialCases() []*blackboard.Finding {
	known := map[string]bool{}
	for _, c := range s.tests() {
		for _, l := range c.added() {
			for _, v := range literals(l.Text) {
				known[v] = true
			}
		}
	}
	var found []*blackboard.Finding
	for _, c := range s.Changes {
		if s.kind(c.Path) != Source || !c.textual() {
			continue
		}
		lines := c.added()
		for i, l := range lines {
			asked := firstKnown(known, l.Text, chooses())
			if asked == "" {
				continue
			}
			for _, next := range lines[i:min(i+3, len(lines))] {
				if answers().MatchString(next.Text) && slices.ContainsFunc(literals(next.Text), func(v string) bool { return known[v] && v != asked }) {
					found = append(found, &blackboard.Finding{Severity: Info, File: c.Path, Line: l.N,
						Message: "a special case for a value of the tests answers with another value of them: does the code know what the test expects?"})
					break
				}
			}
		}
	}
	return found
}

func firstKnown(known map[string]bool, line string, form *regexp.Regexp) string {
	if !form.MatchString(line) {
		return ""
	}
	for _, v := range literals(line) {
		if known[v] {
			return v
		}
	}
	return ""
}

func literals(line string) []string {
	var list []string
	for _, m := range literal().FindAllStringSubmatch(line, -1) {
		list = append(list, m[1]+m[2]+m[3])
	}
	return list
}
