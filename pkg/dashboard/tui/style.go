package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"liza/pkg/blackboard"
)

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

// theme has the style of each paint, plain and under the cursor. Colours are those of the terminal's own
// palette, so that they fit a light and a dark background; without colours the cursor's mark is enough.
type theme struct {
	styles [paints]lipgloss.Style
	under  [paints]lipgloss.Style
}

func newTheme(dark bool) theme {
	plain := lipgloss.NewStyle()
	of := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	var t theme
	t.styles = [paints]lipgloss.Style{
		normal: plain, faint: plain.Faint(true), bold: plain.Bold(true), good: of("2"), warn: of("3"), bad: of("1"), info: of("4"), accent: of("6"),
		inverse: plain.Reverse(true), added: of("2"), removed: of("1"),
	}
	shade := lipgloss.LightDark(dark)(lipgloss.Color("254"), lipgloss.Color("237"))
	for i, s := range t.styles {
		t.under[i] = s.Background(shade).Bold(true).Faint(false)
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
	text = fit(text, n)
	return seg{text + strings.Repeat(" ", max(0, n-widthOf(text))), p}
}

// right is a cell whose text is at its right end.
func right(p paint, text string, n int) seg {
	text = fit(text, n)
	return seg{strings.Repeat(" ", max(0, n-widthOf(text))) + text, p}
}

func gap(n int) seg { return seg{strings.Repeat(" ", max(0, n)), normal} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += widthOf(s.text)
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
		text := fit(s.text, left)
		left -= widthOf(text)
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

// paintOf is the colour of a status.
func paintOf(s blackboard.Status) paint {
	switch s {
	case blackboard.Claimed:
		return info
	case blackboard.ReadyForReview:
		return accent
	case blackboard.Rejected:
		return warn
	case blackboard.Approved, blackboard.Merged:
		return good
	case blackboard.Blocked, blackboard.IntegrationFailed:
		return bad
	case blackboard.Abandoned, blackboard.Superseded, blackboard.Draft:
		return faint
	}
	return normal
}

// glyph is a status in one column, for those who do not see its colour.
func glyph(s blackboard.Status) string {
	switch s {
	case blackboard.Claimed:
		return "▸"
	case blackboard.ReadyForReview:
		return "◎"
	case blackboard.Rejected:
		return "↺"
	case blackboard.Approved:
		return "✓"
	case blackboard.Merged:
		return "●"
	case blackboard.Blocked, blackboard.IntegrationFailed:
		return "✗"
	case blackboard.Superseded, blackboard.Abandoned:
		return "–"
	}
	return "○"
}
