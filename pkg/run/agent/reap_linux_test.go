package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaving is a script that leaves two processes behind: a server that has detached itself from
// its parents, its session, its streams and its environment, and a child that talks over pipes, as
// programs start MCP servers. Both say in a file who they are. Then it does what then says.
func leaving(t *testing.T, then string) (a fakeAdapter, dir string) {
	t.Helper()
	dir = t.TempDir()
	scriptFile(t, dir, "server", `set -- $(cat /proc/$$/stat)
echo $1 ${22} > DIR/server.new && mv DIR/server.new DIR/server.pid
trap "" TERM
while :; do sleep 1000; done`)
	scriptFile(t, dir, "mcp", `set -- $(cat /proc/$$/stat)
echo $1 ${22} > DIR/mcp.pid
while read -r line; do echo "$line"; done
exec sleep 1000`)
	scriptFile(t, dir, "agent", `(setsid env -i sh DIR/server <&- >&- 2>&- &)
mkfifo DIR/in DIR/out
sh DIR/mcp < DIR/in > DIR/out &
exec 8> DIR/in 9< DIR/out
echo ping >&8
read -r pong <&9
until [ -s DIR/server.pid ]; do sleep 0.01; done
echo "$pong"
`+then)
	return script("exec sh " + dir + "/agent"), dir
}

func scriptFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// left is one of the two.
func left(t *testing.T, dir, name string) Process {
	t.Helper()
	var p Process
	text, err := os.ReadFile(filepath.Join(dir, name+".pid"))
	if err == nil {
		_, err = fmt.Sscan(string(text), &p.Pid, &p.Start)
	}
	if err != nil {
		t.Fatalf("the %s did not say who it is: %v", name, err)
	}
	return p
}

func inTable(p Process) bool {
	e, ok := lookup(p.Pid)
	return ok && e.Start == p.Start
}

// wantNeither fails when one of the two is in the process table.
func wantNeither(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"server", "mcp"} {
		if p := left(t, dir, name); inTable(p) {
			t.Errorf("the %s, process %d, is still there", name, p.Pid)
			_ = syscall.Kill(p.Pid, syscall.SIGKILL)
		}
	}
}

func TestABackgroundServerAndAnMCPChildAreGoneAfterTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then string
		want Outcome
	}{
		"success":                   {"exit 0", Finished},
		"failure":                   {"exit 3", Crashed},
		"a death":                   {"kill -9 $$", Crashed},
		"a hang":                    {"exec sleep 1000", Stalled},
		"a hang that heeds no TERM": {"trap '' TERM; while :; do sleep 1; done", Stalled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, dir := leaving(t, c.then)
			stall := time.Minute
			if c.want == Stalled {
				stall = 300 * time.Millisecond
			}
			res := Run(t.Context(), a, Spec{Reaper: reaperOfTests, Stall: stall, Activity: until(dir + "/server.pid"), KillGrace: 200 * time.Millisecond})
			if res.Outcome != c.want || res.Final != "ping\n" || len(res.Left) > 0 {
				t.Errorf("got %+v, want %s", res, c.want)
			}
			wantNeither(t, dir)
		})
	}
}

// until is a program's activity that lasts until there is a file.
func until(file string) func() time.Time {
	var at time.Time
	return func() time.Time {
		if _, err := os.Stat(file); err != nil || at.IsZero() {
			at = time.Now()
		}
		return at
	}
}

func TestAStopEndsWhatAProgramLeftBehind(t *testing.T) {
	t.Parallel()
	a, dir := leaving(t, "exec sleep 1000")
	ctx, stop := context.WithCancelCause(t.Context())
	var seen Process
	res := Run(ctx, a, Spec{Reaper: reaperOfTests, KillGrace: time.Second, Output: writes(func(string) { stop(errors.New("enough")) }),
		Started: func(p Process) error { seen = p; return nil }})
	if res.Outcome != Killed || res.Error != "stopped: enough" || res.Signal != "SIGTERM" || len(res.Left) > 0 {
		t.Errorf("got %+v, want killed", res)
	}
	if seen.Pgid != seen.Pid || seen.Start == 0 || inTable(seen) {
		t.Errorf("started with %+v, want the program, which leads its group, and none of it now", seen)
	}
	wantNeither(t, dir)
}

// writes is an output that says what comes.
type writes func(text string)

func (w writes) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// reaperIs hands over the pid of the reaper when a program prints that of its parent.
func reaperIs(do func(pid int)) writes {
	return func(text string) {
		var pid int
		_, text, _ = strings.Cut(text, "parent ") // other lines may come with it
		if n, _ := fmt.Sscan(text, &pid); n == 1 {
			do(pid)
		}
	}
}

