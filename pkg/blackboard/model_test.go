package blackboard

import (
	"os"
	"testing"
	"time"
)


// model is one tiny world and what may happen in it.
type model struct {
	name  string
	long  bool // only in the long form
	drops bool // the planner drops what is blocked, and does nothing else
	size  *worldSize
	make  func(*board)
	may   func(*stepMaker)
}

// pair is two coders, a reviewer and a planner, with limits that are soon reached.
func pair(tasks ...string) *worldSize {
	return &worldSize{coders: []string{"coder-1", "coder-2"}, reviewers: []string{"code-reviewer-1"}, planners: []string{"planner-1"}, tasks: tasks,
		config: Settings{"max_coder_iterations": 2, "max_review_cycles": 2, "max_review_retries": 1, "max_handoffs": 1, "max_agent_runs": 0}}
}

func chain(b *board) { b.addBy("a"); b.addBy("b", "a") }

func (b *board) addBy(id string, deps ...string) {
	b.t.Helper()
	b.must(b.Create(codeTask(id, deps...), false, person, Input{}, b.now))
}

var models = []model{
	{"crash", false, true, pair("a", "b"), chain, func(m *stepMaker) { m.work(); m.fate(); m.drops() }},
	{"crash1", false, true, pair("a"), func(b *board) { b.addBy("a") }, func(m *stepMaker) { m.work(); m.fate(); m.drops() }},
	{"trouble+plans+while", true, false, pair("a", "b"), chain, func(m *stepMaker) { m.work(); m.trouble(); m.plans(""); m.while(); m.lets() }},
	{"crash+trouble+unblock1", true, false, pair("a"), func(b *board) { b.addBy("a") }, func(m *stepMaker) { m.work(); m.trouble(); m.fate(); m.plans(""); m.lets() }},
	{"people+while1", true, false, pair("a"), func(b *board) { b.addBy("a") }, func(m *stepMaker) { m.work(); m.people(); m.plans(""); m.while() }},
}

func TestModel(t *testing.T) {
	for _, x := range models {
		t.Run(x.name, func(t *testing.T) {
			m := &stepMaker{size: x.size}
			x.may(m)
			began := time.Now()
			w := newWorld(newBoard(t), x.size, x.make)
			g := explore(t, w, m.steps, 400_000)
			t.Logf("%d worlds, %d steps, %d twins, %v", len(g.nodes), g.edges, len(g.twins), time.Since(began))
			g.check(t, x)
		})
	}
}
