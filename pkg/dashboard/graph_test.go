package dashboard

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"liza/pkg/blackboard"
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
		if Text(Build(s, Facts{Now: now}), 80, false) == "" {
			b.Fatal(fmt.Errorf("nothing was drawn"))
		}
	}
}
