package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
)

// graph is the tasks of a state as nodes, in the order of the board.
type graph struct {
	tasks []*blackboard.Task
	index map[string]int
	depth []int // longest way from a task without dependencies; -1: on a cycle
	path  []int // the critical one, in order
}

func newGraph(s *blackboard.State) *graph {
	if s == nil {
		return graphOf(nil)
	}
	return graphOf(s.TaskList())
}

func graphOf(tasks []*blackboard.Task) *graph {
	g := &graph{index: map[string]int{}}
	for _, t := range tasks {
		if _, twice := g.index[t.ID]; !twice {
			g.index[t.ID] = len(g.tasks)
			g.tasks = append(g.tasks, t)
		}
	}
	g.measure()
	g.path = g.criticalPath()
	return g
}

// deps are the dependencies of a task that are on the board, each once.
func (g *graph) deps(i int) []int {
	var list []int
	for _, id := range g.tasks[i].DependsOn {
		if d, ok := g.index[id]; ok && d != i && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// measure finds the depth of every task: first tasks without dependencies, then their dependents. The remaining ones are on a
// cycle or depend on one.
func (g *graph) measure() {
	n := len(g.tasks)
	g.depth = make([]int, n)
	open := make([]int, n)
	after := make([][]int, n)
	var ready []int
	for i := range g.tasks {
		deps := g.deps(i)
		open[i] = len(deps)
		g.depth[i] = -1
		for _, d := range deps {
			after[d] = append(after[d], i)
		}
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		g.depth[i] = 0
		for _, d := range g.deps(i) {
			g.depth[i] = max(g.depth[i], g.depth[d]+1)
		}
		for _, a := range after[i] {
			if open[a]--; open[a] == 0 {
				ready = append(ready, a)
			}
		}
	}
}

// tree draws each task once, below its deepest dependency: the tasks below one can begin when it is merged. The line names
// further dependencies.
func (g *graph) tree() string {
	if len(g.tasks) == 0 {
		return "no tasks yet\n"
	}
	children := make([][]int, len(g.tasks))
	var roots, cyclic []int
	for i := range g.tasks {
		switch parent := g.parent(i); {
		case g.depth[i] < 0:
			cyclic = append(cyclic, i)
		case parent < 0:
			roots = append(roots, i)
		default:
			children[parent] = append(children[parent], i)
		}
	}
	var b strings.Builder
	var walk func(i int, first, rest string)
	walk = func(i int, first, rest string) {
		b.WriteString(first + g.label(i) + "\n")
		for k, c := range children[i] {
			if k == len(children[i])-1 {
				walk(c, rest+"└─ ", rest+"   ")
			} else {
				walk(c, rest+"├─ ", rest+"│  ")
			}
		}
	}
	for _, r := range roots {
		walk(r, "", "")
	}
	for _, c := range cyclic {
		b.WriteString(g.label(c) + " (dependency cycle)\n")
	}
	return b.String() + "\n" + g.legend() + "\n" + g.pathLine()
}

// pathLine names the critical path.
func (g *graph) pathLine() string {
	if len(g.path) == 0 {
		return ""
	}
	var ids []string
	for _, i := range g.path {
		ids = append(ids, plain(g.tasks[i].ID))
	}
	return "critical path: " + strings.Join(ids, " → ") + "\n"
}

// parent is the deepest dependency of a task, -1 without one.
func (g *graph) parent(i int) int {
	parent := -1
	for _, d := range g.deps(i) {
		if parent < 0 || g.depth[d] > g.depth[parent] {
			parent = d
		}
	}
	return parent
}

func (g *graph) label(i int) string {
	t := g.tasks[i]
	text := fmt.Sprintf("%s %s %s  %s", t.Status.Info().Glyph, plain(t.ID), t.Status, Fit(plain(t.TitleText()), 60))
	if len(t.SupersededBy) > 0 {
		text += " → " + plain(strings.Join(t.SupersededBy, ", "))
	}
	parent := g.parent(i)
	var more []string
	for _, id := range t.DependsOn {
		d, known := g.index[id]
		switch {
		case !known:
			more = append(more, id+" (not on the board)")
		case d != parent || g.depth[i] < 0:
			more = append(more, id)
		}
	}
	if len(more) > 0 {
		text += " [after " + plain(strings.Join(more, ", ")) + "]"
	}
	return text
}

// legend explains the signs of the statuses that occur.
func (g *graph) legend() string {
	var list []string
	for _, x := range blackboard.StatusTable {
		n := 0
		for _, t := range g.tasks {
			if t.Status == x.Status {
				n++
			}
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %s (%d)", x.Glyph, x.Status, n))
		}
	}
	return strings.Join(list, "  ")
}

func (g *graph) mermaid() string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	escape := strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "[", "#91;", "]", "#93;", "(", "#40;", ")", "#41;")
	used := map[blackboard.Status]bool{}
	for i, t := range g.tasks {
		class := strings.ToLower(strings.ReplaceAll(plain(string(t.Status)), " ", "_"))
		fmt.Fprintf(&b, "  t%d[\"%s: %s<br/>%s\"]", i, escape.Replace(plain(t.ID)), escape.Replace(Fit(plain(t.TitleText()), 60)), escape.Replace(plain(t.Status.Info().Words)))
		if t.Status.Known() {
			used[t.Status] = true
			b.WriteString(":::" + class)
		}
		b.WriteString("\n")
	}
	g.edges(func(from, to int, superseded bool) {
		if superseded {
			fmt.Fprintf(&b, "  t%d -. replaced by .-> t%d\n", from, to)
			return
		}
		fmt.Fprintf(&b, "  t%d --> t%d\n", from, to)
	})
	for _, st := range blackboard.Statuses {
		if used[st] {
			fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:#555,color:#000\n", strings.ToLower(string(st)), st.Info().Fill)
		}
	}
	return b.String()
}

