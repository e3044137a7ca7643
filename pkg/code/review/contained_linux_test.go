package review_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "reap" {
		os.Exit(agent.Reap())
	}
	if args, ok := sandbox.Entered(os.Args[1:]); ok {
		os.Exit(sandbox.Enter(args))
	}
	os.Exit(m.Run())
}

var reaper = []string{"review.test", "reap"}

// wall is one around the folder in which a command runs.
func wall(t *testing.T, dir string, level sandbox.Level, limits sandbox.Limits) func(string, []string, []string) (agent.Contained, error) {
	t.Helper()
	f := sandbox.Detect(t.Context())
	if have := f.Strongest(); have != sandbox.Closed && have != level {
		t.Skipf("NOT RUN: this machine cannot contain at %s", level)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := sandbox.Spec{Level: level, Liza: self, Dir: dir, Write: []string{dir}, Home: t.TempDir(), Tmp: t.TempDir(), Person: t.TempDir(), Limits: limits}
	return func(path string, argv, env []string) (agent.Contained, error) {
		c, err := s.Command(f, path, argv, env)
		return agent.Contained(c), err
	}
}

func TestWhatACommandDetachesEndsBelowItsReaper(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Open, sandbox.Partial, sandbox.Closed} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := review.Command{Reaper: reaper, Dir: dir, Log: filepath.Join(t.TempDir(), "log"),
				Shell: `setsid env -i PATH="$PATH" sh -c 'trap "" TERM; exec flock held sh -c "echo left > left; exec sleep 1000"' & until [ -e left ]; do sleep 0.01; done; echo said; exit 3`}
			if level != sandbox.Open {
				c.Contain = wall(t, dir, level, sandbox.Limits{})
			}
			r := c.Run(t.Context())
			if r.ExitCode != 3 || r.Err != nil || r.TimedOut {
				t.Errorf("got %+v, want exit code 3", r)
			}
			if log, _ := os.ReadFile(c.Log); !strings.Contains(string(log), "said\n") {
				t.Errorf("the log has %q", log)
			}
			held, err := os.Open(filepath.Join(dir, "held"))
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				t.Errorf("what it detached still runs and has its lock: %v", err)
			}
		})
	}
}

func TestACommandBehindAWallIsWhatItIsWithoutOne(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Open, sandbox.Partial, sandbox.Closed} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			base := review.Command{Reaper: reaper, Dir: dir, Log: filepath.Join(t.TempDir(), "log")}
			if level != sandbox.Open {
				base.Contain = wall(t, dir, level, sandbox.Limits{})
			}
			var out bytes.Buffer
			c := base
			c.Shell, c.Stdin, c.Stdout = "cat; echo on stderr >&2; kill -9 $$", "of stdin\n", &out
			if r := c.Run(t.Context()); r.ExitCode != -1 || out.String() != "of stdin\n" {
				t.Errorf("got %+v and %q, want killed", r, &out)
			}
			c = base
			c.Shell, c.Timeout = "exec sleep 1000", 300*time.Millisecond
			if r := c.Run(t.Context()); !r.TimedOut || r.Err != nil {
				t.Errorf("got %+v, want timed out", r)
			}
			c = base
			c.Shell, c.Most = "while :; do echo more; done", 10_000
			if r := c.Run(t.Context()); !r.TooMuch || r.Err != nil {
				t.Errorf("got %+v, want too much", r)
			}
			ctx, cancel := context.WithCancel(t.Context())
			c = base
			c.Shell, c.Started = "exec sleep 1000", func(int) { cancel() }
			if r := c.Run(ctx); r.Err == nil {
				t.Errorf("got %+v, want the end of the context", r)
			}
			lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			c = base
			c.Shell, c.Holds = "exit 0", lock
			if r := c.Run(t.Context()); r.ExitCode != 0 || r.Err != nil {
				t.Errorf("got %+v, want exit code 0", r)
			}
		})
	}
}
