package supervisor

import (
	"context"
	"time"
)

// sleep waits, and reports whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// rest waits between two runs of one unit of work. The first Ctrl-C ends the wait, not the
// work; rest reports whether that may go on.
func rest(soft, hard context.Context, d time.Duration) bool {
	wait, end := context.WithCancel(hard)
	defer end()
	defer context.AfterFunc(soft, end)()
	return sleep(wait, d) || hard.Err() == nil
}
