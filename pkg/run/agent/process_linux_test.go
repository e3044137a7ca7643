package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// program runs the test binary as one of its programs.
func program(t *testing.T, name string) Adapter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := newOwn("test", Entry{Command: []string{self}, Env: map[string]string{programVariable: name}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func init() { linuxPrograms["without descriptors"] = withoutDescriptors }

// withoutDescriptors says what it can tell of the process that started it, and what it stops of it, when no file can be opened.
func withoutDescriptors() {
	parent := Process{Pid: os.Getppid()}
	parent.Start, _ = ProcessStart(parent.Pid)
	f := newFamily(parent, nil)
	members, err := f.members()
	if err != nil || len(members) == 0 {
		fmt.Println("its parent is not found:", err)
		return
	}
	null, err := os.Open(os.DevNull) // the lowest number that is free
	limit := unix.Rlimit{Cur: 0, Max: 4096}
	if err == nil {
		limit.Cur = uint64(null.Fd())
		err = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	null.Close()
	_, err = f.members()
	left := f.wait(context.Background(), 10*time.Millisecond, members, nil)
	fmt.Println("alive", Alive(parent.Pid, parent.Start), "dead", Alive(1<<30, 0), "table", err != nil, "left", len(left) == len(members))
}

// A supervisor that has no file descriptor left takes nobody for dead.
func TestWhatCannotBeReadIsNotDead(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), program(t, "without descriptors"), Spec{Env: []string{testMark(t)}})
	if want := "alive true dead false table true left true\n"; res.Final != want {
		t.Errorf("got %+v, want %q", res, want)
	}
}

func TestAGrandchildInASessionOfItsOwnIsEnded(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	res := Run(t.Context(), program(t, "detach"), Spec{Env: []string{mark}})
	if res.Outcome != Finished || res.Final != "detached\n" || len(res.Left) > 0 || res.Seconds > 10 {
		t.Errorf("got %+v, want finished", res)
	}
	wantNothingLeft(t, mark)

	res = Run(t.Context(), program(t, "detach and stay"), Spec{Env: []string{mark}, Timeout: 300 * time.Millisecond, KillGrace: 300 * time.Millisecond})
	if res.Outcome != TimedOut || len(res.Left) > 0 || res.Seconds > 10 {
		t.Errorf("got %+v, want timeout", res)
	}
	wantNothingLeft(t, mark)
}

func TestADescendantWithoutItsEnvironmentIsEnded(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script(`env -i setsid sleep 1000 & echo $!; wait`), Spec{Timeout: 500 * time.Millisecond})
	if res.Outcome != TimedOut {
		t.Errorf("got %+v, want timeout", res)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(res.Final))
	if err != nil {
		t.Fatalf("the script printed %q, want a pid", res.Final)
	}
	if Alive(pid, 0) {
		t.Errorf("process %d still runs", pid)
	}
}

func TestAnOrphanIsFoundByItsMarks(t *testing.T) {
	t.Parallel()
	run := rand.Text()
	marks := map[string]string{"LIZA_AGENT_ID": "coder-1", "LIZA_RUN": run}
	mine := orphan(t, stubborn, "LIZA_AGENT_ID=coder-1", "LIZA_RUN="+run)
	other := orphan(t, idle, "LIZA_AGENT_ID=coder-1", "LIZA_RUN="+run+"0")
	gone := Process{Pid: 1 << 30, Start: 1, Pgid: 1 << 30}
	if err := StopOrphan(t.Context(), gone, marks, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if Alive(mine.Pid, mine.Start) {
		t.Error("a process with both marks still runs")
	}
	if !Alive(other.Pid, other.Start) {
		t.Error("a process of another run was killed")
	}
}
