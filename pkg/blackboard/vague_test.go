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
		"all tests pass, exit code 0", "tests pass"} {
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