// edges calls draw for each dependency, from the earlier task, and for each replacement.
func (g *graph) edges(draw func(from, to int, superseded bool)) {
	for i, t := range g.tasks {
		for _, d := range g.deps(i) {
			draw(d, i, false)
		}
		for _, id := range t.SupersededBy {
			if n, ok := g.index[id]; ok && n != i {
				draw(i, n, true)
			}
		}
	}
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

// expected returns the remaining time of an open task in seconds, or 1 if unknown. A task that takes longer than the others
// counts a little: it is not done.
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

func (g *graph) critical(i int) bool { return slices.Contains(g.path, i) }

// criticalEdge reports whether both tasks follow each other on the critical path.
func (g *graph) criticalEdge(from, to int) bool {
	k := slices.Index(g.path, from)
	return k >= 0 && k+1 < len(g.path) && g.path[k+1] == to
}

// BuildGraph lays out the tasks for a picture: a column for each depth, from left to right, so that every line goes to the right.
//
// The critical path is the chain of open tasks, each waiting for the one before, with the longest expected time: work on
// other tasks does not make the goal end sooner. The expected time of an open task is the average working time of the merged
// ones, minus its own so far; before anything is merged, all tasks count the same.
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

// GraphText draws the tasks with their dependencies and statuses.
func GraphText(s *blackboard.State) string { return newGraph(s).tree() }

// The sizes of the picture in pixels: boxes, and the space between columns and between rows.
const (
	boxWidth, boxHeight = 230, 46
	columnGap, rowGap   = 60, 18
	pictureMargin       = 20
)

type point struct{ x, y int }

// places returns the corner of each task, and the size of the whole picture. In a column the rows of its dependencies
// determine the row of a task.
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
			place[i] = point{pictureMargin + c*(boxWidth+columnGap), pictureMargin + r*(boxHeight+rowGap)}
		}
		rows = max(rows, len(column))
	}
	return place, 2*pictureMargin + max(1, len(columns))*(boxWidth+columnGap) - columnGap, 2*pictureMargin + rows*(boxHeight+rowGap) - rowGap
}

// middle returns the mean row of a task's dependencies.
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
