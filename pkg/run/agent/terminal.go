package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tidy leaves what a program that was killed may have left the screen in: alternate screen,
// hidden cursor, reports of mouse and pastes.
const tidy = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m\r\n"

// runInteractive runs a program in the terminal of a person, who sets its limits: there is
// neither a timeout nor a stall, and its output is nobody else's. What it did is told by its
// exit code alone.
func runInteractive(ctx context.Context, a Adapter, s Spec) Result {
	cmd, err := a.Interactive(s)
	if err != nil {
		return notStarted(Unusable, err)
	}
	t := s.Terminal
	mode, err := unix.IoctlGetTermios(int(t.In.Fd()), getTermios)
	if err != nil {
		return notStarted(Unusable, fmt.Errorf("cannot open %s: there is no terminal: %v", cmd.Argv[0], err))
	}
	if t.Lent != nil {
		t.Lent(true)
		defer t.Lent(false)
	}
	c, res := t.start(cmd, s)
	if c == nil {
		return res
	}
	defer t.restore(c, mode)
	if cause, why := c.begin(s); cause != "" {
		return c.closed(cause, why, c.end(s.KillGrace))
	}
	for {
		select {
		case <-c.exited:
			return c.closed("", "", c.end(s.KillGrace))
		case <-c.stopped:
			t.halt(ctx, c, mode)
		case <-ctx.Done():
			if c.reaper == nil {
				_ = syscall.Kill(-c.family.leader.Pgid, syscall.SIGCONT)
			}
			return c.closed(Killed, "stopped: "+context.Cause(ctx).Error(), c.end(s.KillGrace))
		}
	}
}

// start spawns the program in a group of its own, in this session, in the foreground.
func (t *Terminal) start(cmd Command, s Spec) (*child, Result) {
	run := rand.Text()
	x := exec.Command(cmd.Argv[0], cmd.Argv[1:]...)
	x.Dir, x.Env = s.Dir, environment(os.Environ(), cmd, s, run)
	x.Stdin, x.Stdout, x.Stderr = t.In, t.Out, t.Err
	// In the foreground before its first step: a key that is typed then must not be ours.
	x.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: int(t.In.Fd())}
	c, err := launch(x, s, run)
	if err != nil {
		t.foreground(syscall.Getpgrp())
		return nil, notStarted(startOutcome(err, s.Contain != nil), fmt.Errorf("cannot start %s: %v", cmd.Argv[0], plainStartError(err)))
	}
	return c, Result{}
}

// Ask shows a question and returns the line that the person answers, "" when there is none: the
// terminal is gone, or ctx has ended.
func (t *Terminal) Ask(ctx context.Context, question string) string {
	if _, err := t.Out.WriteString(question); err != nil {
		return ""
	}
	var line []byte
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(t.In.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 100) // so that ctx is looked at
		if n == 0 || err == unix.EINTR {
			continue
		}
		key := make([]byte, 256)
		if n, err = t.In.Read(key); err != nil || n == 0 {
			break
		}
		line = append(line, key[:n]...)
		if text, _, whole := strings.Cut(string(line), "\n"); whole {
			return strings.TrimSpace(text)
		}
	}
	_, _ = t.Out.WriteString("\n")
	return ""
}

// give puts a group that was stopped into the foreground.
func (t *Terminal) give(group int) {
	t.foreground(group)
	_ = syscall.Kill(-group, syscall.SIGCONT)
}

// foreground is tcsetpgrp, which is allowed from the background to who does not heed TTOU.
func (t *Terminal) foreground(group int) {
	quietly(func() { _ = unix.IoctlSetPointerInt(int(t.In.Fd()), unix.TIOCSPGRP, group) })
}

func (t *Terminal) setMode(mode *unix.Termios) {
	quietly(func() { _ = unix.IoctlSetTermios(int(t.In.Fd()), setTermios, mode) })
}

// restore takes the terminal back as it was.
func (t *Terminal) restore(c *child, mode *unix.Termios) {
	t.foreground(syscall.Getpgrp())
	t.setMode(mode)
	if status, ok := c.status(); !ok || status.Signaled() {
		_, _ = t.Out.WriteString(tidy)
	}
}

// halt follows a program that was stopped: this group stops too, so that the shell has its
// terminal, and both go on when the person brings them to the foreground. Where there is
// no shell to do that, they go on at once.
func (t *Terminal) halt(ctx context.Context, c *child, mode *unix.Termios) {
	theirs, err := unix.IoctlGetTermios(int(t.In.Fd()), getTermios)
	t.foreground(syscall.Getpgrp())
	t.setMode(mode)
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(200 * time.Millisecond):
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		if front, err := unix.IoctlGetInt(int(t.In.Fd()), unix.TIOCGPGRP); err != nil || front == syscall.Getpgrp() {
			break
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
	if err == nil {
		t.setMode(theirs)
	}
	t.give(c.family.leader.Pgid)
}

// closed is the result of a program in a terminal. Ctrl-C is a person's way to end it.
func (c *child) closed(cause Outcome, why string, left []Process) Result {
	res := Result{Outcome: cause, ExitCode: -1, Error: why, Left: left, Seconds: time.Since(c.began).Seconds()}
	e := c.exit()
	res.ExitCode, res.Signal, res.Signature = e.Code, e.Signal, howEnded(e)
	if cause == "" {
		res.Outcome = Finished
		if e.Code != 0 && e.Code != 130 && e.Signal != "SIGINT" {
			res.Outcome, res.Error = Crashed, howEnded(e)
		}
	}
	return res
}
