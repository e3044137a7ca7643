package dashboard

import (
	"strings"
	"unicode"

	"liza/pkg/prose"
)

// plain is a text of unknown origin on one line, its words one space apart.
func plain(text string) string { return prose.OneLine(text, 0) }

// block is plain for a text of several lines.
func block(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		out = append(out, indentOf(line)+plain(line))
	}
	return out
}

func indentOf(line string) string {
	n := 0
	for n < len(line) && line[n] == ' ' {
		n++
	}
	return strings.Repeat(" ", n)
}

// wide are the ranges of characters that take two columns of a terminal.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// runeWidth is how many columns a character takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// widthOf is how many columns a text takes.
func widthOf(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// fit cuts a text to n columns; one that was cut ends in "…".
func fit(text string, n int) string {
	if widthOf(text) <= n {
		return text
	}
	if n <= 0 {
		return ""
	}
	used := 0
	for i, r := range text {
		w := runeWidth(r)
		if used+w > n-1 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
		used += w
	}
	return text
}

// Cut is a text of unknown origin on one line of at most n columns.
func Cut(text string, n int) string { return fit(prose.Line(text), n) }

// pad fills a text up to n columns.
func pad(text string, n int) string { return text + strings.Repeat(" ", max(0, n-widthOf(text))) }

// WidthOf is how many columns a line takes on a terminal.
func WidthOf(line string) int { return widthOf(line) }
