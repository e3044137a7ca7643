package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command is one command of a check, run by sh -c in a folder.
type Command struct {
	Shell   string
	Dir     string
	Log     string // file that gets its output, appended
	Timeout time.Duration
	Hide    []string // names of variables that it must not see; LIZA_* never are
}

// Ran says how a command ended.
type Ran struct {
	ExitCode int // -1 when it was killed or never started
	TimedOut bool
	Seconds  int
	Err      error // it could not be started, or ctx ended
}

// Failed tells whether the command did not end well.
func (r Ran) Failed() bool { return r.Err != nil || r.TimedOut || r.ExitCode != 0 }

const (
	commandGrace = 5 * time.Second
	maxLog       = 20 << 20 // bytes of output that are kept of one command
)

// Run runs the command in a process group of its own, with an empty stdin. At the time
// limit the group gets TERM and, after a grace, KILL; whatever is left of the group is
// killed after a normal end too, so that nothing runs on in the background.
func (c Command) Run(ctx context.Context) Ran {
	began := time.Now()
	log, err := c.open()
	if err != nil {
		return Ran{ExitCode: -1, Err: err}
	}
	defer log.Close()
	work := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		work, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	out := &capped{out: log, left: maxLog}
	cmd := exec.CommandContext(work, "sh", "-c", c.Shell)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.environment(), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what stayed in the background
	}
	r := Ran{ExitCode: -1, Seconds: int(time.Since(began).Seconds())}
	if cmd.ProcessState != nil {
		r.ExitCode = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		r.Err = context.Cause(ctx)
	case work.Err() != nil:
		r.TimedOut = true
		fmt.Fprintf(log, "\nstopped: the time limit of %s is over\n", c.Timeout)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		r.Err = err
	}
	return r
}

func (c Command) open() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
		return nil, fmt.Errorf("cannot open the log of %q: %v", c.Shell, err)
	}
	f, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %q: %v", c.Shell, err)
	}
	_, err = fmt.Fprintf(f, "$ %s\n", c.Shell)
	return f, err
}

// environment is that of this process without identity, tokens and secrets of Liza, and
// without variables that would point git at another repository.
func (c Command) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		hidden := strings.HasPrefix(name, "LIZA_") || name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_INDEX_FILE"
		for _, h := range c.Hide {
			hidden = hidden || h == name
		}
		if !hidden {
			env = append(env, v)
		}
	}
	return env
}

// capped passes so many bytes on and drops the rest, so that no output fills the disk.
type capped struct {
	out  io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	keep := p[:min(len(p), c.left)]
	if len(keep) > 0 {
		if _, err := c.out.Write(keep); err != nil {
			return 0, err
		}
	}
	if c.left -= len(keep); c.left == 0 && len(keep) > 0 {
		fmt.Fprintf(c.out, "\n[… the rest of the output is left out]\n")
	}
	return len(p), nil
}
