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

const (
	minRest  = 8  // columns that the rest of a line has at least
	goodRest = 24 // below that, columns move closer together
)

// table draws rows in aligned columns. A column that is empty in every row is left out.
func (p *page) table(heads []head, rows [][]cell) {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i := range row {
			row[i].text = plain(row[i].text)
			if row[i].text != "" {
				widths[i] = max(widths[i], widthOf(row[i].text), widthOf(heads[i].name))
			}
		}
	}
	used, shown, rest := 0, 0, -1
	for i, h := range heads {
		if h.most > 0 {
			widths[i] = min(widths[i], h.most)
		}
		switch {
		case h.rest:
			rest = i
		case widths[i] > 0:
			used += widths[i]
			shown++
		}
	}
	gap := 2
	if p.width-used-gap*shown < goodRest {
		gap = 1
	}
	if rest >= 0 {
		widths[rest] = min(widths[rest], max(minRest, p.width-used-gap*shown))
	}
	titles := make([]cell, len(heads))
	for i, h := range heads {
		titles[i] = cell{h.name, faint}
	}
	for _, row := range append([][]cell{titles}, rows...) {
		p.row(heads, widths, gap, row)
	}
}

func (p *page) row(heads []head, widths []int, gap int, row []cell) {
	var b strings.Builder
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		text := fit(c.text, widths[i])
		space := strings.Repeat(" ", max(0, widths[i]-widthOf(text)))
		if heads[i].right {
			b.WriteString(space + p.paint(c.paint, text))
		} else {
			b.WriteString(p.paint(c.paint, text) + space)
		}
	}
	p.line(strings.TrimRight(b.String(), " "))
}
