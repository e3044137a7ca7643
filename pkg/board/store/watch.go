package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"liza/pkg/board/blackboard"
)

const (
	debounce = 50 * time.Millisecond // further events within this time are one
	poll     = 30 * time.Second      // interval of polling: events get lost, and other hosts send none
	pollFast = time.Second           // interval of polling without events
)

// watched are the files of .liza/ whose changes matter.
var watched = map[string]bool{"log.yaml": true, "PAUSE": true, "ABORT": true, "CHECKPOINT": true}

// A Watcher watches the file of a board, or a copy of it, and the control files beside it.
type Watcher struct {
	path  string
	alert func(kind blackboard.AlertKind, text string)

	mu       sync.Mutex
	signals  map[chan struct{}]bool
	stop     context.CancelFunc // nil: there is no watcher
	noEvents sync.Once          // guards the alert that changes are only polled for
}

// NewWatcher returns a Watcher of the file at path. It calls alert, unless nil, if the system sends no events.
func NewWatcher(path string, alert func(kind blackboard.AlertKind, text string)) *Watcher {
	if alert == nil {
		alert = func(blackboard.AlertKind, string) {}
	}
	return &Watcher{path: path, alert: alert}
}

// Watch signals changes of the file, see Watcher.Watch.
func (f *File) Watch(ctx context.Context) <-chan struct{} { return f.watcher.Watch(ctx) }

// Watch sends at the first event without delay, then at most once per debounce time, until ctx
// ends. All callers share one watch of the system: a write of the state is some twenty events.
func (w *Watcher) Watch(ctx context.Context) <-chan struct{} {
	signals := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.signals == nil {
		w.signals = map[chan struct{}]bool{}
	}
	w.signals[signals] = true
	if w.stop == nil {
		within, stop := context.WithCancel(context.Background())
		w.stop = stop
		watcher := w.events()
		go func() {
			if watcher == nil {
				w.watch(within, nil, nil)
				return
			}
			defer watcher.Close()
			w.watch(within, watcher.Events, watcher.Errors)
		}()
	}
	context.AfterFunc(ctx, func() { w.leave(signals) })
	return signals
}

func (w *Watcher) leave(signals chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.signals, signals)
	close(signals)
	if len(w.signals) == 0 {
		w.stop()
		w.stop = nil
	}
}

func (w *Watcher) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for signals := range w.signals {
		select {
		case signals <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// events returns the watcher of the system, or nil if the system reports no changes.
func (w *Watcher) events() *fsnotify.Watcher {
	// The folder is watched, never the file: rename takes a file's watch away with it.
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(filepath.Dir(w.path)); err != nil {
			watcher.Close()
		}
	}
	if err != nil {
		w.noEvents.Do(func() {
			w.alert(blackboard.AlertNoEvents, fmt.Sprintf("changes are noticed within %s, not at once: %v", pollFast, err))
		})
		return nil
	}
	return watcher
}

// watch signals changes. events is nil if the system reports none.
func (w *Watcher) watch(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	every := poll
	if events == nil {
		every = pollFast
	}
	seen, looked := w.look(), time.Now()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	<-quiet.C
	resting, again := false, false
	signal := func() {
		if resting {
			again = true
			return
		}
		w.tell()
		resting, again = true, false
		quiet.Reset(debounce)
	}
	later := func() {
		if !resting && !again {
			quiet.Reset(debounce)
		}
		again = true
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
			case !w.matters(e):
			case filepath.Base(e.Name) == filepath.Base(journalPath(w.path)): // the state follows in a moment
				later()
			default:
				signal()
			}
		case _, ok := <-errs: // such as an overflow: something was missed
			if !ok {
				errs = nil
			} else {
				signal()
			}
		case <-ticker.C:
			if now := w.look(); now != seen || time.Since(looked) >= poll {
				seen, looked = now, time.Now()
				signal()
			}
		case <-quiet.C:
			if resting = false; again {
				again = false
				signal()
			}
		}
	}
}

// look is how the watched files are now, as far as that can be seen without reading them.
func (w *Watcher) look() string {
	text := ""
	for _, name := range append(slices.Sorted(maps.Keys(watched)), filepath.Base(w.path)) {
		if info, err := os.Stat(filepath.Join(filepath.Dir(w.path), name)); err == nil {
			text += fmt.Sprint(name, info.Size(), info.ModTime().UnixNano(), " ")
		}
	}
	return text
}

func (w *Watcher) matters(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	return (name == filepath.Base(w.path) || watched[name]) && !e.Has(fsnotify.Chmod)
}
