package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// errMoved says that an editor changed the file under a write (W8).
var errMoved = errors.New("the file was changed meanwhile")

// patience is how long the lock is waited for. What the board says about it is known from the last time that it was read.
func (f *File) patience() time.Duration {
	if last := f.latest(); last != nil && !f.o.LockFixed {
		if seconds, ok := blackboard.IntegerOf(last.base.Config["lock_timeout"]); ok && seconds > 0 {
			return time.Duration(seconds) * time.Second
		}
	}
	return f.o.LockTimeout
}

// underLock takes the lock (W1) for attempts to write.
func (f *File) underLock(ctx context.Context, op Op, attempt func() error) (err error) {
	wait, cancel := context.WithTimeout(ctx, f.patience())
	defer cancel()
	unlock, err := safefile.Lock(wait, f.o.Path+".lock", safefile.Holder{
		PID: os.Getpid(), PIDStart: f.o.PIDStart, Host: f.o.Host, Agent: op.Agent, Op: op.Name,
	})
	var held *safefile.HeldError
	if errors.As(err, &held) {
		return &LockedError{Held: held}
	}
	if err != nil {
		return err
	}
	defer func() {
		if e := unlock(); err == nil && e != nil {
			err = fmt.Errorf("cannot unlock %s: %w", short(f.o.Path), e)
		}
	}()
	if err := f.away(); err != nil {
		return err
	}
	f.o.At("W1")
	for range maxMoves {
		if err = attempt(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return fmt.Errorf("cannot write %s: somebody else changed it %d times while it was being written", short(f.o.Path), maxMoves)
}
