package wall

import (
	"context"
	"syscall"
	"time"

	"liza/pkg/safefile"
)

// A disk is looked at every diskPause, or less often: so that looking takes a twentieth of the time at most.
const (
	diskPause = 5 * time.Second
	diskShare = 20
)

// watchDisk looks at folders until ctx ends. When one of them has grown by more than limit bytes since the beginning, it calls over, once,
// and returns. What the memory file systems of a wall hold is bounded by themselves.
func watchDisk(ctx context.Context, limit int64, folders []string, over func(folder string, grown int64)) {
	if limit <= 0 {
		return
	}
	first := map[string]int64{}
	for {
		began := time.Now()
		for _, folder := range folders {
			size := sizeOf(ctx, folder)
			before, ok := first[folder]
			if !ok {
				first[folder] = size
			} else if grown := size - before; grown > limit && ctx.Err() == nil {
				over(folder, grown)
				return
			}
		}
		select {
		case <-time.After(max(diskPause, diskShare*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

// entrySize is what a file takes besides its content: a program can make millions of empty ones.
const entrySize = 512

// sizeOf is what the files of a folder take on the disk. Those that vanish meanwhile do not count.
func sizeOf(ctx context.Context, folder string) (bytes int64) {
	_ = safefile.Walk(folder, func(f safefile.Found) error {
		if stat, ok := f.Info.Sys().(*syscall.Stat_t); ok {
			bytes += stat.Blocks*512 + entrySize
		}
		return ctx.Err()
	})
	return bytes
}
