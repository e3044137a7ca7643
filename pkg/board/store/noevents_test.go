package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Without events of the system a change is noticed within seconds, and nothing is told as long as nothing changes.
func TestWithoutEventsAChangeIsNoticedSoon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := NewWatcher(filepath.Join(dir, "state.yaml"), nil)
		ctx, cancel := context.WithCancel(context.Background())
		signals := make(chan struct{}, 1)
		w.signals = map[chan struct{}]bool{signals: true}
		go w.watch(ctx, nil, nil)
		time.Sleep(5 * time.Second)
		if len(signals) > 0 {
			t.Error("a change was told of that was none")
		}
		if err := os.WriteFile(w.path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-signals
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		cancel()
	})
}

// When the system says that it lost events, who watches looks.
func TestLostEventsWakeWhoWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := NewWatcher(filepath.Join(dir, "state.yaml"), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		signals := make(chan struct{}, 1)
		w.signals = map[chan struct{}]bool{signals: true}
		errs := make(chan error)
		go w.watch(ctx, nil, errs)
		errs <- fsnotify.ErrEventOverflow
		if synctest.Wait(); len(signals) != 1 {
			t.Error("nobody is told")
		}
		close(errs) // and is not told again and again
	})
}

// The journal is written a moment before the state that it explains: one write wakes those who wait when the state is
// there, and they find the journal complete.
func TestTheJournalDoesNotWakeAnybodyBeforeTheState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := NewWatcher(filepath.Join(dir, "state.yaml"), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		signals := make(chan struct{}, 1)
		w.signals = map[chan struct{}]bool{signals: true}
		events := make(chan fsnotify.Event)
		go w.watch(ctx, events, nil)
		event := func(name string) { events <- fsnotify.Event{Name: filepath.Join(dir, name), Op: fsnotify.Write} }
		woken := func() (n int) {
			synctest.Wait()
			n = len(signals)
			if n > 0 {
				<-signals
			}
			return n
		}
		event("log.yaml")
		if woken() != 0 {
			t.Error("the journal wakes before the state is there")
		}
		event("state.yaml")
		if woken() != 1 {
			t.Error("the state does not wake at once")
		}
		time.Sleep(2 * debounce)
		if woken() != 0 {
			t.Error("one write wakes twice")
		}
		event("log.yaml")
		time.Sleep(2 * debounce)
		if woken() != 1 {
			t.Error("a journal without a state does not wake")
		}
	})
}
