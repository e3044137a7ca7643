package transition

import (
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

const (
	modelSeed      = "MODEL_SEED"      // replays one random sequence, by the number that a failure prints
	modelSequences = "MODEL_SEQUENCES" // how many there are in the long form (make sequences)
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
// set forward and back. After each step everything holds that the exploration checks.
func TestRandomSequences(t *testing.T) {
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

	if seed := number(t, modelSeed); seed > 0 {
		if _, wrong := sequence(first, kinds, seed); wrong != "" {
			t.Error(wrong)
		}
		return
	}
	sequences, base := number(t, modelSequences), uint64(1)
	if sequences == 0 {
		sequences = 100
	} else {
		base = uint64(time.Now().Unix())
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	var happened atomic.Int64
	var failed sync.Once
	var stop atomic.Bool
	workers := uint64(runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for k := range workers {
		all.Go(func() {
			for seed := base + k; seed < base+sequences && !stop.Load(); seed += workers {
				n, wrong := sequence(first, kinds, seed)
				happened.Add(int64(n))
				if wrong != "" {
					stop.Store(true)
					failed.Do(func() { t.Errorf("%s=%d: %s", modelSeed, seed, wrong) })
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d sequences from %s=%d on, %d steps", sequences, modelSeed, base, happened.Load())
	if n := happened.Load(); n < int64(20*sequences) && !stop.Load() {
		t.Errorf("%d steps in %d sequences: too little happened", n, sequences)
	}
}

// number is a number of the environment, 0 when it is not there.
func number(t *testing.T, name string) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sequence lets about fifty things happen. It says how many did, and what is wrong.
func sequence(first *world, kinds map[stepKind][]step, seed uint64) (n int, wrong string) {
	random := rand.New(rand.NewPCG(seed, 4))
	w := first.fork()
	w.lost = taskArchive{}
	var names []string
	after := w.fork()
	for range 1200 {
		if n == 50 {
			break
		}
		kind := byTeam
		switch p := random.IntN(100); {
		case p < 6:
			kind = byFate
		case p < 10:
			kind = byPeople
		case p < 18:
			kind = byPlan
		}
		s := kinds[kind][random.IntN(len(kinds[kind]))]
		if s.do(after) != nil {
			continue // without a trace
		}
		after.TakeEntries(0)
		n++
		names = append(names, s.name)
		look := invariants
		if n%3 == 0 { // it takes as long as everything else
			look = append(look[:len(look):len(look)], choices)
		}
		for _, inv := range look {
			if what := inv.wrong(w, after); what != "" {
				return n, "not true that " + inv.name + ": " + what + "\nafter: " + strings.Join(names, "\n       ")
			}
		}
		w = after
		after = w.fork()
	}
	return n, ""
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
