package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.View{AltScreen: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: m.windowTitle()}
	switch {
	case m.width <= 0 || m.height <= 0:
	case m.width < minColumns || m.height < minLines:
		v.Content = fit("too small for liza top", m.width)
	default:
		v.Content = strings.Join(m.screen(), "\n")
	}
	return v
}

func (m Model) windowTitle() string {
	title := "liza"
	switch {
	case m.travel.shown:
		title += fmt.Sprintf(", as it was at revision %d", m.view.Revision)
	case m.read:
		title += " " + m.doneOf()
		if k := len(m.view.Waiting) + len(m.view.GaveUp); k > 0 {
			title += fmt.Sprintf(", %d for you", k)
		}
	}
	return title
}
