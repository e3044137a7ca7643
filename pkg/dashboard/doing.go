package dashboard

import (
	"fmt"
	"strings"

	"liza/pkg/activity"
)

// String is what a program does, in one line without the figures.
func (d Doing) String() string {
	switch activity.Kind(d.Kind) {
	case "":
		return "starts"
	case activity.Tool:
		return strings.TrimSpace("› " + plain(d.Tool) + "  " + plain(d.Text))
	case activity.Wait:
		return "waits for its provider: " + plain(d.Text)
	case activity.Error:
		return "error: " + plain(d.Text)
	}
	if d.Text == "" {
		return "writes"
	}
	return plain(d.Text)
}

// Figures are how long the run takes already, and what it has used as far as that is told: "4m, 12k tokens, $0.31".
func (d Doing) Figures() string {
	parts := []string{age(d.Seconds)}
	if n := d.TokensIn + d.TokensOut; n > 0 {
		parts = append(parts, Tokens(n))
	}
	if d.Cents != nil && *d.Cents > 0 {
		parts = append(parts, d.Cents.Dollars())
	}
	return strings.Join(parts, ", ")
}

// Tokens is a number of tokens for people: "812 tokens", "12k tokens", "1.2M tokens".
func Tokens(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%dk tokens", n/1000)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	}
	return fmt.Sprintf("%d tokens", n)
}

// doings is one line below the table for each agent whose program runs.
func (p *page) doings(agents []Agent) {
	first := true
	for _, a := range agents {
		if a.Doing == nil {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		figures := a.Doing.Figures()
		room := max(minWidth/2, p.width-2-widthOf(a.ID)-2-2-widthOf(figures))
		p.line("  " + a.ID + "  " + p.paint(cyan, fit(a.Doing.String(), room)) + "  " + p.paint(faint, figures))
	}
}

// DoingText is the part "Now" of what is shown of an agent or a task.
func DoingText(agent string, d Doing) string {
	return fmt.Sprintf("\nNow\n  %s  %s  (%s)\n  liza output %s -f\n", agent, d, d.Figures(), agent)
}
