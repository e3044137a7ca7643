package activity

import (
	"context"
	"iter"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	followPoll  = time.Second           // look anyway: events of files get lost, and other hosts send none
	followPause = 50 * time.Millisecond // between two looks: a program may write a line at a time
)

// Follow yields the events after an offset, each with the offset after it, and goes on with those that
// are added until ctx ends. The file need not be there yet.
func Follow(ctx context.Context, path string, after int64) iter.Seq2[Event, int64] {
	return func(yield func(Event, int64) bool) {
		changed := make(<-chan fsnotify.Event)
		// The folder is watched, because the file may be put away.
		if w, err := fsnotify.NewWatcher(); err == nil {
			defer w.Close()
			if w.Add(filepath.Dir(path)) == nil {
				changed = w.Events
			}
		}
		look := time.NewTicker(followPoll)
		defer look.Stop()
		for {
			on := true
			_ = scan(path, after, func(e Event, next int64) bool { // what cannot be read now may be readable at the next look
				after = next
				on = ctx.Err() == nil && (e.Kind == "" || yield(e, next))
				return on
			})
			if !on || !waitFor(ctx, path, changed, look.C) {
				return
			}
		}
	}
}

// waitFor reports whether it is worth looking again; false when ctx has ended.
func waitFor(ctx context.Context, path string, changed <-chan fsnotify.Event, look <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look:
			return true
		case e, ok := <-changed:
			if !ok {
				changed = nil
			} else if filepath.Clean(e.Name) != filepath.Clean(path) {
				continue
			}
		}
		pause := time.NewTimer(followPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-pause.C:
			return true
		}
	}
}
