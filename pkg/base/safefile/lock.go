package safefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// A HeldError is returned for a lock that was not granted in time. It names the holder.
type HeldError struct {
	Path   string // path of the lock file
	Holder Holder // zero if the holder has not written its name
	Waited time.Duration
	At     time.Time // end of the wait
}

// ErrInUse is the error of Hold for what another process holds.
var ErrInUse = errors.New("it is in use by another process")

// Hold locks a file or folder until no process has the file open that it returns. It does not wait.
func Hold(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := again(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		return nil, errors.Join(err, f.Close(), ErrInUse)
	}
	return f, nil
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

// Lock takes the exclusive lock on the file at path, which it creates if it is missing. While another has it,
// it tries again and again until ctx ends: with a *HeldError if ctx had a deadline, with ctx's error if it was cancelled. It refuses a
// symbolic link. The lock ends with unlock, with the process, or when unlock becomes unreachable. Programs that take the
// plain flock of the file, like flock(1), exclude and are excluded.
func Lock(ctx context.Context, path string, holder Holder) (unlock func() error, err error) {
	// A deadline may be over before the lock was asked for, on a machine under load: it is tried once
	// in any case, so that the answer says who has it.
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
	}
	asked := time.Now()
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o644))
	granted, err := l.TryLock()
	for err == nil && !granted {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(leastPause + rand.N(leastPause*4)):
			granted, err = l.TryLock()
		}
	}
	if err == nil {
		return grant(l, path, holder), nil
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		now := time.Now()
		return nil, &HeldError{Path: path, Holder: readHolder(path), Waited: now.Sub(asked), At: now}
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("cannot lock %s: %s is a symbolic link", shown(path), path)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
}

// LockIn is Lock, and creates the folder of path if it is missing. Its parent must exist.
func LockIn(ctx context.Context, path string, holder Holder) (unlock func() error, err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot lock %s: %w", shown(path), err)
	}
	return Lock(ctx, path, holder)
}

// leastPause is the shortest time between two tries of a lock that another has; the longest is five times as long.
const leastPause = 5 * time.Millisecond

// slotPause is how often the first who waits looks for a free slot.
const slotPause = 50 * time.Millisecond

// TakeSlot takes one of n slots, which are lock files in dir. waits is told once who has them if none is free. The slot
// ends with free, or with the process.
func TakeSlot(ctx context.Context, dir string, n int, me Holder, waits func([]Holder)) (free func() error, err error) {
	at := func(i int) string { return filepath.Join(dir, fmt.Sprintf("slot-%d.lock", i)) }
	told := false
	tell := func() {
		if told {
			return
		}
		told = true
		var all []Holder
		for i := range n {
			if h, held := CurrentHolder(at(i)); held {
				all = append(all, h)
			}
		}
		waits(all)
	}
	over, cancel := context.WithDeadline(ctx, time.Unix(0, 0)) // for one try
	defer cancel()
	queue := filepath.Join(dir, "slots.lock")
	leave, err := LockIn(over, queue, me)
	if _, held := errors.AsType[*HeldError](err); held && ctx.Err() == nil {
		tell()
		leave, err = LockIn(ctx, queue, me)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = leave() }()
	for {
		for i := range n {
			free, err := Lock(over, at(i), me)
			if _, held := errors.AsType[*HeldError](err); !held {
				return free, err
			}
		}
		tell()
		select {
		case <-time.After(slotPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// grant writes the holder's name and returns the function that takes it away and lets
// go. That the name cannot be written, on a full disk, is not a reason to refuse the lock.
func grant(l *flock.Flock, path string, holder Holder) func() error {
	holder.Since = time.Now().UTC().Truncate(time.Second)
	name := publish(path, holder)
	var once sync.Once
	return func() error {
		once.Do(name.remove)
		return l.Unlock()
	}
}

// Holder is the holder of a lock: one JSON line in the lock file while the lock is held, for people and for error messages;
// the lock itself is the kernel's.
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

// CurrentHolder reports whether the lock at path is held now, and by whom. The holder is zero if it has not written its name,
// as programs other than Liza. The name of a killed holder is ignored.
func CurrentHolder(path string) (Holder, bool) {
	// Asking is taking the lock together with all others who ask, for an instant.
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))
	free, err := l.TryRLock()
	if err != nil {
		return Holder{}, false // there is no such lock
	}
	if free {
		_ = l.Unlock()
		return Holder{}, false
	}
	return readHolder(path), true
}

// A nameplate is the lock file, open to write the name of the holder into it.
type nameplate struct{ fd int } // -1 when it cannot be opened

// publish writes the holder's name, replacing that of a killed holder.
func publish(path string, h Holder) nameplate {
	n := nameplate{fd: open(path, unix.O_WRONLY)}
	if n.fd < 0 {
		return n
	}
	_ = unix.Ftruncate(n.fd, 0)
	line, _ := json.Marshal(h) // strings and numbers only: cannot fail
	_, _ = unix.Write(n.fd, append(line, '\n'))
	return n
}

func (n nameplate) remove() {
	if n.fd >= 0 {
		_ = unix.Ftruncate(n.fd, 0)
		_ = unix.Close(n.fd)
	}
}

// readHolder reads the name. It may find nothing, for the name is written after the lock
// was granted, and it leaves out a name whose process is no more.
func readHolder(path string) Holder {
	var h Holder
	data, err := Read(path)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	host, err := os.Hostname()
	if err == nil && h.Host == host && h.PID > 0 && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH) {
		return Holder{}
	}
	return h
}

// open opens a file whose use lasts microseconds, which an os.File would double. It is no
// link and not inherited by children. The answer is -1 when it cannot be opened.
func open(path string, flags int) int {
	fd := -1
	_ = again(func() (err error) {
		fd, err = unix.Open(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		return err
	})
	return fd
}

// again calls until the call is not interrupted by a signal.
func again(call func() error) error {
	err := call()
	for errors.Is(err, syscall.EINTR) {
		err = call()
	}
	return err
}
