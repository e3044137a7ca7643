package prompt

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
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

func newDraft(in *Input) (d draft, err error) {
	if in.rendered, err = in.Role.Render(in.data()); err != nil {
		return d, err
	}
	d.in = in
	d.gather()
	return d, nil
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

// resumed reports whether the program still knows the prompt of this unit of work.
func (in *Input) resumed() bool { return in.Reask != nil && in.Reask.Resumed }

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

// marker is where text was left out (specs/roles-and-knowledge.md#0.1).
func marker(n int, hint string) string {
	if hint == "" {
		return fmt.Sprintf("[… %d bytes left out]", n)
	}
	return fmt.Sprintf("[… %d bytes left out: %s]", n, hint)
}

// cutText keeps the beginning of a text, so that it has at most limit bytes with the
// marker. It never cuts within a rune.
func cutText(text string, limit int, hint string) string {
	if len(text) <= limit {
		return text
	}
	keep := firstBytes(text, max(0, limit-len(marker(len(text), hint))-1))
	return keep + "\n" + marker(len(text)-len(keep), hint)
}

func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return marker(at, "") + "\n" + text[at:]
}

// fitDiff keeps whole files of a diff, the smallest first, and names the rest.
func fitDiff(_ *Input, diff string, limit int, hint string) string {
	if len(diff) <= limit {
		return diff
	}
	files := splitDiff(diff)
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return len(files[order[a]]) < len(files[order[b]]) })
	kept := map[int]bool{}
	size := len(marker(len(diff), hint)) + 1
	for _, i := range order {
		if size+len(files[i]) > limit {
			break
		}
		size += len(files[i])
		kept[i] = true
	}
	if len(kept) == 0 { // not even one file fits: the beginning of the smallest
		keep := firstBytes(files[order[0]], max(0, limit-size))
		return keep + "\n" + marker(len(diff)-len(keep), hint)
	}
	var b strings.Builder
	left := 0
	names := []string{}
	for i, f := range files {
		if kept[i] {
			b.WriteString(f)
			continue
		}
		left += len(f)
		names = append(names, diffName(f))
	}
	rest := "Not shown: " + strings.Join(names, ", ")
	if size+len(rest)+1 <= limit {
		b.WriteString(rest + "\n")
	}
	return b.String() + marker(left, hint)
}

// splitDiff splits a diff at its files.
func splitDiff(diff string) []string {
	var files []string
	start := 0
	for {
		next := strings.Index(diff[start+1:], "\ndiff --git ")
		if next < 0 {
			return append(files, withNewline(diff[start:]))
		}
		end := start + 1 + next + 1
		files = append(files, diff[start:end])
		start = end
	}
}

func withNewline(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }

// diffName is the name of the file that a part of a diff is about.
func diffName(part string) string {
	line, _, _ := strings.Cut(part, "\n")
	if i := strings.LastIndex(line, " b/"); i >= 0 {
		return line[i+3:]
	}
	return line
}