func TestARunDoesNotTouchWhatAnotherOneStarted(t *testing.T) {
	t.Parallel()
	one, mine := leaving(t, "until [ -e DIR/go ]; do sleep 0.01; done")
	two, other := leaving(t, "exit 0")
	began, over := make(chan struct{}, 10), make(chan Result)
	go func() {
		over <- Run(t.Context(), one, Spec{Reaper: reaperOfTests, Output: writes(func(string) { began <- struct{}{} })})
	}()
	<-began
	if res := Run(t.Context(), two, Spec{Reaper: reaperOfTests}); res.Outcome != Finished {
		t.Errorf("got %+v, want finished", res)
	}
	wantNeither(t, other)
	for _, name := range []string{"server", "mcp"} {
		if p := left(t, mine, name); !Alive(p.Pid, p.Start) {
			t.Errorf("the %s of a run that goes on has ended with another run", name)
		}
	}
	scriptFile(t, mine, "go", "")
	if res := <-over; res.Outcome != Finished {
		t.Errorf("got %+v, want finished", res)
	}
	wantNeither(t, mine)
}

// mentioned are the processes whose command line has a text.
func mentioned(t *testing.T, text string) (pids []int) {
	t.Helper()
	table, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range table {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.Pid)); err == nil && bytes.Contains(line, []byte(text)) && !e.zombie {
			pids = append(pids, e.Pid)
		}
	}
	return pids
}

func TestAProgramThatForksForEverEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ loop, then string }{
		"one that forks and stays": {"while [ -e DIR/loop ]; do setsid env -i sh DIR/sleeper & sleep 0.01; done", "wait"},
		// Each generation is another process in another session, and its parent is gone.
		"one that forks and ends": {"[ -e DIR/loop ] && setsid env -i sh DIR/loop &\necho >> DIR/count", "exit 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			scriptFile(t, dir, "loop", c.loop)
			scriptFile(t, dir, "sleeper", "trap '' TERM\necho >> DIR/count\nwhile [ -e DIR/loop ]; do sleep 1; done")
			scriptFile(t, dir, "agent", "sh DIR/loop <&- >&- 2>&- &\nuntil [ -e DIR/count ] && [ $(wc -l < DIR/count) -gt 10 ]; do sleep 0.01; done\n: > DIR/ready\n"+c.then)
			res := Run(t.Context(), script("exec sh "+dir+"/agent"), Spec{Reaper: reaperOfTests, Stall: 200 * time.Millisecond, Activity: until(dir + "/ready"), KillGrace: 100 * time.Millisecond})
			if len(res.Left) > 0 {
				t.Errorf("got %+v, want nothing left", res)
			}
			for range 10 {
				if pids := mentioned(t, dir); len(pids) > 0 {
					t.Fatalf("after %s and %.1f s there still are %v", res.Outcome, res.Seconds, pids)
				}
			}
		})
	}
}

func TestARunWithoutItsReaperIsOverAndEnded(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	var program Process
	res := Run(t.Context(), script("setsid sleep 1000 & echo parent $PPID; exec sleep 1000"), Spec{Reaper: reaperOfTests, Env: []string{mark}, KillGrace: time.Second,
		Started: func(p Process) error { program = p; return nil },
		Output:  reaperIs(func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) })})
	if res.Outcome != Crashed || res.Signal != "SIGKILL" || len(res.Left) > 0 {
		t.Errorf("got %+v, want a crash by SIGKILL", res)
	}
	if inTable(program) && Alive(program.Pid, program.Start) {
		t.Error("the program still runs")
	}
	wantNothingLeft(t, mark)
}

func TestAReaperThatDoesNotAnswerIsKilledWithAllThatIsBelow(t *testing.T) {
	t.Parallel()
	a, dir := leaving(t, "echo parent $PPID; exec sleep 1000")
	var program Process
	ctx, stop := context.WithCancel(t.Context())
	res := Run(ctx, a, Spec{Reaper: reaperOfTests, KillGrace: 100 * time.Millisecond,
		Started: func(p Process) error { program = p; return nil },
		Output: reaperIs(func(pid int) {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			stop()
		})})
	if res.Outcome != Killed || len(res.Left) > 0 {
		t.Errorf("got %+v, want killed", res)
	}
	for _, p := range []Process{program, left(t, dir, "server"), left(t, dir, "mcp")} {
		eventually(t, "the end of a process", func() bool { return !Alive(p.Pid, p.Start) })
	}
}

func TestAReaperKeepsNoOrphanThatHasEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scriptFile(t, dir, "agent", "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.0$i &); done\necho parent $PPID\nuntil [ -e DIR/go ]; do sleep 0.01; done")
	reaper, over := make(chan int, 1), make(chan Result)
	go func() {
		over <- Run(t.Context(), script("exec sh "+dir+"/agent"), Spec{Reaper: reaperOfTests, Output: reaperIs(func(pid int) { reaper <- pid })})
	}()
	pid := <-reaper
	eventually(t, "the reaper has the program alone", func() bool {
		table, err := processes()
		below := 0
		for _, e := range table {
			if e.parent == pid {
				below++
			}
		}
		return err == nil && below == 1
	})
	scriptFile(t, dir, "go", "")
	if res := <-over; res.Outcome != Finished {
		t.Errorf("got %+v, want finished", res)
	}
}

