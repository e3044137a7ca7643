package merge

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopInside kills every process whose working folder lies in path: the checks of a merge
// whose process is gone.
func stopInside(ctx context.Context, path string) error {
	for range 50 {
		inside := 0
		dirs, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return err
		}
		for _, d := range dirs {
			cwd, err := os.Readlink(filepath.Join(d, "cwd"))
			if err != nil || cwd != path && !strings.HasPrefix(cwd, path+"/") {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && pid != os.Getpid() {
				inside++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if inside == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
