package dashboard

import (
	"cmp"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/run/activity"
)

// Transcript formats the events of a run for people.
type Transcript struct {
	Width  int // columns of the terminal
	Colour bool

	usage activity.Event // the newest figures of the run
}

// maxAnswer is how many lines of a tool's answer are shown.
const maxAnswer = 6

// Text formats one event, with line breaks; "" for an event without a line of its own.
func (t *Transcript) Text(e activity.Event) string {
	p := &page{width: max(minWidth, t.Width), colour: t.Colour}
	at := p.paint(faint, e.At.Local().Format("15:04:05")) + " "
	const indent = 9
	say := func(c colour, text string) {
		first := true
		for _, line := range block(text) {
			for _, l := range wrapText(strings.TrimLeft(line, " "), p.width-indent-len(indentOf(line))) {
				before := at
				if !first {
					before = strings.Repeat(" ", indent)
				}
				first = false
				p.line(strings.TrimRight(before+indentOf(line)+p.paint(c, l), " "))
			}
		}
	}
	switch e.Kind {
	case activity.Run:
		t.usage = activity.Event{}
		what := strings.TrimSpace(e.Agent + prose.After(", run ", number(e.Number)) + prose.After(", ", e.Task) + prose.After(", ", strings.TrimSpace(e.Program+" "+e.Model)))
		title := Fit("── "+plain(what)+" ", p.width-indent)
		p.line(at + p.paint(bold, title+strings.Repeat("─", max(0, p.width-indent-WidthOf(title)))))
	case activity.Text:
		if e.Text != "" {
			say(none, e.Text)
		}
	case activity.Output:
		if e.Text != "" {
			say(none, e.Text)
		}
	case activity.Tool:
		say(cyan, "› "+e.Tool+"  "+e.Text)
	case activity.Result:
		lines := block(e.Text)
		for i, line := range lines {
			if len(lines) > maxAnswer && i == maxAnswer/2 {
				p.line(strings.Repeat(" ", indent+2) + p.paint(faint, fmt.Sprintf("… %d more lines", len(lines)-maxAnswer)))
			}
			if line != "" && (len(lines) <= maxAnswer || i < maxAnswer/2 || i >= len(lines)-maxAnswer/2) {
				p.cutRaw(indent+2, faint, line)
			}
		}
	case activity.Wait:
		text := "waits for its provider: " + e.Text
		if e.Until != nil {
			text += ", until " + e.Until.Local().Format("15:04:05")
		}
		say(yellow, text)
	case activity.Error:
		say(red, "error: "+e.Text)
	case activity.Note:
		say(yellow, "note from a person: "+e.Text)
	case activity.Usage:
		t.usage = e
	case activity.End:
		d := Doing{TokensIn: t.usage.In, TokensOut: t.usage.Out}
		var figures []string
		if n := d.TokensIn + d.TokensOut; n > 0 {
			figures = append(figures, Tokens(n))
		}
		if c := t.usage.Cents; c != nil && *c > 0 {
			figures = append(figures, fmt.Sprintf("$%.2f", *c/100))
		}
		text := "ended: " + cmp.Or(e.Text, "no word about how")
		if len(figures) > 0 {
			text += " (" + strings.Join(figures, ", ") + ")"
		}
		say(bold, text)
	}
	return p.b.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// cutRaw is cut for a line that is plain already, with its indent.
func (p *page) cutRaw(indent int, c colour, line string) {
	p.line(strings.Repeat(" ", indent) + p.paint(c, Fit(line, max(minWidth/2, p.width-indent))))
}
