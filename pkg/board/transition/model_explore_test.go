package transition

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
)

// graph is everything that can be reached from one world, by form.
type graph struct {
	steps []step
	ids   map[form]int32
	nodes []graphNode
	edges int

	twins map[int32]*world // some worlds whose form had another world before
}

type graphNode struct {
	parent int32 // by which it was found first
	step   int16 // and how
	marks  marks
	next   []edge
}

type edge struct {
	to   int32
	step int16
}

// marks are what the questions about the whole graph ask of a world.
type marks struct {
	over   bool // every task is terminal
	waits  bool // a person said stop: a hold, or a decision about a merge
	merged [maxTasks]bool
	doomed [maxTasks]bool // dropped or exhausted: it will never be merged
}

func (w *world) marks() marks {
	m := marks{over: true, waits: w.waitsForPerson()}
	for i, id := range w.size.tasks {
		if t := w.Find(id); t != nil {
			m.over = m.over && t.Status.Terminal()
			m.merged[i] = t.Status == blackboard.Merged
			m.doomed[i] = t.Status.Terminal() && !m.merged[i] || t.Exhausted() || w.nearlyExhausted(t)
		}
	}
	return m
}

// nearlyExhausted tells of a task whose iterations are used up, which makes it exhausted.
func (w *world) nearlyExhausted(t *blackboard.Task) bool {
	c := *t
	if last := t.LastClaimant(); !c.FailedBy.Has(last) {
		c.FailedBy = append(clone(c.FailedBy), last)
	}
	c.Failures++
	return (outOfIterations(w.board.State, t, w.facts(), w.now) || IterationsPast(w.board.State, t)) && c.Exhausted()
}

// found is one step that happened.
type found struct {
	step  int16
	form  form
	world *world
}

// expand takes every step from a world. What it finds wrong ends the exploration.
func expand(w *world, steps []step, known func(form) bool) (list []found, wrong string) {
	here := w.fork()
	moves := false
	for i, s := range steps {
		if s.do(here) != nil {
			continue // without a trace, as the exhaustive test shows
		}
		moves = moves || s.who == byTeam
		here.TakeEntries(0)
		f := found{int16(i), here.form(), here}
		look := invariants
		if !known(f.form) {
			look = append(look[:len(look):len(look)], choices)
		}
		for _, inv := range look {
			if what := inv.wrong(w, here); what != "" {
				return nil, fmt.Sprintf("%s: not true that %s: %s", s.name, inv.name, what)
			}
		}
		list = append(list, f)
		here = w.fork()
	}
	if !moves && w.everybodyAwake() {
		return list, w.asleep()
	}
	return list, ""
}

// explore finds everything that can be reached, breadth first. With most > 0 it stops after
// about so many worlds.
func explore(t *testing.T, first *world, steps []step, most int) *graph {
	t.Helper()
	g := &graph{steps: steps, ids: map[form]int32{first.form(): 0}, nodes: []graphNode{{parent: -1, marks: first.marks()}}, twins: map[int32]*world{}}
	frontier, ids := []*world{first}, []int32{0}
	for len(frontier) > 0 && (most == 0 || len(g.nodes) < most) {
		const portion = 1024
		n := min(portion, len(frontier))
		results, wrong := make([][]found, n), make([]string, n)
		parallel(n, func(i int) {
			if !g.nodes[ids[i]].marks.over {
				results[i], wrong[i] = expand(frontier[i], steps, func(f form) bool { _, ok := g.ids[f]; return ok })
			}
		})
		for i := range n {
			if wrong[i] != "" {
				t.Fatalf("%s\nafter: %s", wrong[i], g.way(ids[i]))
			}
			for _, f := range results[i] {
				to, ok := g.ids[f.form]
				if !ok {
					to = int32(len(g.nodes))
					g.ids[f.form] = to
					g.nodes = append(g.nodes, graphNode{parent: ids[i], step: f.step, marks: f.world.marks()})
					frontier, ids = append(frontier, f.world), append(ids, to)
				} else if g.edges%200 == 0 {
					g.twins[to] = f.world
				}
				g.nodes[ids[i]].next = append(g.nodes[ids[i]].next, edge{to, f.step})
				g.edges++
			}
			frontier[i] = nil
		}
		frontier, ids = frontier[n:], ids[n:]
	}
	if len(frontier) == 0 {
		g.compareTwins(t)
	}
	return g
}

