package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestTheGraphIsDrawnAsRecorded(t *testing.T) {
	t.Parallel()
	golden(t, "graph.txt", GraphText(busy()))
	golden(t, "graph.mmd", newGraph(busy()).mermaid())
	if got := GraphText(&blackboard.State{}); got != "no tasks yet\n" {
		t.Errorf("an empty board: %q", got)
	}
}

func TestEachTaskStandsInTheGraphOnce(t *testing.T) {
	t.Parallel()
	s := crowd(300)
	for i, task := range s.TaskList() { // a dense graph
		for d := 1; d <= 5 && i-d*d >= 0; d++ {
			task.DependsOn = append(task.DependsOn, s.TaskAt(i-d*d).ID)
		}
	}
	text := GraphText(s)
	for task := range s.Tasks() {
		if n := strings.Count(text, " "+task.ID+" "+string(task.Status)); n != 1 {
			t.Errorf("%s stands there %d times", task.ID, n)
		}
	}
}

func TestACycleIsShownNotFollowed(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With([]*blackboard.Task{
		{ID: "a", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"b"}}, {ID: "b", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"a"}},
		{ID: "c", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"a"}}, {ID: "d", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"d", "x"}},
	}...)
	wants(t, GraphText(s), "○ a UNCLAIMED   [after b] (dependency cycle)", "○ b UNCLAIMED   [after a] (dependency cycle)", "○ c UNCLAIMED   [after a] (dependency cycle)", "x (not on the board)")
	wants(t, newGraph(s).mermaid(), "t0 --> t1", "t1 --> t0")
}

// No two boxes lie on each other.
func TestEachTaskHasItsPlaceInThePicture(t *testing.T) {
	t.Parallel()
	s := crowd(300)
	for i, task := range s.TaskList() {
		for d := 1; d <= 5 && i-d*d >= 0; d++ {
			task.DependsOn = append(task.DependsOn, s.TaskAt(i-d*d).ID)
		}
	}
	places := map[[2]int]bool{}
	for _, n := range BuildGraph(s).Nodes {
		places[[2]int{n.X, n.Y}] = true
	}
	if len(places) != 300 {
		t.Errorf("300 tasks have %d places", len(places))
	}
}

func TestTitlesCannotBreakAGraph(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With(&blackboard.Task{ID: "a", Status: blackboard.Merged, Title: `"]; evil --> <b> & \ #`})
	wants(t, newGraph(s).mermaid(), `t0["a: #quot;#93;; evil --#gt; #lt;b#gt; #amp; \ #35;<br/>merged"]:::merged`)
}

func BenchmarkTextOf3000Tasks(b *testing.B) {
	s := crowd(3000)
	for b.Loop() {
		if Text(Build(s, Input{Now: now}), 80, false) == "" {
			b.Fatal(fmt.Errorf("nothing was drawn"))
		}
	}
}

func chain(tasks ...*blackboard.Task) *blackboard.State { return (&blackboard.State{}).With(tasks...) }

func TestTheCriticalPathIsTheChainOfOpenTasksThatTakesLongest(t *testing.T) {
	t.Parallel()
	task := func(id string, status blackboard.Status, seconds int, after ...string) *blackboard.Task {
		return &blackboard.Task{ID: id, Status: status, DependsOn: after, Usage: &blackboard.Usage{Seconds: seconds}}
	}
	for name, c := range map[string]struct {
		s    *blackboard.State
		want string
	}{
		"nothing":                   {nil, ""},
		"one open task":             {chain(task("a", blackboard.Unclaimed, 0)), ""},
		"no chain":                  {chain(task("a", blackboard.Unclaimed, 0), task("b", blackboard.Claimed, 0)), ""},
		"the longer one":            {chain(task("a", blackboard.Claimed, 0), task("b", blackboard.Unclaimed, 0, "a"), task("c", blackboard.Unclaimed, 0, "a"), task("d", blackboard.Draft, 0, "c")), "a c d"},
		"what is done counts not":   {chain(task("a", blackboard.Merged, 0), task("b", blackboard.Unclaimed, 0, "a"), task("c", blackboard.Blocked, 0, "b")), "b c"},
		"what is nearly done":       {chain(task("m", blackboard.Merged, 100), task("a", blackboard.Claimed, 95), task("b", blackboard.Claimed, 5), task("x", blackboard.Unclaimed, 0, "a"), task("y", blackboard.Unclaimed, 0, "b")), "b y"},
		"what takes too long":       {chain(task("m", blackboard.Merged, 100), task("a", blackboard.Claimed, 9000), task("x", blackboard.Unclaimed, 0, "a")), "a x"},
		"two that are alike":        {chain(task("a", blackboard.Unclaimed, 0), task("b", blackboard.Unclaimed, 0), task("c", blackboard.Unclaimed, 0, "a", "b")), "a c"},
		"a cycle":                   {chain(task("a", blackboard.Unclaimed, 0, "b"), task("b", blackboard.Unclaimed, 0, "a"), task("c", blackboard.Unclaimed, 0), task("d", blackboard.Unclaimed, 0, "c")), "c d"},
		"through a dropped one":     {chain(task("a", blackboard.Unclaimed, 0), task("b", blackboard.Abandoned, 0, "a"), task("c", blackboard.Unclaimed, 0, "b")), ""},
		"a dependency that is gone": {chain(task("a", blackboard.Unclaimed, 0, "gone"), task("b", blackboard.Unclaimed, 0, "a")), "a b"},
	} {
		v := BuildGraph(c.s)
		if got := strings.Join(v.Critical, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		nodes, edges := 0, 0
		for _, n := range v.Nodes {
			if n.Critical {
				nodes++
			}
		}
		for _, e := range v.Edges {
			if e.Critical {
				edges++
			}
		}
		if nodes != len(v.Critical) || edges != max(0, nodes-1) {
			t.Errorf("%s: %d nodes and %d edges are marked", name, nodes, edges)
		}
	}
	wants(t, GraphText(busy()), "critical path: task-2 → task-6\n")
}

func BenchmarkTheGraphOf2000Tasks(b *testing.B) {
	s := crowd(2000)
	for i, task := range s.TaskList() {
		for d := 1; d <= 3 && i-d*d >= 0; d++ {
			task.DependsOn = append(task.DependsOn, s.TaskAt(i-d*d).ID)
		}
	}
	for b.Loop() {
		BuildGraph(s)
	}
}
