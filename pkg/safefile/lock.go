package safefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Holder says who holds a lock. It is one JSON line in the lock file while the lock is
// held, for people and for those who wait in vain; the lock itself is the kernel's.
type Holder struct {
	PID      int       `json:"pid"`
	PIDStart int64     `json:"pid_start"`
	Host     string    `json:"host"`
	Agent    string    `json:"agent"`
	Op       string    `json:"op"`
	Since    time.Time `json:"since"` // set by Lock
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	name, more := h.Agent, ""
	if name == "" {
		name = "a process"
	}
	if h.Host != "" {
		more += ", host " + h.Host
	}
	if h.Op != "" {
		more += ", " + h.Op
	}
	return fmt.Sprintf("%s (pid %d%s)", name, h.PID, more)
}

// A HeldError says that a lock was not granted in time, and who has it.
type HeldError struct {
	Path   string // of the lock file
	Holder Holder // zero when the holder has not written its name
	Waited time.Duration
	At     time.Time // when waiting ended
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("cannot lock %s: held by %s", shown(e.Path), e.Holder)
	if e.Holder.Since.IsZero() {
		return fmt.Sprintf("%s; waited %s", text, e.Waited.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s for %s", text, max(e.At.Sub(e.Holder.Since), 0).Round(time.Second))
}

// shown is the locked file as people know it: .liza/state.yaml.
func shown(lock string) string {
	path := strings.TrimSuffix(lock, ".lock")
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// Lock takes the exclusive lock on the file at path, which it makes when needed. It
// tries once, then waits in the kernel's queue until ctx ends: with a *HeldError when
// ctx had a deadline, with ctx's error when it was cancelled. Polling instead would
// starve under load. A symbolic link is refused. The lock ends with unlock, with the
// process, or when nobody holds on to unlock any more.
func Lock(ctx context.Context, path string, holder Holder) (unlock func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
	}
	start := time.Now()
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o644))
	q := openQueue(path + ".queue")
	granted, err := false, error(nil)
	if !q.busy() {
		granted, err = l.TryLock()
	}
	if !granted && err == nil {
		if err = q.wait(ctx); err == nil {
			err = await(ctx, func() error { return again(l.Lock) }, func(err error) {
				if err == nil {
					_ = l.Unlock()
				}
			})
		}
		q.leave()
	}
	if err == nil {
		u := grant(l, path, holder)
		return func() error { q.close(); return u() }, nil
	}
	q.close()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		now := time.Now()
		return nil, &HeldError{Path: path, Holder: readHolder(path), Waited: now.Sub(start), At: now}
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("cannot lock %s: %s is a symbolic link", shown(path), path)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
}

// await ...
func await(ctx context.Context, block func() error, late func(error)) error {
	done := make(chan error, 1)
	go func() { done <- block() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		go func() { late(<-done) }()
		return ctx.Err()
	}
}

func again(call func() error) error {
	err := call()
	for errors.Is(err, syscall.EINTR) {
		err = call()
	}
	return err
}

// grant writes the holder's name and returns the function that takes it away and lets
// go. That the name cannot be written, on a full disk, is no reason to refuse the lock.
func grant(l *flock.Flock, path string, holder Holder) func() error {
	name, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err == nil {
		holder.Since = time.Now().UTC().Truncate(time.Second)
		line, _ := json.Marshal(holder) // strings and numbers only: cannot fail
		_ = name.Truncate(0)
		_, _ = name.Write(append(line, '\n'))
	}
	return func() error {
		if err == nil {
			_ = name.Truncate(0)
			_ = name.Close()
		}
		return l.Unlock()
	}
}

// readHolder reads what grant wrote; it may find nothing, for the name is written after
// the lock was granted.
func readHolder(path string) Holder {
	var h Holder
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	return h
}
