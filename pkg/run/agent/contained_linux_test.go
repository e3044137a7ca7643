package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/run/sandbox"
)

// walled is a run of a shell script at a level, with the folder that it may write.
func walled(t *testing.T, level sandbox.Level, limits sandbox.Limits) (s Spec, dir string) {
	t.Helper()
	if have := sandbox.Detect(t.Context()).Strongest(); have != sandbox.Closed && have != level {
		t.Skipf("NOT RUN: this machine cannot contain at %s", level)
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err = wallIn(top, level, limits, false)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Dir
}

// wallIn is the same with its folders in top.
func wallIn(top string, level sandbox.Level, limits sandbox.Limits, terminal bool) (Spec, error) {
	for _, name := range []string{"work", "home", "tmp", "person"} {
		if err := os.MkdirAll(filepath.Join(top, name), 0o755); err != nil {
			return Spec{}, err
		}
	}
	self, err := os.Executable()
	dir := filepath.Join(top, "work")
	wall := sandbox.Spec{Level: level, Liza: self, Dir: dir, Write: []string{dir}, Home: filepath.Join(top, "home"), Tmp: filepath.Join(top, "tmp"), Person: filepath.Join(top, "person"), Limits: limits, Terminal: terminal}
	return Spec{Dir: dir, Reaper: reaperOfTests, KillGrace: 5 * time.Second, Contain: func(path string, argv, env []string) (Contained, error) {
		c, err := wall.Command(sandbox.Detect(context.Background()), path, argv, env)
		return Contained(c), err
	}}, err
}

// bothWalls runs a test at the two levels that are the machine's own.
func bothWalls(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	for _, level := range []sandbox.Level{sandbox.Closed, sandbox.Partial} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			test(t, level)
		})
	}
}

func TestAReaperPassesOnHowAContainedProgramEnded(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		for text, want := range map[string]Result{
			"exit 0":      {Outcome: Finished},
			"exit 3":      {Outcome: Crashed, ExitCode: 3},
			"exit 137":    {Outcome: Crashed, ExitCode: 137},
			"kill -9 $$":  {Outcome: Crashed, ExitCode: -1, Signal: "SIGKILL"},
			"kill $$":     {Outcome: Crashed, ExitCode: -1, Signal: "SIGTERM"},
			"kill -11 $$": {Outcome: Crashed, ExitCode: -1, Signal: "SIGSEGV"},
		} {
			s, _ := walled(t, level, sandbox.Limits{})
			s.Prompt = "prompt"
			res := Run(t.Context(), fakeAdapter{script: "cat; " + text, cmd: Command{Stdin: true}}, s)
			if res.Outcome != want.Outcome || res.ExitCode != want.ExitCode || res.Signal != want.Signal || res.Final != "prompt" {
				t.Errorf("%s: got %+v", text, res)
			}
		}
	})
}

func TestAContainedProgramIsAskedToEndAndMayFinish(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		s, dir := walled(t, level, sandbox.Limits{})
		s.Stall, s.Activity = 200*time.Millisecond, until(dir+"/ready")
		res := Run(t.Context(), script(`exec 2>/dev/null; trap 'sleep 0.3; echo asked > asked; exit 7' TERM; : > ready; while :; do sleep 0.05; done`), s)
		if res.Outcome != Stalled || res.ExitCode != 7 || len(res.Left) > 0 {
			t.Errorf("got %+v, want exit code 7 after TERM", res)
		}
		if text, err := os.ReadFile(dir + "/asked"); err != nil || string(text) != "asked\n" {
			t.Errorf("the program was not asked once: %q, %v", text, err)
		}
	})
}

func TestNothingOfAContainedProgramIsLeft(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		s, dir := walled(t, level, sandbox.Limits{})
		res := Run(t.Context(), script(`for i in 1 2 3; do setsid env -i sh -c "trap '' TERM; : > ready$i; while :; do sleep 1; : $PWD; done" & done
until [ -e ready1 ] && [ -e ready2 ] && [ -e ready3 ]; do sleep 0.01; done; exit 0`), s)
		if res.Outcome != Finished || len(res.Left) > 0 {
			t.Errorf("got %+v, want finished", res)
		}
		if pids := mentioned(t, dir); len(pids) > 0 {
			t.Errorf("still there: %v", pids)
		}
	})
}

