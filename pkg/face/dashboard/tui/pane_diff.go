package tui

import (
	"cmp"
	"fmt"

	"liza/pkg/face/dashboard"
)

// diffRows are the lines of a change with what was found at them.
type diffRows struct {
	diff *dashboard.Diff
	rows []diffRow
}

type diffRow struct {
	path    string
	head    *dashboard.DiffFile // of a file, or
	line    dashboard.DiffLine  // a line, or
	finding *dashboard.Remark
}

func diffRowsOf(d *dashboard.Diff) *diffRows {
	if d == nil {
		return nil
	}
	r := &diffRows{diff: d}
	for i := range d.Findings {
		r.rows = append(r.rows, diffRow{finding: &d.Findings[i]})
	}
	for i := range d.Files {
		f := &d.Files[i]
		r.rows = append(r.rows, diffRow{path: f.Path, head: f})
		placed := make([]bool, len(f.Findings))
		add := func(at int) {
			for k := range f.Findings {
				if !placed[k] && f.Findings[k].Line == at {
					placed[k] = true
					r.rows = append(r.rows, diffRow{path: f.Path, finding: &f.Findings[k]})
				}
			}
		}
		add(0)
		for _, l := range dashboard.Lines(f.Patch) {
			r.rows = append(r.rows, diffRow{path: f.Path, line: l})
			if l.New > 0 {
				add(l.New)
			}
		}
		for k := range f.Findings { // at lines that the patch does not show
			if !placed[k] {
				r.rows = append(r.rows, diffRow{path: f.Path, finding: &f.Findings[k]})
			}
		}
	}
	return r
}

func (s sight) diffOf(id string) (*diffRows, error, bool) {
	return of[*diffRows](s, want{diffPage, id})
}

func (x diffPane) content(int) content {
	d, err, ok := x.diffOf(x.name)
	switch {
	case !ok:
		return content{empty: "reading …"}
	case err != nil:
		return text(x.unread(err))
	case d == nil || len(d.rows) == 0:
		return content{empty: "nothing has been changed yet"}
	}
	return content{n: len(d.rows),
		key: func(i int) string { return fmt.Sprint(i + 1) },
		row: func(i, width int) line { return x.diffLine(d, i) }}
}

func (s sight) diffLine(d *diffRows, i int) line {
	r := d.rows[i]
	switch {
	case r.finding != nil:
		f := r.finding
		text := cmp.Or(clean(f.Severity), "note") + " " + clean(f.By) + ": " + flat(s.mask(f.Text))
		if f.Fix != "" {
			text += " → " + flat(s.mask(f.Fix))
		}
		l := line{{"          ", normal}, {"▲ ", severity(*f)}, {text, severity(*f)}}
		if r.path == "" && f.Path != "" {
			l = line{{"▲ ", severity(*f)}, {clean(placeOf(*f)) + " ", bold}, {text, severity(*f)}}
		}
		return l
	case r.head != nil:
		f := r.head
		name := clean(f.Path)
		if f.From != "" {
			name = clean(f.From) + " → " + name
		}
		l := line{{name + " ", bold}, {clean(f.Status) + " ", faint}, {fmt.Sprintf("+%d ", f.Added), added}, {fmt.Sprintf("-%d", f.Removed), removed}}
		if f.Binary {
			l = append(l, seg{" binary", faint})
		}
		return l
	}
	x := r.line
	text, p := clean(start(s.mask(x.Text))), normal
	switch x.Kind {
	case '@':
		return line{{"          ", normal}, {text, info}}
	case '+':
		p = added
	case '-':
		p = removed
	case '\\':
		p = faint
	}
	return line{right(faint, number(x.Old), 4), right(faint, number(x.New), 5), {" " + string(rune(x.Kind)), p}, {text, p}}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// nextMark is the next file or finding in that direction.
func (s sight) nextMark(id string, from, direction int) int {
	d, _, _ := s.diffOf(id)
	if d == nil {
		return from
	}
	for i := from + direction; i >= 0 && i < len(d.rows); i += direction {
		if d.rows[i].head != nil || d.rows[i].finding != nil {
			return i
		}
	}
	return from
}

// diffPlace is the place that the cursor is on: line 0 is the whole file, no path the whole change. A line that was
// removed has no place any more; the next one that is there has.
func (d acts) diffPlace() (path string, at int) {
	p := d.focus
	rows, _, _ := d.diffOf(p.name)
	i := d.at
	if rows == nil || i >= len(rows.rows) {
		return "", 0
	}
	r := rows.rows[i]
	switch {
	case r.finding != nil:
		return r.path, r.finding.Line
	case r.head != nil:
		return r.path, 0
	}
	for _, next := range rows.rows[i:] {
		if next.path == r.path && next.line.New > 0 {
			return r.path, next.line.New
		}
	}
	return r.path, 0
}

func (d acts) canComment() bool {
	rows, _, _ := d.diffOf(d.focus.name)
	return d.onDiff() && rows != nil && len(rows.rows) > 0
}
