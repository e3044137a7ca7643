package dashboard

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"liza/pkg/blackboard"
)

var hunkHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`) })

// Lines are the lines of a patch with their numbers. Texts are as they are in the file, without the line break: views make
// them fit to be shown.
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

// FindingsOf are what the last review of a task found, and what people said about its lines since.
func FindingsOf(s *blackboard.State, t *blackboard.Task) []Finding {
	list := []Finding{}
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
		x := Finding{Severity: cmp.Or(f.Severity, "warning"), By: cmp.Or(f.Check, by, "review"), Path: f.File, Line: f.Line, Text: f.Message, Fix: f.Fix}
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

// Place puts each finding to its file; those whose file did not change stay with the whole change.
func (d *Diff) Place(findings []Finding) {
	at := map[string]int{}
	for i := range d.Files {
		d.Files[i].Findings, at[d.Files[i].Path] = []Finding{}, i
	}
	d.Findings = []Finding{}
	for _, f := range findings {
		if i, ok := at[strings.TrimPrefix(f.Path, "./")]; ok && f.Path != "" {
			d.Files[i].Findings = append(d.Files[i].Findings, f)
		} else {
			d.Findings = append(d.Findings, f)
		}
	}
}
