package safefile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheCurrentHolderIsWhoHasTheLockNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	if h, held := CurrentHolder(path); held {
		t.Errorf("a lock that does not exist is held by %s", h)
	}
	pid, kill := holder(t, path)
	until(t, "the name is written", func() bool {
		h, held := CurrentHolder(path)
		return held && h.PID == pid && h.Op == "submit" && !h.Since.IsZero()
	})
	kill()
	if h, held := CurrentHolder(path); held {
		t.Errorf("the killed %s holds the lock", h)
	}
	if got := content(t, path); got == "" {
		t.Error("the killed holder left no name; this test shows nothing")
	}
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid(), Agent: "coder-1"})
	if err != nil {
		t.Fatal(err)
	}
	if h, held := CurrentHolder(path); !held || h.Agent != "coder-1" {
		t.Errorf("got %s, %v", h, held)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if h, held := CurrentHolder(path); held {
		t.Errorf("after the release %s holds the lock", h)
	}
}

func TestAPlainFlockExcludesAndIsNotNamedAfterTheDead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// What a killed holder of this machine leaves.
	publish(path, Holder{}) // the file does not exist yet: nothing
	write(t, path, "")
	n := publish(path, Holder{PID: gone.Process.Pid, Host: host, Agent: "coder-2", Op: "submit", Since: time.Now()})
	defer n.remove()

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if h, held := CurrentHolder(path); !held || h != (Holder{}) {
		t.Errorf("got %s, %v, want a holder without a name", h, held)
	}
	_, err = Lock(within(t, 50*time.Millisecond), path, Holder{PID: os.Getpid()})
	var held *HeldError
	if !errors.As(err, &held) || held.Holder != (Holder{}) {
		t.Fatalf("got %v, want that another process holds it", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock(within(t, 10*time.Second), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("the plain flock is granted while the lock is held: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}
