package safefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Holder says who holds a lock. It is one JSON line in the lock file while the lock is
// held, for people and for those who wait in vain; the lock itself is the kernel's.
type Holder struct {
	PID      int       `json:"pid"`
	PIDStart int64     `json:"pid_start"`
	Host     string    `json:"host"`
	Agent    string    `json:"agent"`
	Op       string    `json:"op"`
	Since    time.Time `json:"since"` // set by Lock
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	name, more := h.Agent, ""
	if name == "" {
		name = "a process"
	}
	if h.Host != "" {
		more += ", host " + h.Host
	}
	if h.Op != "" {
		more += ", " + h.Op
	}
	return fmt.Sprintf("%s (pid %d%s)", name, h.PID, more)
}

// CurrentHolder reports whether the lock at path is held now, and by whom. The holder is
// zero when it has not written its name, as a program that is not Liza. A name that a
// killed holder left behind is nobody's.
func CurrentHolder(path string) (Holder, bool) {
	// Asking is taking the lock together with all others who ask, for an instant.
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))
	free, err := l.TryRLock()
	if err != nil {
		return Holder{}, false // there is no such lock
	}
	if free {
		_ = l.Unlock()
		return Holder{}, false
	}
	return readHolder(path), true
}

// A nameplate is the lock file, open to write the name of the holder into it.
type nameplate struct{ fd int } // -1 when it cannot be opened

// putUp writes the name, in the place of one that a holder left who was killed.
func putUp(path string, h Holder) nameplate {
	n := nameplate{fd: open(path, unix.O_WRONLY)}
	if n.fd < 0 {
		return n
	}
	_ = unix.Ftruncate(n.fd, 0)
	line, _ := json.Marshal(h) // strings and numbers only: cannot fail
	_, _ = unix.Write(n.fd, append(line, '\n'))
	return n
}

func (n nameplate) takeDown() {
	if n.fd >= 0 {
		_ = unix.Ftruncate(n.fd, 0)
		_ = unix.Close(n.fd)
	}
}

// readHolder reads the name. It may find nothing, for the name is written after the lock
// was granted, and it leaves out a name whose process is no more.
func readHolder(path string) Holder {
	var h Holder
	data, err := Read(path)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	host, err := os.Hostname()
	if err == nil && h.Host == host && h.PID > 0 && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH) {
		return Holder{}
	}
	return h
}
