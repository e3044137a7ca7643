package tui

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/dashboard"
)

// graphContent is the tasks in the order in which they can be done, with what each waits for. What lies
// on the longest chain of open tasks is marked.
func (m Model) graphContent() content {
	g, err, ok := of[dashboard.GraphView](m, want{kind: graph})
	if err != nil {
		return text(m.unread(err))
	}
	match := matcher(m.filters[graph])
	needs := map[string][]string{}
	for _, e := range g.Edges {
		if !e.Superseded {
			needs[e.To] = append(needs[e.To], e.From)
		}
	}
	nodes := slices.Clone(g.Nodes)
	slices.SortStableFunc(nodes, func(a, b dashboard.Node) int { return a.Depth - b.Depth })
	type row struct {
		node *dashboard.Node
		head string
	}
	var rows []row
	if len(g.Critical) > 0 {
		rows = append(rows, row{head: fmt.Sprintf("◆ the longest chain of open tasks, %d long", len(g.Critical))})
	}
	depth, ids := -1, 4
	for i := range nodes {
		n := &nodes[i]
		if !match(n.ID, n.Title, string(n.Status)) {
			continue
		}
		if n.Depth != depth {
			depth = n.Depth
			rows = append(rows, row{head: fmt.Sprintf("Step %d", depth+1)})
		}
		rows = append(rows, row{node: n})
		ids = max(ids, widthOf(clean(n.ID)))
	}
	empty := "no tasks yet"
	if !ok {
		empty = "reading …"
	}
	return content{n: len(rows), empty: empty,
		key: func(i int) string {
			if rows[i].node == nil {
				return ""
			}
			return "|" + rows[i].node.ID
		},
		row: func(i, width int) line {
			n := rows[i].node
			if n == nil {
				return say(faint, rows[i].head)
			}
			mark, p := "  ", normal
			if n.Critical {
				mark, p = "◆ ", warn
			}
			l := line{{mark, p}, {glyph(n.Status) + " ", paintOf(n.Status)}, cell(bold, clean(n.ID), min(ids, max(8, width/4))), gap(1)}
			after := needs[n.ID]
			if len(after) == 0 {
				return append(l, seg{flat(n.Title), normal})
			}
			tail := "← " + clean(start(strings.Join(after, ", ")))
			room := max((width-l.width())/2, width-l.width()-widthOf(tail)-1)
			return append(l, cell(normal, flat(n.Title), room), gap(1), seg{tail, faint})
		}}
}
