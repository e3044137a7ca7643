package breaker

import (
	"fmt"
	"regexp"
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
