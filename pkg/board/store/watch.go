package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"liza/pkg/board/blackboard"
)

const (
	debounce = 50 * time.Millisecond // further events within this time are one
	poll     = 30 * time.Second      // look anyway: events get lost, and other hosts send none
	pollFast = time.Second           // without events at all
)

// watched are the files of .liza/ whose changes matter.
var watched = map[string]bool{"log.yaml": true, "PAUSE": true, "ABORT": true, "CHECKPOINT": true}

// FileWatcher watches a copy of the board in a file, and what is beside it.
func FileWatcher(path string, alert func(kind blackboard.AlertKind, text string)) interface {
	Watch(context.Context) <-chan struct{}
} {
	return &File{rules: rulesOf(Options{Path: path, Alert: alert})}
}

// Watch sends at the first event without delay, then at most once per debounce time. All that watch one File share
// what the system tells: each write of the state is some twenty events.
func (f *File) Watch(ctx context.Context) <-chan struct{} {
	signals := make(chan struct{}, 1)
	w := &f.watching
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.signals == nil {
		w.signals = map[chan struct{}]bool{}
	}
	w.signals[signals] = true
	if w.stop == nil {
		within, stop := context.WithCancel(context.Background())
		w.stop = stop
		watcher := f.watcher()
		go func() {
			if watcher == nil {
				f.watch(within, nil, nil)
				return
			}
			defer watcher.Close()
			f.watch(within, watcher.Events, watcher.Errors)
		}()
	}
	context.AfterFunc(ctx, func() { w.leave(signals) })
	return signals
}

func (w *watching) leave(signals chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.signals, signals)
	close(signals)
	if len(w.signals) == 0 {
		w.stop()
		w.stop = nil
	}
}

func (w *watching) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for signals := range w.signals {
		select {
		case signals <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// watcher is nil when the system tells of no changes.
func (f *File) watcher() *fsnotify.Watcher {
	// The folder is watched, never the file: rename takes a file's watch away with it.
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(filepath.Dir(f.o.Path)); err != nil {
			watcher.Close()
		}
	}
	if err != nil {
		f.unwatched.Do(func() {
			f.o.Alert(blackboard.AlertNoEvents, fmt.Sprintf("changes are noticed within %s, not at once: %v", pollFast, err))
		})
		return nil
	}
	return watcher
}

// watch tells of changes. events is nil when the system tells of none.
func (f *File) watch(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	every := poll
	if events == nil {
		every = pollFast
	}
	seen, looked := f.look(), time.Now()
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
		f.watching.tell()
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
			case !f.matters(e):
			case filepath.Base(e.Name) == filepath.Base(f.journal.Path): // the state follows in a moment
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
			if now := f.look(); now != seen || time.Since(looked) >= poll {
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
func (f *File) look() string {
	text := ""
	for _, name := range append(slices.Sorted(maps.Keys(watched)), filepath.Base(f.o.Path)) {
		if info, err := os.Stat(filepath.Join(filepath.Dir(f.o.Path), name)); err == nil {
			text += fmt.Sprint(name, info.Size(), info.ModTime().UnixNano(), " ")
		}
	}
	return text
}

func (f *File) matters(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	return (name == filepath.Base(f.o.Path) || watched[name]) && !e.Has(fsnotify.Chmod)
}
