package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// idle is a script that does nothing for a long time.
const idle = "echo ready >&2; sleep 1000"

// orphan starts a script in a session of its own, as if its supervisor were gone.
func orphan(t *testing.T, text string, env ...string) Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), env...)
	startReady(cmd)
	pid := cmd.Process.Pid
	start, ok := ProcessStart(pid)
	if !ok {
		t.Fatalf("process %d has no start time", pid)
	}
	reaped := make(chan struct{})
	go func() { _ = cmd.Wait(); close(reaped) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-reaped
	})
	return Process{Pid: pid, Start: start, Pgid: pid}
}

func TestAnOrphanIsStoppedWithItsGroup(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	p := orphan(t, "sleep 1000 & "+idle, mark)
	if err := StopOrphan(t.Context(), p, nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if Alive(p.Pid, p.Start) {
		t.Errorf("process %d still runs", p.Pid)
	}
	wantNothingLeft(t, mark)
	if err := StopOrphan(t.Context(), p, nil, time.Second); err != nil {
		t.Errorf("stopping it again: %v, want nothing to do", err)
	}
}

func TestAnOrphanThatIgnoresTermIsKilled(t *testing.T) {
	t.Parallel()
	p := orphan(t, stubborn)
	began := time.Now()
	if err := StopOrphan(t.Context(), p, nil, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if Alive(p.Pid, p.Start) || time.Since(began) > 5*time.Second {
		t.Errorf("after %v process %d runs: %v", time.Since(began), p.Pid, Alive(p.Pid, p.Start))
	}
}

func TestAPidThatBelongsToAnotherProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := orphan(t, idle)
	other := p
	other.Start++
	if err := StopOrphan(t.Context(), other, map[string]string{"LIZA_AGENT_ID": "coder-1", "LIZA_RUN": rand.Text()}, time.Second); err != nil {
		t.Errorf("got %v, want nothing to do", err)
	}
	if !Alive(p.Pid, p.Start) {
		t.Error("a process with another start time was killed")
	}
	if err := StopOrphan(t.Context(), Process{Pid: p.Pid, Pgid: p.Pgid}, nil, time.Second); err != nil || !Alive(p.Pid, p.Start) {
		t.Errorf("without a start time: %v, and it runs: %v; want it left alone", err, Alive(p.Pid, p.Start))
	}
}

func TestStoppingAnOrphanCanBeGivenUp(t *testing.T) {
	t.Parallel()
	p := orphan(t, stubborn)
	gone := errors.New("somebody wants to leave")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
	if err := StopOrphan(ctx, p, nil, time.Minute); !errors.Is(err, gone) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestNobodyStopsHimself(t *testing.T) {
	t.Parallel()
	start, _ := ProcessStart(os.Getpid())
	err := StopOrphan(t.Context(), Process{Pid: os.Getpid(), Start: start}, nil, time.Second)
	if err == nil || !strings.Contains(err.Error(), "from within") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestFactsAboutProcesses(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	start, ok := ProcessStart(self)
	if !ok || start == 0 {
		t.Fatalf("start of this process is %d, %v", start, ok)
	}
	if again, _ := ProcessStart(self); again != start {
		t.Errorf("start changed from %d to %d", start, again)
	}
	for _, c := range []struct {
		pid   int
		start int64
		want  bool
	}{{self, start, true}, {self, 0, true}, {self, start + 1, false}, {0, 0, false}, {-1, 0, false}, {1 << 30, 0, false}} {
		if got := Alive(c.pid, c.start); got != c.want {
			t.Errorf("Alive(%d, %d) is %v, want %v", c.pid, c.start, got, c.want)
		}
	}
	if BootID() == "" {
		t.Error("there is no boot id")
	}
	child := orphan(t, idle)
	up := Ancestors(child.Pid)
	if len(up) == 0 || up[0].Pid != self || up[0].Start != start {
		t.Errorf("ancestors of a child are %+v, want this process (%d) first", up, self)
	}
}

func TestAZombieIsNotAlive(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := ProcessStart(cmd.Process.Pid)
	if !ok {
		t.Fatal("a child that was not waited for has no start time")
	}
	eventually(t, "the child is not alive any more", func() bool { return !Alive(cmd.Process.Pid, start) })
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Between the look and the signal a process may end and its pid be given to another one.
func TestASignalDoesNotReachAPidThatWasTakenAgain(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("tail", "-f", "/dev/null")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	start, _ := ProcessStart(pid)
	err := errors.Join(signalOne(Process{Pid: pid, Start: start + 1}, syscall.SIGKILL), signalOne(Process{Pid: pid, Start: start}, syscall.SIGTERM))
	if err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("the process ended by %v, want only the signal that was meant for it", status.Signal())
	}
}
