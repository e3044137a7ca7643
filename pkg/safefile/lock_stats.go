package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// LockStats says how long a lock was waited for and held, from the first use on. A use
// counts when it ends with unlock; who gave up waiting is not in it.
type LockStats struct {
	Since   time.Time // when counting began
	Count   uint64
	Killed  uint64 // holders that ended without unlock
	Wait    Durations
	Hold    Durations
	Longest Holder // who had it for Hold.Max; Since is when he got it
}

// Durations are many durations in a fixed space.
type Durations struct {
	Total, Max time.Duration
	Buckets    [durationBuckets]uint64 // [i] counts those under 2^i µs that no lower one counts; the last one all others
}

const durationBuckets = 32 // 2^30 µs are 18 minutes

func (d *Durations) add(one time.Duration) {
	one = max(one, 0)
	d.Total += one
	d.Max = max(d.Max, one)
	d.Buckets[min(bits.Len64(uint64(one.Microseconds())), durationBuckets-1)]++
}

// Percentile is a limit that p percent of the durations do not exceed: the power of two
// above them, or the longest of all.
func (d Durations) Percentile(p float64) time.Duration {
	var count, sum uint64
	for _, n := range d.Buckets {
		count += n
	}
	for i, n := range d.Buckets[:durationBuckets-1] {
		if sum += n; float64(sum) >= p/100*float64(count) {
			return min(time.Microsecond<<i, d.Max)
		}
	}
	return d.Max
}

// Mean is the average.
func (d Durations) Mean() time.Duration {
	var count uint64
	for _, n := range d.Buckets {
		count += n
	}
	if count == 0 {
		return 0
	}
	return d.Total / time.Duration(count)
}

func (d Durations) String() string {
	return fmt.Sprintf("%s on average, 99 %% up to %s, longest %s", short(d.Mean()), short(d.Percentile(99)), short(d.Max))
}

// short keeps three digits at most.
func short(d time.Duration) time.Duration {
	step := time.Nanosecond
	for d/step >= 1000 {
		step *= 10
	}
	return d.Round(step)
}

// String is one line: waited, held, by whom the longest.
func (s LockStats) String() string {
	if s.Count == 0 {
		return "never used"
	}
	text := fmt.Sprintf("%d uses since %s; waited %s; held %s by %s at %s", s.Count, s.Since.Format(time.RFC3339),
		s.Wait, s.Hold, s.Longest, s.Longest.Since.Format(time.RFC3339))
	switch s.Killed {
	case 0:
		return text
	case 1:
		return text + "; 1 holder was killed"
	}
	return fmt.Sprintf("%s; %d holders were killed", text, s.Killed)
}

// ReadLockStats reads the statistics of the lock at path. There are none, and that is no
// error, when it was never used.
func ReadLockStats(path string) (LockStats, error) {
	f, err := OpenFile(queuePath(path), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return LockStats{}, nil
	}
	if err != nil {
		return LockStats{}, fmt.Errorf("cannot read the statistics of %s: %w", shown(path), err)
	}
	defer f.Close()
	// A writer may be at it: it takes a microsecond.
	for range 3 {
		var s LockStats
		if s, err = readStats(int(f.Fd())); err == nil {
			return s, nil
		}
	}
	return LockStats{}, fmt.Errorf("cannot read the statistics of %s: %w; the next use of the lock begins anew", shown(path), err)
}

// use is one time from Lock to unlock.
type use struct {
	wait, hold time.Duration
	holder     Holder
	at         time.Time // when it was granted
	killed     bool      // the holder before was killed
}

// count adds a use to the statistics, while the lock is held. They are not flushed to
// disk; what is damaged, after a power loss, begins anew. Failing is no reason to keep
// the lock, and the lock does not need them.
func (q queue) count(u use) {
	if q.fd < 0 {
		return
	}
	s, err := readStats(q.fd)
	if err != nil && err != errDamaged {
		return
	}
	if s.Count == 0 {
		s = LockStats{Since: u.at}
	}
	s.add(u)
	_, _ = unix.Pwrite(q.fd, s.encode(), 0)
}

func (s *LockStats) add(u use) {
	s.Count++
	if u.killed {
		s.Killed++
	}
	if s.Count == 1 || u.hold > s.Hold.Max {
		s.Longest = u.holder
		s.Longest.Since = u.at
	}
	s.Wait.add(u.wait)
	s.Hold.add(u.hold)
}

// readStats reads what encode wrote: zero from an empty file, errDamaged from one that
// holds something else.
func readStats(fd int) (LockStats, error) {
	var data [recordSize]byte
	n, err := unix.Pread(fd, data[:], 0)
	if err != nil || n == 0 {
		return LockStats{}, err
	}
	return decodeStats(data[:n])
}