func TestAMissingPartOfTheWallIsToldByItsPathAndTriedAgain(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "group")
	for name, tt := range map[string]struct {
		contain func(path string, argv, env []string) (Contained, error)
		says    string
	}{
		"a control group that another has removed": {func(path string, argv, env []string) (Contained, error) {
			return Contained{Path: path, Argv: argv, Env: env, Groups: []string{gone}}, nil
		}, "cannot start sh: cannot enter the control group " + gone + ": no such file or directory"},
		"a control group that cannot be made": {func(string, []string, []string) (Contained, error) {
			return Contained{}, fmt.Errorf("cannot make the control group %s: %w", gone, os.Mkdir(gone+"/below", 0o755))
		}, "mkdir " + gone + "/below: no such file or directory"},
		"bubblewrap, just being replaced": {func(_ string, argv, env []string) (Contained, error) {
			return Contained{Path: gone, Argv: argv, Env: env}, nil
		}, "cannot start sh: " + gone + ": no such file or directory"},
	} {
		res := Run(t.Context(), script("true"), Spec{Reaper: reaperOfTests, Contain: tt.contain})
		if res.Outcome != Crashed || !strings.Contains(res.Error, tt.says) {
			t.Errorf("%s: got %s: %q, want a crash that says %q", name, res.Outcome, res.Error, tt.says)
		}
	}
}

// below is the whole tree of processes under one, with the program of each.
func below(t *testing.T, top int) (pids map[int]string) {
	t.Helper()
	table, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	pids = map[int]string{}
	for again := true; again; {
		again = false
		for _, e := range table {
			if _, ok := pids[e.Pid]; ok || e.parent != top && pids[e.parent] == "" {
				continue
			}
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.Pid))
			pids[e.Pid], again = strings.ReplaceAll(string(line), "\x00", " ")+" ", true
		}
	}
	return pids
}

func TestNothingSurvivesWhenAPartOfTheWallIsKilled(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"the reaper", "bubblewrap outside", "bubblewrap inside", "the launcher"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s, dir := walled(t, sandbox.Closed, sandbox.Limits{})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			s.Started = func(p Process) error {
				go func() {
					eventually(t, "the program is ready", func() bool { _, err := os.Stat(dir + "/ready"); return err == nil })
					e, _ := lookup(p.Pid)
					inner, launcher := 0, 0
					for pid, line := range below(t, p.Pid) {
						switch {
						case strings.HasPrefix(line, "bwrap "):
							inner = pid
						case strings.Contains(line, " wall {"):
							launcher = pid
						}
					}
					pid := map[string]int{"the reaper": e.parent, "bubblewrap outside": p.Pid, "bubblewrap inside": inner, "the launcher": launcher}[part]
					if pid <= 1 || syscall.Kill(pid, syscall.SIGKILL) != nil {
						t.Errorf("%s is not there", part)
						cancel()
					}
				}()
				return nil
			}
			res := Run(ctx, script(`setsid env -i sleep 1000 & setsid sh -c "trap '' TERM; : > ready; while :; do sleep 1; : $PWD; done"`), s)
			if res.Outcome != Crashed || len(res.Left) > 0 {
				t.Errorf("got %+v, want a crash and nothing left", res)
			}
			eventually(t, "nothing is there", func() bool { return len(mentioned(t, dir)) == 0 })
		})
	}
}

// bomb forks for ever, each other time in a session of its own. The folder is in its command line.
func bomb(dir string) string {
	const again = `setsid -f sh -c "$1" sh "$1" & sh -c "$1" sh "$1" & wait`
	return fmt.Sprintf("set -- '%s; : %s'\n%s", again, dir, again)
}

func TestAForkBombIsBoundedAndEnds(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: only root can bound a test of a fork bomb")
	}
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		s, dir := walled(t, level, sandbox.Limits{Processes: 60})
		var groups []string
		contain := s.Contain
		s.Contain = func(path string, argv, env []string) (Contained, error) {
			c, err := contain(path, argv, env)
			if groups = c.Groups; err == nil && len(groups) == 0 {
				t.Skip("NOT RUN: no control groups here")
			}
			return c, err
		}
		s.Timeout, s.KillGrace = time.Second, 100*time.Millisecond
		res := Run(t.Context(), script(bomb(dir)), s)
		if len(res.Left) > 0 || res.Seconds > 20 {
			t.Errorf("got %+v, want it ended", res)
		}
		if pids := mentioned(t, dir); len(pids) > 0 {
			t.Errorf("still there: %v", pids)
		}
		for _, dir := range groups {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("the control group %s is left", dir)
			}
		}
	})
}

