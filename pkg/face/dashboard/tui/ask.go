package tui

import (
	"cmp"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/face/dashboard"
)

// ask is something that the person is asked for: a text, or yes or no.
type ask struct {
	head    string   // what will be done
	about   []string // what is needed to decide
	label   string   // before the text
	yesNo   bool
	filters bool // the text is the filter, as it is typed
	must    bool // an empty text is not enough
	input   editor
	do      func(text string) step
}

// answerAsk takes a key while something is asked.
func (m Model) answerAsk(k tea.KeyPressMsg) (Model, tea.Cmd) {
	a := *m.ask
	name := k.String()
	switch {
	case name == "ctrl+c":
		m.interrupted = true
		return m, tea.Quit
	case name == "ctrl+z":
		return m, tea.Suspend
	case name == "esc" || name == "alt+esc" || a.yesNo && (name == "n" || name == "q"):
		m.ask = nil
		if a.filters {
			return m.filtered(""), nil
		}
		m.said = said{text: "nothing was done"}
		return m, nil
	case a.yesNo:
		if name != "y" {
			return m, nil
		}
		m.ask = nil
		return m.carryOut(a.do(""))
	case name == "enter":
		text := strings.TrimSpace(a.input.String())
		if a.must && text == "" {
			return m, nil
		}
		m.ask = nil
		if a.filters {
			return m.filtered(text), nil
		}
		return m.carryOut(a.do(text))
	case a.filters && (name == "up" || name == "down"):
		m.ask = nil
		return m.moved(map[string]int{"up": -1, "down": 1}[name]), nil
	}
	a.input = a.input.press(k)
	m.ask = &a
	if a.filters {
		return m.filtered(a.input.String()), nil
	}
	return m, nil
}

// paste puts a text that was pasted where one is asked for.
func (m Model) paste(text string) Model {
	if m.ask == nil || m.ask.yesNo {
		return m
	}
	a := *m.ask
	a.input = a.input.insert(strings.Join(strings.Fields(text), " "))
	m.ask = &a
	if a.filters {
		return m.filtered(a.input.String())
	}
	return m
}

// lines are what is asked, over the lower lines of the panes.
func (a *ask) lines(width, most int) []line {
	if a.filters {
		return nil
	}
	out := []line{{{repeat("─", width), accent}}}
	for _, l := range paragraphs(a.head, width-2) {
		out = append(out, line{gap(1), {l, bold}})
	}
	for _, text := range a.about {
		for _, l := range paragraphs(text, width-4) {
			out = append(out, line{gap(3), {l, normal}})
		}
	}
	if room := max(2, most-1); len(out) > room {
		out = append(out[:room-1], say(faint, "   …"))
	}
	return out
}

// foot is where the text is typed.
func (a *ask) foot(width int) line {
	if a.yesNo {
		return line{{" y ", accent}, {"yes  ", normal}, {" n ", accent}, {"no", normal}}
	}
	const behind = "   enter sends, esc gives up"
	before, under, after := a.input.parts(max(10, width-dashboard.WidthOf(a.label)-dashboard.WidthOf(behind)-3))
	l := line{{" " + a.label + " ", accent}, {before, normal}, {under, inverse}, {after, normal}}
	if a.filters {
		return l
	}
	return append(l, seg{behind, faint})
}

// editor is one line of text with a cursor.
type editor struct {
	text []rune
	at   int
}

func newEditor(text string) editor {
	r := []rune(text)
	return editor{r, len(r)}
}

func (e editor) String() string { return string(e.text) }

func (e editor) insert(text string) editor {
	add := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	all := append([]rune{}, e.text[:e.at]...)
	return editor{append(append(all, add...), e.text[e.at:]...), e.at + len(add)}
}

func (e editor) cut(from, to int) editor {
	all := append([]rune{}, e.text[:from]...)
	return editor{append(all, e.text[to:]...), from}
}

