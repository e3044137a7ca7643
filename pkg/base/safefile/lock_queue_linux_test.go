package safefile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// places counts those who are in the queue of the lock.
func places(t *testing.T, lock string) int {
	t.Helper()
	q := openQueue(lock)
	defer q.close()
	n := 0
	for at, found := q.taken(0, 0); found; at, found = q.taken(at+1, 0) {
		n++
	}
	return n
}

// waiter lets a goroutine wait for the lock, and returns once it is in the queue as
// the nth. It sends its name when it has got the lock, and lets go.
func waiter(ctx context.Context, t *testing.T, path string, n int, name string, got chan<- string) {
	t.Helper()
	go func() {
		unlock, err := Lock(ctx, path, Holder{PID: os.Getpid(), Agent: name})
		if err != nil {
			got <- name + " gave up"
			return
		}
		got <- name
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}()
	until(t, name+" waits", func() bool { return places(t, path) == n })
}

func TestTheLockIsGrantedInOrderOfArrival(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d", "e", "f"}
	got := make(chan string, len(names))
	for i, name := range names {
		waiter(t.Context(), t, path, i+1, name, got)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for range names {
		order = append(order, <-got)
	}
	if !slices.Equal(order, names) {
		t.Errorf("the order is %q, want %q", order, names)
	}
	until(t, "the queue is empty", func() bool { return places(t, path) == 0 })
}

func TestACancelledWaiterLeavesTheQueueAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 3)
	ctx, cancel := context.WithCancel(t.Context())
	waiter(t.Context(), t, path, 1, "a", got)
	waiter(ctx, t, path, 2, "b", got)
	waiter(t.Context(), t, path, 3, "c", got)
	cancel()
	if name := <-got; name != "b gave up" {
		t.Fatalf("got %q", name)
	}
	if n := places(t, path); n != 2 {
		t.Fatalf("%d are in the queue, want 2", n)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	both := []string{<-got, <-got}
	slices.Sort(both)
	if !slices.Equal(both, []string{"a", "c"}) {
		t.Errorf("the lock went to %q", both)
	}
}

func TestAKilledWaiterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := waitingProcess(t, path)
	got := make(chan string, 1)
	waiter(t.Context(), t, path, 2, "b", got)
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "its place is free", func() bool { return places(t, path) == 1 })
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if name := <-got; name != "b" {
		t.Errorf("got %q", name)
	}
}

// A person who presses Ctrl-Z in a terminal that waits must not stop the others.
func TestAStoppedWaiterHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := waitingProcess(t, path)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the waiter is stopped", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = Lock(within(t, 10*time.Second), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatalf("behind a stopped waiter: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

// waitingProcess is another process that is in the queue as the first.
func waitingProcess(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdMark+"="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	until(t, "the other process waits", func() bool { return places(t, path) == 1 })
	return cmd
}

// Thirty-one processes hold the lock for 2 ms each, one for no time at all, and all ask
// again at once.
func TestNobodyStarvesAmong32Processes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	contests := same(32, contest{Path: path, Hold: 2 * time.Millisecond, For: time.Second})
	contests[0].Hold = 0
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	shares := fight(t, func() { // nobody has a turn before all wait
		until(t, "all wait", func() bool { return places(t, path) == len(contests) })
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}, contests...)
	count, worst := total(shares)
	if j := jain(shares); j < 0.8 {
		t.Errorf("the Jain index is %.2f, want at least 0.8: %+v", j, shares)
	}
	if mean := count / len(shares); shares[0].Count > 3*mean+3 {
		t.Errorf("the one in a hurry got the lock %d times, the mean is %d", shares[0].Count, mean)
	}
	if worst > 10*time.Second {
		t.Errorf("the longest wait was %s", worst)
	}
}

func TestChildrenDoNotInheritTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	dir := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd"
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.HasPrefix(target, path) {
			t.Errorf("the child has %s open", target)
		}
	}
}
