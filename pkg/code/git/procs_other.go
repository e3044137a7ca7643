//go:build !linux

package git

import (
	"fmt"
	"io/fs"
	"time"
)

// staleAge is the age at which a lock file is taken for stale where nobody can tell which git processes live.
const staleAge = 10 * time.Minute

// ownerGone answers nil when the lock file is so old that its owner cannot be at work any more.
func ownerGone(lock fs.FileInfo, _ []string) error {
	if age := time.Since(lock.ModTime()); age < staleAge {
		return fmt.Errorf("it is only %s old, and the git process that made it may be alive", age.Round(time.Second))
	}
	return nil
}

// changeTime is when a file was last changed in any way; ok is false where the system does not say.
func changeTime(fs.FileInfo) (at time.Time, ok bool) { return at, false }
