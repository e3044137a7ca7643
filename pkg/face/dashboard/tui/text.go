package tui

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
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
		column += dashboard.WidthOf(string(r))
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
	if dashboard.WidthOf(text) <= width {
		return []string{text}
	}
	lines := strings.Split(ansi.WrapWc(text, max(1, width), ""), "\n")
	if lines[0] == "" { // it breaks behind an indent that a long word follows
		lines = lines[1:]
	}
	return lines
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

// paint says how a piece of text is to look; the theme knows the colours.
type paint uint8

const (
	normal paint = iota
	faint
	bold
	good
	warn
	bad
	info
	accent
	inverse
	added
	removed
	paints // how many there are
)

// theme has the style of each paint, plain and under the cursor; without colours the cursor's mark is enough.
type theme struct {
	styles [paints]lipgloss.Style
	under  [paints]lipgloss.Style
}

// palette has a colour for each meaning. "" is none.
type palette struct {
	good, warn, bad, info, accent, faint string
	text, shade                          string // of the row under the cursor
}

// The palettes. Until the terminal has said what its background is, and if it never does, colours are its own, and no
// shade is safe. The others are of the 240 that are the same everywhere; text has a contrast of at least 4.5 to 1.
var (
	ownColours   = palette{good: "2", warn: "3", bad: "1", info: "4", accent: "6"}
	darkColours  = palette{good: "114", warn: "221", bad: "210", info: "111", accent: "116", faint: "248", text: "255", shade: "237"}
	lightColours = palette{good: "22", warn: "94", bad: "124", info: "25", accent: "23", faint: "241", text: "16", shade: "255"}
)

// themeFor is the theme for a background.
func themeFor(dark bool) theme {
	if dark {
		return newTheme(darkColours)
	}
	return newTheme(lightColours)
}

func newTheme(p palette) theme {
	plain := lipgloss.NewStyle()
	of := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	var t theme
	t.styles = [paints]lipgloss.Style{
		normal: plain, faint: plain.Faint(true), bold: plain.Bold(true), good: of(p.good), warn: of(p.warn), bad: of(p.bad), info: of(p.info), accent: of(p.accent),
		inverse: plain.Reverse(true), added: of(p.good), removed: of(p.bad),
	}
	if p.faint != "" {
		t.styles[faint] = of(p.faint)
	}
	for i, s := range t.styles {
		if p.shade != "" {
			if i == int(normal) || i == int(bold) || i == int(inverse) {
				s = s.Foreground(lipgloss.Color(p.text))
			}
			s = s.Background(lipgloss.Color(p.shade))
		}
		t.under[i] = s.Bold(true).Faint(false)
	}
	return t
}

// seg is a piece of a line. Its text is clean.
type seg struct {
	text  string
	paint paint
}

// line is one line of the screen.
type line []seg

func say(p paint, text string) line { return line{{text, p}} }

// cell is a piece of exactly n columns.
func cell(p paint, text string, n int) seg {
	text = dashboard.Fit(text, n)
	return seg{text + strings.Repeat(" ", max(0, n-dashboard.WidthOf(text))), p}
}

// right is a cell whose text is at its right end.
func right(p paint, text string, n int) seg {
	text = dashboard.Fit(text, n)
	return seg{strings.Repeat(" ", max(0, n-dashboard.WidthOf(text))) + text, p}
}

func gap(n int) seg { return seg{strings.Repeat(" ", max(0, n)), normal} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += dashboard.WidthOf(s.text)
	}
	return n
}

// draw is the line on exactly n columns.
func (t *theme) draw(l line, n int, under bool) string {
	styles := &t.styles
	if under {
		styles = &t.under
	}
	var b strings.Builder
	left := n
	for _, s := range l {
		if left <= 0 {
			break
		}
		text := dashboard.Fit(s.text, left)
		left -= dashboard.WidthOf(text)
		t.write(&b, styles, s.paint, text, under)
	}
	if left > 0 {
		t.write(&b, styles, normal, strings.Repeat(" ", left), under)
	}
	return b.String()
}

func (t *theme) write(b *strings.Builder, styles *[paints]lipgloss.Style, p paint, text string, under bool) {
	if p == normal && !under {
		b.WriteString(text)
		return
	}
	b.WriteString(styles[p].Render(text))
}

// tonePaints are the colours of statuses.
var tonePaints = map[blackboard.Tone]paint{blackboard.ToneBad: bad, blackboard.ToneWait: warn, blackboard.ToneWork: info, blackboard.ToneReview: accent,
	blackboard.ToneGood: good, blackboard.ToneQuiet: faint}

func paintOf(s blackboard.Status) paint { return tonePaints[s.Info().Tone] }

func glyph(s blackboard.Status) string { return s.Info().Glyph }
