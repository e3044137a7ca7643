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
	huge := strings.Repeat("a/b ", 1<<20)
	if !breaker.Similar(huge, huge+"c") {
		t.Error("texts that differ far behind what is looked at are not similar")
	}
}

func TestSevenTenthsAreSimilar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"abcdefghij", "abcdefgxyz", true},
		{"abcdefghij", "abcdefwxyz", false},
		{"abcdefghij", "abcdefghijklmn", true},   // 4 of 14
		{"abcdefghij", "abcdefghijklmno", false}, // 5 of 15 are more than 3/10
		{"abcdefghij", "xabcdefghi", true},
		{"a", "a", true},
		{"a", "b", false},
		{"", "", false},
		{"", "a", false},
		{"7", "8", true},
		{"größe", "grösse", false},
	} {
		if got := breaker.Similar(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: similar is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func FuzzSimilar(f *testing.F) {
	f.Add("undefined: Foo at a.go:12", "undefined: Bar at b.go:99")
	f.Add("\xff'`\"", "0x0/..-'")
	f.Add(strings.Repeat("a", 500), strings.Repeat("a", 350))
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := breaker.Normalise(a), breaker.Normalise(b)
		if n := len([]rune(x)); n > 400 {
			t.Errorf("%q has %d characters", x, n)
		}
		got := breaker.Similar(a, b)
		if got != breaker.Similar(b, a) {
			t.Errorf("%q and %q are similar in one direction only", a, b)
		}
		if breaker.Similar(a, a) != (x != "") {
			t.Errorf("%q and itself: similar is %v", a, x == "")
		}
		longer := max(len([]rune(x)), len([]rune(y)))
		want := x != "" && y != "" && 10*distance([]rune(x), []rune(y)) <= 3*longer
		if got != want {
			t.Errorf("%q and %q: similar is %v, want %v", x, y, got, want)
		}
	})
}

// distance is the textbook's.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
