package merge

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// A world is what checks and merges of tasks come to: a bad task fails wherever it is, a pair only together.
type world struct {
	order []string
	bad   map[string]bool
	pairs map[[2]string]verdict // failing or conflicting, by the order of the train
}

func (w world) verdict(a attempt) verdict {
	for i, x := range a.line {
		for _, y := range a.line[:i] {
			if v := w.pairs[[2]string{y, x}]; v == conflicting && x == a.last() {
				return conflicting
			}
		}
	}
	if a.dry {
		return good
	}
	for i, x := range a.line {
		if w.bad[x] {
			return failing
		}
		for _, y := range a.line[:i] {
			if w.pairs[[2]string{y, x}] == failing {
				return failing
			}
		}
	}
	return good
}

// serial is what comes of the tasks when each is merged after the other, with what the rejected ones collide with.
func (w world) serial() (merged []string, rejected map[string]string) {
	rejected = map[string]string{}
	for _, id := range w.order {
		v := w.verdict(attempt{line: merged}.with(id))
		if v == good {
			merged = append(merged, id)
			continue
		}
		for n := range len(merged) + 1 {
			a := attempt{line: merged[:n]}.with(id)
			a.dry = v == conflicting
			if w.verdict(a) != good {
				rejected[id] = ""
				if n > 0 {
					rejected[id] = merged[n-1]
				}
				break
			}
		}
	}
	return merged, rejected
}

// A trip is what a train came to in a world.
type trip struct {
	merged   []string
	rejected map[string]string
	rounds   int            // in which checks ran
	checks   map[string]int // by name of the attempt
	probes   map[string]int // rounds of the search, by culprit
}

// travel lets a train run. pick says which of so many checks ends next; nil: all, together.
func travel(t *testing.T, w world, slots int, pick func(n int) int) trip {
	t.Helper()
	tr := train{waiting: slices.Clone(w.order), seen: map[string]*sight{}, runs: 1}
	out := trip{rejected: map[string]string{}, checks: map[string]int{}, probes: map[string]int{}}
	running := []attempt{}
	for range 10000 {
		d := tr.next()
		switch d.action {
		case merges:
			if v := w.verdict(attempt{line: tr.merged}.with(d.task)); v != good || out.checks[attempt{line: tr.merged}.with(d.task).name()] != 1 {
				t.Fatalf("%s is merged after %v, which was checked %d times, and is %d", d.task, tr.merged, out.checks[attempt{line: tr.merged}.with(d.task).name()], v)
			}
			out.merged = append(out.merged, d.task)
		case reject:
			out.rejected[d.task] = d.with
		case skip:
			t.Fatalf("%s is left out", d.task)
		case check:
			if len(d.attempts) == 0 {
				return out
			}
			running = begin(w, &tr, d.attempts, running, slots)
			if running == nil {
				continue
			}
			ending := running
			if pick != nil {
				i := pick(len(running))
				ending = []attempt{running[i]}
			}
			out.rounds++
			for _, a := range ending {
				tr.seen[a.name()] = &sight{ran: 1, passed: w.verdict(a) == good}
				out.checks[a.name()]++
				if slices.ContainsFunc(tr.culprits, func(c culprit) bool { return c.task == a.last() }) {
					out.probes[a.last()]++
				}
			}
			running = slices.DeleteFunc(slices.Clone(running), func(a attempt) bool { return tr.seen[a.name()] != nil })
			continue
		}
		tr.did(d)
	}
	t.Fatalf("the train does not arrive: %+v", w)
	return out
}

// begin is the checks that run; nil when something became known without any.
func begin(w world, tr *train, wanted, running []attempt, slots int) []attempt {
	room := wanted[:min(slots, len(wanted))]
	for _, a := range room {
		if v := w.verdict(a); v == conflicting {
			tr.seen[a.name()] = &sight{conflict: []string{"file"}}
			return nil
		} else if a.dry {
			tr.seen[a.name()] = &sight{ran: 1, passed: true}
			return nil
		}
	}
	among := func(list []attempt, a attempt) bool {
		return slices.ContainsFunc(list, func(b attempt) bool { return a.name() == b.name() })
	}
	now := slices.DeleteFunc(slices.Clone(running), func(a attempt) bool { return !among(wanted, a) })
	for _, a := range room {
		if len(now) < slots && !among(now, a) {
			now = append(now, a)
		}
	}
	return now
}

// log2 is ⌈log₂ n⌉.
func log2(n int) int { return bits.Len(uint(max(0, n-1))) }