func TestAReaperCountsWhereNothingElseDoes(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		s, dir := walled(t, level, sandbox.Limits{})
		contain := s.Contain
		s.Contain = func(path string, argv, env []string) (Contained, error) {
			c, err := contain(path, argv, env)
			c.Processes = 60
			return c, err
		}
		s.Timeout = 20 * time.Second
		res := Run(t.Context(), script("for i in $(seq 100); do sh -c 'sleep 60; : "+dir+"' & done; wait"), s)
		if res.Outcome != Crashed || !strings.HasPrefix(res.Error, "stopped: it ran ") || len(res.Left) > 0 {
			t.Errorf("got %+v, want it stopped", res)
		}
		if pids := mentioned(t, dir); len(pids) > 0 {
			t.Errorf("still there: %v", pids)
		}

		s, _ = walled(t, level, sandbox.Limits{})
		s.Contain = contain
		if res := Run(t.Context(), script("for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2 & done; wait"), s); res.Outcome != Finished {
			t.Errorf("got %+v, want a few processes to finish", res)
		}
	})
}

func init() {
	linuxPrograms["supervise in a wall"] = func() { superviseWalled(os.Args[1], os.Args[2], os.Args[3], nil) }
	linuxPrograms["supervise in a wall, in a terminal"] = func() {
		superviseWalled(os.Args[1], os.Args[2], os.Args[3], &Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}
}

// superviseWalled is a program of tests: the supervisor of a script in a wall, which says whom it has started.
func superviseWalled(top, level, script string, terminal *Terminal) {
	s, err := wallIn(top, sandbox.Level(level), sandbox.Limits{}, terminal != nil)
	if err != nil {
		panic(err)
	}
	s.Env, s.Terminal = []string{"LIZA_TEST_RUN=" + top}, terminal
	s.Started = func(p Process) error {
		return os.WriteFile(top+"/leader", fmt.Append(nil, p.Pid, p.Start), 0o600)
	}
	res := Run(context.Background(), fakeAdapter{script: script}, s)
	fmt.Printf("ended: %s %d %s\n", res.Outcome, res.ExitCode, res.Error)
}

func TestAContainedRunOfAKilledSupervisorIsStoppedByTheNext(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		_, dir := walled(t, level, sandbox.Limits{})
		top := filepath.Dir(dir)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		supervisor := exec.Command(self, top, string(level), `exec >/dev/null 2>&1; trap 'echo asked > asked; exit 0' TERM; setsid env -i sh -c "trap '' TERM; : > ready; while :; do sleep 0.1; : $PWD; done" & while :; do sleep 0.05; done`)
		supervisor.Env = append(os.Environ(), programVariable+"=supervise in a wall")
		if err := supervisor.Start(); err != nil {
			t.Fatal(err)
		}
		var leader Process
		eventually(t, "the program has begun, and its supervisor knows", func() bool {
			text, _ := os.ReadFile(top + "/leader")
			_, unknown := fmt.Sscan(string(text), &leader.Pid, &leader.Start)
			_, err := os.Stat(dir + "/ready")
			return unknown == nil && err == nil
		})
		_ = supervisor.Process.Kill()
		_ = supervisor.Wait()
		leader.Pgid = leader.Pid
		if !Alive(leader.Pid, leader.Start) || len(mentioned(t, dir)) == 0 {
			t.Error("the run has ended with its supervisor; the next one has to do that")
		}
		if err := StopOrphan(t.Context(), leader, map[string]string{"LIZA_TEST_RUN": top}, 5*time.Second); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(dir + "/asked"); err != nil || string(text) != "asked\n" {
			t.Errorf("the program was not asked to end: %q, %v", text, err)
		}
		eventually(t, "nothing is there", func() bool { return len(mentioned(t, dir)) == 0 })
	})
}

func TestKeysReachAContainedProgramAndNotItsWall(t *testing.T) {
	t.Parallel()
	bothWalls(t, func(t *testing.T, level sandbox.Level) {
		_, dir := walled(t, level, sandbox.Limits{})
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		master, slave := openTerminal(t)
		x := exec.Command(self, filepath.Dir(dir), string(level), `trap 'echo heard; exit 5' INT; tty -s && echo ready;  while :; do sleep 0.05; done`)
		x.Env = append(os.Environ(), programVariable+"=supervise in a wall, in a terminal")
		x.Stdin, x.Stdout, x.Stderr = slave, slave, slave
		x.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := x.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Process.Kill(); _ = x.Wait() }()
		slave.Close()
		shown := ""
		sees := func(what string) {
			t.Helper()
			_ = master.SetReadDeadline(time.Now().Add(10 * time.Second))
			for buffer := make([]byte, 1000); !strings.Contains(shown, what); {
				n, err := master.Read(buffer)
				if shown += string(buffer[:n]); err != nil && !strings.Contains(shown, what) {
					t.Fatalf("waited for %q and saw %q: %v", what, shown, err)
				}
			}
		}
		sees("ready")
		if _, err := master.Write([]byte{3}); err != nil { // Ctrl-C
			t.Fatal(err)
		}
		sees("heard")
		sees("ended: crashed 5")
	})
}

// openTerminal makes a terminal of two ends.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	_ = raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}
