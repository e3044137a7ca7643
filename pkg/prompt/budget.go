package prompt

import (
	"fmt"
	"strings"
)

// squeeze is the order in which sections give way (specs/roles-and-knowledge.md#2.6). Each first
// shrinks as far as needed, but not below its floor, and is then dropped if it may be.
// Sections that are not named here are never touched.
var squeeze = []struct {
	section string
	floor   int
	drop    bool
}{
	{"session_context", 500, true},
	{"related_tasks", 500, true},
	{"repo_structure", 500, true},
	{"relevant_files", 500, true},
	{"messages", 500, true},
	{"summary", 500, true},
	{"facts", 500, true},
	{"intent", 500, true},
	{"spec", 500, true},
	{"checks", 500, true},
	{"prior_attempts", 500, true},
	{"diff", 500, true},
	{"output", 2000, false},
	{"custom_instructions", 1000, false},
}

// closing is the last line of every prompt.
const closing = "End with exactly one exit command, as \"How to finish\" says."

// closingInteractive is it where a person works with the program.
const closingInteractive = "End the work with a command, as \"How to finish\" says, when the person agrees."

func (in *Input) closing() string {
	if in.Interactive {
		return closingInteractive
	}
	return closing
}

// draft is a prompt while it is put together.
type draft struct {
	in    *Input
	parts []part
}

// part is a section with its text.
type part struct {
	section
	in          *Input
	lead, whole string // whole: the text before any cut
	now         string // the text as it is sent
	note        string // command or path for the marker
	dropped     bool   // only the marker is left of it
}

// gather makes every section that the kind gets and that has something to say, each
// within its own limit.
func (d *draft) gather() {
	for _, s := range sections {
		if !d.in.gets(s.piece) || s.field != "" && d.in.Role.Uses(s.field) || d.in.resumed() && s.piece != "run" {
			continue
		}
		p := d.in.part(s)
		if p.lead == "" && p.whole == "" {
			continue
		}
		d.parts = append(d.parts, p)
	}
}

// part is a section with its text, within the section's own limit.
func (in *Input) part(s section) part {
	p := part{section: s, in: in}
	if s.lead != nil {
		p.lead, _ = clean(s.lead(in))
	}
	if s.text != nil {
		text, lost := clean(s.text(in))
		if lost > 0 && text != "" {
			text += fmt.Sprintf("\n[… %d unprintable bytes left out]", lost)
		}
		p.whole, p.now = text, text
	}
	if s.hint != nil {
		hint, _ := clean(s.hint(in))
		p.note = oneLine(hint, 200)
	}
	if s.limit > 0 {
		p.cut(s.limit)
	}
	return p
}

// cut shortens the part's text to limit bytes, the marker included.
func (p *part) cut(limit int) {
	if len(p.whole) <= limit {
		return
	}
	if p.fit != nil {
		p.now = p.fit(p.in, p.whole, limit, p.note)
		return
	}
	p.now = cutText(p.whole, limit, p.note)
}

// shrink makes sections give way until the prompt has at most limit bytes.
func (d *draft) shrink(limit int) {
	for _, q := range squeeze {
		for i := range d.parts {
			p := &d.parts[i]
			if p.name != q.section {
				continue
			}
			over := len(d.text()) - limit
			if over <= 0 {
				return
			}
			if target := max(q.floor, len(p.now)-over); target < len(p.now) {
				p.cut(target)
			}
			if q.drop && len(d.text()) > limit {
				p.dropped, p.now = true, marker(len(p.whole), p.heading+", "+p.note)
			}
		}
	}
}

// text is the whole prompt.
func (d *draft) text() string {
	var b strings.Builder
	for _, p := range d.parts {
		p.write(&b)
	}
	if d.in.resumed() {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String() + d.in.closing() + "\n"
}

func (p *part) write(b *strings.Builder) {
	if p.dropped {
		b.WriteString(p.now + "\n\n")
		return
	}
	if p.heading != "" {
		b.WriteString("## " + p.heading + "\n\n")
	}
	if p.lead != "" {
		b.WriteString(p.lead + "\n")
		if p.now != "" {
			b.WriteString("\n")
		}
	}
	if p.now != "" {
		b.WriteString(p.body() + "\n")
	}
	b.WriteString("\n")
}

// body is the text as it is sent: between fences when it comes from outside.
func (p *part) body() string {
	if p.fenced && p.now != "" {
		return fence(p.name, p.now)
	}
	return p.now
}

// shown is what the prompt is made of, for people.
func (d *draft) shown() []Section {
	var list []Section
	for _, p := range d.parts {
		var b strings.Builder
		p.write(&b)
		s := Section{Name: p.name, From: p.from, Bytes: b.Len()}
		if p.now != p.whole {
			s.Cut = len(p.whole) - len(p.now)
		}
		if p.name == "role" {
			s.From = d.in.Role.Source + ":" + d.in.Role.Name
			if d.in.Role.File != "" {
				s.From = d.in.Role.File
			}
		}
		list = append(list, s)
	}
	return list
}

// cuts says what was left out.
func (d *draft) cuts() []string {
	var list []string
	for _, p := range d.parts {
		if p.now != p.whole {
			list = append(list, fmt.Sprintf("%s: %d of %d bytes", p.name, len(p.now), len(p.whole)))
		}
	}
	return list
}
