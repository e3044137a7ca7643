package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"liza/pkg/team/assembly"
)

// terminal is where the output of a command is shown, when a person reads it.
type terminal struct {
	system    *assembly.Environment
	out, errs io.Writer // not masked
	tty       bool      // out is a terminal
	json      bool      // a program reads the output
}

func (e *Env) terminal() terminal {
	return terminal{&e.System, e.direct.out, e.direct.errs, e.Terminal, e.JSON}
}

// page shows a long text on a terminal through the pager that the person has for git, and prints it everywhere else. What
// the repository names as its pager is not asked: agents work in it.
func (t terminal) page(ctx context.Context, text string) error {
	pager := t.pager(ctx)
	if pager == "" {
		_, err := io.WriteString(t.system.Stdout, text)
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), t.out, t.errs
	cmd.Env = t.system.Environ
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} { // as git does
		if t.system.Get(name) == "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Dir = t.system.Dir
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		_, err := io.WriteString(t.system.Stdout, text) // there is no shell
		return err
	}
	return nil // the person may have left it early
}

// pager is the command, "" for none.
func (t terminal) pager(ctx context.Context) string {
	if !t.tty || t.json {
		return ""
	}
	ask := exec.CommandContext(ctx, "git", "var", "GIT_PAGER")
	ask.Dir, ask.Env = string(os.PathSeparator), append(t.system.Environ[:len(t.system.Environ):len(t.system.Environ)], "GIT_DIR="+os.DevNull)
	out, err := ask.Output()
	pager := strings.TrimSpace(string(out))
	if err != nil || pager == "cat" {
		return ""
	}
	return pager
}

func (t terminal) colour() bool { return t.tty && !t.json && t.system.Get("NO_COLOR") == "" }

// width of the terminal; a pipe gets whole lines.
func (t terminal) width() int {
	if n, err := strconv.Atoi(t.system.Get("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if width, _ := t.size(); width > 0 {
		return width
	}
	return 120
}

// size of the terminal in columns and lines, 0 when stdout is none.
func (t terminal) size() (width, height int) {
	if f, ok := t.out.(*os.File); ok && t.tty {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return int(size.Col), int(size.Row)
		}
	}
	return 0, 0
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}

// canLive reports whether a block can be drawn in its place.
func (t terminal) canLive() bool {
	width, _ := t.size()
	return t.tty && !t.json && width > 0 && t.system.Get("CI") == "" && t.system.Get("TERM") != "dumb" && t.system.Get("TERM") != ""
}
