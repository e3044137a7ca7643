package dashboard

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

var hunkHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`) })

// Lines splits a patch into numbered lines. Text is that of the file without its line break; the caller makes it safe to show.
func Lines(patch string) []DiffLine {
	var list []DiffLine
	before, after := 0, 0
	for text := range strings.Lines(patch) {
		text = strings.TrimSuffix(text, "\n")
		if m := hunkHead().FindStringSubmatch(text); m != nil {
			before, _ = strconv.Atoi(m[1])
			after, _ = strconv.Atoi(m[2])
			list = append(list, DiffLine{Kind: '@', Text: text})
			continue
		}
		l := DiffLine{Kind: ' '}
		if text != "" {
			l.Kind, l.Text = text[0], text[1:]
		}
		switch l.Kind {
		case '+':
			l.New = after
			after++
		case '-':
			l.Old = before
			before++
		case '\\':
		default:
			if l.Kind != ' ' { // not of a patch
				l.Kind, l.Text = ' ', text
			}
			l.Old, l.New = before, after
			before++
			after++
		}
		list = append(list, l)
	}
	return list
}

// FindingsOf returns the findings of the last review of t, then the comments of people since.
func FindingsOf(s *blackboard.State, t *blackboard.Task) []Remark {
	list := []Remark{}
	by, found := "", []*blackboard.Finding(nil)
	switch {
	case t.Review != nil:
		by, found = t.WholeReview().By, t.Review.Findings
	case t.RejectionReason != nil:
		found = t.RejectionReason.Findings
	}
	told := map[blackboard.Finding]bool{}
	add := func(f *blackboard.Finding) {
		if f == nil || told[*f] {
			return
		}
		told[*f] = true
		x := Remark{Severity: cmp.Or(f.Severity, "warning"), By: cmp.Or(f.Check, by, "review"), Path: f.File, Line: f.Line, Text: f.Message, Fix: f.Fix}
		if name, ok := f.Commenter(); ok {
			x.By, x.Person = cmp.Or(name, "a person"), true
		}
		list = append(list, x)
	}
	for _, f := range found {
		add(f)
	}
	for _, n := range s.OpenComments(t) {
		add(n.Finding())
	}
	return list
}

// Place assigns each finding to its file; one whose file did not change stays with the whole diff.
func (d *Diff) Place(findings []Remark) {
	at := map[string]int{}
	for i := range d.Files {
		d.Files[i].Findings, at[d.Files[i].Path] = []Remark{}, i
	}
	d.Findings = []Remark{}
	for _, f := range findings {
		if i, ok := at[strings.TrimPrefix(f.Path, "./")]; ok && f.Path != "" {
			d.Files[i].Findings = append(d.Files[i].Findings, f)
		} else {
			d.Findings = append(d.Findings, f)
		}
	}
}

// DiffText returns d as git prints it, with each finding below its line. With screen, characters that would act on a terminal are
// written out; colour adds git's colours.
func DiffText(d *Diff, colour, screen bool) string {
	p := &diffPage{page: page{colour: colour}, screen: screen}
	for _, f := range d.Findings {
		p.finding(f, f.Path+prose.After(":", lineText(f.Line)))
	}
	for _, f := range d.Files {
		p.file(f)
	}
	if d.Cut {
		all := "; git diff " + d.Base + " " + d.Commit + " has all"
		if d.Live {
			all = ""
		}
		p.line(p.paint(yellow, "… the change is too large to be shown whole"+all))
	}
	return p.b.String()
}

type diffPage struct {
	page
	screen bool
}

func (p *diffPage) show(text string) string {
	if p.screen {
		return Visible(text)
	}
	return text
}

func (p *diffPage) file(f DiffFile) {
	from := cmp.Or(f.From, f.Path)
	head := func(format string, args ...any) { p.line(p.paint(bold, fmt.Sprintf(format, args...))) }
	head("diff --git %s %s", gitPath("a/"+from), gitPath("b/"+f.Path))
	if f.OldMode != "" && f.OldMode != f.Mode {
		head("old mode %s", f.OldMode)
		head("new mode %s", f.Mode)
	}
	switch f.Status {
	case "added":
		head("new file mode %s", f.Mode)
	case "deleted":
		head("deleted file mode %s", f.Mode)
	case "renamed":
		head("rename from %s", gitPath(from))
		head("rename to %s", gitPath(f.Path))
	}
	if f.Binary {
		p.line(fmt.Sprintf("Binary files %s and %s differ", gitPath("a/"+from), gitPath("b/"+f.Path)))
	}
	lines := Lines(f.Patch)
	if len(lines) > 0 {
		before, now := gitPath("a/"+from), gitPath("b/"+f.Path)
		if f.Status == "added" {
			before = "/dev/null"
		}
		if f.Status == "deleted" {
			now = "/dev/null"
		}
		head("--- %s", before)
		head("+++ %s", now)
	}
	at := map[int][]Remark{}
	for _, x := range f.Findings {
		if i := slices.IndexFunc(lines, func(l DiffLine) bool { return x.Line > 0 && l.New == x.Line }); i >= 0 {
			at[x.Line] = append(at[x.Line], x)
		} else {
			p.finding(x, prose.After("line ", lineText(x.Line)))
		}
	}
	for _, l := range lines {
		p.diffLine(l)
		for _, x := range at[l.New] {
			p.finding(x, "")
		}
	}
	if f.Cut {
		p.line(p.paint(yellow, "… the rest of "+p.show(f.Path)+" is not shown"))
	}
}

func (p *diffPage) diffLine(l DiffLine) {
	text := p.show(l.Text)
	switch l.Kind {
	case '@':
		head, context, _ := strings.Cut(text[2:], "@@")
		p.line(p.paint(cyan, "@@"+head+"@@") + context)
	case '+':
		p.line(p.paint(green, "+"+text))
	case '-':
		p.line(p.paint(red, "-"+text))
	default:
		p.line(string(rune(l.Kind)) + text)
	}
}

// marks and colours of findings, by their severity.
var findingMarks = map[string]struct {
	sign   string
	colour colour
}{"error": {"▲", red}, "warning": {"△", yellow}, "info": {"·", faint}}

// Mark returns the sign of the finding; a person's comment has its own.
func (f Remark) Mark() string {
	if f.Person {
		return "✎"
	}
	return cmp.Or(findingMarks[f.Severity].sign, "△")
}

func (p *diffPage) finding(f Remark, place string) {
	label := plain(f.Severity) + " · " + plain(f.By)
	if f.Person {
		label = plain(f.By)
	}
	c := cmp.Or(findingMarks[f.Severity].colour, yellow)
	p.line(p.paint(c, "  "+f.Mark()+" "+label+prose.After(" · ", plain(place))+": "+plain(f.Text)))
	if f.Fix != "" {
		p.line(p.paint(c, "    fix: "+plain(f.Fix)))
	}
}

func lineText(line int) string {
	if line == 0 {
		return ""
	}
	return strconv.Itoa(line)
}

// gitPath is a path as git writes it: one with characters that could end the line is quoted.
func gitPath(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	return name
}

// Visible returns a line of a file for a terminal: characters that move the cursor, change colours or direction, or hide text are
// written out.
func Visible(text string) string {
	odd := func(r rune) bool {
		return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString("^" + string(r^0x40))
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// DiffStat returns the lines of git diff --stat, with the number of findings of each file.
func DiffStat(d *Diff, width int, colour bool) string {
	p := &page{width: width, colour: colour}
	names, counts := make([]string, len(d.Files)), make([]string, len(d.Files))
	nameWidth, countWidth, most := 0, 0, 0
	for i, f := range d.Files {
		names[i], counts[i] = gitPath(f.Path), fmt.Sprint(f.Added+f.Removed)
		if f.From != "" {
			names[i] = gitPath(f.From) + " => " + gitPath(f.Path)
		}
		if f.Binary {
			counts[i] = "Bin"
		}
		nameWidth, countWidth, most = max(nameWidth, WidthOf(names[i])), max(countWidth, len(counts[i])), max(most, f.Added+f.Removed)
	}
	nameWidth = min(nameWidth, max(20, width*5/8-10))
	room := max(10, width-nameWidth-countWidth-12)
	for i, f := range d.Files {
		plus, minus := f.Added, f.Removed
		if most > room {
			plus, minus = share(f.Added, room, most), share(f.Removed, room, most)
		}
		line := " " + pad(tail(names[i], nameWidth), nameWidth) + " | " + strings.Repeat(" ", countWidth-len(counts[i])) + counts[i] + " " +
			p.paint(green, strings.Repeat("+", plus)) + p.paint(red, strings.Repeat("-", minus))
		if n := len(f.Findings); n > 0 {
			line = strings.TrimRight(line, " ") + p.paint(yellow, fmt.Sprintf("  ▲ %d", n))
		}
		p.line(strings.TrimRight(line, " "))
	}
	p.line(" " + d.Summary())
	return p.b.String()
}

// share is a part of the room, never nothing for something.
func share(n, room, most int) int {
	if n == 0 {
		return 0
	}
	return max(1, n*room/most)
}

// tail is the end of a path that is too long: the beginning says less.
func tail(name string, width int) string {
	if WidthOf(name) <= width {
		return name
	}
	r := []rune(name)
	for len(r) > 0 && WidthOf(string(r)) > width-1 {
		r = r[1:]
	}
	return "…" + string(r)
}

// Summary returns the last line of git diff --stat.
func (d *Diff) Summary() string {
	text := prose.Count(len(d.Files), "file") + " changed"
	if d.Added > 0 {
		text += fmt.Sprintf(", %s(+)", prose.Count(d.Added, "insertion"))
	}
	if d.Removed > 0 {
		text += fmt.Sprintf(", %s(-)", prose.Count(d.Removed, "deletion"))
	}
	return text
}

// Only removes the files that no entry of paths names (file, folder or pattern), and reports whether any file remains.
func (d *Diff) Only(paths []string) bool {
	d.Files = slices.DeleteFunc(slices.Clone(d.Files), func(f DiffFile) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return names(p, f.Path) || f.From != "" && names(p, f.From) })
	})
	d.Added, d.Removed, d.Findings = 0, 0, []Remark{}
	for _, f := range d.Files {
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
	}
	return len(d.Files) > 0
}

func names(pattern, file string) bool {
	pattern = path.Clean(pattern)
	matched, _ := path.Match(pattern, file)
	base, _ := path.Match(pattern, path.Base(file)) // as git's patterns without a slash
	return pattern == "." || matched || base && !strings.Contains(pattern, "/") && strings.ContainsAny(pattern, "*?[") || strings.HasPrefix(file, pattern+"/")
}
