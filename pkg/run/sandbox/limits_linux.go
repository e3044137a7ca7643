package sandbox

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// limit sets the limits of each process of the run, and of their number.
func (l launch) limit() error {
	limits := []struct {
		what     string
		resource int
		most     int64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"the size of a file", unix.RLIMIT_FSIZE, l.Limits.File},
		{"open files", unix.RLIMIT_NOFILE, int64(l.Limits.Files)},
		{"memory", unix.RLIMIT_DATA, l.Data},
		{"processes", unix.RLIMIT_NPROC, int64(l.processes())},
	}
	for _, x := range limits {
		if x.most <= 0 && x.resource != unix.RLIMIT_CORE {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(x.resource, &now); err != nil {
			return fmt.Errorf("cannot read the limit of %s: %v", x.what, err)
		}
		most := min(uint64(x.most), now.Max)
		if err := syscall.Setrlimit(x.resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("cannot limit %s: %v", x.what, err)
		}
	}
	return nil
}

// processes is the limit of their number. In a namespace of users only those of the wall count; without one the
// user's others count too, and are added.
func (l launch) processes() int {
	if l.Limits.Processes == 0 || l.Level == Closed {
		return l.Limits.Processes
	}
	return l.Limits.Processes + tasksOf(os.Getuid())
}

// tasksOf counts the threads of a user.
func tasksOf(uid int) int {
	names, _ := os.ReadDir("/proc")
	count := 0
	for _, n := range names {
		if n.Name()[0] < '0' || n.Name()[0] > '9' {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+n.Name(), &stat) == nil && int(stat.Uid) == uid {
			threads, _ := os.ReadDir("/proc/" + n.Name() + "/task")
			count += len(threads)
		}
	}
	return count
}
