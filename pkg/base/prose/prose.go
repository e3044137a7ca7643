// Package prose makes short texts for people: one line of many, a number with its noun, the first of a long list.
package prose

import (
	"fmt"
	"strings"
	"unicode"
)

// FirstLine is a text up to its first line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Line is a text of unknown origin on one line, without what moves a cursor or turns the direction of writing.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r == '\u200d': // joins emoji
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// OneLine is Line with at most so many characters, 0 for any number.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(Line(text)), " ")
	if r := []rune(text); most > 0 && len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// Count is "1 task", "2 tasks".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Few names the first of a list and says how many more there are.
func Few(list []string, most int) string {
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, ", ")
}
