package blackboard

import (
	"strings"
	"testing"
)

// N-05: the examples of specs/roles-and-knowledge.md#3.4, and each vague phrase with and without
// something concrete beside it: without it is refused, with it there is a warning.
func TestVagueCriteria(t *testing.T) {
	t.Parallel()
	lint := func(text string) string { return LintDoneWhen(text, "Add a login", "The login page") }
	for _, good := range []string{"GET /users returns 200 with JSON array containing user objects", "429 responses trigger exponential backoff starting at 1s",
		"all tests pass, exit code 0"} {
		if why := lint(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
	for _, bad := range []string{"Rate limiting is handled appropriately", "works correctly", "login implemented", "TBD", "to be decided by the team", "ask ??? about it",
		"add a LOGIN!", "the-login-page", "short"} {
		if lint(bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	for _, phrase := range []string{"works", "works correctly", "works properly", "works well", "works fine", "as expected", "as intended", "properly", "correctly", "appropriately",
		"gracefully", "robust", "robustly", "reliable", "reliably", "user-friendly", "intuitive", "clean", "cleanly", "good", "nice", "better", "improved", "optimized", "fast",
		"efficient", "efficiently", "handles errors", "error handling", "handled", "supports", "as needed", "if necessary", "etc", "and so on", "should be ok", "complete",
		"completed", "done", "finished", "implemented"} {
		plain := "the answer of the server " + phrase + " for every user"
		if why := lint(plain); !strings.Contains(why, "vague") {
			t.Errorf("%q: %q", plain, why)
		}
		if phrase = strings.ToUpper(phrase[:1]) + phrase[1:]; lint(phrase+" is the answer of the server") == "" {
			t.Errorf("%q at the beginning passes", phrase)
		}
		for _, mark := range []string{"in 3 seconds", "with 'hello'", "with `x`", "in a/b", "in main.go", "for GET", "by read_all", "by open()", "by Go::New", "by readAll", "with --fast", "when a=b",
			"and returns nothing", "and prints text", "and exits early", "and fails loudly", "and passes tests", "and rejects others", "and raises errors", "and contains names", "and creates files",
			"and lists users", "and shows names"} {
			text := plain + " " + mark
			if why := lint(text); why != "" || DoubtDoneWhen(text) == "" {
				t.Errorf("%q: %q, doubt %q", text, why, DoubtDoneWhen(text))
			}
		}
	}
	if doubt := DoubtDoneWhen("prints 42"); doubt != "" {
		t.Errorf("a concrete criterion is doubted: %s", doubt)
	}
}

// What says nothing of its task is refused, and what can be seen is not, whatever words are in it.
func TestCriteriaThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"Tests pass", "All tests pass.", "The unit tests are green", "tests and lint pass", "The code compiles", "The build succeeds", "CI is green", "users are happy",
		"The product owner is satisfied with it", "All edge cases are covered", "Edge cases are considered", "every corner case is tested", "Code quality is acceptable", "Test coverage is increased",
		"performance is sufficient", "No bugs remain", "there are no regressions", "The feature is ready for production", "The login page is usable", "The parser is stable", "The bug is fixed",
		"The module is refactored", "Everything is fine", "It looks right", "The application runs smoothly", "the server responds quickly", "The code is readable", "Everything works"} {
		if why := LintDoneWhen(bad, "Add a login", "The login page"); !strings.Contains(why, "vague") {
			t.Errorf("%q: %q", bad, why)
		}
	}
	for _, good := range []string{"GET /users returns 200", "greet --name Ada prints Hello, Ada!", "The tests of the parser cover an empty file", "go test ./pkg/parse passes", "A user who is not signed in sees the login page",
		"The file hello.txt holds one line", "An empty name is refused with exit code 2", "The team page lists every member by name", "users are redirected to the start page after the login",
		"Coverage of pkg/parse is above 80 percent", "No request takes longer than 200 ms", "no error is logged when the cache is empty", "The button is grey while the form is sent", "A deleted order is gone from the list",
		"Two writers at the same moment lose nothing", "The page for a user that is not there says so", "The menu has an entry for the help", "Dates are shown in the zone of the reader", "The README has a section about the installation",
		"the build of the docs creates index.html", "The test suite has a test that fails when the lock is not taken", "Port 8080 is ready after 3 seconds", "The branch release is there", "make check passes with the new rule"} {
		if why := LintDoneWhen(good, "Add a login", "The login page"); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
}

// A task that only writes tests is seen by its title; one that is about a thing with "test" in its name is not.
func TestTitlesOfTestsAlone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"Add tests", "Write unit tests for the parser", "Improve test suite", "Improve the test coverage of pkg/parse", "Increase coverage to 80 percent", "Extend the integration tests", "Unit tests for the parser",
		"Tests of the login", "Test the login form", "Test that an empty name is refused", "Cover the parser with tests", "Create an end-to-end test", "Implement regression tests", "Add parser tests", "Expand test cases", "Missing tests for flags",
		"Write a test for the lock", "Strengthen the tests", "Provide test suite", "Cover edge cases by unit tests", "Raise test coverage"} {
		if !(&Task{Title: bad}).testsOnly() {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{"Add a login with tests", "Create a helper for tests", "Fix the tests", "Add contests", "Add a test runner", "Add test command", "Improve test runner output", "Write the parser and its tests", "Implement the login",
		"Create a page for test results", "Add a --test option", "Improve the error of a missing flag", "Provide a greeting command with tests", "Testimonials on the start page", "Tests run in parallel", "Cover the tracks of a deleted user",
		"Add the test server to compose", "Test-drive page", "Extend the parser by comments", "Increase the limit of uploads"} {
		if (&Task{Title: good}).testsOnly() {
			t.Errorf("%q is refused", good)
		}
	}
}
