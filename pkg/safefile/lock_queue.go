package safefile

import (
	"os"
	"syscall"
)

// A queue ...
type queue struct{ file *os.File }

func openQueue(path string) queue {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return queue{}
	}
	return queue{f}
}

func (q queue) close() {
	if q.file != nil {
		_ = q.file.Close()
	}
}
