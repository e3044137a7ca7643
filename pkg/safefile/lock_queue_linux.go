package safefile

import (
	"context"
	"errors"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long somebody waits for the one ahead. Whoever stands in the queue and
// does not run, stopped by a person, holds up the others no longer than that.
const patience = time.Second

// busy tells whether somebody waits in the queue.
func (q queue) busy() bool {
	if q.file == nil {
		return false
	}
	_, found := q.first(0, 0)
	return found
}

// wait takes a place at the end of the queue and waits until the one ahead has left it. The
// place is kept until leave. The only errors are those of ctx: where the queue cannot be
// used there is none.
//
// A place is one byte of the queue file, locked at the time of arrival, far behind the end
// of what is in the file. The kernel lets go of it when the process ends.
func (q queue) wait(ctx context.Context) error {
	if q.file == nil {
		return nil
	}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return nil
	}
	place := now.Nano()
	err := q.lock(unix.F_OFD_SETLK, unix.F_WRLCK, place)
	for errors.Is(err, unix.EAGAIN) {
		place++
		err = q.lock(unix.F_OFD_SETLK, unix.F_WRLCK, place)
	}
	if err != nil {
		return nil
	}
	ahead, found := q.first(0, place)
	for at := ahead; found; at, found = q.first(ahead+1, place-ahead-1) {
		if ahead = at; ahead == place-1 {
			break
		}
	}
	if ahead == 0 {
		return nil
	}
	// Waiting cannot be broken off, so it has a descriptor of its own.
	back := openQueue(q.file.Name())
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = await(patient, func() error { return back.lock(unix.F_OFD_SETLKW, unix.F_RDLCK, ahead) }, func(error) { back.close() })
	if err == nil { back.close() }
	return ctx.Err()
}

// leave gives up the place.
func (q queue) leave() {
	if q.file != nil {
		_ = unix.FcntlFlock(q.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	}
}

// first finds a place taken by another among n bytes; 0 means all of them.
func (q queue) first(from, n int64) (at int64, found bool) {
	// To read is refused by places only, not by those who wait for them.
	lk := unix.Flock_t{Type: unix.F_RDLCK, Start: from, Len: n}
	if n < 0 || from == math.MaxInt64 || unix.FcntlFlock(q.file.Fd(), unix.F_OFD_GETLK, &lk) != nil {
		return 0, false
	}
	return lk.Start, lk.Type == unix.F_WRLCK
}

func (q queue) lock(cmd int, kind int16, at int64) error {
	if q.file == nil {
		return os.ErrInvalid
	}
	return again(func() error {
		return unix.FcntlFlock(q.file.Fd(), cmd, &unix.Flock_t{Type: kind, Start: at, Len: 1})
	})
}