func (tr trip) asSerial(t *testing.T, w world, how string) {
	t.Helper()
	merged, rejected := w.serial()
	if !slices.Equal(tr.merged, merged) || fmt.Sprint(tr.rejected) != fmt.Sprint(rejected) {
		t.Fatalf("%s: merged %v, rejected %v; one after the other it is %v, %v\n%+v", how, tr.merged, tr.rejected, merged, rejected, w)
	}
	for task, n := range tr.probes {
		if most := log2(len(w.order)); n > most {
			t.Fatalf("%s: %d rounds looked for what %s collides with, of %d tasks; at most %d\n%+v", how, n, task, len(w.order), most, w)
		}
	}
	for name, n := range tr.checks {
		if n != 1 {
			t.Fatalf("%s: %s was checked %d times", how, name, n)
		}
	}
}

// All worlds of up to four tasks, with one to four slots, the checks ending in the order in which they began, in the
// opposite one, and together: what comes of it is what comes of merging one after the other.
func TestATrainComesToWhatMergingOneAfterTheOtherDoes(t *testing.T) {
	t.Parallel()
	worlds := 0
	for n := 1; n <= 4; n++ {
		order := []string{"a", "b", "c", "d"}[:n]
		var pairs [][2]string
		for i := range n {
			for j := range i {
				pairs = append(pairs, [2]string{order[j], order[i]})
			}
		}
		kinds := 1
		for range pairs {
			kinds *= 3
		}
		for bad := range 1 << n {
			for kind := range kinds {
				w := world{order: order, bad: map[string]bool{}, pairs: map[[2]string]verdict{}}
				for i, id := range order {
					w.bad[id] = bad>>i&1 == 1
				}
				for _, p := range pairs {
					w.pairs[p] = []verdict{good, failing, conflicting}[kind%3]
					kind /= 3
				}
				worlds++
				for slots := 1; slots <= n; slots++ {
					travel(t, w, slots, func(int) int { return 0 }).asSerial(t, w, "first first")
					travel(t, w, slots, func(k int) int { return k - 1 }).asSerial(t, w, "last first")
					travel(t, w, slots, nil).asSerial(t, w, "together")
				}
			}
		}
	}
	t.Logf("%d worlds", worlds)
}

// Long trains, with any order in which checks end.
func TestALongTrainIsNarrowedDownWithinItsBound(t *testing.T) {
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		w := world{bad: map[string]bool{}, pairs: map[[2]string]verdict{}}
		n := 5 + r.IntN(36)
		for i := range n {
			w.order = append(w.order, fmt.Sprintf("t%d", i))
		}
		for range r.IntN(4) {
			w.bad[w.order[r.IntN(n)]] = true
		}
		for range r.IntN(4) {
			j := 1 + r.IntN(n-1)
			w.pairs[[2]string{w.order[r.IntN(j)], w.order[j]}] = []verdict{failing, conflicting}[r.IntN(2)]
		}
		travel(t, w, 1+r.IntN(9), r.IntN).asSerial(t, w, "any order")
		all := travel(t, w, n+4, nil)
		all.asSerial(t, w, "together")
		if most := 1 + len(all.rejected) + log2(n); all.rounds > most {
			t.Errorf("%d rounds for %d tasks of which %d fail; at most %d\n%+v", all.rounds, n, len(all.rejected), most, w)
		}
	}
}

// Three bad tasks and two pairs that collide only together, among 40.
func TestATrainOfFortyWithFiveCulprits(t *testing.T) {
	t.Parallel()
	w := world{bad: map[string]bool{"t3": true, "t17": true, "t29": true}, pairs: map[[2]string]verdict{{"t2", "t31"}: failing, {"t11", "t12"}: failing}}
	for i := range 40 {
		w.order = append(w.order, fmt.Sprintf("t%d", i))
	}
	for _, slots := range []int{8, 64} {
		tr := travel(t, w, slots, nil)
		tr.asSerial(t, w, "together")
		t.Logf("%d slots: %d checks in %d rounds; to find what they collide with: %v rounds", slots, len(tr.checks), tr.rounds, tr.probes)
		// a round for each 8 tasks, and for each culprit one in which those behind it begin again, beside the searches
		if most := (40+slots-1)/slots + 5 + log2(40); tr.rounds > most || tr.rejected["t31"] != "t2" || tr.rejected["t12"] != "t11" {
			t.Errorf("%d rounds, at most %d; rejected %v", tr.rounds, most, tr.rejected)
		}
	}
}