// press takes a key as shells do.
func (e editor) press(k tea.KeyPressMsg) editor {
	switch k.String() {
	case "left", "ctrl+b":
		e.at = max(0, e.at-1)
	case "right", "ctrl+f":
		e.at = min(len(e.text), e.at+1)
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.text)
	case "backspace", "ctrl+h":
		if e.at > 0 {
			return e.cut(e.at-1, e.at)
		}
	case "delete", "ctrl+d":
		if e.at < len(e.text) {
			return e.cut(e.at, e.at+1)
		}
	case "ctrl+u":
		return e.cut(0, e.at)
	case "ctrl+k":
		return e.cut(e.at, len(e.text))
	case "ctrl+w", "alt+backspace":
		from := e.at
		for from > 0 && e.text[from-1] == ' ' {
			from--
		}
		for from > 0 && e.text[from-1] != ' ' {
			from--
		}
		return e.cut(from, e.at)
	default:
		return e.insert(k.Key().Text)
	}
	return e
}

// parts are the text before the cursor, as much of it as room has columns, that under it, and that behind it.
func (e editor) parts(room int) (before, under, after string) {
	from := max(0, e.at-room)
	for dashboard.WidthOf(clean(string(e.text[from:e.at]))) > room-1 {
		from++
	}
	before = clean(string(e.text[from:e.at]))
	if from > 0 {
		before = "…" + before
	}
	if e.at == len(e.text) {
		return before, " ", ""
	}
	// A character that is not shown has a place for the cursor all the same.
	return before, cmp.Or(clean(string(e.text[e.at])), " "), clean(start(string(e.text[e.at+1:])))
}

// content is what a place shows, for a box of that width.
func (m Model) content(p place, width int) content {
	switch p.kind {
	case taskPage, outputPage:
		return m.laidOut(p, width-1)
	}
	return m.paneOf(p).content(width)
}

// laid is a text that has been laid out.
type laid struct {
	width, seq int
	filter     string
	content    content
}

// laidOut lays a text out again only when it has been read again, or the width is another one: a key that
// scrolls must not cost what a long text does.
func (m Model) laidOut(p place, width int) content {
	seq, filter := m.got[want(p)].seq, m.filters[m.pane]
	if l, ok := m.laid[p]; ok && seq > 0 && l.width == width && l.seq == seq && l.filter == filter {
		return l.content
	}
	c := m.paneOf(p).content(width)
	if len(m.laid) > 20 { // pages that were looked at long ago
		clear(m.laid)
	}
	m.laid[p] = laid{width, seq, filter, c}
	return c
}

// text is a content that is scrolled.
func text(lines []line) content {
	return content{n: len(lines), row: func(i, _ int) line { return lines[i] }, empty: "reading …"}
}

// title is the line above what has been opened.
func (m Model) title(b box) line {
	p := accent
	if !b.focus {
		p = faint
	}
	l := line{{" ", normal}}
	if len(m.open) > 0 && b.focus && m.width < twoWide {
		l = append(l, seg{"‹ ", p})
	}
	if b.place.kind == helpPage {
		return append(l, seg{"Keys", bold}, seg{"   the faint ones are of no use for what was under the cursor", faint})
	}
	name := clean(b.place.name)
	l = append(l, seg{b.place.kind.String() + " ", p}, seg{name, bold})
	if t := m.task(b.place.name); t != nil {
		l = append(l, gap(1), seg{string(t.Status), paintOf(t.Status)}, gap(1), seg{flat(t.Title), faint})
	} else if picked := m.named(b.place.name); picked.agent != "" && picked.task != "" {
		l = append(l, seg{" on ", faint}, seg{clean(picked.task), normal})
	}
	return l
}

// unread is what to show instead of what could not be read; nil when it was.
func (s sight) unread(err error) []line {
	if err == nil {
		return nil
	}
	p := s.explain(err)
	out := []line{say(bad, clean(p.Message))}
	if p.Next != "" {
		out = append(out, say(accent, "next: "+clean(p.Next)))
	}
	return out
}
