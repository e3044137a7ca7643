package dashboard

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes of the picture in pixels: boxes, and the room between columns and between rows.
const (
	boxWidth, boxHeight = 230, 46
	columnGap, rowGap   = 60, 18
	svgMargin           = 20
	svgLabel            = 30 // characters of a title that fit into a box
)

// svg draws a column for each depth, from left to right, so that every line goes to the
// right; what lies on a cycle is in a column of its own at the end.
func (g *graph) svg() string {
	var b strings.Builder
	g.draw(&b, "<style>"+graphStyle+"</style>\n")
	return b.String() + "\n"
}

// draw is the picture, with something at its head.
func (g *graph) draw(b *strings.Builder, head ...string) {
	place, width, height := g.places()
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 %d %d" width="%d" height="%d" style="min-width:%dpx" role="img" aria-label="the tasks with what they wait for">`+"\n", width, height, width, height, width*7/10)
	b.WriteString(strings.Join(head, ""))
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(b, `<rect class="back" width="%d" height="%d"/>`+"\n", width, height)
	g.edges(func(from, to int, superseded bool) {
		class := "edge"
		if superseded {
			class = "edge instead"
		} else if g.criticalEdge(from, to) {
			class = "edge critical"
		}
		x1, y1, x2, y2 := place[from].x+boxWidth, place[from].y+boxHeight/2, place[to].x, place[to].y+boxHeight/2
		fmt.Fprintf(b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d" marker-end="url(#arrow)"/>`+"\n", class, x1, y1, x1+columnGap/2, y1, x2-columnGap/2, y2, x2, y2)
	})
	escape := html.EscapeString
	for i, t := range g.tasks {
		at := place[i]
		title, class := plain(t.TitleText()), "task"
		if t.Status.Known() {
			class += " " + strings.ToLower(string(t.Status))
		}
		if g.critical(i) {
			class += " critical"
		}
		fmt.Fprintf(b, `<g><title>%s: %s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, escape(plain(t.ID)), escape(title), class, at.x, at.y, boxWidth, boxHeight)
		fmt.Fprintf(b, `<text class="id" x="%d" y="%d">%s</text><text class="status" x="%d" y="%d" text-anchor="end">%s</text>`, at.x+8, at.y+17, escape(fit(plain(t.ID), svgLabel-12)),
			at.x+boxWidth-8, at.y+17, escape(plain(StatusWords(t.Status))))
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text></g>`+"\n", at.x+8, at.y+35, escape(fit(title, svgLabel)))
	}
	if len(g.tasks) == 0 {
		fmt.Fprintf(b, `<text x="%d" y="%d">no tasks yet</text>`+"\n", svgMargin, svgMargin+12)
	}
	b.WriteString("</svg>")
}

type point struct{ x, y int }

// places gives each task its corner, and the size of the whole picture. In a column a task
// is near what it depends on: its dependencies' rows decide its own.
func (g *graph) places() (place []point, width, height int) {
	var columns [][]int
	deepest := slices.Max(append([]int{0}, g.depth...))
	for i, d := range g.depth {
		if d < 0 {
			d = deepest + 1
		}
		for len(columns) <= d {
			columns = append(columns, nil)
		}
		columns[d] = append(columns[d], i)
	}
	row := make([]int, len(g.tasks))
	place = make([]point, len(g.tasks))
	rows := 1
	for c, column := range columns {
		slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(g.middle(a, row), g.middle(b, row)) })
		for r, i := range column {
			row[i] = r
			place[i] = point{svgMargin + c*(boxWidth+columnGap), svgMargin + r*(boxHeight+rowGap)}
		}
		rows = max(rows, len(column))
	}
	return place, 2*svgMargin + max(1, len(columns))*(boxWidth+columnGap) - columnGap, 2*svgMargin + rows*(boxHeight+rowGap) - rowGap
}

// middle is the mean row of what a task depends on.
func (g *graph) middle(i int, row []int) float64 {
	deps := g.deps(i)
	if len(deps) == 0 || g.depth[i] < 0 {
		return 0
	}
	sum := 0
	for _, d := range deps {
		sum += row[d]
	}
	return float64(sum) / float64(len(deps))
}

// graphStyle is shared by the picture of its own and the page of the report.
const graphStyle = `.graph{--edge:#8a8a94;--ink:#1b1b1f;--quiet:#55565f;--critical:#c2410c;--back:#fff;--draft:#eee;--unclaimed:#fff;--claimed:#cfe2ff;--ready_for_review:#cff4fc;--rejected:#fff3cd;--approved:#d1e7dd;--merged:#a3cfbb;--failed:#f8d7da;--over:#ddd}
@media (prefers-color-scheme:dark){.graph{--edge:#7b7c87;--ink:#e7e7ec;--quiet:#b5b6c0;--critical:#fb923c;--back:#1a1a1e;--draft:#2b2b31;--unclaimed:#1f1f25;--claimed:#1d3a63;--ready_for_review:#124653;--rejected:#4f3d0c;--approved:#1d4a37;--merged:#175239;--failed:#5b2129;--over:#333338}}
.graph{font:12px Helvetica,Arial,sans-serif}.graph text{fill:var(--ink)}.graph .status{font-size:10px;fill:var(--quiet)}.graph .id{font-weight:bold}.graph .back{fill:var(--back)}.graph .arrow{fill:var(--edge)}
.graph .edge{fill:none;stroke:var(--edge)}.graph .instead{stroke-dasharray:5 4}.graph .task{fill:var(--unclaimed);stroke:var(--edge)}.graph .edge.critical,.graph .task.critical{stroke:var(--critical);stroke-width:2}
.graph .draft{fill:var(--draft)}.graph .claimed{fill:var(--claimed)}.graph .ready_for_review{fill:var(--ready_for_review)}.graph .rejected{fill:var(--rejected)}.graph .approved{fill:var(--approved)}.graph .merged{fill:var(--merged)}.graph .blocked,.graph .integration_failed{fill:var(--failed)}.graph .abandoned,.graph .superseded{fill:var(--over)}
`
