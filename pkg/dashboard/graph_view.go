package dashboard

import (
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

// GraphFormats are the formats of Graph.
var GraphFormats = []string{"text", "mermaid", "dot", "svg"}

// Graph draws the tasks with their dependencies and statuses. An unknown format is text.
func Graph(s *blackboard.State, format string) string {
	g := newGraph(s)
	switch format {
	case "mermaid":
		return g.mermaid()
	case "dot":
		return g.dot()
	case "svg":
		return g.svg()
	}
	return g.tree()
}