func TestAReaperPassesOnHowTheProgramEnded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Result{
		"cat; exit 0":      {Outcome: Finished},
		"cat; exit 3":      {Outcome: Crashed, ExitCode: 3},
		"cat; exit 255":    {Outcome: Crashed, ExitCode: 255},
		"cat; kill -9 $$":  {Outcome: Crashed, ExitCode: -1, Signal: "SIGKILL"},
		"cat; kill $$":     {Outcome: Crashed, ExitCode: -1, Signal: "SIGTERM"},
		"cat; kill -11 $$": {Outcome: Crashed, ExitCode: -1, Signal: "SIGSEGV"},
	} {
		a := fakeAdapter{script: "ulimit -c 0; " + text, cmd: Command{Stdin: true}}
		res := Run(t.Context(), a, Spec{Reaper: reaperOfTests, Prompt: "prompt"})
		if res.Outcome != want.Outcome || res.ExitCode != want.ExitCode || res.Signal != want.Signal || res.Final != "prompt" {
			t.Errorf("%s: got %+v", text, res)
		}
	}
}

func TestAReaperTellsWhyAProgramCannotBeStarted(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "no program")
	for name, want := range map[string]string{
		"no-such-agent-program": "cannot start no-such-agent-program: executable file not found in $PATH",
		file:                    "cannot start " + file + ": permission denied",
		file + "-missing":       "cannot start " + file + "-missing: no such file or directory",
	} {
		a, err := newOwn("mine", Entry{Command: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		for _, reaper := range [][]string{nil, reaperOfTests} {
			if res := Run(t.Context(), a, Spec{Reaper: reaper}); res.Outcome != Unusable || res.ExitCode != -1 || res.Error != want {
				t.Errorf("got %+v, want %q", res, want)
			}
		}
	}
}

// supervisorKilled starts a supervisor that runs a program which leaves a server and an MCP
// child behind and goes on until the file end is there, and kills it.
func supervisorKilled(t *testing.T) (dir string, program Process) {
	t.Helper()
	_, dir = leaving(t, "set -- $(cat /proc/$$/stat); echo $1 ${22} > DIR/agent.new; mv DIR/agent.new DIR/agent.pid\ntrap '' TERM; until [ -e DIR/end ]; do sleep 0.1; done")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	supervisor := exec.Command(self, dir)
	supervisor.Env = append(os.Environ(), programVariable+"=supervise", "LIZA_TEST_RUN="+dir)
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "agent.pid")
	eventually(t, "the program has begun", func() bool { _, err := os.Stat(file); return err == nil })
	_ = supervisor.Process.Kill()
	_ = supervisor.Wait()
	return dir, left(t, dir, "agent")
}

func TestTheProgramOfAKilledSupervisorIsStoppedWithAllThatIsBelow(t *testing.T) {
	t.Parallel()
	dir, program := supervisorKilled(t)
	server, mcp := left(t, dir, "server"), left(t, dir, "mcp")
	for _, p := range []Process{program, server, mcp} {
		if !Alive(p.Pid, p.Start) {
			t.Errorf("process %d was ended with its supervisor; whoever takes over has to do that", p.Pid)
		}
	}
	program.Pgid = program.Pid
	if err := StopOrphan(t.Context(), program, map[string]string{"LIZA_TEST_RUN": dir}, time.Second); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Process{program, server, mcp} {
		eventually(t, "the end of a process", func() bool { return !Alive(p.Pid, p.Start) })
	}
}

func TestTheProgramOfAKilledSupervisorLeavesNothingBehindWhenItEnds(t *testing.T) {
	t.Parallel()
	dir, program := supervisorKilled(t)
	scriptFile(t, dir, "end", "")
	for _, p := range []Process{program, left(t, dir, "server"), left(t, dir, "mcp")} {
		eventually(t, "the end of a process", func() bool { return !Alive(p.Pid, p.Start) })
	}
}

func TestAProgramBelowAReaperHasNotItsSocket(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script(`s=$(readlink /proc/$PPID/fd/3)
case $s in socket*) ;; *) echo "the reaper has $s" ;; esac
for f in /proc/$$/fd/*; do [ "$(readlink "$f")" != "$s" ] || echo "the program has $f"; done
echo looked`), Spec{Reaper: reaperOfTests})
	if res.Final != "looked\n" {
		t.Errorf("got %+v", res)
	}
}

// A Ctrl-C in the terminal meets a reaper that has just been forked, before it has a session of its own.
func TestAReaperThatAnInterruptMetAtItsStartIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reaper := []string{"sh", "-c", "if test ! -e " + dir + "/met; then : > " + dir + "/met; kill -INT $$; fi; exec " + self + " reap"}
	res := Run(t.Context(), script("echo ran"), Spec{Reaper: reaper, Spawn: "/bin/sh", KillGrace: time.Second})
	if _, err := os.Stat(filepath.Join(dir, "met")); err != nil || res.Outcome != Finished || res.Final != "ran\n" {
		t.Errorf("%+v, %v", res, err)
	}
}
