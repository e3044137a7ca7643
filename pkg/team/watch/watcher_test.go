package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
)

func blockedFacts() findings.Observation {
	f := sound()
	add(&f, blackboard.Task{Status: blackboard.Blocked, BlockedReason: "why: who knows"})
	return f
}

// P-162: several watchers write one line, however they meet.
func TestSeveralWatchersWriteOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 8
	watchers := make([]*watching, n)
	round := func(f findings.Observation) {
		var all sync.WaitGroup
		for i := range watchers {
			if watchers[i] == nil {
				watchers[i] = newWatching(dir)
			}
			watchers[i].facts = f
			all.Go(func() {
				if _, err := watchers[i].Pass(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	round(blockedFacts())
	round(blockedFacts())
	round(sound())
	want := []string{"2026-01-19T15:00:00Z RAISED BLOCKED task-1: question: why: who knows; next: liza show task-1",
		"2026-01-19T15:00:00Z CLEARED BLOCKED task-1 after 0s"}
	if got := logged(t, dir); !slices.Equal(got, want) {
		t.Errorf("alerts.log:\n%s", strings.Join(got, "\n"))
	}
	for _, w := range watchers {
		// One wrote it; all show it.
		if got := w.sink.take(); len(got) != 2 || !strings.HasSuffix(got[0], want[0][len("2026-01-19T15:00:00Z RAISED "):]) {
			t.Errorf("a watcher told %q", got)
		}
	}
}

func TestAWatcherThatIsStartedAnewRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, dir string){
		"with alerts.json":        func(*testing.T, string) {},
		"alerts.json was deleted": func(t *testing.T, dir string) { remove(t, dir, "alerts.json") },
		"alerts.json is broken":   func(t *testing.T, dir string) { put(t, dir, "alerts.json", "{\"open\": [") },
		"alerts.log was deleted":  func(t *testing.T, dir string) { remove(t, dir, "alerts.log"); put(t, dir, "alerts.log", "") },
		"a foreign line in the log": func(t *testing.T, dir string) {
			remove(t, dir, "alerts.json")
			put(t, dir, "alerts.log", strings.Join(logged(t, dir), "\n")+"\nhello\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := newWatching(dir)
			w.facts = sound()
			add(&w.facts, blackboard.Task{ID: "task-2", Status: blackboard.IntegrationFailed})
			w.pass(t)
			w.facts = blockedFacts()
			w.pass(t)
			lose(t, dir)
			before := logged(t, dir)
			w = newWatching(dir)
			w.facts = blockedFacts()
			w.facts.Now = now.Add(5 * time.Minute)
			if open := w.pass(t); len(open) != 1 || !open[0].Since.Equal(now) || !strings.Contains(open[0].Message, "why: who knows") {
				t.Errorf("open: %v", open)
			}
			if got := logged(t, dir); !slices.Equal(got, before) {
				t.Errorf("the second watcher wrote:\n%s", strings.Join(got, "\n"))
			}
			if got := w.sink.take(); len(got) != 1 || !strings.HasPrefix(got[0], "OPEN BLOCKED task-1") {
				t.Errorf("it told %q, want what is open", got)
			}
			w.facts = sound()
			w.facts.Now = now.Add(10 * time.Minute)
			w.pass(t)
			if got := w.sink.take(); len(got) != 1 || got[0] != "CLEARED BLOCKED task-1 after 10m0s" {
				t.Errorf("it told %q, want the clearing with the whole time", got)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestANoticeIsClearedAfterOneDay(t *testing.T) {
	t.Parallel()
	for _, kind := range notices {
		dir := t.TempDir()
		f := files(dir)
		for range 2 { // the second one is silent
			if err := f.Report(t.Context(), watch.Notice(blackboard.AlertKind(kind), "state.yaml", "task-3: status", now)); err != nil {
				t.Fatal(err)
			}
		}
		w := newWatching(dir)
		for _, x := range []struct {
			after time.Duration
			open  int
		}{{time.Minute, 1}, {24*time.Hour - time.Second, 1}, {24 * time.Hour, 0}} {
			w.facts = sound()
			w.facts.Now = now.Add(x.after)
			open, err := w.Pass(t.Context())
			n := len(slices.DeleteFunc(open, func(a watch.Alert) bool { return string(a.Kind) != kind }))
			if err != nil || n != x.open {
				t.Errorf("%s after %s: %d open, want %d (%v)", kind, x.after, n, x.open, err)
			}
		}
		lines := slices.DeleteFunc(logged(t, dir), func(l string) bool { return !strings.Contains(l, kind) })
		if len(lines) != 2 || lines[0] != "2026-01-19T15:00:00Z RAISED "+kind+" state.yaml: task-3: status" || lines[1] != "2026-01-20T15:00:00Z CLEARED "+kind+" state.yaml after 24h0m0s" {
			t.Errorf("%q", lines)
		}
	}
}

// P-163: 31 minutes, 2 hours, 8 hours are the steps of the ladder; ESCALATION comes with the
// second, is rewritten with the third, and goes with the checkpoint.
func TestACheckpointEscalates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := files(dir)
		f.Lock = func(context.Context) (func() error, error) { return func() error { return nil }, nil }
		var over atomic.Bool
		sink := &heard{}
		w := &watch.Watcher{Files: f, Sinks: []watch.Sink{sink}, Look: func(context.Context) findings.Observation {
			s := &blackboard.State{Questions: []*blackboard.Question{{ID: "q-1", Task: "task-1", Text: "Which key: A or B?", Status: "open"}}}
			x := findings.Observation{Now: time.Now(), State: s}
			if !over.Load() {
				x.Orders = order(project.Checkpoint, began, "half time")
			}
			return x
		}}
		ctx, cancel := context.WithCancel(t.Context())
		go w.Run(ctx, nil)
		steps := func(age time.Duration, want ...string) {
			t.Helper()
			time.Sleep(age - time.Since(began))
			synctest.Wait()
			got := sink.take()
			got = slices.DeleteFunc(got, func(l string) bool { return strings.Contains(l, "QUESTION_OPEN") })
			for i := range got {
				got[i] = strings.Join(strings.Fields(got[i])[:2], " ") // RAISED or CLEARED, and the kind
			}
			if !slices.Equal(got, want) {
				t.Errorf("after %s: %q, want %q", age, got, want)
			}
		}
		escalation := func() string {
			data, _ := os.ReadFile(filepath.Join(dir, "ESCALATION")) // "": not there
			return string(data)
		}
		steps(29*time.Minute, "RAISED CHECKPOINT_OPEN")
		steps(31*time.Minute, "CLEARED CHECKPOINT_OPEN", "RAISED CHECKPOINT_STALE")
		steps(119 * time.Minute)
		if escalation() != "" {
			t.Error("ESCALATION is there before the second step")
		}
		steps(121*time.Minute, "RAISED CHECKPOINT_STUCK")
		text := escalation()
		for _, part := range []string{"age: 2h\n", "message: half time\n", "- q-1 (task-1): Which key: A or B?\n", "next: liza resume\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("ESCALATION lacks %q:\n%s", part, text)
			}
		}
		steps(7*time.Hour + 59*time.Minute)
		if escalation() != text {
			t.Error("ESCALATION was rewritten between the steps")
		}
		steps(8*time.Hour+time.Minute, "RAISED CHECKPOINT_ABANDONED")
		if !strings.Contains(escalation(), "age: 8h\n") {
			t.Errorf("ESCALATION was not rewritten:\n%s", escalation())
		}
		over.Store(true)
		steps(8*time.Hour+2*time.Minute, "CLEARED CHECKPOINT_STALE", "CLEARED CHECKPOINT_STUCK", "CLEARED CHECKPOINT_ABANDONED")
		if escalation() != "" {
			t.Error("ESCALATION is there after the checkpoint")
		}
		cancel()
		synctest.Wait()
	})
}

// P-164: the deadline stops the sprint once; a later deadline does so again.
func TestTheDeadlineStopsTheSprintOnce(t *testing.T) {
	t.Parallel()
	w := newWatching(t.TempDir())
	stopped := 0
	w.Deadline = func(context.Context) error {
		stopped++
		sp := w.facts.State.Sprint
		sp.Status = blackboard.AtCheckpoint
		sp.Checkpoints = append(sp.Checkpoints, &blackboard.Checkpoint{N: stopped, At: blackboard.TimeOf(w.facts.Now), By: blackboard.System, Cause: blackboard.CauseDeadline})
		w.facts.Orders = order(project.Checkpoint, w.facts.Now, "deadline")
		return nil
	}
	resume := func() { w.facts.State.Sprint.Status, w.facts.Orders = blackboard.InProgress, nil }
	wants := func(n int, what string) {
		t.Helper()
		w.pass(t)
		w.pass(t)
		if stopped != n {
			t.Errorf("%s: stopped %d times, want %d", what, stopped, n)
		}
	}
	wants(0, "without a deadline")
	deadlineIn(time.Second)(&w.facts)
	wants(0, "before the deadline")
	w.facts.Now = now.Add(time.Second)
	wants(1, "at the deadline")
	resume()
	wants(1, "resumed")
	w.facts.State.Sprint.Timeline.Deadline = blackboard.TimeOf(now.Add(time.Hour))
	wants(1, "a later deadline")
	w.facts.Now = now.Add(time.Hour)
	wants(2, "at the later deadline")
	resume()
	w.facts.State.Goal.Status = blackboard.Completed
	w.facts.State.Sprint.Checkpoints = nil
	wants(2, "the goal is complete")
}

// A disk that is full keeps nothing from being told, and later it is written down.
func TestWhatCannotBeWrittenIsToldAllTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWatching(dir)
	full := errors.New("no space left on device")
	w.Files.Append = func(string, []byte) error { return full }
	w.facts = blockedFacts()
	for range 2 {
		if open, err := w.Pass(t.Context()); !errors.Is(err, full) || len(open) != 1 {
			t.Errorf("open %v, error %v", open, err)
		}
	}
	if got := w.sink.take(); len(got) != 1 {
		t.Errorf("told %q, want one line", got)
	}
	w.Files = files(dir)
	w.pass(t)
	if got := w.sink.take(); len(got) != 0 || len(logged(t, dir)) != 1 {
		t.Errorf("told %q, logged %q", got, logged(t, dir))
	}
}

// A folder that cannot be locked, on a read-only disk, does not keep a watcher from looking.
func TestAWatcherWithoutALockGoesOnAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWatching(dir)
	w.Files.Lock = func(context.Context) (func() error, error) { return nil, os.ErrPermission }
	w.facts = blockedFacts()
	for range 2 {
		if open, err := w.Pass(t.Context()); !errors.Is(err, os.ErrPermission) || len(open) != 1 {
			t.Errorf("open %v, error %v", open, err)
		}
	}
	w.facts = sound()
	if _, err := w.Pass(t.Context()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if got := w.sink.take(); len(got) != 2 {
		t.Errorf("told %q, want one raised and one cleared", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v (%v)", entries, err)
	}
}

// Run looks at changes at once, at the deadline of the sprint, and at least every 30 s.
func TestAWatcherLooksAtChangesAndEvery30Seconds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := files(dir)
		f.Lock = func(context.Context) (func() error, error) { return func() error { return nil }, nil }
		var looks atomic.Int32
		ends := time.Now().Add(100 * time.Second)
		w := &watch.Watcher{Files: f, Look: func(context.Context) findings.Observation {
			looks.Add(1)
			x := sound()
			x.Now, x.State.Sprint.Timeline.Deadline = time.Now(), blackboard.TimeOf(ends)
			return x
		}}
		changes := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go w.Run(ctx, changes)
		wants := func(after time.Duration, n int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := int(looks.Load()); got != n {
				t.Errorf("%d looks, want %d", got, n)
			}
		}
		wants(0, 1)
		wants(29*time.Second, 1)
		changes <- struct{}{}
		wants(0, 2)
		wants(20*time.Second, 2)
		wants(11*time.Second, 3) // after one minute, and a little
		wants(39*time.Second, 4) // after 90 s
		wants(1500*time.Millisecond, 5)
		cancel()
		wants(time.Hour, 5)
	})
}
