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
