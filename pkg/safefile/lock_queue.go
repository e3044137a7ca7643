package safefile

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// A queue is the file beside a lock. Those who wait for the lock have a place in it, so
// that they get it in order of arrival.
//
// flock alone keeps no order: anyone who asks between a release and the moment in which the
// next in line runs again gets the lock. On a busy machine that is so long that the same
// few get it again and again.
type queue struct {
	path string
	fd   int // -1 where it cannot be used
}

func queuePath(lock string) string { return lock + ".queue" }

// openQueue opens the queue of the lock at path. Order is a comfort: where there can be
// none the lock must work.
func openQueue(lock string) queue {
	q := queue{path: queuePath(lock)}
	q.fd = open(q.path, unix.O_RDWR|unix.O_CREAT)
	return q
}

func (q queue) close() {
	if q.fd >= 0 {
		_ = unix.Close(q.fd)
	}
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

// await blocks in the kernel, which wakes the one whose turn it is; polling would starve
// under load. Nothing ends such a call early, not even closing the descriptor. So anyone who
// gives up leaves it behind, and late is called once it has ended.
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

// again calls until the call is not interrupted by a signal.
func again(call func() error) error {
	err := call()
	for errors.Is(err, syscall.EINTR) {
		err = call()
	}
	return err
}
