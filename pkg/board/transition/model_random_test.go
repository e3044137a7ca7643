package transition

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"liza/pkg/board/blackboard"
)

// largeTeam is a world that is too large to be explored.
var largeTeam = &worldSize{
	coders: []string{"coder-1", "coder-2", "coder-3"}, reviewers: []string{"code-reviewer-1", "code-reviewer-2"}, planners: []string{"planner-1"},
	tasks:  []string{"a", "b", "c", "d", "spare", "late", "idea"},
	config: blackboard.Settings{"max_coder_iterations": 3, "max_review_cycles": 3, "max_review_retries": 2, "max_handoffs": 2, "max_agent_runs": 0},
}

// diamond has d wait for b and c, and these for a.
func diamond(b *board) {
	b.planned("a")
	b.planned("b", "a")
	b.planned("c", "a")
	b.planned("d", "b", "c")
	b.planned("spare")
}

// TestRandomSequences lets everything that can happen in a small world happen in random order: verbs of agents,
// planner and people, crashes between any two of them, restarts, silence, and a clock that is
// set forward and back. After each step everything holds that the exploration checks, and at the end the journal is
// one that the replay accepts. A sequence that fails is cut down to few steps. `make sequences` has more of them; the flags are rapid's.
func TestRandomSequences(t *testing.T) {
	settings := map[string]string{"rapid.nofailfile": "true", "rapid.steps": "80"}
	if flag.Lookup("rapid.checks").Value.String() == "100" && flag.Lookup("rapid.seed").Value.String() == "0" {
		settings["rapid.seed"] = "1" // the short form has the same sequences in each run
	}
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Parallel()
	m := &stepMaker{size: largeTeam}
	m.work()
	m.trouble()
	m.plans("spare")
	m.people()
	m.fate()
	m.clock()
	m.more()
	kinds := map[stepKind][]step{}
	for _, s := range m.steps {
		kinds[s.who] = append(kinds[s.who], s)
	}
	first := newWorld(newBoard(t), largeTeam, diamond)
	sequences, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		q := &sequence{world: first.fork(), kinds: kinds}
		q.world.lost = taskArchive{}
		t.Repeat(map[string]func(*rapid.T){"a step": q.step})
		q.replay(t)
		sequences, steps = sequences+1, steps+len(q.names)
	})
	t.Logf("%d sequences, %d steps", sequences, steps)
	if !t.Failed() && steps < 15*sequences {
		t.Errorf("%d steps in %d sequences: too little happened", steps, sequences)
	}
}

// how often something of a kind happens: of 25 steps.
var often = slices.Concat(slices.Repeat([]stepKind{byTeam}, 20), []stepKind{byPlan, byPlan, byPeople, byFate, byFate})

// A sequence is what has happened so far.
type sequence struct {
	world   *world
	kinds   map[stepKind][]step
	names   []string
	journal []blackboard.Entry
}

// step lets one thing happen, if one of some that are tried can.
func (q *sequence) step(t *rapid.T) {
	after := q.world.fork()
	for range 25 {
		s := rapid.SampledFrom(q.kinds[rapid.SampledFrom(often).Draw(t, "kind")]).Draw(t, "step")
		if s.do(after) != nil {
			continue // without a trace
		}
		for _, e := range after.TakeEntries(0) {
			e.Rev = len(q.names) + 2
			q.journal = append(q.journal, e)
		}
		q.names = append(q.names, s.name)
		q.hold(t, after)
		q.world = after
		return
	}
}

// hold checks what has to hold after a step.
func (q *sequence) hold(t *rapid.T, after *world) {
	look := invariants
	if len(q.names)%3 == 0 { // it takes as long as everything else
		look = append(look[:len(look):len(look)], choices)
	}
	for _, inv := range look {
		if what := inv.wrong(q.world, after); what != "" {
			t.Fatalf("not true that %s: %s\n%s", inv.name, what, q)
		}
	}
}

// replay follows the journal to what the board and the archive have.
func (q *sequence) replay(t *rapid.T) {
	tasks := map[string]blackboard.Status{}
	maps.Copy(tasks, q.world.lost)
	for task := range q.world.Tasks() {
		tasks[task.ID] = task.Status
	}
	for _, d := range Replay(q.journal, tasks, true) {
		t.Fatalf("%s\n%s", d.Message, q)
	}
}

func (q *sequence) String() string {
	return fmt.Sprintf("after %d steps: %s", len(q.names), strings.Join(q.names, "\n       "))
}

// clock sets the clock of the machine. Nobody beats meanwhile.
func (m *stepMaker) clock() {
	for _, d := range []time.Duration{30 * time.Second, 20 * time.Minute, 2 * time.Hour, -2 * time.Minute, -time.Hour} {
		m.add(byFate, "the clock is set by "+d.String(), func(w *world) error { w.after(d); return nil })
	}
}

// more is what comes and goes: tasks that are added later, drafts, the archive, the end of the sprint.
func (m *stepMaker) more() {
	m.add(byPlan, "planner-1 adds late", func(w *world) error {
		return w.supervisor("planner-1", func(a Actor) error {
			return Create(w.board.State, codeTask("late", w.open("a")...), false, a, Input{}, w.now)
		})
	})
	m.add(byPlan, "planner-1 drafts idea", func(w *world) error {
		return w.supervisor("planner-1", func(a Actor) error { return Create(w.board.State, codeTask("idea"), true, a, Input{}, w.now) })
	})
	m.add(byPlan, "planner-1 finalizes idea", func(w *world) error {
		return w.supervisor("planner-1", func(a Actor) error { return Finalize(w.board.State, []string{"idea"}, a, Input{}, w.now) })
	})
	m.add(byPeople, "a person archives what has ended", func(w *world) error {
		was := map[string]blackboard.Status{}
		for t := range w.Tasks() {
			was[t.ID] = t.Status
		}
		gone := Archive(w.board.State, time.Time{}, person, w.now)
		if len(gone) == 0 {
			return errNotHere
		}
		w.lost = maps.Clone(w.lost)
		for _, id := range gone {
			w.lost[id] = was[id]
		}
		w.UseArchive(w.lost)
		return nil
	})
	m.add(byTeam, "somebody looks whether the goal is complete", func(w *world) error {
		if _, changed := CompleteGoal(w.board.State, CompletionFacts{}, w.now); !changed {
			return errNotHere
		}
		return nil
	})
	m.add(byFate, "entries of the dead are forgotten", func(w *world) error {
		if !Forget(w.board.State, w.facts(), w.now) {
			return errNotHere
		}
		return nil
	})
}

// open is the task, when a new one may depend on it.
func (w *world) open(id string) []string {
	if st, ok := w.StatusOf(id); ok && st != blackboard.Abandoned && st != blackboard.Superseded {
		return []string{id}
	}
	return nil
}
