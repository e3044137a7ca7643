package tui

import (
	"image/color"
	"math"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// contrast is that of two colours by WCAG 2, from 1 to 21.
func contrast(a, b color.Color) float64 {
	luminance := func(c color.Color) float64 {
		linear := func(v uint32) float64 {
			if x := float64(v) / 0xffff; x > 0.04045 {
				return math.Pow((x+0.055)/1.055, 2.4)
			} else {
				return x / 12.92
			}
		}
		r, g, b, _ := c.RGBA()
		return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The backgrounds are black and white, and those of the themes that people have most.
func TestTextHasEnoughContrastOnDarkAndOnLightBackgrounds(t *testing.T) {
	t.Parallel()
	for dark, backgrounds := range map[bool][]string{
		true:  {"#000000", "#1e1e1e", "#282828", "#002b36", "#2e3440", "#282a36", "#300a24", "#1d1f21"},
		false: {"#ffffff", "#fdf6e3", "#fbf1c7", "#eff1f5", "#fafafa", "#f0f0f0"},
	} {
		for _, background := range backgrounds {
			behind := lipgloss.Color(background)
			m := send(begin(midSprint(), 80, 24), tea.BackgroundColorMsg{Color: behind})
			for p := range paints {
				at := func(place string, style lipgloss.Style, behind color.Color) {
					if got := contrast(style.GetForeground(), behind); got < 4.5 {
						t.Errorf("paint %d %s %s has a contrast of %.2f, want 4.5", p, place, background, got)
					}
				}
				if p != normal && p != bold && p != inverse { // those have the terminal's own colours
					at("on", m.theme.styles[p], behind)
				}
				at("under the cursor on", m.theme.under[p], m.theme.under[p].GetBackground())
			}
			if got := contrast(m.theme.under[normal].GetBackground(), behind); dark && got < 1.05 || !dark && got > 1.3 {
				t.Errorf("the shade of the cursor has a contrast of %.2f to %s", got, background)
			}
		}
	}
}

// A terminal that does not say what its background is may be light or dark.
func TestWithoutAnAnswerAboutTheBackgroundNothingIsShaded(t *testing.T) {
	t.Parallel()
	m := begin(midSprint(), 80, 24)
	for p := range paints {
		if m.theme.under[p].GetBackground() != (lipgloss.NoColor{}) {
			t.Errorf("paint %d has a shade", p)
		}
	}
}
