package safefile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holdMark makes the test binary a process that takes the lock named and says so.
const holdMark = "SAFEFILE_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdMark); path != "" {
		unlock, err := Lock(context.Background(), path, Holder{PID: os.Getpid(), Host: "mac", Agent: "coder-2", Op: "submit"})
		fmt.Println("held", err)
		if err == nil {
			defer unlock() // a lock that nobody holds on to is collected
		}
		<-time.After(time.Hour)
	}
	if mark := os.Getenv(contendMark); mark != "" {
		if err := contend(mark); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holder starts another process that holds the lock; kill ends it with SIGKILL.
func holder(t *testing.T, path string) (pid int, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdMark+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	kill = func() { once.Do(func() { cmd.Process.Kill(); cmd.Wait() }) }
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held <nil>\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd.Process.Pid, kill
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(time.Millisecond), time.Now().Add(2*time.Minute)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
		<-tick.C
	}
}

// P-017: also, the lock of a killed process is free at once.
func TestTheLockTellsWhoHoldsIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".liza")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.yaml.lock")
	pid, kill := holder(t, path)

	ctx := within(t, 50*time.Millisecond)
	_, err := Lock(ctx, path, Holder{PID: os.Getpid()})
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("got %v, want a *HeldError", err)
	}
	if held.Holder.PID != pid || held.Holder.Op != "submit" || ctx.Err() == nil {
		t.Errorf("got %+v, while the time that it may wait has ended: %v", held, ctx.Err() != nil)
	}
	want := fmt.Sprintf("cannot lock .liza/state.yaml: held by coder-2 (pid %d, host mac, submit) for ", pid)
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error reads %q, want it to begin with %q", err, want)
	}

	kill()
	unlock, err := Lock(within(t, 10*time.Second), path, Holder{PID: os.Getpid(), Agent: "coder-1"})
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	if got := readHolder(path); got.Agent != "coder-1" || got.Since.IsZero() {
		t.Errorf("the lock file names %+v", got)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "" {
		t.Errorf("after the release the lock file holds %q", got)
	}
}

// A machine under load may let the time pass before the lock is asked for: a short wait that is over
// still says who has the lock, and takes it where nobody does.
func TestATimeThatIsOverBeforeTheFirstTryIsAnAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	unlock, err := Lock(over, path, Holder{PID: os.Getpid(), Agent: "coder-1"})
	if err != nil {
		t.Fatalf("nobody had it: %v", err)
	}
	var held *HeldError
	if _, err := Lock(over, path, Holder{PID: os.Getpid()}); !errors.As(err, &held) || held.Holder.Agent != "coder-1" {
		t.Errorf("got %v, want who has it", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := Lock(gone, path, Holder{PID: os.Getpid()}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
}

func TestOnlyOneHoldsTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	var inside, counter atomic.Int32
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 25 {
				unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				counter.Add(1)
				inside.Add(-1)
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := counter.Load(); n != 16*25 {
		t.Fatalf("counted to %d, want %d", n, 16*25)
	}
}

func TestACancelledWaiterLeavesTheLockToOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Lock(ctx, path, Holder{})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("the cancelled waiter got %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(within(t, 10*time.Second), path, Holder{})
	if err != nil {
		t.Fatalf("the lock is not free: %v", err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(ctx, path, Holder{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a context that has ended takes the lock: %v", err)
	}
}

// A call whose time is over asks the system for nothing.
func TestACallWhoseTimeIsOverLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path, Holder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was opened: %v", err)
	}
}

func TestALinkIsNoLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "target"), "precious")
	path := filepath.Join(dir, "a.lock")
	if err := os.Symlink("target", path); err != nil {
		t.Fatal(err)
	}
	_, err := Lock(t.Context(), path, Holder{PID: 1})
	if err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Fatalf("got %v", err)
	}
	if got := content(t, filepath.Join(dir, "target")); got != "precious" {
		t.Fatalf("the target holds %q", got)
	}
}

func TestAHolderWithoutANameIsNotNamed(t *testing.T) {
	t.Parallel()
	e := &HeldError{Path: "/x/.git/liza/git.lock", Waited: 1500 * time.Millisecond}
	if got, want := e.Error(), "cannot lock liza/git: it was not free; waited 1.5s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSlotsAreTakenAndWaitedFor(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	take := func(name string, waits func([]Holder)) func() error {
		free, err := TakeSlot(ctx, dir, 2, Holder{PID: os.Getpid(), Agent: name}, waits)
		if err != nil {
			t.Error(err)
		}
		return free
	}
	never := func([]Holder) { t.Error("it waits for a slot that is free") }
	one, two := take("task-1", never), take("task-2", never)
	order, waiting := make(chan string, 2), make(chan []Holder)
	for _, name := range []string{"task-3", "task-4"} {
		go func() {
			free := take(name, func(taken []Holder) { waiting <- taken })
			order <- name
			if err := free(); err != nil {
				t.Error(err)
			}
		}()
		if taken := <-waiting; len(taken) != 2 || taken[0].Agent != "task-1" || taken[1].Agent != "task-2" {
			t.Errorf("%s waits for %v", name, taken)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := TakeSlot(stopped, dir, 2, Holder{}, func([]Holder) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while it waits: %v", err)
	}
	if err := two(); err != nil {
		t.Error(err)
	}
	<-order
	<-order
	if err := one(); err != nil {
		t.Error(err)
	}
}
