package breaker

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/board/blackboard"
)

const (
	maxNormal = 400     // characters of a text that are compared (specs/protocol.md#11.3)
	maxRaw    = 1 << 16 // bytes of a text that are normalised
)

// The differences between two reports of one problem. The order matters: a path may have digits.
var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[\w.-]*(/[\w.-]+)+`), "<p>"},
	{regexp.MustCompile(`\b0x[0-9a-f]+\b`), "<h>"},
	{regexp.MustCompile(`[0-9]+([.,][0-9]+)*`), "<n>"},
	// An apostrophe inside a word is not a quote.
	{regexp.MustCompile("\"[^\"]*\"|`[^`]*`|\\B'[^']*'\\B"), "<s>"},
}

// hexWord finds words that could be part of an object name; see isHex.
var hexWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[0-9a-f]{7,}\b`) })

// Normalise removes from a text the usual differences between two reports of one problem: case, paths, hex words, numbers,
// quoted strings and white space (specs/protocol.md#11.3). The result has at most 400 characters; it is "" for a text without
// content.
func Normalise(text string) string {
	if len(text) > maxRaw {
		text = text[:maxRaw]
	}
	text = strings.ToLower(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range replacements {
		text = r.pattern.ReplaceAllLiteralString(text, r.by)
		if i == 0 {
			text = hexWord().ReplaceAllStringFunc(text, hexToMark)
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxNormal {
		text = string(runes[:maxNormal])
	}
	return text
}

// hexToMark leaves words such as "defaced" alone: only one with a digit is a hex word.
func hexToMark(word string) string {
	if strings.ContainsAny(word, "0123456789") {
		return "<h>"
	}
	return word
}

// detail is the text of one detail of an anomaly, "" when there is none.
func detail(a *blackboard.Anomaly, key string) string {
	return strings.TrimSpace(textOf(a.Details[key]))
}

// textOf is a scalar, or a list of scalars, as text.
func textOf(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(x)
	case []string:
		return strings.Join(x, ", ")
	case blackboard.List:
		return strings.Join(x, ", ")
	case []any:
		var parts []string
		for _, e := range x {
			if _, nested := e.([]any); !nested {
				parts = append(parts, textOf(e))
			}
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// isTrue reads a detail that says yes or no.
func isTrue(a *blackboard.Anomaly, key string) bool {
	switch strings.ToLower(detail(a, key)) {
	case "true", "yes", "1":
		return true
	}
	return false
}

// Two texts are similar if 1 − distance / longer length is 7/10 or more: the distance may be 3/10 of the longer one.
const (
	mayDiffer = 3
	outOf     = 10
)

// word is a normalised text, made ready for comparisons.
type word struct {
	runes []rune
	pairs [256]int16 // number of occurrences of each pair of neighbours, several pairs to an index
}

func newWord(text string) *word {
	w := &word{runes: []rune(text)}
	for i := 1; i < len(w.runes); i++ {
		w.pairs[(w.runes[i-1]*31+w.runes[i])%256]++
	}
	return w
}

// Alike reports whether two texts, not normalised, differ in a tenth at most.
func Alike(a, b string) bool {
	return a != "" && b != "" && newWord(a).near(newWord(b), 1)
}

func (w *word) similar(to *word) bool { return w.near(to, mayDiffer) }

// near reports whether two words differ in at most that many tenths.
func (w *word) near(to *word, tenths int) bool {
	limit := max(len(w.runes), len(to.runes)) * tenths / outOf
	return w.atLeast(to) <= limit && within(w.runes, to.runes, limit)
}

// atLeast is a bound of the distance that costs little: one change touches at most two
// pairs of neighbours, so it takes away two and brings two.
func (w *word) atLeast(to *word) int {
	differ := 0
	for i, n := range w.pairs {
		if d := int(n - to.pairs[i]); d > 0 {
			differ += d
		} else {
			differ -= d
		}
	}
	return (differ + 3) / 4
}

// within reports whether the Levenshtein distance of a and b is at most limit. It computes
// only the part of the table near the diagonal, and ends as soon as the answer is clear.
func within(a, b []rune, limit int) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return false
	}
	far := limit + 1
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = min(j, far)
	}
	for i, r := range a {
		from, to := max(1, i+1-limit), min(len(b), i+1+limit)
		diagonal := row[from-1]
		row[from-1] = far
		if from == 1 {
			row[0] = min(i+1, far)
		}
		for j := from; j <= to; j++ {
			cost := diagonal
			if r != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1, far)
		}
		if slices.Min(row[from-1:to+1]) > limit {
			return false
		}
	}
	return row[len(b)] <= limit
}
