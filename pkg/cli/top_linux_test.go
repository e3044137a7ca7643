package cli_test

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"liza/pkg/verb/verbtest"
)

func TestTopFollowsTheBoardAndLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x := openTTY(t)
	if err := unix.IoctlSetWinsize(int(x.line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 40}); err != nil {
		t.Fatal(err)
	}
	before := x.mode()
	cmd := x.run(p.Dir, "liza", "top")
	x.wait("task-1")
	p.AddTask("task-2")
	x.wait("task-2")
	x.types("p")
	x.wait("Pause: nothing new starts")
	x.types("\r")
	x.until("the team is paused", func() bool { return len(p.Project.Orders()) == 1 })
	x.wait("PAUSED")
	x.types("r")
	x.until("the team goes on", func() bool { return len(p.Project.Orders()) == 0 })
	x.types("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("liza top ended with %v", err)
	}
	x.wait("\x1b[?1049l")
	if x.mode() != before {
		t.Errorf("the mode of the terminal is %+v, was %+v", x.mode(), before)
	}
}

func TestTopEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	x := openTTY(t)
	cmd := x.run(p.Dir, "liza", "top")
	x.wait("no tasks yet")
	x.types("\x03")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("liza top ended with %v, want exit code 130", err)
	}
	x.wait("\x1b[?25h")
}

func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("liza", "top")
	cmd.Dir = verbtest.New(t).Dir
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "next: liza status") {
		t.Errorf("it ended with %v and said %q", err, out)
	}
}
