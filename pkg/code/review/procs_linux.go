package review

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StopInside kills every process whose working folder is in path: checks of a merge whose process is gone, and processes that
// left the group of a check.
func StopInside(ctx context.Context, path string) error {
	for end := time.Now().Add(5 * time.Second); ; {
		inside, err := processesInside(path)
		if err != nil || len(inside) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("cannot stop the processes %v in %s", inside, path)
		}
		for _, pid := range inside {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processesInside lists them without this one. Processes of other users cannot be looked at
// and are not ours.
func processesInside(path string) ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var inside []int
	for _, d := range dirs {
		cwd, err := os.Readlink(filepath.Join(d, "cwd"))
		cwd = strings.TrimSuffix(cwd, " (deleted)")
		if err != nil || cwd != path && !strings.HasPrefix(cwd, path+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && pid != os.Getpid() {
			inside = append(inside, pid)
		}
	}
	return inside, nil
}
