package dashboard

import "strings"

// A cell is a text with its colour.
type cell struct {
	text  string
	paint colour
}

// A head is the heading of a column. One column may take what is left of the line.
type head struct {
	name  string
	right bool // aligned to the right
	rest  bool // takes what is left, and is cut
	most  int  // widest; 0: no limit
}

// table draws rows in aligned columns of at most width columns. A column that is empty in
// every row is left out.
func (p *page) table(heads []head, rows [][]cell) {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, c := range row {
			if c.text != "" {
				widths[i] = max(widths[i], widthOf(c.text), widthOf(heads[i].name))
			}
		}
	}
	used := len("  ")
	for i, h := range heads {
		if h.most > 0 {
			widths[i] = min(widths[i], h.most)
		}
		if widths[i] > 0 && !h.rest {
			used += widths[i] + len("  ")
		}
	}
	for i, h := range heads {
		if h.rest {
			widths[i] = min(widths[i], max(minTitle, p.width-used))
		}
	}
	titles := make([]cell, len(heads))
	for i, h := range heads {
		titles[i] = cell{h.name, faint}
	}
	p.row(heads, widths, titles)
	for _, row := range rows {
		p.row(heads, widths, row)
	}
}

// minTitle is how narrow the last column may get; below that the line grows too long.
const minTitle = 12

func (p *page) row(heads []head, widths []int, row []cell) {
	var b strings.Builder
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		text := fit(c.text, widths[i])
		padded := pad(text, widths[i])
		if heads[i].right {
			padded = padLeft(text, widths[i])
		}
		b.WriteString("  " + strings.Replace(padded, text, p.paint(c.paint, text), 1))
	}
	p.line(strings.TrimRight(b.String(), " "))
}
