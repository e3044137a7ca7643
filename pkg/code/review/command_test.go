package review_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/code/review"
)

// run runs a command in an empty folder and returns its log as well.
func run(t *testing.T, ctx context.Context, c review.Command) (review.Ran, string) {
	t.Helper()
	c.Dir = t.TempDir()
	c.Log = filepath.Join(t.TempDir(), "sub", "x.log")
	r := c.Run(ctx)
	data, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(data)
}

// pidIn reads a pid that the command wrote, waiting for it.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	waitFor(t, file+" names a process", func() bool {
		data, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	return pid
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// gone: no such process, or only its entry, which nobody has looked at yet.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestACommandsOutputAndExitCodeAreTold(t *testing.T) {
	t.Parallel()
	r, log := run(t, context.Background(), review.Command{Shell: "echo out; echo err >&2; cat; exit 3"})
	if r.ExitCode != 3 || r.TimedOut || r.Err != nil || !r.Failed() {
		t.Errorf("ended as %+v, want exit code 3", r)
	}
	for _, text := range []string{"$ echo out", "out\n", "err\n"} {
		if !strings.Contains(log, text) {
			t.Errorf("the log lacks %q:\n%s", text, log)
		}
	}
	if r, _ := run(t, context.Background(), review.Command{Shell: "true"}); r.Failed() {
		t.Errorf("true failed: %+v", r)
	}
}

func TestTwoCommandsShareALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, shell := range []string{"echo one", "echo two"} {
		review.Command{Shell: shell, Dir: dir, Log: filepath.Join(dir, "log")}.Run(context.Background())
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "log")); string(data) != "$ echo one\none\n$ echo two\ntwo\n" {
		t.Errorf("the log is %q", data)
	}
}

// The only test that changes the environment, so it does not run beside others.
func TestACommandDoesNotSeeLizaOrSecrets(t *testing.T) {
	t.Setenv("LIZA_AGENT_TOKEN", "hidden-one")
	t.Setenv("DEPLOY_KEY", "hidden-two")
	t.Setenv("GIT_DIR", "hidden-three")
	t.Setenv("LANGUAGE_OF_TEST", "seen")
	_, log := run(t, context.Background(), review.Command{Shell: "env", Hide: []string{"DEPLOY_KEY"}})
	if strings.Contains(log, "hidden") || !strings.Contains(log, "LANGUAGE_OF_TEST=seen") {
		t.Errorf("the environment is not that of a check:\n%s", log)
	}
}

func TestACommandThatHangsIsStopped(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r, log := run(t, context.Background(), review.Command{Shell: "tail -f /dev/null & tail -f /dev/null", Timeout: 200 * time.Millisecond})
	if !r.TimedOut || !r.Failed() || r.Err != nil {
		t.Errorf("ended as %+v, want a time-out", r)
	}
	if !strings.Contains(log, "time limit of 200ms") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("a command that heeds TERM took %s to end", took)
	}
}

func TestACommandThatIgnoresTermIsKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	r, _ := run(t, context.Background(), review.Command{Shell: "trap '' TERM; echo $$ > " + file + "; while :; do tail -f /dev/null; done", Timeout: 200 * time.Millisecond})
	if !r.TimedOut {
		t.Errorf("ended as %+v, want a time-out", r)
	}
	if pid := pidIn(t, file); !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestWhatACommandLeavesInTheBackgroundIsKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	began := time.Now()
	r, _ := run(t, context.Background(), review.Command{Shell: "tail -f /dev/null > /dev/null 2>&1 & echo $! > " + file, Timeout: time.Minute})
	if r.Failed() {
		t.Errorf("ended as %+v, want success", r)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the background process held the command up for %s", took)
	}
	pid := pidIn(t, file)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	waitFor(t, "the background process ends", func() bool { return gone(pid) })
}

func TestTheEndOfTheContextEndsACommand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	file := filepath.Join(t.TempDir(), "pid")
	cause := errors.New("the team stops")
	go func() {
		pidIn(t, file)
		cancel(cause)
	}()
	r, _ := run(t, ctx, review.Command{Shell: "echo $$ > " + file + "; tail -f /dev/null", Timeout: time.Minute})
	if !errors.Is(r.Err, cause) || r.TimedOut || !r.Failed() {
		t.Errorf("ended as %+v, want the cause", r)
	}
	if r, _ := run(t, ctx, review.Command{Shell: "true"}); !errors.Is(r.Err, cause) || r.ExitCode != -1 {
		t.Errorf("started under an ended context: %+v", r)
	}
}

func TestTheLogIsCutWithAMarker(t *testing.T) {
	t.Parallel()
	r, log := run(t, context.Background(), review.Command{Shell: "head -c 22000000 /dev/zero; echo la''st"})
	if r.Failed() || len(log) > 20<<20+1000 || !strings.Contains(log, "the rest of the output is left out") || strings.Contains(log, "last") {
		t.Errorf("ended as %+v with a log of %d bytes", r, len(log))
	}
}

func TestACommandWithoutAPlaceIsNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r := (review.Command{Shell: "true", Dir: filepath.Join(dir, "nope"), Log: filepath.Join(dir, "log")}).Run(context.Background()); r.Err == nil || r.ExitCode != -1 {
		t.Errorf("without a folder: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := (review.Command{Shell: "true", Dir: dir, Log: filepath.Join(dir, "file", "log")}).Run(context.Background()); r.Err == nil {
		t.Errorf("without a log: %+v", r)
	}
}

func TestACommandIsInItsOwnFolderAlsoByItsEnvironment(t *testing.T) {
	t.Parallel()
	shell := []string{"PATH=" + os.Getenv("PATH"), "PWD=/the/checkout", "OLDPWD=/home/ann", "INIT_CWD=/the/checkout", "GIT_DIR=/elsewhere/.git", "GIT_WORK_TREE=/elsewhere", "MINE=1"}
	for name, c := range map[string]review.Command{
		"inherited": {Environ: shell},
		"exact":     {Env: shell[:1]},
	} {
		var out strings.Builder
		c.Argv, c.Stdout = []string{"env"}, &out
		c.Dir, c.Log = t.TempDir(), filepath.Join(t.TempDir(), "x.log")
		if r := c.Run(t.Context()); r.Failed() {
			t.Fatalf("%s: %+v", name, r)
		}
		got := strings.Fields(out.String())
		if !slices.Contains(got, "PWD="+c.Dir) {
			t.Errorf("%s: PWD is not the folder %s: %v", name, c.Dir, got)
		}
		for _, v := range got {
			if strings.Contains(v, "/the/checkout") || strings.Contains(v, "/elsewhere") || strings.HasPrefix(v, "OLDPWD=") {
				t.Errorf("%s: the command sees %s", name, v)
			}
		}
	}
}

func TestACommandThatFillsTheDiskIsStoppedAndSaysSo(t *testing.T) {
	t.Parallel()
	watch := func(_ context.Context, over func(error)) { over(errors.New("/x has grown by 5 MB")) }
	r, log := run(t, context.Background(), review.Command{Shell: "trap 'exit 0' TERM; while :; do sleep 0.1; done", Watch: watch})
	if r.ExitCode != -1 || !r.Failed() || r.Err != nil || r.TimedOut || r.Unreached() != "; it was stopped: /x has grown by 5 MB" || !strings.Contains(log, "was stopped: /x has grown by 5 MB") {
		t.Errorf("got %+v, and the log %q", r, log)
	}
}
