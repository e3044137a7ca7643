package safefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// A HeldError says that a lock was not granted in time, and who has it.
type HeldError struct {
	Path   string // of the lock file
	Holder Holder // zero when the holder has not written its name
	Waited time.Duration
	At     time.Time // when waiting ended
}

func (e *HeldError) Error() string {
	if e.Holder.Since.IsZero() { // who it was may be this process
		return fmt.Sprintf("cannot lock %s: it was not free; waited %s", shown(e.Path), e.Waited.Round(time.Millisecond))
	}
	return fmt.Sprintf("cannot lock %s: held by %s for %s", shown(e.Path), e.Holder, max(e.At.Sub(e.Holder.Since), 0).Round(time.Second))
}

// shown is the locked file as people know it: .liza/state.yaml.
func shown(lock string) string {
	path := strings.TrimSuffix(lock, ".lock")
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// Lock takes the exclusive lock on the file at path, which it makes when needed. Where
// nobody waits it tries once; else it waits in order of arrival until ctx ends: with a
// *HeldError when ctx had a deadline, with ctx's error when it was cancelled. A symbolic
// link is refused. The lock ends with unlock, with the process, or when nobody holds on
// to unlock any more. Programs that take the plain flock of the file, like flock(1),
// exclude and are excluded; they are in no queue.
//
// Beside the lock is an empty file named like it with .queue at the end, for those who
// wait. Where it cannot be used the lock works without.
func Lock(ctx context.Context, path string, holder Holder) (unlock func() error, err error) {
	// A deadline may be over before the lock was asked for, on a machine under load: it is tried once
	// in any case, so that the answer says who has it.
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
	}
	asked := time.Now()
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o644))
	q := openQueue(path)
	granted := false
	if !q.busy() {
		granted, err = l.TryLock()
	}
	if err == nil && !granted {
		err = wait(ctx, q, l)
	}
	if err == nil {
		return grant(l, q, path, holder), nil
	}
	q.close()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		now := time.Now()
		return nil, &HeldError{Path: path, Holder: readHolder(path), Waited: now.Sub(asked), At: now}
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("cannot lock %s: %s is a symbolic link", shown(path), path)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
}

// LockIn is Lock, and makes the folder of path when that is missing. The folder around it has to be there.
func LockIn(ctx context.Context, path string, holder Holder) (unlock func() error, err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
	}
	return Lock(ctx, path, holder)
}

// wait is in the queue, and at its head for the lock itself.
func wait(ctx context.Context, q queue, l *flock.Flock) error {
	defer q.leave()
	if err := q.wait(ctx); err != nil {
		return err
	}
	return await(ctx, func() error { return again(l.Lock) }, func(err error) {
		if err == nil {
			_ = l.Unlock()
		}
	})
}

// grant writes the holder's name and returns the function that takes it away and lets
// go. That the name cannot be written, on a full disk, is not a reason to refuse the lock.
func grant(l *flock.Flock, q queue, path string, holder Holder) func() error {
	holder.Since = time.Now().UTC().Truncate(time.Second)
	name := putUp(path, holder)
	var once sync.Once
	return func() error {
		once.Do(func() {
			name.takeDown()
			q.close()
		})
		return l.Unlock()
	}
}
