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
	granted, err := l.TryLock()
	if err == nil && !granted {
		err = wait(ctx, l)
	}
	if err == nil {
		return grant(l, path, holder), nil
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		now := time.Now()
		return nil, &HeldError{Path: path, Holder: readHolder(path), Waited: now.Sub(start), At: now}
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("cannot lock %s: %s is a symbolic link", shown(path), path)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
}

// wait blocks in the kernel, where the queue is. Closing the descriptor would not end
// that, so whoever gives up leaves the waiter behind; it lets go as soon as it is granted.
func wait(ctx context.Context, l *flock.Flock) error {
	granted := make(chan error, 1)
	go func() {
		err := l.Lock()
		for errors.Is(err, syscall.EINTR) {
			err = l.Lock()
		}
		granted <- err
	}()
	select {
	case err := <-granted:
		return err
	case <-ctx.Done():
		go func() {
			if <-granted == nil {
				_ = l.Unlock()
			}
		}()
		return ctx.Err()
	}
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
