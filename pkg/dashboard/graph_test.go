package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/blackboard"
)

func TestTheGraphIsDrawnAsRecorded(t *testing.T) {
	t.Parallel()
	golden(t, "graph.txt", Graph(busy(), "text"))
	golden(t, "graph.mmd", Graph(busy(), "mermaid"))
	golden(t, "graph.dot", Graph(busy(), "dot"))
	if got := Graph(&blackboard.State{}, "text"); got != "no tasks yet\n" {
		t.Errorf("an empty board: %q", got)
	}
}

func TestEachTaskStandsInTheGraphOnce(t *testing.T) {
	t.Parallel()
	s := crowd(300)
	for i, task := range s.Tasks { // a dense graph
		for d := 1; d <= 5 && i-d*d >= 0; d++ {
			task.DependsOn = append(task.DependsOn, s.Tasks[i-d*d].ID)
		}
	}
	text := Graph(s, "text")
	for _, task := range s.Tasks {
		if n := strings.Count(text, " "+task.ID+" "+string(task.Status)); n != 1 {
			t.Errorf("%s stands there %d times", task.ID, n)
		}
	}
}

func TestACycleIsShownNotFollowed(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{Tasks: []*blackboard.Task{
		{ID: "a", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"b"}}, {ID: "b", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"a"}},
		{ID: "c", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"a"}}, {ID: "d", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"d", "x"}},
	}}
	wants(t, Graph(s, "text"), "○ a UNCLAIMED   [after b] (dependency cycle)", "○ b UNCLAIMED   [after a] (dependency cycle)", "○ c UNCLAIMED   [after a] (dependency cycle)", "x (not on the board)")
	wants(t, Graph(s, "mermaid"), "t0 --> t1", "t1 --> t0")
}

func TestTitlesCannotBreakAGraph(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{Tasks: []*blackboard.Task{{ID: "a", Status: blackboard.Merged, Title: `"]; evil --> <b> & \ #`}}}
	wants(t, Graph(s, "mermaid"), `t0["a: #quot;]; evil --#gt; #lt;b#gt; #amp; \ #35;<br/>MERGED"]:::merged`)
	wants(t, Graph(s, "dot"), `label="a\n\"]; evil --> <b> & \\ #\nMERGED"`)
}

func BenchmarkTextOf3000Tasks(b *testing.B) {
	s := crowd(3000)
	for b.Loop() {
		if Text(Build(s, Facts{Now: now}), 80, false) == "" {
			b.Fatal(fmt.Errorf("nothing was drawn"))
		}
	}
}
