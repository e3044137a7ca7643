package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"liza/pkg/verb/verb/verbtest"
)

// openTop starts liza top on a terminal of that size, and waits until it shows a task.
func openTop(t *testing.T, p *verbtest.Place, width, height uint16, args ...string) (*tty, *exec.Cmd, unix.Termios) {
	t.Helper()
	x := openTTY(t)
	x.resize(width, height)
	before := x.mode()
	cmd := x.run(p, "env", append(args, "liza", "top")...)
	x.wait("task-1")
	return x, cmd, before
}

func (x *tty) resize(width, height uint16) {
	x.t.Helper()
	if err := unix.IoctlSetWinsize(int(x.line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		x.t.Fatal(err)
	}
}

// usable waits until the terminal is as a shell needs it: the view's own screen left (an editor had the terminal
// meanwhile, perhaps), and cursor, mouse and bracketed paste as they were.
func (x *tty) usable(before unix.Termios) {
	x.t.Helper()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?2004h": "\x1b[?2004l"} {
		x.until(fmt.Sprintf("%q after the last %q", off, on), func() bool {
			text := x.text()
			return strings.LastIndex(text, off) > max(strings.LastIndex(text, on), strings.LastIndex(text, "task-1"))
		})
	}
	if x.mode() != before {
		x.t.Errorf("the mode of the terminal is %+v, was %+v", x.mode(), before)
	}
}

func TestTopFollowsTheBoardAndLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x, cmd, before := openTop(t, p, 100, 40)
	p.AddTask("task-2")
	x.wait("task-2")
	x.types("p")
	x.wait("Pause: nothing new starts")
	x.types("\r")
	x.until("the team is paused", func() bool { return len(p.Project.Controls().Orders()) == 1 })
	x.wait("PAUSED")
	x.types("r")
	x.until("the team goes on", func() bool { return len(p.Project.Controls().Orders()) == 0 })
	x.types("h")
	x.wait("Keep agents from taking task-1")
	x.types("wait for Ada\r")
	x.until("the task is on hold", func() bool { h := p.State().Task("task-1").Hold; return h != nil && h.Reason == "wait for Ada" })
	x.types("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("liza top ended with %v", err)
	}
	x.usable(before)
}

func TestTopEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x, cmd, before := openTop(t, p, 80, 24)
	x.types("\x03")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("liza top ended with %v, want exit code 130", err)
	}
	x.usable(before)
}

func TestASignalEndsTopWithAUsableTerminal(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x, cmd, before := openTop(t, p, 80, 24)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("liza top ended with %v, want exit code 130", err)
	}
	x.usable(before)
}

func TestTopFitsATerminalThatChangesItsSize(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x, _, _ := openTop(t, p, 60, 20)
	if strings.Contains(x.text(), "Done when") {
		t.Error("60 columns show a second pane")
	}
	x.resize(160, 50)
	x.wait("Done when")
}

func TestTopHasNoColoursWithNO_COLOR(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	colours := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-7]|38;5;\d+|48;5;\d+|9[0-7])m`)
	x, _, _ := openTop(t, p, 100, 30, "TERM=xterm-256color")
	x.until("a terminal with colours gets some", func() bool { return colours.MatchString(x.text()) })
	x, cmd, before := openTop(t, p, 100, 30, "TERM=xterm-256color", "NO_COLOR=1")
	x.types("q")
	if err := cmd.Wait(); err != nil { // then it has shown all
		t.Error(err)
	}
	x.usable(before)
	if found := colours.FindString(x.text()); found != "" {
		t.Errorf("with NO_COLOR it sends %q", found)
	}
}

func TestTopOpensTheWorktreeInTheEditorAndGoesOn(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	dir := p.Project.Worktree("task-1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(t.TempDir(), "where")
	x, cmd, before := openTop(t, p, 80, 24, "EDITOR=pwd > "+note+"; echo in the editor; true")
	x.types("e")
	x.wait("in the editor")
	x.until("the view is back", func() bool { return strings.Count(x.text(), "\x1b[?1049h") == 2 })
	if where, err := os.ReadFile(note); err != nil || strings.TrimSpace(string(where)) != dir {
		t.Errorf("the editor ran in %s (%v), want %s", where, err, dir)
	}
	x.types("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("liza top ended with %v", err)
	}
	x.usable(before)
}

func TestAShellHaltsAndContinuesTop(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	x := openTTY(t)
	x.resize(80, 24)
	shell := x.run(p, "bash", "--norc", "--noprofile", "-i")
	x.types("PS1='$ '; liza top\r")
	x.wait("task-1")
	x.types("\x1a")
	x.wait("Stopped")
	x.until("the shell has the terminal", func() bool { return x.front() == shell.Process.Pid })
	x.types("fg\r")
	x.until("the view is back", func() bool { return strings.Count(x.text(), "\x1b[?1049h") == 2 })
	x.types("q")
	x.until("the view is gone", func() bool { return strings.Count(x.text(), "\x1b[?1049l") == 2 && x.front() == shell.Process.Pid })
	x.types("exit\r")
	_ = shell.Wait()
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