// Without a failure nothing is checked twice, and nothing in vain.
func TestATrainWithoutFailureIsOneCheckForEachTask(t *testing.T) {
	t.Parallel()
	w := world{order: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}
	for slots := 1; slots <= 12; slots++ {
		tr := travel(t, w, slots, nil)
		tr.asSerial(t, w, "together")
		if want := (len(w.order) + slots - 1) / slots; len(tr.checks) != len(w.order) || tr.rounds != want {
			t.Errorf("%d slots: %d checks in %d rounds, want %d in %d", slots, len(tr.checks), tr.rounds, len(w.order), want)
		}
	}
}

// sights are what is known of attempts, by name.
func sights(of map[string]*sight) train {
	return train{waiting: []string{"a", "b", "c"}, seen: of, runs: 1}
}

// A failure that is excused where the train began is none while all before it have it, too.
func TestAnExcusedFailureThatOneTaskMendedIsAFailureOfTheNext(t *testing.T) {
	t.Parallel()
	red := []string{`"make" ended with exit code 2`}
	tr := sights(map[string]*sight{"a": {ran: 1, passed: true, excused: red}, "a b": {ran: 1, passed: true}, "a b c": {ran: 1, passed: true, excused: red}})
	for _, want := range []decision{{action: merges, task: "a"}, {action: merges, task: "b"}, {action: blame, task: "c"}} {
		d := tr.next()
		if d.action != want.action || d.task != want.task {
			t.Fatalf("got %+v, want %+v", d, want)
		}
		tr.did(d)
	}
	if d := tr.next(); d.action != check || len(d.attempts) != 1 || d.attempts[0].name() != "a c" {
		t.Errorf("got %+v, want a look at a with c", d)
	}
	tr.seen["a c"] = &sight{ran: 1, passed: true, excused: red}
	if d := tr.next(); d.action != reject || d.with != "b" {
		t.Errorf("got %+v; without b it fails as it does where the train began", d)
	}
}

// With a second run, the first failure decides nothing, and only what is sure is run again.
func TestASuspectIsRunAgainOnceAllBeforeItAreGood(t *testing.T) {
	t.Parallel()
	failed := &sight{ran: 1}
	tr := sights(map[string]*sight{"a b": failed})
	tr.runs = 2
	names := func(d decision) (list []string) {
		for _, a := range d.attempts {
			list = append(list, a.name())
		}
		return list
	}
	if d := tr.next(); !slices.Equal(names(d), []string{"a", "a b c"}) {
		t.Errorf("got %v: what is behind a suspect goes on, and the suspect waits", names(d))
	}
	tr.seen["a"] = &sight{ran: 1, passed: true}
	tr.did(tr.next())
	if d := tr.next(); d.action != check || !slices.Equal(names(d), []string{"a b", "a b c"}) {
		t.Errorf("got %+v, want the second run", d)
	}
	failed.ran = 2
	if d := tr.next(); d.action != blame || d.task != "b" {
		t.Errorf("failed twice: got %+v", d)
	}
	failed.passed = true
	if d := tr.next(); d.action != merges || d.task != "b" {
		t.Errorf("passed the second time: got %+v", d)
	}
}

// Those behind a conflict are built without it at once: most trains arrive.
func TestAConflictHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	tr := sights(map[string]*sight{"a b": {conflict: []string{"file"}}})
	d := tr.next()
	if len(d.attempts) != 2 || d.attempts[0].name() != "a" || d.attempts[1].name() != "a c" {
		t.Errorf("got %+v, want a look at a, and at a with c", d)
	}
}

// What nothing can be known of stops only itself.
func TestATaskWithoutAVerdictIsLeftOut(t *testing.T) {
	t.Parallel()
	tr := sights(map[string]*sight{"a": {void: true}})
	d := tr.next()
	if d.action != skip || d.task != "a" {
		t.Fatalf("got %+v", d)
	}
	tr.did(d)
	if d := tr.next(); d.action != check || d.attempts[0].name() != "b" {
		t.Errorf("got %+v, want the others without it", d)
	}
}

func TestTheOrderOfATrain(t *testing.T) {
	t.Parallel()
	got := inOrder([]member{{"old", 2, []string{"x"}}, {"alone", 2, []string{"y"}}, {"new", 2, []string{"x", "z"}}, {"urgent", 1, []string{"x"}}, {"silent", 2, nil}})
	if want := []string{"urgent", "alone", "silent", "old", "new"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: what is urgent, then what shares no file, then by age", got, want)
	}
}