// compareTwins takes worlds that were left aside because another one has the same form, and
// shows that the same happens in them: the form leaves out nothing that matters.
func (g *graph) compareTwins(t *testing.T) {
	t.Helper()
	for id, twin := range g.twins {
		if g.nodes[id].marks.over {
			continue
		}
		list, wrong := expand(twin, g.steps, func(form) bool { return true })
		if wrong != "" {
			t.Fatalf("%s\nin a twin of: %s", wrong, g.way(id))
		}
		was, is := map[int32]string{}, map[int32]string{}
		for _, e := range g.nodes[id].next {
			was[e.to] = g.steps[e.step].name
		}
		for _, f := range list {
			to, ok := g.ids[f.form]
			if !ok {
				to = -1
			}
			is[to] = g.steps[f.step].name
		}
		for to, name := range was {
			if is[to] == "" && to != id {
				t.Fatalf("two worlds of one form differ: %q leads somewhere else in the second\n%s\nafter: %s", name, twin.portrait(false), g.way(id))
			}
		}
		for to, name := range is {
			if was[to] == "" && to != id {
				t.Fatalf("two worlds of one form differ: %q leads somewhere else in the first\n%s\nafter: %s", name, twin.portrait(false), g.way(id))
			}
		}
	}
}

// parallel runs do for 0 to n-1 on all processors.
func parallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// way is how a world was reached.
func (g *graph) way(id int32) string {
	var names []string
	for ; g.nodes[id].parent >= 0; id = g.nodes[id].parent {
		names = append(names, g.steps[g.nodes[id].step].name)
	}
	slices.Reverse(names)
	return strings.Join(names, "\n       ")
}

// reaching marks the worlds from which a goal can be reached by the steps that count.
func (g *graph) reaching(goal func(marks) bool, counts func(step) bool) []bool {
	before := make([][]int32, len(g.nodes))
	reaches := make([]bool, len(g.nodes))
	var queue []int32
	for id := range g.nodes {
		for _, e := range g.nodes[id].next {
			if counts(g.steps[e.step]) {
				before[e.to] = append(before[e.to], int32(id))
			}
		}
		if goal(g.nodes[id].marks) {
			reaches[id] = true
			queue = append(queue, int32(id))
		}
	}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, p := range before[id] {
			if !reaches[p] {
				reaches[p] = true
				queue = append(queue, p)
			}
		}
	}
	return reaches
}

// A hope is something that stays possible.
type hope struct {
	name   string
	from   func(marks) bool // in which worlds
	goal   func(marks) bool
	counts func(step) bool // by which steps
}

// hopes are about the graph as a whole: there are no dead ends.
func (x model) hopes() []hope {
	anybody := func(step) bool { return true }
	list := []hope{
		{"every sprint can be brought to an end", func(marks) bool { return true }, func(m marks) bool { return m.over }, anybody},
		{"every sprint comes to an end without people, unless one said stop or has to decide", func(m marks) bool { return !m.waits },
			func(m marks) bool { return m.over || m.waits }, func(s step) bool { return s.who != byPeople }},
	}
	for i, id := range x.size.tasks {
		list = append(list, hope{id + " can still be merged, unless it was dropped or is exhausted",
			func(m marks) bool { return !x.drops && !m.doomed[i] }, func(m marks) bool { return m.merged[i] }, anybody})
	}
	return list
}

// check asks the questions about the graph as a whole.
func (g *graph) check(t *testing.T, x model) {
	t.Helper()
	happened := make([]bool, len(g.steps))
	for id := range g.nodes {
		for _, e := range g.nodes[id].next {
			happened[e.step] = true
		}
	}
	for i, s := range g.steps {
		if !happened[i] {
			t.Errorf("it never happens that %s", s.name)
		}
	}
	for _, h := range x.hopes() {
		reaches := g.reaching(h.goal, h.counts)
		for id := range g.nodes {
			if h.from(g.nodes[id].marks) && !reaches[id] {
				t.Errorf("not true that %s: after\n       %s", h.name, g.way(int32(id)))
				break
			}
		}
	}
}
