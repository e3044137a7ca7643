package safefile

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// patience is the longest wait for the one ahead. A process in the queue that a person stopped delays the next no longer than
// that.
const patience = time.Second

// A place in the queue is one byte of the file, locked by anyone who is there: the byte
// whose number is the time of arrival, in nanoseconds, far behind the end of the content.
// Nothing is written, and the kernel frees the place when its process ends.

// busy reports whether a process waits.
func (q queue) busy() bool {
	if q.fd < 0 {
		return false
	}
	_, found := q.taken(0, 0)
	return found
}

// wait takes the place at the end and waits until the one ahead has left. The place is
// kept until leave. The only errors are those of ctx: an unusable queue is none.
func (q queue) wait(ctx context.Context) error {
	place, ok := q.lineUp()
	if !ok {
		return nil
	}
	ahead, found := q.ahead(place)
	if !found {
		return nil
	}
	// The call outlives this one when it is given up, so it has a descriptor of its own.
	fd := open(q.path, unix.O_RDWR)
	if fd < 0 {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = await(patient, func() error {
		defer unix.Close(fd)
		return again(func() error { return lockByte(uintptr(fd), unix.F_OFD_SETLKW, unix.F_RDLCK, ahead) })
	}, func(error) {})
	return ctx.Err()
}

// leave gives up the place; the next one goes on.
func (q queue) leave() {
	if q.fd >= 0 {
		_ = unix.FcntlFlock(uintptr(q.fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	}
}

// lineUp takes a place.
func (q queue) lineUp() (place int64, ok bool) {
	var now unix.Timespec
	if q.fd < 0 || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0, false
	}
	for place = now.Nano(); ; place++ {
		err := lockByte(uintptr(q.fd), unix.F_OFD_SETLK, unix.F_WRLCK, place)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return place, err == nil
		}
	}
}

// ahead finds the place right before the one given.
func (q queue) ahead(place int64) (at int64, found bool) {
	for from := int64(0); from < place; from = at + 1 {
		next, more := q.taken(from, place-from)
		if !more {
			break
		}
		at, found = next, true
	}
	return at, found
}

// taken finds a place, among n bytes from from on (0: all), that another process has.
func (q queue) taken(from, n int64) (at int64, found bool) {
	// A read lock is refused by those who have a place, not by those who wait for one.
	lk := unix.Flock_t{Type: unix.F_RDLCK, Start: from, Len: n}
	if unix.FcntlFlock(uintptr(q.fd), unix.F_OFD_GETLK, &lk) != nil {
		return 0, false
	}
	return lk.Start, lk.Type == unix.F_WRLCK
}

func lockByte(fd uintptr, cmd int, kind int16, at int64) error {
	return unix.FcntlFlock(fd, cmd, &unix.Flock_t{Type: kind, Start: at, Len: 1})
}
