package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"liza/pkg/base/safefile"
	"liza/pkg/board/transition"
)

// maxInput is the most that is read from a file or from stdin.
const maxInput = 8 << 20

// readText reads a file, or stdin for "-".
func (e *Env) readText(name string) ([]byte, error) {
	from, next := e.System.Stdin, "liza help"
	var err error
	if name != "-" {
		var f io.ReadCloser
		if f, err = e.openFile(name); err == nil {
			defer f.Close()
		}
		from, next = f, "ls "+filepath.Dir(e.path(name))
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(from, maxInput+1))
	}
	switch {
	case err != nil:
		return nil, usagef(next, "cannot read %s: %v", name, errText(err))
	case len(data) > maxInput:
		return nil, usagef("liza help", "%s has more than %d MB", name, maxInput>>20)
	}
	return data, nil
}

func openNamed(path string) (*os.File, error) {
	if dir := filepath.Dir(path); dir == "/dev" || dir == "/dev/fd" || dir == "/proc/self/fd" { // what the shell of the caller handed over: <(command), /dev/stdin
		return os.Open(path)
	}
	return safefile.Open(path)
}

// errText is what an error of the file system says, without the path.
func errText(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return fmt.Sprint(err)
}

// openFile opens a file that the command line names. Of a command that came out of a run the run opens
// it: nothing is read for an agent that it could not read itself.
func (e *Env) openFile(name string) (io.ReadCloser, error) {
	if e.inside != nil {
		return io.NopCloser(e.inside.call.Open(name)), nil
	}
	return openNamed(e.path(name))
}

// path is a path that the command line names.
func (e *Env) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.System.Dir, name)
}

// ownFile refuses what opens a file by its name without asking the run for it.
func (e *Env) ownFile(name string) error {
	if e.inside == nil {
		return nil
	}
	return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza help agents",
		Message: fmt.Sprintf("inside a run, the file %s cannot be named here: the supervisor opens no file for an agent", cmp.Or(name, "-"))}
}
