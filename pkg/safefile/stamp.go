package safefile

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Stamp is what tells one content of a file from the next without reading it.
type Stamp struct {
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // nanoseconds
	Ctime int64  `json:"ctime"`
}

// clockTick is more than the steps in which file systems write times.
const clockTick = 100 * time.Millisecond

// StampOf reads the stamp of the file at path.
func StampOf(path string) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Stamp{}, fmt.Errorf("cannot look at %s: %w", path, err)
	}
	return stamp(&st), nil
}

// StampOfFile reads the stamp of an open file.
func StampOfFile(f *os.File) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stamp{}, fmt.Errorf("cannot look at %s: %w", f.Name(), err)
	}
	return stamp(&st), nil
}

func stamp(st *unix.Stat_t) Stamp {
	return Stamp{Dev: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
}

// Settled reports whether a later change of the content must show in the stamp, which was
// read at the time given. Times are written in steps: who writes twice within one leaves
// the same stamp. But who writes makes both times equal, so that a stamp in which they
// differ, as after a rename, cannot come again.
func (s Stamp) Settled(now time.Time) bool {
	return s.Mtime != s.Ctime || now.Sub(time.Unix(0, s.Ctime)) > clockTick
}
