// Package prose makes short texts for people: one line of many, a number with its noun, the first of a long list.
package prose

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// FirstLine returns text up to its first line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// LastLine returns the last line of text that is not blank.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Line returns a text of unknown origin on one line: control characters become spaces, and invisible characters and those
// that turn the direction of writing are removed.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// OneLine returns text on one line, its words one space apart, cut to most characters; 0: not cut.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(Line(text)), " ")
	if r := []rune(text); most > 0 && len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// Count returns n with its noun: "1 task", "2 tasks".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Few joins the first most entries of list, and adds the number of the others.
func Few(list []string, most int) string {
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, ", ")
}

// After returns text behind mark, or "" for an empty text.
func After(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// Plain returns text without the escape sequences of terminals and without control characters, but for line feeds and tabs.
// A carriage return ends a line: what it would overwrite stays. Bytes that are not UTF-8 become U+FFFD.
func Plain(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.ContainsRune(text, '\x1b') {
		text = escapes().ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]+[0-~]|.)")
})

// Cut returns the beginning of text in at most most bytes, whole characters; a text that was cut ends in "…".
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, most-len("…"))], "") + "…"
}

// Columns aligns a table; the last column may have any length.
func Columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

var (
	headingLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(#{1,6})\s+(.+?)\s*#*\s*$`) })
	notSlug     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`) })
)

// Section returns the section of a Markdown text under the heading that the anchor of ref names, as GitHub names headings;
// without such a heading, the whole text.
func Section(text, ref string) string {
	_, anchor, _ := strings.Cut(ref, "#")
	if anchor == "" {
		return text
	}
	var out []string
	depth, fenced := 0, false
	seen := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		fenced = fenced != strings.HasPrefix(strings.TrimSpace(line), "```")
		m := headingLine().FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m != nil && !fenced {
			if depth > 0 && len(m[1]) <= depth {
				break
			}
			if depth == 0 && slug(m[2], seen) == strings.ToLower(anchor) {
				depth = len(m[1])
			}
		}
		if depth > 0 {
			out = append(out, line)
		}
	}
	if depth == 0 {
		return text
	}
	return strings.Join(out, "\n")
}

// slug is the anchor of a heading; one that occurs again gets a number.
func slug(heading string, seen map[string]int) string {
	s := strings.ReplaceAll(notSlug().ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	n := seen[s]
	seen[s]++
	if n > 0 {
		return fmt.Sprintf("%s-%d", s, n)
	}
	return s
}
