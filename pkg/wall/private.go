package wall

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

const (
	privatePrefix = "wall-"     // of the folder that a run has for itself
	privateGuard  = "wall.lock" // held while such folders are made and removed
)

// makePrivate makes the folder that a run has for itself, and holds it until remove is called. Those that killed processes
// have left are removed.
func makePrivate(dir string) (remove func() error, err error) {
	tmp := filepath.Dir(dir)
	if err := safefile.MakeFolder(tmp, 0o755); err != nil {
		return nil, err
	}
	err = guarded(tmp, func() error {
		left := sweep(tmp) // another run does not keep this one from starting
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s cannot be had: %w", dir, cmp.Or(left, errInUse))
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		held, err := hold(dir)
		remove = func() error { return errors.Join(safefile.RemoveTree(dir), held.Close()) }
		return err
	})
	return remove, err
}

// RemoveLeft removes the private folders of runs whose process is gone.
func RemoveLeft(tmp string) error {
	if _, err := os.Stat(tmp); err != nil {
		return nil // there has never been one
	}
	return guarded(tmp, func() error { return sweep(tmp) })
}

func guarded(tmp string, do func() error) error {
	guard := flock.New(filepath.Join(tmp, privateGuard))
	if err := guard.Lock(); err != nil {
		return err
	}
	defer guard.Close()
	return do()
}

func sweep(tmp string) (err error) {
	left, _ := filepath.Glob(filepath.Join(tmp, privatePrefix+"*"))
	for _, dir := range left {
		held, busy := hold(dir)
		if busy == nil {
			err = errors.Join(err, safefile.RemoveTree(dir), held.Close())
		}
	}
	return err
}

// hold locks a folder. The lock is beside what the run may change, and ends with the process.
func hold(dir string) (*flock.Flock, error) {
	l := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if ok, err := l.TryLock(); err != nil || !ok {
		return nil, errors.Join(err, l.Close(), errInUse)
	}
	return l, nil
}

var errInUse = errors.New("it is in use by another run")
