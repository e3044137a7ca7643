package store

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	debounce = 30 * time.Millisecond // further events within this time are one
	poll     = 30 * time.Second      // look anyway: events get lost, and other hosts send none
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
		watcher = nil // polling has to do
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
	ticker := time.NewTicker(poll)
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
			signal()
		case <-quiet.C:
			if resting = false; again {
				again = false
				signal()
			}
		}
	}
}

func (f *File) matters(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	return (name == filepath.Base(f.o.Path) || watched[name]) && !e.Has(fsnotify.Chmod)
}
