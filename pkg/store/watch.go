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
)

const (
	debounce = 30 * time.Millisecond // further events within this time are one
	poll     = 30 * time.Second      // look anyway: events get lost, and other hosts send none
	pollFast = time.Second           // without events at all
)

// watched are the files of .liza/ whose changes matter.
var watched = map[string]bool{"log.yaml": true, "PAUSE": true, "ABORT": true, "CHECKPOINT": true}

// Watch sends at the first event without delay, then at most once per debounce time.
func (f *File) Watch(ctx context.Context) <-chan struct{} {
	signals := make(chan struct{}, 1)
	// The folder is watched, never the file: rename takes a file's watch away with it.
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(filepath.Dir(f.o.Path)); err != nil {
			watcher.Close()
		}
	}
	if err != nil {
		watcher = nil
		f.unwatched.Do(func() {
			f.o.Alert(AlertNoEvents, fmt.Sprintf("changes are noticed within %s, not at once: %v", pollFast, err))
		})
	}
	go f.watch(ctx, watcher, signals)
	return signals
}

func (f *File) watch(ctx context.Context, watcher *fsnotify.Watcher, signals chan<- struct{}) {
	defer close(signals)
	var events <-chan fsnotify.Event
	var errs <-chan error
	if watcher != nil {
		defer watcher.Close()
		events, errs = watcher.Events, watcher.Errors
	}
	every := poll
	if watcher == nil {
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
		select {
		case signals <- struct{}{}:
		default: // one is waiting already
		}
		resting = true
		quiet.Reset(debounce)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if f.matters(e) {
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
