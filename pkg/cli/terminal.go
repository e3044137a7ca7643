package cli

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func (e *Env) colour() bool { return e.Terminal && !e.JSON && e.Get("NO_COLOR") == "" }

// width of the terminal; a pipe gets whole lines.
func (e *Env) width() int {
	if n, err := strconv.Atoi(e.Get("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if width, _ := e.size(); width > 0 {
		return width
	}
	return 120
}

// size of the terminal in columns and lines, 0 when stdout is none.
func (e *Env) size() (width, height int) {
	if f, ok := e.direct.out.(*os.File); ok && e.Terminal {
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
func (e *Env) canLive() bool {
	width, _ := e.size()
	return e.Terminal && !e.JSON && width > 0 && e.Get("CI") == "" && e.Get("TERM") != "dumb" && e.Get("TERM") != ""
}
