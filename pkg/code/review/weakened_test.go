package review_test

import (
	"slices"
	"testing"

	"liza/pkg/code/review"
)

func TestTestsThatDemandLessAreSeen(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		file         string
		lost, gained []string
		want         string // "" nothing is found
	}{
		"Go, a test is gone":       {"a_test.go", []string{"func TestA(t *testing.T) {", "\tif got() != 1 {", "\t\tt.Error()", "\t}", "}"}, nil, "warning tests_weakened a_test.go:0 the test TestA is gone"},
		"Go, skipped":              {"a_test.go", nil, []string{"\tt.Skip(\"later\")"}, "warning tests_weakened a_test.go:1 a test is skipped, or others are because of it"},
		"Go, looser":               {"a_test.go", []string{"\tif got != \"Hello, Bob!\" {"}, []string{"\tif got == \"\" || !strings.Contains(got, \"Bob\") {"}, "warning tests_weakened a_test.go:1 assertions of exact values became looser: 1 before, 0 now"},
		"Go, another exact value":  {"a_test.go", []string{"\tif got != 42 {"}, []string{"\tif got != 43 {"}, ""},
		"Python, deleted":          {"test_a.py", []string{"def test_b():", "    assert b() == 1"}, nil, "warning tests_weakened test_a.py:0 the test test_b is gone"},
		"Python, skipped":          {"test_a.py", nil, []string{"@pytest.mark.skip(reason='slow')"}, "warning tests_weakened test_a.py:1 a test is skipped, or others are because of it"},
		"Python, expected to fail": {"test_a.py", nil, []string{"@pytest.mark.xfail"}, "warning tests_weakened test_a.py:1 a test is skipped, or others are because of it"},
		"Python, looser":           {"test_a.py", []string{"    assert b() == 1"}, []string{"    assert b() is not None"}, "warning tests_weakened test_a.py:1 assertions of exact values became looser: 1 before, 0 now"},
		"Python, fewer":            {"test_a.py", []string{"    assert b() == 1", "    assert c() == 2"}, []string{"    assert b() == 1"}, "warning tests_weakened test_a.py:1 2 assertions were removed and 1 added"},
		"Python, always true":      {"test_a.py", []string{"    assert b() == 1"}, []string{"    assert True"}, "warning tests_weakened test_a.py:1 1 assertions were removed and 0 added"},
		"JavaScript, focus":        {"a.test.js", nil, []string{"  it.only('a', () => {"}, "warning tests_weakened a.test.js:1 a test is skipped, or others are because of it"},
		"JavaScript, xit":          {"a.test.js", nil, []string{"  xit('a', () => { expect(a()).toBe(1) })"}, "warning tests_weakened a.test.js:1 a test is skipped, or others are because of it"},
		"JavaScript, looser":       {"a.test.ts", []string{"  expect(a()).toEqual(1)"}, []string{"  expect(a()).toBeTruthy()"}, "warning tests_weakened a.test.ts:1 assertions of exact values became looser: 1 before, 0 now"},
		"Rust, ignored":            {"tests/a.rs", nil, []string{"#[ignore]"}, "warning tests_weakened tests/a.rs:1 a test is skipped, or others are because of it"},
		"Rust, without its mark":   {"tests/a.rs", []string{"#[test]"}, nil, "warning tests_weakened tests/a.rs:1 1 marks of tests were removed and 0 added: tests are gone"},
		"Java, disabled":           {"src/test/ATest.java", nil, []string{"  @Disabled"}, "warning tests_weakened src/test/ATest.java:1 a test is skipped, or others are because of it"},
		"C#, skipped":              {"ATests.cs", nil, []string{"  [Fact(Skip = \"later\")]"}, "warning tests_weakened ATests.cs:1 a test is skipped, or others are because of it"},
		"Ruby, pending":            {"spec/a_spec.rb", nil, []string{"  pending"}, "warning tests_weakened spec/a_spec.rb:1 a test is skipped, or others are because of it"},
		"PHP, skipped":             {"ATest.php", nil, []string{"  $this->markTestSkipped();"}, "warning tests_weakened ATest.php:1 a test is skipped, or others are because of it"},
		"no test":                  {"a.go", []string{"\tt.Skip()", "\tassert(x)"}, nil, ""},
		"more of them":             {"a_test.go", []string{"\tif a != 1 {"}, []string{"\tif a != 1 {", "\tif b != 2 {"}, ""},
	} {
		c := change("M", x.file, x.lost, x.gained)
		c.Head = nil
		s := submission(c)
		delete(s.Settings.Checks, review.TestCoverage)
		if got := said(look(t, s)); x.want == "" && len(got) > 0 || x.want != "" && !slices.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

func TestADeletedOrMovedTest(t *testing.T) {
	t.Parallel()
	body := []string{"func TestA(t *testing.T) {", "\tcheck(t, a())", "}"}
	if got := said(look(t, submission(change("D", "a_test.go", body, nil)))); !slices.Equal(got, []string{"error tests_weakened a_test.go:0 was deleted, and its tests with it: TestA"}) {
		t.Errorf("deleted: %q", got)
	}
	lifted := submission(change("D", "a_test.go", body, nil))
	lifted.Task.LegacyTests = "b_test.go covers it"
	if got := said(look(t, lifted)); !slices.Equal(got, []string{"warning tests_weakened a_test.go:0 was deleted, and its tests with it: TestA; the task says why: b_test.go covers it"}) {
		t.Errorf("deleted with a reason: %q", got)
	}
	gone := change("M", "a_test.go", body, nil)
	gone.Head = []byte("package a\n")
	if got := said(look(t, submission(gone))); !slices.Equal(got, []string{"error tests_weakened a_test.go:0 was emptied: no test is left in it: TestA"}) {
		t.Errorf("emptied: %q", got)
	}
	if got := said(look(t, submission(change("D", "a_test.go", body, nil), change("A", "b_test.go", nil, body)))); len(got) != 0 {
		t.Errorf("moved: %q", got)
	}
}

func TestATestThatCannotFailIsSeen(t *testing.T) {
	t.Parallel()
	const finding = "checks nothing: it cannot fail"
	for name, x := range map[string]struct {
		file string
		text string
		bad  bool
	}{
		"Go, empty":             {"a_test.go", "func TestA(t *testing.T) {\n}\n", true},
		"Go, only calls":        {"a_test.go", "func TestA(t *testing.T) {\n\tt.Parallel()\n\tGreet(\"Bob\")\n}\n", true},
		"Go, on one line":       {"a_test.go", "func TestA(t *testing.T) { wants(t, Greet()) }\n", false},
		"Go, hands t on":        {"a_test.go", "func TestA(t *testing.T) {\n\trun(t, 1)\n}\n", false},
		"Go, tests":             {"a_test.go", "func TestA(t *testing.T) {\n\tif a() != 1 {\n\t\tt.Error()\n\t}\n}\n", false},
		"Python, pass":          {"test_a.py", "def test_a():\n    pass\n", true},
		"Python, true":          {"test_a.py", "def test_a():\n    x = a()\n    assert True\n", true},
		"Python, tests":         {"test_a.py", "class TestA:\n    def test_a(self):\n        self.assertEqual(a(), 1)\n", false},
		"Python, raises":        {"test_a.py", "def test_a():\n    with pytest.raises(ValueError):\n        a()\n", false},
		"JavaScript, empty":     {"a.test.js", "it('greets', () => {\n});\n", true},
		"JavaScript, true":      {"a.test.js", "it('greets', () => {\n  expect(true).toBe(true);\n});\n", true},
		"JavaScript, tests":     {"a.test.js", "it('greets', () => {\n  expect(greet('Bob')).toBe('Hello');\n});\n", false},
		"shell, a condition":    {"tests/greet.sh", "test \"$(sh greet.sh --name Ada)\" = \"Hello, Ada!\"\n", false}, // the tutorial's own (issue 25, 4.5)
		"shell, of a variable":  {"tests/greet.sh", "test \"$got\" != 'Hello!' && exit 1\n", false},
		"bats, empty":           {"a.bats", "@test \"greets\" {\n}\n", true},
		"JavaScript, on a line": {"a.test.js", "it('greets', () => expect(greet('Bob')).toBe('Hello'));\n", false},
	} {
		r := look(t, submission(added(x.file, x.text)))[review.Weakened]
		found := len(r.Findings) == 1 && r.Findings[0].Line == 1 && len(r.Findings[0].Message) > len(finding) && r.Findings[0].Message[len(r.Findings[0].Message)-len(finding):] == finding
		if found != x.bad || !x.bad && len(r.Findings) > 0 {
			t.Errorf("%s: %q", name, said(map[string]review.Result{"x": r}))
		}
	}
}

func TestASpecialCaseForATestIsAHint(t *testing.T) {
	t.Parallel()
	test := added("greet_test.py", "def test_greet():\n    assert greet(\"Bob\") == \"Hello, Bob!\"\n")
	for name, x := range map[string]struct {
		code string
		hint bool
	}{
		"knows the answer":  {"def greet(name):\n    if name == \"Bob\":\n        return \"Hello, Bob!\"\n    return \"\"\n", true},
		"on one line":       {"greet = lambda name: \"Hello, Bob!\" if name == \"Bob\" else \"\"\n", true},
		"works it out":      {"def greet(name):\n    return f\"Hello, {name}!\"\n", false},
		"an honest default": {"def greet(name):\n    if name == \"\":\n        return \"Hello!\"\n    return name\n", false},
	} {
		r := look(t, submission(added("greet.py", x.code), test))[review.Weakened]
		if got := len(r.Findings) == 1 && r.Findings[0].Severity == review.Info && r.Findings[0].File == "greet.py"; got != x.hint || !x.hint && len(r.Findings) > 0 {
			t.Errorf("%s: %q", name, said(map[string]review.Result{"x": r}))
		}
	}
}
