package dashboard

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestTheGraphIsDrawnAsRecorded(t *testing.T) {
	t.Parallel()
	golden(t, "graph.txt", Graph(busy(), "text"))
	golden(t, "graph.mmd", Graph(busy(), "mermaid"))
	golden(t, "graph.dot", Graph(busy(), "dot"))
	golden(t, "graph.svg", Graph(busy(), "svg"))
	wants(t, Graph(&blackboard.State{}, "svg"), "no tasks yet")
	if got := Graph(&blackboard.State{}, "text"); got != "no tasks yet\n" {
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
	text := Graph(s, "text")
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
	wants(t, Graph(s, "text"), "○ a UNCLAIMED   [after b] (dependency cycle)", "○ b UNCLAIMED   [after a] (dependency cycle)", "○ c UNCLAIMED   [after a] (dependency cycle)", "x (not on the board)")
	wants(t, Graph(s, "mermaid"), "t0 --> t1", "t1 --> t0")
	wants(t, Graph(s, "svg"), ">a</text>", ">b</text>", ">c</text>", ">d</text>")
}

// A picture is XML whatever the titles are, and no two boxes lie on each other.
func TestThePictureIsSound(t *testing.T) {
	t.Parallel()
	s := crowd(300)
	for i, task := range s.TaskList() {
		task.Title = "a <b> & \"c\" ]]> \x00 \x1b[31m"
		for d := 1; d <= 5 && i-d*d >= 0; d++ {
			task.DependsOn = append(task.DependsOn, s.TaskAt(i-d*d).ID)
		}
	}
	x := xml.NewDecoder(strings.NewReader(Graph(s, "svg")))
	boxes := map[string]bool{}
	for {
		token, err := x.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" && len(e.Attr) > 3 {
			boxes[fmt.Sprint(e.Attr[1:3])] = true
		}
	}
	if len(boxes) != 300 {
		t.Errorf("300 tasks have %d places", len(boxes))
	}
}

func TestTitlesCannotBreakAGraph(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With(&blackboard.Task{ID: "a", Status: blackboard.Merged, Title: `"]; evil --> <b> & \ #`})
	wants(t, Graph(s, "mermaid"), `t0["a: #quot;#93;; evil --#gt; #lt;b#gt; #amp; \ #35;<br/>merged"]:::merged`)
	wants(t, Graph(s, "svg"), `>a</text>`, `&#34;]; evil --&gt; &lt;b&gt; &amp; \ #`)
	wants(t, Graph(s, "dot"), `label="a\n\"]; evil --> <b> & \\ #\nmerged"`)
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
	wants(t, Graph(busy(), "text"), "critical path: task-2 → task-6\n")
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
