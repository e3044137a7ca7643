package breaker_test

import (
	"strings"
	"testing"

	"liza/pkg/board/breaker"
)

func TestWhatDiffersBetweenTwoReportsIsTakenAway(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		" \t\n":                              "",
		"undefined: Foo at c/d.go:7":         "undefined: foo at <p>:<n>",
		"open /tmp/x-1/y.txt:  no such FILE": "open <p>: no such file",
		"commit 4f2a91c7 is not 0xDEADBEEF":  "commit <h> is not <h>",
		"defaced and 1234567":                "defaced and <h>",
		"took 1.5 s of 30":                   "took <n> s of <n>",
		`expected "a b", got 'c'`:            "expected <s>, got <s>",
		"can't read what `x` can't":          "can't read what <s> can't",
		"see https://example.com/a":          "see https:/<p>",
	} {
		if got := breaker.Normalise(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := breaker.Normalise(strings.Repeat("ä ", 1000)); len([]rune(got)) != 400 {
		t.Errorf("a long text has %d characters, want 400", len([]rune(got)))
	}
}
