package blackboard

import (
	"os"
	"testing"
	"time"
)

// full tells whether the long form is asked for: `make model`.
func full() bool { return os.Getenv("MODEL_FULL") != "" }

func pair() *worldSize {
	return &worldSize{coders: []string{"coder-1", "coder-2"}, reviewers: []string{"code-reviewer-1"}, planners: []string{"planner-1"}, tasks: []string{"a", "b"},
		config: Settings{"max_coder_iterations": 2, "max_review_cycles": 2, "max_review_retries": 1, "max_handoffs": 1, "max_agent_runs": 0}}
}

func TestModel(t *testing.T) {
	size := pair()
	m := &stepMaker{size: size}
	m.team()
	m.plans("")
	m.fate()
	began := time.Now()
	w := newWorld(newBoard(t), size, func(b *board) { b.addBy("a"); b.addBy("b", "a") })
	g := explore(t, w, m.steps, 20000)
	t.Logf("%d worlds, %d steps, %v", len(g.nodes), g.edges, time.Since(began))
}

func (b *board) addBy(id string, deps ...string) {
	b.must(b.Create(codeTask(id, deps...), false, person, Input{}, b.now))
}
