package transition

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// fullModel reports whether the long form is asked for: `make model`.
func fullModel() bool { return os.Getenv("MODEL_FULL") != "" }

// model is one tiny world and what may happen in it. All of them together have every event
// of the transition table but the creation of tasks and what needs no reviewer.
type model struct {
	name  string
	long  bool // only in the long form
	drops bool // the planner drops what is blocked, and does nothing else
	size  *worldSize
	make  func(*board)
	may   func(*stepMaker)
}

// little is a team with limits that are soon reached.
func little(coders []string, tasks ...string) *worldSize {
	return &worldSize{coders: coders, reviewers: []string{"code-reviewer-1"}, planners: []string{"planner-1"}, tasks: tasks,
		config: blackboard.Settings{"max_coder_iterations": 2, "max_review_cycles": 2, "max_review_retries": 1, "max_handoffs": 1, "max_agent_runs": 0}}
}

var (
	oneCoder  = []string{"coder-1"}
	twoCoders = []string{"coder-1", "coder-2"}
)

// planned puts a task of a person on the board.
func (b *board) planned(id string, deps ...string) {
	b.t.Helper()
	b.must(Create(b.State, codeTask(id, deps...), false, person, Input{}, b.now))
}

func alone(b *board) { b.planned("a") }
func chain(b *board) { b.planned("a"); b.planned("b", "a") }

var models = []model{
	{"one coder and one task, with crashes and leases that run out", false, true, little(oneCoder, "a"), alone,
		func(m *stepMaker) { m.work(); m.fate(); m.drops() }},
	{"two coders and a task that waits for another, with all ways out of trouble", false, false, little(twoCoders, "a", "b"), chain,
		func(m *stepMaker) { m.work(); m.trouble(); m.plans(""); m.lets(); m.patience() }},
	{"the same with crashes and leases that run out", true, false, little(twoCoders, "a", "b"), chain,
		func(m *stepMaker) { m.work(); m.trouble(); m.plans(""); m.lets(); m.fate() }},
	{"two coders, a task that waits for another, and everything that people can do", true, false, little(twoCoders, "a", "b"), chain,
		func(m *stepMaker) { m.work(); m.people(); m.plans(""); m.patience() }},
	{"one coder, and a planner that replaces tasks by another one", true, false, little(oneCoder, "a", "b", "spare"), func(b *board) { chain(b); b.planned("spare") },
		func(m *stepMaker) { m.work(); m.plans("spare"); m.patience() }},
}

// TestModel finds every world that can be reached from the beginning of each model. `make
// model` takes the large ones too.
func TestModel(t *testing.T) {
	t.Parallel()
	if fullModel() {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	for _, x := range models {
		if x.long && !fullModel() {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			m := &stepMaker{size: x.size}
			x.may(m)
			began := time.Now()
			g := explore(t, newWorld(newBoard(t), x.size, x.make), m.steps, 0)
			g.check(t, x)
			t.Logf("%d worlds, %d steps between them, %d compared with a twin, %s", len(g.nodes), g.edges, len(g.twins), time.Since(began).Round(time.Second/10))
		})
	}
	if fullModel() {
		for _, inv := range append(invariants, choices) {
			t.Log("in each world:", inv.name)
		}
		for _, h := range models[2].hopes() {
			t.Log("from each world:", h.name)
		}
	}
}
