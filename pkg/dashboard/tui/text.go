package tui

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"
)

// maxLine is how many bytes of a text are looked at for one line; no terminal shows more.
const maxLine = 4 << 10

const tabStop = 4

// maxMarks is how many combining characters one character keeps; a heap of them covers the lines above and below.
const maxMarks = 3

// clean makes one line of a text of unknown origin that a terminal shows as it is counted: control
// characters become their pictures, formatting characters (zero-width, direction) are left out, and letters
// are composed, because terminals do not agree on how wide the parts of a Korean syllable are.
func clean(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	column, marks := 0, 0
	for _, r := range norm.NFC.String(text) {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		} else if marks++; marks > maxMarks {
			continue
		}
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case r == '\r' || r == '\n':
			r = ' '
		case r < 0x20:
			r += 0x2400 // ␀ and those that follow
		case r == 0x7f:
			r = '␡'
		case invisible(r):
			continue
		}
		b.WriteRune(r)
		column += widthOf(string(r))
	}
	return b.String()
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// invisible are characters that terminals count in different ways, or that change what is around them.
func invisible(r rune) bool {
	if r < 0x80 {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		r >= 0x1f3fb && r <= 0x1f3ff || // skin tones
		r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff // parts of a syllable that is none
}

// paragraphs are the lines of a text, each wrapped to a width.
func paragraphs(text string, width int) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	var out []string
	for l := range strings.Lines(text) {
		out = append(out, wrapped(clean(strings.TrimRight(l, "\r\n")), width)...)
	}
	return out
}

func wrapped(text string, width int) []string {
	if widthOf(text) <= width {
		return []string{text}
	}
	lines := strings.Split(ansi.WrapWc(text, max(1, width), ""), "\n")
	if lines[0] == "" { // it breaks behind an indent that a long word follows
		lines = lines[1:]
	}
	return lines
}

func widthOf(text string) int {
	if isPlain(text) {
		return len(text)
	}
	return ansi.StringWidthWc(text)
}

// fit cuts a clean text to n columns; one that was cut ends in "…".
func fit(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case widthOf(text) <= n:
		return text
	case isPlain(text):
		return text[:n-1] + "…"
	}
	return ansi.TruncateWc(text, n, "…")
}

// oneLine is the first line of a text that has something on it.
func oneLine(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	return clean(start(strings.TrimSpace(line)))
}

// flat is a text of several lines on one.
func flat(text string) string { return clean(strings.Join(strings.Fields(start(text)), " ")) }

// start is as much of a text as is looked at for one line.
func start(text string) string {
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine], "")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
