package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// colour is an ANSI colour; "" is none.
type colour string

const (
	none   colour = ""
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	blue   colour = "34"
	cyan   colour = "36"
	bold   colour = "1"
)

var statusColours = map[string]colour{
	"CLAIMED": blue, "READY_FOR_REVIEW": cyan, "REJECTED": yellow, "APPROVED": green, "MERGED": green, "BLOCKED": red,
	"INTEGRATION_FAILED": red, "ABANDONED": faint, "SUPERSEDED": faint, "DRAFT": faint,
	blackboard.AtCheckpoint: yellow, blackboard.Aborted: red, blackboard.Completed: green,
}

// page collects lines of at most width columns.
type page struct {
	b      strings.Builder
	width  int
	colour bool
}

func (p *page) line(text string) { p.b.WriteString(text + "\n") }

func (p *page) paint(c colour, text string) string {
	if !p.colour || c == none || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// title opens a part of the page.
func (p *page) title(text string) {
	if p.b.Len() > 0 {
		p.line("")
	}
	p.line(p.paint(bold, text))
}

// cut writes a line that is cut at the edge of the page.
func (p *page) cut(indent int, c colour, text string) {
	p.line(strings.Repeat(" ", indent) + p.paint(c, fit(plain(text), max(minWidth/2, p.width-indent))))
}

// wrap writes a text over as many lines as it takes.
func (p *page) wrap(indent int, c colour, text string) {
	for _, l := range wrapText(plain(text), max(minWidth/2, p.width-indent)) {
		p.line(strings.Repeat(" ", indent) + p.paint(c, l))
	}
}

func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case widthOf(line)+1+widthOf(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for widthOf(line) > width { // a word that is longer than a line
			head := strings.TrimSuffix(fit(line, width+1), "…")
			if head == "" {
				break
			}
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	return append(lines, line)
}

// wrapItems writes a list over as many lines as it takes; no item is broken.
func wrapItems(items []string, width int) []string {
	if len(items) == 0 {
		return []string{"none yet"}
	}
	lines := []string{items[0]}
	for _, item := range items[1:] {
		last := &lines[len(lines)-1]
		*last += ","
		if widthOf(*last)+1+widthOf(item)+1 <= width {
			*last += " " + item
		} else {
			lines = append(lines, item)
		}
	}
	return lines
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// rank orders statuses by how much a person wants to see them when not all fit.
func rank(s blackboard.Status) int {
	order := []blackboard.Status{blackboard.Blocked, blackboard.IntegrationFailed, blackboard.Claimed, blackboard.ReadyForReview, blackboard.Rejected,
		blackboard.Approved, blackboard.Unclaimed, blackboard.Draft}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return len(order)
}

// age is a duration for people: 45s, 12m, 3h, 2d.
func age(seconds int) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// near is the colour of a task's cost by how much of its limit is used (specs/roles-and-knowledge.md#8.2).
func near(t Task) colour {
	switch {
	case t.CostPercent >= 100:
		return red
	case t.CostPercent >= 75:
		return yellow
	case t.CostPercent > 0:
		return green
	}
	return none
}

// money is a cost for people: "$1.23", "≥ $1.23 ?" when some runs are of unknown cost, and
// "?" when all are. Where nothing ran there is none.
func money(c Cost) string {
	switch {
	case c.Runs == 0 && c.Cents == 0:
		return ""
	case c.UnknownRuns > 0 && c.Cents == 0:
		return "?"
	case c.UnknownRuns > 0:
		return "≥ " + c.Cents.Dollars() + " ?"
	}
	return c.Cents.Dollars()
}

// Widths that a page may have, and how many rows of tasks fit one screen.
const (
	minWidth = 40
	maxRows  = 20
)
