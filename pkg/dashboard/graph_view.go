package dashboard

import (
	"cmp"
	"slices"

	"liza/pkg/blackboard"
)

// BuildGraph lays out the tasks as Graph draws them.
//
// The critical path is the chain of open tasks, each waiting for the one before, that is expected to take longest: nothing that
// is done beside it makes the goal end sooner. An open task is expected to take as long as the agents worked on a
// merged one on average, less what they worked on it already; before anything is merged, each counts the same.
func BuildGraph(s *blackboard.State) GraphView { return newGraph(s).view() }

func (g *graph) view() GraphView {
	v := GraphView{Nodes: []Node{}, Edges: []Edge{}, Critical: []string{}}
	var place []point
	place, v.Width, v.Height = g.places()
	for i, t := range g.tasks {
		v.Nodes = append(v.Nodes, Node{ID: t.ID, Title: t.TitleText(), Status: t.Status, Depth: g.depth[i], X: place[i].x, Y: place[i].y, W: boxWidth, H: boxHeight, Critical: g.critical(i)})
	}
	g.edges(func(from, to int, superseded bool) {
		v.Edges = append(v.Edges, Edge{From: g.tasks[from].ID, To: g.tasks[to].ID, Superseded: superseded, Critical: !superseded && g.criticalEdge(from, to)})
	})
	for _, i := range g.path {
		v.Critical = append(v.Critical, g.tasks[i].ID)
	}
	return v
}

func (g *graph) critical(i int) bool { return slices.Contains(g.path, i) }

// criticalEdge reports whether both tasks follow each other on the critical path.
func (g *graph) criticalEdge(from, to int) bool {
	k := slices.Index(g.path, from)
	return k >= 0 && k+1 < len(g.path) && g.path[k+1] == to
}

// criticalPath is the chain of open tasks that is expected to take longest; one of a single task is none.
func (g *graph) criticalPath() []int {
	typical := g.typical()
	order := make([]int, 0, len(g.tasks))
	for i, t := range g.tasks {
		if g.depth[i] >= 0 && !t.Status.Terminal() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.depth[a], g.depth[b]) })
	length, before := map[int]float64{}, map[int]int{}
	end := -1
	for _, i := range order {
		before[i] = -1
		for _, d := range g.deps(i) {
			if length[d] > 0 && (before[i] < 0 || length[d] > length[before[i]]) {
				before[i] = d
			}
		}
		length[i] = length[before[i]] + expected(g.tasks[i], typical)
		if end < 0 || length[i] > length[end] {
			end = i
		}
	}
	var path []int
	for i := end; i >= 0; i = before[i] {
		path = append(path, i)
	}
	if len(path) < 2 {
		return nil
	}
	slices.Reverse(path)
	return path
}

// typical is how many seconds agents worked on a merged task on average, 0 when that is not known.
func (g *graph) typical() float64 {
	sum, n := 0, 0
	for _, t := range g.tasks {
		if t.Status == blackboard.Merged && t.Usage != nil && t.Usage.Seconds > 0 {
			sum += t.Usage.Seconds
			n++
		}
	}
	return float64(sum) / float64(max(1, n))
}

// expected is what an open task is going to take, in seconds, or 1 when nothing is known. Work that takes longer than
// others counts a little: it is not done.
func expected(t *blackboard.Task, typical float64) float64 {
	if typical == 0 {
		return 1
	}
	spent := 0.0
	if t.Usage != nil {
		spent = float64(t.Usage.Seconds)
	}
	return max(typical-spent, typical/10)
}
